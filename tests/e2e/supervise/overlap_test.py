"""What becomes of a command, its child and a daemon of it when the processes between them and their lease are killed or
stopped: `holdfast run`, the guardian and the second guardian, one, two or all of them. A second `run` waits for the lease
and says who still lives when it has it.

    overlap_test.py             the faults that must not matter, once each, all at the same time
    overlap_test.py measure 12  all faults, so many times; prints how often anything outlived the lease"""

import os
import signal
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from processes import HoldfastTest, lives  # noqa: E402

TTL = "4s"
# All ignore SIGTERM. Two children, so that one stays in the command's group and one leaves it.
WORK = "trap '' TERM; sleep 1000 & echo pid $!; setsid sleep 1000 & echo pid $!; echo pid $$; echo ready; wait; sleep 1000"

KEEPER, GUARDIAN, SECOND = "run", "guardian", "second guardian"
SIGNALS = {"killed": signal.SIGKILL, "stopped": signal.SIGSTOP}
# Without a fault of `run` or of the guardian the lease is renewed and the work goes on, so those are not here.
ONE_OR_TWO = [(whom, how) for whom in ((KEEPER,), (GUARDIAN,), (KEEPER, GUARDIAN), (KEEPER, SECOND)) for how in SIGNALS]
ONE_OR_TWO.append(((GUARDIAN, SECOND), "killed"))
ALL = [((KEEPER, GUARDIAN, SECOND), how) for how in SIGNALS]


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return int(children.read().split()[0])


class OverlapTest(HoldfastTest):
    def overlap(self, whom, number, resource):
        """Which processes of the first holder lived when the second had the lease."""
        first = self.start("run", resource, "--ttl", TTL, "--", "sh", "-c", WORK)
        first.out.find("ready")
        work = [int(line.split()[1]) for line in first.out.lines if line.startswith("pid")]
        second_guardian = child_of(first.pid)
        processes = {KEEPER: first.pid, GUARDIAN: child_of(second_guardian), SECOND: second_guardian}
        probe = "; ".join(f"echo {pid} $(cut -d' ' -f3 /proc/{pid}/stat 2>/dev/null)" for pid in work)
        waiting = self.start("run", resource, "--wait", "--", "sh", "-c", probe + "; echo done")
        waiting.err.find("waiting")
        for name in whom:
            os.kill(processes[name], number)
        waiting.out.find("done")
        self.ends(waiting)
        alive = [line for line in waiting.out.lines if len(line.split()) == 2 and line.split()[1] not in "ZX"]
        for pid in (*processes.values(), *work):
            if lives(pid):
                os.kill(pid, signal.SIGKILL)
        return alive

    def rounds(self, faults):
        """What lived on, by fault; all rounds at the same time."""
        results = {}

        def run(at, whom, how):
            try:
                results[at] = (whom, how, self.overlap(whom, SIGNALS[how], f"{self.resource}:{at}"))
            except Exception as failure:  # noqa: BLE001 - shown with its fault
                results[at] = (whom, how, [repr(failure)])
        threads = [threading.Thread(target=run, args=(at, whom, how)) for at, (whom, how) in enumerate(faults)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), len(faults))
        return results.values()

    def test_nothing_outlives_the_lease_whichever_two_are_killed_or_stopped(self):
        for whom, how, alive in self.rounds(ONE_OR_TWO):
            with self.subTest(f"{' and '.join(whom)} {how}"):
                self.assertEqual(alive, [])

    def test_a_daemon_of_a_command_that_is_told_to_end_is_dead_before_the_lease_is_free(self):
        first = self.start("run", self.resource, "--", "sh", "-c", "setsid sleep 1000 & echo pid $!; wait")
        daemon = int(first.out.find(r"pid (\d+)").group(1))
        second = self.start("run", self.resource, "--wait", "--", "cat", f"/proc/{daemon}/stat")
        second.err.find("waiting")
        first.terminate()
        self.assertEqual(self.ends(first), 128 + signal.SIGTERM)
        self.assertNotEqual(self.ends(second), 0, "there is no such process any more")


def measure(rounds):
    OverlapTest.setUpClass()
    test = OverlapTest("test_nothing_outlives_the_lease_whichever_two_are_killed_or_stopped")
    try:
        for whom, how in ONE_OR_TWO + ALL:
            test.setUp()
            outlived = [alive for _, _, alive in test.rounds([(whom, how)] * rounds) if alive]
            print(f"{', '.join(whom)} {how}: {len(outlived)} of {rounds}", flush=True)
            test.tearDown()
    finally:
        OverlapTest.tearDownClass()


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure(int(sys.argv[2]))
    else:
        unittest.main(verbosity=2)
