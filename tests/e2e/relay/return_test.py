"""A relay that restarts, and publishers that die, sleep and come back."""

import os
import signal
import unittest

from relay_world import TTL_MS, RelayTest, answering

MORE_THAN_A_MOMENT_S = 30  # and far less than the leases below last
LONG_TTL = "300s"


class ReturnTest(RelayTest):
    def advertise_echo(self, name="web", ttl=f"{TTL_MS}ms", **more):
        return self.advertised(name, "--ttl", ttl, to=self.service(answering(b"here")), **more)

    def test_publishers_come_back_by_themselves_to_a_relay_that_was_stopped(self):
        self.serve_short_leases()
        publishers = [self.advertise_echo(f"web-{n}", owner=f"owner-{n}") for n in range(5)]
        self.server.stop()
        for publisher in publishers:
            publisher.wait_for("lost")
        self.serve()
        for n, publisher in enumerate(publishers):
            self.assertGreater(publisher.wait_for("taken_again")["token"], publisher.token)
            self.assertEqual(self.fetch(f"web-{n}"), b"here")

    def test_what_was_advertised_before_a_restart_is_stale_until_its_publisher_returns(self):
        self.serve()
        publisher = self.advertise_echo(ttl=LONG_TTL)
        publisher.send(signal.SIGSTOP)  # so that it cannot come back, and has not left
        self.server.stop()
        publisher.kill()
        self.serve()
        before = self.find("web")
        self.assertEqual((before["connected"], before["stale"]), (False, True))
        self.assertEqual(self.refused("web"), "not_connected")
        self.advertise("web", owner="ben").wait_for("standing_by", "name_taken")
        self.advertise_echo()
        after = self.find("web")
        self.assertFalse(after["stale"])
        self.assertEqual(after["first_seen"], before["first_seen"])
        self.assertGreater(after["last_seen"], before["last_seen"])
        self.assertEqual(self.fetch("web"), b"here")

    def test_publishers_come_back_by_themselves_to_a_relay_that_was_killed_once_it_has_recovered(self):
        self.serve_short_leases()
        publisher = self.advertise_echo()
        self.server.kill()
        publisher.wait_for("lost")
        self.serve()
        if not os.environ.get("HOLDFAST_TEST_STORE"):  # a front has lost nothing
            publisher.wait_for("refused", "recovering")
        self.assertGreater(publisher.wait_for("taken_again")["token"], publisher.token)
        self.assertEqual(self.fetch("web"), b"here")

    def test_what_a_killed_publisher_advertised_is_gone_at_once(self):
        self.serve()
        publisher = self.advertise_echo(ttl=LONG_TTL)
        publisher.kill()
        self.wait_until_gone("web", patience=MORE_THAN_A_MOMENT_S)
        self.assertEqual(self.refused("web"), "unknown_service")
        self.assert_no_stream("web")
        self.advertise_echo(owner="ben")

    def test_a_publisher_that_slept_through_its_lease_wakes_and_registers_again(self):
        self.serve()
        publisher = self.advertise_echo()
        publisher.send(signal.SIGSTOP)
        self.wait_until_gone("web")
        publisher.send(signal.SIGCONT)
        publisher.wait_for("lost")
        self.assertGreater(publisher.wait_for("taken_again")["token"], publisher.token)
        self.assertEqual(self.fetch("web"), b"here")

    def test_a_publisher_that_wakes_takes_its_name_from_nobody_who_took_it_meanwhile(self):
        self.serve()
        sleeper = self.advertise_echo()
        sleeper.send(signal.SIGSTOP)
        other = self.advertised("web", owner="ben", to=self.service(answering(b"ben")))
        sleeper.send(signal.SIGCONT)
        sleeper.wait_for("standing_by", "name_taken")
        self.assertEqual(self.fetch("web"), b"ben")
        other.stop()
        sleeper.wait_for("taken_again")
        self.assertEqual(self.fetch("web"), b"here")

    def test_a_watcher_hears_of_every_coming_and_going(self):
        self.serve()
        publisher = self.advertise_echo(ttl=LONG_TTL)
        changes = self.watch()
        self.assertEqual(next(changes), ("service", "web"))
        publisher.kill()
        self.assertEqual(next(changes), ("gone", "web"))
        self.advertise_echo()
        self.assertEqual(next(changes), ("registered", "web"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
