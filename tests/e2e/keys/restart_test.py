"""Restarts: of a drone with what it left behind, and of the controller, cleanly and not; and a cluster that loses a
node."""

import os
import signal
import sys
import unittest

from key_world import LONG_TTL_MS, KeyTest, KeyWorld, eventually

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "server"))

from cluster_harness import ClusterTest  # noqa: E402

KEYS = [f"room-{i}" for i in range(5)]
TTL_MS = 18_000  # what was due just as the server went can still be renewed for 3 s


class DroneRestartTest(KeyTest):
    def test_drone_that_starts_again_kills_what_it_left_and_the_keys_are_free_at_once(self):
        self.serve(ttl_ms=LONG_TTL_MS)
        drone = self.drone("d")
        self.wait_for_drone("d")
        held = self.connect_all(KEYS)
        drone.kill()
        drone.begin()
        again = self.connect_all(KEYS, after={key: c["token"] for key, c in held.items()})
        for key in KEYS:
            self.wait_for_end(held[key]["backend_id"], "drone_lost")
            self.assertTrue(again[key]["spawned"])
            self.assert_one_at_a_time(key, 2)

    def test_drone_that_is_told_to_stop_ends_its_backends_and_gives_the_keys_back(self):
        self.serve(ttl_ms=LONG_TTL_MS)
        drone = self.drone("d")
        self.wait_for_drone("d")
        held = self.connect_all(KEYS)
        drone.stop()
        self.assertEqual([key for key in KEYS if self.held(key)], [])
        for key in KEYS:
            self.assertEqual(self.stamps(key)[-1].what, "term")
            self.assertFalse(self.is_backend(self.stamps(key)[-1].pid))
        drone.begin()
        for key, c in self.connect_all(KEYS, after={key: c["token"] for key, c in held.items()}).items():
            self.assertTrue(c["spawned"])
            self.assert_one_at_a_time(key, 2)

    def test_second_drone_with_the_same_id_waits_and_ends_nothing_of_the_first(self):
        self.serve(ttl_ms=LONG_TTL_MS)
        first = self.drone("d")
        life = self.wait_for_drone("d")["life"]
        held = self.connect_all(KEYS)
        second = self.drone("d", state="another")
        eventually("the second says why it waits",
                   lambda: any("another drone has the id d" in line for line in second.log))
        again = self.connect_all([*KEYS, "room-new"])
        self.assertEqual({key: again[key]["backend_id"] for key in KEYS}, {k: c["backend_id"] for k, c in held.items()})
        self.assertEqual(self.wait_for_drone("d")["life"], life)
        first.kill()
        first.begin()  # which knows that its earlier life is over
        self.connect_all(KEYS, after={key: c["token"] for key, c in held.items()})
        for key in KEYS:
            self.assert_one_at_a_time(key, 2)
        self.assertIsNone(second.process.poll(), "it waits")
        self.assertEqual([line for line in second.log if "registered with" in line], [])


