#!/usr/bin/env python3
"""Clients of a cluster of which one node hangs: it takes connections and says nothing."""

import json
import subprocess
import sys
import unittest

from cluster_harness import ClusterTest
from harness import BIN, PATIENCE, freeze, quoted, thaw


class Mcp:
    """A `holdfast mcp` and its host."""

    def __init__(self, test, options):
        self.process = subprocess.Popen([BIN, "mcp", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        test.addCleanup(self.process.stdout.close)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        test.addCleanup(self.process.stdin.close)
        self.say("initialize", {"protocolVersion": "2025-11-25"})
        self.process.stdout.readline()

    def say(self, method, params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()

    def ask_for(self, resource, **terms):
        arguments = {"intents": [{"resource": resource}], **terms}
        self.say("tools/call", {"name": "claim_intents", "arguments": arguments})

    def answer(self):
        return json.loads(self.process.stdout.readline())["result"]["structuredContent"]

    def claim(self, resource, **terms):
        self.ask_for(resource, **terms)
        return self.answer()


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
        freeze(a.process.pid)
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
            thaw(a.process.pid)

    def test_leases_are_renewed_and_verified_through_the_others(self):
        a, b, _ = self.start_cluster()
        held = b.grant("me", "r")
        freeze(a.process.pid)
        try:
            for words in (["renew", held["id"], "--holder", "me"], ["verify", held["id"]]):
                code, out, err = self.output_of(self.start(*words))
                self.assertEqual(code, 0, (words, out, err))
        finally:
            thaw(a.process.pid)

    def test_a_backend_is_found_and_started_through_the_others(self):
        a, b, _ = self.start_cluster()
        self.start("drone", "--id", "d", "--controller", self.servers(), "--state-dir", self.directory())
        spawn = "exec python3 -m http.server $PORT --bind $HOST"
        self.until("there is a drone", lambda: b.ask("GET", "/v1/drones")[1]["drones"])
        code, address, err = self.output_of(self.start("backend", "connect", "room", "--spawn", spawn))
        self.assertEqual(code, 0, err)
        freeze(a.process.pid)
        try:
            self.assertEqual(self.output_of(self.start("backend", "connect", "room"))[:2], (0, address))
            self.assertEqual(self.output_of(self.start("backend", "connect", "room", "--wait", "0s"))[:2], (0, address))
            code, _, err = self.output_of(self.start("backend", "connect", "other", "--spawn", spawn))
            self.assertEqual(code, 0, err)
        finally:
            thaw(a.process.pid)

    def test_an_mcp_server_keeps_its_claims_and_makes_new_ones_through_the_others(self):
        a, b, _ = self.start_cluster()
        mcp = Mcp(self, ["--holder", "agent", "--server", self.servers()])
        self.assertEqual(mcp.claim("SYMBOL:kept", ttl_ms=15_000)["verdict"], "GRANTED")
        taken = b.grant("other", "SYMBOL:wanted")
        freeze(a.process.pid)
        try:
            granted = self.ends_of("agent", b)
            self.until("it was renewed through another node", lambda: self.ends_of("agent", b) > granted)
            self.assertEqual(mcp.claim("SYMBOL:new")["verdict"], "GRANTED")
            mcp.ask_for("SYMBOL:wanted", wait_ms=50_000)
            self.until("it waits", lambda: self.waiters(b, "SYMBOL:wanted") == ["agent"])
            b.ask("DELETE", f"/v1/leases/{quoted(taken['id'])}?holder=other")
            self.assertEqual(mcp.answer()["verdict"], "GRANTED")
        finally:
            thaw(a.process.pid)

    def test_an_mcp_server_goes_on_waiting_when_its_node_hangs(self):
        a, b, _ = self.start_cluster()
        taken = b.grant("other", "SYMBOL:wanted")
        mcp = Mcp(self, ["--holder", "agent", "--server", self.servers()])
        mcp.ask_for("SYMBOL:wanted", wait_ms=50_000)
        self.until("it waits", lambda: self.waiters(b, "SYMBOL:wanted") == ["agent"])
        freeze(a.process.pid)
        try:
            self.until("the node is gone to the others", lambda: not self.reaches_all(b))
            b.ask("DELETE", f"/v1/leases/{quoted(taken['id'])}?holder=other")
            self.assertEqual(mcp.answer()["verdict"], "GRANTED")
        finally:
            thaw(a.process.pid)

    def reaches_all(self, node):
        return all(member["connected"] for member in node.ask("GET", "/v1/quorum")[1]["members"])

    def ends_of(self, holder, node):
        """When each of its leases ends."""
        return [lease["expires_at"] for lease in node.ask("GET", f"/v1/leases?holder={holder}")[1]["leases"]]

    def waiters(self, node, resource="r"):
        """Who waits, in order, for as much as the node says of it."""
        answer = node.acquire("asks", resource)[1]
        return [conflict["holder"] for conflict in answer.get("conflicts", []) if conflict["waiting"]]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
