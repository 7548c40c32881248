"""A front that is started before its engine listens, says why it cannot serve, and serves as soon as it can: waiting_test.py redis|postgres|etcd"""

import json
import signal
import socket
import subprocess
import sys
import unittest

from fronts_world import BIN, PATIENCE, FrontsTest, eventually


def say(port, *commands):
    """The answers of a port that speaks the Redis protocol, one line each."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection, connection.makefile("rwb") as file:
        file.write(b"".join(command.encode() + b"\r\n" for command in commands))
        file.flush()
        return [file.readline().decode().rstrip("\r\n") for _ in commands]


class Waiting(FrontsTest):
    def setUp(self):
        super().setUp()
        self.front().stop()  # so that the engine has what a front needs, and only its absence is in the way
        self.engine.kill()

    def waiting_front(self):
        front = self.launch_front().wait_until_serving()
        front.wait_for_log("waiting for the store: ")
        return front

    def port_of(self, front, door):
        """A door's port, from what the server said when it began to listen."""
        line = eventually(f"the line of {door}", lambda: next((line for line in front.out if door in line), None))
        return int(line.rsplit(":", 1)[1])

    def store_status(self, front):
        done = subprocess.run([BIN, "store", "status", "--json", "--server", f"http://127.0.0.1:{front.port}"],
                              capture_output=True, text=True, timeout=PATIENCE)
        return done.returncode, json.loads(done.stdout)

    def test_tells_how_it_is_at_every_door_and_then_serves_on_the_same_ones(self):
        front = self.waiting_front()
        health = front.health()
        self.assertEqual((health["status"], health["ready"], health["active_leases"]), ("store_unavailable", False, 0))
        self.assertIn(str(self.engine.port), health["reason"])
        status, ready = front.ask("GET", "/ready")
        self.assertEqual((status, ready["ready"], ready["code"]), (503, False, "store_unavailable"))
        self.assertIn(str(self.engine.port), ready["reason"])
        status, store = front.ask("GET", "/v1/store")
        self.assertEqual((status, store["engine"], store["reachable"]), (200, self.kind, False))
        self.assertEqual(front.metric("holdfast_ready"), 0)
        for method, path, body in (("POST", "/v1/leases", {"holder": "a", "resource": "r"}), ("GET", "/v1/leases", None),
                                   ("GET", "/v1/policy", None), ("PUT", "/v1/bans/a", {}), ("GET", "/v1/events", None),
                                   ("POST", "/v1/drones/d/heartbeat", {})):
            status, refused = front.ask(method, path, body)
            self.assertEqual((status, refused["error"]["code"]), (503, "store_unavailable"), path)
            self.assertGreater(refused["retry_in_ms"], 0)
            self.assertIn(str(self.engine.port), refused["error"]["message"])
        code, told = self.store_status(front)
        self.assertEqual((code, told["ready"], told["code"], told["store"]), (108, False, "store_unavailable", store))
        resp = self.port_of(front, "Redis protocol")
        pong, *refused = say(resp, "PING", "SET k v NX PX 60000", "LEASE.ACQUIRE r a 60000", "GET k")
        self.assertEqual(pong, "+PONG")
        for line in refused:
            self.assertRegex(line, r"^-STORE_UNAVAILABLE .*; retry_in_ms=\d+$")
        with socket.create_connection(("127.0.0.1", self.port_of(front, "relays")), timeout=PATIENCE) as relay:
            self.assertIn(b"store_unavailable", relay.makefile("rb").read(), "and the relay ends the connection")

        self.engine.start()
        front.wait_for_log("the store is there: serving")
        self.assertEqual(front.health()["status"], "ok", "on the connection that was refused before")
        lease = front.grant("alice", "r", ttl_ms=60_000)
        self.assertEqual(self.front().acquire("bob", "r")[0], 409, "what it granted is in the store")
        self.assertEqual(say(resp, "SET k v NX PX 60000"), ["+OK"])
        self.assertEqual(front.renew(lease)[0], 200)
        self.assertEqual(front.metric("holdfast_ready"), 1)
        code, told = self.store_status(front)
        self.assertEqual((code, told["ready"], told["store"]["reachable"]), (0, True, True))

    def test_has_the_policy_and_the_agents_that_are_in_the_store(self):
        self.engine.start()
        earlier = self.front()
        self.assertEqual(earlier.ask("PUT", "/v1/bans/mallory", {"reason": "test"})[0], 200)
        self.assertIn(earlier.ask("PUT", "/v1/agents/old", {"priority": 7})[0], (200, 201))
        earlier.stop()
        self.engine.kill()
        front = self.waiting_front()
        self.engine.start()
        front.wait_for_log("the store is there: serving")
        self.assertEqual(front.acquire("mallory", "r")[1]["error"]["code"], "banned")
        status, agent = front.ask("GET", "/v1/agents/old")
        self.assertEqual((status, agent["agent"]["priority"]), (200, 7), agent)

    def test_ends_cleanly_when_it_is_told_to(self):
        front = self.waiting_front()
        front.connection.close()
        front.process.send_signal(signal.SIGTERM)
        self.assertEqual(front.wait(), 0, front.log)

    def test_ends_with_an_error_that_waiting_does_not_heal(self):
        if self.kind != "redis":
            self.skipTest("what the others refuse is tested with each of them")
        self.engine.start()
        self.assertEqual(say(self.engine.port, 'SET fronts:d:engine "hf1 of an older version"'), ["+OK"])
        self.engine.kill()
        front = self.waiting_front()
        self.engine.start()
        self.assertEqual(front.wait(), 1, "one that waited")
        self.assertIn("older version of Holdfast", front.log[-1])
        late = self.launch_front()
        self.assertEqual(late.wait(), 1, "one that finds it at once")
        self.assertEqual(late.out, [], "it never listens")


if __name__ == "__main__":
    FrontsTest.kind = sys.argv.pop(1)
    unittest.main(verbosity=2)
