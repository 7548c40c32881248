"""`holdfast backend` and `holdfast key` against a real server and a real drone."""

import json
import os
import signal
import subprocess
import unittest

from processes import BINARY, PATIENCE, HoldfastTest, clean_environment, eventually, start

SERVER = "python3 -m http.server $PORT --bind 127.0.0.1 --directory ."


class BackendTest(HoldfastTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(cls.home + "/site")
        with open(cls.home + "/site/page", "w") as file:
            file.write("hello from the room\n")
        cls.drone = start([BINARY, "drone", "--id", "d1", "--controller", cls.server.url, "--state-dir",
                           cls.home + "/drone"], env=clean_environment(cls.home), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    @classmethod
    def tearDownClass(cls):
        cls.drone.terminate()
        cls.drone.wait(PATIENCE)
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.key = self.id().rsplit(".", 1)[1]

    def connect(self, *more, key=None, command=SERVER):
        return self.json("backend", "connect", key or self.key, "--spawn", command, "--cwd", self.home + "/site",
                         "--wait", "60s", *more)

    def written(self, path):
        def text():
            if not os.path.exists(path):
                return ""
            with open(path) as file:
                return file.read()
        return eventually(text, "the backend writes")

    def test_connect_prints_the_address_and_says_it_again(self):
        address = self.ok("backend", "connect", self.key, "--spawn", SERVER, "--wait", "60s")
        self.assertRegex(address, r"^127\.0\.0\.1:\d+\n$")
        self.assertEqual(self.ok("backend", "connect", self.key), address, "now nothing need be said to start")

    def test_connect_runs_a_command_with_the_address(self):
        done = self.ok("backend", "connect", self.key, "--spawn", SERVER, "--cwd", self.home + "/site", "--wait", "60s",
                       "--", "curl", "-s", "http://{}/page")
        self.assertEqual(done, "hello from the room\n")
        shown = self.ok("backend", "connect", self.key, "--", "sh", "-c",
                        "echo $HOLDFAST_ADDRESS {} $HOLDFAST_BACKEND_ID $HOLDFAST_KEY $HOLDFAST_FENCING_TOKEN; exit 0")
        connected = self.connect()
        self.assertEqual(shown.split(), [connected["address"], connected["address"], connected["backend_id"], self.key,
                                         str(connected["token"])])
        self.assertEqual(self.holdfast("backend", "connect", self.key, "--", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual(self.holdfast("backend", "connect", self.key, "--", "no-such-command").returncode, 127)

    def test_spawn_is_a_line_for_the_shell_that_finds_the_key_and_more(self):
        out = self.scratch + "/out"
        self.connect("--env", "COLOUR=blue", "--env", "EMPTY=", "--tag", "v1", "--ready", "started",
                     command=f'echo "$HOLDFAST_KEY $COLOUR[$EMPTY] two  words" > {out}; exec sleep 1000')
        self.assertEqual(self.written(out), f"{self.key} blue[] two  words\n")

    def test_spawn_file_takes_words_as_they_are_and_what_is_typed_wins(self):
        path = self.scratch + "/spawn.json"
        out = self.scratch + "/out"
        with open(path, "w") as file:
            json.dump({"command": "sh", "args": ["-c", 'echo "$1 $A $B" > "$0"; exec sleep 1000', out, "$PORT"],
                       "env": {"A": "1", "B": "2"}, "ready": {"tcp": True}}, file)
        self.json("backend", "connect", self.key, "--spawn-file", path, "--env", "B=3", "--ready", "started")
        self.assertEqual(self.written(out), "$PORT 1 3\n")

    def test_backend_that_cannot_start_is_told_of_with_what_to_look_at(self):
        done = self.holdfast("backend", "connect", self.key, "--spawn", "exit 9", "--wait", "60s")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("exit code 9", done.stderr)
        self.assertIn(".log of the drone d1", done.stderr)

    def test_backend_that_is_late_is_told_of(self):
        done = self.holdfast("backend", "connect", self.key, "--spawn", "exec sleep 1000", "--wait", "1s")
        self.assertEqual(done.returncode, 103, done.stderr)
        self.assertIn("holdfast backend status --watch", done.stderr)

    def test_refusals_have_exit_codes_and_say_what_to_do(self):
        self.connect("--tag", "one")
        refused = self.holdfast("backend", "connect", self.key, "--tag", "two", "--spawn", SERVER)
        self.assertEqual(refused.returncode, 103, refused.stderr)
        self.assertIn("another tag", refused.stderr)
        nothing = self.holdfast("backend", "connect", self.key + "-free")
        self.assertEqual(nothing.returncode, 106)
        self.assertIn("spawn", nothing.stderr)
        none = self.holdfast("backend", "connect", self.key + "-free", "--spawn", "x", "--pool", "nowhere", "--wait",
                             "0s")
        self.assertEqual(none.returncode, 108)
        self.assertIn("no drone", none.stderr)
        for wrong in (["--spawn", "x", "--spawn-file", "y"], ["--env", "x"], ["--ready", "maybe"], ["--pool", "p"],
                      ["--spawn-file", "/nowhere"], ["--wait", "soon"]):
            self.assertEqual(self.holdfast("backend", "connect", self.key + "-free", *wrong).returncode, 2, wrong)
        self.assertEqual(self.holdfast("backend", "list", "--", "x").returncode, 2)
        self.assertEqual(self.holdfast("backend", "show", "nobody").returncode, 106)
        self.assertEqual(self.holdfast("key", "bar", "nobody").returncode, 106)

    def test_key_without_a_name_gets_one(self):
        done = self.holdfast("backend", "connect", "--spawn", "exec sleep 1000", "--ready", "started", "--wait", "60s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the key is k-", done.stderr)

    def test_list_show_and_status_tell_of_it(self):
        connected = self.connect("--user", "ann", "--tag", "t")
        id = connected["backend_id"]
        self.assertEqual([b["id"] for b in self.json("backend", "list", "--key", self.key)["backends"]], [id])
        self.assertEqual(self.json("backend", "list", "--key", self.key, "--state", "terminated")["backends"], [])
        self.assertIn(id, self.ok("backend", "list", "--drone", "d1"))
        shown = self.ok("backend", "show", id)
        for word in (id, self.key, "ready", connected["address"], "d1", str(connected["token"]), "tag t", "for ann"):
            self.assertIn(word, shown)
        self.assertEqual(self.ok("backend", "status", id), f"ready  {connected['address']}\n")
        [key] = [k for k in self.json("key", "list")["keys"] if k["key"]["name"] == self.key]
        self.assertEqual((key["backend"], key["renewable"]), (id, True))
        self.assertIn(self.key, self.ok("key", "list"))

    def test_watch_shows_each_change_to_the_end(self):
        id = self.connect()["backend_id"]
        watch = self.start("backend", "status", "--watch", id)
        watch.out.find("^ready  ")
        self.assertIn("asked to stop", self.ok("backend", "terminate", id))
        self.assertEqual(self.ends(watch), 0)
        watch.out.find(r"^terminated \(terminated\)")
        self.assertIn("terminated", self.ok("backend", "status", id))
        self.assertIn("has ended", self.ok("backend", "terminate", "--hard", id))

    def test_watch_ends_with_a_signal(self):
        watch = self.start("backend", "status", "--watch", self.connect()["backend_id"], "--json")
        self.assertEqual(json.loads(watch.out.find('"state"').string)["state"], "ready")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(watch), 0)

    def test_barred_key_says_when_it_ends(self):
        id = self.connect("--ttl", "6s")["backend_id"]
        self.assertIn(id, self.ok("key", "bar", self.key))
        eventually(lambda: self.ok("backend", "status", id).startswith("terminated"), "it ends")

    def test_killed_backend_ends_at_once(self):
        id = self.connect("--ready", "started", command="trap '' TERM; while :; do sleep 1; done")["backend_id"]
        self.assertIn("being killed", self.ok("backend", "terminate", id, "--hard"))
        eventually(lambda: self.ok("backend", "status", id).startswith("terminated (terminated)"), "it ends")


if __name__ == "__main__":
    unittest.main(verbosity=2)
