"""A soft stop leaves a program its time to save: under `run`, `elect`, `own` and `drone`, for every reason to stop, started
by a shell, in its place or below another supervisor. Each program is asked once; one that is asked twice drops its work,
as many do. All cases run at the same time, since they mostly wait."""

import os
import signal
import subprocess
import sys
import threading
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))

from processes import BINARY, HoldfastTest, Lines, clean_environment, eventually, free_port, start  # noqa: E402

# Works until SIGTERM, then saves. Writes down what happens to it.
PROGRAM = """
import os, signal, socket, sys, time
log = open(sys.argv[1], "a", buffering=1)
asked = 0
def on_term(*_):
    global asked
    asked += 1
    log.write("asked\\n")
    if asked > 1:
        log.write("dropped\\n")
        os._exit(1)
signal.signal(signal.SIGTERM, on_term)
listener = socket.create_server(("127.0.0.1", int(os.environ.get("PORT", "0"))))
log.write("works\\n")
while not asked:
    time.sleep(0.05)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    time.sleep(0.05)
log.write("saved\\n")
"""

SAVES_FOR = 4  # seconds
# At the soft deadline a shorter save will do, so that nobody waits for the deadline of a long lease. Either TTL leaves
# nearly 4 s for it.
SAVES_FOR_AT_DEADLINE = 2
LEASE_TTL = "24s"
OWN_TTL = "15s"


class SoftStopTest(HoldfastTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = cls.home + "/program.py"
        with open(cls.program, "w") as file:
            file.write(PROGRAM)
        cls.resp = free_port()
        cls.redis = start([BINARY, "serve", "--http", "127.0.0.1:0", "--resp", f"127.0.0.1:{cls.resp}", "--relay", "off",
                           "--state-dir", cls.home + "/resp"], env=clean_environment(cls.home), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        Lines(cls.redis.stdout).find("http://")

    @classmethod
    def tearDownClass(cls):
        cls.redis.kill()
        cls.redis.wait(60)
        super().tearDownClass()

    # A program, started by a shell or in its place

    def log(self, name):
        return f"{self.scratch}/{name}.log"

    def command(self, name, how):
        saves_for = SAVES_FOR_AT_DEADLINE if "soft-deadline" in name else SAVES_FOR
        line = f"{sys.executable} {self.program} {self.log(name)} {saves_for}"
        return f"exec {line}" if how == "exec" else f"{line}; exit $?"

    def lines(self, name):
        try:
            with open(self.log(name)) as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def works(self, name):
        eventually(lambda: "works" in self.lines(name), f"{name} works")

    def saved(self, name):
        """Waits until it is over, one way or the other."""
        eventually(lambda: {"saved", "dropped"} & set(self.lines(name)), f"{name} saves: {self.lines(name)}")
        return self.lines(name)

    # The supervisors

    def run_command(self, name, how):
        return self.start("run", name, "--ttl", LEASE_TTL, "--", "sh", "-c", self.command(name, how))

    def nested_command(self, name, how):
        return self.start("run", name, "--ttl", LEASE_TTL, "--", BINARY, "run", name + "-inner", "--", "sh", "-c",
                          self.command(name, how))

    def elect_command(self, name, how):
        return self.start("elect", name, "--ttl", LEASE_TTL, "--", "sh", "-c", self.command(name, how))

    def own_command(self, name, how):
        sessions = f"{self.scratch}/{name}.sessions"
        with open(sessions, "w") as file:
            file.write(str(uuid.uuid4()) + "\n")
        return self.start("own", "--sessions", sessions, "--redis", f"redis://127.0.0.1:{self.resp}", "--ttl", OWN_TTL,
                          "--restart-wait", "0s", "--grace", "1s", "--interval", "300s", "--", "sh", "-c",
                          self.command(name, how))

    def drone(self, name):
        drone = self.start("drone", "--id", name, "--pool", name, "--state-dir", f"{self.scratch}/{name}.drone")
        eventually(lambda: any(one["id"] == name for one in self.json("drone", "list")["drones"]), f"the drone {name}")
        return drone

    def backend(self, name, how, *options):
        """Starts a backend on a drone of its own; returns both."""
        drone = self.drone(name)
        connected = self.json("backend", "connect", name, "--pool", name, "--wait", "50s", *options, "--spawn",
                              self.command(name, how))
        return drone, connected["backend_id"]

    # The reasons to stop. Each returns what the program wrote, and ends what it started.

    def sigterm(self, begin):
        def stop(name, how):
            supervisor = begin(name, how)
            self.works(name)
            supervisor.terminate()
            lines = self.saved(name)
            self.ends(supervisor)
            return lines
        return stop

    def soft_deadline(self, begin):
        """A supervisor that is stopped cannot renew."""
        def stop(name, how):
            supervisor = begin(name, how)
            self.works(name)
            supervisor.send_signal(signal.SIGSTOP)
            lines = self.saved(name)
            supervisor.send_signal(signal.SIGCONT)
            return lines
        return stop

    def drone_terminates(self, name, how):
        _, backend = self.backend(name, how)
        self.works(name)
        self.ok("backend", "terminate", backend)
        return self.saved(name)

    def drone_finds_it_idle(self, name, how):
        self.backend(name, how, "--max-idle", "4s")
        return self.saved(name)

    def drone_ends_its_lifetime(self, name, how):
        self.backend(name, how, "--lifetime", "6s")
        return self.saved(name)

    def drone_is_drained(self, name, how):
        drone, _ = self.backend(name, how)
        self.works(name)
        self.ok("drone", "drain", name)
        drone.terminate()
        lines = self.saved(name)
        self.ends(drone)
        return lines

    def drone_with_backend(self, name, how):
        return self.backend(name, how)[0]

    def drone_with_short_key(self, name, how):
        return self.backend(name, how, "--ttl", LEASE_TTL)[0]

    def cases(self):
        stops = {"drone-terminate": self.drone_terminates,
                 "drone-idle": self.drone_finds_it_idle,
                 "drone-lifetime": self.drone_ends_its_lifetime,
                 "drone-drain": self.drone_is_drained,
                 "drone-sigterm": self.sigterm(self.drone_with_backend),
                 "drone-soft-deadline": self.soft_deadline(self.drone_with_short_key)}
        for name, begin in (("run", self.run_command), ("nested", self.nested_command), ("elect", self.elect_command),
                            ("own", self.own_command)):
            stops[f"{name}-sigterm"] = self.sigterm(begin)
            stops[f"{name}-soft-deadline"] = self.soft_deadline(begin)
        return [(f"{name}-{how}", stop, how) for name, stop in stops.items() for how in ("exec", "shell")]

    def test_every_program_is_asked_once_and_saves(self):
        results = {}

        def run(name, stop, how):
            try:
                results[name] = stop(name, how)
            except Exception as failure:  # noqa: BLE001 - shown with its case below
                results[name] = repr(failure)
        cases = self.cases()
        threads = [threading.Thread(target=run, args=case) for case in cases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 28)
        for name, _, _ in cases:
            with self.subTest(name):
                self.assertEqual(results[name], ["works", "asked", "saved"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
