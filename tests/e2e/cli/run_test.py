"""`holdfast run`, for real: the command never outlives its lease, whatever is killed, stopped or cut off."""

import json
import os
import signal
import subprocess
import unittest

from processes import BINARY, DeadAddress, HoldfastTest, Lines, Server, boot_time, eventually, lives

# Prints its process id, then works until it is killed; says when it is asked to stop, and does not.
STUBBORN = "trap 'echo asked' TERM; echo pid $$; while :; do sleep 0.02; done"
# As above, but does as it is asked.
POLITE = "trap 'echo asked; exit 0' TERM; echo pid $$; while :; do sleep 0.02; done"


class RunTest(HoldfastTest):
    def start_run(self, script, *options, resource=None):
        run = self.start("run", resource or self.resource, *options, "--", "sh", "-c", script)
        return run

    def pid_of(self, run):
        return int(run.out.find(r"pid (\d+)").group(1))

    def dies(self, pid):
        eventually(lambda: not lives(pid), f"death of {pid}")

    # What the command gets and what comes back

    def test_passes_output_and_exit_code_through(self):
        done = self.holdfast("run", self.resource, "--", "sh", "-c", "echo out; echo err >&2; exit 42")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (42, "out\n", "err\n"))
        self.assertEqual(self.held(), [], "released as soon as it ended")

    def test_says_which_signal_killed_the_command(self):
        self.assertEqual(self.holdfast("run", self.resource, "--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)

    def test_gives_the_command_its_lease(self):
        script = 'echo "$HOLDFAST_LEASE|$HOLDFAST_RESOURCE|$HOLDFAST_TOKEN"; "$0" list --json --prefix "$1"'
        out = self.ok("run", self.resource, "--", "sh", "-c", script, BINARY, self.resource)
        lease, resource, token = out.splitlines()[0].split("|")
        self.assertEqual(resource, self.resource)
        self.assertEqual(lease, f"{self.resource}#{token}")
        self.assertIn(f'"token":{token}', out.splitlines()[1])

    def test_gives_several_leases_line_by_line_in_order(self):
        names = [f"{self.resource}:{name}" for name in ("z", "a", "m")]
        out = self.ok("run", *names, "--", "sh", "-c", 'echo "$HOLDFAST_RESOURCE"; echo "$HOLDFAST_LEASE"; echo "$HOLDFAST_TOKEN"')
        lines = out.splitlines()
        self.assertEqual(lines[:3], names)
        self.assertEqual(lines[3:6], [f"{name}#{token}" for name, token in zip(names, lines[6:9])])

    def test_takes_all_or_nothing(self):
        self.ok("acquire", self.resource + ":b", "--ttl", "60s", "--holder", "other")
        done = self.holdfast("run", self.resource + ":a", self.resource + ":b", "--", "true")
        self.assertEqual(done.returncode, 103)
        self.assertEqual([lease["resource"] for lease in self.held()], [self.resource + ":b"])

    def test_renews_for_as_long_as_it_takes(self):
        done = self.holdfast("run", self.resource, "--ttl", "1s", "--", "sh", "-c", "sleep 3; echo done")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))

    def test_passes_options_on_to_the_lease(self):
        run = self.start_run(POLITE, "--ttl", "45s", "--predicate", "CONSUMES", "--reason", "because", "--namespace", "other",
                             "--holder", "me")
        self.pid_of(run)
        [lease] = self.held()
        self.assertEqual((lease["ttl_ms"], lease["predicate"], lease["reason"], lease["namespace"], lease["holder"]),
                         (45000, "CONSUMES", "because", "other", "me"))
        run.terminate()
        self.assertEqual(self.ends(run), 0)

    # Exit codes of its own

    def test_says_who_has_it_if_busy(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "bob", "--reason", "formatting")
        done = self.holdfast("run", self.resource, "--", "touch", self.scratch + "/ran")
        self.assertEqual(done.returncode, 103)
        self.assertRegex(done.stderr, r"^holdfast: bob holds \S+ for another \d.*\(formatting\)\n$")
        self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(self.scratch + "/ran"))

    def test_gives_up_waiting_when_told_to(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "bob")
        done = self.holdfast("run", self.resource, "--wait=300ms", "--", "true")
        self.assertEqual(done.returncode, 103)
        self.assertIn("bob holds", done.stderr)

    def test_tells_unreachable_refused_and_usage_apart(self):
        with DeadAddress() as nowhere:
            unreachable = self.holdfast("run", self.resource, "--server", nowhere, "--", "true")
        self.assertEqual(unreachable.returncode, 105)
        self.assertIn("start a server with 'holdfast serve'", unreachable.stderr)
        self.assertEqual(self.holdfast("run", self.resource, "--ttl", "1ms", "--", "true").returncode, 106)
        self.assertEqual(self.holdfast("run", self.resource, "true").returncode, 2)

    def test_says_107_if_told_to_die_and_does_not_run_the_command(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "elder-" + self.resource, "--priority", "100")
        younger = ["run", self.resource, "--holder", "younger-" + self.resource, "--priority", "200", "--wait"]
        done = self.holdfast(*younger, "--", "touch", self.scratch + "/ran")
        self.assertEqual((done.returncode, done.stdout), (107, ""))
        self.assertRegex(done.stderr, rf"^holdfast: told to die.*elder-{self.resource} holds .*come back in \d")
        self.assertFalse(os.path.exists(self.scratch + "/ran"))
        done = self.holdfast(*younger, "--json", "--", "true")
        self.assertEqual(done.returncode, 107)
        answer = json.loads(done.stderr)
        self.assertEqual(answer["error"]["code"], "die")
        self.assertGreater(answer["retry_in_ms"], 0)

    def test_says_107_if_told_to_die_while_it_waits(self):
        # The younger holds something and waits for a younger still, until an elder comes before it.
        a, b = self.resource + ":a", self.resource + ":b"
        self.ok("acquire", a, "--ttl", "60s", "--holder", "2-" + a, "--priority", "200")
        last = self.ok("acquire", b, "--ttl", "60s", "--holder", "3-" + a, "--priority", "300").split()[0]
        run = self.start("run", b, "--holder", "2-" + a, "--wait", "--", "touch", self.scratch + "/ran")
        eventually(lambda: self.json("agent", "show", "2-" + a)["agent"]["waiting"], "the wait")
        elder = self.start("acquire", b, "--ttl", "60s", "--holder", "1-" + a, "--priority", "100", "--wait", "60s")
        self.assertEqual(self.ends(run), 107)
        self.assertFalse(os.path.exists(self.scratch + "/ran"))
        self.ok("release", last, "--holder", "3-" + a)
        self.assertEqual(self.ends(elder), 0)

    def test_a_supervisor_can_restart_what_was_told_to_die(self):
        elder = self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "elder-" + self.resource,
                        "--priority", "100").split()[0]
        loop = ('n=0; while :; do "$0" run "$1" --holder "younger-$1" --priority now -- echo done; code=$?; n=$((n+1)); '
                'echo "life $n ended with $code"; [ $code -eq 107 ] || exit $code; sleep 0.1; done')
        supervisor = subprocess.Popen(["sh", "-c", loop, BINARY, self.resource], env=self.environment(), text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.started.append(supervisor)
        lines = Lines(supervisor.stdout)
        lines.find("life 2 ended with 107")
        self.ok("release", elder, "--holder", "elder-" + self.resource)
        self.assertEqual(self.ends(supervisor), 0)
        lines.find("done")

    def test_stops_the_command_when_a_newer_life_of_its_agent_is_there(self):
        holder = "agent-" + self.resource
        run = self.start_run(POLITE, "--ttl", "3s", "--holder", holder, "--priority", "now", "--epoch", "1")
        self.pid_of(run)
        self.ok("agent", "register", holder, "--epoch", "2")
        run.out.find("asked")
        self.assertEqual(self.ends(run), 104)
        run.err.find("lost")

    def test_an_agent_waits_for_a_server_that_is_away_before_it_registers(self):
        with DeadAddress() as nowhere:
            run = self.start("run", self.resource, "--server", nowhere, "--priority", "now", "--wait", "--", "true")
            run.err.find("waiting: .*start a server")
            run.send_signal(signal.SIGTERM)
            self.assertEqual(self.ends(run), 128 + signal.SIGTERM)
            done = self.holdfast("run", self.resource, "--server", nowhere, "--priority", "now", "--", "true")
            self.assertEqual(done.returncode, 105)

    def test_releases_at_once_if_the_command_cannot_be_run(self):
        missing = self.holdfast("run", self.resource, "--", self.scratch + "/missing")
        self.assertEqual(missing.returncode, 127)
        self.assertIn("missing", missing.stderr)
        self.assertEqual(self.holdfast("run", self.resource, "--", self.scratch).returncode, 126)
        self.assertEqual(self.held(), [])

    # Waiting

    def test_one_after_the_other_and_never_two_at_once(self):
        log = self.scratch + "/log"
        script = f'echo start >> "{log}"; sleep 0.1; echo end >> "{log}"'
        runs = [self.start_run(script, "--wait", "--ttl", "2s") for _ in range(6)]
        self.assertEqual([self.ends(run) for run in runs], [0] * 6)
        with open(log) as lines:
            self.assertEqual(lines.read().split(), ["start", "end"] * 6)

    def test_a_waiting_run_starts_when_the_first_ends(self):
        first = self.start_run("echo pid $$; read line < " + self.fifo("go"))
        self.pid_of(first)
        second = self.start_run("echo running", "--wait")
        second.err.find("waiting: .* holds")
        self.assertEqual(second.out.lines, [])
        self.say("go")
        second.out.find("running")
        self.assertEqual((self.ends(first), self.ends(second)), (0, 0))

    def fifo(self, name):
        os.mkfifo(f"{self.scratch}/{name}")
        return f"{self.scratch}/{name}"

    def say(self, name):
        with open(f"{self.scratch}/{name}", "w") as fifo:
            fifo.write("go\n")

    def test_an_interrupted_wait_leaves_the_queue(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "bob")
        run = self.start_run("true", "--wait")
        run.err.find("waiting")
        eventually(lambda: self.json("health")["waiters"] == 1, "the wait")
        run.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(run), 128 + signal.SIGINT)
        eventually(lambda: self.json("health")["waiters"] == 0, "leaving the queue")

    # Signals

    def test_passes_signals_on_and_ends_as_the_command_does(self):
        for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"):
            run = self.start_run(f"trap 'exit 7' {name}; echo pid $$; while :; do :; done", resource=self.resource + name)
            self.pid_of(run)
            run.send_signal(getattr(signal, "SIG" + name))
            self.assertEqual(self.ends(run), 7, name)
        self.assertEqual(self.held(), [], "and gives the lease back")

    def test_a_command_killed_by_a_passed_signal_shows_it(self):
        run = self.start_run("echo pid $$; exec sleep 1000")
        self.pid_of(run)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(self.ends(run), 128 + signal.SIGTERM)

    # Losing the lease

    def test_dies_before_the_lease_can_move_on_when_run_is_stopped(self):
        first = self.start_run(STUBBORN, "--ttl", "3s")
        pid = self.pid_of(first)
        second = self.start_run(f"kill -0 {pid} 2>/dev/null && grep -qv ' Z ' /proc/{pid}/stat && echo OVERLAP; echo running", "--wait")
        first.send_signal(signal.SIGSTOP)
        second.out.find("running")
        self.assertNotIn("OVERLAP", second.out.lines)
        self.assertFalse(lives(pid))
        first.out.find("asked")
        with open(f"/proc/{first.pid}/stat") as stat:
            self.assertEqual(stat.read().rsplit(")", 1)[1].split()[0], "T", "it is still stopped")
        first.send_signal(signal.SIGCONT)
        self.assertEqual(self.ends(first), 104)
        self.assertEqual(self.ends(second), 0)

    def test_dies_when_run_is_killed(self):
        run = self.start_run("sleep 1000 & echo child $!; " + POLITE, "--ttl", "30s")
        child = int(run.out.find(r"child (\d+)").group(1))
        pid = self.pid_of(run)
        run.kill()
        self.dies(pid)
        self.dies(child)

    def test_is_stopped_at_once_when_the_lease_is_revoked(self):
        run = self.start_run(POLITE, "--ttl", "3s")
        self.pid_of(run)
        [lease] = self.held()
        self.ok("revoke", lease["id"])
        # It is asked first, but it gets a second for that, and on a busy machine may not come to say so.
        self.assertEqual(self.ends(run), 104)
        run.err.find("lost")

    def test_is_killed_soon_if_it_ignores_that_its_lease_is_revoked(self):
        run = self.start_run(STUBBORN, "--ttl", "3s")
        pid = self.pid_of(run)
        self.ok("revoke", self.held()[0]["id"])
        self.assertEqual(self.ends(run), 104)
        self.assertFalse(lives(pid))

    def test_may_finish_on_its_timeline_when_its_holder_is_banned(self):
        holder = "banned-" + self.resource
        run = self.start_run(POLITE, "--ttl", "3s", "--holder", holder)
        self.pid_of(run)
        self.ok("ban", holder)
        run.out.find("asked")
        self.assertEqual(self.ends(run), 104)
        self.assertEqual(self.holdfast("run", self.resource, "--holder", holder, "--wait=10s", "--", "true").returncode, 106)
        self.ok("unban", holder)

    def test_is_stopped_when_its_renewal_is_barred(self):
        run = self.start_run(POLITE, "--ttl", "2s")
        self.pid_of(run)
        self.ok("bar", self.held()[0]["id"])
        run.out.find("asked")
        self.assertEqual(self.ends(run), 104)

    def test_leaves_a_daemon_alone_if_told_to(self):
        done = self.holdfast("run", self.resource, "--leave-daemons", "--", "sh", "-c",
                             "setsid sleep 1000 >/dev/null 2>&1 & echo $!; sleep 0.2")
        daemon = int(done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertIn("go on without the lease", done.stderr)
        self.assertTrue(lives(daemon))
        os.kill(daemon, signal.SIGKILL)

    def test_stops_a_daemon_before_it_gives_the_lease_back(self):
        done = self.holdfast("run", self.resource, "--", "sh", "-c",
                             "setsid sleep 1000 >/dev/null 2>&1 & echo $!; sleep 0.2; exit 3")
        self.assertEqual(done.returncode, 3, "the command's own code")
        self.assertIn("1 process(es) left the command's group and were stopped; --leave-daemons", done.stderr)
        self.assertFalse(lives(int(done.stdout)))
        self.assertEqual(self.held(), [])

    def test_goes_on_when_nobody_reads_its_messages(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "bob")
        reading, writing = os.pipe()
        os.close(reading)
        busy = subprocess.Popen([BINARY, "run", self.resource, "--", "true"], env=self.environment(), stderr=writing)
        os.close(writing)
        self.started.append(busy)
        self.assertEqual(self.ends(busy), 103, "not a death by SIGPIPE")
        self.ok("release", self.held()[0]["id"], "--holder", "bob")
        reading, writing = os.pipe()
        os.close(reading)
        barred = subprocess.Popen([BINARY, "run", self.resource, "--ttl", "2s", "--", "sh", "-c", POLITE],
                                  env=self.environment(), stdout=subprocess.DEVNULL, stderr=writing)
        os.close(writing)
        self.started.append(barred)
        eventually(self.held, "the lease")
        self.ok("bar", self.held()[0]["id"])
        self.assertEqual(self.ends(barred), 104, "it said that it cannot renew, to nobody, and went on")

    def test_reports_errors_as_json_on_standard_error_if_asked(self):
        self.ok("acquire", self.resource, "--ttl", "60s", "--holder", "bob")
        done = self.holdfast("run", self.resource, "--json", "--", "true")
        self.assertEqual((done.returncode, done.stdout), (103, ""))
        self.assertEqual(json.loads(done.stderr)["error"]["code"], "busy")

    def test_kills_what_a_stubborn_command_started_and_hid(self):
        run = self.start_run("setsid sleep 1000 & echo child $!; " + STUBBORN, "--ttl", "2s")
        hidden = int(run.out.find(r"child (\d+)").group(1))
        pid = self.pid_of(run)
        run.send_signal(signal.SIGSTOP)
        self.dies(pid)
        self.dies(hidden)


class ServerGoneTest(HoldfastTest):
    """Tests that take their server away."""

    def setUp(self):
        super().setUp()
        self.server = Server(self.scratch + "/state", self.home)

    def tearDown(self):
        super().tearDown()
        self.server.kill()

    def test_the_command_is_dead_before_the_lease_could_have_expired(self):
        ttl = 6
        run = self.start("run", self.resource, "--ttl", f"{ttl}s", "--", "sh", "-c", STUBBORN)
        pid = int(run.out.find(r"pid (\d+)").group(1))
        killed_at = boot_time()
        self.server.kill()
        run.out.find("asked")
        eventually(lambda: not lives(pid), "death of the command")
        self.assertLess(boot_time(), killed_at + ttl, "the last renewal came before the server was killed")
        self.assertEqual(self.ends(run), 104)
        run.err.find("renewal failed")

    def test_a_server_that_recovers_says_not_now(self):
        if os.environ.get("HOLDFAST_TEST_STORE"):
            return  # a front has lost nothing
        self.ok("acquire", self.resource)
        address = self.server.url.removeprefix("http://")
        self.server.kill()
        self.server = Server(self.scratch + "/state", self.home, http=address)
        for verb in (["acquire", self.resource], ["run", self.resource, "--", "true"]):
            done = self.holdfast(*verb)
            self.assertEqual(done.returncode, 108, done)
            self.assertIn("try again in", done.stderr)
        self.assertEqual(self.holdfast("acquire", self.resource, "--ttl", "1ms").returncode, 106, "never")

    def test_the_command_goes_on_if_the_server_comes_back_in_time(self):
        os.mkfifo(self.scratch + "/go")
        run = self.start("run", self.resource, "--ttl", "20s", "--", "sh", "-c", f"echo pid $$; read line < {self.scratch}/go; exit 5")
        run.out.find("pid")
        address = self.server.url.removeprefix("http://")
        self.server.stop()
        self.server = Server(self.scratch + "/state", self.home, http=address)
        renewed = self.start("watch", "--renewed", "--json")
        renewed.out.find('"type":"renewed"')
        with open(self.scratch + "/go", "w") as fifo:
            fifo.write("go\n")
        self.assertEqual(self.ends(run), 5)

    def test_a_waiting_run_outlives_a_restart_of_the_server(self):
        address = self.server.url.removeprefix("http://")
        self.server.stop()
        run = self.start("run", self.resource, "--wait", "--", "echo", "running")
        run.err.find("waiting: .*start a server")
        self.server = Server(self.scratch + "/state", self.home, http=address)
        self.assertEqual(self.ends(run), 0)
        run.out.find("running")


if __name__ == "__main__":
    unittest.main(verbosity=2)
