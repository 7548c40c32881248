"""A real etcd for tests, of one or several members, on free ports of loopback and with its data in a folder that is given."""

import os
import pathlib
import shutil
import subprocess
import time
import urllib.request

import freezing
from free_ports import free_ports
from real_redis import start

START_SECONDS = 60


def find_etcd():
    """Debian's, wherever scripts/setup put it."""
    root = pathlib.Path(os.environ.get("HOLDFAST_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
    unpacked = root / "build" / "etcd" / "usr" / "bin" / "etcd"
    found = shutil.which("etcd") or (str(unpacked) if unpacked.exists() else None)
    if not found:
        raise RuntimeError("there is no etcd: scripts/setup unpacks it")
    return found


class Etcd:
    """Members that die with this process. They are named by their place: 0, 1, 2."""

    def __init__(self, directory, members=1):
        self.directory = pathlib.Path(directory)
        ports = free_ports(2 * members)
        self.ports, self.peer_ports = ports[:members], ports[members:]
        self.processes = [None] * members
        for member in range(members):
            self.start(member, wait=False)
        for member in range(members):
            self.wait_until_healthy(member)

    @property
    def url(self):
        return "etcd://" + ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def start(self, member=0, wait=True):
        """With the data that it has."""
        own, peer = (f"http://127.0.0.1:{ports[member]}" for ports in (self.ports, self.peer_ports))
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(self.peer_ports))
        with open(self.directory / f"etcd-{member}.log", "ab") as log:
            self.processes[member] = start(
                [find_etcd(), "--name", f"m{member}", "--data-dir", str(self.directory / f"etcd-{member}"),
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--listen-client-urls", own,
                 "--advertise-client-urls", own, "--initial-cluster", cluster, "--log-level", "error"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        if wait:
            self.wait_until_healthy(member)

    def wait_until_healthy(self, member):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.processes[member].poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[member]}/health", timeout=5) as answer:
                    if b'"true"' in answer.read():
                        return
            except OSError:
                pass
            time.sleep(0.02)
        log = (self.directory / f"etcd-{member}.log").read_text(errors="replace")
        raise RuntimeError(f"etcd did not start:\n{log[-2000:]}")

    def kill(self, member=0):
        self.processes[member].kill()
        self.processes[member].wait()

    def freeze(self, member=0):
        freezing.freeze(self.processes[member].pid)

    def thaw(self, member=0):
        freezing.thaw(self.processes[member].pid)

    def stop(self):
        for process in self.processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
