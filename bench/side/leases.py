"""The parts in which one client holds many leases: renew (b), memory (e), growth (f) and held (i). Each function measures one
participant once, and gives figures by name."""

import re
import subprocess
import time

from harness import Meter, Trouble, family

FILL_TTL_MS = 3_000_000  # longer than any of these parts
FILL_ATTEMPTS = 20


def fill(holder, count, patience=1800):
    """Goes on where it was if a server did not answer, as a client would: {"seconds", "broken_off"}, how often that was."""
    seconds, broken_off = 0.0, 0
    while True:
        begun = time.monotonic()
        found = holder.try_to("fill", count, FILL_TTL_MS, patience=patience)
        seconds += time.monotonic() - begun
        if "error" not in found:
            return {"seconds": seconds, "broken_off": broken_off}
        broken_off += 1
        if broken_off > FILL_ATTEMPTS:
            raise Trouble(f"`fill {count}`: {found['error']}")


def sent_bytes(processes):
    """All that open connections of these processes have sent, as the kernel counts it. Between two of them each byte counts once."""
    pids = {pid for process in processes for pid in family(process.pid)}
    lines = subprocess.run(["ss", "-tinpHO"], capture_output=True, text=True, timeout=60).stdout.split("\n")
    ours = [line for line in lines if pids & set(map(int, re.findall(r"pid=(\d+)", line)))]
    return sum(int(found[1]) for line in ours if (found := re.search(r"bytes_sent:(\d+)", line)))


def renewals(participant, sizes, seconds, settle_seconds):
    """Renews as fast as it goes, at each number of leases: {"cpu_us/1000": …, "per_second/1000": …}."""
    found = {}
    holder = participant.holder("many")
    try:
        for size in sizes:
            found[f"broken_off/{size}"] = fill(holder, size)["broken_off"]
            time.sleep(settle_seconds)
            everybody = [*participant.processes, holder.process]
            sent = sent_bytes(everybody)
            meter, own = Meter(participant.processes), Meter([holder.process])
            result = holder.ask("renew-all", seconds, patience=seconds + 600)
            each, spent, own_spent = 1e6 / max(1, result["renewed"]), meter.seconds(), own.seconds()
            found.update({f"cpu_us/{size}": each * spent, f"client_cpu_us/{size}": each * own_spent,
                          f"per_second/{size}": result["renewed"] / result["seconds"], f"batch/{size}": result["batch"],
                          f"sent_bytes/{size}": (sent_bytes(everybody) - sent) / max(1, result["renewed"]),
                          f"p50_us/{size}": result["p50_us"], f"p99_us/{size}": result["p99_us"]})
    finally:
        holder.stop()
    return found


def held(participant, checks=2_000_000, trips=2_000):
    """What it costs to know by oneself, and to ask."""
    holder = participant.holder("many")
    try:
        fill(holder, 1)
        trip = holder.ask("round-trips", trips)
        local = holder.ask("local-checks", checks)
    finally:
        holder.stop()
    return {"local_ns": local["mean_ns"], "trip_ns": trip["mean_ns"], "trip_p50_ns": trip["p50_ns"],
            "trips_per_check": trip["mean_ns"] / max(local["mean_ns"], 1e-3)}


def memory(participant, count, settle_seconds):
    """What a held lease takes, of servers' memory and disk."""
    holder = participant.holder("many")
    try:
        holder.ask("hello")
        fill(holder, 1)
        time.sleep(settle_seconds)
        before, disk = participant.memory(), participant.disk()
        filled = fill(holder, count)
        time.sleep(settle_seconds)
        leases = count - 1
        return {"bytes": (participant.memory() - before) / leases, "disk_bytes": (participant.disk() - disk) / leases,
                "count": count, "broken_off": filled["broken_off"], "fill_per_second": leases / max(filled["seconds"], 1e-9)}
    finally:
        holder.stop()
