"""Rolling clean restarts, as for an upgrade, while clients hold leases: none notices (Q10)."""

from belief import Beliefs, Holders
from real_cluster import CLIENTS, RealCluster, Renewals, eventually, main
from runs import Run

KEEPERS = 8
TTL_MS = 12_000


class RollingRestarts(RealCluster):
    longest_ttl = 30.0

    def test_all_nodes_are_restarted_one_after_the_other_and_no_renewal_fails(self):
        self.start_cluster()
        beliefs = Beliefs()
        # Each begins with another node, so that every restart is one of somebody's node.
        keepers = [Holders(self, beliefs, CLIENTS, "keep", self.urls(*self.ids[i:], *self.ids[:i]), f"keeper-{i}", KEEPERS,
                           TTL_MS) for i in range(3)]
        run = Run(self, CLIENTS, self.urls(), "run", "--ttl", f"{TTL_MS}ms")
        token = run.wait_until_at_work()
        eventually("all hold", lambda: beliefs.grants() == 3 * KEEPERS)
        tokens = set(beliefs.holdings)
        busy = [Renewals(self, self.nodes[id].grant(f"busy-{id}", f"busy-{id}"), self.ids) for id in self.ids]
        with busy[0], busy[1], busy[2]:
            for id in self.ids:
                self.nodes[id].stop()
                self.all_are_renewed(beliefs, busy)
                node = self.start_node(id)
                self.assertEqual(self.quorum(node)["silent_for_ms"], 0)
                self.wait_until_together()
                self.all_are_renewed(beliefs, busy)
                run.wait_for_more(5)
        self.assertEqual([keeper.end() for keeper in keepers], [0, 0, 0])
        self.assertEqual((beliefs.losses, beliefs.count("unsure"), beliefs.count("not")), ([], 0, 0))
        self.assertEqual(set(beliefs.holdings), tokens, "the leases that were taken at first, with their tokens")
        self.assertEqual({sign[0] for sign in run.signs}, {token})
        self.assertIsNone(run.process.poll(), run.said)

    def all_are_renewed(self, beliefs, busy):
        """Every keeper's lease once more, and the busy ones many times."""
        before = dict(beliefs.renewals)
        for one in busy:
            one.wait_for_more(20)
        eventually("every lease is renewed", lambda: beliefs.losses or all(
            beliefs.renewals.get(name, 0) > before.get(name, 0) for name in list(beliefs.holdings)))
        self.assertEqual(beliefs.losses, [])


if __name__ == "__main__":
    main()
