"""Every command but `run`, for real: what it prints, as tables and as JSON, and how it ends."""

import json
import os
import pty
import re
import signal
import subprocess
import unittest

from processes import BINARY, PATIENCE, DeadAddress, HoldfastTest, Server, eventually

CLIENT_COMMANDS = [
    ("acquire", "x"), ("renew", "x#1"), ("renew", "x#1", "y#2"), ("release", "x#1"), ("verify", "x#1"), ("list",),
    ("watch",), ("policy",), ("policy", "get"), ("policy", "set", "--ttl-max", "5m"), ("ban", "x"), ("unban", "x"),
    ("bans",), ("approvals",), ("approve", "x"), ("deny", "x"), ("service",), ("service", "deny", "x"), ("service", "allow", "x"), ("discover",), ("discover", "x"), ("revoke", "x#1"), ("bar", "x#1"), ("health",),
]


class LeaseTest(HoldfastTest):
    def acquire(self, *more, resource=None):
        out = self.ok("acquire", resource or self.resource, "--ttl", "60s", *more)
        lease, token = out.split()
        self.assertEqual(lease, f"{resource or self.resource}#{token}")
        return lease

    def test_a_lease_by_hand_from_acquire_to_release(self):
        lease = self.acquire()
        self.assertEqual(self.holdfast("acquire", self.resource).returncode, 103, "the same user excludes itself")
        self.assertRegex(self.ok("renew", lease, "--ttl", "90s"), r"renewed for (1m29s|1m30s)\n")
        self.assertIn("ACTIVE", self.ok("verify", lease))
        self.assertEqual(self.ok("release", lease), f"{lease} RELEASED\n")
        self.assertEqual(self.ok("release", lease), f"{lease} RELEASED\n", "again is no error")
        self.assertEqual(self.holdfast("renew", lease).returncode, 104)
        verified = self.holdfast("verify", lease)
        self.assertEqual(verified.returncode, 104)
        self.assertRegex(verified.stdout, r"RELEASED +- +nobody")

    def test_refusals_say_who_and_why(self):
        self.acquire("--holder", "bob", "--reason", "formatting")
        busy = self.holdfast("acquire", self.resource, "--wait=50ms")
        self.assertEqual(busy.returncode, 103)
        self.assertRegex(busy.stderr, r"holdfast: bob holds .*\(formatting\)")
        self.assertEqual(busy.stdout, "")

    def test_a_wait_ends_with_a_lease_when_there_is_one(self):
        lease = self.acquire("--holder", "bob")
        waiting = self.start("acquire", self.resource, "--wait")
        eventually(lambda: self.json("health")["waiters"] == 1, "the wait")
        self.ok("release", lease, "--holder", "bob")
        self.assertEqual(self.ends(waiting), 0)

    def test_a_wait_stops_cleanly_on_a_signal(self):
        self.acquire("--holder", "bob")
        waiting = self.start("acquire", self.resource, "--wait")
        eventually(lambda: self.json("health")["waiters"] == 1, "the wait")
        waiting.terminate()
        self.assertEqual(self.ends(waiting), 128 + signal.SIGTERM)
        eventually(lambda: self.json("health")["waiters"] == 0, "leaving the queue")

    def test_readers_share(self):
        self.acquire("--predicate", "CONSUMES")
        self.acquire("--predicate", "CONSUMES", "--holder", "other")
        self.assertEqual(self.holdfast("acquire", self.resource).returncode, 103)

    def test_everything_a_holder_has_is_released_in_one_go(self):
        for resource in ("all:1", "all:2"):
            self.ok("acquire", resource, "--holder", "tidy")
        self.ok("acquire", "all:3", "--holder", "other")
        self.assertEqual(self.ok("release", "--all", "--holder", "tidy").count("RELEASED"), 2)
        self.assertIn("all:3", self.ok("list", "--prefix", "all:"))
        self.assertNotIn("all:1", self.ok("list", "--prefix", "all:"))
        self.assertEqual(self.ok("release", "--all", "--holder", "tidy"), "", "again there is nothing to release")
        self.assertEqual(self.holdfast("release").returncode, 2, "one or the other")

    def test_another_holder_cannot_renew_or_release(self):
        lease = self.acquire("--holder", "alice")
        self.assertEqual(self.holdfast("renew", lease, "--holder", "bob").returncode, 106)
        self.assertEqual(self.holdfast("release", lease, "--holder", "bob").returncode, 106)
        self.ok("release", lease, HOLDFAST_HOLDER="alice")

    def test_renews_many_and_tells_each_one(self):
        one, two = self.acquire(resource=self.resource + ":1"), self.acquire(resource=self.resource + ":2")
        self.ok("release", two)
        done = self.holdfast("renew", one, two)
        self.assertEqual(done.returncode, 104)
        self.assertRegex(done.stdout, rf"(?s){re.escape(one)} +renewed.*{re.escape(two)} +lease_released")
        holder = "all-" + self.resource
        self.acquire("--holder", holder, resource=self.resource + ":3")
        self.assertIn("renewed", self.ok("renew", "--all", "--holder", holder))
        self.assertIn("ACTIVE", self.ok("verify", "--holder", holder))

    def test_unknown_leases_are_lost(self):
        self.assertEqual(self.holdfast("renew", "never#1").returncode, 104)
        self.assertEqual(self.holdfast("revoke", "never#1").returncode, 104)
        self.assertIn("UNKNOWN", self.ok("release", "never#1"))

    def test_the_list_is_a_sorted_table(self):
        for name in ("z", "a", "m"):
            self.acquire("--holder", "h-" + name, resource=f"{self.resource}:{name}")
        lines = self.ok("list", "--prefix", self.resource).splitlines()
        self.assertEqual(lines[0].split(), ["RESOURCE", "PREDICATE", "HOLDER", "TOKEN", "REMAINING", "REASON"])
        self.assertEqual([line.split()[0][-1] for line in lines[1:]], ["a", "m", "z"])
        self.assertEqual([line.split()[2] for line in lines[1:]], ["h-a", "h-m", "h-z"])
        self.assertRegex(lines[1], r"MUTATES .* \d{13,16} +(\d+\.\ds|1m00s)")
        self.assertEqual(len(self.ok("list", "--holder", "h-m").splitlines()), 2)

    def test_the_list_follows_pages_to_the_end(self):
        for part in range(5):
            self.ok("acquire", *[f"{self.resource}:{part}:{i:03}" for i in range(250)], "--ttl", "60s")
        self.assertEqual(len(self.held()), 1250)
        names = [line.split()[0] for line in self.ok("list", "--prefix", self.resource).splitlines()[1:]]
        self.assertEqual(len(names), 1250)
        self.assertEqual(names, sorted(names))

    def test_an_empty_list_is_silent_on_standard_output(self):
        done = self.holdfast("list", "--prefix", "nothing-like-this")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", "holdfast: no active leases\n"))
        self.assertEqual(self.holdfast("list", "--prefix", "nothing-like-this", "--quiet").stderr, "")

    def test_namespaces_are_shown(self):
        out = self.ok("acquire", self.resource, "--namespace", "other", "--ttl", "60s")
        self.assertTrue(out.startswith(f"@other/{self.resource}#"))
        self.assertIn(f"@other/{self.resource} ", self.ok("list", "--namespace", "other"))
        self.ok("release", out.split()[0])


