"""Who takes part, each as a competent user would run it, and what each promises. Loopback only, free ports, stopped by pid."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))

import clusters  # noqa: E402
from harness import START_SECONDS, Load, Trouble, end, family, fetch, find_etcd  # noqa: E402
from servers import ROOT, Front, PostgresOnDisk, RedisInMemory, load_redis_scripts  # noqa: E402
from holder import Holder  # noqa: E402
import engines  # noqa: E402
import real_postgres  # noqa: E402

LONGEST_TTL_S = 3600  # of Holdfast's policy: a million leases must not end while others are still being filled


class Participant:
    """Servers that work together, and the clients that are at home with them. `leader` is the process whose death or stall
    is felt most; of servers that have none, the first."""

    name = peer = ""
    kept_in = ""  # where a grant is when it is answered: what is in one memory only is lost with it
    promises = {"durable": "", "replicated": "", "waiting": "", "token": ""}
    nodes = 1

    def __init__(self, tools, data, longest_ttl_s=LONGEST_TTL_S):
        self.tools = pathlib.Path(tools).resolve()
        self.longest_ttl_s = longest_ttl_s
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name.replace(' ', '-')}-", dir=data)).resolve()
        self.directory.chmod(0o755)
        try:
            self._start()
        except BaseException as error:
            self.stop()
            if isinstance(error, (AssertionError, RuntimeError)):
                raise Trouble(str(error)) from None
            raise

    @classmethod
    def missing(cls, tools):
        """What it lacks to take part, in words; nothing if it lacks nothing."""
        lacking = [tool for tool in ("peer_client", cls.load_tool) if not (pathlib.Path(tools) / tool).exists()]
        if lacking:
            return f"{', '.join(lacking)} not built"
        try:
            cls.find_server()
        except (RuntimeError, Trouble) as error:
            return str(error)
        return None

    @staticmethod
    def find_server():
        """Where it is, if it may be nowhere; what can be done about that is in the error."""

    def holder(self, name):
        return Holder([self.tools / "peer_client", self.peer, name, ",".join(map(str, self.ports))])

    def load(self, clients, attempt_ms=10_000):
        """attempt_ms: how long a client waits for an answer before it asks another node."""
        return Load(self.name, [self.tools / self.load_tool, *self._load_words()], clients, self.ports,
                    {"servers": self.processes}, locks_each=20, attempt_ms=attempt_ms)

    def _load_words(self):
        return []

    def memory(self):
        """Bytes of all its processes; what several share counts once (PSS)."""
        pids = {pid for process in self.processes for pid in family(process.pid)}
        rollups = [pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
        return sum(1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1]) for text in rollups)

    def disk(self):
        """Bytes that the leases have on disk where they are kept there, the log of changes not counted."""
        return 0

    def is_up(self):
        """Each of its servers takes connections."""
        return all(engines.answers(port) for port in self.ports)

    def leader(self):
        return 0

    def kill_all(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(START_SECONDS)

    def stop(self):
        for process in getattr(self, "processes", []):
            if process.poll() is None:
                end(process)
        shutil.rmtree(self.directory, ignore_errors=True)


def first_line(command, executable=None):
    """Of what a program says to this, or of its complaint."""
    try:
        found = subprocess.run([str(word) for word in command], executable=executable, capture_output=True, text=True, timeout=60)
    except OSError as error:
        return str(error)
    return (found.stdout or found.stderr).strip().split("\n")[0]


def wait_until(what, condition, seconds=START_SECONDS):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise Trouble(f"{what} did not happen in {seconds} s")
        time.sleep(0.05)


def set_longest_ttl(port, seconds):
    """As soon as the server, or its cluster, can write its policy down."""
    change = json.dumps({"ttl_max_ms": 1000 * seconds, "ttl_default_ms": 1000 * min(60, seconds)}).encode()

    def is_set():
        try:
            return fetch(port, "/v1/policy", "PATCH", change, timeout=30)
        except OSError:
            return False

    wait_until("a change of the policy", is_set)


class Holdfast(Participant):
    name = peer = "holdfast"
    load_tool = "lock_load"
    kept_in = "memory"
    promises = {"durable": "tokens; not leases, whose end is waited for after a crash", "replicated": "no", "waiting": "in order",
                "token": "yes"}

    def _start(self):
        self.front = Front(self.tools / "holdfast", self.directory)
        set_longest_ttl(self.front.http, self.longest_ttl_s)
        self.front.stop()  # a lower maximum counts after a clean stop
        self.front.start()

    @property
    def processes(self):
        return [self.front.process]

    @property
    def ports(self):
        return [self.front.resp]

    def _load_words(self):
        return ["resp"]

    def start_again(self):
        self.front.start()

    @staticmethod
    def version(tools):
        return first_line([pathlib.Path(tools) / "holdfast", "--version"])


class HoldfastQuorum(Participant):
    name, peer, nodes = "holdfast x3", "holdfast", 3
    load_tool = "lock_load"
    kept_in = "three memories"
    promises = {"durable": "as one node", "replicated": "in the memory of three", "waiting": "in order", "token": "yes"}

    def _start(self):
        self.cluster = clusters.Holdfast(self.tools / "holdfast", self.directory, ["--longest-ttl", f"{self.longest_ttl_s}s"])
        set_longest_ttl(self.cluster.ports[3], self.longest_ttl_s)

    @property
    def processes(self):
        return self.cluster.processes

    @property
    def ports(self):
        return self.cluster.ports[6:9]

    def _load_words(self):
        return ["resp"]

    def leader(self):
        return self.cluster.leader()

    def start_again(self):
        self.cluster.launch_all()

    def stop(self):
        if hasattr(self, "cluster"):
            self.cluster.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    version = Holdfast.version


class OnEngine(Participant):
    """One server, as tests start it."""

    def _start(self):
        self.engine = self.make_engine(str(self.directory / "engine"))

    @property
    def processes(self):
        return [self.engine.process]

    @property
    def ports(self):
        return [self.engine.port]

    def kill_all(self):
        self.engine.kill()

    def start_again(self):
        self.engine.start()

    def stop(self):
        if hasattr(self, "engine"):
            self.engine.clean_up()
        shutil.rmtree(self.directory, ignore_errors=True)


class Redis(OnEngine):
    name = peer = "redis"
    load_tool = "lock_load"
    make_engine = RedisInMemory
    kept_in = "memory"
    promises = {"durable": "no", "replicated": "no", "waiting": "by notifications and polling", "token": "no"}

    def _load_words(self):
        return ["redis", *load_redis_scripts(self.engine.port)]

    @staticmethod
    def version(tools):
        return first_line(["redis-server", "--version"], shutil.which("redis-server") or shutil.which("redis-check-rdb"))


class RedisAof(Redis):
    """Each change is on disk before it is answered (appendfsync always)."""

    name = "redis aof"
    make_engine = engines.RedisEngine
    kept_in = "disk"
    promises = {**Redis.promises, "durable": "yes"}


class Etcd(OnEngine):
    name = peer = "etcd"
    load_tool = "etcd_load"
    make_engine = engines.EtcdEngine
    kept_in = "disk"
    promises = {"durable": "yes", "replicated": "no", "waiting": "by watching", "token": "the revision"}

    def _load_words(self):
        return ["transaction"]

    @staticmethod
    def find_server():
        return find_etcd(ROOT)

    @staticmethod
    def version(tools):
        return first_line([find_etcd(ROOT), "--version"])


class EtcdShared(Etcd):
    """All that a client holds hangs on one lease of etcd: one keep-alive renews it, and it all lives and dies together."""

    name, peer = "etcd shared", "etcd-shared"


class EtcdCluster(Participant):
    name, peer, nodes = "etcd x3", "etcd", 3
    load_tool = "etcd_load"
    kept_in = "three disks"
    promises = {**Etcd.promises, "replicated": "on three disks"}

    def _start(self):
        self.cluster = clusters.Etcd(find_etcd(ROOT), self.directory)

    @property
    def processes(self):
        return self.cluster.processes

    @property
    def ports(self):
        return self.cluster.ports[:3]

    def _load_words(self):
        return ["transaction"]

    def leader(self):
        return self.cluster.leader()

    stop = HoldfastQuorum.stop
    find_server = Etcd.find_server
    version = Etcd.version


class Postgres(OnEngine):
    name = peer = "postgres"
    load_tool = "postgres_load"
    make_engine = PostgresOnDisk
    kept_in = "disk"
    promises = {"durable": "yes", "replicated": "no", "waiting": "no, clients poll", "token": "a sequence"}

    def _load_words(self):
        return ["pipeline"]

    def disk(self):
        asked = [real_postgres.programs() + "/psql", "-h", "127.0.0.1", "-p", str(self.engine.port), "-U", real_postgres.USER,
                 "-At", "-c", "select pg_database_size('postgres')", "postgres"]
        return int(subprocess.run(asked, check=True, capture_output=True, text=True, timeout=60).stdout)

    @staticmethod
    def version(tools):
        return first_line([real_postgres.programs() + "/postgres", "--version"])
