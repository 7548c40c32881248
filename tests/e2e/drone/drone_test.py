"""`holdfast drone` with real backends, against a controller that does what each test wants. Whatever is said of time is
said by the order of events on CLOCK_BOOTTIME, which the backends write down themselves (/proc/uptime)."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "cli")]

from controller_stand_in import Controller  # noqa: E402
from processes import BINARY, PATIENCE, Lines, boot_time, clean_environment, eventually, lives, start  # noqa: E402

# Writes down again and again that it lives; $1 is the file. The read is the shell's own, so a line is one instant.
STAMP = 'while read up _ < /proc/uptime; do echo $up >> "$1"; sleep 0.02; done'
SHORT = 9.0  # seconds: asked to stop after 6, dead by 7.5, and 1.5 to spare for a slow machine


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rsplit(")", 1)[1].split()[1])


class DroneTestCase(unittest.TestCase):
    prefix = []  # what the drone is started by

    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="holdfast-drone-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.state = self.home + "/state"
        self.controller = Controller()
        self.addCleanup(self.controller.close)
        self.pids = []
        self.addCleanup(self.kill_all)
        self.drones = []
        self.addCleanup(self.end_drones)

    def end_drones(self):
        for drone in self.drones:
            if drone.poll() is None:
                drone.send_signal(signal.SIGCONT)
                drone.kill()
            drone.wait(PATIENCE)

    def kill_all(self):
        for pid in self.pids:
            if lives(pid):
                os.kill(pid, signal.SIGKILL)

    def drone(self, *options):
        command = [BINARY, "drone", "--controller", self.controller.url, "--state-dir", self.state, *options]
        process = start([*self.prefix, *command],
                        env=clean_environment(self.home), text=True, stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        process.err = Lines(process.stderr)
        self.drones.append(process)
        return process

    def path(self, name):
        return f"{self.home}/{name}"

    def lines(self, name):
        try:
            with open(self.path(name)) as file:
                return file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def wait_for_lines(self, name, count=1):
        return eventually(lambda: len(self.lines(name)) >= count and self.lines(name), f"{count} lines in {name}")

    def pid_in(self, name):
        pid = int(self.wait_for_lines(name)[0])
        self.pids.append(pid)
        return pid

    def last_stamp(self, name):
        return float(self.lines(name)[-1])

    def spawn_shell(self, backend, script, *args, **order):
        return self.controller.spawn(backend, "sh", "-c", script, "sh", *args, **order)

    def stamping(self, backend, before="", **order):
        """A backend that stamps, once it does; its key is not renewed unless the test says so."""
        end = self.spawn_shell(backend, f'{before}echo $$ > "$2"; {STAMP}', self.path(backend + ".stamps"),
                               self.path(backend + ".pid"), **order)
        pid = self.pid_in(backend + ".pid")
        self.wait_for_lines(backend + ".stamps", 3)
        return pid, end

    def finish(self, drone):
        drone.terminate()
        self.assertEqual(drone.wait(PATIENCE), 0)


class DroneTest(DroneTestCase):
    # What a backend gets

    def test_starts_a_backend_with_its_environment_and_reports_it(self):
        drone = self.drone("--id", "d1", "--address", "127.0.0.1", "--pool", "p", "--capacity", "7")
        self.spawn_shell("b-1", 'env > "$1.new"; pwd >> "$1.new"; mv "$1.new" "$1"; echo "said $2"; sleep 1000',
                         self.path("env"), "two words", env={"COLOUR": "red", "PORT": "1"}, cwd=self.home)
        report = self.controller.wait_for_state("b-1", "ready")
        environment = dict(line.split("=", 1) for line in self.wait_for_lines("env", 5)[:-1] if "=" in line)
        self.assertEqual(self.lines("env")[-1], self.home)
        self.assertEqual(environment["HOLDFAST_KEY"], "room-b-1")
        self.assertEqual(environment["HOLDFAST_KEY_NAMESPACE"], "default")
        self.assertEqual(environment["HOLDFAST_BACKEND_ID"], "b-1")
        self.assertEqual(environment["HOLDFAST_FENCING_TOKEN"], "17")
        self.assertEqual(environment["COLOUR"], "red")
        self.assertEqual(report["address"], "127.0.0.1:" + environment["PORT"])
        self.assertNotEqual(environment["PORT"], "1", "an order cannot pretend")
        self.assertEqual(environment["HOST"], "127.0.0.1")
        self.assertGreater(report["holds_for_ms"], 0)
        beat = self.controller.heartbeats[-1]
        self.assertEqual((beat["pool"], beat["capacity"], beat["draining"]), ("p", 7, False))
        eventually(lambda: self.lines("state/logs/b-1.log") == ["said two words"], "what it said is in its log")
        self.finish(drone)
        self.assertEqual([state for _, id, state in self.controller.history if id == "b-1"][-1], "terminated")

    def test_a_backend_is_ready_when_its_port_answers(self):
        drone = self.drone()
        self.spawn_shell("b-tcp", 'echo $$ > "$1"; until [ -e "$2" ]; do sleep 0.05; done; '
                                  'exec python3 -m http.server $PORT --bind 127.0.0.1', self.path("pid"),
                         self.path("go"), ready={"tcp": True})
        self.pid_in("pid")
        self.controller.wait_for_state("b-tcp", "waiting")
        open(self.path("go"), "w").close()
        report = self.controller.wait_for_state("b-tcp", "ready")
        host, port = report["address"].split(":")
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
        self.finish(drone)

    def test_a_backend_is_ready_when_its_path_answers_well(self):
        drone = self.drone()
        os.mkdir(self.path("www"))
        self.spawn_shell("b-http", 'exec python3 -m http.server $PORT --bind 127.0.0.1', cwd=self.path("www"),
                         ready={"http": "/healthy"})
        self.controller.wait_for_state("b-http", "waiting")
        eventually(lambda: any('"GET /healthy' in line and " 404 " in line
                               for line in self.lines("state/logs/b-http.log")), "it was asked, and said no")
        self.assertEqual(self.controller.state("b-http"), "waiting")
        open(self.path("www/healthy"), "w").close()
        self.controller.wait_for_state("b-http", "ready")
        self.finish(drone)

    def test_a_backend_is_probed_where_clients_are_sent(self):
        drone = self.drone("--address", "127.0.0.2")
        self.spawn_shell("b-there", 'exec python3 -m http.server $PORT --bind $HOST', ready={"tcp": True})
        self.spawn_shell("b-elsewhere", 'exec python3 -m http.server $PORT --bind 127.0.0.1', ready={"tcp": True},
                         start_timeout_s=3)
        self.assertTrue(self.controller.wait_for_state("b-there", "ready")["address"].startswith("127.0.0.2:"))
        self.assertEqual(self.controller.wait_for_state("b-elsewhere", "terminated")["reason"], "start_timed_out")
        self.finish(drone)

    def test_a_drone_without_an_address_refuses_controllers_elsewhere(self):
        refused = subprocess.run([BINARY, "drone", "--controller", "http://192.0.2.1:7400", "--state-dir", self.state],
                                 env=clean_environment(self.home), text=True, capture_output=True, timeout=60)
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("--address", refused.stderr)

    def test_what_cannot_be_run_has_ended_with_a_reason(self):
        drone = self.drone()
        self.controller.spawn("b-none", self.path("no-such-command"))
        report = self.controller.wait_for_state("b-none", "terminated")
        self.assertEqual(report["reason"], "internal")
        self.assertIn("no-such-command", report["message"])
        self.controller.spawn("b-nowhere", "true", cwd=self.path("no-such-directory"))
        self.assertIn("no-such-directory", self.controller.wait_for_state("b-nowhere", "terminated")["message"])
        self.finish(drone)

    def test_a_backend_that_ends_by_itself_is_reported_with_its_code(self):
        drone = self.drone()
        self.spawn_shell("b-1", "exit 3")
        report = self.controller.wait_for_state("b-1", "terminated")
        self.assertEqual((report["reason"], report["exit_code"], report["holds_for_ms"]), ("exited", 3, None))
        self.finish(drone)

    def test_an_order_that_comes_again_starts_nothing(self):
        self.controller.acknowledge = False
        drone = self.drone()
        self.spawn_shell("b-1", 'echo started >> "$1"; exit 0', self.path("starts"))
        self.controller.wait_for_state("b-1", "terminated")
        self.controller.wait_for("the order came many times", lambda: self.controller.ignored_done > 20)
        self.assertEqual(self.lines("starts"), ["started"])
        self.controller.acknowledge = True
        self.finish(drone)

    # How it stops

    def test_a_soft_order_asks_and_a_hard_one_kills(self):
        drone = self.drone()
        self.spawn_shell("b-soft", 'trap "echo asked > $1; exit 5" TERM; echo $$ > "$2"; while :; do sleep 0.05; done',
                         self.path("asked"), self.path("soft.pid"))
        self.pid_in("soft.pid")
        self.controller.wait_for_state("b-soft", "ready")
        self.controller.terminate("b-soft", "soft")
        report = self.controller.wait_for_state("b-soft", "terminated")
        self.assertEqual((report["reason"], report["exit_code"]), ("terminated", 5))
        self.assertEqual(self.lines("asked"), ["asked"])
        pid, _ = self.stamping("b-hard", before="trap '' TERM; ")
        self.controller.terminate("b-hard", "hard")
        report = self.controller.wait_for_state("b-hard", "terminated")
        self.assertEqual((report["reason"], report["exit_code"]), ("terminated", 137))
        self.assertFalse(lives(pid))
        self.finish(drone)

    def test_one_that_ignores_being_asked_is_killed_before_its_key_runs_out(self):
        drone = self.drone()
        self.controller.renewal = "silence"
        pid, end = self.stamping("b-1", before="trap '' TERM; ", ttl=SHORT)
        report = self.controller.wait_for_state("b-1", "terminated")
        self.assertEqual(report["reason"], "key_lost")
        self.assertFalse(lives(pid))
        self.assertLess(self.last_stamp("b-1.stamps"), end)
        self.assertGreater(self.last_stamp("b-1.stamps"), self.controller.deadlines["b-1"]["soft"], "and not before")
        self.finish(drone)

    def test_a_key_that_is_lost_stops_its_backend(self):
        drone = self.drone()
        self.controller.renewal = "lease_expired"
        pid, _ = self.stamping("b-1", ttl=SHORT)
        report = self.controller.wait_for_state("b-1", "terminated")
        self.assertEqual(report["reason"], "key_lost")
        self.assertFalse(lives(pid))
        self.finish(drone)

    def test_a_key_that_is_renewed_keeps_its_backend(self):
        drone = self.drone()
        pid, end = self.stamping("b-1", ttl=SHORT)
        eventually(lambda: self.last_stamp("b-1.stamps") > end + SHORT, "it lives on, past two TTLs")
        self.assertTrue(lives(pid))
        self.assertGreaterEqual(len(self.controller.renewed), 2)
        self.finish(drone)

    def test_a_key_that_the_server_forgot_is_asserted_again(self):
        drone = self.drone()
        self.controller.renewal = "unknown_lease"
        self.controller.reassert = ["b-1"]
        pid, end = self.stamping("b-1", ttl=2 * SHORT)
        eventually(lambda: self.last_stamp("b-1.stamps") > end, "it lives on")
        self.assertEqual(self.controller.reassertions[0], {"controller": "c1"})
        self.assertTrue(lives(pid))
        self.finish(drone)

    def test_a_backend_whose_time_is_up_ends(self):
        drone = self.drone()
        self.controller.spawn("b-1", "sleep", "1000", lifetime_s=1)
        self.assertEqual(self.controller.wait_for_state("b-1", "terminated")["reason"], "lifetime")
        self.controller.spawn("b-2", "sleep", "1000", ready={"tcp": True}, start_timeout_s=1)
        self.assertEqual(self.controller.wait_for_state("b-2", "terminated")["reason"], "start_timed_out")
        self.finish(drone)

    def test_a_backend_that_nobody_is_connected_to_ends(self):
        drone = self.drone()
        self.spawn_shell("b-1", 'exec python3 -m http.server $PORT --bind 127.0.0.1', ready={"tcp": True}, max_idle_s=3)
        host, port = self.controller.wait_for_state("b-1", "ready")["address"].split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE):
            connected_until = boot_time() + 6
            eventually(lambda: boot_time() > connected_until, "time passes")
            self.assertEqual(self.controller.state("b-1"), "ready", "somebody is connected")
        self.assertEqual(self.controller.wait_for_state("b-1", "terminated")["reason"], "idle")
        self.finish(drone)

    # When the drone cannot

    def test_a_drone_that_is_stopped_lets_no_backend_outlive_its_key(self):
        drone = self.drone()
        pid, end = self.stamping("b-1", before="trap '' TERM; ", ttl=SHORT)
        drone.send_signal(signal.SIGSTOP)
        renewed = [at for at, _ in self.controller.renewed]
        eventually(lambda: not lives(pid), "it dies")
        self.assertLess(self.last_stamp("b-1.stamps"), max([end] + [at + SHORT for at in renewed]))
        drone.send_signal(signal.SIGCONT)
        self.assertEqual(self.controller.wait_for_state("b-1", "terminated")["reason"], "key_lost")
        self.finish(drone)

    def test_a_drone_that_is_killed_lets_no_backend_outlive_its_key(self):
        drone = self.drone()
        pid, end = self.stamping("b-1", before="trap '' TERM; ", ttl=SHORT)
        drone.kill()
        drone.wait(PATIENCE)
        renewed = [at for at, _ in self.controller.renewed]
        eventually(lambda: not lives(pid), "it dies")
        self.assertLess(self.last_stamp("b-1.stamps"), max([end] + [at + SHORT for at in renewed]))

    def test_a_stranger_who_has_the_number_of_an_old_guardian_is_left_alone(self):
        stranger = start(["sleep", "1000"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
        os.makedirs(self.state + "/backends")
        with open(self.state + "/backends/b-old", "w") as record:
            record.write(f"backend b-old\nboot {boot}\nguardian {stranger.pid} 1\ngroup {stranger.pid}\n")
        drone = self.drone()
        self.controller.wait_for("it registers", lambda: self.controller.lives)
        self.assertTrue(lives(stranger.pid))
        self.assertEqual(os.listdir(self.state + "/backends"), [])
        self.finish(drone)

    # How it ends

    def test_ends_cleanly_when_told_to(self):
        drone = self.drone()
        self.spawn_shell("b-1", 'trap "exit 0" TERM; echo $$ > "$1"; while :; do sleep 0.05; done', self.path("pid"))
        pid = self.pid_in("pid")
        self.controller.wait_for_state("b-1", "ready")
        self.finish(drone)
        self.assertFalse(lives(pid))
        self.assertEqual(self.controller.reports["b-1"]["state"], "terminated")
        self.assertEqual(self.controller.reports["b-1"]["reason"], "terminated")
        self.assertTrue(self.controller.heartbeats[-1]["draining"])
        self.assertEqual(os.listdir(self.state + "/backends"), [])

    def test_a_second_signal_kills(self):
        drone = self.drone()
        pid, _ = self.stamping("b-1", before="trap '' TERM; ")
        self.controller.wait_for_state("b-1", "ready")
        drone.terminate()
        self.controller.wait_for_state("b-1", "terminating")
        self.assertTrue(lives(pid), "it may take its time")
        drone.send_signal(signal.SIGINT)
        self.assertEqual(drone.wait(PATIENCE), 0)
        self.assertFalse(lives(pid))

    def test_two_drones_cannot_share_a_state_directory(self):
        drone = self.drone()
        self.controller.wait_for("it registers", lambda: self.controller.lives)
        second = self.drone()
        self.assertEqual(second.wait(PATIENCE), 1)
        second.err.find(f"in use by process {drone.pid}")
        self.finish(drone)

    def test_keeps_its_name_in_its_state_directory(self):
        drone = self.drone()
        name = drone.err.find(r"drone (\S+) in pool default").group(1)
        self.finish(drone)
        again = self.drone()
        self.assertEqual(again.err.find(r"drone (\S+) in pool default").group(1), name)
        self.finish(again)

    # What it keeps

    def test_the_log_of_a_chatty_backend_stays_within_its_bounds(self):
        drone = self.drone()
        self.spawn_shell("b-1", "i=0; while [ $i -lt 24 ]; do head -c 500000 /dev/zero | tr '\\0' x; i=$((i+1)); done; "
                                "echo; echo the end")
        self.controller.wait_for_state("b-1", "terminated")
        eventually(lambda: self.lines("state/logs/b-1.log")[-1:] == ["the end"], "all was written")
        sizes = {name: os.path.getsize(f"{self.state}/logs/{name}") for name in os.listdir(self.state + "/logs")}
        self.assertEqual(set(sizes), {"b-1.log", "b-1.log.1"})
        self.assertLessEqual(max(sizes.values()), 4 << 20)
        self.finish(drone)

    # The other commands

    def test_drones_are_listed_and_drained(self):
        def run(*arguments):
            return subprocess.run([BINARY, "drone", *arguments, "--server", self.controller.url], text=True,
                                  env=clean_environment(self.home), capture_output=True, timeout=PATIENCE)
        listed = run("list")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertRegex(listed.stdout, r"d1 +p +healthy +2 +9 +10\.0\.0\.7")
        self.assertEqual(run("drain", "d1").returncode, 0)
        self.assertEqual(run("drain", "d1", "--undo").returncode, 0)
        self.assertEqual(self.controller.drains, [("/v1/drones/d1/drain", {"draining": True}),
                                                  ("/v1/drones/d1/drain", {"draining": False})])


class WhatIsLeftTest(DroneTestCase):
    """All that a backend ever started is found, wherever it went."""

    def test_what_forks_and_detaches_is_dead_before_the_key_is_given_back(self):
        drone = self.drone()
        # The subshell ends at once, so what it started has neither its parent, nor its group, nor its session.
        self.spawn_shell("b-1", f"""(setsid sh -c 'trap "" TERM; echo $$ > "$2"; {STAMP}' sh "$1" "$2" &)
            until [ -s "$2" ]; do sleep 0.05; done; exit 0""", self.path("stamps"), self.path("pid"))
        pid = self.pid_in("pid")
        ended = self.controller.end_of("b-1")
        self.assertFalse(lives(pid))
        self.assertLess(self.last_stamp("stamps"), ended)
        self.assertEqual(self.controller.wait_for_state("b-1", "terminated")["reason"], "exited")
        self.finish(drone)

    def test_a_backend_whose_guardian_is_killed_ends_with_all_it_started_and_the_others_go_on(self):
        drone = self.drone()
        other, _ = self.stamping("b-2")
        self.spawn_shell("b-1", f"""setsid sh -c 'trap "" TERM; echo $$ > "$2"; {STAMP}' sh "$1" "$2" &
            echo $$ > "$3"; sleep 1000""", self.path("stamps"), self.path("detached.pid"), self.path("leader.pid"))
        detached, leader = self.pid_in("detached.pid"), self.pid_in("leader.pid")
        self.controller.wait_for_state("b-1", "ready")
        os.kill(parent_of(leader), signal.SIGKILL)
        ended = self.controller.end_of("b-1")
        self.assertFalse(lives(leader))
        self.assertFalse(lives(detached))
        self.assertLess(self.last_stamp("stamps"), ended)
        self.assertTrue(lives(other))
        self.finish(drone)

    def test_a_drone_that_starts_kills_what_its_earlier_life_left(self):
        drone = self.drone("--id", "d1")
        self.spawn_shell("b-1", f"""setsid sh -c 'trap "" TERM; echo $$ > "$2"; {STAMP}' sh "$1" "$2" &
            echo $$ > "$3"; sleep 1000""", self.path("stamps"), self.path("detached.pid"), self.path("leader.pid"))
        detached, leader = self.pid_in("detached.pid"), self.pid_in("leader.pid")
        self.wait_for_lines("stamps", 3)
        guardian = parent_of(leader)
        self.pids.append(guardian)
        os.kill(guardian, signal.SIGSTOP)  # it cannot clean up either
        drone.kill()
        drone.wait(PATIENCE)
        self.assertTrue(lives(detached))
        again = self.drone("--id", "d1")
        self.controller.wait_for("the next life registers", lambda: len(self.controller.lives) == 2)
        registered = self.controller.lives[1][0]
        for pid in (guardian, detached, leader):
            self.assertFalse(lives(pid))
        self.assertLess(self.last_stamp("stamps"), registered, "dead before it says that it is there")
        again.err.find("1 backend.s. of an earlier run were killed")
        self.finish(again)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "only root can take the control groups away")
class WhatIsLeftWithoutCgroupsTest(WhatIsLeftTest):
    prefix = ["unshare", "--mount", "sh", "-c",
              "while m=$(grep -m1 ' cgroup2 ' /proc/mounts); do umount -l \"$(echo \"$m\" | cut -d' ' -f2)\"; done; "
              'exec "$@"', "sh"]

    def drone(self, *options):
        drone = super().drone(*options)
        drone.err.find("cgroup v2 cannot be written here")
        return drone


if __name__ == "__main__":
    unittest.main()