class AdminTest(HoldfastTest):
    def test_policy_can_be_read_and_changed(self):
        self.assertRegex(self.ok("policy"), r"ttl-max +5m00s")
        changed = self.ok("policy", "set", "--ttl-max", "10m", "--ttl-over-max", "reject", "--name-pattern", "test:.*")
        self.assertRegex(changed, r"ttl-max +10m00s")
        self.assertEqual(self.holdfast("acquire", "other").returncode, 106)
        self.assertEqual(self.holdfast("acquire", self.resource, "--ttl", "11m").returncode, 106)
        policy = self.json("policy", "set", "--ttl-min", "2s", "--ttl-default", "30s", "--wait-max", "1m", "--name-pattern", "")
        self.assertEqual((policy["ttl_min_ms"], policy["ttl_default_ms"], policy["wait_max_ms"], policy["name_pattern"]),
                         (2000, 30000, 60000, None))
        self.assertEqual(self.holdfast("policy", "set", "--ttl-min", "1h").returncode, 106, "makes no sense")
        self.assertEqual(self.holdfast("policy", "set").returncode, 2)
        self.ok("policy", "set", "--ttl-min", "1s", "--ttl-max", "5m", "--ttl-default", "1m", "--ttl-over-max", "cut",
                "--wait-max", "5m")

    def test_a_namespace_has_a_policy_of_its_own(self):
        shown = self.ok("policy", "set", "--namespace", "batch", "--ttl-max", "20m", "--hold-max", "0s")
        self.assertRegex(shown, r"(?s)ttl-min +1\.0s +inherited.*ttl-max +20m00s +this namespace.*hold-max +any +this namespace")
        self.assertEqual(self.ok("policy", "get", "--namespace", "batch"), shown)
        self.assertRegex(self.ok("policy"), r"(?s)ttl-max +5m00s.*namespaces +batch")
        out = self.ok("acquire", self.resource, "--namespace", "batch", "--ttl", "15m")
        self.ok("release", out.split()[0])
        self.assertRegex(self.ok("audit"), r"change policy of batch: ttl_max=20m00s hold_max=0ms")
        self.ok("policy", "set", "--namespace", "batch", "--inherit", "ttl-max", "--inherit", "hold-max")
        self.assertNotIn("batch", self.ok("policy"))
        self.assertEqual(self.holdfast("policy", "set", "--namespace", "batch", "--inherit", "nothing").returncode, 2)

    def test_quotas_can_be_set_and_lifted(self):
        self.assertRegex(self.ok("policy"), r"(?s)hold-max +any.*idle-max +any.*leases-per-holder-max +any")
        changed = self.ok("policy", "set", "--hold-max", "1h", "--idle-max", "90s", "--leases-per-holder-max", "1")
        self.assertRegex(changed, r"(?s)hold-max +1h00m.*idle-max +1m30s.*leases-per-holder-max +1\b")
        first = self.ok("acquire", self.resource, "--holder", "greedy").split()[0]
        self.assertEqual(self.holdfast("acquire", self.resource + "2", "--holder", "greedy").returncode, 108)
        self.ok("release", first, "--holder", "greedy")
        for nonsense in ("many", "-1", "99999999999999999999"):
            self.assertEqual(self.holdfast("policy", "set", "--leases-per-holder-max", nonsense).returncode, 2, nonsense)
        policy = self.json("policy", "set", "--hold-max", "0s", "--idle-max", "0s", "--leases-per-holder-max", "0")
        self.assertEqual((policy["hold_max_ms"], policy["idle_max_ms"], policy["leases_per_holder_max"]), (None,) * 3)

    def test_bans(self):
        self.assertEqual(self.ok("ban", "mallory", "--reason", "noise"), "mallory banned\n")
        self.assertRegex(self.ok("bans"), r"mallory +\S+Z +noise")
        self.assertEqual(self.holdfast("acquire", self.resource, "--holder", "mallory").returncode, 106)
        self.assertEqual(self.ok("unban", "mallory"), "mallory unbanned\n")
        self.assertEqual(self.ok("unban", "mallory"), "mallory was not banned\n")
        self.assertEqual(self.holdfast("bans").stderr, "holdfast: nobody is banned\n")

    def test_bar_and_revoke(self):
        lease = self.ok("acquire", self.resource, "--ttl", "60s").split()[0]
        self.assertEqual(self.ok("bar", lease), f"{lease} barred from renewal\n")
        self.assertEqual(self.holdfast("renew", lease).returncode, 106)
        self.assertEqual(self.ok("revoke", lease), f"{lease} REVOKED\n")
        self.assertEqual(self.holdfast("revoke", lease).returncode, 104)
        self.assertEqual(self.holdfast("renew", lease).returncode, 104)

    def test_health(self):
        self.assertRegex(self.ok("health"), r"(?s)STATUS.*ok +\d+\.\d+\.\d+ +\d+ +\d+")


