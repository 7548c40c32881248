"""`holdfast elect`, for real: one leader at a time, and a command that never outlives its term."""

import json
import signal
import unittest

from processes import DeadAddress, HoldfastTest, Server, eventually, lives

# Says that it leads and with which token, then works until it is asked to stop.
LEADER = 'trap "echo asked; exit 3" TERM; echo "leads $HOLDFAST_GROUP $HOLDFAST_TOKEN pid $$"; while :; do sleep 0.02; done'
STUBBORN = 'trap "echo asked" TERM; echo "leads $HOLDFAST_GROUP $HOLDFAST_TOKEN pid $$"; while :; do sleep 0.02; done'


class ElectTest(HoldfastTest):
    def setUp(self):
        super().setUp()
        self.group = self.id().rsplit(".", 1)[1]
        self.resource = "leader:" + self.group

    def stand(self, holder, script=LEADER, *options, **environment):
        return self.start("elect", self.group, "--holder", holder, *options, "--", "sh", "-c", script, **environment)

    def term_of(self, candidate, start=0):
        """Waits until it leads; returns its token and the process id of its command."""
        match = candidate.out.find(rf"leads {self.group} (\d+) pid (\d+)", start)
        return int(match.group(1)), int(match.group(2))

    def leader(self):
        [lease] = self.held()
        return lease["holder"]

    # With a command

    def test_ends_as_its_command_does_once_it_has_led(self):
        done = self.holdfast("elect", self.group, "--", "sh", "-c", 'echo "$HOLDFAST_GROUP $HOLDFAST_RESOURCE"; exit 42')
        self.assertEqual((done.returncode, done.stdout), (42, f"{self.group} {self.resource}\n"))
        self.assertEqual(self.held(), [], "and has given the lead back")

    def test_takes_the_lease_of_its_group_under_its_name_and_ttl(self):
        first = self.stand("alice", LEADER, "--ttl", "7s")
        token, _ = self.term_of(first)
        [lease] = self.held()
        self.assertEqual((lease["resource"], lease["holder"], lease["token"], lease["ttl_ms"], lease["predicate"]),
                         (self.resource, "alice", token, 7000, "MUTATES"))

    def test_one_leads_and_the_next_takes_over_when_it_is_told_to_stop(self):
        first = self.stand("alice")
        token, pid = self.term_of(first)
        second = self.stand("bob")
        second.err.find("waiting: alice holds")
        self.assertEqual(second.out.lines, [])
        first.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(first), 3)
        self.assertGreater(self.term_of(second)[0], token)
        self.assertFalse(lives(pid))
        self.assertEqual(self.leader(), "bob")

    def test_a_leader_that_is_stopped_has_a_dead_command_before_the_next_leads(self):
        first = self.stand("alice", STUBBORN, "--ttl", "3s")
        token, pid = self.term_of(first)
        second = self.stand("bob", f"kill -0 {pid} 2>/dev/null && grep -qv ' Z ' /proc/{pid}/stat && echo OVERLAP; " + LEADER)
        second.err.find("waiting")
        first.send_signal(signal.SIGSTOP)
        self.assertGreater(self.term_of(second)[0], token)
        self.assertNotIn("OVERLAP", second.out.lines)
        self.assertFalse(lives(pid))
        first.send_signal(signal.SIGCONT)
        first.err.find("standing again")
        first.err.find("waiting: bob holds")

    def test_stands_again_when_it_has_lost_the_lead(self):
        candidate = self.stand("alice", LEADER, "--ttl", "3s")
        token, pid = self.term_of(candidate)
        self.ok("revoke", self.held()[0]["id"])
        candidate.err.find("standing again")
        again = eventually(lambda: [line for line in candidate.out.lines if line.startswith("leads")][1:], "another term")
        self.assertGreater(int(again[0].split()[2]), token)
        self.assertIn("asked", candidate.out.lines)
        self.assertFalse(lives(pid))
        candidate.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(candidate), 3)

    def children_of(self, candidate):
        with open(f"/proc/{candidate.pid}/task/{candidate.pid}/children") as children:
            return set(children.read().split())

    def test_leaves_no_dead_processes_behind_from_term_to_term(self):
        candidate = self.stand("alice", LEADER, "--ttl", "3s")
        self.term_of(candidate)
        guardian = self.children_of(candidate)
        self.assertEqual(len(guardian), 1)
        for term in range(3):
            eventually(lambda: len([line for line in candidate.out.lines if line.startswith("leads")]) > term, f"term {term}")
            self.ok("revoke", eventually(self.held, "the lease")[0]["id"])
            eventually(lambda: len([line for line in candidate.err.lines if "standing again" in line]) > term, "its end")
        self.assertEqual(self.children_of(candidate) & guardian, set(), "the first term's guardian is long gone")

    def test_does_not_stand_again_if_it_was_told_to_stop_meanwhile(self):
        candidate = self.stand("alice", STUBBORN, "--ttl", "3s")
        self.term_of(candidate)
        candidate.send_signal(signal.SIGTERM)
        candidate.out.find("asked")
        self.ok("revoke", self.held()[0]["id"])
        self.assertEqual(self.ends(candidate), 128 + signal.SIGTERM)

    def test_an_interrupted_wait_leaves_the_queue(self):
        self.term_of(self.stand("alice"))
        second = self.stand("bob")
        second.err.find("waiting: alice holds")
        second.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(second), 128 + signal.SIGINT)
        eventually(lambda: self.json("health")["waiters"] == 0, "leaving the queue")

    def test_says_why_it_cannot_stand(self):
        self.assertEqual(self.holdfast("elect", self.group, "--ttl", "1ms", "--", "true").returncode, 106)
        self.assertEqual(self.holdfast("elect", self.group, "--", self.scratch + "/missing").returncode, 127)
        self.assertEqual(self.holdfast("elect").returncode, 2)
        self.assertEqual(self.holdfast("elect", self.group, "true").returncode, 2)

    def test_dashes_with_nothing_after_them_are_a_usage_error_and_not_a_watch(self):
        done = self.holdfast("elect", self.group, "--")
        self.assertEqual(done.returncode, 2)
        self.assertIn("give the command to run after --", done.stderr)
        self.assertEqual(self.held(), [])

    # Without one

    def test_shows_who_leads_and_every_change_until_told_to_stop(self):
        watcher = self.start("elect", self.group)
        watcher.out.find(rf"nobody leads {self.group}$")
        first = self.stand("alice")
        token, _ = self.term_of(first)
        watcher.out.find(rf"alice leads {self.group} with token {token}$")
        first.send_signal(signal.SIGTERM)
        watcher.out.find(rf"nobody leads {self.group}: released$")
        self.assertEqual(len(watcher.out.lines), 3)
        watcher.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(watcher), 0)

    def test_the_proof_of_a_leader_is_not_shown_with_what_else_it_took(self):
        for take in (["acquire"], ["run"]):
            both = [self.resource + take[0], "db-of-" + self.resource + take[0]]
            command = ["--", "sleep", "30"] if take == ["run"] else []
            taken = self.start(*take, *both, "--holder", "alice", *command)
            other = eventually(lambda name=both[1]: self.held(name), "the other lease")[0]
            self.assertNotIn("session", other)
            taken.terminate()
            self.ends(taken)

    def test_shows_changes_as_json_and_not_those_of_other_groups(self):
        token, _ = self.term_of(self.stand("alice", LEADER, "--ttl", "3s"))
        watcher = self.start("elect", self.group, "--json")
        watcher.out.find('"alice"')
        self.ok("acquire", self.resource + "2", "--holder", "carol")
        self.ok("acquire", self.resource, "--namespace", "other", "--holder", "carol")
        self.ok("revoke", [lease["id"] for lease in self.held() if lease["holder"] == "alice"][0])
        watcher.out.find('"granted"')
        lines = [json.loads(line) for line in watcher.out.lines]
        self.assertEqual([(line["event"], line["leader"]) for line in lines],
                         [("now", "alice"), ("released", None), ("granted", "alice")], "it stopped, and gave the lead back")
        self.assertEqual((lines[0]["token"], lines[0]["group"], lines[1]["token"]), (token, self.group, None))
        self.assertGreater(lines[2]["token"], token)

    def test_without_a_server_says_so(self):
        with DeadAddress() as nowhere:
            self.assertEqual(self.holdfast("elect", self.group, "--server", nowhere).returncode, 105)


