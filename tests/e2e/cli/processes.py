"""What the tests of the command line share: a real server, real commands, and patience instead of sleeps."""

import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

import engines  # noqa: E402
from real_redis import free_port, lives, start, start_redis  # noqa: E402, F401

BINARY = os.environ["HOLDFAST_BIN"]
PATIENCE = 60


def clean_environment(home, **more):
    """The caller's environment without any setting of Holdfast, and with an empty home."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_") and k != "NO_COLOR"}
    return {**kept, "HOME": home, "XDG_CONFIG_HOME": home + "/config", **more}


def boot_time():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def eventually(condition, what, patience=PATIENCE):
    """Waits until the condition holds and returns what it gave."""
    limit = time.monotonic() + patience
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= limit:
            raise AssertionError(f"never happened: {what}")
        time.sleep(0.005)


class DeadAddress:
    """An address that refuses every connection: the port is taken, but nobody listens."""

    def __enter__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_):
        self._socket.close()


class Lines:
    """The lines of a pipe, read in the background."""

    def __init__(self, pipe):
        self.lines = []
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                with self._changed:
                    self.lines.append(line.rstrip("\n"))
                    self._changed.notify_all()

    def find(self, pattern, start=0):
        """Waits for a line from number `start` on that has the pattern; returns its match."""
        limit = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                for line in self.lines[start:]:
                    match = re.search(pattern, line)
                    if match:
                        return match
                if not self._changed.wait(limit - time.monotonic()):
                    raise AssertionError(f"no line like {pattern!r} in {self.lines[start:]}")


class Server:
    def __init__(self, state_dir, home, http="127.0.0.1:0", relay="off"):
        store = engines.store_in_place_of(state_dir)
        kept = [*(["--store", store, "--new-store"] if store else []), "--state-dir", state_dir]
        self.process = start(
            [BINARY, "serve", "--http", http, "--resp", "off", "--relay", relay, *kept],
            env=clean_environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            self.url = Lines(self.process.stdout).find(r"http://127\.0\.0\.1:\d+").group(0)
            if store:  # it serves before its engine has answered, and says so to those who ask meanwhile
                eventually(self.is_ready, "the store answers")
        except AssertionError:
            self.kill()
            raise

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url + "/ready", timeout=PATIENCE) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


class AnsweringServer:
    """A server that answers GET with what it is told, each path a status and a JSON value, and 404 to all else."""

    def __init__(self, answers):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, answer = answers.get(self.path, (404, {}))
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self.url

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class HoldfastTest(unittest.TestCase):
    """One server per class; each test uses resources of its own."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="holdfast-cli-")
        cls.server = Server(cls.home + "/state", cls.home)

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        shutil.rmtree(cls.home, ignore_errors=True)

    def setUp(self):
        self.started = []
        self.scratch = tempfile.mkdtemp(dir=self.home)
        self.resource = "test:" + self.id().rsplit(".", 1)[1]

    def tearDown(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE)

    def environment(self, **more):
        return clean_environment(self.home, **{"HOLDFAST_SERVER": self.server.url, **more})

    def holdfast(self, *arguments, **environment):
        """Runs a command to its end."""
        return subprocess.run([BINARY, *arguments], env=self.environment(**environment), capture_output=True,
                              text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def ok(self, *arguments, **environment):
        done = self.holdfast(*arguments, **environment)
        self.assertEqual(done.returncode, 0, f"{arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *arguments, code=0):
        done = self.holdfast(*arguments, "--json")
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        self.assertEqual(done.stdout.count("\n"), 1, "one object on one line")
        return json.loads(done.stdout)

    def start(self, *arguments, **environment):
        """Starts a command; .out and .err gather its lines."""
        process = start([BINARY, *arguments], env=self.environment(**environment), text=True,
                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.started.append(process)
        process.out, process.err = Lines(process.stdout), Lines(process.stderr)
        return process

    def ends(self, process):
        return process.wait(PATIENCE)

    def held(self, resource=None):
        return self.json("list", "--prefix", resource or self.resource)["leases"]
