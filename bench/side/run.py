"""The parts of `make bench`, over rounds and participants."""

import concurrent.futures
from dataclasses import dataclass, field

import conformance
import faults
import leases
import speed
from clustered import ALL, present
from harness import Trouble, in_turns, progress
from holder import end_all

BY_ONE = ("holdfast", "holdfast x3", "redis", "etcd", "postgres", "zookeeper")
SHARED_TOO = ("holdfast", "holdfast x3", "redis", "etcd", "etcd shared", "postgres", "zookeeper")
DURABLE_TOO = ("holdfast", "holdfast x3", "redis", "redis aof", "etcd", "postgres", "zookeeper")
WITH_ANOTHER = ("holdfast x3", "redis sentinel", "etcd x3", "zookeeper x3")
WITH_DISKS = ("holdfast x3", "etcd x3", "zookeeper x3", "holdfast", "redis aof", "postgres")
PARTS = {"lock": DURABLE_TOO, "renew": SHARED_TOO, "takeover": BY_ONE, "expiry": BY_ONE, "memory": SHARED_TOO, "growth": SHARED_TOO,
         "death": WITH_ANOTHER, "stall": WITH_DISKS, "held": BY_ONE, "conformance": DURABLE_TOO}
TIDY = {"lock", "held", "expiry"}


@dataclass
class Settings:
    """How much is measured."""

    rounds: int = 5
    long_rounds: int = 3  # of parts that take minutes each
    seconds: float = 3  # of a stretch of load
    settle_seconds: float = 2  # for what a server does by itself after a fill
    renewed: int = 100_000  # one of the sizes, and in everybody's limits
    sizes: tuple = (1_000, 10_000, 100_000, 1_000_000)
    kept: int = 1_000_000
    ending: tuple = (100_000, 60_000)  # leases, and milliseconds over which they end
    takeovers: int = 5
    death_seconds: float = 20
    stall_seconds: float = 12
    tries: int = 5
    at_once: int = 4  # participants in the conformance table
    clients: tuple = speed.CLIENTS
    stalled: tuple = WITH_DISKS
    limits: dict = field(default_factory=lambda: {"etcd": 100_000})  # of leases, for a peer that would take minutes to get more

    @staticmethod
    def quick():
        return Settings(rounds=1, long_rounds=1, seconds=1, settle_seconds=0.2, renewed=10_000, sizes=(1_000, 10_000), kept=100_000,
                        ending=(5_000, 5_000), takeovers=3, death_seconds=9, stall_seconds=4, tries=3, at_once=7,
                        stalled=WITH_DISKS[:3], limits=dict.fromkeys(("etcd", "zookeeper"), 20_000))


