"""Services behind a relay, reached by their names."""

import hashlib
import http.server
import os
import queue
import socket
import ssl
import subprocess
import threading
import time
import unittest

from relay_world import PATIENCE, RelayTest, answering, eventually, read_all  # first: it says where the others are
from relay_wire import OFFER, Consumer, WirePublisher

MEGABYTE = 1 << 20
NO_ANSWER = 'holdfast_relay_failures_total{cause="no_answer"}'


def echo(one):
    while data := one.recv(65536):
        one.sendall(data)


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"{self.path} of {self.server.server_port}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class ReachTest(RelayTest):
    def setUp(self):
        super().setUp()
        self.serve()

    def connect(self, name):
        """A connection to a port that `holdfast connect --listen` has."""
        one = socket.create_connection(("127.0.0.1", self.listen(name)), PATIENCE)
        self.addCleanup(one.close)
        return one

    def web_server(self):
        web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        web.daemon_threads = True
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        return web.server_port

    def test_web_server_is_found_by_name_and_fetched_with_curl(self):
        behind = self.web_server()
        self.advertised("web", "--alpn", "http/1.1", "--meta", "version=7", to=f"127.0.0.1:{behind}")
        entry = self.find("web")
        self.assertEqual((entry["alpn"], entry["metadata"]), (["http/1.1"], {"version": "7"}))
        self.assertEqual((entry["connected"], entry["stale"], entry["relay"]), (True, False, self.relay))
        self.assertIn("web", self.ok("discover", "w*"))
        port = self.listen("web")
        pages = [f"http://127.0.0.1:{port}/{n}" for n in range(20)]
        done = subprocess.run(["curl", "-sS", "--parallel", "--parallel-immediate", *pages], capture_output=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for n in range(20):
            self.assertIn(f"/{n} of {behind}".encode(), done.stdout)

    def test_service_is_reached_on_standard_input_and_output(self):
        self.advertised("echo", to=self.service(answering(b"heard: ")))
        data = os.urandom(3 * MEGABYTE)
        self.assertTrue(self.fetch("echo", data) == b"heard: " + data)

    def test_unnamed_services_and_names_of_any_script_are_reached_too(self):
        unnamed = [self.advertise("", to=self.service(answering(b"%d" % n))) for n in range(2)]
        names = [publisher.wait_for("registered")["service"] for publisher in unnamed]
        self.assertEqual(len(set(names)), 2)
        self.assertEqual([self.fetch(name) for name in names], [b"0", b"1"])
        self.advertised("cafe\u0301 \u6771\u4eac", to=self.service(answering(b"open")))
        self.assertEqual(set(self.listed()), {*names, "caf\u00e9 \u6771\u4eac"})
        for spelling in ("cafe\u0301 \u6771\u4eac", "caf\u00e9 \u6771\u4eac"):
            self.assertEqual(self.find(spelling)["name"], "caf\u00e9 \u6771\u4eac")
            self.assertEqual(self.fetch(spelling), b"open")

    # End to end

    def certificate(self, name):
        certificate, key = (os.path.join(self.home, name + end) for end in (".crt", ".key"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=" + name, "-addext",
                        "subjectAltName=DNS:" + name], check=True, capture_output=True, timeout=PATIENCE)
        return certificate, key

    def test_tls_is_between_consumer_and_service_and_an_impostor_behind_the_name_is_found_out(self):
        trusted, other = self.certificate("bank"), self.certificate("impostor")

        def secure(certificate, key):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)

            def serve(one):
                with context.wrap_socket(one, server_side=True) as inside:
                    inside.recv(4096)
                    inside.sendall(b"HTTP/1.0 200 OK\r\n\r\na secret")
            return self.service(serve)
        self.advertised("bank", to=secure(*trusted))
        self.advertised("bank-too", to=secure(*other))
        trust = ssl.create_default_context(cafile=trusted[0])
        with trust.wrap_socket(self.connect("bank"), server_hostname="bank") as stream:
            self.assertEqual(stream.getpeercert()["subject"], ((("commonName", "bank"),),))
        with self.assertRaises(ssl.SSLCertVerificationError):
            trust.wrap_socket(self.connect("bank-too"), server_hostname="bank")
        place = f"bank:443:127.0.0.1:{self.listen('bank')}"
        done = subprocess.run(["curl", "-sS", "--cacert", trusted[0], "--connect-to", place, "https://bank/"],
                              capture_output=True, timeout=PATIENCE)
        self.assertEqual((done.returncode, done.stdout), (0, b"a secret"), done.stderr)

    # Streams

    def test_a_stream_that_the_consumer_half_closes_still_brings_the_answer(self):
        def serve(one):
            heard = read_all(one)
            one.sendall(hashlib.sha256(heard).digest() + b"x" * (2 * MEGABYTE))
        self.advertised("digest", to=self.service(serve))
        one, data = self.connect("digest"), os.urandom(2 * MEGABYTE)
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        answer = read_all(one)
        self.assertEqual(answer[:32], hashlib.sha256(data).digest())
        self.assertEqual(len(answer), 32 + 2 * MEGABYTE)

    def test_a_stream_that_the_service_half_closes_still_takes_what_is_sent(self):
        heard = queue.Queue()

        def serve(one):
            one.sendall(b"that is all")
            one.shutdown(socket.SHUT_WR)
            heard.put(read_all(one))
        self.advertised("sink", to=self.service(serve))
        one, data = self.connect("sink"), os.urandom(2 * MEGABYTE)
        self.assertEqual(read_all(one), b"that is all")
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        self.assertTrue(heard.get(timeout=PATIENCE) == data)

    def test_a_consumer_that_does_not_read_slows_nobody_else_and_loses_nothing(self):
        data, sent = os.urandom(32 * MEGABYTE), []

        def serve(one):
            mine = [0]
            sent.append(mine)
            for at in range(0, len(data), 65536):
                one.sendall(data[at:at + 65536])
                mine[0] = at + 65536
        publisher = self.advertised("much", "--ttl", "6s", to=self.service(serve))
        idle = Consumer(self, self.relay, "much").opened()
        eventually("the service sends as much as it may", lambda: sent and self.stands_still(sent[0]))
        self.assertLess(sent[0][0], len(data), "somebody keeps it all")
        for _ in range(3):
            self.assertTrue(self.fetch("much") == data)
        self.assertLess(sent[0][0], len(data))
        self.assertTrue(read_all(idle) == data)
        self.assertEqual(publisher.count("lost", "disconnected"), 0, publisher.events)

    @staticmethod
    def stands_still(count):
        before = count[0]
        try:
            eventually("it moves", lambda: count[0] != before, patience=1)
        except AssertionError:
            return before > 0
        return False

    def test_a_publisher_that_never_answers_is_reported_and_harms_nobody(self):
        silent = WirePublisher(self, self.relay, self.http_publisher("silent"))
        silent.register("silent")
        self.advertised("echo", to=self.service(answering(b"heard: ")))
        consumer = Consumer(self, self.relay, "silent")
        self.assertEqual(silent.hear_of(OFFER)[2], b"silent")
        self.assertEqual(self.fetch("echo", b"x"), b"heard: x")
        self.assert_no_stream("silent", code=108)
        self.assertEqual(consumer.failed(), "no_answer")
        eventually("both are counted", lambda: self.server.metric(NO_ANSWER) == 2)

    def test_a_stream_outlives_its_publishers_place_in_the_list(self):
        self.advertised("chat", to=self.service(echo))
        one = self.connect("chat")
        one.sendall(b"before")
        self.assertEqual(one.recv(100), b"before")
        self.ok("ban", self.id_of("anna"))
        self.assertIsNone(self.find("chat"))
        one.sendall(b"after")
        self.assertEqual(one.recv(100), b"after")
        self.assertEqual(self.refused("chat"), "unknown_service")


