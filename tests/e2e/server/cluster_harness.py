"""Clusters of real servers: on free ports of loopback, each node with a state directory of its own."""

import http.client
import json
import os
import queue
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

from free_ports import free_ports  # noqa: E402
from harness import PATIENCE, ServerTest, quoted  # noqa: E402

SECRET = "the secret that the nodes of a test share"
LONGEST_TTL = 3.0  # seconds: how long a node that was killed is silent, and a little more
LONGEST_TTL_MS = int(LONGEST_TTL * 1000)
IDS = ("a", "b", "c")


class Resp:
    """One connection that speaks the Redis protocol."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        frame = b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w.encode()), w.encode()) for w in words)
        self.socket.sendall(frame)
        return self._answer()

    def _answer(self):
        line = self.file.readline().rstrip(b"\r\n").decode()
        kind, rest = line[0], line[1:]
        if kind == "$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == ":":
            return int(rest)
        return None if line == "_" else line

    def close(self):
        self.file.close()
        self.socket.close()


class Events:
    """The events of one server, as they come, read by a thread of their own."""

    def __init__(self, port):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.http.request("GET", "/v1/events?renewed=true")
        self.socket = self.http.sock  # which the response takes over, to its end
        self.response = self.http.getresponse()
        assert self.response.status == 200, self.response.status
        self.seen = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        try:
            for line in self.response:
                if line.startswith(b"data:"):
                    self.seen.put(json.loads(line[5:]))
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # closed, by the test or by the server

    def next_of(self, resource):
        """The next event of this resource: what it is, and the token."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            event = self.seen.get(timeout=PATIENCE)
            if event.get("resource") == resource:
                return event
        raise AssertionError(f"no event of {resource}")

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the server was first
        self.reader.join(timeout=PATIENCE)
        self.response.close()
        self.http.close()


class ClusterTest(ServerTest):
    """A test with three nodes, or as many as it has ids: `self.nodes`, by id."""

    ids = IDS
    longest_ttl = LONGEST_TTL

    def setUp(self):
        self.ports = dict(zip(self.ids, free_ports(len(self.ids))))
        self.peers = ",".join(f"{id}=127.0.0.1:{port}" for id, port in self.ports.items())
        self.dirs = {id: self.directory() for id in self.ids}
        self.nodes = {}

    def arguments(self, id, **changes):
        options = {"node": id, "peers": self.peers, "longest-ttl": f"{self.longest_ttl:g}s", **changes}
        return [word for name, value in options.items() for word in ("--" + name, value)]

    def place(self, id):
        """Where and how a node runs: options of Server."""
        return {}

    def launch_node(self, id, secret=SECRET, **changes):
        place = self.place(id)
        environment = {"HOLDFAST_CLUSTER_SECRET": secret, **place.pop("environment", {})}
        return self.launch(self.dirs[id], arguments=self.arguments(id, **changes), environment=environment, **place)

    def start_node(self, id):
        self.nodes[id] = self.launch_node(id).wait_until_serving()
        return self.nodes[id]

    def start_cluster(self):
        for id in self.ids:
            self.start_node(id)
        self.wait_until_together()
        for node in self.nodes.values():
            self.until("the cluster is founded", lambda: self.quorum(node)["founded"])
        return [self.nodes[id] for id in self.ids]

    def wait_until_together(self, count=None):
        """Until every running node can reach so many, itself included; all, if nothing is said."""
        for node in self.nodes.values():
            if node.process.poll() is None:
                self.until("the members are connected",
                           lambda: self.quorum(node)["reachable"] >= (count or len(self.ids)))

    def until(self, what, condition):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if found := condition():
                return found
            time.sleep(0.02)
        logs = {id: node.log[-5:] for id, node in self.nodes.items()}
        raise AssertionError(f"did not happen in {PATIENCE} s: {what}; {logs}")

    def quorum(self, node):
        status, answer = node.ask("GET", "/v1/quorum")
        self.assertEqual(status, 200, answer)
        return answer

    def events(self, node):
        events = Events(node.port)
        self.addCleanup(events.close)
        return events

    def resp(self, node):
        line = self.until("the address of the Redis protocol is told",
                          lambda: next((l for l in node.out if "redis://" in l), None))
        connection = Resp(int(re.search(r"redis://127\.0\.0\.1:(\d+)", line)[1]))
        self.addCleanup(connection.close)
        return connection

    def release(self, node, lease):
        return node.ask("DELETE", f"/v1/leases/{quoted(lease['id'])}?holder={quoted(lease['holder'])}")

    def another_connection(self, node):
        connection = node.connect()
        self.addCleanup(connection.close)
        return connection
