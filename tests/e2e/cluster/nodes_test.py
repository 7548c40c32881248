"""Nodes that are killed: the others go on, in leases and in the log, and one that comes back is silent first (Q10, L1)."""

import json
import time

from real_cluster import RealCluster, Renewals, main


class Policies(RealCluster):
    """What the tests of the log share."""

    def change_policy(self, node, wait_max_ms):
        """Through the log, which may be without a leader for a while."""
        def ask():
            status, answer = node.ask("PATCH", "/v1/policy", {"wait_max_ms": wait_max_ms})
            self.assertIn(status, (200, 503), answer)
            return status == 200
        self.until("the policy is changed", ask)

    def assert_policy_on(self, nodes, wait_max_ms):
        for node in nodes:
            self.until("the node knows the policy",
                       lambda: node.ask("GET", "/v1/policy")[1]["wait_max_ms"] == wait_max_ms)

    def next_leader(self, node, former):
        """A leader of a later term, on another node."""
        def look():
            leader = self.quorum(node)["leader"]
            return leader if leader and leader["token"] > former["token"] else None
        leader = self.until("there is another leader", look)
        self.assertNotEqual(leader["id"], former["id"])
        return leader


class OfThree(Policies):
    def test_leases_go_on_when_the_leader_of_the_log_is_killed_and_another_one_leads(self):
        nodes = self.start_cluster()
        former = self.leader(nodes[0])
        self.change_policy(nodes[0], 50_000)
        others = [id for id in self.ids if id != former["id"]]
        lease = self.nodes[former["id"]].grant("alice", "r")
        with Renewals(self, lease, others) as renewals:
            self.nodes[former["id"]].kill()
            renewals.wait_for_more(10)
            one, other = (self.nodes[id] for id in others)
            self.assertGreater(one.grant("bob", "s")["token"], lease["token"])
            self.next_leader(one, former)
            self.change_policy(other, 40_000)
            self.assert_policy_on((one, other), 40_000)
            back = self.start_node(former["id"])
            self.assert_policy_on([back], 40_000)

    def test_a_node_that_was_killed_says_how_long_it_is_silent_and_takes_no_part_until_then(self):
        self.longest_ttl = 10
        a, b, c = self.start_cluster()
        before = a.grant("alice", "r")
        c.kill()
        c = self.start_node("c")
        self.wait_until_together()
        asked_at = time.monotonic()
        status = self.command("c", "quorum", "status", "--json", "--server", self.urls("c"))
        self.assertEqual(status.returncode, 0, status.stderr)
        silent_for = json.loads(status.stdout)["silent_for_ms"] / 1000
        self.assertGreater(silent_for, 0)
        # With two others it serves; with one other, of which it is silent, there is no majority.
        self.assertGreater(c.grant("bob", "s")["token"], before["token"])
        a.kill()
        refused, lease = 0, None
        while not lease:
            status, answer = (b if refused % 2 else c).acquire("carol", "t")
            granted_at = time.monotonic()
            self.assertIn(status, (201, 503), answer)
            refused += status == 503
            lease = answer["leases"][0] if status == 201 else None
            self.assertLess(granted_at, asked_at + 60)
        self.assertGreaterEqual(granted_at, asked_at + silent_for, "a silent node took part")
        self.assertGreater(refused, 0, "nothing was asked for in its silence")
        self.assertGreater(lease["token"], before["token"])
        self.assertEqual(self.quorum(c)["silent_for_ms"], 0)


class OfFive(Policies):
    ids = ("a", "b", "c", "d", "e")

    def test_three_go_on_when_two_are_killed_and_two_do_not(self):
        nodes = self.start_cluster()
        former = self.leader(nodes[0])
        leading = self.nodes[former["id"]]
        lease = leading.grant("alice", "r")
        others = [id for id in self.ids if id != former["id"]]
        with Renewals(self, lease, others[1:]) as renewals:
            leading.kill()
            self.nodes[others[0]].kill()
            renewals.wait_for_more(10)
            alive = [self.nodes[id] for id in others[1:]]
            self.assertGreater(alive[0].grant("bob", "s")["token"], lease["token"])
            self.next_leader(alive[1], former)
            self.change_policy(alive[2], 40_000)
            self.assert_policy_on(alive, 40_000)
        alive.pop().kill()
        self.assert_unavailable(alive[0].acquire("carol", "t"))

    def test_the_three_on_one_side_of_a_partition_go_on_and_the_two_on_the_other_do_not(self):
        self.start_cluster()
        lease = self.nodes["e"].grant("alice", "r")
        self.network.split("abc", "de")
        with Renewals(self, lease, "abc") as renewals:
            self.assertGreater(self.nodes["a"].grant("bob", "s")["token"], lease["token"])
            self.assert_unavailable(self.nodes["d"].acquire("carol", "t"))
            self.assert_unavailable(self.nodes["e"].renew(lease))
            renewals.wait_for_more(10)
            self.network.heal()
            self.wait_until_together()
            self.assertGreater(self.granted_at_last(self.nodes["d"], "carol", "t")["token"], lease["token"])


if __name__ == "__main__":
    main()
