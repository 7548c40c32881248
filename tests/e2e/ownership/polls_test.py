"""`holdfast own` for real: no session is ever polled by two instances at once, whatever is stopped, killed, cut off or
has a wrong clock. Each poll takes a lock that the kernel frees when the poll is dead; who finds it taken says so. Each
also logs its start and its end with a token of its own, so that the log alone shows two at once as well."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
import unittest

from stores import BIN, PATIENCE, STORES, OwnershipTest, clean_environment, cpu_seconds, eventually, lives, start

WRONG_CLOCK = sys.argv.pop()
TTL = 3

POLL = """
exec 9>>"$POLLS/lock.$HOLDFAST_SESSION"
read -r token </proc/sys/kernel/random/uuid
me="$HOLDFAST_SESSION $HOLDFAST_INSTANCE $token"
flock -n 9 || echo "OVERLAP $me" >>"$POLLS/log"
echo "start $me" >>"$POLLS/log"
sleep %s
echo "end $me" >>"$POLLS/log"
"""
SHORT = POLL % "0.1"
# Does not want to stop, and says who it is.
STUBBORN = "trap '' TERM; echo \"pid $$\" >>\"$POLLS/pids\"; " + POLL % "300"


def clock_off_by(seconds):
    """The environment of a program that sees the wall clock so far off, and every other clock as it is."""
    asan = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
    return {"LD_PRELOAD": WRONG_CLOCK, "WRONG_CLOCK_S": str(seconds), "ASAN_OPTIONS": asan}


class PollsTest(OwnershipTest):
    kind = STORES[sys.argv.pop()]

    def own(self, script=SHORT, environment=None, interval="200ms"):
        """Starts an instance and waits until it has said who it is."""
        command = [BIN, "own", "--sessions", self.session_file, "--redis", self.store.url, "--ttl", f"{TTL}s",
                   "--interval", interval, "--jobs", "4", "--", "sh", "-c", script]
        process = start(command, env=clean_environment(POLLS=self.directory, **(environment or {})),
                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        process.name = re.search(r"instance (\S+)", process.stderr.readline())[1]
        threading.Thread(target=lambda: list(process.stderr), daemon=True).start()  # the pipe must not fill
        return process

    def log(self):
        try:
            with open(os.path.join(self.directory, "log")) as file:
                return [line.split() for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def starts(self, since=0):
        return [(session, instance) for what, session, instance, _ in self.log()[since:] if what == "start"]

    def each_is_polled(self, times, since=0):
        """Waits until each session was polled so often since a line of the log."""
        def enough():
            polled = [session for session, _ in self.starts(since)]
            return all(polled.count(session) >= times for session in self.sessions)
        eventually(f"each session is polled {times} times", enough)

    def started_within_another(self):
        """The polls that began between the start and the end of another of the same session, by their tokens."""
        log = self.log()
        ends = {token: at for at, (what, _, _, token) in enumerate(log) if what == "end"}
        within = []
        for at, (what, session, _, token) in enumerate(log):
            if what == "start":
                within += [line for line in log[at + 1:ends.get(token, at)] if line[:2] == ["start", session]]
        return within

    def no_overlap(self):
        self.assertEqual([line for line in self.log() if line[0] == "OVERLAP"], [])
        self.assertEqual(self.started_within_another(), [])
        tokens = [line[3] for line in self.log() if line[0] == "start"]
        self.assertEqual(len(tokens), len(set(tokens)), "each poll has a token of its own")

    def quiet_for(self, seconds):
        here = len(self.log())
        time.sleep(seconds)
        return len(self.log()) == here

    def polls_in_hand(self):
        try:
            with open(os.path.join(self.directory, "pids")) as file:
                return [int(line.split()[1]) for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def test_the_log_of_polls_would_show_two_at_once(self):
        self.write_sessions(1)
        environment = clean_environment(POLLS=self.directory, HOLDFAST_SESSION="s", HOLDFAST_INSTANCE="i")
        both = [start(["sh", "-c", POLL % "1"], env=environment) for _ in range(2)]
        for one in both:
            self.assertEqual(one.wait(PATIENCE), 0)
        self.assertEqual([line[0] for line in self.log()].count("OVERLAP"), 1)
        self.assertEqual(len(self.started_within_another()), 1)

    def test_five_instances_poll_ten_sessions_and_never_one_twice_at_a_time(self):
        self.write_sessions(10)
        instances = [self.own() for _ in range(5)]
        names = [instance.name for instance in instances]
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        self.each_is_polled(3, len(self.log()))
        nodes, sessions = self.look()
        here = len(self.log())
        self.each_is_polled(2, here)
        if self.everyone_owns_what_it_should(names):
            for session, instance in self.starts(here):
                self.assertEqual(instance, sessions[session]["preferred"])
        self.no_overlap()

    def test_a_stopped_instance_is_taken_over_and_polls_nothing_on_waking_but_what_it_owns(self):
        self.write_sessions(6)
        instances = [self.own() for _ in range(3)]
        names = [instance.name for instance in instances]
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        owners = self.owners()
        busy = max(instances, key=lambda one: list(owners.values()).count(one.name))
        busy.send_signal(signal.SIGSTOP)
        eventually("its sessions have moved", lambda: busy.name not in self.owners().values() and
                   None not in self.owners().values())
        self.each_is_polled(2, len(self.log()))
        busy.send_signal(signal.SIGCONT)
        eventually("it is back", lambda: self.everyone_owns_what_it_should(names))
        here = len(self.log())
        self.each_is_polled(2, here)
        self.assertIn(busy.name, [instance for _, instance in self.starts(here)])
        self.no_overlap()

    def test_a_waking_instance_polls_nothing_before_the_store_has_answered(self):
        self.write_sessions(4)
        instance = self.own()
        self.each_is_polled(2)
        instance.send_signal(signal.SIGSTOP)
        eventually("its sessions are free", lambda: set(self.owners().values()) == {None})
        self.store.freeze()
        here = len(self.log())
        instance.send_signal(signal.SIGCONT)
        time.sleep(TTL)  # nothing may begin
        self.assertEqual(self.starts(here), [])
        self.store.thaw()
        self.each_is_polled(2, here)
        self.no_overlap()

    def test_a_poll_dies_before_its_session_moves_even_if_its_instance_is_stopped(self):
        self.write_sessions(1)
        first = self.own(STUBBORN)
        [poll] = eventually("it polls", self.polls_in_hand)
        first.send_signal(signal.SIGSTOP)
        second = self.own()
        self.each_is_polled(1, len(self.log()))
        self.assertFalse(lives(poll))
        self.assertEqual(self.starts()[-1][1], second.name)
        self.no_overlap()

    def test_when_the_store_is_killed_polls_go_on_after_its_restart_and_never_twice_at_a_time(self):
        self.write_sessions(4)
        instances = [self.own() for _ in range(2)]
        names = [instance.name for instance in instances]
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        self.each_is_polled(2)
        self.store.kill()
        self.store.start()
        self.each_is_polled(3, len(self.log()))
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        self.no_overlap()

    def test_a_store_that_forgot_its_keys_gives_nobody_a_session_while_its_poll_goes_on(self):
        self.write_sessions(1)
        first = self.own(STUBBORN)
        [poll] = eventually("it polls", self.polls_in_hand)
        first.send_signal(signal.SIGSTOP)  # so that it cannot take back what it owned
        self.store.kill()
        self.store.start()
        second = self.own()
        self.each_is_polled(1, len(self.log()))
        self.assertFalse(lives(poll))
        self.assertEqual(self.starts()[-1][1], second.name)
        self.no_overlap()

    def test_an_instance_whose_store_is_gone_for_good_is_quiet(self):
        self.write_sessions(10)
        instance = self.own()
        self.each_is_polled(1)
        self.store.kill()
        eventually("its polls have come to an end", lambda: self.quiet_for(TTL))
        used = cpu_seconds(instance.pid)
        measured = time.monotonic()
        time.sleep(2 * TTL)  # what is measured
        share = (cpu_seconds(instance.pid) - used) / (time.monotonic() - measured)
        self.assertLess(share, 0.2, "of a processor, for nothing")
        self.assertIsNone(instance.poll())

    def test_when_the_store_cannot_be_reached_polls_end_at_their_deadline_and_go_on_afterwards(self):
        self.write_sessions(4)
        instances = [self.own(STUBBORN) for _ in range(2)]
        eventually("all are being polled", lambda: len(self.polls_in_hand()) >= 4)
        polls = self.polls_in_hand()
        self.store.freeze()
        eventually("all polls are dead", lambda: not any(lives(poll) for poll in self.polls_in_hand()))
        here = len(self.log())
        time.sleep(TTL)  # nothing may begin while nobody can renew
        self.assertEqual(self.starts(here), [])
        self.store.thaw()
        eventually("they are polled again", lambda: len(self.polls_in_hand()) >= len(polls) + 4)
        self.no_overlap()

    def test_a_clock_that_is_an_hour_off_changes_nothing(self):
        with open(BIN, "rb") as binary:
            if b"__tsan_init" in binary.read():
                self.skipTest("TSan does not bear a preloaded library")
        self.write_sessions(6)
        instances = [self.own(), self.own(environment=clock_off_by(3600)), self.own(environment=clock_off_by(-3600))]
        names = [instance.name for instance in instances]
        times = [int(name.rsplit("-", 2)[1]) for name in names]
        self.assertGreater(times[1] - times[2], 7000 * 10**9, "their clocks do differ")
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        self.each_is_polled(3, len(self.log()))
        self.no_overlap()

    def test_a_clean_stop_finishes_the_poll_in_hand_and_hands_everything_over(self):
        self.write_sessions(20)  # so many that each is sure to have some
        first, second = self.own(POLL % "1"), self.own()
        names = [first.name, second.name]
        eventually("everyone owns what it should", lambda: self.everyone_owns_what_it_should(names))
        here = len(self.log())
        eventually("the first polls", lambda: first.name in [instance for _, instance in self.starts(here)])
        first.terminate()
        self.assertEqual(first.wait(PATIENCE), 0)
        nodes, sessions = self.look()
        self.assertNotIn(first.name, nodes)
        mine = [line[0] for line in self.log() if line[2] == first.name]
        self.assertEqual(mine.count("start"), mine.count("end"), "no poll was broken off")
        self.each_is_polled(2, len(self.log()))
        self.no_overlap()


if __name__ == "__main__":
    unittest.main(verbosity=2)
