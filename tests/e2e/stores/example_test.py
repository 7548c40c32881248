"""The example of docs/stores.md, run as it is."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("server", "../support")]

from free_ports import free_ports  # noqa: E402
from harness import BIN, PATIENCE, Connection, eventually  # noqa: E402

ROOT = os.environ["HOLDFAST_SOURCE"]


def answers(port):
    try:
        connection = Connection(port, timeout=5)
        status, health = connection.ask("GET", "/health")
        connection.close()
        return status == 200 and health["status"] == "ok"
    except OSError:
        return False


class Example(unittest.TestCase):
    def test_two_fronts_on_one_postgresql_know_the_same_leases_and_keep_them_over_a_restart(self):
        directory = tempfile.TemporaryDirectory(prefix="holdfast-example-")
        self.addCleanup(directory.cleanup)
        os.chmod(directory.name, 0o755)
        ports = free_ports(3)
        environment = {**os.environ, "HOLDFAST": BIN, "DATA": os.path.join(directory.name, "data"),
                       **dict(zip(("FRONT_1", "FRONT_2", "POSTGRES_PORT"), map(str, ports)))}
        token = None
        for _ in range(2):
            example = subprocess.Popen([os.path.join(ROOT, "examples/two-fronts/run")], env=environment, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, start_new_session=True)
            self.addCleanup(self.end, example)
            for port in ports[:2]:
                eventually(f"a front serves on {port}", lambda: answers(port))
            if token is None:
                token = self.holdfast(ports[0], "acquire", "door", "--holder", "alice", "--ttl", "5m").strip()
            listed = self.holdfast(ports[1], "list")
            self.assertRegex(listed, r"door.*alice")
            example.send_signal(signal.SIGTERM)
            output, _ = example.communicate(timeout=PATIENCE)
            self.assertEqual(example.returncode, 0, output)
            self.assertIsNotNone(re.search("^front-2 | .*serving", output, re.M), output)

    def holdfast(self, port, *words):
        done = subprocess.run([BIN, "--server", f"http://127.0.0.1:{port}", *words], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def end(self, example):
        try:
            os.killpg(example.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        example.wait(PATIENCE)
        example.stdout.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
