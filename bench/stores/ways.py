"""The stores that are measured, and the ways to keep a lock in each: with the engine itself, and through fronts of Holdfast.
Loopback only, free ports, stopped by pid."""

import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))

import clusters  # noqa: E402
from harness import Load, Trouble, find_etcd  # noqa: E402
from servers import ROOT, Front, PostgresOnDisk, RedisInMemory, load_redis_scripts  # noqa: E402
import engines  # noqa: E402

LOCKS_EACH = 20  # few enough that each has a history when the measurement begins
ATTEMPT_MS = 10_000  # nothing fails here, but a machine may be busy
DIRECTLY, ONE, TWO, ALONE = "directly", "one front", "two fronts", "no engine"
KEEP_ALIVES, STATEMENT = "by keep-alives", "by one statement"  # what else an engine can do, for some operations
FRONTS = {ONE: 1, TWO: 2}


class Store:
    """Where leases are kept. `ways` are measured one after the other; what the others are compared with is the first."""

    ways = (DIRECTLY, ONE, TWO)
    only = {}  # ways that differ from the first only in some operations

    def __init__(self, holdfast, data):
        self.holdfast = pathlib.Path(holdfast).resolve()
        self.tools = self.holdfast.parent
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"{self.name}-", dir=data))
        self.engine = None
        self.fronts = []
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        try:
            self.engine = self.make_engine(str(self.directory / "engine"))
        except AssertionError as error:
            raise Trouble(str(error)) from None

    def begin(self, way):
        """What must run for this way, and nothing else: an idle front would be told of what another does."""
        while len(self.fronts) > FRONTS.get(way, 0):
            self.fronts.pop().stop()
        while len(self.fronts) < FRONTS.get(way, 0):
            self.fronts.append(Front(self.holdfast, self.directory, self.engine.url("holdfast")))

    def load(self, way, clients):
        name = f"{self.name}, {way}"
        if way in FRONTS:
            return self._load(name, ["lock_load", "resp"], clients, [front.resp for front in self.fronts])
        return self._load(name, self._direct_command(way), clients, [self.engine.port])

    def _load(self, name, command, clients, ports):
        servers = {"engine": [self.engine.process], "fronts": [front.process for front in self.fronts]}
        return Load(name, [self.tools / command[0], *command[1:]], clients, ports, servers, LOCKS_EACH, ATTEMPT_MS)

    def stop(self):
        for front in self.fronts:
            front.stop()
        if self.engine:
            self.engine.clean_up()
        shutil.rmtree(self.directory, ignore_errors=True)


class Memory(Store):
    """A server by itself, for what Holdfast costs without an engine."""

    name = "memory"
    ways = (ALONE,)

    def _start(self):
        front = Front(self.holdfast, self.directory)
        self.fronts.append(front)

    def begin(self, way):
        pass

    def load(self, way, clients):
        front = self.fronts[0]
        return Load(self.name, [self.tools / "lock_load", "resp"], clients, [front.resp], {"fronts": [front.process]},
                    LOCKS_EACH, ATTEMPT_MS)


class Quorum(Memory):
    """Three members on this machine, for the same."""

    name = "quorum"

    def _start(self):
        self.cluster = clusters.Holdfast(self.holdfast, self.directory)

    def load(self, way, clients):
        return Load(self.name, [self.tools / "lock_load", "resp"], clients, self.cluster.ports[6:9],
                    {"fronts": self.cluster.processes}, LOCKS_EACH, ATTEMPT_MS)

    def stop(self):
        if hasattr(self, "cluster"):
            self.cluster.stop()
        super().stop()


class Redis(Store):
    """It keeps nothing on disk, as in bench-resp."""

    name = "redis"
    make_engine = RedisInMemory

    def _start(self):
        super()._start()
        self.scripts = load_redis_scripts(self.engine.port)

    def _direct_command(self, way):
        return ["lock_load", "redis", *self.scripts]


class Postgres(Store):
    """Commits are on disk before they are answered, to everybody."""

    name = "postgres"
    make_engine = PostgresOnDisk
    ways = (DIRECTLY, STATEMENT, ONE, TWO)
    only = {STATEMENT: ("heartbeat",)}

    def _direct_command(self, way):
        return ["postgres_load", "statement" if way == STATEMENT else "pipeline"]


class Etcd(Store):
    """A cluster of one, with its defaults."""

    name = "etcd"
    make_engine = engines.EtcdEngine
    ways = (DIRECTLY, KEEP_ALIVES, ONE, TWO)
    only = {KEEP_ALIVES: ("renew", "heartbeat")}

    def _start(self):
        find_etcd(ROOT)
        super()._start()

    def _direct_command(self, way):
        return ["etcd_load", "keep-alive" if way == KEEP_ALIVES else "transaction"]


STORES = {store.name: store for store in (Memory, Quorum, Redis, Postgres, Etcd)}
