"""Drones whose clocks are hours off, run fast or slow, or are stepped while they run: nothing changes. The backends'
notes are on the kernel's own clocks, which none of this moves (backend.cpp)."""

import datetime
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from key_world import KeyTest, eventually

CLOCK = sys.argv.pop() if sys.argv[-1].endswith(".so") else None
KEYS = [f"room-{i}" for i in range(4)]


class ClockTest(KeyTest):
    def wrong_clock(self, rate=1.0, step_s=0):
        """An environment with such a clock, and a function that steps its wall clock."""
        path = os.path.join(self.home, f"step-{rate}")

        def step(seconds):
            with open(path, "r+b" if os.path.exists(path) else "w+b", buffering=0) as file:
                file.write(struct.pack("q", seconds))
        step(step_s)
        base = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - 3600 * 10**9
        return {"LD_PRELOAD": CLOCK, "KEYS_CLOCK_RATE": str(rate), "KEYS_CLOCK_BASE_NS": str(base),
                "KEYS_CLOCK_STEP": path}, step

    def two_drones(self, here, there):
        """Of which the first is as the test wants it."""
        self.serve()
        drones = [self.drone("a", "a", **here), self.drone("b", "b", **there)]
        for drone in drones:
            self.wait_for_drone(drone.id)
            if drone.environment:
                self.assert_wrong(drone)
        return drones

    def live_and_move(self, drones, meanwhile=lambda: None, clock="real_ns"):
        """Keys live on beyond their TTL on the drone, and when it is stopped they move as ever."""
        here, there = drones
        held = self.connect_all(KEYS, pool="a")
        for _ in range(2):
            meanwhile()
            self.wait_for_renewal(KEYS)
        self.assertEqual(self.connect_all(KEYS, pool="b").keys(), held.keys())
        for key in KEYS:
            self.assertEqual({s.token for s in self.stamps(key)}, {held[key]["token"]}, "still the same backend")
        here.send(signal.SIGSTOP)
        meanwhile()
        moved = self.connect_all(KEYS, pool="b", after={key: c["token"] for key, c in held.items()})
        here.send(signal.SIGCONT)
        back = {key: c["token"] for key, c in moved.items()}
        self.wait_for_drone("a", backends=0)
        there.kill()
        self.connect_all(KEYS, pool="a", after=back)
        for key in KEYS:
            self.assert_one_at_a_time(key, 3, clock)

    def assert_wrong(self, drone):
        """The drone has another time than we: so its log says."""
        line = eventually("the drone writes to its log", lambda: drone.log and drone.log[0])
        logged = datetime.datetime.fromisoformat(line.split("Z")[0] + "+00:00").timestamp()
        self.assertGreater(abs(logged - time.time()), 20, line)

    def test_drone_whose_clock_runs_fast(self):
        fast, _ = self.wrong_clock(rate=1.01)
        slow, _ = self.wrong_clock(rate=0.99)
        self.live_and_move(self.two_drones({"environment": fast}, {"environment": slow}))

    def test_drone_whose_clock_runs_slow(self):
        slow, _ = self.wrong_clock(rate=0.99)
        fast, _ = self.wrong_clock(rate=1.01)
        self.live_and_move(self.two_drones({"environment": slow}, {"environment": fast}))

    def test_drone_whose_wall_clock_is_hours_off_and_stepped_while_it_runs(self):
        wrong, step = self.wrong_clock(step_s=-7 * 3600)
        steps = iter([5 * 3600, -86400 * 400, 86400 * 400, 0])
        self.live_and_move(self.two_drones({"environment": wrong}, {}), meanwhile=lambda: step(next(steps, 0)))

    def test_backend_that_outlives_its_key_would_be_noticed(self):
        """So slow a clock is beyond what Holdfast promises anything for: this is what a failure looks like."""
        broken, _ = self.wrong_clock(rate=0.6)
        here, _ = self.two_drones({"environment": broken}, {})
        held = self.connect("room", "ignore", pool="a")
        here.send(signal.SIGSTOP)
        self.connect("room", "ignore", pool="b", after=held["token"])
        with self.assertRaises(AssertionError):
            self.assert_one_at_a_time("room", 2, "real_ns")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare") and os.path.exists("/proc/self/ns/time"),
                         "only root can make time namespaces")
    def test_drone_of_a_machine_that_was_started_at_another_time(self):
        """The clock that drones count by is hours off: CLOCK_BOOTTIME in a time namespace."""
        later = ["unshare", "--time", "--boottime", str(9 * 3600), "--monotonic", str(9 * 3600)]
        looked = subprocess.run([*later, "cat", "/proc/uptime"], capture_output=True, text=True)
        off = float(looked.stdout.split()[0]) - time.clock_gettime(time.CLOCK_BOOTTIME) if looked.stdout else 0
        if off < 8 * 3600:
            self.skipTest("this kernel does not move a program to another time namespace as it starts")
        self.live_and_move(self.two_drones({"prefix": later}, {}))


if __name__ == "__main__":
    unittest.main(verbosity=2)
