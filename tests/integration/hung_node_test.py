#!/usr/bin/env python3
"""Clients of a cluster of which one node hangs: it takes connections and says nothing."""

import signal
import subprocess
import sys
import unittest

from cluster_harness import ClusterTest
from harness import BIN, PATIENCE, quoted


class HungNode(ClusterTest):
    longest_ttl = 60.0  # nothing here runs out

    def servers(self):
        return ",".join(f"http://127.0.0.1:{self.nodes[id].port}" for id in self.ids)

    def start(self, *words):
        """A command whose servers are all nodes, the one that will hang first."""
        process = subprocess.Popen([BIN, *words, "--server", self.servers()], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def output_of(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def test_requests_are_answered_by_the_others_and_a_waiter_keeps_its_place(self):
        a, b, c = self.start_cluster()
        held = b.grant("holder", "r")
        first = self.start("acquire", "r", "--holder", "first", "--wait=120s", "--ttl", "6s")
        self.until("the first waits", lambda: self.waiters(b) == ["first"])
        second = self.another_connection(c)
        second.send("POST", "/v1/leases", {"holder": "second", "resource": "r", "wait_ms": 120_000})
        self.until("the second waits", lambda: self.waiters(b) == ["first", "second"])
        a.process.send_signal(signal.SIGSTOP)
        try:
            code, out, err = self.output_of(self.start("acquire", "other", "--holder", "plain", "--ttl", "6s"))
            self.assertEqual(code, 0, err)
            self.assertIn("other#", out)
            self.until("the first waits through another node", lambda: "another server" in first.stderr.readline())
            # The entry of the node that hangs is in nobody's way any more: this is the other one.
            self.until("it is in the queue there", lambda: self.waiters(b) == ["first", "second"])
            status, answer = b.ask("DELETE", f"/v1/leases/{quoted(held['id'])}?holder=holder")
            self.assertEqual(status, 200, answer)
            code, out, err = self.output_of(first)
            self.assertEqual(code, 0, err)
            self.assertIn("r#", out)
        finally:
            a.process.send_signal(signal.SIGCONT)

    def waiters(self, node):
        """Who waits, in order, for as much as the node says of it."""
        answer = node.acquire("asks", "r")[1]
        return [conflict["holder"] for conflict in answer.get("conflicts", []) if conflict["waiting"]]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
