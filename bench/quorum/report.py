"""What was measured, as tables for people and as plots. A ratio is taken within a round, where both ran seconds apart."""

import plots
from tables import shown_spread, spread, table

SPEED_TARGET = 10  # times etcd's acquire+release
OPERATION_NAMES = {"cycle": "acquire+release", "renew": "renew"}


def speed_rows(rounds):
    """rounds: [{participant: {"cycle/1": result}}]; etcd is what the others are compared with."""
    rows = []
    for key in rounds[0]["etcd"]:
        operation, clients = key.split("/")
        for name in rounds[0]:
            row = {"operation": operation, "clients": int(clients), "name": name}
            for measure in ("per_second", "p50_us", "p99_us", "cpu_us", "client_cpu_us"):
                row[measure] = spread([each[name][key][measure] for each in rounds])
            row["ratio"] = spread([each[name][key]["per_second"] / each["etcd"][key]["per_second"] for each in rounds])
            row["retries"] = sum(each[name][key]["retries"] for each in rounds)
            rows.append(row)
    return rows


def speed_table(rows):
    lines = []
    for row in rows:
        ratio = shown_spread(row["ratio"], 1)
        if row["name"] == "etcd":
            ratio = "1"
        elif row["operation"] == "cycle":
            ratio += f" >= {SPEED_TARGET}"
        lines.append([OPERATION_NAMES[row["operation"]], row["clients"], row["name"], f"{row['per_second']['median']:.0f}", ratio,
                      f"{row['p50_us']['median'] / 1000:.2f}", f"{row['p99_us']['median'] / 1000:.2f}",
                      f"{row['cpu_us']['median']:.0f}", f"{row['client_cpu_us']['median']:.0f}", row["retries"]])
    return table("Speed", ["operation", "clients", "of", "per second", "ratio to etcd", "p50 ms", "p99 ms", "CPU us of all nodes",
                           "of clients", "retries"], lines)


def gap_table(title, rows):
    """rows: [{"what", "gap_ms", "wait_ms", "during", "before", "leader"}], each a spread over the rounds, or words."""
    lines = [[row["what"], shown_spread(row["gap_ms"], 0), shown_spread(row["wait_ms"], 0), f"{row['before']['median']:.0f}",
              f"{row['during']['median']:.0f}", row["leader"], row["note"]] for row in rows]
    return table(title, ["what", "longest gap ms", "longest wait of one client ms", "per second before", "during",
                         "the leader stayed", ""], lines)


def speed_plots(rows):
    """{file name: SVG}"""
    groups = list(dict.fromkeys((row["operation"], row["clients"]) for row in rows))

    def bars(measure, scale):
        return [(f"{OPERATION_NAMES[operation]}, {clients}",
                 [(row["name"], *(scale * row[measure][part] for part in ("median", "min", "max")))
                  for row in rows if (row["operation"], row["clients"]) == (operation, clients)])
                for operation, clients in groups]

    return {"speed.svg": plots.logarithmic_bars("Operations per second, by number of clients", "per second, logarithmic",
                                                bars("per_second", 1)),
            "latency-p50.svg": plots.logarithmic_bars("Latency, half of the operations", "ms, logarithmic", bars("p50_us", 1e-3)),
            "latency-p99.svg": plots.logarithmic_bars("Latency, 99 of 100 operations", "ms, logarithmic", bars("p99_us", 1e-3))}


def rate(found, begin, finish):
    """Operations per second between two times of a stretch, by its slots of 100 ms that lie wholly within."""
    slots = found["per_100ms"] + [0] * (int(10 * found["seconds"]) - len(found["per_100ms"]))
    within = slots[int(10 * begin) + 1:int(10 * finish)]
    return 10 * sum(within) / len(within) if within else 0.0


def fault_rows(rounds):
    """rounds: [{case: result}]. What is `during` of a kill is the second after it."""
    rows = []
    for what in rounds[0]:
        each = [one[what] for one in rounds]
        stayed = [one["leader_stayed"] for one in each]
        appends = [one["append_seconds"] for one in each if one.get("append_seconds")]
        note = f"an entry of the log took {max(appends):.1f} s" if appends else ""
        rows.append({"what": what, "gap_ms": spread([one["longest_gap_ms"] for one in each]),
                     "wait_ms": spread([one["longest_wait_ms"] for one in each]),
                     "before": spread([rate(one, 0, one["fault_from"]) for one in each]),
                     "during": spread([rate(one, one["fault_from"], max(one["fault_to"], one["fault_from"] + 1)) for one in each]),
                     "leader": "-" if None in stayed else f"{sum(stayed)} of {len(stayed)}",
                     "note": note})
    return rows
