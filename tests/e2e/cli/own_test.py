"""`holdfast own` and `holdfast nodes`: what they take, print and answer. Who polls when is in tests/e2e/ownership."""

import json
import os
import signal
import socket
import subprocess
import unittest
import uuid

from processes import BINARY, DeadAddress, HoldfastTest, eventually, free_port, lives, start, start_redis


class OwnTest(HoldfastTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        cls.redis = start_redis(cls.port, cls.home)
        cls.url = f"redis://127.0.0.1:{cls.port}"
        eventually(cls.redis_answers, "Redis answers")

    @classmethod
    def redis_answers(cls):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", cls.port)) == 0

    @classmethod
    def tearDownClass(cls):
        cls.redis.kill()
        cls.redis.wait(60)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.sessions = [str(uuid.uuid4()) for _ in range(3)]
        self.file = self.scratch + "/sessions"
        with open(self.file, "w") as file:
            file.write("# our sessions\n\n" + "\n".join(self.sessions) + "\n" + self.sessions[0] + "\n")

    def own(self, *command, options=(), ttl="3s", **environment):
        return self.start("own", "--sessions", self.file, "--redis", self.url, "--ttl", ttl, "--restart-wait", "0s",
                          "--interval", "100ms", *options, "--", *command, **environment)

    def instance_of(self, own):
        return own.err.find(r"instance (\S+) looks after").group(1)

    # What the command gets

    def test_gives_the_command_its_session_and_instance(self):
        own = self.own("sh", "-c", 'echo "{}|$HOLDFAST_SESSION|$HOLDFAST_INSTANCE|$1"', "sh", "--of={}/x")
        instance = self.instance_of(own)
        for session in self.sessions:
            own.out.find(rf"^{session}\|{session}\|{instance}\|--of={session}/x$")
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    def test_polls_again_and_again_whatever_the_command_answers(self):
        own = self.own("sh", "-c", "echo polled; exit 3")
        eventually(lambda: own.out.lines.count("polled") >= 9, "nine polls")
        own.err.find(r"the poll of \S+ ended with exit code 3")
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    def test_runs_no_more_polls_at_a_time_than_it_may(self):
        own = self.own("sh", "-c", "echo begins; sleep 0.3; echo ends", options=("--jobs", "1"))
        eventually(lambda: own.out.lines.count("ends") >= 4, "four polls")
        own.terminate()
        self.assertEqual(self.ends(own), 0)
        self.assertEqual(own.out.lines[::2], ["begins"] * len(own.out.lines[::2]))
        self.assertEqual(own.out.lines[1::2], ["ends"] * len(own.out.lines[1::2]))

    def test_reads_the_sessions_from_standard_input(self):
        process = start([BINARY, "own", "--sessions", "-", "--redis", self.url, "--restart-wait", "0s", "--",
                         "sh", "-c", "cat; echo {}"], env=self.environment(), text=True,
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.started.append(process)
        process.stdin.write(self.sessions[0] + "\n")
        process.stdin.close()
        self.assertEqual(process.stdout.readline(), self.sessions[0] + "\n", "and the command's input is empty")
        process.terminate()
        self.assertEqual(self.ends(process), 0)
        process.stdout.close()

    # How it ends

    def test_a_second_signal_stops_a_poll_that_does_not_end(self):
        own = self.own("sh", "-c", "trap '' TERM; echo pid $$; sleep 300", options=("--grace", "300s"))
        pid = int(own.out.find(r"pid (\d+)").group(1))
        own.terminate()
        own.err.find(r"stopping: waiting for \d+ poll\(s\) to finish")
        self.assertTrue(lives(pid), "it may finish")
        own.send_signal(signal.SIGINT)
        own.err.find("asking .* to stop")
        own.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(own), 0, "a third kills it")
        self.assertFalse(lives(pid))

    def test_its_polls_die_with_it(self):
        own = self.own("sh", "-c", "trap '' TERM; echo pid $$; sleep 300")
        pid = int(own.out.find(r"pid (\d+)").group(1))
        own.kill()
        eventually(lambda: not lives(pid), "the poll dies")

    def test_a_poll_whose_guardian_is_killed_dies_alone_and_begins_anew(self):
        own = self.own("sh", "-c", "trap '' TERM; echo pid {} $$; sleep 300")
        polls = {session: int(own.out.find(rf"pid {session} (\d+)").group(1)) for session in self.sessions}
        lost = polls.pop(self.sessions[0])
        with open(f"/proc/{lost}/stat") as stat:
            guardian = int(stat.read().rsplit(")", 1)[1].split()[1])
        here = len(own.out.lines)
        os.kill(guardian, signal.SIGKILL)
        own.out.find(rf"pid {self.sessions[0]} \d+", here)
        self.assertFalse(lives(lost))
        self.assertTrue(all(lives(pid) for pid in polls.values()), "the others go on")
        own.terminate()
        own.err.find("stopping")
        own.send_signal(signal.SIGINT)
        own.err.find("asking .* to stop")
        own.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(own), 0)

    def test_ends_with_127_if_there_is_no_such_command(self):
        own = self.own(self.scratch + "/none")
        self.assertEqual(self.ends(own), 127)
        own.err.find(r"cannot run '.*/none': No such file")

    def test_waits_for_a_store_that_is_away_and_says_so(self):
        with DeadAddress() as address:
            own = self.start("own", "--sessions", self.file, "--redis", address.replace("http", "redis"), "--", "true")
            own.err.find(r"no answer from redis://127.0.0.1:\d+: Connection refused")
            own.terminate()
            self.assertEqual(self.ends(own), 0)

    # What it refuses

    def test_refuses_what_makes_no_sense(self):
        refused = [(("--redis", "http://x"), "it does not start with redis://"),
                   (("--ttl", "3s", "--renew-every", "2s"), "renewed at least twice"),
                   (("--jobs", "0"), "jobs")]
        for options, message in refused:
            done = self.holdfast("own", "--sessions", self.file, *options, "--", "true")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)
        done = self.holdfast("own", "--sessions", self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("give the command to poll with", done.stderr)

    def test_refuses_a_session_that_is_no_uuid_and_names_its_line(self):
        with open(self.file, "a") as file:
            file.write("lobby\n")
        done = self.holdfast("own", "--sessions", self.file, "--redis", self.url, "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.file}:7: 'lobby' is not a UUID; --any-id", done.stderr)
        own = self.own("echo", "{}", options=("--any-id",))
        own.out.find("^lobby$")
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    # What is shown

    def test_prints_events_as_json(self):
        own = self.own("true", options=("--json",), ttl="60s")  # so that the store has seconds to answer the last release
        started = json.loads(own.out.find(r'.*"event":"started".*').group(0))
        owned = json.loads(own.out.find(rf'.*"session":"{self.sessions[1]}","from":"unknown","to":"owned".*').group(0))
        self.assertEqual((owned["event"], owned["owner"]), ("ownership", started["instance"]))
        own.out.find(rf'"event":"poll",.*"session":"{self.sessions[1]}","forced":false,"exit_code":0')
        own.terminate()
        self.assertEqual(self.ends(own), 0)
        released = [json.loads(line) for line in own.out.lines if '"from":"owned","to":"unknown"' in line]
        self.assertEqual([one["owner"] for one in released], [None] * 3)
        for line in own.out.lines:
            event = json.loads(line)
            self.assertEqual(event["instance"], started["instance"])
            self.assertRegex(event["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    # The list of sessions

    def write_sessions(self, sessions):
        with open(self.file + ".new", "w") as file:
            file.write("\n".join(sessions) + "\n")
        os.rename(self.file + ".new", self.file)

    def owners(self):
        shown = json.loads(self.ok("nodes", "--json", "--redis", self.url))
        return {one["session"] for one in shown["sessions"]} & {*self.sessions, *self.others}

    def test_reads_its_list_again_when_it_changes_and_on_sighup(self):
        self.others = [str(uuid.uuid4()) for _ in range(2)]
        own = self.own("echo", "{}")
        own.out.find(self.sessions[0])
        self.write_sessions([self.sessions[0], self.others[0]])
        own.err.find(r"looks after 2 session\(s\): 1 added, 2 removed")
        own.out.find(self.others[0])
        eventually(lambda: self.owners() == {self.sessions[0], self.others[0]}, "the others are given up")
        self.write_sessions([self.others[1]])
        own.send_signal(signal.SIGHUP)
        own.err.find(r"looks after 1 session\(s\): 1 added, 2 removed")
        own.out.find(self.others[1])
        eventually(lambda: self.owners() == {self.others[1]}, "the others are given up")
        self.write_sessions(["lobby"])
        own.send_signal(signal.SIGHUP)
        own.err.find(r"the list of sessions was not read again: .*:1: 'lobby' is not a UUID")
        self.assertIsNone(own.poll())
        self.assertEqual(self.owners(), {self.others[1]})
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    def test_a_session_that_is_taken_off_the_list_is_given_up_when_its_poll_has_ended(self):
        self.others = []
        own = self.own("sh", "-c", f"echo pid {{}} $$; until [ -e {self.scratch}/go ]; do sleep 0.05; done; echo ended {{}}")
        own.out.find(f"pid {self.sessions[1]}")
        self.write_sessions([self.sessions[0]])
        own.err.find("2 removed")
        self.assertIn(self.sessions[1], self.owners(), "its poll is in hand")
        open(self.scratch + "/go", "w").close()
        own.out.find(f"ended {self.sessions[1]}")
        eventually(lambda: self.sessions[1] not in self.owners(), "it is given up")
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    # The hash

    @staticmethod
    def fnv1a(text):
        value = 0xcbf29ce484222325
        for byte in text.encode():
            value = (value ^ byte) * 0x100000001b3 % 2**64
        return value

    def test_prefers_by_fnv1a_if_told_to(self):
        both = [self.own("true", options=("--hash", "fnv1a", "--refresh-every", "300ms")) for _ in range(2)]
        names = [self.instance_of(own) for own in both]
        wanted = {session: max(names, key=lambda name: self.fnv1a(name + session)) for session in self.sessions}

        def shown(key):
            answer = json.loads(self.ok("nodes", "--json", "--hash", "fnv1a", "--redis", self.url, "--sessions", self.file))
            return {one["session"]: one[key] for one in answer["sessions"]}
        eventually(lambda: shown("preferred") == wanted, "both are seen")
        eventually(lambda: shown("owner") == wanted, "each has what it should have")
        for own in both:
            own.terminate()
            self.assertEqual(self.ends(own), 0)
        self.assertEqual(self.holdfast("own", "--sessions", self.file, "--hash", "md5", "--", "true").returncode, 2)

    def test_nodes_shows_instances_and_who_owns_and_should_own_what(self):
        own = self.own("true")
        instance = self.instance_of(own)

        def all_owned():
            shown = json.loads(self.ok("nodes", "--json", "--redis", self.url, "--sessions", self.file))
            mine = [one for one in shown["sessions"] if one["owner"] == instance]
            return shown if len(mine) == 3 else None
        shown = eventually(all_owned, "it owns all three")
        [node] = [one for one in shown["nodes"] if one["instance"] == instance]
        self.assertEqual((node["live"], node["owned"]), (True, 3))
        self.assertGreater(node["heartbeat_left_ms"], 0)
        table = self.ok("nodes", "--redis", self.url)
        self.assertRegex(table, rf"{self.sessions[0]}\s+{instance}\s+\S+\s+\d")
        own.terminate()
        self.assertEqual(self.ends(own), 0)
        shown = json.loads(self.ok("nodes", "--json", "--redis", self.url, "--sessions", self.file))
        self.assertEqual([one["owner"] for one in shown["sessions"]], [None] * 3, "handed over at once")

    def test_nodes_says_that_no_store_answers(self):
        with DeadAddress() as address:
            done = self.holdfast("nodes", HOLDFAST_REDIS=address.replace("http", "redis"))
        self.assertEqual(done.returncode, 105)
        self.assertIn("Connection refused", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
