"""Disks that stall: every fsync of a node takes ten seconds, and its leases are granted and renewed as before (Q13, L2)."""

import os
import re
import signal
import subprocess
import time

from real_cluster import PATIENCE, Background, RealCluster, Renewals, eventually, main, wait_for_time

STALL = 10  # seconds for every fsync
FSYNC, FDATASYNC = "74", "75"  # the system calls, as the kernel numbers them on x86-64
ENOUGH = 30  # steps during one fsync; each of them would take STALL if it waited for it


class Stall:
    """While it lasts, every fsync of a process takes STALL seconds."""

    def __init__(self, test, pid):
        self.pid = pid
        self.strace = subprocess.Popen(
            ["strace", "-f", "-q", "-e", "trace=fsync,fdatasync", "-e", f"inject=fsync,fdatasync:delay_enter={STALL}s",
             "-o", "/dev/null", "-p", str(pid)], stdin=subprocess.DEVNULL)
        test.addCleanup(self.end)
        eventually("strace is there", self.attached)

    def attached(self):
        for task in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{task}/status") as status:
                if not re.search(rf"^TracerPid:\s+{self.strace.pid}$", status.read(), re.M):
                    return False
        return True

    def stalled(self):
        """The threads that are in an fsync."""
        found = set()
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{task}/syscall") as call:
                    if call.read().split()[0] in (FSYNC, FDATASYNC):
                        found.add(task)
            except (OSError, IndexError):
                pass  # a thread that ended
        return found

    def end(self):
        if self.strace.poll() is None:
            self.strace.send_signal(signal.SIGINT)  # it lets go of the process
        self.strace.wait(PATIENCE)


class StalledDisks(RealCluster):
    def setUp(self):
        super().setUp()
        self.policies = 0

    def change_policy(self, node):
        """On a connection of its own, for it may take long; fails as long as no majority has it on disk."""
        self.policies += 1
        connection = node.connect()
        status, answer = connection.ask("PATCH", "/v1/policy", {"wait_max_ms": 30_000 + self.policies})
        connection.close()
        self.assertIn(status, (200, 503), answer)

    def turns_through(self, id):
        """Takes one resource after the other."""
        connection = self.another_connection(self.nodes[id])
        count = iter(range(1_000_000))

        def turn():
            status = 503  # a machine that is too busy for an attempt; what is counted is what is done
            while status == 503:
                status, answer = connection.ask("POST", "/v1/leases", {"holder": f"of-{id}", "resource": f"{id}-{next(count)}"})
            self.assertEqual(status, 201, answer)
        return Background(turn)

    def all_goes_on_in_the_stall(self, stalls, changing_through):
        """Within the time in which one thread of each of these nodes is seen in an fsync without a pause."""
        nodes = list(self.nodes.values())
        former = self.leader(nodes[0])
        leases = {id: self.granted_at_last(self.nodes[id], f"holder-{id}", f"r-{id}") for id in self.ids}
        steps = [Renewals(self, leases[id], [id, id]) for id in self.ids] + [self.turns_through(id) for id in self.ids]
        changes = Background(lambda: self.change_policy(self.nodes[changing_through]))
        with changes, steps[0], steps[1], steps[2], steps[3], steps[4], steps[5]:
            before = eventually("every disk stalls", lambda: [one.stalled() for one in stalls]
                                if all(one.stalled() for one in stalls) else None)
            begun = time.monotonic()
            counted = [len(one.done) for one in steps]
            eventually("much is done meanwhile", lambda: any(one.problem for one in steps) or
                       all(len(one.done) >= count + ENOUGH for one, count in zip(steps, counted)))
            self.assertTrue(all(one.stalled() & was for one, was in zip(stalls, before)), "it took longer than an fsync")
            took = time.monotonic() - begun
            # For as long as an fsync takes, which is longer than any lease lasts unrenewed, the leader's too.
            self.assertGreater(STALL, self.longest_ttl)
            wait_for_time(begun + STALL)
            made = [len(one.done) - count for one, count in zip(steps, counted)]
        print(f"  in the {STALL} s of one fsync: {made} renewals and grants by node, the first {ENOUGH} in {took:.1f} s")
        self.assertEqual(self.leader(nodes[0])["id"], former["id"])
        self.assertEqual(self.leader(nodes[0])["token"], former["token"], "the leader stays, in its term")

    def test_leases_go_on_and_the_leader_stays_while_its_disk_stalls(self):
        nodes = self.start_cluster()
        leader = self.leader(nodes[0])["id"]
        self.all_goes_on_in_the_stall([Stall(self, self.nodes[leader].pid)], leader)

    def test_leases_go_on_and_the_leader_stays_while_every_disk_stalls(self):
        nodes = self.start_cluster()
        leader = self.leader(nodes[0])["id"]
        self.all_goes_on_in_the_stall([Stall(self, node.pid) for node in nodes], leader)


if __name__ == "__main__":
    main()
