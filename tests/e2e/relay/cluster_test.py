"""Services on three nodes, each with a relay of its own."""

import unittest

from relay_world import RelayWorld, answering, relay_of  # first: it says where the others are
from cluster_harness import ClusterTest


class ServicesOfAClusterTest(RelayWorld, ClusterTest):
    def setUp(self):
        super().setUp()
        self.make_home()
        self.a, self.b, self.c = self.start_cluster()
        self.relay = relay_of(self.a)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.b.port}"

    def test_a_service_is_found_at_every_node_and_reached_through_every_relay(self):
        self.advertised("web", to=self.service(answering(b"here")))
        for node in (self.a, self.b, self.c):
            self.assertEqual(self.wait_until_listed("web", node)["relay"], self.relay)
            self.assertEqual(self.fetch("web", relay=relay_of(node)), b"here")

    def test_a_name_is_one_for_all_nodes_and_passes_on_when_its_publisher_dies(self):
        anna = self.advertised("web", to=self.service(answering(b"anna")))
        ben = self.advertise("web", owner="ben", to=self.service(answering(b"ben")), relay=relay_of(self.b))
        ben.wait_for("standing_by", "name_taken")
        anna.kill()
        self.assertGreater(ben.wait_for("registered")["token"], anna.token)
        for node in (self.a, self.b, self.c):
            self.until("every node says so", lambda: (self.find("web", node) or {}).get("relay") == relay_of(self.b))
            self.assertEqual(self.fetch("web", relay=relay_of(node)), b"ben")

    def test_a_ban_at_one_node_hides_at_all(self):
        publisher = self.advertised("web")
        for node in (self.a, self.b, self.c):
            self.wait_until_listed("web", node)
        self.until("somebody leads, and bans it", lambda: self.holdfast("ban", self.id_of("anna")).code == 0)
        for node in (self.a, self.b, self.c):
            self.wait_until_gone("web", node)
        publisher.wait_for("refused", "banned")

    def test_what_is_behind_a_node_that_dies_runs_out_and_the_name_is_free_elsewhere(self):
        anna = self.advertised("web")
        self.wait_until_listed("web", self.b)
        self.a.kill()
        self.until("it is shown as stale while its lease lasts", lambda: (self.find("web", self.b) or {}).get("stale"))
        self.wait_until_gone("web", self.b)
        ben = self.advertised("web", owner="ben", to=self.service(answering(b"ben")), relay=relay_of(self.b))
        self.assertGreater(ben.token, anna.token)
        self.assertEqual(self.fetch("web", relay=relay_of(self.c)), b"ben")

    def test_a_publisher_with_several_relays_goes_on_at_the_next_when_its_node_dies(self):
        relays = ",".join(relay_of(node) for node in (self.a, self.b, self.c))
        publisher = self.advertised("web", to=self.service(answering(b"here")), relay=relays)
        self.assertEqual(self.wait_until_listed("web", self.b)["relay"], relay_of(self.a))
        self.a.kill()
        self.assertGreater(publisher.wait_for("taken_again")["token"], publisher.token)
        self.assertEqual(self.fetch("web", relay=relay_of(self.c)), b"here")


if __name__ == "__main__":
    unittest.main(verbosity=2)
