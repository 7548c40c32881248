"""What was measured, as tables for people and as plots. A ratio is taken within a round, where both ran seconds apart."""

import plots
from tables import shown_spread, spread, table

TARGET = 1.5  # times what the engine itself costs
OPERATION_NAMES = {"cycle": "acquire+release", "renew": "renew", "heartbeat": "renew 100"}
# What is compared, and how dear it is: more is worse.
RATIOS = {"time": "time", "engine": "CPU of the engine", "servers": "CPU of engine and fronts"}


def costs(result):
    """Of one operation, in microseconds; if there was none, at least this."""
    of = result["cpu_us_of"]
    return {"time": 1e6 * result["seconds"] / max(result["good"], 1), "engine": of.get("engine", 0.0), "servers": sum(of.values())}


def rows_of(rounds):
    """rounds: [{way: {"cycle/1": result}}]; the first way is what the others are compared with."""
    first = next(iter(rounds[0]))
    rows = []
    for key in rounds[0][first]:
        operation, clients = key.split("/")
        for way in (way for way in rounds[0] if key in rounds[0][way]):
            each = [one[way][key] for one in rounds]
            row = {"operation": operation, "clients": int(clients), "way": way,
                   "retries": sum(one["retries"] for one in each), "first_retry": each[0]["first_retry"],
                   "engine_us": spread([one["cpu_us_of"].get("engine", 0.0) for one in each]),
                   "fronts_us": spread([one["cpu_us_of"].get("fronts", 0.0) for one in each])}
            for measure in ("per_second", "p50_us", "p99_us", "client_cpu_us"):
                row[measure] = spread([one[measure] for one in each])
            if way != first:
                row["ratios"] = {what: spread([costs(one[way][key])[what] / max(costs(one[first][key])[what], 1e-9)
                                               for one in rounds]) for what in RATIOS}
            rows.append(row)
    return rows


def shown_clients(count):
    return "1 client" if count == 1 else f"{count} clients"


def shown_ratio(ratio):
    return shown_spread(ratio, 2) + (f" > {TARGET}" if ratio["median"] > TARGET else "")


def shown_row(row):
    ratios = [shown_ratio(row["ratios"][what]) if "ratios" in row else "" for what in RATIOS]
    return [OPERATION_NAMES[row["operation"]], row["clients"], row["way"], f"{row['per_second']['median']:.0f}",
            f"{row['p50_us']['median'] / 1000:.2f}", f"{row['p99_us']['median'] / 1000:.2f}",
            f"{row['engine_us']['median']:.0f}", f"{row['fronts_us']['median']:.0f}",
            f"{row['client_cpu_us']['median']:.0f}", *ratios, row["retries"]]


def speed_table(store, rows):
    return table(store, ["operation", "clients", "way", "per second", "p50 ms", "p99 ms", "engine us", "fronts us", "clients us",
                         *(f"ratio of {what}" for what in RATIOS.values()), "retries"], [shown_row(row) for row in rows])


def markdown(rows_of_stores):
    """For docs/benchmarks-stores.md."""
    lines = ["| store | operation | clients | way | per second | p50 ms | p99 ms | engine us | fronts us | "
             + " | ".join(f"ratio of {what}" for what in RATIOS.values()) + " |", "|---" * (9 + len(RATIOS)) + "|"]
    for store, rows in rows_of_stores.items():
        for row in rows:
            operation, clients, way, speed, p50, p99, engine, fronts, _, *ratios, _ = shown_row(row)
            lines.append("| " + " | ".join(map(str, [store, operation, clients, way, speed, p50, p99, engine, fronts, *ratios])) + " |")
    return "\n".join(lines)


def verdicts(store, rows, fronts):
    """A line for each operation through a front: whether it costs more than it may, and in what."""
    lines = []
    for row in rows:
        if row["way"] not in fronts:
            continue
        over = [f"{name} {row['ratios'][what]['median']:.2f}" for what, name in RATIOS.items()
                if row["ratios"][what]["median"] > TARGET]
        where = f"{store}, {row['way']}, {OPERATION_NAMES[row['operation']]}, {shown_clients(row['clients'])}"
        lines.append(f"{where}: " + (f"ABOVE {TARGET}: " + ", ".join(over) if over else f"at most {TARGET}"))
    return lines


def speed_plots(rows_of_stores):
    """{file name: SVG}, of the most clients that each operation had."""
    def bars(measure, scale):
        groups = []
        for operation, name in OPERATION_NAMES.items():
            for store, rows in rows_of_stores.items():
                these = [row for row in rows if row["operation"] == operation]
                most = max((row["clients"] for row in these), default=0)
                groups.append((f"{store}, {name}", [(row["way"], *(scale * row[measure][part] for part in ("median", "min", "max")))
                                                    for row in these if row["clients"] == most]))
        return [group for group in groups if group[1]]

    return {"speed.svg": plots.logarithmic_bars("Operations per second, many clients", "per second, logarithmic",
                                                bars("per_second", 1)),
            "latency-p50.svg": plots.logarithmic_bars("Latency, half of the operations, many clients", "ms, logarithmic",
                                                      bars("p50_us", 1e-3))}
