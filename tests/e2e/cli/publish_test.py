"""`holdfast identity`, `advertise` and `connect`, with a real server and its relay."""

import json
import os
import re
import signal
import socket
import socketserver
import ssl
import stat
import subprocess
import tempfile
import threading
import time
import unittest

from processes import BINARY, PATIENCE, HoldfastTest, Server, eventually, free_port


class RelayServer(Server):
    """A server with its relay on a port that stays the same over restarts."""

    def __init__(self, home, relay=None):
        self.home = home
        self.relay = relay or f"127.0.0.1:{free_port()}"
        super().__init__(home + "/state", home, relay=self.relay)


class Echo(socketserver.BaseRequestHandler):
    """Says back what it hears, to the end of it, and then who it is."""

    def handle(self):
        try:
            while data := self.request.recv(65536):
                self.request.sendall(data)
            self.request.sendall(self.server.farewell)
        except OSError:
            pass


class Service(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, farewell=b""):
        super().__init__(("127.0.0.1", 0), Echo)
        self.farewell = farewell
        self.address = "127.0.0.1:%d" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class PublishTest(HoldfastTest):
    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="holdfast-publish-")
        cls.server = RelayServer(cls.home)

    def setUp(self):
        super().setUp()
        self.name = self.id().rsplit(".", 1)[1]
        self.key = self.scratch + "/key.pem"
        self.service = Service(b"|bye")
        self.addCleanup(self.service.close)

    def environment(self, **more):
        return super().environment(**{"HOLDFAST_RELAY_SERVER": self.server.relay, **more})

    def advertise(self, *options, to=None, name=None, key=None, json_events=False):
        process = self.start("advertise", name or self.name, "--to", to or self.service.address, "--identity",
                             key or self.key, *options, *(["--json"] if json_events else []))
        return process

    def registered(self, *options, **more):
        process = self.advertise(*options, **more)
        process.err.find("is registered")
        return process

    def fetch(self, data=b"hello", name=None, **environment):
        return subprocess.run([BINARY, "connect", name or self.name], env=self.environment(**environment), input=data,
                              capture_output=True, timeout=PATIENCE)

    # identity

    def test_identity_is_made_once_and_only_its_owner_can_read_it(self):
        file = self.scratch + "/new/identity.pem"
        made = json.loads(self.ok("identity", "new", file, "--json"))
        self.assertRegex(made["id"], r"^[a-z2-7]{32}$")
        self.assertEqual(stat.S_IMODE(os.stat(file).st_mode), 0o600)
        shown = self.json("identity", "show", file)
        self.assertEqual(shown, made)
        again = self.holdfast("identity", "new", file)
        self.assertEqual(again.returncode, 1)
        self.assertIn("is there already", again.stderr)
        self.assertEqual(self.json("identity", "show", file)["id"], made["id"])
        self.assertIn(made["id"], self.ok("identity", "show", file))

    def test_identity_has_a_default_place_which_the_environment_may_change(self):
        file = self.scratch + "/mine.pem"
        made = json.loads(self.ok("identity", "new", "--json", HOLDFAST_IDENTITY=file))
        self.assertEqual(made["file"], file)
        self.assertTrue(os.path.exists(file))
        done = self.holdfast("identity", "--json", XDG_CONFIG_HOME=self.scratch)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "identity_missing")
        self.assertIn(self.scratch + "/holdfast/identity.pem", done.stdout)

    def test_identity_that_others_can_read_is_refused(self):
        self.ok("identity", "new", self.key)
        os.chmod(self.key, 0o644)
        done = self.holdfast("identity", "show", self.key)
        self.assertEqual(done.returncode, 1)
        self.assertIn("chmod 600", done.stderr)

    # advertise and connect

    def test_service_is_reached_by_its_name_through_the_relay(self):
        publisher = self.registered("--alpn", "echo/1", "--alpn", "echo/2", "--meta", "version=7", "--meta", "a=b=c")
        publisher.err.find("created a new identity")
        done = self.fetch(b"hello")
        self.assertEqual((done.returncode, done.stdout), (0, b"hello|bye"), done.stderr)
        entry = self.json("discover", self.name)["service"]
        self.assertEqual(entry["alpn"], ["echo/1", "echo/2"])
        self.assertEqual(entry["metadata"], {"version": "7", "a": "b=c"})
        self.assertEqual(entry["identity"], self.json("identity", "show", self.key)["id"])
        self.assertTrue(entry["connected"])
        publisher.terminate()
        self.assertEqual(self.ends(publisher), 0)
        publisher.err.find("is not advertised any more")
        done = self.fetch()
        self.assertEqual(done.returncode, 106)
        self.assertEqual(done.stdout, b"")

    def test_service_carries_megabytes_both_ways(self):
        self.registered()
        data = os.urandom(4 * 1024 * 1024)
        done = self.fetch(data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(done.stdout == data + b"|bye", f"{len(done.stdout)} bytes")

    def test_events_are_json_lines(self):
        publisher = self.advertise(json_events=True)
        publisher.out.find('"event":"registered"')
        publisher.send_signal(signal.SIGINT)
        self.assertEqual(self.ends(publisher), 0)
        publisher.out.find('"event":"unregistered"')
        events = [json.loads(line) for line in publisher.out.lines]
        self.assertEqual([event["event"] for event in events], ["connected", "registered", "unregistered"])
        self.assertEqual(events[1]["service"], self.name)
        self.assertGreater(events[1]["token"], 0)

    def test_unnamed_services_get_names_of_their_own(self):
        names = set()
        for _ in range(2):
            publisher = self.start("advertise", "--unnamed", "--to", self.service.address, "--identity", self.key,
                                   "--json")
            names.add(json.loads(publisher.out.find('.*"event":"registered".*').group(0))["service"])
        self.assertEqual(len(names), 2)
        for name in names:
            self.assertRegex(name, "^~[0-9a-f]{16}$")
            self.assertEqual(self.fetch(b"x", name=name).stdout, b"x|bye")
        publisher.terminate()
        self.assertIn(json.loads(publisher.out.find('.*"event":"unregistered".*').group(0))["service"], names)

    def test_names_are_one_in_every_spelling(self):
        self.registered(name="cafe\u0301-" + self.name)
        self.assertEqual(self.fetch(b"x", name="caf\u00e9-" + self.name).stdout, b"x|bye")

    def test_target_that_is_away_is_said_to_the_consumer(self):
        publisher = self.registered(to=f"127.0.0.1:{free_port()}")
        done = self.fetch()
        self.assertEqual(done.returncode, 108)
        self.assertIn(b"Connection refused", done.stderr)
        publisher.err.find("a consumer was turned away")

    def test_name_of_another_identity_is_waited_for(self):
        first = self.registered()
        second = self.advertise(key=self.scratch + "/other.pem", json_events=True)
        second.out.find('"event":"standing_by"')
        first.terminate()
        self.assertEqual(self.ends(first), 0)
        second.out.find('"event":"registered"')

    def test_later_publisher_of_an_identity_wins_and_the_other_takes_over_when_it_is_gone(self):
        first = self.registered()
        later_service = Service(b"|later")
        self.addCleanup(later_service.close)
        later = self.registered(to=later_service.address)
        first.err.find("is not held any more")
        self.assertEqual(self.fetch(b"x").stdout, b"x|later")
        later.terminate()
        self.assertEqual(self.ends(later), 0)
        first.err.find("is registered again")
        self.assertEqual(self.fetch(b"x").stdout, b"x|bye")

    def test_impossible_names_are_given_up(self):
        publisher = self.advertise(name="a/b", json_events=True)
        self.assertEqual(self.ends(publisher), 106)
        publisher.out.find('"code":"invalid_name"')

    def test_command_line_is_checked(self):
        for arguments in (["advertise", "x"], ["advertise", "--to", "127.0.0.1:1"],
                          ["advertise", "x", "--unnamed", "--to", "127.0.0.1:1"], ["advertise", "x", "--to", "nowhere"],
                          ["advertise", "x", "--to", "127.0.0.1:1", "--meta", "novalue"],
                          ["advertise", "x" * 256, "--to", "127.0.0.1:1"], ["connect"],
                          ["connect", "x", "--listen", "nowhere"], ["connect", "x", "--relay", "a:b:c"]):
            self.assertEqual(self.holdfast(*arguments).returncode, 2, arguments)

    def test_no_relay_is_told_apart_from_no_service(self):
        for done, code, advice in (
                (self.fetch(HOLDFAST_RELAY_SERVER=f"127.0.0.1:{free_port()}"), 105, b"--relay"),
                (self.fetch(name="nobody"), 106, b"'holdfast discover'")):
            self.assertEqual(done.returncode, code)
            self.assertIn(advice, done.stderr)

    def test_relay_that_hangs_is_left_for_the_next(self):
        self.registered()
        with socket.create_server(("127.0.0.1", 0)) as hung:  # takes connections, and answers nothing
            relays = f"127.0.0.1:{hung.getsockname()[1]},{self.server.relay}"
            done = self.fetch(b"hello", HOLDFAST_RELAY_SERVER=relays)
            self.assertEqual((done.returncode, done.stdout), (0, b"hello|bye"), done.stderr)
            _, address = self.listening(HOLDFAST_RELAY_SERVER=relays)
            self.assertEqual(self.ask(address, b"first"), b"first|bye")
            since = time.monotonic()
            self.assertEqual(self.ask(address, b"second"), b"second|bye")
            self.assertLess(time.monotonic() - since, 4, "the one that hung is asked last now")

    # without a connection

    def test_shell_example_of_the_documentation_registers_over_http(self):
        with open(os.environ["HOLDFAST_SOURCE"] + "/docs/discovery.md", encoding="utf-8") as page:
            [example] = re.findall(r"^```sh\n(.*?)^```", page.read(), re.MULTILINE | re.DOTALL)
        self.ok("identity", "new", self.scratch + "/.config/holdfast/identity.pem")
        done = subprocess.run(["bash", "-euc", example], cwd=self.scratch, env=self.environment(HOME=self.scratch),
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done)
        entry = self.json("discover", "printer")["service"]
        self.assertEqual((entry["address"], entry["stale"], entry["token"]),
                         ("192.0.2.7:631", True, json.loads(done.stdout)["token"]))

    # connect --listen

    def listening(self, *options, **environment):
        gateway = self.start("connect", self.name, "--listen", "0", "--json", *options, **environment)
        address = json.loads(gateway.out.find("listening.*").string)["listening"]
        return gateway, ("127.0.0.1", int(address.rsplit(":", 1)[1]))

    def ask(self, address, data):
        with socket.create_connection(address, PATIENCE) as one:
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: one.recv(65536), b""))

    def test_listening_gives_every_connection_a_stream(self):
        self.registered()
        gateway, address = self.listening()
        open_ones = [socket.create_connection(address, PATIENCE) for _ in range(20)]
        for number, one in enumerate(open_ones):
            one.sendall(b"%d" % number)
        for number, one in enumerate(open_ones):
            self.assertEqual(one.recv(100), b"%d" % number)
            one.close()
        self.assertEqual(self.ask(address, b"hello"), b"hello|bye")
        gateway.terminate()
        self.assertEqual(self.ends(gateway), 0)

    def test_listening_resets_those_for_whom_there_is_no_service(self):
        gateway, address = self.listening()
        with self.assertRaises(ConnectionResetError):
            self.ask(address, b"hello")
        gateway.err.find("was refused")

    def test_streams_have_a_bound(self):
        self.registered()
        _, address = self.listening("--streams", "1")
        with socket.create_connection(address, PATIENCE) as one:
            one.sendall(b"x")
            self.assertEqual(one.recv(1), b"x")
            with self.assertRaises(OSError):
                if not self.ask(address, b"y"):
                    raise OSError("closed")

    def test_tls_goes_through_the_relay_unread(self):
        certificate, key = self.scratch + "/cert.pem", self.scratch + "/tls.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", certificate, "-days", "1", "-subj", "/CN=service", "-addext",
                        "subjectAltName=DNS:service"], check=True, capture_output=True, timeout=PATIENCE)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def serve():
            with context.wrap_socket(listener.accept()[0], server_side=True) as secure:
                secure.sendall(b"secret " + secure.recv(100))

        threading.Thread(target=serve, daemon=True).start()
        self.registered(to="127.0.0.1:%d" % listener.getsockname()[1])
        _, address = self.listening()
        trust = ssl.create_default_context(cafile=certificate)
        with trust.wrap_socket(socket.create_connection(address, PATIENCE), server_hostname="service") as secure:
            secure.sendall(b"hello")
            self.assertEqual(secure.recv(100), b"secret hello")


