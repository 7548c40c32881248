"""A Holdfast and a real Redis to compare it with, on free ports of loopback, ended by their pids."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

SOURCE = os.environ["HOLDFAST_SOURCE"]
BUILD = os.environ["HOLDFAST_BUILD"]
for folder in ("server", "../support"):
    sys.path.insert(0, os.path.join(SOURCE, "tests/e2e", folder))

from harness import PATIENCE, Server, ServerTest, eventually  # noqa: E402, F401
from real_redis import free_port, start_redis  # noqa: E402


def answers(port):
    """True if something at the port answers a PING."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


class Redis:
    """A real Redis."""

    name = "Redis"

    def __init__(self, port=None):
        self.directory = tempfile.mkdtemp(prefix="holdfast-redis-")
        self.process = None
        while self.process is None:  # a port that was free may be taken by somebody else meanwhile
            self.port = port or free_port()
            self._start()

    def _start(self):
        self.process = start_redis(self.port, self.directory)
        eventually("Redis answers or ends", lambda: self.process.poll() is not None or answers(self.port))
        if self.process.poll() is not None:
            self.process = None

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE)
        shutil.rmtree(self.directory, ignore_errors=True)


class Holdfast:
    """A Holdfast, as the port of its RESP door."""

    name = "Holdfast"

    def __init__(self, port=0, state_dir=None):
        self.directory = None if state_dir else tempfile.mkdtemp(prefix="holdfast-compat-")
        self.server = Server(state_dir or os.path.join(self.directory, "state"), ["--resp", f"127.0.0.1:{port}"])
        self.server.wait_until_serving()
        line = self.server.started.get(timeout=PATIENCE)
        self.port = int(re.search(r"redis://127\.0\.0\.1:(\d+)$", line.strip())[1])

    def stop(self):
        self.server.stop()
        self.clean_up()

    def kill(self):
        self.server.kill()
        self.clean_up()

    def clean_up(self):
        self.server.clean_up()
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)


def install(folder):
    """Installs the npm packages of a folder into the build directory. Returns where."""
    here = os.path.join(SOURCE, "tests", "e2e", "compat", folder)
    there = os.path.join(BUILD, "compat", folder)
    os.makedirs(there, exist_ok=True)
    for name in os.listdir(here):
        shutil.copy(os.path.join(here, name), there)
    installed = os.path.join(there, "installed-lock.json")
    lock = os.path.join(there, "package-lock.json")
    with open(lock, encoding="utf-8") as wanted:
        text = wanted.read()
    if os.path.exists(installed):
        with open(installed, encoding="utf-8") as found:
            if found.read() == text:
                return there
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"], cwd=there, check=True)
    shutil.copy(lock, installed)
    return there
