"""A drone that is stopped, killed or cut off: its backends are dead before the keys can be served elsewhere. Each round
moves a dozen keys from one drone to the other, and the backends' own notes are the proof."""

import os
import re
import shutil
import signal
import subprocess
import sys
import unittest

from key_world import PATIENCE, Connection, Drone, KeyTest

KEYS = [f"room-{i}" for i in range(12)]
ROUNDS = 3
ROUNDS_OF_CABLES = 2  # after which a connection takes a while to come back


class HandoverTest(KeyTest):
    def hand_over(self, drones, lose, give_back, rounds=ROUNDS):
        """Round after round: all keys are on the first drone, which is lost, and move to the second."""
        here, there = drones
        held = self.connect_all(KEYS, pool=here.pool)
        for _ in range(rounds):
            self.assertEqual({c["drone"] for c in held.values()}, {here.id})
            lose(here)
            tokens = {key: c["token"] for key, c in held.items()}
            held = self.connect_all(KEYS, pool=there.pool, after=tokens)
            give_back(here)
            self.wait_for_drone(here.id, backends=0)
            here, there = there, here
        for key in KEYS:
            self.assert_one_at_a_time(key, rounds + 1)

    def test_backends_of_a_stopped_drone_are_dead_before_others_start(self):
        drones = self.serve_with_drones("a", "b")
        self.hand_over(drones, lose=lambda d: d.send(signal.SIGSTOP), give_back=lambda d: d.send(signal.SIGCONT))

    def test_backends_of_a_killed_drone_are_dead_before_others_start(self):
        drones = self.serve_with_drones("a", "b")
        self.hand_over(drones, lose=Drone.kill, give_back=Drone.begin)


def run(*command):
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "only root can make network namespaces")
class NetworkTest(HandoverTest):
    """Each drone in a network namespace of its own, behind a cable that can be pulled."""

    def network(self, name, number):
        """A namespace and a cable to it; the drone's end is 10.231.NUMBER.2."""
        space, cable = f"hf-{os.getpid()}-{name}", f"hf{os.getpid() % 100000}{name}"
        run("ip", "netns", "add", space)
        self.addCleanup(subprocess.run, ["ip", "netns", "delete", space], capture_output=True)
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", "uplink", "netns", space)
        self.addCleanup(subprocess.run, ["ip", "link", "delete", cable], capture_output=True)
        run("ip", "address", "add", f"10.231.{number}.1/30", "dev", cable)
        run("ip", "link", "set", cable, "up")
        inside = ["ip", "netns", "exec", space]
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "address", "add", f"10.231.{number}.2/30", "dev", "uplink")
        run(*inside, "ip", "link", "set", "uplink", "up")
        run(*inside, "ip", "route", "add", "default", "via", f"10.231.{number}.1")
        return inside, cable

    def test_backends_of_a_drone_that_is_cut_off_are_dead_before_others_start(self):
        self.serve_everywhere()
        drones, cables = [], {}
        for number, name in enumerate(("a", "b"), 1):
            inside, cables[name] = self.network(name, number)
            drones.append(self.drone(name, name, controllers=f"http://10.231.{number}.1:{self.server.port}",
                                     prefix=inside, options=["--address", f"10.231.{number}.2"]))
            self.wait_for_drone(name)
        self.hand_over(drones, lose=lambda d: run("ip", "link", "set", cables[d.id], "down"),
                       give_back=lambda d: run("ip", "link", "set", cables[d.id], "up"), rounds=ROUNDS_OF_CABLES)

    def serve_everywhere(self):
        """As serve(), and also on the cables."""
        self.serve().stop()
        self.server = self.launch(arguments=["--insecure", "--allow-spawn"], address="0.0.0.0:0")
        line = self.server.started.get(timeout=PATIENCE)
        self.server.port = int(re.search(r"http://0\.0\.0\.0:(\d+)", line)[1])
        self.server.connection = Connection(self.server.port)

    # What the base tests is tested there.
    test_backends_of_a_stopped_drone_are_dead_before_others_start = None
    test_backends_of_a_killed_drone_are_dead_before_others_start = None


if __name__ == "__main__":
    # Everything in a network of its own, so that no address of the machine can be in the way.
    if "HOLDFAST_KEYS_INSIDE" not in os.environ and os.geteuid() == 0 and shutil.which("unshare"):
        inside = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, "-B",
                  *sys.argv]
        sys.exit(subprocess.run(inside, env={**os.environ, "HOLDFAST_KEYS_INSIDE": "1"}).returncode)
    unittest.main(verbosity=2)
