"""The parts in which something breaks under the load of 16 clients: death (g) of a node, and stall (h) of disks. Each function
measures one participant once, and gives figures by name, and what happened in each tenth of a second. `open` is 1 if nobody got
anything any more when the load ended: then the gap is longer than it says."""

import time
import types

from clusters import Stall
from harness import family

CLIENTS = 16  # fewer than saturate the machine, so that what is seen is the fault
ATTEMPT_MS = 1000  # then a client asks another node
BEFORE_SECONDS, AFTER_SECONDS = 2, 2


def under_load(participant, seconds, fault):
    load = participant.load(CLIENTS, ATTEMPT_MS)
    try:
        load.begin("cycle", seconds)
        time.sleep(BEFORE_SECONDS)
        began = time.monotonic()
        fault()
        ended = time.monotonic()
        found = load.result()
    finally:
        load.stop()
    slots = found["per_100ms"] + [0] * (int(10 * found["seconds"]) - len(found["per_100ms"]))
    begin = began - found["started"]
    before = slots[:int(10 * begin)]
    return {"gap_ms": found["longest_gap_ms"], "wait_ms": found["longest_wait_ms"],
            "open": int(not any(slots[-5:])), "before_per_second": 10 * sum(before) / max(1, len(before)), "retries": found["retries"], "from": begin,
            "to": ended - found["started"], "per_100ms": slots}


def death(participant, seconds):
    """The leader is killed; where there is none, the first."""
    def kill():
        process = participant.processes[participant.leader()]
        process.kill()
        process.wait()

    return under_load(participant, seconds, kill)


def stall(participant, seconds):
    """Every fsync of the leader takes 10 s longer."""
    def hold_up():
        pids = family(participant.processes[participant.leader()].pid)  # PostgreSQL is many
        stalled = Stall([types.SimpleNamespace(pid=pid) for pid in pids])
        try:
            time.sleep(seconds)
        finally:
            stalled.end()

    return under_load(participant, BEFORE_SECONDS + seconds + AFTER_SECONDS, hold_up)
