"""A server, drones and backends, all real. The backends write down themselves when they lived and with which token
(backend.cpp); what is said of time is said by the order of what they wrote."""

import collections
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "server"), os.path.join(HERE, "..", "..", "support")]

from harness import BIN, PATIENCE, Connection, ServerTest, eventually, quoted  # noqa: E402, F401
from real_redis import lives, start  # noqa: E402, F401

BUILD = os.environ["HOLDFAST_BUILD"]
BACKEND = os.environ.get("HOLDFAST_KEYS_BACKEND", os.path.join(BUILD, "bin", "keys_backend"))
TTL_MS = 6_000  # renewed after 3 s, asked to stop after 4, dead by 5, and one to spare for a slow machine
LONG_TTL_MS = 120_000  # so long that nothing runs out by itself

Stamp = collections.namedtuple("Stamp", "what boot_ns real_ns token backend pid")


def clean_environment(**more):
    return {**{k: v for k, v in os.environ.items() if not k.startswith("HOLDFAST_")}, **more}


class Drone:
    """A `holdfast drone` whose lives share a state directory."""

    def __init__(self, test, id, controllers, pool="default", prefix=(), environment=None, options=(), state=None):
        self.id, self.pool = id, pool
        self.controllers, self.prefix, self.environment = controllers, list(prefix), environment or {}
        self.state = os.path.join(test.home, state or "drone-" + id)
        self.options = list(options)
        self.process, self.log = None, []
        test.addCleanup(self.clean_up)
        self.begin()

    def begin(self):
        command = [BIN, "drone", "--id", self.id, "--controller", self.controllers, "--pool", self.pool,
                   "--state-dir", self.state, *self.options]
        self.process = start([*self.prefix, *command], env=clean_environment(**self.environment),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True).start()

    def _read(self, pipe):
        with pipe:
            for line in pipe:
                self.log.append(line.rstrip("\n"))

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        assert code == 0, (code, self.log[-5:])

    def clean_up(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE)


