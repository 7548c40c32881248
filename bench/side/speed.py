"""The parts in which clients ask for one lease at a time: lock (a), takeover (c) and expiry (d). Each function measures one
participant once, and gives figures by name."""

import statistics

CLIENTS = (1, 64)
TAKEOVER_TTL_MS = 4000  # the shortest session that ZooKeeper grants as it comes
EXPIRY_FIRST_MS = 2000  # beyond the time it takes to acquire; the client begins later if it needs more

PERCENTILES = ("p50_us", "p90_us", "p99_us", "p999_us")


def lock(participant, seconds, clients=CLIENTS):
    """Acquire and release: {"per_second/64": …}"""
    found = {}
    for count in clients:
        load = participant.load(count)
        try:
            result = load.run("cycle", seconds)
        finally:
            load.stop()
        for measure in ("per_second", "cpu_us", "client_cpu_us", "retries", *PERCENTILES):
            found[f"{measure}/{count}"] = result[measure]
    return found


class Takeover:
    """A takes a lease and is killed, B waits for it. B's wait is under way when this returns."""

    def __init__(self, participant, number, ttl_ms=TAKEOVER_TTL_MS):
        self.name, self.ttl_ms = f"takeover-{number}", ttl_ms
        first = participant.holder(f"first-{number}")
        self.next = participant.holder(f"next-{number}")
        try:
            self.next.ask("hello")
            self.lost = first.ask("acquire", self.name, ttl_ms)
            self.next.tell("await", self.name, ttl_ms, ttl_ms + 60_000)
        finally:
            first.kill()

    def result(self):
        """Milliseconds: how long after the end B had it, and how long before the earliest end, if it had it then."""
        try:
            won = self.next.answer(patience=self.ttl_ms / 1000 + 90)
            if not won.get("granted"):
                return {"late_ms": None, "early_ms": 0.0}
            ttl = 1e6 * self.ttl_ms
            return {"late_ms": max(0.0, (won["answered"] - self.lost["answered"] - ttl) / 1e6),
                    "early_ms": max(0.0, (self.lost["asked"] + ttl - won["answered"]) / 1e6)}
        finally:
            self.next.stop()


def takeovers_of(results):
    """Of one participant in one round."""
    late = [each["late_ms"] for each in results if each["late_ms"] is not None]
    return {"late_p50_ms": statistics.median(late) if late else float("nan"), "late_max_ms": max(late, default=float("nan")),
            "early": sum(each["early_ms"] > 0 for each in results), "granted": len(late), "tries": len(results)}


def expiry(participant, count, span_ms):
    """Leases that end evenly over a time, and when their end was seen."""
    holder = participant.holder("expiry")
    try:
        found = holder.ask("end-over", count, EXPIRY_FIRST_MS, span_ms, patience=600)
    finally:
        holder.stop()
    return {"late_p50_ms": found["late_us"]["p50"] / 1000, "late_p99_ms": found["late_us"]["p99"] / 1000,
            "late_max_ms": found["late_us"]["max"] / 1000, "early": found["early"], "seen": found["seen"], "count": found["count"],
            "way": found["way"], "curve": found["late_ms_curve"]}