class JsonTest(HoldfastTest):
    def test_every_command_prints_one_json_object(self):
        [lease] = self.json("acquire", self.resource, "--ttl", "60s")["leases"]
        self.assertEqual(self.json("renew", lease["id"])["result"], "RENEWED")
        self.assertEqual(self.json("renew", lease["id"], "x#1", code=104)["renewed"], 1)
        self.assertEqual(self.json("verify", lease["id"])["results"][0]["state"], "ACTIVE")
        self.assertEqual(self.json("list", "--prefix", self.resource)["leases"][0]["id"], lease["id"])
        self.assertIn("lease", self.json("bar", lease["id"]))
        self.assertTrue(self.json("release", lease["id"])["released"])
        self.assertEqual(len(self.json("release", lease["id"], "x#1")["results"]), 2)
        self.assertEqual(self.json("revoke", "x#1", code=104)["error"]["code"], "unknown_lease")
        self.assertEqual(self.json("ban", "m")["holder"], "m")
        self.assertEqual(self.json("bans")["bans"][0]["holder"], "m")
        self.assertTrue(self.json("unban", "m")["unbanned"])
        self.assertIn("ttl_max_ms", self.json("policy"))
        self.assertIn("ttl_max_ms", self.json("policy", "get"))
        self.assertIn("ttl_max_ms", self.json("policy", "set", "--ttl-max", "5m"))
        self.assertEqual(self.json("health")["status"], "ok")
        self.assertIn("version", self.json("version"))
        self.assertIn("_holdfast", self.json("completion", "bash")["script"])

    def test_a_refusal_is_json_too(self):
        self.json("acquire", self.resource, "--holder", "bob")
        self.assertEqual(self.json("acquire", self.resource, code=103)["conflicts"][0]["holder"], "bob")

    def test_no_answer_is_json_too(self):
        with DeadAddress() as nowhere:
            error = self.json("list", "--server", nowhere, code=105)["error"]
        self.assertEqual(error["code"], "unreachable")


