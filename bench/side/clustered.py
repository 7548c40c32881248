"""The participants that are only there as a cluster or have a server of their own kind: Redis with sentinels, ZooKeeper. And all
of them by name."""

import pathlib
import shutil
import subprocess

from participants import (Etcd, EtcdCluster, EtcdShared, Holdfast, HoldfastQuorum, Participant, Postgres, Redis, RedisAof,
                          first_line, wait_until)
from servers import load_redis_scripts
from free_ports import free_ports
from real_redis import start, start_redis
import engines
import real_zookeeper

DOWN_AFTER_MS = 1000  # Redis' own default is 30 s
HEAP_MB = 2048  # for a million nodes


class RedisSentinel(Participant):
    """A master, a replica that gets its changes a moment later, and three who watch. Clients know both servers; one that is not the
    master refuses to write."""

    name, peer, nodes = "redis sentinel", "redis", 2
    load_tool = "lock_load"
    kept_in = "memory, copied later"
    promises = {**Redis.promises, "replicated": "a moment after the answer"}

    def _start(self):
        self.all_ports = free_ports(5)
        self.processes = []
        for i, port in enumerate(self.ports):
            (self.directory / str(i)).mkdir()
            self.processes.append(start_redis(port, str(self.directory / str(i))))
        for port in self.ports:
            wait_until("an answer of Redis", lambda: engines.answers(port))
        self.ask(self.ports[1], "REPLICAOF", "127.0.0.1", self.ports[0])
        wait_until("the replica's copy", lambda: "master_link_status:up" in self.ask(self.ports[1], "INFO", "replication"))
        for port in self.all_ports[2:]:
            self._start_sentinel(port)
        for port in self.all_ports[2:]:
            wait_until("the sentinels", lambda: engines.answers(port) and self._is_complete(port))

    def _start_sentinel(self, port):
        folder = self.directory / f"sentinel-{port}"
        folder.mkdir()
        settings = folder / "sentinel.conf"
        settings.write_text(f"port {port}\nbind 127.0.0.1\ndir {folder}\nsentinel monitor main 127.0.0.1 {self.ports[0]} 2\n"
                            f"sentinel down-after-milliseconds main {DOWN_AFTER_MS}\nsentinel failover-timeout main 10000\n")
        self.processes.append(start(["redis-server", str(settings), "--sentinel"],
                                    executable=shutil.which("redis-server") or shutil.which("redis-check-rdb"), cwd=folder,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def _is_complete(self, port):
        lines = self.ask(port, "SENTINEL", "MASTER", "main").split("\n")
        known = dict(zip(lines[::2], lines[1::2]))
        return known.get("num-slaves") == "1" and known.get("num-other-sentinels") == "2"

    @staticmethod
    def ask(port, *words):
        return subprocess.run(["redis-cli", "-p", str(port), *map(str, words)], capture_output=True, text=True, timeout=20).stdout

    @property
    def ports(self):
        return self.all_ports[:2]

    def _load_words(self):
        return ["redis", *[load_redis_scripts(port) for port in self.ports][0]]

    version = Redis.version


class ZooKeeper(Participant):
    """Its data are on disk before it answers. A lock is an ephemeral node in a session."""

    name = peer = "zookeeper"
    load_tool = "zookeeper_load"
    kept_in = "disk"
    promises = {"durable": "yes", "replicated": "no", "waiting": "by watching", "token": "the transaction (czxid)"}

    @staticmethod
    def find_server():
        return real_zookeeper.find_java(), real_zookeeper.find_zookeeper()

    def _start(self):
        self.ensemble = real_zookeeper.Zookeeper(self.directory, self.nodes, heap_mb=HEAP_MB if self.nodes == 1 else None)

    @property
    def processes(self):
        return self.ensemble.processes

    @property
    def ports(self):
        return self.ensemble.ports

    def leader(self):
        return self.ensemble.leader()

    def start_again(self):
        for server in range(self.nodes):
            self.ensemble.start(server, wait=False)

    def stop(self):
        if hasattr(self, "ensemble"):
            self.ensemble.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @staticmethod
    def version(tools):
        return first_line([real_zookeeper.find_java(), "-cp", real_zookeeper.find_zookeeper(),
                           "org.apache.zookeeper.version.VersionInfoMain"])


class ZooKeeperCluster(ZooKeeper):
    name, nodes = "zookeeper x3", 3
    kept_in = "three disks"
    promises = {**ZooKeeper.promises, "replicated": "on three disks"}


ALL = {kind.name: kind for kind in (Holdfast, HoldfastQuorum, Redis, RedisAof, RedisSentinel, Etcd, EtcdShared, EtcdCluster, Postgres,
                                    ZooKeeper, ZooKeeperCluster)}


def present(names, tools):
    """Those that can take part, and {name: why not} of the others."""
    absent = {name: why for name in names if (why := ALL[name].missing(pathlib.Path(tools)))}
    return [name for name in names if name not in absent], absent
