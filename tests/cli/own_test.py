"""`holdfast own` and `holdfast nodes`: what they take, print and answer. Who polls when is in tests/ownership."""

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

    def own(self, *command, options=(), **environment):
        return self.start("own", "--sessions", self.file, "--redis", self.url, "--ttl", "3s", "--restart-wait", "0s",
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
        own.err.find(r"the poll of \S+ ended with 3")
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
        own.err.find(r"told to stop: \d+ poll\(s\) in hand")
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
        own.err.find("told to stop")
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
        self.assertIn("say what to poll with", done.stderr)

    def test_refuses_a_session_that_is_no_uuid_and_names_its_line(self):
        with open(self.file, "a") as file:
            file.write("lobby\n")
        done = self.holdfast("own", "--sessions", self.file, "--redis", self.url, "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.file}:7: 'lobby' is no UUID; say --any-id", done.stderr)
        own = self.own("echo", "{}", options=("--any-id",))
        own.out.find("^lobby$")
        own.terminate()
        self.assertEqual(self.ends(own), 0)

    # What is shown

    def test_prints_events_as_json(self):
        own = self.own("true", options=("--json",))
        own.out.find(r'"event":"started"')
        own.out.find(rf'"event":"ownership","session":"{self.sessions[1]}","from":"unknown","to":"owned"')
        own.out.find(rf'"event":"poll","session":"{self.sessions[1]}","forced":false,"exit_code":0')
        own.terminate()
        self.assertEqual(self.ends(own), 0)
        for line in own.out.lines:
            json.loads(line)

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
