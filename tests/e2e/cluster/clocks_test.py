"""Clocks hours apart, and set while the nodes run: no lease is lost, none is held twice, tokens rise (T1, G3)."""

import email.utils
import os
import random
import struct
import sys
import tempfile
import time

from belief import Beliefs, Holders, wait_for_grants
from real_cluster import CLIENTS, RealCluster, Renewals, main

SEED = 5
HOUR = 3600
DAY = 24 * HOUR
WRONG_CLOCK = sys.argv.pop(1)  # the library of tests/e2e/ownership/wrong_clock.cpp


class WallClocks(RealCluster):
    """The wall clock of each node is off by what a file says, at every moment."""

    longest_ttl = 10.0

    def setUp(self):
        super().setUp()
        self.shifts = {id: tempfile.NamedTemporaryFile(buffering=0) for id in self.ids}
        for id, shift in self.shifts.items():
            self.addCleanup(shift.close)
            self.set_clock(id, 0)

    def set_clock(self, id, seconds):
        os.pwrite(self.shifts[id].fileno(), struct.pack("=q", seconds), 0)

    def place(self, id):
        return {**super().place(id), "environment": {"LD_PRELOAD": WRONG_CLOCK, "WRONG_CLOCK_FILE": self.shifts[id].name}}

    def assert_clock(self, id, seconds):
        """What the node itself takes for the time of day."""
        def told():
            self.nodes[id].health()
            return email.utils.parsedate_to_datetime(self.nodes[id].connection.date).timestamp()
        self.until(f"the clock of {id} is off by {seconds} s", lambda: abs(told() - time.time() - seconds) < 600)

    def set_clocks(self, shifts):
        for id, shift in shifts.items():
            self.set_clock(id, shift)
            self.assert_clock(id, shift)

    def test_holders_never_hold_at_once_and_lose_nothing_while_the_clocks_are_set_by_hours(self):
        for id, shift in zip(self.ids, (-5 * HOUR, 0, 7 * HOUR)):
            self.set_clock(id, shift)
        self.start_cluster()
        for id, shift in zip(self.ids, (-5 * HOUR, 0, 7 * HOUR)):
            self.assert_clock(id, shift)
        beliefs, kept = Beliefs(), Beliefs()
        contending = [Holders(self, beliefs, CLIENTS, "contend", self.urls(id), f"at-{id}", 3, 2000, 4, SEED)
                      for id in self.ids]
        keeping = Holders(self, kept, CLIENTS, "keep", self.urls(), "keeper", 4, 10_000)
        chance = random.Random(SEED)
        for _ in range(6):
            self.set_clocks({id: chance.randint(-10 * HOUR, 10 * HOUR) for id in self.ids})
            for one in contending:
                wait_for_grants(one, 2)
        self.set_clocks({id: -20 * HOUR for id in self.ids})
        self.nodes["b"].stop()
        self.start_node("b")
        self.wait_until_together()
        for one in contending:
            wait_for_grants(one, 2)
            self.assertEqual(one.end(), 0)
        self.assertEqual(keeping.end(), 0)
        self.assertEqual(beliefs.violations(), [])
        self.assertEqual((kept.grants(), kept.losses), (4, []))
        self.assertGreaterEqual(kept.count("renewed"), 4, "too little happened to prove anything")

    def test_tokens_rise_when_all_are_killed_and_their_clocks_are_set_back(self):
        self.longest_ttl = 3.0
        self.set_clock("a", 9 * HOUR)
        a, _, _ = self.start_cluster()
        self.assert_clock("a", 9 * HOUR)
        before = a.grant("alice", "r")["token"]
        for id in self.ids:
            self.nodes[id].kill()
            self.set_clock(id, -9 * HOUR)
        a, _, _ = self.start_cluster()
        self.assert_clock("a", -9 * HOUR)
        self.assertGreater(self.granted_at_last(a, "bob", "r")["token"], before)


class ClocksSinceTheStart(RealCluster):
    """Each node is in a time namespace of its own: its machine seems to have started on another day."""

    OFFSETS = {"a": 0, "b": 3 * DAY, "c": 200 * DAY}

    def place(self, id):
        clock = self.OFFSETS[id]
        return {**super().place(id), "under": ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(clock),
                                               "--boottime", str(clock)]}

    def test_a_lease_means_the_same_on_nodes_whose_clocks_began_on_other_days(self):
        a, b, c = self.start_cluster()
        for id, offset in self.OFFSETS.items():
            with open(f"/proc/{self.nodes[id].pid}/task/{self.nodes[id].pid}/children") as children:
                server = int(children.read().split()[0])
            with open(f"/proc/{server}/timens_offsets") as offsets:
                self.assertIn(str(offset), offsets.read().split(), "it has a clock of its own")
        lease = a.grant("alice", "r", ttl_ms=6000)
        with Renewals(self, lease, "bca") as renewals:
            end = time.monotonic() + 9
            while time.monotonic() < end:
                for node in (b, c):
                    status, answer = node.acquire("bob", "r")
                    self.assertEqual((status, answer["error"]["code"]), (409, "busy"), answer)
            renewals.wait_for_more(1)
        renewed_until = renewals.done[-1]
        second = self.until("it runs out", lambda: c.acquire("bob", "r")[1].get("leases"))
        self.assertGreater(second[0]["token"], lease["token"])
        self.assertGreater(time.monotonic(), renewed_until, "it ran out after its last renewal")


if __name__ == "__main__":
    main()
