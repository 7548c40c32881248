"""Partitions: which side goes on, what the other one says, and that nobody holds what another one was granted (Q1, T3)."""

import time

from belief import Beliefs, Holders, wait_for_grants
from real_cluster import RealCluster, Renewals, eventually, main
from runs import Run


class Split(RealCluster):
    def test_the_majority_side_goes_on_and_the_minority_side_answers_unavailable_until_it_is_healed(self):
        a, b, c = self.start_cluster()
        held = c.grant("alice", "held")
        self.network.split("ab", "c")
        with Renewals(self, held, "b") as renewals:
            self.assertGreater(a.grant("bob", "free")["token"], held["token"])
            self.assert_unavailable(c.acquire("carol", "never"))
            self.assert_unavailable(self.release(c, held))
            self.reachable("c", 1)
            self.assert_unavailable(c.renew(held))
            renewals.wait_for_more(10)
            self.assertNotIn("never", [lease["resource"] for lease in a.leases().values()])
        status = self.command("c", "quorum", "status", "--server", self.urls("c"))
        self.assertEqual(status.returncode, 1, "it reaches no majority")

        self.network.heal()
        self.wait_until_together()
        for node, holder in ((a, "dave"), (b, "erin"), (c, "frank")):
            lease = self.granted_at_last(node, holder, f"of-{holder}")
            self.assertGreater(lease["token"], held["token"])

    def test_work_under_a_lease_of_the_minority_is_dead_before_the_majority_grants_it_to_another(self):
        a, b, _ = self.start_cluster()
        first = Run(self, "c", self.urls("c"), "r", "--ttl", "3s", "--holder", "first")
        token = first.wait_until_at_work()
        second = Run(self, "b", self.urls("b"), "r", "--ttl", "3s", "--holder", "second", "--wait")
        eventually("the second waits", lambda: b.health()["waiters"] == 1)
        first.wait_for_more(10)
        self.network.split("ab", "c")
        self.assertGreater(second.wait_until_at_work(), token)
        self.assertEqual(first.wait(), 104, first.said)
        self.assertEqual({sign[0] for sign in first.signs}, {token}, "one lease from beginning to end")
        self.assertLess(first.signs[-1][1], second.signs[0][1], "both worked at one time")
        second.wait_for_more(10)

    def test_whoever_waits_through_whichever_node_is_served_once_the_network_is_healed(self):
        _, b, c = self.start_cluster()
        held = b.grant("alice", "r")
        with Renewals(self, held, "b"):
            runs = [Run(self, id, self.urls(id), "r", "--holder", f"of-{id}", "--wait", work=["once"]) for id in self.ids]
            for id in self.ids:
                eventually(f"somebody waits at {id}", lambda: self.nodes[id].health()["waiters"] >= 1)
            self.network.split("ab", "c")
            self.reachable("c", 1)
        self.assertEqual([run.wait() for run in runs[:2]], [0, 0], "the majority serves its own")
        self.assertEqual(runs[2].signs, [], "the minority serves nobody")
        self.network.heal()
        self.assertEqual(runs[2].wait(), 0, runs[2].said)
        self.assertGreater(runs[2].signs[0][0], max(run.signs[0][0] for run in runs[:2]))

    def test_holders_on_both_sides_never_hold_at_once_and_all_get_their_turns_again(self):
        self.start_cluster()
        beliefs = Beliefs()
        holders = {id: Holders(self, beliefs, id, "contend", self.urls(id), f"at-{id}", 3, 2000, 4, 7) for id in self.ids}
        for around in range(2):
            for id in self.ids:
                wait_for_grants(holders[id], 2)
            alone = self.ids[around]
            self.network.split([id for id in self.ids if id != alone], [alone])
            self.reachable(alone, 1)
            before = holders[alone].grants()
            wait_for_grants(beliefs, 10)
            self.assertEqual(holders[alone].grants(), before, "the minority granted something")
            self.network.heal()
            wait_for_grants(holders[alone], 2)
        for one in holders.values():
            self.assertEqual(one.end(), 0)
        self.assertEqual(beliefs.violations(), [])
        self.assertGreater(beliefs.grants(), 30, "too little happened to prove anything")


class HalfPartition(RealCluster):
    """Two do not reach each other, and both reach the third."""

    def test_a_lease_of_one_is_renewed_there_and_respected_by_the_other(self):
        self.start_cluster()
        self.network.cut("a", "b")
        self.lease_is_shared()

    def test_so_it_is_if_only_one_direction_is_cut(self):
        self.start_cluster()
        self.network.cut_one_way("a", "b")
        self.lease_is_shared()

    def lease_is_shared(self):
        a, b, c = (self.nodes[id] for id in self.ids)
        lease = self.granted_at_last(a, "alice", "r")
        with Renewals(self, lease, "a") as renewals:
            self.reachable("a", 2)
            self.reachable("b", 2)
            self.reachable("c", 3)
            # For longer than it lasts unrenewed.
            tried = 0
            end = time.monotonic() + 1.5 * self.longest_ttl
            while time.monotonic() < end:
                status, answer = b.acquire("bob", "r")
                self.assertEqual((status, answer["error"]["code"]), (409, "busy"), answer)
                tried += 1
        self.assertGreater(tried, 5)
        self.assertGreater(len(renewals.done), 5)
        self.assertEqual(self.release(a, lease)[0], 200)
        self.assertGreater(self.granted_at_last(b, "bob", "r")["token"], lease["token"])

    def test_a_node_that_hears_all_and_is_heard_by_nobody_grants_nothing(self):
        a, b, c = self.start_cluster()
        before = a.grant("alice", "r")
        for other in "bc":
            self.network.cut_one_way("a", other)
        self.assert_unavailable(a.acquire("bob", "s"))
        self.assertGreater(self.granted_at_last(b, "carol", "s")["token"], before["token"])
        for other in "bc":
            self.network.mend_one_way("a", other)
        self.wait_until_together()
        self.assertGreater(self.granted_at_last(a, "dave", "t")["token"], before["token"])


if __name__ == "__main__":
    main()
