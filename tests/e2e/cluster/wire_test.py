"""Wires that delay, stall, lose and break between the nodes (Q12): leases go on being granted, and never two at once."""

import random
import time

from belief import Beliefs, Holders, wait_for_grants
from proxy import Wire, Wires
from real_cluster import RealCluster, Renewals, main

SEED = 20261116
PROXY_PORT = 7500
PEER_PORT = 7402


class BadWires(RealCluster):
    """Of each two nodes the one whose id comes first connects: its way to the other one leads through a proxy."""

    def setUp(self):
        super().setUp()
        self.wires = {}
        for number, (one, other) in enumerate((one, other) for one in self.ids for other in self.ids if one < other):
            self.wires[one, other] = Wire(self.hosts[one], PROXY_PORT + number, (self.hosts[other].address, PEER_PORT),
                                          SEED + number)
        self.loop = Wires(list(self.wires.values()))
        self.addCleanup(self.loop.close)

    def arguments(self, id, **changes):
        def address(other):
            wire = self.wires.get((id, other))
            return wire.listener.getsockname()[:2] if wire else (self.hosts[other].address, PEER_PORT)
        peers = ",".join("{}={}:{}".format(other, *address(other)) for other in self.ids)
        return super().arguments(id, peers=peers, **changes)

    def do(self, function, *arguments):
        return self.loop.do(function, *arguments)

    def test_holders_never_hold_at_once_whatever_the_wires_do(self):
        self.start_cluster()
        beliefs = Beliefs()
        holders = [Holders(self, beliefs, id, "contend", self.urls(id), f"at-{id}", 4, 2000, 5, SEED) for id in self.ids]
        wait_for_grants(beliefs, 20)
        chance = random.Random(SEED)
        done = {}
        end = time.monotonic() + 25
        while time.monotonic() < end:
            fault = chance.choice(list(self.FAULTS))
            wire = self.wires[chance.choice(list(self.wires))]
            self.do(self.FAULTS[fault], wire, chance)
            done[fault] = done.get(fault, 0) + 1
            time.sleep(chance.uniform(0.1, 0.8))  # so long it lasts, at least
            if chance.random() < 0.5:
                self.do(wire.behave)
        during = beliefs.grants()
        for wire in self.wires.values():
            self.do(wire.behave)
        self.wait_until_together()
        for one in holders:
            wait_for_grants(one, 1)
            self.assertEqual(one.end(), 0)
        self.assertEqual(beliefs.violations(), [])
        for fault in self.FAULTS:
            self.assertGreater(done.get(fault, 0), 1, f"too few faults to prove anything: {done}")
        self.assertGreater(during, 30, "too little was granted meanwhile to prove anything")
        print(f"  {beliefs.grants()} grants, {during} of them through {done}; {beliefs.count('renewed')} renewals, "
              f"{len(beliefs.losses)} losses")

    def delay(wire, chance):
        wire.there.delay_max = wire.back.delay_max = chance.choice((0.02, 0.1, 0.4, 1.5))

    def stall(wire, _):
        wire.there.stalled = wire.back.stalled = True

    def stall_one_way(wire, chance):
        chance.choice((wire.there, wire.back)).stalled = True

    def lose(wire, chance):
        chance.choice((wire.there, wire.back)).loses = chance.choice((1, 1_000_000))

    def break_off(wire, _):
        wire.break_connections()

    FAULTS = {"delay": delay, "stall": stall, "one way": stall_one_way, "loss": lose, "break": break_off}

    def test_a_lease_is_kept_through_wires_that_take_their_time(self):
        self.start_cluster()
        for wire in self.wires.values():
            self.do(setattr, wire.there, "delay_max", 0.05)
            self.do(setattr, wire.back, "delay_max", 0.05)
        lease = self.granted_at_last(self.nodes["a"], "alice", "r")
        with Renewals(self, lease, "abc") as renewals:
            renewals.wait_for_more(20)
            status, answer = self.nodes["c"].acquire("bob", "r")
            self.assertEqual((status, answer["error"]["code"]), (409, "busy"), answer)
        self.assertEqual(self.release(self.nodes["b"], lease)[0], 200)
        self.assertGreater(self.granted_at_last(self.nodes["c"], "bob", "r")["token"], lease["token"])

    def test_a_node_that_hears_nobody_on_one_wire_uses_the_other(self):
        a, b, c = self.start_cluster()
        self.do(setattr, self.wires["a", "b"].back, "stalled", True)  # what b says does not reach a
        lease = self.granted_at_last(a, "alice", "r")
        with Renewals(self, lease, "a") as renewals:
            renewals.wait_for_more(20)
            status, answer = b.acquire("bob", "r")
            self.assertEqual((status, answer["error"]["code"]), (409, "busy"), answer)
            self.reachable("a", 2)
        self.do(self.wires["a", "b"].behave)
        self.wait_until_together()

    def test_bytes_that_were_lost_cost_the_connection_and_nothing_else(self):
        a, b, _ = self.start_cluster()
        lease = a.grant("alice", "r")
        wire = self.wires["a", "b"]
        with Renewals(self, lease, "a") as renewals:
            self.do(setattr, wire.there, "loses", 1)
            self.until("the frames that follow are refused", lambda: any("frame" in line for line in b.log))
            renewals.wait_for_more(20)
            self.wait_until_together()


if __name__ == "__main__":
    main()
