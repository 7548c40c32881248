"""Clusters of real servers on hosts with a network of their own (tests/support/network.py): what the tests of this folder
share."""

import contextlib
import http.client
import os
import subprocess
import sys
import threading
import time
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
for folder in ("../support", "server"):
    sys.path.insert(0, os.path.join(TESTS, folder))

import network  # noqa: E402
from cluster_harness import SECRET, ClusterTest  # noqa: E402, F401
from harness import BIN, PATIENCE, Connection, eventually, quoted, wait_for_time  # noqa: E402, F401

HOLDERS = os.path.join(os.environ["HOLDFAST_BUILD"], "bin", "cluster_holders")
SKIPPED = 77  # what ctest takes for "skipped"
HTTP_PORT = 7400
CLIENTS = "w"  # the host of the clients that are on no node's host


class RealCluster(ClusterTest):
    """A test whose nodes each have a host, as have its clients; each two hosts have a cable of their own."""

    longest_ttl = 9.0  # a busy machine may be late by seconds

    def setUp(self):
        super().setUp()
        self.network = network.Network([*self.ids, CLIENTS])
        self.addCleanup(self.network.close)
        self.hosts = self.network.hosts
        self.peers = ",".join(f"{id}={self.hosts[id].address}" for id in self.ids)

    def place(self, id):
        return {"machine": self.hosts[id], "address": f"{self.hosts[id].address}:{HTTP_PORT}"}

    def arguments(self, id, **changes):
        return [*super().arguments(id, **changes), "--insecure"]

    def urls(self, *ids):
        return ",".join(f"http://{self.hosts[id].address}:{HTTP_PORT}" for id in ids or self.ids)

    def client(self, id, source=CLIENTS, timeout=PATIENCE):
        """A connection to a node from another host."""
        connection = Connection(HTTP_PORT, self.hosts[id].address, self.hosts[source], timeout)
        self.addCleanup(connection.close)
        return connection

    def command(self, host, *arguments):
        """The command line, run to its end on a host."""
        with self.hosts[host]:
            return subprocess.run([BIN, *arguments], env=clean_environment(), capture_output=True, text=True,
                                  timeout=PATIENCE, stdin=subprocess.DEVNULL)

    def process(self, host, command, **options):
        """A process on a host, ended with the test at the latest. Whoever reads its output closes it."""
        with self.hosts[host]:
            process = subprocess.Popen(command, env=clean_environment(), text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, **options)
        self.addCleanup(end, process)
        return process

    def granted_at_last(self, node, holder, resource, **fields):
        """While the others find out that a node is gone, an attempt may take longer than a request waits."""
        def ask():
            status, answer = node.acquire(holder, resource, **fields)
            self.assertIn(status, (201, 503), answer)
            return answer["leases"][0] if status == 201 else None
        return self.until(f"{holder} gets {resource}", ask)

    def assert_unavailable(self, answer):
        status, said = answer
        self.assertEqual((status, said.get("error", {}).get("code")), (503, "unavailable"), said)

    def leader(self, node):
        return self.until("somebody leads the log", lambda: self.quorum(node)["leader"])

    def reachable(self, id, count):
        """Until a node reaches exactly so many, itself included."""
        self.until(f"{id} reaches {count}", lambda: self.quorum(self.nodes[id])["reachable"] == count)


class Background(threading.Thread):
    """Does the same thing again and again until it is stopped; what went wrong in it goes wrong in the test too."""

    PAUSE = 0.02  # seconds between two steps: the machine has other things to do

    def __init__(self, step):
        super().__init__()
        self.step, self.over, self.problem = step, threading.Event(), None
        self.done = []  # the instants at which a step had been made

    def run(self):
        try:
            while not self.over.wait(self.PAUSE):
                self.step()
                self.done.append(time.monotonic())
        except BaseException as problem:  # told by stop(), in the test's own thread
            self.problem = problem

    def wait_for_more(self, count):
        enough = len(self.done) + count
        eventually(f"{count} more steps", lambda: len(self.done) >= enough or self.problem)
        if self.problem:
            raise self.problem

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.join(PATIENCE)
        if self.problem and kind is None:
            raise self.problem


class Renewals(Background):
    """Renews a lease again and again, through the first of these nodes that answers; one that none of them renews is a
    problem."""

    def __init__(self, test, lease, ids):
        super().__init__(self.renew)
        self.test, self.lease, self.ids = test, lease, ids
        self.connections = {}

    def renew(self):
        answers = []
        for id in self.ids:
            try:
                connection = self.connections.get(id) or self.test.nodes[id].connect()
                self.connections[id] = connection
                answers.append(connection.ask("POST", f"/v1/leases/{quoted(self.lease['id'])}/heartbeat",
                                              {"holder": self.lease["holder"]}))
            except (OSError, http.client.HTTPException) as away:
                self.connections.pop(id).close()
                answers.append((id, away))
                continue
            if answers[-1][0] == 200:
                return
        raise AssertionError(f"{self.lease['id']} was not renewed: {answers}")

    def __exit__(self, *problem):
        try:
            super().__exit__(*problem)
        finally:
            for connection in self.connections.values():
                connection.close()


def clean_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}


def end(process):
    """Ends it, also if it is stopped."""
    if process.poll() is None:
        process.kill()
    process.wait(PATIENCE)
    with contextlib.suppress(OSError):
        process.stdin.close()


def main():
    """Runs the tests of a file; says why and skips them all if there can be no hosts here."""
    if why_not := network.reason_why_not():
        print(f"skipped: {why_not}", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(module="__main__", verbosity=2)