class LimitsTest(RelayTest):
    def serve_with(self, *options):
        self.server = self.start(arguments=["--relay", self.relay, *options])

    def test_streams_of_a_service_and_of_an_identity_are_limited_and_room_is_made_when_one_ends(self):
        self.serve_with("--relay-streams-per-service", "2", "--relay-streams-per-identity", "3")
        for name in ("one", "two"):
            self.advertised(name, to=self.service(echo))
        self.advertised("other", owner="ben", to=self.service(echo))
        streams = [Consumer(self, self.relay, name).opened() for name in ("one", "one", "two")]
        self.assertEqual(self.refused("one"), "too_many_streams")
        self.assertEqual(self.refused("two"), "too_many_streams")
        self.assertEqual(self.fetch("other", b"x"), b"x")
        streams[0].shutdown(socket.SHUT_WR)
        self.assertEqual(read_all(streams[0]), b"")
        eventually("there is room", lambda: self.holdfast("connect", "two", "--relay", self.relay).code == 0)

    def test_a_service_has_no_more_than_its_share_of_the_bandwidth(self):
        self.serve_with("--relay-rate-per-service", "1MB")
        self.advertised("slow", to=self.service(answering(b"")))
        data = os.urandom(MEGABYTE)
        began = time.monotonic()
        self.assertTrue(self.fetch("slow", data) == data)
        self.assertGreater(time.monotonic() - began, 1.5, "two megabytes at one a second")


if __name__ == "__main__":
    unittest.main(verbosity=2)
