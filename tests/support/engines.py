"""Real engines for tests: a Redis, a PostgreSQL or an etcd of the test's own, each killed, frozen and started again by pid.

HOLDFAST_TEST_STORE=redis|postgres|etcd makes servers that a test starts keep everything in one of these rather than in their
state directory: each directory stands for a place of its own in there."""

import atexit
import base64
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

import freezing
import real_etcd
import real_postgres
import real_redis
from free_ports import free_port

PATIENCE = 60


def answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


class Engine:
    """One that listens on a port and keeps its data in a directory over its lives."""

    is_scratch = False  # the directory is gone with it

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        self.directory = directory
        self.port = free_port()
        self.process = None
        self.start()

    def start(self):
        self.process = self.launch()
        end = time.monotonic() + PATIENCE
        while not self.is_ready():
            assert time.monotonic() < end, f"{type(self).__name__} does not answer"
            time.sleep(0.02)

    def is_ready(self):
        return answers(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def freeze(self):
        freezing.freeze(self.process.pid)

    def thaw(self):
        freezing.thaw(self.process.pid)

    def clean_up(self):
        if self.process.poll() is None:
            self.thaw()
            self.kill()
        if self.is_scratch:
            shutil.rmtree(self.directory, ignore_errors=True)

    # ---- what people do to a database ----

    def copy(self):
        """Its data directory, as a backup has it."""
        self.kill()
        to = tempfile.mkdtemp(prefix="copy-", dir=os.path.dirname(self.directory))
        subprocess.run(["cp", "-a", f"{self.directory}/.", to], check=True)
        self.start()
        return to

    def restore(self, copy=None):
        """Puts a copy in the place of its data, or nothing at all."""
        self.kill()
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        if copy:
            subprocess.run(["cp", "-a", f"{copy}/.", self.directory], check=True)
            shutil.rmtree(copy)
        self.start()


class RedisEngine(Engine):
    """It writes each change to disk before it answers, so that it loses nothing, and fronts are told so."""

    def launch(self):
        return real_redis.start_redis(self.port, self.directory, durable=True)

    def url(self, name):
        return f"redis://127.0.0.1:{self.port}/0?prefix={name}&synchronous=1"

    def command(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], check=True, capture_output=True, text=True).stdout

    def delete_all(self, name):
        self.command("FLUSHALL")

    def delete_record(self, name, resource):
        assert self.command("DEL", f"{name}:r:{resource}").strip() == "1"


class PostgresEngine(Engine):
    def launch(self):
        return real_postgres.start_postgres(self.port, self.directory, durable=True)

    def is_ready(self):
        if self.process.poll() is not None:  # the memory of its former life was still in use
            self.process = self.launch()
        return real_postgres.is_ready(self.port)

    def kill(self):
        real_postgres.kill(self.process)

    def freeze(self):
        real_postgres.freeze(self.process)

    def thaw(self):
        real_postgres.thaw(self.process)

    def url(self, name):
        return real_postgres.url(self.port, schema=name)

    def command(self, sql):
        return subprocess.run([real_postgres.programs() + "/psql", "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U",
                               real_postgres.USER, "-d", "postgres", "-At", "-v", "ON_ERROR_STOP=1"],
                              check=True, capture_output=True, text=True, input=sql).stdout

    def delete_all(self, name):
        self.command(f"TRUNCATE {name}.kept")

    def delete_record(self, name, resource):
        assert self.command(f"DELETE FROM {name}.kept WHERE kind = 0 AND name = '{resource}' RETURNING 1").strip() == "1"

    def standby(self):
        """Another server that follows this one, with its data in a scratch folder."""
        directory = scratch_folder()
        data = os.path.join(directory, "postgres")
        os.mkdir(data, 0o700)
        if os.geteuid() == 0:
            os.chmod(directory, 0o755)
            shutil.chown(data, "nobody")
        subprocess.run([*real_postgres.as_nobody(), real_postgres.programs() + "/pg_basebackup", "-h", "127.0.0.1", "-p",
                        str(self.port), "-U", real_postgres.USER, "-D", data, "-R", "-X", "stream", "-c", "fast"],
                       check=True, cwd=data, capture_output=True)
        made = PostgresEngine(directory)
        made.is_scratch = True
        return made

    def dump(self, name):
        return subprocess.run([real_postgres.programs() + "/pg_dump", "-h", "127.0.0.1", "-p", str(self.port), "-U",
                               real_postgres.USER, "-n", name, "-c", "--if-exists", "postgres"],
                              check=True, capture_output=True, text=True).stdout


class EtcdEngine(Engine):
    """A single member."""

    etcd = None

    def start(self):
        if self.etcd is None:
            self.etcd = real_etcd.Etcd(self.directory)
        else:
            self.etcd.start()
        self.port, self.process = self.etcd.ports[0], self.etcd.processes[0]

    def url(self, name):
        return f"etcd://127.0.0.1:{self.port}/{name}"

    def delete(self, first, end=None):
        """How many keys from the first up to the end there were."""
        asked = {"key": base64.b64encode(first.encode()).decode()}
        if end:
            asked["range_end"] = base64.b64encode(end.encode()).decode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v3/kv/deleterange", json.dumps(asked).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return int(json.load(answer).get("deleted", 0))

    def delete_all(self, name):
        assert self.delete(f"{name}/", f"{name}0") > 0

    def delete_record(self, name, resource):
        assert self.delete(f"{name}/r/{resource}") == 1


def scratch_folder():
    """In memory where there is room, so that no test waits for a disk that others use."""
    memory = "/dev/shm"
    room = os.path.isdir(memory) and shutil.disk_usage(memory).free > 2 << 30
    return tempfile.mkdtemp(prefix="holdfast-engine-", dir=memory if room else None)


def make_engine(kind, directory=None):
    """With its data in that directory; without one, in a scratch folder that is gone with it."""
    made = {"redis": RedisEngine, "postgres": PostgresEngine, "etcd": EtcdEngine}[kind](directory or scratch_folder())
    made.is_scratch = directory is None
    return made


_engine = None


def store_in_place_of(state_dir):
    """The address of a store for this state directory; nothing if servers are to use the directory."""
    global _engine
    kind = os.environ.get("HOLDFAST_TEST_STORE")
    if not kind:
        return None
    if _engine is None:
        _engine = make_engine(kind)
        atexit.register(_engine.clean_up)
    return _engine.url(re.sub(r"[^a-z0-9]", "_", state_dir.lower())[-40:])