class Bench:
    """What to start, and what was found. Figures are kept by part, round and participant."""

    def __init__(self, tools, data, settings, only=None):
        """only: the names of those that take part; all that can, if there are none."""
        self.tools, self.data, self.settings = tools, data, settings
        self.only = set(only or ALL)
        self.absent = {}
        self.troubles = []
        self.running = []

    def names(self, part):
        wanted = [name for name in PARTS[part] if name in self.only and (part != "stall" or name in self.settings.stalled)]
        found, absent = present(wanted, self.tools)
        self.absent.update(absent)
        return found

    def start(self, name, **options):
        started = ALL[name](self.tools, self.data, **options)
        self.running.append(started)
        return started

    def stop(self, participant):
        self.running.remove(participant)
        participant.stop()

    def stop_all(self):
        end_all()
        for participant in self.running:
            participant.stop()
        self.running.clear()

    def run_all(self, parts):
        """{part: what run() gives}. Renewals are among what growth measures, and are not measured twice."""
        found = {}
        for part in parts:
            if part not in found and (part != "renew" or "growth" not in parts):
                try:
                    found.update(self.run([part, *self.along_with(part, parts)]))
                except Exception as error:  # an hour's work is not lost by what the last part of it does not know
                    self.stop_all()
                    self.troubles.append(f"{part}: {error!r}")
        if "renew" in parts and "renew" not in found and "growth" in found:
            wanted = f"/{self.settings.renewed}"
            found["renew"] = {"rounds": [{name: {key: value for key, value in figures.items() if key.endswith(wanted)}
                                          for name, figures in one.items()} for one in found["growth"]["rounds"]]}
        return {part: found[part] for part in parts if part in found}

    def along_with(self, part, parts):
        """Those that leave nothing behind can be measured with the same servers, one after the other."""
        return [other for other in parts if other != part and {part, other} <= TIDY and self.rounds_of(other) == self.rounds_of(part)]

    def run(self, parts):
        """{part: {"rounds": [{participant: figures}]}}, or of conformance {"cells": {participant: {rule: cell}}}"""
        if parts == ["conformance"]:
            return {"conformance": {"cells": self.conform()}}
        found = {part: {"rounds": []} for part in parts}
        names_of = {part: self.names(part) for part in parts}
        names = [name for name in ALL if any(name in each for each in names_of.values())]
        count = self.rounds_of(parts[0])
        for number in range(count):
            where = f"{', '.join(parts)}: round {number + 1} of {count}"
            order = in_turns(names, number)
            figures = {"takeover": self.take_over(order, where)} if parts == ["takeover"] else self.one_by_one(names_of, order, where)
            for part in parts:
                found[part]["rounds"].append({name: figures[part][name] for name in names if name in figures[part]})
        return found

    def rounds_of(self, part):
        is_long = part in ("expiry", "memory", "growth", "death", "stall")
        return min(self.settings.rounds, self.settings.long_rounds) if is_long else self.settings.rounds

    def one_by_one(self, names_of, names, where):
        """{part: {participant: figures}}. Nobody else's servers run meanwhile."""
        found = {part: {} for part in names_of}
        for name in names:
            participant = None
            try:
                progress(f"{where}, {name}: starts")
                participant = self.start(name)
                for part in names_of:
                    if name in names_of[part]:
                        progress(f"{where}, {name}: {part}")
                        found[part][name] = self.measure(part, participant)
            except (Trouble, OSError) as trouble:
                self.troubles.append(f"{where}, {name}: {trouble}")
            finally:
                if participant:
                    self.stop(participant)
        return found

    def measure(self, part, participant):
        settings = self.settings
        most = settings.limits.get(participant.name, 1 << 30)
        if part == "lock":
            return speed.lock(participant, settings.seconds, settings.clients)
        if part == "renew":
            return leases.renewals(participant, [settings.renewed], settings.seconds, settings.settle_seconds)
        if part == "growth":
            sizes = [size for size in settings.sizes if size <= most]
            return leases.renewals(participant, sizes, settings.seconds, settings.settle_seconds)
        if part == "memory":
            return leases.memory(participant, min(settings.kept, most), settings.settle_seconds)
        if part == "expiry":
            return speed.expiry(participant, *settings.ending)
        if part == "held":
            return leases.held(participant)
        if part == "death":
            return faults.death(participant, settings.death_seconds)
        return faults.stall(participant, settings.stall_seconds)

    def take_over(self, names, where):
        """All at once: it is waiting, and nobody has much to do."""
        progress(f"{where}, {', '.join(names)}")
        waiting = {}
        try:
            for name in names:
                participant = self.start(name)
                waiting[name] = [speed.Takeover(participant, number) for number in range(self.settings.takeovers)]
            return {name: speed.takeovers_of([each.result() for each in all_of]) for name, all_of in waiting.items()}
        except Trouble as trouble:
            self.troubles.append(f"{where}: {trouble}")
            return {}
        finally:
            self.stop_all()

    def conform(self):
        """Several at once: it is waiting."""
        names, found = self.names("conformance"), {}
        for first in range(0, len(names), self.settings.at_once):
            group = names[first:first + self.settings.at_once]
            progress(f"conformance: {', '.join(group)}")
            try:
                started = {name: self.start(name, longest_ttl_s=conformance.LONGEST_TTL_S) for name in group}
                with concurrent.futures.ThreadPoolExecutor(len(group)) as pool:
                    playing = {name: pool.submit(conformance.conformance, participant, self.settings.tries)
                               for name, participant in started.items()}
                    try:
                        found.update({name: each.result() for name, each in playing.items()})
                    except BaseException:
                        end_all()  # so that those who play come to an end, too
                        raise
            except (Trouble, OSError) as trouble:
                self.troubles.append(f"conformance: {trouble}")
            finally:
                self.stop_all()
        self.troubles += [f"conformance, {name}: {next(iter(cells.values()))['seen']}" for name, cells in found.items()
                          if all(cell["verdict"] == conformance.UNKNOWN for cell in cells.values())]
        return found