class FailoverTest(HoldfastTest):
    """Two separate servers stand in for two nodes: what matters is whom the client asks."""

    def another_server(self, name="other"):
        other = Server(self.scratch + "/" + name, self.home)
        self.addCleanup(other.kill)
        return other

    def test_asks_the_second_server_if_the_first_is_dead(self):
        with DeadAddress() as nowhere:
            servers = f"{nowhere},{self.server.url}"
            self.ok("acquire", self.resource, "--holder", "me", "--server", servers)
            self.assertEqual(self.ok("run", self.resource + ":x", "--", "echo", "ran", HOLDFAST_SERVER=servers), "ran\n")
            self.assertEqual(self.holdfast("health", "--server", f"{nowhere},{nowhere}").returncode, 105)
        self.assertEqual([lease["holder"] for lease in self.held()], ["me"])

    def test_watches_on_at_the_second_server_and_says_so(self):
        first = self.another_server("first")
        second = self.another_server("second")  # later, so that its tokens are above, as they would be in a cluster
        watcher = self.start("elect", "group", "--server", f"{first.url},{second.url}")
        watcher.out.find("nobody leads group")
        self.ok("acquire", "leader:group", "--holder", "former", "--server", first.url)
        watcher.out.find("former leads group")  # so the stream is there
        first.kill()
        watcher.err.find("trying to reconnect")
        watcher.err.find("connected again to " + second.url)
        self.ok("acquire", "leader:group", "--holder", "me", "--server", second.url)
        watcher.out.find("me leads group")

    def test_stands_at_the_second_server_when_the_first_dies_under_it(self):
        first = self.another_server()
        candidate = self.start("elect", "other", "--ttl", "2s", "--server", f"{first.url},{self.server.url}", "--", "sh",
                               "-c", LEADER)
        candidate.out.find("leads other")
        first.kill()
        # The second knows nothing of the first one's lease: as a node that lost it, it says so.
        candidate.err.find("standing again")
        eventually(lambda: len([line for line in candidate.out.lines if line.startswith("leads other")]) == 2, "its lead there")
        self.assertEqual(len(self.held("leader:other")), 1)
        candidate.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(candidate), 3)


if __name__ == "__main__":
    unittest.main()
