"""A flood of leases stops at --max-memory, what is held is served on, and the memory goes back to the system."""

import time
import unittest

from harness import PATIENCE, ServerTest, eventually, quoted

MOST = 128 << 20
SLACK = 24 << 20  # of what a server keeps whatever happens: tables, the last events, a page of each size
METADATA = {"text": "x" * 8000}


def resident(server):
    with open(f"/proc/{server.pid}/statm") as statm:
        return int(statm.read().split()[1]) * 4096


class FloodTest(ServerTest):
    def flood(self, server):
        """Large leases until there is no room; returns the refusal."""
        end = time.monotonic() + PATIENCE
        batch = 0
        while time.monotonic() < end:
            batch += 1
            intents = [{"resource": f"flood/{batch}/{i}"} for i in range(250)]
            status, answer = server.ask("POST", "/v1/leases", {
                "holder": "flood", "intents": intents, "ttl_ms": 10000, "metadata": METADATA})
            if status != 201:
                return status, answer
        raise AssertionError("it was never refused")

    def test_a_flood_is_refused_and_leaves_no_memory_behind(self):
        server = self.start(arguments=["--max-memory", str(MOST)])
        held = server.grant("alice", "r", ttl_ms=60000)
        before = resident(server)
        status, refused = self.flood(server)
        during = resident(server)
        self.assertEqual((status, refused["error"]["code"]), (503, "memory_full"), refused)
        self.assertGreater(refused["retry_in_ms"], 0)
        self.assertGreater(during, before + MOST // 4, "so little was never much")
        self.assertLess(during, MOST * 1.1)
        self.assertEqual(server.renew(held)[0], 200)
        status, verified = server.ask("POST", "/v1/verify", {"leases": [held["id"]]})
        self.assertEqual((status, verified["results"][0]["state"]), (200, "ACTIVE"), verified)
        self.assertEqual(server.ask("DELETE", f"/v1/leases/{quoted(held['id'])}?holder=alice")[0], 200)
        eventually("there is room again", lambda: server.acquire("alice", "r")[0] == 201)
        after = eventually("memory goes back",
                           lambda: (now := resident(server)) <= before * 1.5 + SLACK and now)
        print(f"resident: {before >> 20} MiB before, {during >> 20} during, {after >> 20} after")


if __name__ == "__main__":
    unittest.main()
