"""What was measured, as tables for people. A ratio is taken within a round, where both ran seconds apart."""

import statistics

from tables import shown_spread, spread, table

# What issue 4 asks for: (operation, pipelined, measure) to the ratio to reach.
TARGETS = {("renew", True, "cpu_us"): "<= 0.25", ("acquire", True, "cpu_us"): "<= 0.50"}
TARGETS.update({(operation, False, "per_second"): ">= 1.00" for operation in ("acquire", "renew", "release")})
MEMORY_TARGET = "< 1.00"


def ratios(rounds, name, baseline, operation, pipeline, measure):
    """Of one server to the baseline, one for each round."""
    key = f"{operation}/{pipeline}"
    return [each[name][key][measure] / each[baseline][key][measure] for each in rounds]


def medians(rounds, name, operation, pipeline, measure):
    return statistics.median(each[name][f"{operation}/{pipeline}"][measure] for each in rounds)


def summarise(rounds, names, operations, pipelines):
    """One row for each server besides the first, operation and pipeline."""
    baseline = names[0]
    rows = []
    for operation in operations:
        for pipeline in pipelines:
            for name in names[1:]:
                if f"{operation}/{pipeline}" not in rounds[0][name]:
                    continue
                row = {"operation": operation, "pipeline": pipeline, "server": name}
                for measure in ("per_second", "cpu_us"):
                    row[measure] = {"baseline": medians(rounds, baseline, operation, pipeline, measure),
                                    "own": medians(rounds, name, operation, pipeline, measure),
                                    "ratio": spread(ratios(rounds, name, baseline, operation, pipeline, measure))}
                row["busy"] = {"baseline": medians(rounds, baseline, operation, pipeline, "busy"),
                               "own": medians(rounds, name, operation, pipeline, "busy")}
                rows.append(row)
    return rows


def shown_ratio(ratio, target=None):
    text = shown_spread(ratio, 2)
    return f"{text} {target}" if target else text


def speed_table(title, rows, baseline):
    lines = []
    for row in rows:
        speed, cost = row["per_second"], row["cpu_us"]
        pipelined = row["pipeline"] > 1
        targets = [TARGETS.get((row["operation"], pipelined, measure)) for measure in ("per_second", "cpu_us")]
        lines.append([row["operation"], row["pipeline"], row["server"],
                      f"{speed['baseline'] / 1000:.0f}k", f"{speed['own'] / 1000:.0f}k", shown_ratio(speed["ratio"], targets[0]),
                      f"{cost['baseline']:.2f}", f"{cost['own']:.2f}", shown_ratio(cost["ratio"], targets[1]),
                      f"{row['busy']['baseline']:.0%} {row['busy']['own']:.0%}"])
    return table(title, ["operation", "pipeline", "server", f"{baseline}/s", "its/s", "ratio of speed", f"{baseline} us",
                         "its us", "ratio of CPU", "busy"], lines)


def memory_table(bytes_per_lease, baseline):
    lines = [[name, f"{size:.0f}", f"{size / bytes_per_lease[baseline]:.2f}" + (f" {MEMORY_TARGET}" if name != baseline else "")]
             for name, size in bytes_per_lease.items()]
    return table("Resident bytes per held lease", ["server", "bytes", "ratio"], lines)
