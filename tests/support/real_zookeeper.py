"""A real ZooKeeper for tests and benchmarks, of one server or an ensemble, on free ports of loopback and with its data in a
folder that is given."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

import freezing
from free_ports import free_ports
from real_redis import start

START_SECONDS = 90
JARS = ("zookeeper", "zookeeper-jute", "slf4j-api", "slf4j-simple", "metrics-core", "snappy-java")
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"


def find_zookeeper():
    """The class path of Debian's, wherever scripts/setup put it."""
    root = pathlib.Path(os.environ.get("HOLDFAST_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
    for place in (root / "build" / "zookeeper", pathlib.Path("/")):
        jars = [place / "usr" / "share" / "java" / f"{name}.jar" for name in JARS]
        if all(jar.exists() for jar in jars):
            return ":".join(map(str, jars))
    raise RuntimeError("there is no ZooKeeper: `scripts/setup bench` unpacks it")


def find_java():
    found = shutil.which("java")
    if not found:
        raise RuntimeError("there is no java: `scripts/setup bench` installs one")
    return found


class Zookeeper:
    """Servers that die with this process. They are named by their place: 0, 1, 2.

    Sessions end on multiples of tick_ms, and their timeouts are limited by it: at least two ticks; the limit above, which
    is 20 ticks if nobody says otherwise, is an hour here, so that long leases can be had."""

    def __init__(self, directory, servers=1, tick_ms=2000, heap_mb=None, settings=()):
        self.directory = pathlib.Path(directory)
        ports = free_ports(3 * servers)
        self.ports, self.peer_ports, self.election_ports = (ports[i * servers:(i + 1) * servers] for i in range(3))
        self.tick_ms, self.settings = tick_ms, settings
        self.heap_mb = heap_mb or (512 if servers == 1 else 256)
        self.processes = [None] * servers
        try:
            for server in range(servers):
                self.start(server, wait=False)
            for server in range(servers):
                self.wait_until_serving(server)
        except BaseException:
            self.stop()
            raise

    def start(self, server=0, wait=True):
        """With the data that it has."""
        folder = self.directory / f"zookeeper-{server}"
        folder.mkdir(exist_ok=True)
        (folder / "zoo.cfg").write_text("\n".join(self._lines(server, folder)) + "\n")
        (folder / "myid").write_text(f"{server + 1}\n")
        command = [find_java(), f"-Xmx{self.heap_mb}m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp",
                   find_zookeeper(), MAIN, str(folder / "zoo.cfg")]
        with open(self.directory / f"zookeeper-{server}.log", "ab") as log:
            self.processes[server] = start(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        if wait:
            self.wait_until_serving(server)

    def _lines(self, server, folder):
        yield from (f"tickTime={self.tick_ms}", f"dataDir={folder}", "clientPortAddress=127.0.0.1",
                    f"clientPort={self.ports[server]}", "maxSessionTimeout=3600000", "maxClientCnxns=0",
                    "admin.enableServer=false", "4lw.commands.whitelist=srvr,mntr", *self.settings)
        if len(self.ports) > 1:
            yield from ("initLimit=10", "syncLimit=5")
            for i, pair in enumerate(zip(self.peer_ports, self.election_ports)):
                yield f"server.{i + 1}=127.0.0.1:{pair[0]}:{pair[1]}"

    def ask(self, server, word):
        """What it says to one of its four letter words; nothing if nobody is there."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[server]), timeout=5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def wait_until_serving(self, server):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.processes[server].poll() is None:
            if "Mode: " in self.ask(server, "srvr"):
                return
            time.sleep(0.05)
        log = (self.directory / f"zookeeper-{server}.log").read_text(errors="replace")
        raise RuntimeError(f"ZooKeeper did not start:\n{log[-2000:]}")

    def leader(self):
        """The place of the one that leads, or that is alone; nothing if none does."""
        for server, process in enumerate(self.processes):
            if process.poll() is None and any(f"Mode: {mode}" in self.ask(server, "srvr") for mode in ("leader", "standalone")):
                return server
        return None

    def kill(self, server=0):
        self.processes[server].kill()
        self.processes[server].wait()

    def freeze(self, server=0):
        freezing.freeze(self.processes[server].pid)

    def thaw(self, server=0):
        freezing.thaw(self.processes[server].pid)

    def stop(self):
        for process in self.processes:
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