class ControllerRestartTest(KeyTest):
    def serve_with_drones(self, *pools, ttl_ms=TTL_MS):
        return super().serve_with_drones(*pools, ttl_ms=ttl_ms)

    def start_again(self):
        self.server = self.start(address=f"127.0.0.1:{self.server.port}")
        return self.server

    def assert_same(self, held):
        """Every key has its backend, its token, and is renewed beyond what the old server granted."""
        for key, before in held.items():
            now = self.connect(key)
            self.assertEqual({f: now[f] for f in ("backend_id", "token", "address")},
                             {f: before[f] for f in ("backend_id", "token", "address")})
            self.assertFalse(now["spawned"])
            self.assertEqual(len({s.pid for s in self.stamps(key)}), 1, "no second backend")

    def test_clean_restart_loses_no_backend_and_no_token(self):
        self.serve_with_drones("default")
        held = self.connect_all(KEYS)
        self.server.stop()
        self.start_again()
        self.wait_for_drone("default")
        self.assert_same(held)
        self.wait_for_renewal(KEYS)
        self.assert_same(held)

    def test_states_only_move_forward_over_a_restart(self):
        drone, = self.serve_with_drones("default", ttl_ms=LONG_TTL_MS)
        held = self.connect("room")
        before = self.backend(held["backend_id"])
        drone.send(signal.SIGSTOP)  # so that the server is asked before the drone has spoken
        self.server.stop()
        self.start_again()
        status, answer = self.try_connect("room")
        self.assertEqual((status, answer["error"]["code"]), (503, "no_drone"), "not `scheduled`")
        status, answer = self.server.ask("GET", "/v1/backends/" + held["backend_id"])
        self.assertEqual((status, answer["error"]["code"]), (503, "recovering"), "not unknown")
        self.assertEqual(self.server.ask("GET", "/v1/backends/none")[0], 404)
        drone.send(signal.SIGCONT)

        def told():
            status, answer = self.try_connect("room", wait_s=0)
            return status == 503 or answer
        eventually("its drone tells of it", lambda: told() is not True)
        after = self.connect("room", wait_s=0)
        self.assertEqual({f: after[f] for f in ("backend_id", "status", "address")},
                         {"backend_id": held["backend_id"], "status": "ready", "address": held["address"]})
        self.assertGreater(self.backend(held["backend_id"])["state_for_ms"], before["state_for_ms"])

    def test_drones_re_assert_their_keys_after_an_unclean_restart(self):
        self.serve_with_drones("default")
        held = self.connect_all(KEYS)
        self.server.kill()
        self.start_again()
        eventually("the keys are re-asserted", lambda: all(self.held(key) for key in KEYS))
        self.assert_same(held)
        eventually("the server grants again", lambda: self.server.health()["status"] == "ok")
        self.wait_for_renewal(KEYS)
        self.assert_same(held)
        other = self.connect("room-new")
        self.assertGreater(other["token"], max(c["token"] for c in held.values()))

    def test_key_that_was_barred_is_not_re_asserted(self):
        drone, = self.serve_with_drones("default")
        held = self.connect("room", "ignore")
        self.assertEqual(self.server.ask("POST", "/v1/keys/room/bar", {})[0], 200)
        eventually("the drone hears of the bar", lambda: any("runs out" in line for line in drone.log))
        self.server.kill()
        self.start_again()

        def asked_to_stop():
            self.assertIsNone(self.held("room"), "the bar would be lost")
            return any(s.what == "term" for s in self.stamps("room"))
        eventually("it is asked to stop", asked_to_stop)
        self.wait_for_drone("default", backends=0)
        self.wait_for_end(held["backend_id"], "key_lost")

    def test_key_of_a_drone_that_cannot_re_assert_moves_only_when_its_backend_is_dead(self):
        first, _ = self.serve_with_drones("a", "b", ttl_ms=6_000)
        held = self.connect("room", pool="a")
        first.send(signal.SIGSTOP)
        self.server.kill()
        self.start_again()
        moved = self.connect("room", pool="b", after=held["token"])
        self.assertEqual(moved["drone"], "b")
        first.send(signal.SIGCONT)
        self.assert_one_at_a_time("room", 2)


class ClusterRestartTest(KeyWorld, ClusterTest):
    longest_ttl = TTL_MS / 1000

    def setUp(self):
        super().setUp()
        self.make_home()

    def test_keys_outlive_one_node_of_three(self):
        nodes = self.start_cluster()
        self.until("the policy is set", lambda: nodes[0].ask(
            "PATCH", "/v1/policy", {"ttl_max_ms": TTL_MS, "ttl_default_ms": TTL_MS})[0] == 200)
        urls = ",".join(f"http://127.0.0.1:{node.port}" for node in nodes)
        self.server = nodes[0]
        self.drone("d", controllers=urls)
        for node in nodes:
            self.wait_for_drone("d", server=node)
        held = {key: self.connect(key, server=nodes[i % 3]) for i, key in enumerate(KEYS)}
        nodes[0].kill()
        for node in nodes[1:]:
            for key, before in held.items():
                now = self.connect(key, server=node)
                self.assertEqual((now["backend_id"], now["token"]), (before["backend_id"], before["token"]))
        self.server = nodes[1]
        self.wait_for_renewal(KEYS)
        self.connect("room-new", server=nodes[1])
        for key, before in held.items():
            self.assertEqual(self.connect(key, server=nodes[2])["token"], before["token"])
            self.assertEqual(len({s.pid for s in self.stamps(key)}), 1, "no second backend")


if __name__ == "__main__":
    unittest.main(verbosity=2)
