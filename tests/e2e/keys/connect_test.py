"""Connecting to keys: one backend per key, whoever asks and however many at once."""

import collections
import os
import socket
import subprocess
import threading
import unittest

from key_world import BIN, LONG_TTL_MS, PATIENCE, Connection, KeyTest, clean_environment, eventually, quoted


class ConnectTest(KeyTest):
    def test_same_key_gives_the_same_backend_and_another_tag_is_refused(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room-1", tag="v1")
        self.assertTrue(first["spawned"])
        again = self.connect("room-1", tag="v1")
        self.assertFalse(again["spawned"])
        for field in ("backend_id", "token", "address", "drone"):
            self.assertEqual(again[field], first[field])
        status, refused = self.try_connect("room-1", tag="v2")
        self.assertEqual((status, refused["error"]["code"]), (409, "key_tag_mismatch"))
        other = self.connect("room-2")
        self.assertNotEqual(other["backend_id"], first["backend_id"])
        self.assertEqual(len({s.pid for s in self.stamps("room-1")}), 1)

    def test_address_leads_to_the_backend_of_the_token(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        connected = self.connect("room")
        host, port = connected["address"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), PATIENCE) as connection:
            self.assertEqual(int(connection.makefile().readline()), connected["token"])

    def test_token_stays_over_renewals_and_rises_with_every_backend(self):
        self.serve_with_drones("default")
        first = self.connect("room")
        left = [self.held("room")["expires_in_ms"]]

        def renewed():
            left.append(self.held("room")["expires_in_ms"])
            return sum(b > a for a, b in zip(left, left[1:])) >= 3
        eventually("three renewals", renewed)
        self.assertEqual(self.held("room")["token"], first["token"])
        self.assertEqual({s.token for s in self.stamps("room")}, {first["token"]})
        for _ in range(2):
            self.assertEqual(self.server.ask("POST", f"/v1/backends/{first['backend_id']}/terminate", {})[0], 200)
            self.wait_for_end(first["backend_id"], "terminated")
            first = self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 3)

    def test_backend_that_exits_gives_its_key_back_and_the_next_connect_starts_another(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room")
        os.kill(self.wait_for_stamp("room", "alive").pid, 9)
        self.wait_for_end(first["backend_id"], "exited")
        self.assertIsNone(self.held("room"))
        second = self.connect("room", after=first["token"])
        self.assertTrue(second["spawned"])
        self.assert_one_at_a_time("room", 2)

    def test_no_drone_and_nothing_to_start_are_told_apart(self):
        self.serve()
        status, answer = self.try_connect("room")
        self.assertEqual((status, answer["error"]["code"]), (503, "no_drone"))
        status, answer = self.server.ask("POST", "/v1/connect", {"key": {"name": "room"}})
        self.assertEqual((status, answer["error"]["code"]), (409, "nothing_to_start"))


class CommandTest(KeyTest):
    def test_connect_whose_backend_was_not_ready_in_time_says_so_and_starts_no_other(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        for key in ("room", None):
            connect = subprocess.run(
                [BIN, "backend", "connect", *([key] if key else []), "--server", self.url, "--start-timeout", "1s",
                 "--wait", "60s", "--spawn", "exec sleep 1000", "--json"],
                env=clean_environment(), capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(connect.returncode, 1, connect)
            self.assertIn("start_timed_out", connect.stderr + connect.stdout)
        backends = self.server.ask("GET", "/v1/backends")[1]["backends"]
        self.assertEqual([backend["reason"] for backend in backends], ["start_timed_out"] * 2)


class EndTest(KeyTest):
    def barred(self, key):
        status, answer = self.server.ask("POST", f"/v1/keys/{key}/bar", {})
        self.assertEqual(status, 200, answer)
        self.assertFalse(answer["renewable"])

    def test_barred_key_runs_out_soft_first_and_the_backend_may_finish(self):
        self.serve_with_drones("default")
        first = self.connect("room")
        self.barred("room")
        backend = self.wait_for_end(first["backend_id"])
        self.assertEqual((backend["reason"], backend["exit_code"]), ("key_lost", 0))
        stamps = self.stamps("room")
        self.assertEqual(stamps[-1].what, "term", "it was asked, and ended by itself")
        self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 2)

    def test_backend_that_ignores_the_soft_end_is_killed_before_its_key_can_move(self):
        self.serve_with_drones("default")
        first = self.connect("room", "ignore")
        self.barred("room")
        self.wait_for_end(first["backend_id"], "key_lost")
        stamps = self.stamps("room")
        asked = [i for i, s in enumerate(stamps) if s.what == "term"]
        self.assertEqual(len(asked), 1, "it was asked")
        self.assertGreater(len(stamps) - asked[0], 5, "and went on, until it was killed")
        self.connect("room", "ignore", after=first["token"])
        self.assert_one_at_a_time("room", 2)

    def test_revoked_key_stays_taken_until_its_backend_is_dead(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room", "ignore")
        lease = "/v1/leases/" + quoted(f"KEY:room#{first['token']}")
        status, answer = self.server.ask("DELETE", lease + "?holder=default")
        self.assertEqual((status, answer["error"]["code"]), (403, "service_lease"))
        status, answer = self.server.ask("POST", lease + "/revoke", {})
        self.assertEqual((status, answer["lease"]["renewable"]), (200, False))
        self.wait_for_stamp("room", "term")
        self.assertEqual(self.try_connect("room", wait_s=0)[1]["token"], first["token"], "it goes on, and has the key")
        self.server.ask("POST", f"/v1/backends/{first['backend_id']}/terminate", {"how": "hard"})
        self.wait_for_end(first["backend_id"], "terminated")
        self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 2)

    def test_child_that_detached_dies_with_its_backend(self):
        self.serve_with_drones("default")
        first = self.connect("room", "detach", "ignore")
        eventually("both write", lambda: len({s.pid for s in self.stamps("room")}) == 2)
        self.barred("room")
        self.wait_for_end(first["backend_id"], "key_lost")
        self.assertEqual([p for p in {s.pid for s in self.stamps("room")} if self.is_backend(p)], [])
        self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 2)

    def test_hard_end_kills_at_once(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room", "ignore", "detach")
        self.server.ask("POST", f"/v1/backends/{first['backend_id']}/terminate", {"how": "hard"})
        self.wait_for_end(first["backend_id"], "terminated")
        self.assertFalse(any(self.is_backend(s.pid) for s in self.stamps("room")))
        self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 2)

    def test_draining_drone_keeps_what_it_runs_and_gets_nothing_new(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room-1")
        self.assertEqual(self.server.ask("POST", "/v1/drones/default/drain", {})[0], 200)
        status, answer = self.try_connect("room-2")
        self.assertEqual((status, answer["error"]["code"]), (503, "no_drone"))
        self.drone("second")
        self.wait_for_drone("second")
        self.assertEqual(self.connect("room-2")["drone"], "second")
        self.assertEqual(self.connect("room-1")["backend_id"], first["backend_id"])
        self.server.ask("POST", f"/v1/backends/{first['backend_id']}/terminate", {})
        self.wait_for_end(first["backend_id"])
        self.assertEqual(self.connect("room-1", after=first["token"])["drone"], "second", "the key moves")
        self.assert_one_at_a_time("room-1", 2)


class CrashTest(KeyTest):
    def test_backends_of_a_drone_that_crashed_are_asked_to_stop_and_nobody_is_sent_to_them(self):
        drone, = self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        first = self.connect("room", "ignore")
        drone.kill()

        def put_off():
            status, answer = self.try_connect("room", wait_s=0)
            return status == 503 and answer["error"]["code"] == "no_drone"
        eventually("connects are put off", put_off)
        self.wait_for_stamp("room", "term")
        eventually("it is killed", lambda: not any(self.is_backend(s.pid) for s in self.stamps("room")))
        self.assertTrue(put_off(), "the key has not run out")
        drone.begin()
        self.connect("room", after=first["token"])
        self.assert_one_at_a_time("room", 2)


class CrowdTest(KeyTest):
    """A thousand requests for one new key, a hundred at every moment."""

    def test_thousand_simultaneous_connects_start_one_backend_and_all_get_it(self):
        self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        gate = threading.Barrier(100)
        answers, lock = [], threading.Lock()

        def ask_ten_times():
            connection = Connection(self.server.port)
            gate.wait(PATIENCE)
            for _ in range(10):
                answer = connection.ask("POST", "/v1/connect", self.body("room", wait_s=60))
                with lock:
                    answers.append(answer)
            connection.close()
        threads = [threading.Thread(target=ask_ten_times) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 1000)
        self.assertLessEqual({status for status, _ in answers}, {200, 201}, answers)
        backends = {a["backend_id"] for _, a in answers}
        self.assert_one_backend("room", backends)
        self.assertEqual(len({(a["backend_id"], a["token"], a["address"]) for _, a in answers}), len(backends))
        spawned = collections.Counter(a["backend_id"] for status, a in answers if a["spawned"] and status == 201)
        self.assertEqual(spawned, dict.fromkeys(backends, 1), "one request started each")
        self.assertEqual(sum(a["spawned"] for _, a in answers), len(backends))
        self.assertEqual({s.backend for s in self.stamps("room")}, backends, "no other was ever started")

    def test_connects_that_race_for_a_key_that_just_ran_out_start_one_backend(self):
        drone, _ = self.serve_with_drones("default", "other")
        first = self.connect("room")
        drone.kill()
        ids = []

        def insist():
            ids.append(self.connect("room", pool="other", after=first["token"])["backend_id"])
        threads = [threading.Thread(target=insist) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(ids), 20)
        self.assert_one_backend("room", ids)
        self.assert_one_at_a_time("room", 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