class KeyWorld:
    """What a test needs beside a server; to be mixed into one of ServerTest's kind."""

    def make_home(self):
        self.drones = []
        self.home = tempfile.mkdtemp(prefix="holdfast-keys-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.addCleanup(self.kill_backends)

    def kill_backends(self):
        """Nothing that a failed test left behind."""
        for name in os.listdir(self.home):
            if name.endswith(".stamps"):
                for stamp in self.stamps(name.removesuffix(".stamps")):
                    if self.is_backend(stamp.pid):
                        os.kill(stamp.pid, signal.SIGKILL)

    @staticmethod
    def is_backend(pid):
        """A backend that lives, and not somebody else who got its number since."""
        try:
            with open(f"/proc/{pid}/stat") as stat:
                name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            return False
        return name.startswith("keys_backend") and rest.split()[0] not in "ZX"

    def serve(self, ttl_ms=TTL_MS):
        """A server whose keys last so long, and never lasted longer, so that its recovery is as short."""
        self.server = self.start_with_ttl_max(ttl_ms)
        self.url = f"http://127.0.0.1:{self.server.port}"
        return self.server

    def drone(self, id, pool="default", **more):
        controllers = more.pop("controllers", None) or self.url
        self.drones.append(Drone(self, id, controllers, pool=pool, **more))
        return self.drones[-1]

    def wait_for_drone(self, id, server=None, **wanted):
        server = server or self.server

        def known():
            connection = Connection(server.port)
            try:
                status, answer = connection.ask("GET", "/v1/drones/" + id)
            finally:
                connection.close()
            drone = answer.get("drone", {})
            return status == 200 and drone["healthy"] and all(drone[k] == v for k, v in wanted.items()) and drone
        try:
            return eventually(f"the drone {id} registers", known)
        except AssertionError as late:
            raise AssertionError(f"{late}; the drones wrote {[d.log[-5:] for d in self.drones if d.id == id]}") from None

    # Keys

    def path(self, key):
        return os.path.join(self.home, key + ".stamps")

    def body(self, key, *words, pool="default", wait_s=20, tag="", **spawn):
        return {"key": {"name": key, "tag": tag}, "wait_s": wait_s,
                "spawn": {"command": BACKEND, "args": [self.path(key), *words], "pool": pool, **spawn}}

    def try_connect(self, key, *words, server=None, **more):
        connection = Connection((server or self.server).port)
        try:
            return connection.ask("POST", "/v1/connect", self.body(key, *words, **more))
        finally:
            connection.close()

    def connect(self, key, *words, after=0, **more):
        """A backend of the key that is ready, with a token above `after`."""
        seen = []

        def ready():
            seen[:] = [self.try_connect(key, *words, **more)]
            status, answer = seen[0]
            return status in (200, 201) and answer["status"] == "ready" and answer["token"] > after and answer
        try:
            return eventually(f"{key} is served", ready)
        except AssertionError as late:
            raise AssertionError(f"{late}; last answer {seen}") from None

    def connect_all(self, keys, **more):
        """Several at once. `after` may be a dictionary."""
        after, found, failed = more.pop("after", {}), {}, []

        def one(key):
            try:
                found[key] = self.connect(key, after=after.get(key, 0), **more)
            except (AssertionError, OSError) as why:
                failed.append(why)
        threads = [threading.Thread(target=one, args=(key,)) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        return found

    def backend(self, id, server=None):
        status, answer = (server or self.server).ask("GET", "/v1/backends/" + id)
        assert status == 200, answer
        return answer["backend"]

    def wait_for_end(self, id, reason=None):
        def ended():
            backend = self.backend(id)
            return backend["state"] == "terminated" and backend
        backend = eventually(f"{id} ends", ended)
        if reason is not None:
            self.assertEqual(backend["reason"], reason, backend)
        return backend

    def held(self, key, server=None):
        status, page = (server or self.server).ask("GET", "/v1/keys?limit=1000")
        assert status == 200, page
        return next((k for k in page["keys"] if k["key"]["name"] == key), None)

    def wait_for_renewal(self, keys):
        """Until each key has longer than it had a moment ago."""
        left, renewed = {}, set()

        def all_renewed():
            for key in keys:
                now = self.held(key)["expires_in_ms"]
                if now > left.get(key, now):
                    renewed.add(key)
                left[key] = now
            return len(renewed) == len(keys)
        eventually("the keys are renewed", all_renewed)

    def assert_one_backend(self, key, ids):
        """These are one backend of the key; or several one after the other, but then each lost the key before the next
        had it, since the drone got no processor for so long."""
        backends = sorted((self.backend(id) for id in set(ids)), key=lambda backend: backend["token"])
        for backend in backends[:-1]:
            self.wait_for_end(backend["id"], "key_lost")
        self.assert_one_at_a_time(key, len(backends))

    # What the backends wrote

    def stamps(self, key):
        try:
            with open(self.path(key)) as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return []
        fields = [line.split() for line in lines]
        return [Stamp(f[0], int(f[1]), int(f[2]), int(f[3]), f[4], int(f[5])) for f in fields]

    def wait_for_stamp(self, key, what, token=None):
        return eventually(f"{key} writes {what}",
                          lambda: next((s for s in self.stamps(key)
                                        if s.what == what and token in (None, s.token)), None))

    def assert_one_at_a_time(self, key, at_least, clock="boot_ns"):
        """Backend after backend, never two: each was dead before the next one's first instruction, and tokens rise."""
        stamps = self.stamps(key)
        overlaps = [s for s in stamps if s.what == "overlap"]
        self.assertEqual(overlaps, [], f"{key}: found another backend alive")
        lives_of = collections.OrderedDict()
        for stamp in stamps:
            lives_of.setdefault(stamp.token, []).append(getattr(stamp, clock))
        self.assertGreaterEqual(len(lives_of), at_least, f"{key}: too little happened to prove anything")
        tokens = list(lives_of)
        self.assertEqual(tokens, sorted(tokens), f"{key}: the token rises")
        for older, newer in zip(tokens, tokens[1:]):
            self.assertLess(max(lives_of[older]), min(lives_of[newer]), f"{key}: {older} outlived the start of {newer}")
        return tokens


class KeyTest(KeyWorld, ServerTest):
    """A test with one server."""

    def setUp(self):
        super().setUp()
        self.make_home()

    def serve_with_drones(self, *pools, ttl_ms=TTL_MS):
        """One drone per pool, of the same name."""
        self.serve(ttl_ms)
        drones = [self.drone(pool, pool) for pool in pools]
        for pool in pools:
            self.wait_for_drone(pool)
        return drones
