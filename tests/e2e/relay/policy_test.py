"""What an admin says, and what publishers that are under way make of it."""

import json
import unittest

from relay_world import TTL_MS, RelayTest, answering, eventually


class PolicyTest(RelayTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def advertise_echo(self, name, **more):
        return self.advertised(name, "--ttl", f"{TTL_MS}ms", to=self.service(answering(b"here")), **more)

    def test_a_ban_hides_at_once_and_its_end_brings_the_publisher_back_by_itself(self):
        publisher, other = self.advertise_echo("web"), self.advertise_echo("other", owner="ben")
        self.ok("ban", self.id_of("anna"), "--reason", "spam")
        self.assertEqual(set(self.listed()), {"other"})
        self.assertIsNone(self.find("web"))
        self.assertEqual(self.refused("web"), "unknown_service")
        self.assertIn("spam", publisher.wait_for("refused", "banned")["message"])
        self.ok("unban", self.id_of("anna"))
        eventually("it is served again", lambda: (self.find("web") or {}).get("connected"))
        self.assertEqual(self.fetch("web"), b"here")
        self.assertEqual(other.count("lost"), 0)
        self.assertRegex(self.ok("audit"), r"(?s)ban .*unban ")

    def test_a_banned_address_is_refused_at_the_door_and_let_in_again(self):
        publisher = self.advertise_echo("web")
        self.ok("ban", "127.0.0.0/8")
        self.assertEqual(self.listed(), {})
        self.assertEqual(self.refused("web"), "banned")
        publisher.wait_for("refused", "banned")
        self.ok("unban", "127.0.0.0/8")
        eventually("it is served again", lambda: (self.find("web") or {}).get("connected"))
        self.assertEqual(self.fetch("web"), b"here")

    def test_a_denied_name_is_back_by_itself_once_it_is_allowed(self):
        publisher = self.advertise_echo("web")
        self.ok("service", "deny", "web", "--reason", "the shop's")
        self.assertIsNone(self.find("web"))
        self.assertIn("the shop's", publisher.wait_for("refused", "name_denied")["message"])
        publisher.wait_for("lost")
        self.assertIn("denied", self.ok("service", "rules"))
        self.ok("service", "allow", "web")
        publisher.wait_for("taken_again")
        self.assertEqual(self.fetch("web"), b"here")
        self.assertRegex(self.ok("audit"), r"(?s)deny the service name web.*allow the service name web")

    def test_a_change_of_the_pattern_hits_at_the_next_renewal(self):
        inside, outside = self.advertise_echo("team-web"), self.advertise_echo("web", owner="ben")
        self.ok("policy", "set", "--namespace", "~services", "--name-pattern", "team-.*")
        outside.wait_for("refused", "name_refused")
        outside.wait_for("lost")
        self.wait_until_gone("web")
        self.assertNotEqual(self.holdfast("policy", "set", "--namespace", "~services", "--name-pattern", "(").code, 0)
        self.assertEqual(set(self.listed()), {"team-web"})
        self.ok("policy", "set", "--namespace", "~services", "--inherit", "name-pattern")
        outside.wait_for("taken_again")
        self.assertEqual(inside.count("lost"), 0)
        self.assertEqual(set(self.listed()), {"team-web", "web"})

    def test_a_publisher_waits_for_approval_and_advertises_by_itself_once_it_has_it(self):
        self.ok("policy", "set", "--approval", "manual")
        publisher = self.advertise("web", to=self.service(answering(b"here")))
        publisher.wait_for("refused", "awaiting_approval")
        self.assertEqual(self.listed(), {})
        [waiting] = json.loads(self.ok("approvals", "--json"))["waiting"]
        self.assertEqual((waiting["identity"], waiting["name"]), (self.id_of("anna"), "web"))
        self.ok("approve", self.id_of("anna"))
        publisher.wait_for("registered")
        self.assertEqual(self.fetch("web"), b"here")
        self.ok("deny", self.id_of("anna"))
        self.assertEqual(self.listed(), {})
        publisher.wait_for("refused", "banned")

    def test_what_was_decided_is_kept_over_a_restart(self):
        self.ok("policy", "set", "--approval", "manual")
        publisher, denied = self.advertise("web"), self.advertise("bad", owner="ben")
        for one in (publisher, denied):
            one.wait_for("refused", "awaiting_approval")
        self.ok("approve", self.id_of("anna"))
        self.ok("deny", self.id_of("ben"))
        publisher.wait_for("registered")
        self.server.kill()
        self.serve()
        self.assertEqual(json.loads(self.ok("approvals", "--json"))["approved"], [self.id_of("anna")])
        self.assertIn(self.id_of("ben"), self.ok("bans"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
