"""A server with its relay, publishers, and services behind them, all real."""

import collections
import http.client
import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, *(os.path.join(HERE, "..", folder) for folder in ("server", "../support", "cli"))]

from harness import BIN, PATIENCE, ServerTest, eventually  # noqa: E402, F401
from http_publisher import HttpPublisher  # noqa: E402
from real_redis import free_port, start  # noqa: E402
from relay_wire import Consumer  # noqa: E402

TTL_MS = 6_000  # renewed every second; and what a server that was killed waits for (S1)

Done = collections.namedtuple("Done", "code out err")


class Publisher:
    """A `holdfast advertise`. Its events are waited for in the order in which they come."""

    def __init__(self, test, words, target, key, relay):
        command = [BIN, "advertise", *words, "--to", target, "--identity", key, "--relay", relay, "--json"]
        self.process = start(command, env=test.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        self.events, self._coming = [], queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        test.addCleanup(self.clean_up)

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                self.events.append(event)
                self._coming.put(event)

    def wait_for(self, what, code=None):
        """The next such event."""
        try:
            while True:
                event = self._coming.get(timeout=PATIENCE)
                if event["event"] == what and code in (None, event.get("code")):
                    return event
        except queue.Empty:
            raise AssertionError(f"no {what} {code or ''}: {self.events}") from None

    def count(self, *whats):
        return sum(event["event"] in whats for event in self.events)

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        assert code == 0, (code, self.events)

    def clean_up(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)


class Service:
    """Something that listens. `serve` is given every connection, on a thread of its own."""

    def __init__(self, test, serve):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self._accept, daemon=True).start()
        test.addCleanup(self.listener.close)
        test.addCleanup(self._wake)

    def _wake(self):
        """accept() does not notice that its socket is closed."""
        self.listener.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(one,), daemon=True).start()

    def _serve(self, one):
        with one:
            try:
                self.serve(one)
            except OSError:
                pass  # the other end is gone, and the test knows


def read_all(one):
    return b"".join(iter(lambda: one.recv(65536), b""))


def answering(text):
    """Reads to the end, then says this and what it heard."""
    return lambda one: one.sendall(text + read_all(one))


class RelayWorld:
    """What a test needs beside its servers; to be mixed into one of ServerTest's kind."""

    def make_home(self):
        self.home = tempfile.mkdtemp(prefix="holdfast-relay-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}
        return {**kept, "HOME": self.home, "XDG_CONFIG_HOME": self.home, **more}

    def key(self, owner):
        return os.path.join(self.home, owner + ".pem")

    def service(self, serve):
        return Service(self, serve).address

    def advertise(self, name, *options, to=None, owner="anna", relay=None):
        words = [*([name] if name else ["--unnamed"]), *options]
        return Publisher(self, words, to or self.service(answering(b"")), self.key(owner), relay or self.relay)

    def advertised(self, name, *options, **more):
        """A publisher that has the name."""
        publisher = self.advertise(name, *options, **more)
        publisher.token = publisher.wait_for("registered")["token"]
        return publisher

    def http_publisher(self, owner):
        """One without a connection."""
        return HttpPublisher(self.url, self.home, owner)

    # Commands

    def holdfast(self, *words, input=None, **environment):
        done = subprocess.run([BIN, *words], env=self.environment(HOLDFAST_SERVER=self.url, **environment),
                              input=input or b"", capture_output=True, timeout=PATIENCE)
        return Done(done.returncode, done.stdout, done.stderr.decode())

    def ok(self, *words):
        done = self.holdfast(*words)
        self.assertEqual(done.code, 0, done)
        return done.out.decode()

    def fetch(self, name, data=b"", relay=None):
        """What the service says to this, through `holdfast connect` on standard input and output."""
        done = self.holdfast("connect", name, "--relay", relay or self.relay, input=data)
        self.assertEqual(done.code, 0, done)
        return done.out

    def refused(self, name):
        """Why there is no stream to it: the relay's code."""
        return Consumer(self, self.relay, name).failed()

    def assert_no_stream(self, name, code=106):
        """As a user sees it."""
        done = self.holdfast("connect", name, "--relay", self.relay)
        self.assertEqual((done.code, done.out), (code, b""), done)
        self.assertRegex(done.err, "^holdfast: .")

    def listen(self, name, relay=None):
        """`holdfast connect NAME --listen`: the port that is the service."""
        process = start([BIN, "connect", name, "--listen", "0", "--relay", relay or self.relay, "--json"],
                        env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, process)
        return int(json.loads(process.stdout.readline())["listening"].rsplit(":", 1)[1])

    @staticmethod
    def end(process):
        process.kill()
        process.wait(PATIENCE)
        process.stdout.close()

    # What consumers see

    def listed(self, server=None):
        status, page = (server or self.server).ask("GET", "/v1/services?limit=1000")
        assert status == 200, page
        return {entry["name"]: entry for entry in page["services"]}

    def find(self, name, server=None):
        status, answer = (server or self.server).ask("GET", "/v1/services/" + urllib.parse.quote(name, safe=""))
        assert status in (200, 404), answer
        return answer["service"] if status == 200 else None

    def wait_until_gone(self, name, server=None, patience=PATIENCE):
        eventually(f"{name} is gone", lambda: not self.find(name, server), patience)

    def wait_until_listed(self, name, server=None):
        return eventually(f"{name} is listed", lambda: self.find(name, server))

    def watch(self):
        """What happens, and to which name: first what is there, then every change."""
        stream = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        stream.request("GET", "/v1/service-events")
        events = stream.getresponse()
        self.addCleanup(stream.close)
        self.addCleanup(events.close)
        for line in events:
            if line.startswith(b"event:"):
                kind = line[6:].strip().decode()
            elif line.startswith(b"data:") and kind != "listed":
                yield kind, json.loads(line[5:])["name"]

    def id_of(self, owner):
        return json.loads(self.ok("identity", "show", self.key(owner), "--json"))["id"]


class RelayTest(RelayWorld, ServerTest):
    """A test with one server, whose relay is at the same place in every life."""

    def setUp(self):
        super().setUp()
        self.make_home()
        self.relay = f"127.0.0.1:{free_port()}"

    def launch(self, state_dir=None, **options):
        options.setdefault("arguments", ["--relay", self.relay])
        return super().launch(state_dir, **options)

    def serve(self):
        """Another life of the server, or its first."""
        self.server = self.start()
        return self.server

    def serve_short_leases(self):
        self.server = self.start_with_ttl_max(TTL_MS)
        return self.server

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.port}"


def relay_of(server):
    """Where the relay of this server listens."""
    line = eventually("the relay says where it is", lambda: next((l for l in server.out if "relays to" in l), None))
    return re.search(r"\S+:\d+$", line)[0]

