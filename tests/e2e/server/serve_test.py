"""How a server starts, refuses to start, and stops."""

import http.client
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import unittest

from harness import BIN, PATIENCE, Connection, ServerTest, eventually


class Starting(ServerTest):
    def test_prints_where_it_serves_and_commands_to_try(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(BIN)))
        server = self.start(arguments=["--try"], cwd=root)
        last = eventually("the hints", lambda: [line for line in server.out if " watch " in line])
        hints = [line.strip() for line in server.out if line.startswith("  ")]
        self.assertEqual(len(hints), 3, server.out)
        self.assertIn(last[0].strip(), hints)
        for hint, verb in zip(hints, ("run", "list", "watch")):
            variable, program, command = hint.split()[:3]
            self.assertEqual(variable, f"HOLDFAST_SERVER=http://127.0.0.1:{server.port}")
            self.assertFalse(os.path.isabs(program))
            self.assertTrue(os.path.samefile(os.path.join(root, program), BIN))
            self.assertEqual(command, verb)

    def test_logs_json_lines_if_told_so(self):
        import json
        server = self.start(arguments=["--log-json"])
        server.stop()
        lines = [json.loads(line) for line in server.log]
        self.assertGreaterEqual(len(lines), 3)
        for line in lines:
            self.assertEqual(set(line), {"at", "level", "message"})
            self.assertRegex(line["at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")

    def test_a_second_server_on_the_same_directory_is_refused(self):
        first = self.start()
        second = self.launch()
        self.assertEqual(second.wait(), 1)
        message = "\n".join(second.log)
        self.assertIn(self.state_dir, message)
        self.assertIn(str(first.pid), message)
        first.grant("alice", "r")

    def test_a_damaged_state_file_is_refused_and_left_alone(self):
        server = self.start()
        server.grant("alice", "r")
        server.stop()
        path = os.path.join(self.state_dir, "state.db")
        with open(path, "r+b") as file:
            file.seek(4096)
            file.write(b"\x5a" * 4096)
        with open(path, "rb") as file:
            damaged = file.read()
        server = self.launch()
        self.assertEqual(server.wait(), 1)
        message = "\n".join(server.log)
        self.assertIn(path, message)
        self.assertIn("damaged", message)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), damaged)

    def test_an_address_beyond_loopback_needs_a_word_of_consent(self):
        server = self.launch(address="0.0.0.0:0")
        self.assertEqual(server.wait(), 1)
        self.assertIn("--insecure", "\n".join(server.log))
        self.assertEqual(server.out, [])

    def test_an_address_beyond_loopback_is_warned_of_and_answers_to_no_foreign_name(self):
        server = self.launch(arguments=["--insecure", "--allow-host", "leases.example"], address="0.0.0.0:0")
        line = server.started.get(timeout=PATIENCE)
        eventually("the warning", lambda: next((l for l in server.log if "warn" in l and "can take, release" in l), None))
        port = int(re.search(r"http://0\.0\.0\.0:(\d+)", line)[1])
        for host, status in (("evil.example", 403), ("leases.example", 200), ("LEASES.example.:80", 200),
                             (socket.gethostname(), 200), ("127.0.0.1", 200)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", "/health", headers={"Host": host})
            self.assertEqual(connection.getresponse().status, status, host)
            connection.close()

    def test_a_name_that_cannot_be_allowed_is_refused(self):
        server = self.launch(arguments=["--allow-host", "*"])
        self.assertEqual(server.wait(), 1)
        self.assertIn("--allow-host takes the name of a host", "\n".join(server.log))

    def test_the_relay_beyond_loopback_needs_it_too(self):
        server = self.launch(arguments=["--relay", "0.0.0.0:0"])
        self.assertEqual(server.wait(), 1)
        self.assertIn("--insecure", "\n".join(server.log))

    def test_the_relay_says_where_it_is_and_can_be_switched_off(self):
        server = self.start()
        line = eventually("the relay's line", lambda: next((l for l in server.out if "relays to" in l), None))
        port = int(re.search(r"127\.0\.0\.1:(\d+)$", line)[1])
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
        self.assertEqual(server.metric("holdfast_relay_publishers"), 0)
        server.stop()
        server = self.start(arguments=["--relay", "off"])
        self.assertNotIn("holdfast_relay", server.ask("GET", "/metrics")[1])
        server.stop()
        self.assertNotIn("relay", "\n".join(server.out + server.log))

    def test_the_directory_comes_from_the_environment_if_not_from_the_command_line(self):
        import subprocess
        home = tempfile.mkdtemp(prefix="holdfast-test-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        environment.update(XDG_STATE_HOME=home, HOME=home)
        process = subprocess.Popen([BIN, "serve", "--http", "127.0.0.1:0"], env=environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertIn("serving on", process.stdout.readline())
            self.assertTrue(os.path.exists(os.path.join(home, "holdfast", "state.db")))
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0)

    def test_systemd_is_told_when_it_serves_and_when_it_stops(self):
        home = tempfile.mkdtemp(prefix="holdfast-test-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        path = os.path.join(home, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(PATIENCE)
            server = self.start(environment={"NOTIFY_SOCKET": path})
            self.assertEqual(manager.recv(100), b"READY=1")
            server.stop()
            self.assertEqual(manager.recv(100), b"STOPPING=1")


class Stopping(ServerTest):
    def test_requests_that_wait_are_answered_before_it_goes(self):
        server = self.start()
        server.grant("alice", "r", ttl_ms=200_000)
        answers = []

        def wait_for_it(connection):
            answers.append(connection.receive())

        threads = []
        for i in range(5):
            connection = Connection(server.port)
            self.addCleanup(connection.close)
            connection.send("POST", "/v1/leases", {"holder": f"bob-{i}", "resource": "r", "wait_ms": 200_000})
            threads.append(threading.Thread(target=wait_for_it, args=[connection]))
            threads[-1].start()
        eventually("five wait", lambda: server.health()["waiters"] == 5)
        server.stop()
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual([(status, answer["error"]["code"]) for status, answer in answers], [(503, "stopping")] * 5)

    def test_waiters_do_not_come_back_with_the_leases(self):
        server = self.start()
        server.grant("alice", "r", ttl_ms=200_000)
        waiting = Connection(server.port)
        self.addCleanup(waiting.close)
        waiting.send("POST", "/v1/leases", {"holder": "bob", "resource": "r", "wait_ms": 200_000})
        eventually("bob waits", lambda: server.health()["waiters"] == 1)
        server.stop()
        server = self.start()
        self.assertEqual(server.health()["waiters"], 0)
        status, answer = server.acquire("carol", "r")
        self.assertEqual([conflict["holder"] for conflict in answer["conflicts"]], ["alice"])

    def leave_answers_unread(self, server):
        """A connection with answers that nobody reads: the stop gives them two seconds."""
        sluggard = socket.socket()
        self.addCleanup(sluggard.close)
        sluggard.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sluggard.connect(("127.0.0.1", server.port))
        sluggard.settimeout(0.5)
        try:
            for _ in range(10_000):
                sluggard.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100)
        except TimeoutError:
            return  # the server takes no more before some are read
        self.fail("the server took a million requests without an answer being read")

    def test_a_second_signal_ends_it_at_once_and_uncleanly(self):
        server = self.start()
        self.leave_answers_unread(server)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for_log("stopping")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(), -signal.SIGTERM)
        self.assertEqual(self.start().health()["status"], "recovering")

    def test_an_event_stream_does_not_keep_it_from_stopping(self):
        server = self.start()
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as stream:
            stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertTrue(re.match(rb"HTTP/1.1 200", stream.recv(100)))
            server.stop()

    def test_interrupt_is_as_good_as_terminate(self):
        server = self.start()
        lease = server.grant("alice", "r", ttl_ms=200_000)
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(), 0)
        self.assertEqual(list(self.start().leases()), [lease["id"]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
