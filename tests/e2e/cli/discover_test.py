"""`discover`, and what an admin does about publishers: `policy`, `ban`, `approve`, `deny`, `approvals`."""

import json
import signal
import unittest

from http_publisher import HttpPublisher
from processes import HoldfastTest


class DiscoverTest(HoldfastTest):
    def publisher(self, name):
        return HttpPublisher(self.server.url, self.scratch, name)

    def enter(self, publisher, name, **fields):
        status, answer = publisher.register(name, **fields)
        self.assertEqual(status, 201, answer)
        return answer

    def refused(self, publisher, name, **fields):
        status, answer = publisher.register(name, **fields)
        self.assertGreaterEqual(status, 400)
        return answer["error"]["code"]

    def test_shows_all_one_or_those_that_match(self):
        anna = self.publisher("anna")
        self.enter(anna, "table-web", address="10.0.0.7:80", alpn=["h2"], metadata={"version": "7"}, ttl_ms=300000)
        self.enter(anna, "table-db", ttl_ms=300000)
        self.assertRegex(self.ok("discover", "table-*"),
                         r"(?s)NAME +IDENTITY +STATE .*table-db +[a-z2-7]{32} +stale .*"
                         r"table-web +[a-z2-7]{32} +stale +\S+ +10\.0\.0\.7:80 +h2 +version=7")
        self.assertNotIn("table-db", self.ok("discover", "table-web"))
        self.assertEqual(self.json("discover", "table-web")["service"]["metadata"], {"version": "7"})
        self.assertEqual([service["name"] for service in self.json("discover", "table-?*")["services"]],
                         ["table-db", "table-web"])
        missing = self.holdfast("discover", "table-nobody")
        self.assertEqual(missing.returncode, 106)
        self.assertIn("nobody advertises", missing.stderr)
        self.assertEqual(self.json("discover", "table-nobody", code=106)["error"]["code"], "unknown_service")
        self.assertEqual(self.holdfast("discover", "table-x*").stderr, "holdfast: no services with such a name\n")

    def test_a_service_may_be_called_as_a_route_is(self):
        anna = self.publisher("anna")
        for name in ("relay", "events", "caf\u00e9 7"):
            self.enter(anna, name)
            self.assertEqual(self.json("discover", name)["service"]["name"], name)

    def test_watch_shows_what_is_there_and_every_change_as_lines_of_json(self):
        anna = self.publisher("anna")
        self.enter(anna, "watch-1", ttl_ms=300000)
        watch = self.start("discover", "watch-*", "--watch", "--json")
        first = json.loads(watch.out.find(r".*watch-1.*").group(0))
        self.assertEqual((first["type"], first["service"]["name"]), ("service", "watch-1"))
        token = self.enter(anna, "watch-2")["token"]
        watch.out.find(r'"type":"registered".*watch-2')
        anna.say("unregister", "watch-2", token=token)
        watch.out.find(r'"type":"gone".*watch-2')
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(watch), 0)

    def test_watch_is_for_people_too(self):
        watch = self.start("discover", "people-*", "--watch")
        watch.err.find("no services yet")
        anna = self.publisher("anna")
        token = self.enter(anna, "people-1")["token"]
        watch.out.find(r"registered +people-1 +[a-z2-7]{32} +stale")
        anna.say("unregister", "people-1", token=token)
        watch.out.find(r"gone +people-1 +[a-z2-7]{32}$")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(watch), 0)

    def test_a_ban_hides_at_once_and_refuses(self):
        anna = self.publisher("anna")
        self.enter(anna, "banned-1")
        identity = self.json("discover", "banned-1")["service"]["identity"]
        self.ok("ban", identity)
        self.assertEqual(self.holdfast("discover", "banned-1").returncode, 106)
        self.assertEqual(self.refused(anna, "banned-1"), "banned")
        self.ok("unban", identity)
        self.assertIn("banned-1", self.ok("discover", "banned-1"))

    def test_bans_take_addresses_and_prefixes(self):
        anna = self.publisher("anna")
        self.enter(anna, "address-1")
        self.assertEqual(self.ok("ban", "127.0.0.0/8"), "127.0.0.0/8 banned\n")
        self.assertIn("127.0.0.0/8", self.ok("bans"))
        self.assertEqual(self.refused(anna, "address-2"), "banned")
        self.assertEqual(self.holdfast("discover", "address-1").returncode, 106)
        self.assertEqual(self.ok("unban", "127.0.0.0/8"), "127.0.0.0/8 unbanned\n")
        self.enter(anna, "address-2")
        for malformed in ("300.1.1.1", "10.0.0.0/99"):
            refused = self.holdfast("ban", malformed)
            self.assertEqual(refused.returncode, 106)
            self.assertIn("looks like an IP address", refused.stderr)

    def test_a_name_is_denied_reserved_and_allowed_again(self):
        anna, ben = self.publisher("anna"), self.publisher("ben")
        self.enter(anna, "rule-1")
        owner = self.json("discover", "rule-1")["service"]["identity"]
        self.assertEqual(self.ok("service", "deny", "rule-1", "--identity", owner, "--reason", "the shop's"),
                         f"rule-1 is denied to {owner}\n")
        self.assertEqual(self.holdfast("discover", "rule-1").returncode, 106)
        self.assertEqual(self.refused(anna, "rule-1"), "name_denied")
        self.ok("service", "reserve", "rule-2", "--identity", owner)
        self.assertEqual(self.refused(ben, "rule-2"), "name_denied")
        self.enter(anna, "rule-2")
        self.assertRegex(self.ok("service"), r"(?s)rule-1 +denied .*the shop's.*rule-2 +reserved ")
        self.assertEqual(self.ok("service", "allow", "rule-1"), "removed the rule for rule-1\n")
        self.assertEqual(self.ok("service", "allow", "rule-2", "--identity", owner),
                         "removed the rule for rule-2\n")
        self.enter(anna, "rule-1")
        self.assertEqual(self.holdfast("service", "reserve", "rule-3").returncode, 2, "for whom?")
        self.assertEqual(self.holdfast("service", "deny", "a/b").returncode, 106)

    def test_policy_bounds_names_and_times_and_a_bad_pattern_changes_nothing(self):
        anna = self.publisher("anna")
        self.ok("policy", "set", "--namespace", "~services", "--name-pattern", "policy-.*", "--ttl-min", "5s",
                "--ttl-max", "2m")
        try:
            self.assertEqual(self.holdfast("policy", "set", "--namespace", "~services", "--name-pattern", "(").returncode,
                             106)
            self.enter(anna, "policy-1")
            self.assertEqual(self.refused(anna, "other"), "name_refused")
            self.assertEqual(self.refused(anna, "policy-2", ttl_ms=4999), "ttl_too_short")
            self.assertEqual(self.enter(anna, "policy-2", ttl_ms=200000)["ttl_ms"], 120000)
        finally:
            self.ok("policy", "set", "--namespace", "~services", "--inherit", "name-pattern,ttl-min,ttl-max")

    def test_publishers_are_approved_or_denied_by_hand(self):
        anna, ben = self.publisher("anna"), self.publisher("ben")
        self.assertRegex(self.ok("policy", "set", "--approval", "manual"), r"approval +manual")
        try:
            self.assertEqual(self.refused(anna, "approve-1"), "awaiting_approval")
            self.assertEqual(self.refused(ben, "approve-2"), "awaiting_approval")
            self.assertRegex(self.ok("approvals"), r"(?s)[a-z2-7]{32} +waiting +\S+Z +approve-1 +127\.0\.0\.1")
            waiting = {one["name"]: one["identity"] for one in self.json("approvals")["waiting"]}
            self.assertEqual(self.ok("approve", waiting["approve-1"]), waiting["approve-1"] + " approved\n")
            self.assertIn("already", self.ok("approve", waiting["approve-1"]))
            self.enter(anna, "approve-1")
            self.assertEqual(self.ok("deny", waiting["approve-2"]), waiting["approve-2"] + " denied\n")
            self.assertEqual(self.refused(ben, "approve-2"), "banned")
            self.assertRegex(self.ok("approvals"), waiting["approve-1"] + r" +approved")
            self.assertRegex(self.ok("audit"), r"(?s)approval=manual.*approve " + waiting["approve-1"] + r".*deny ")
            self.assertEqual(self.holdfast("approve", "nobody").returncode, 106)
        finally:
            self.ok("policy", "set", "--approval", "auto")


if __name__ == "__main__":
    unittest.main()