class WatchTest(HoldfastTest):
    def setUp(self):
        super().setUp()
        self.server = Server(self.scratch + "/state", self.home)

    def tearDown(self):
        super().tearDown()
        self.server.kill()

    def seen_after(self, watch, what):
        """Does it until the watch shows it: the stream may not be up yet."""
        def try_it():
            what()
            return watch.out.lines
        eventually(try_it, "a first event")

    def test_shows_what_happens_and_stops_cleanly(self):
        watch = self.start("watch", "--prefix", self.resource)
        self.seen_after(watch, lambda: self.ok("run", self.resource, "--", "true"))
        # The stream may have come up in the middle of that run; it sees the whole of the next.
        before = len(watch.out.lines)
        self.ok("run", self.resource, "--", "true")
        watch.out.find(rf"Z  granted   {re.escape(self.resource)}#\d+  MUTATES  \S+@\S+", before)
        watch.out.find("released", before)
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(watch), 0)

    def test_prints_json_lines(self):
        watch = self.start("watch", "--json", "--renewed")
        self.seen_after(watch, lambda: self.ok("run", self.resource, "--", "true"))
        lease = self.ok("acquire", self.resource, "--ttl", "60s").split()[0]
        self.ok("renew", lease)
        watch.out.find('"type":"renewed"')
        self.ok("revoke", lease)
        watch.out.find('"type":"revoked"')
        for line in watch.out.lines:
            self.assertIn("lease", json.loads(line))
        watch.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(watch), 0)

    def test_reconnects_and_says_that_it_missed_some(self):
        watch = self.start("watch", "--json")
        self.seen_after(watch, lambda: self.ok("run", self.resource, "--", "true"))
        address = self.server.url.removeprefix("http://")
        self.server.stop()
        watch.err.find("trying to reconnect")
        self.server = Server(self.scratch + "/state", self.home, http=address)
        watch.err.find("connected again")
        watch.err.find("missed")
        watch.out.find('"missed"')
        before = len(watch.out.lines)
        self.ok("run", self.resource + ":later", "--", "true")
        watch.out.find(":later", before)
        watch.terminate()
        self.assertEqual(self.ends(watch), 0)

    def test_stops_while_reconnecting(self):
        watch = self.start("watch")
        self.seen_after(watch, lambda: self.ok("run", self.resource, "--", "true"))
        self.server.kill()
        watch.err.find("trying to reconnect")
        watch.terminate()
        self.assertEqual(self.ends(watch), 0)


