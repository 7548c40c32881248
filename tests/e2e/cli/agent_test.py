"""Agents from the command line: age decides who waits and who is told to die, and lives follow each other."""

import json
import unittest

from processes import DeadAddress, HoldfastTest, eventually


class AgentTest(HoldfastTest):
    def setUp(self):
        super().setUp()
        self.old, self.young = f"old-{self.resource}", f"young-{self.resource}"

    def register(self, agent, *options):
        return self.json("agent", "register", agent, *options)["agent"]

    def register_both(self):
        self.register(self.old, "--priority", "100")
        self.register(self.young, "--priority", "200")

    # Registration

    def test_registers_shows_lists_and_forgets(self):
        self.assertEqual(self.register(self.old, "--priority", "100", "--epoch", "3"),
                         {"id": self.old, "priority": 100, "epoch": 3, "restarting": False, "deaths": 0, "leases": 0, "waiting": []})
        self.assertRegex(self.ok("agent", "show", self.old), rf"(?s)AGENT +PRIORITY +EPOCH.*{self.old} +100 +3 +- +0 +0\n")
        self.assertRegex(self.ok("agent", "list"), rf"{self.old} +100 +3 +- +0\n")
        self.assertIn(self.old, self.ok("agent"), "list is what it does without more")
        self.assertIn(self.old, [agent["id"] for agent in self.json("agent", "list")["agents"]])
        self.assertEqual(self.ok("agent", "forget", self.old), f"{self.old} forgotten\n")
        self.assertEqual(self.ok("agent", "forget", self.old), f"{self.old} was not registered\n")
        self.assertEqual(self.json("agent", "show", self.old, code=106)["error"]["code"], "unknown_agent")

    def test_now_is_the_servers_time_at_first_and_what_it_was_later(self):
        priority = self.register(self.old, "--priority", "now")["priority"]
        self.assertGreater(priority, 10**12)
        self.assertEqual(self.register(self.old, "--priority", "now")["priority"], priority)
        self.assertEqual(self.register(self.old)["priority"], priority)

    def test_the_priority_is_fixed_while_it_holds_anything(self):
        self.register(self.old, "--priority", "100")
        self.ok("acquire", self.resource, "--holder", self.old)
        done = self.holdfast("agent", "register", self.old, "--priority", "5", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["error"]["code"]), (108, "priority_fixed"))
        self.assertEqual(self.holdfast("agent", "forget", self.old).returncode, 108)

    def test_says_what_is_wrong_with_the_command_line(self):
        for wrong in (["agent", "register"], ["agent", "register", "a", "--priority", "soon"], ["agent", "sing"],
                      ["agent", "register", "a", "--epoch", "-1"], ["verify", "x#1", "--epoch", "2"],
                      ["renew", "--all", "--progress", "3"]):
            self.assertEqual(self.holdfast(*wrong).returncode, 2, wrong)
        with DeadAddress() as nowhere:
            self.assertEqual(self.holdfast("agent", "list", "--server", nowhere).returncode, 105)

    # Wait or die

    def test_the_younger_is_told_to_die_and_the_older_may_wait(self):
        self.register_both()
        self.ok("acquire", self.resource, "--holder", self.old, "--ttl", "60s")
        die = self.json("acquire", self.resource, "--holder", self.young, "--wait", "30s", code=107)
        self.assertEqual((die["verdict"], die["error"]["code"], die["conflicts"][0]["holder"]), ("DIE", "die", self.old))
        self.assertGreater(die["retry_in_ms"], 0)
        told = self.holdfast("acquire", self.resource, "--holder", self.young)
        self.assertRegex(told.stderr, rf"told to die.*{self.old} holds .*come back in \d")
        self.assertEqual(self.json("agent", "show", self.young)["agent"]["deaths"], 2)

        other = self.resource + ":other"
        lease = self.ok("acquire", other, "--holder", self.young, "--ttl", "60s").split()[0]
        waiting = self.start("acquire", other, "--holder", self.old, "--wait", "60s")
        eventually(lambda: self.json("agent", "show", self.old)["agent"]["waiting"], "the wait")
        self.assertRegex(self.ok("agent", "show", self.old), rf"waits for {other} \(MUTATES\), place 1, for .*{self.young} holds")
        self.ok("release", lease, "--holder", self.young)
        self.assertEqual(self.ends(waiting), 0)

    # Lives

    def test_a_request_of_an_earlier_life_is_refused(self):
        self.register(self.old, "--epoch", "1")
        lease = self.ok("acquire", self.resource, "--holder", self.old, "--epoch", "1").split()[0]
        self.ok("renew", lease, "--holder", self.old, "--epoch", "1")
        self.register(self.old, "--epoch", "2")
        for command in (["renew", lease, "--holder", self.old, "--epoch", "1"],
                        ["renew", "--all", "--holder", self.old, "--epoch", "1"],
                        ["release", lease, "--holder", self.old, "--epoch", "1"],
                        ["verify", "--holder", self.old, "--epoch", "1"],
                        ["acquire", self.resource, "--holder", self.old, "--epoch", "1"],
                        ["agent", "restarting", self.old, "--epoch", "1"],
                        ["run", self.resource, "--holder", self.old, "--epoch", "1", "--", "true"]):
            self.assertEqual(self.holdfast(*command).returncode, 104, command)
        self.ok("release", lease, "--holder", self.old, "--epoch", "2")

    def test_a_restart_keeps_what_it_had_for_the_next_life(self):
        self.register(self.old)
        first = self.json("acquire", self.resource, "--holder", self.old, "--ttl", "1s")["leases"][0]
        answer = self.json("agent", "restarting", self.old)
        self.assertEqual((answer["reserved"], answer["grace_ms"], answer["agent"]["restarting"]), (1, 15000, True))
        in_grace = lambda: [r for r in self.json_any("verify", "--holder", self.old)["results"] if r["state"] == "GRACE"]
        [kept] = eventually(in_grace, "the end of the lease")
        self.assertGreater(kept["reserved_for_ms"], 0)
        table = self.holdfast("verify", "--holder", self.old)
        self.assertEqual(table.returncode, 104, "it is not usable")
        self.assertRegex(table.stdout, r"GRACE +reserved for \d")
        busy = self.holdfast("acquire", self.resource, "--holder", self.young)
        self.assertEqual(busy.returncode, 103)
        self.assertRegex(busy.stderr, rf"{self.old} restarts and has {self.resource} reserved for another \d")
        again = self.json("acquire", self.resource, "--holder", self.old, "--epoch", "2")["leases"][0]
        self.assertGreater(again["token"], first["token"])

    def json_any(self, *arguments):
        return json.loads(self.holdfast(*arguments, "--json").stdout)

    def test_registers_and_takes_in_one_command(self):
        lease = self.json("acquire", self.resource, "--holder", self.old, "--priority", "77", "--epoch", "4")["leases"][0]
        self.assertEqual(lease["holder"], self.old)
        agent = self.json("agent", "show", self.old)["agent"]
        self.assertEqual((agent["priority"], agent["epoch"], agent["leases"]), (77, 4, 1))

    def test_a_renewal_carries_progress(self):
        one = self.ok("acquire", self.resource, "--holder", self.old).split()[0]
        two = self.ok("acquire", self.resource + ":2", "--holder", self.old).split()[0]
        self.ok("renew", one, "--holder", self.old, "--progress", "5")
        self.ok("renew", one, two, "--holder", self.old, "--progress", "6")


if __name__ == "__main__":
    unittest.main(verbosity=2)
