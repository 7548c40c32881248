"""Clusters of three that benchmarks start. Loopback only, free ports, stopped by pid."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
import time

from harness import START_SECONDS, Load, Trouble, end, fetch  # noqa: E402
from free_ports import free_ports  # noqa: E402

NAMES = ("a", "b", "c")


class Stall:
    """Every fsync of the processes takes so much longer, by strace, until it is over. It has begun when this returns."""

    def __init__(self, processes, seconds=10):
        delay = f"inject=fsync,fdatasync:delay_enter={int(seconds * 1e6)}"
        self.tracers = []
        try:
            for process in processes:
                tracer = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(process.pid), "-e",
                                           "trace=fsync,fdatasync", "-e", delay], stderr=subprocess.PIPE)
                self.tracers.append(tracer)
                self._wait_until_attached(process, tracer)
        except BaseException:
            self.end()
            raise

    @staticmethod
    def _wait_until_attached(process, tracer):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and tracer.poll() is None:
            tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
            if all(re.search(rf"TracerPid:\s+{tracer.pid}\b", (task / "status").read_text()) for task in tasks):
                return
            time.sleep(0.01)
        raise Trouble(f"strace cannot attach: {tracer.stderr.read().decode() if tracer.poll() is not None else ''}")

    def end(self):
        for tracer in self.tracers:
            end(tracer)
            tracer.stderr.close()


class Cluster:
    """Three processes. What differs is how they are started, asked who leads, and driven."""

    def __init__(self, data):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=data))
        self.processes = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _launch(self, name, command, environment=None):
        log = open(self.directory / f"{name}.log", "wb")
        with log:
            self.processes.append(subprocess.Popen(
                [str(word) for word in command], cwd=self.directory, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, env={**os.environ, **(environment or {})}))

    def _wait_for(self, what, condition):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            for name, process in zip(NAMES, self.processes):
                if process.poll() is not None:
                    log = (self.directory / f"{name}.log").read_text(errors="replace")
                    raise Trouble(f"node {name} of {self.name} ended:\n{log[-2000:]}")
            try:
                if condition():
                    return
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        raise Trouble(f"{self.name}: {what} did not happen in {START_SECONDS} s")

    def kill(self, index):
        self.processes[index].kill()
        self.processes[index].wait()

    def stop(self):
        for process in self.processes:
            if process.poll() is None:
                end(process)
        shutil.rmtree(self.directory, ignore_errors=True)


class Etcd(Cluster):
    name = "etcd"

    def __init__(self, binary, data):
        self.binary = binary
        self.ports = free_ports(6)
        super().__init__(data)

    def _start(self):
        peers = [f"http://127.0.0.1:{port}" for port in self.ports[3:]]
        members = ",".join(f"{name}={url}" for name, url in zip(NAMES, peers))
        for i, name in enumerate(NAMES):
            client = f"http://127.0.0.1:{self.ports[i]}"
            self._launch(name, [self.binary, "--name", name, "--data-dir", self.directory / name, "--listen-peer-urls",
                                peers[i], "--initial-advertise-peer-urls", peers[i], "--listen-client-urls", client,
                                "--advertise-client-urls", client, "--initial-cluster", members,
                                "--initial-cluster-state", "new", "--log-level", "warn"])
        self._wait_for("a leader", lambda: all('"true"' in fetch(port, "/health") for port in self.ports[:3])
                       and self.leader() is not None)

    def leader(self):
        """Its index, as the nodes themselves see it; nothing if none does."""
        for i, process in enumerate(self.processes):
            if process.poll() is None and re.search(r"^etcd_server_is_leader 1$", fetch(self.ports[i], "/metrics"), re.M):
                return i
        return None

    def terms(self):
        """How often a leader was seen to come, by the node that saw the most of it."""
        seen = [re.search(r"^etcd_server_leader_changes_seen_total (\d+)$", fetch(self.ports[i], "/metrics"), re.M)
                for i, process in enumerate(self.processes) if process.poll() is None]
        return max(int(match[1]) for match in seen if match)

    def load(self, build, clients, speaks="grpc"):
        return Load(self.name, [build / "bin" / "etcd_load", "keep-alive"], clients, self.ports[:3],
                    {"nodes": self.processes})


class Holdfast(Cluster):
    name = "holdfast"

    def __init__(self, binary, data, options=()):
        self.binary = binary
        self.options = options
        self.ports = free_ports(9)
        self.secret = {"HOLDFAST_CLUSTER_SECRET": secrets.token_hex(32)}
        super().__init__(data)

    def _start(self):
        self.launch_all()
        self._wait_for("a leader of the log", lambda: all(self.status(i)["reachable"] == 3 for i in range(3))
                       and self.leader() is not None)

    def launch_all(self):
        """With the data that they have; nobody waits until they answer."""
        peers = ",".join(f"{name}=127.0.0.1:{port}" for name, port in zip(NAMES, self.ports[:3]))
        self.processes.clear()
        for i, name in enumerate(NAMES):
            self._launch(name, [self.binary, "serve", "--node", name, "--peers", peers, "--http",
                                f"127.0.0.1:{self.ports[3 + i]}", "--resp", f"127.0.0.1:{self.ports[6 + i]}", "--relay", "off",
                                "--state-dir", self.directory / name, "--log-level", "warn", *self.options], self.secret)

    def status(self, index):
        return json.loads(fetch(self.ports[3 + index], "/v1/quorum"))

    def leader(self):
        """Of the log; leases have none."""
        for i, process in enumerate(self.processes):
            if process.poll() is None and (leader := self.status(i)["leader"]):
                return NAMES.index(leader["id"])
        return None

    def terms(self):
        """The token of the leader's lease: another leader, or the same one anew, has another."""
        tokens = [self.status(i)["leader"] for i, process in enumerate(self.processes) if process.poll() is None]
        return max(leader["token"] for leader in tokens if leader)

    def append(self, index, number):
        """An entry of the log, which must be durable on a majority. Seconds until it was, or nothing."""
        begun = time.monotonic()
        try:
            fetch(self.ports[3 + index], f"/v1/bans/nobody-{number}", "PUT", b'{"reason": "bench"}', timeout=30)
        except OSError:
            return None
        return time.monotonic() - begun

    def load(self, build, clients, speaks="resp"):
        ports = self.ports[6:9] if speaks == "resp" else self.ports[3:6]
        return Load(self.name, [build / "bin" / "lock_load", speaks], clients, ports, {"nodes": self.processes})
