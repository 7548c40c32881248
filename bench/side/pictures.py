"""What was measured, as plots: medians over the rounds."""

import statistics

import plots
from report import figures, sizes_of
from speed import PERCENTILES
from tables import spread

PERCENTILE_NAMES = ("50 %", "90 %", "99 %", "99.9 %")


def names_in(rounds):
    return list(dict.fromkeys(name for one in rounds for name in one))


def median(rounds, name, key):
    values = figures(rounds, name, key)
    return statistics.median(values) if values else None


def bars(rounds, keys, scale=1.0):
    """keys: {label of a group: key}"""
    groups = []
    for label, key in keys.items():
        found = []
        for name in names_in(rounds):
            values = [scale * value for value in figures(rounds, name, key) if value > 0]
            if values:
                each = spread(values)
                found.append((name, each["median"], each["min"], each["max"]))
        groups.append((label, found))
    return [group for group in groups if group[1]]


def of_lock(rounds):
    clients = sizes_of(rounds, "per_second")
    named = {count: f"{count} client{'s' * (count > 1)}" for count in clients}
    most = clients[-1]
    curves = {name: [(i, median(rounds, name, f"{key}/{most}") / 1000) for i, key in enumerate(PERCENTILES)]
              for name in names_in(rounds)}
    return {
        "throughput.svg": plots.logarithmic_bars("Acquire and release: operations per second", "per second, logarithmic",
                                                 bars(rounds, {named[count]: f"per_second/{count}" for count in clients}), 300),
        "cpu.svg": plots.logarithmic_bars("Acquire and release: CPU of all servers for one operation", "us, logarithmic",
                                          bars(rounds, {named[count]: f"cpu_us/{count}" for count in clients}), 300),
        "latency.svg": plots.lines(f"Acquire and release: latency, {named[most]}", "share of the operations", "ms, logarithmic",
                                   curves, y_logarithmic=True, x_marks=list(enumerate(PERCENTILE_NAMES)))}


def of_growth(rounds):
    curves = {name: [(size, value) for size in sizes_of(rounds, "cpu_us") if (value := median(rounds, name, f"cpu_us/{size}"))]
              for name in names_in(rounds)}
    return {"growth.svg": plots.lines("CPU of the servers for a renewal, by the number of leases held", "leases, logarithmic",
                                      "us, logarithmic", {name: curve for name, curve in curves.items() if curve},
                                      x_logarithmic=True, y_logarithmic=True)}


def of_memory(rounds):
    return {"memory.svg": plots.logarithmic_bars("Memory of the servers for a held lease", "bytes, logarithmic",
                                                 bars(rounds, {"in memory": "bytes", "on disk": "disk_bytes"}), 300)}


def of_expiry(rounds):
    """Of the last round: percentiles cannot be averaged."""
    curves = {name: [(x, max(y, 0.01)) for x, y in enumerate(found["curve"])] for name, found in rounds[-1].items()}
    return {"expiry.svg": plots.lines("How late the end of a lease is seen", "percent of the leases", "ms, logarithmic", curves,
                                      y_logarithmic=True)}


def of_takeover(rounds):
    return {"takeover.svg": plots.logarithmic_bars("From the end of a lease to its next holder", "ms, logarithmic",
                                                   bars(rounds, {"half of them": "late_p50_ms", "the last": "late_max_ms"}), 300)}


def of_faults(part, title):
    def made(rounds):
        drawn = [(name, name, found["per_100ms"], [(found["from"], found["to"], part)]) for name, found in rounds[0].items()]
        return {f"{part}.svg": plots.time_lines(title, drawn)}
    return made


OF_PART = {"lock": of_lock, "growth": of_growth, "memory": of_memory, "expiry": of_expiry, "takeover": of_takeover,
           "death": of_faults("death", "A node is killed: acquire and release per 100 ms, first round"),
           "stall": of_faults("stall", "Every fsync takes 10 s longer: acquire and release per 100 ms, first round")}


def pictures(rounds_of):
    """{file name: SVG}, of {part: rounds}"""
    return {name: svg for part, rounds in rounds_of.items() if part in OF_PART for name, svg in OF_PART[part](rounds).items()}
