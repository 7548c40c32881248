"""`holdfast store status`: where a server keeps its leases and whether it grants any, for people and for programs."""

import unittest

from processes import AnsweringServer, DeadAddress, HoldfastTest

STORE = {"engine": "redis", "address": "redis://10.0.0.5:6379", "version": "7.0.15", "reachable": True, "durable": False,
         "round_trip_us": 181, "nodes": ["10.0.0.5", "10.0.0.6"], "position": {"history": "a7", "longest_ttl_ms": 300000, "clock": {"steps": 0}}}
READY = {"ready": True, "code": "ok"}


def front(store, ready):
    """Answers GET /v1/store and GET /ready as a front of an engine does."""
    return AnsweringServer({"/v1/store": (200, store), "/ready": (200 if ready.get("ready") else 503, ready)})


class StoreTest(HoldfastTest):
    def test_shows_the_engine_and_whatever_else_the_server_tells_of_it(self):
        with front(STORE, READY) as url:
            lines = self.ok("store", "status", "--server", url).splitlines()
        self.assertEqual(lines, [
            "redis at redis://10.0.0.5:6379: reachable",
            "  version: 7.0.15", "  durable: no", "  round trip: 181 us", "  nodes: 10.0.0.5, 10.0.0.6",
            "  position:", "    history: a7", "    longest ttl: 5m00s", "    clock:", "      steps: 0",
            "ready: leases are granted here"])

    def test_says_108_and_why_while_the_engine_is_away(self):
        away = {**STORE, "reachable": False, "why": "Connection refused"}
        with front(away, {"ready": False, "code": "store_unavailable", "reason": "Connection refused"}) as url:
            done = self.holdfast("store", "--server", url)
        self.assertEqual(done.returncode, 108)
        self.assertIn("redis at redis://10.0.0.5:6379: not reachable: Connection refused\n", done.stdout)
        self.assertIn("not ready (store_unavailable): Connection refused\n", done.stdout)

    def test_says_108_and_how_long_it_lasts_while_the_server_recovers(self):
        recovering = {"ready": False, "code": "recovering", "reason": "the store may have lost leases", "retry_in_ms": 61_000}
        with front(STORE, recovering) as url:
            done = self.holdfast("store", "status", "--server", url)
            told = self.json("store", "status", "--server", url, code=108)
        self.assertEqual(done.returncode, 108)
        self.assertIn("not ready (recovering, for another 1m01s): the store may have lost leases\n", done.stdout)
        self.assertEqual(told, {**recovering, "store": STORE})

    def test_passes_both_answers_on_as_json(self):
        with front(STORE, READY) as url:
            self.assertEqual(self.json("store", "status", "--server", url), {**READY, "store": STORE})

    def test_fails_as_any_command_if_the_server_answers_something_else(self):
        with front(STORE, {"error": {"code": "too_many_connections", "message": "full"}}) as url:
            self.assertEqual(self.json("store", "status", "--server", url, code=108)["error"]["code"], "too_many_connections")

    def test_says_105_if_no_server_answers(self):
        with DeadAddress() as url:
            self.assertEqual(self.holdfast("store", "status", "--server", url).returncode, 105)

    def test_of_a_server_that_keeps_its_leases_itself_says_so(self):
        self.assertEqual(self.ok("store", "status").splitlines(), ["memory: reachable", "ready: leases are granted here"])

    def test_does_not_let_a_server_steer_the_terminal(self):
        hostile = {"engine": "x\x1b[2J", "a\x1b[2J": "b\x1b[2J", "why": "c\x1b[2J"}
        with front(hostile, {"ready": True, "code": "ok"}) as url:
            self.assertNotIn("\x1b", self.ok("store", "status", "--server", url))


if __name__ == "__main__":
    unittest.main()
