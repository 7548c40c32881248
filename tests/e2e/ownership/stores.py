"""Where instances meet, for tests: a real Redis or Holdfast, on a free port, frozen, killed and started again by pid."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest
import uuid

for folder in ("server", "../support"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))

import engines  # noqa: E402
import freezing  # noqa: E402
import harness  # noqa: E402
from harness import BIN  # noqa: E402
from real_redis import free_port, lives, start, start_redis  # noqa: E402, F401

PATIENCE = 120  # seconds for anything that must happen; never what a test measures

def cpu_seconds(pid):
    """What a process has used so far."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def eventually(what, condition):
    return harness.eventually(what, condition, PATIENCE)


def clean_environment(**more):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return {**kept, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent", **more}


class Store:
    """A server that speaks RESP."""

    def __init__(self, directory):
        self.directory = directory
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        self.process = self.launch()
        eventually("the store answers", self.answers)

    def answers(self):
        try:
            return self.ask("PING") == b"+PONG\r\n"
        except OSError:
            assert self.process.poll() is None, "the store has ended"
            return False

    def ask(self, *words):
        """One command, and the first piece of its answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            parts = [f"*{len(words)}\r\n"] + [f"${len(word)}\r\n{word}\r\n" for word in words]
            connection.sendall("".join(parts).encode())
            return connection.recv(65536)

    def freeze(self):
        freezing.freeze(self.process.pid)

    def thaw(self):
        freezing.thaw(self.process.pid)

    def kill(self):
        """With all it knows, if it keeps nothing."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def clean_up(self):
        if self.process.poll() is None:
            self.kill()


class Redis(Store):
    def launch(self):
        return start_redis(self.port, self.directory)


class Holdfast(Store):
    """Its longest TTL is short, so that it has recovered soon after a kill (S1)."""

    def __init__(self, directory):
        self.http = free_port()
        super().__init__(directory)
        server = f"http://127.0.0.1:{self.http}"
        subprocess.run([BIN, "--server", server, "policy", "set", "--ttl-max", "4s", "--ttl-default", "4s"], check=True,
                       env=clean_environment(), stdout=subprocess.DEVNULL, timeout=PATIENCE)
        self.process.terminate()
        self.process.wait(PATIENCE)
        self.start()

    def launch(self):
        state_dir = os.path.join(self.directory, "state")
        store = engines.store_in_place_of(state_dir)
        command = [BIN, "serve", "--http", f"127.0.0.1:{self.http}", "--resp", f"127.0.0.1:{self.port}", "--relay",
                   "off", *(["--store", store, "--new-store"] if store else []), "--state-dir", state_dir]
        return start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     env=clean_environment())


STORES = {"redis": Redis, "holdfast": Holdfast}


class OwnershipTest(unittest.TestCase):
    """A store and a directory of its own for each test."""

    kind = None

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="holdfast-own-")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.store = self.kind(self.directory)
        self.addCleanup(self.store.clean_up)
        self.started = []
        self.addCleanup(self.end_started)

    def end_started(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(PATIENCE)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()

    def write_sessions(self, count, seed="session"):
        """The same sessions in every run."""
        self.sessions = [str(uuid.uuid5(uuid.NAMESPACE_OID, f"{seed} {i}")) for i in range(count)]
        self.session_file = os.path.join(self.directory, "sessions")
        with open(self.session_file, "w") as file:
            file.write("\n".join(self.sessions) + "\n")

    def look(self):
        """What `holdfast nodes` shows: instances, and sessions by their id."""
        done = subprocess.run([BIN, "nodes", "--json", "--redis", self.store.url, "--sessions", self.session_file],
                              env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        picture = json.loads(done.stdout)
        return ({node["instance"]: node for node in picture["nodes"]},
                {session["session"]: session for session in picture["sessions"]})

    def owners(self):
        return {session: one["owner"] for session, one in self.look()[1].items()}

    def everyone_owns_what_it_should(self, instances):
        nodes, sessions = self.look()
        live = {name for name, node in nodes.items() if node["live"]}
        return live == set(instances) and all(one["owner"] == one["preferred"] for one in sessions.values())
