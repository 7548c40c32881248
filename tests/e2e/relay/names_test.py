"""Whose a name is: between identities, between two publishers of one, and against what somebody else recorded."""

import socket
import time
import unittest

from relay_world import RelayTest, answering, read_all  # first: it says where the others are
from harness import wait_for_time
from relay_wire import REGISTER, RESPONSE, UPDATE, Consumer, WirePublisher

LONG_ENOUGH_TO_CHASE_S = 15
RACERS = 100
REFUSED = 'holdfast_service_updates_total{outcome="refused"}'


class NamesTest(RelayTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def test_a_name_belongs_to_one_identity_and_the_next_takes_over_when_it_is_gone(self):
        anna = self.advertised("web", to=self.service(answering(b"anna")))
        ben = self.advertise("web", owner="ben", to=self.service(answering(b"ben")))
        ben.wait_for("standing_by", "name_taken")
        self.assertEqual(self.fetch("web"), b"anna")
        self.assertEqual(self.find("web")["identity"], self.id_of("anna"))
        anna.stop()
        token = ben.wait_for("registered")["token"]
        self.assertGreater(token, anna.token)
        self.assertEqual(self.fetch("web"), b"ben")

    def test_two_publishers_of_one_identity_do_not_chase_each_other(self):
        first = self.advertised("web", "--ttl", "6s", to=self.service(answering(b"first")))
        stream = Consumer(self, self.relay, "web").opened()
        second = self.advertised("web", "--ttl", "6s", to=self.service(answering(b"second")))
        first.wait_for("superseded")
        refused = self.server.metric(REFUSED)
        wait_for_time(time.monotonic() + LONG_ENOUGH_TO_CHASE_S)
        self.assertGreater(self.server.metric(REFUSED), refused, "the first does not ask any more")
        self.assertEqual((first.count("registered", "taken_again"), second.count("registered", "taken_again")), (1, 1))
        self.assertEqual(second.count("lost", "superseded"), 0, second.events)
        self.assertEqual(self.find("web")["token"], second.token)
        self.assertEqual(self.fetch("web"), b"second")
        stream.shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(stream), b"first", "what was open went on")
        second.stop()
        first.wait_for("taken_again")
        self.assertEqual(self.fetch("web"), b"first")

    def test_of_a_hundred_identities_that_want_one_name_at_once_one_has_it(self):
        racers = [WirePublisher(self, self.relay, self.http_publisher(f"racer-{n}")) for n in range(RACERS)]
        updates = [racer.signed(REGISTER, "prize") for racer in racers]
        for racer, update in zip(racers, updates):
            racer.say(UPDATE, update)
        codes = [racer.hear_of(RESPONSE)[2].decode() for racer in racers]
        self.assertEqual(sorted(codes), ["name_taken"] * (RACERS - 1) + ["ok"])
        winner = racers[codes.index("ok")]
        self.assertEqual([entry["name"] for entry in self.listed().values()], ["prize"])
        winner.socket.close()
        self.wait_until_gone("prize")

    def test_a_publisher_without_a_connection_is_shown_as_stale_until_it_comes_with_one(self):
        anna = self.http_publisher("anna")
        status, entered = anna.register("web", address="10.0.0.7:80")
        self.assertEqual(status, 201, entered)
        entry = self.find("web")
        self.assertEqual((entry["connected"], entry["stale"], entry["address"]), (False, True, "10.0.0.7:80"))
        self.assertIn("stale", self.ok("discover", "web"))
        self.assertEqual(self.refused("web"), "not_connected")
        publisher = self.advertised("web", to=self.service(answering(b"here")))
        self.assertGreater(publisher.token, entered["token"])
        self.assertFalse(self.find("web")["stale"])
        self.assertEqual(self.find("web")["first_seen"], entry["first_seen"])
        self.assertEqual(self.fetch("web"), b"here")
        status, answer = anna.say("renew", "web", token=entered["token"])
        self.assertEqual((status, answer["error"]["code"]), (409, "superseded"))

    def test_a_publisher_without_a_connection_is_gone_when_its_time_is_over_and_blocks_nobody(self):
        self.assertEqual(self.http_publisher("anna").register("web", ttl_ms=1500)[0], 201)
        ben = self.advertise("web", owner="ben")
        ben.wait_for("registered")
        self.assertEqual(self.find("web")["identity"], self.id_of("ben"))

    def test_what_somebody_recorded_cannot_be_said_again(self):
        anna = self.http_publisher("anna")
        recorded = anna.signed("register", "web", ttl_ms=2000)
        status, entered = anna.send(recorded)
        self.assertEqual(status, 201, entered)
        self.assertEqual(self.code_of(anna.send(recorded)), (409, "replayed"))
        self.assertEqual(anna.say("unregister", "web", token=entered["token"])[0], 200)
        self.assertEqual(self.code_of(anna.send(recorded)), (409, "replayed"))
        self.server.stop()
        self.serve()
        recorded.full_url = self.url + "/v1/services"
        self.assertEqual(self.code_of(anna.send(recorded)), (409, "other_relay"))
        self.assertEqual(self.listed(), {})

    def test_what_was_signed_by_somebody_else_or_changed_on_its_way_is_refused(self):
        anna, ben = self.http_publisher("anna"), self.http_publisher("ben")
        forged = anna.signed("register", "web")
        signature = ben.signed("register", "web").get_header("Holdfast-signature").split(".")[1]
        key = forged.get_header("Holdfast-signature").split(".")[0]
        forged.add_header("Holdfast-Signature", f"{key}.{signature}")
        self.assertEqual(self.code_of(anna.send(forged)), (401, "bad_signature"))
        changed = anna.signed("register", "web")
        changed.data = changed.data.replace(b'"web"', b'"wen"')
        self.assertEqual(self.code_of(anna.send(changed)), (401, "bad_signature"))
        self.assertEqual(self.listed(), {})

    @staticmethod
    def code_of(answer):
        return answer[0], answer[1].get("error", {}).get("code")


if __name__ == "__main__":
    unittest.main(verbosity=2)
