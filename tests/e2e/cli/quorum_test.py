"""`holdfast quorum status`: what a node says of its cluster, for people and for programs."""

import socket
import time
import unittest

from processes import AnsweringServer, HoldfastTest

STATUS = {
    "node": "a",
    "members": [
        {"id": "a", "address": "10.0.0.1:7402", "self": True, "connected": True, "voting": True, "silent_for_ms": 0, "boot": 3, "rtt_ms": None,
         "queued_bytes": 0, "dropped": 0, "refusal": None},
        {"id": "b", "address": "10.0.0.2:7402", "self": False, "connected": True, "voting": True, "silent_for_ms": 0, "boot": 12, "rtt_ms": 0.42,
         "queued_bytes": 17, "dropped": 4, "refusal": None},
        {"id": "c", "address": "10.0.0.3:7402", "self": False, "connected": False, "voting": False, "silent_for_ms": None, "boot": None, "rtt_ms": None,
         "queued_bytes": 0, "dropped": 0, "refusal": "another longest TTL"},
    ],
    "majority": 2, "reachable": 2, "voting": 2, "founded": True, "silent_for_ms": 0,
    "leader": {"id": "b", "token": 17, "expires_in_ms": 9000},
    "log": {"committed": 10, "applied": 9, "leads": False},
    "attempts": {"all": 100, "one_round": 80, "failed": 1, "given_up": 2},
    "longest_ttl_ms": 300000, "rho": 0.01,
}


def node(status):
    """Answers GET /v1/quorum as a node of a cluster does."""
    return AnsweringServer({"/v1/quorum": (200, status)})


class QuorumTest(HoldfastTest):
    def test_shows_members_reach_leader_and_attempts(self):
        with node(STATUS) as url:
            lines = self.ok("quorum", "status", "--server", url).splitlines()
        self.assertEqual(lines[0].split(), ["NODE", "ADDRESS", "STATE", "ROUND", "TRIP", "BOOT", "QUEUED", "DROPPED", "LOG"])
        self.assertEqual(lines[1].split(), ["a", "10.0.0.1:7402", "itself", "-", "3", "0", "0"])
        self.assertEqual(lines[2].split(), ["b", "10.0.0.2:7402", "connected", "0.42ms", "12", "17", "4", "leads"])
        self.assertRegex(lines[3], r"^c +10\.0\.0\.3:7402 +refused: another longest TTL +- +- +0 +0 *$")
        self.assertEqual(lines[4:], [
            "a reaches 2 of 3 nodes, and 2 vote: a majority",
            "log: led by b with token 17 for another 9.0s unless renewed; 10 committed, 9 applied here",
            "attempts: 100, of which 80 took one round, 1 failed and 2 were given up"])

    def test_says_1_without_a_majority_and_that_nobody_leads(self):
        with node({**STATUS, "reachable": 1, "voting": 1, "leader": None, "log": None, "silent_for_ms": 4200}) as url:
            done = self.holdfast("quorum", "--server", url)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a reaches 1 of 3 nodes, and 1 votes: no majority\n", done.stdout)
        self.assertIn("silent for another 4.2s, since it lost what it knew in a restart\n", done.stdout)
        self.assertIn("log: led by nobody\n", done.stdout)

    def test_passes_the_answer_on_as_json_with_the_same_exit_code(self):
        with node(STATUS) as url:
            self.assertEqual(self.json("quorum", "status", "--server", url), STATUS)
        with node({**STATUS, "reachable": 1, "voting": 1}) as url:
            self.assertEqual(self.json("quorum", "status", "--server", url, code=1)["reachable"], 1)

    def test_a_member_that_is_connected_and_silent_makes_no_majority(self):
        silent = {**STATUS["members"][1], "voting": False, "silent_for_ms": 61000}
        members = [STATUS["members"][0], silent, STATUS["members"][2]]
        with node({**STATUS, "members": members, "voting": 1}) as url:
            done = self.holdfast("quorum", "status", "--server", url)
        self.assertEqual(done.returncode, 1)
        self.assertIn("connected, silent for 1m01s", done.stdout)
        self.assertIn("a reaches 2 of 3 nodes, and 1 votes: no majority\n", done.stdout)

    def test_waits_until_every_member_votes_and_says_1_if_that_does_not_come(self):
        all_vote = [{**member, "connected": True, "voting": True} for member in STATUS["members"]]
        waiting = ("quorum", "status", "--wait-voting", "--timeout")
        with node({**STATUS, "members": all_vote, "reachable": 3, "voting": 3}) as url:
            self.ok(*waiting, "1m", "--server", url)
        with node(STATUS) as url:  # a majority is not enough: the next restart could take it away
            self.assertEqual(self.holdfast(*waiting, "300ms", "--server", url).returncode, 1)
        self.assertEqual(self.holdfast(*waiting, "300ms", "--server", "http://127.0.0.1:1").returncode, 105)
        self.assertEqual(self.holdfast(*waiting, "1m").returncode, 106, "one that is alone is not waited for")

    def test_does_not_wait_longer_for_votes_because_the_node_hangs(self):
        with socket.create_server(("127.0.0.1", 0)) as hung:  # takes connections, and answers nothing
            since = time.monotonic()
            done = self.holdfast("quorum", "status", "--wait-voting", "--timeout", "500ms", "--server",
                                 f"http://127.0.0.1:{hung.getsockname()[1]}")
        self.assertEqual(done.returncode, 105)
        self.assertLess(time.monotonic() - since, 8, "an answer may otherwise take 10 s")

    def test_does_not_let_a_node_steer_the_terminal(self):
        members = [{**STATUS["members"][0], "id": "a\x1b[2J"}]
        with node({**STATUS, "node": "a\x1b[2J", "members": members}) as url:
            self.assertNotIn("\x1b", self.ok("quorum", "status", "--server", url))

    def test_of_a_server_alone_says_that_it_is_not_clustered(self):
        done = self.holdfast("quorum", "status")
        self.assertEqual(done.returncode, 106)
        self.assertIn("not a node of a cluster", done.stderr)
        self.assertEqual(self.json("quorum", "status", code=106)["error"]["code"], "not_clustered")


if __name__ == "__main__":
    unittest.main()
