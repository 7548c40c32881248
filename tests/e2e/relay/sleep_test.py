"""A publisher asleep for 45 s of a lease of 30 s, for real."""

import signal
import time
import unittest

from relay_world import RelayTest, answering, eventually  # first: it says where the others are
from harness import wait_for_time

ASLEEP_S = 45


class SleepTest(RelayTest):
    def test_a_publisher_that_was_stopped_for_45_seconds_wakes_and_registers_again(self):
        self.serve()
        publisher = self.advertised("web", to=self.service(answering(b"here")))
        publisher.send(signal.SIGSTOP)
        wakes = time.monotonic() + ASLEEP_S
        eventually("it is shown as stale before it has run out", lambda: (self.find("web") or {}).get("stale"))
        self.wait_until_gone("web")
        wait_for_time(wakes)
        publisher.send(signal.SIGCONT)
        publisher.wait_for("lost")
        self.assertGreater(publisher.wait_for("taken_again")["token"], publisher.token)
        self.assertEqual(self.fetch("web"), b"here")


if __name__ == "__main__":
    unittest.main(verbosity=2)
