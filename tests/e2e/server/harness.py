"""Real servers for tests: started on a free port and a state directory of their own, ended by their pid."""

import contextlib
import http.client
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

import engines  # noqa: E402
from freezing import freeze, thaw  # noqa: E402, F401

BIN = os.environ["HOLDFAST_BIN"]
PATIENCE = 60  # seconds for anything that must happen; never what a test measures


def eventually(what, condition, patience=PATIENCE):
    """Waits until the condition gives something true, and returns that."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"did not happen in {patience} s: {what}")


def wait_for_time(instant):
    """Lets time pass until an instant of the monotonic clock: a lease has to run out."""
    while (left := instant - time.monotonic()) > 0:
        time.sleep(left)


class HttpFrom(http.client.HTTPConnection):
    """HTTP from a host of a test's own network (tests/support/network.py); from this machine if there is none."""

    def __init__(self, machine, host, port, timeout=PATIENCE):
        super().__init__(host, port, timeout=timeout)
        self.machine = machine

    def connect(self):
        with self.machine or contextlib.nullcontext():
            super().connect()


class Connection:
    """One keep-alive connection."""

    def __init__(self, port, host="127.0.0.1", machine=None, timeout=PATIENCE):
        self.http = HttpFrom(machine, host, port, timeout)

    def send(self, method, path, body=None):
        text = None if body is None else json.dumps(body)
        self.http.request(method, path, text, {} if text is None else {"Content-Type": "application/json"})

    def receive(self):
        response = self.http.getresponse()
        text = response.read()
        self.date = response.getheader("Date")
        kind = response.getheader("Content-Type") or ""
        return response.status, json.loads(text) if "json" in kind else text.decode()

    def ask(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()

    def close(self):
        self.http.close()


class Server:
    """One life of `holdfast serve`, on this machine or on a host of a test's own network; `under` is what runs it."""

    def __init__(self, state_dir, arguments=(), environment=None, address="127.0.0.1:0", cwd=None, machine=None, under=(),
                 store=None, new_store=True):
        store = store or (engines.store_in_place_of(state_dir) if "--node" not in arguments else None)
        kept = [*(["--store", store] if store else []), *(["--new-store"] if store and new_store else []), "--state-dir",
                state_dir]
        doors = [word for door in ("--resp", "--relay") if door not in arguments for word in (door, "127.0.0.1:0")]
        command = [*under, BIN, "serve", "--http", address, *doors, *kept, *arguments]
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        with machine or contextlib.nullcontext():
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                env={**clean, **(environment or {})})
        self.machine = machine
        self.pid = self.process.pid
        self.log = []
        self.logged = queue.Queue()
        self.out = []
        self.started = queue.Queue()
        self.readers = [threading.Thread(target=self._read_log), threading.Thread(target=self._read_out)]
        for reader in self.readers:
            reader.start()
        self.host = None
        self.port = None
        self.connection = None

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip("\n"))
            self.logged.put(line)

    def _read_out(self):
        for line in self.process.stdout:
            self.out.append(line.rstrip("\n"))
            self.started.put(line)
        self.started.put("")

    def wait_until_serving(self):
        line = self.started.get(timeout=PATIENCE)
        match = re.fullmatch(r"holdfast \S+ serving on http://([0-9.]+):(\d+)\n", line)
        if not match:
            self.wait()
            raise AssertionError(f"does not serve: {line!r} {self.log}")
        self.host, self.port = match[1], int(match[2])
        self.connection = self.connect()
        return self

    def connect(self, timeout=PATIENCE):
        """Another connection to it, from where it runs."""
        return Connection(self.port, self.host, self.machine, timeout)

    def wait_for_log(self, text):
        while text not in self.logged.get(timeout=PATIENCE):
            pass

    def ask(self, method, path, body=None):
        return self.connection.ask(method, path, body)

    def acquire(self, holder, resource, **fields):
        return self.ask("POST", "/v1/leases", {"holder": holder, "resource": resource, **fields})

    def grant(self, holder, resource, **fields):
        """A lease that must be granted."""
        status, answer = self.acquire(holder, resource, **fields)
        assert status == 201, (status, answer)
        return answer["leases"][0]

    def renew(self, lease, **fields):
        return self.ask("POST", f"/v1/leases/{quoted(lease['id'])}/heartbeat", {"holder": lease["holder"], **fields})

    def health(self):
        return self.ask("GET", "/health")[1]

    def leases(self):
        """Every active lease, by id."""
        found, after = {}, None
        while True:
            query = "limit=1000" + (f"&after={quoted(str(after))}" if after is not None else "")
            status, page = self.ask("GET", f"/v1/leases?{query}")
            assert status == 200, page
            found.update({lease["id"]: lease for lease in page["leases"]})
            after = page["next"]
            if after is None:
                return found

    def metric(self, name):
        _, text = self.ask("GET", "/metrics")
        return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)[1])

    def wait(self):
        """The exit code, once the process has ended and all it said is here."""
        code = self.process.wait(timeout=PATIENCE)
        for reader in self.readers:
            reader.join(timeout=PATIENCE)
        return code

    def stop(self):
        """A clean stop."""
        self.connection.close()  # the server would wait a moment for us to do so
        self.process.send_signal(signal.SIGTERM)
        code = self.wait()
        assert code == 0, (code, self.log)

    def kill(self):
        """An unclean stop."""
        self.process.kill()
        self.wait()

    def clean_up(self):
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        if self.connection:
            self.connection.close()
        self.process.stdout.close()
        self.process.stderr.close()


def quoted(text):
    return urllib.parse.quote(text, safe="")


class ServerTest(unittest.TestCase):
    """A test with a state directory and any number of lives in it."""

    def setUp(self):
        self.state_dir = self.directory()

    def directory(self):
        path = tempfile.mkdtemp(prefix="holdfast-test-")
        self.addCleanup(shutil.rmtree, path, ignore_errors=True)
        return os.path.join(path, "state")

    def launch(self, state_dir=None, **options):
        """A server that may or may not come to serve."""
        server = Server(state_dir or self.state_dir, **options)
        self.addCleanup(server.clean_up)
        return server

    def start(self, state_dir=None, **options):
        return self.launch(state_dir, **options).wait_until_serving()

    def start_with_ttl_max(self, ttl_max_ms):
        """A server whose longest TTL has ever been this one, so that its recovery is as short."""
        server = self.start()
        change = {"ttl_max_ms": ttl_max_ms, "ttl_default_ms": ttl_max_ms}
        self.assertEqual(server.ask("PATCH", "/v1/policy", change)[0], 200)
        server.stop()
        return self.start()