class RestartTest(HoldfastTest):
    """Each has a server of its own, to do things to."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.mkdtemp(prefix="holdfast-publish-")
        cls.server = RelayServer(cls.home)

    def test_publisher_comes_back_by_itself_when_the_relay_was_restarted(self):
        service = Service(b"|bye")
        self.addCleanup(service.close)
        publisher = self.start("advertise", "web", "--to", service.address, "--identity", self.scratch + "/key.pem",
                               "--relay", self.server.relay, "--json")
        publisher.out.find('"event":"registered"')
        type(self).server.stop()
        publisher.out.find('"event":"lost"')
        type(self).server = RelayServer(self.home, self.server.relay)
        publisher.out.find('"event":"taken_again"')
        done = subprocess.run([BINARY, "connect", "web", "--relay", self.server.relay], env=self.environment(),
                              input=b"x", capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.stdout, b"x|bye", done.stderr)

    def test_publisher_that_was_stopped_longer_than_its_lease_registers_again(self):
        service = Service()
        self.addCleanup(service.close)
        publisher = self.start("advertise", "slept", "--to", service.address, "--identity", self.scratch + "/key.pem",
                               "--relay", self.server.relay, "--ttl", "2s", "--json")
        publisher.out.find('"event":"registered"')
        publisher.send_signal(signal.SIGSTOP)
        eventually(lambda: not self.json("discover", "slept*")["services"], "the lease runs out")
        publisher.send_signal(signal.SIGCONT)
        publisher.out.find('"event":"lost"')
        publisher.out.find('"event":"taken_again"')
        eventually(lambda: self.json("discover", "slept*")["services"], "it is listed again")


if __name__ == "__main__":
    unittest.main()