class SettingsTest(HoldfastTest):
    def config(self, text, where=None):
        path = where or self.scratch + "/config.toml"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def ttl_of(self, *arguments, **environment):
        out = self.ok("acquire", self.resource, "--json", *arguments, **environment)
        [lease] = json.loads(out)["leases"]
        self.ok("release", lease["id"], "--holder", lease["holder"])
        return lease["ttl_ms"]

    def test_the_command_line_wins_over_the_environment_over_the_file(self):
        config = self.config('[acquire]\nttl = "11s"\n')
        self.assertEqual(self.ttl_of(), 60000)
        self.assertEqual(self.ttl_of("--config", config), 11000)
        self.assertEqual(self.ttl_of(HOLDFAST_CONFIG=config), 11000)
        self.assertEqual(self.ttl_of(HOLDFAST_CONFIG=config, HOLDFAST_TTL="12s"), 12000)
        self.assertEqual(self.ttl_of("--ttl", "13s", HOLDFAST_CONFIG=config, HOLDFAST_TTL="12s"), 13000)

    def test_the_users_file_is_found_by_itself(self):
        config = self.config('quiet = true\n[acquire]\nttl = "14s"\n', self.scratch + "/holdfast/config.toml")
        self.assertTrue(config)
        self.assertEqual(self.ttl_of(XDG_CONFIG_HOME=self.scratch), 14000)
        done = self.holdfast("list", "--prefix", "nothing", XDG_CONFIG_HOME=self.scratch)
        self.assertEqual(done.stderr, "", "quiet")

    def test_a_server_in_the_file_is_used(self):
        with DeadAddress() as nowhere:
            config = self.config(f'server = "{nowhere}"\n')
            environment = {k: v for k, v in self.environment().items() if k != "HOLDFAST_SERVER"}
            done = subprocess.run([BINARY, "list", "--config", config], env=environment, capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 105)
            self.assertIn(nowhere, done.stderr)

    def test_mistakes_in_the_settings_are_usage_errors(self):
        self.assertEqual(self.holdfast("list", "--config", self.config("servr = 1\n")).returncode, 2)
        self.assertEqual(self.holdfast("list", HOLDFAST_CONFIG=self.scratch + "/missing").returncode, 2)
        self.assertEqual(self.holdfast("list", HOLDFAST_SERVER="nonsense").returncode, 2)
        self.assertEqual(self.holdfast("acquire", "x", HOLDFAST_TTL="soon").returncode, 2)

    def on_terminal(self, *arguments, **environment):
        """What the command prints on a terminal."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, *arguments], env=self.environment(TERM="xterm", **environment), stdin=theirs,
                                   stdout=theirs, stderr=theirs)
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(ours)
        process.wait(PATIENCE)
        return text

    def test_nothing_that_others_wrote_steers_the_terminal(self):
        """C1 and marks of direction, which the server takes as names; C0 it refuses, and tables are tested with it."""
        odd = "\u009b2J\u202e\u2066"
        resource, holder = self.resource + odd, "mallory" + odd
        [lease] = self.json("acquire", resource, "--holder", holder, "--reason", odd, "--ttl", "60s")["leases"]
        id = lease["id"]
        self.assertEqual((lease["resource"], lease["holder"]), (resource, holder), "JSON says it as it is")
        self.ok("agent", "register", holder)
        self.ok("ban", "other" + odd, "--reason", odd)
        self.addCleanup(self.ok, "unban", "other" + odd)
        commands = [("list",), ("list", "--prefix", resource), ("acquire", resource), ("renew", id, "--holder", holder), ("renew", id),
                    ("verify", id), ("verify", "--holder", holder), ("agent",), ("agent", "show", holder), ("bans",),
                    ("audit",), ("acquire", resource, "--holder", odd), ("no-such" + odd,), ("list", "--no-such" + odd),
                    ("release", odd), ("run", resource, "--", "true"), ("bar", id), ("revoke", id), ("release", id, "--holder", holder)]
        for words in commands:
            for more in ((), ("--json",)):
                text = self.on_terminal(*words, *more) if words[0] != "run" else self.on_terminal(*more, *words)
                for character in odd.replace("2J", ""):
                    self.assertNotIn(character.encode(), text, (words, more))
                self.assertNotIn(b"\x1b[2J", text)
        seen = self.on_terminal("list", "--json", NO_COLOR="1")
        json.loads(seen)

    def test_an_empty_name_is_a_usage_error(self):
        for command in (["ban"], ["unban"], ["approve"], ["deny"], ["service", "deny"], ["backend", "status"],
                        ["drone", "drain"], ["agent", "show"], ["run"]):
            done = self.holdfast(*command, "")
            self.assertEqual(done.returncode, 2, (command, done.stderr))

    def test_a_lease_without_its_token_is_a_usage_error_with_advice(self):
        for command in ("renew", "release", "verify", "bar", "revoke"):
            for lease in ("foo", "foo#", "foo#x", "#17", "foo#-1"):
                done = self.holdfast(command, lease)
                self.assertEqual(done.returncode, 2, (command, lease))
                self.assertIn(f"'{lease}' names no lease; give it as RESOURCE#TOKEN", done.stderr)
                self.assertIn("holdfast list", done.stderr)

    def test_colours_are_for_terminals_without_no_color(self):
        self.ok("acquire", self.resource, "--ttl", "60s")
        self.assertIn(b"\x1b[1m", self.on_terminal("list"))
        self.assertNotIn(b"\x1b", self.on_terminal("list", NO_COLOR="1"))
        self.assertNotIn("\x1b", self.ok("list"))


class ErrorsTest(HoldfastTest):
    def test_every_client_command_says_what_to_do_without_a_server(self):
        with DeadAddress() as nowhere:
            for command in CLIENT_COMMANDS:
                done = self.holdfast(*command, "--server", nowhere)
                self.assertEqual(done.returncode, 105, command)
                self.assertEqual(done.stdout, "", command)
                self.assertRegex(done.stderr, rf"^holdfast: .*{nowhere}.*refused.*; start a server with 'holdfast serve' "
                                              r"or say where it is with --server\n$")

    def test_something_that_is_not_holdfast_is_told_apart(self):
        script = ("import http.server; s = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler); "
                  "print(s.server_port, flush=True); s.handle_request()")
        other = subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.started.append(other)
        port = other.stdout.readline().strip()
        done = self.holdfast("list", "--server", f"http://127.0.0.1:{port}")
        other.stdout.close()
        self.assertEqual(done.returncode, 106)
        self.assertIn("not as Holdfast does", done.stderr)

    def test_every_command_has_help(self):
        listed = re.search(r"Subcommands:\n(.*?)\n\n", self.ok("--help"), re.S).group(1)
        names = re.findall(r"^  (\w+) ", listed, re.M)
        self.assertGreaterEqual(len(names), 17)
        for name in names:
            out = self.ok(name, "--help")
            self.assertIn("Exit codes", out, name)
            self.assertIn("--server", out, name)
        self.assertIn("--ttl-max", self.ok("policy", "set", "--help"))

    def test_usage_errors_name_the_help(self):
        done = self.holdfast("frobnicate")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "holdfast: there is no command 'frobnicate'; see 'holdfast --help'\n")
        self.assertIn("see 'holdfast acquire --help'", self.holdfast("acquire").stderr)

    def test_version(self):
        self.assertRegex(self.ok("version"), r"^holdfast \d+\.\d+\.\d+\n$")
        self.assertRegex(self.ok("--version"), r"\d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main(verbosity=2)
