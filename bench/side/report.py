"""What was measured, as tables. A ratio is to Holdfast's figure (one node; of faults, three) in the same round, where both ran seconds
or a few minutes apart; shown are the median over the rounds, and their spread."""

import math
from dataclasses import dataclass

from clustered import ALL
from tables import shown_spread, spread, table

ONE, THREE = "holdfast", "holdfast x3"


@dataclass(frozen=True)
class Column:
    """A figure of a part. `better` says which is: more of it, less of it, or neither."""

    key: str
    title: str
    digits: int = 0
    scale: float = 1.0
    better: str = ""


@dataclass(frozen=True)
class Table:
    part: str
    title: str
    columns: tuple
    base: str = ONE


def lock_columns(clients):
    return (Column(f"per_second/{clients}", "per second", better="more"), Column(f"p50_us/{clients}", "p50 ms", 3, 1e-3, "less"),
            Column(f"p99_us/{clients}", "p99 ms", 2, 1e-3, "less"), Column(f"cpu_us/{clients}", "server CPU us", 1, better="less"),
            Column(f"client_cpu_us/{clients}", "client CPU us", 1))


def shown_count(count):
    return f"{count:,}"


def sizes_of(rounds, measure):
    """The numbers of leases at which it was measured."""
    return sorted({int(key.split("/")[1]) for one in rounds for figures in one.values() for key in figures
                   if key.startswith(measure + "/")})


FAULT_COLUMNS = (Column("gap_ms", "longest gap ms", better="less"), Column("wait_ms", "longest wait of one client ms", better="less"),
                 Column("before_per_second", "per second before"), Column("open", "not over at the end"))


def tables_of(part, rounds):
    """The tables of a part. Those about leases depend on how many there were."""
    if part == "lock":
        return [Table(part, f"Acquire and release, {clients} client{'s' * (clients > 1)}", lock_columns(clients))
                for clients in sizes_of(rounds, "per_second")]
    if part == "renew":
        return [Table(part, f"Renew {shown_count(size)} held leases", (
            Column(f"per_second/{size}", "renewals per second", better="more"),
            Column(f"cpu_us/{size}", "server CPU us", 2, better="less"),
            Column(f"client_cpu_us/{size}", "client CPU us", 2), Column(f"sent_bytes/{size}", "bytes sent", 1),
            Column(f"batch/{size}", "by one request"))) for size in sizes_of(rounds, "cpu_us")]
    if part == "takeover":
        return [Table(part, "From the end of a lease to its next holder", (
            Column("late_p50_ms", "p50 ms", 1, better="less"), Column("late_max_ms", "most ms", 1, better="less"),
            Column("early", "too early"), Column("tries", "tries")))]
    if part == "expiry":
        return [Table(part, "From the end of a lease to when its end is seen", (
            Column("late_p50_ms", "p50 ms", 2, better="less"), Column("late_p99_ms", "p99 ms", 2, better="less"),
            Column("late_max_ms", "most ms", 1, better="less"), Column("early", "too early"), Column("seen", "seen")))]
    if part == "memory":
        return [Table(part, "What a held lease takes", (
            Column("bytes", "bytes of memory", better="less"), Column("disk_bytes", "bytes on disk"), Column("count", "leases"),
            Column("fill_per_second", "acquired per second"), Column("broken_off", "broken off")))]
    if part == "growth":
        return [Table(part, "Server CPU us for a renewal, by the number of leases", tuple(
            Column(f"cpu_us/{size}", shown_count(size), 2, better="less") for size in sizes_of(rounds, "cpu_us")))]
    if part == "held":
        return [Table(part, "To know that one still holds", (
            Column("local_ns", "by oneself ns", 1, better="less"), Column("trip_ns", "by asking ns", better="less"),
            Column("trips_per_check", "asking, in checks of one's own")))]
    titles = {"death": "A node is killed", "stall": "Every fsync of a node takes 10 s longer"}
    return [Table(part, titles[part], FAULT_COLUMNS, THREE)]


def is_figure(value):
    return isinstance(value, (int, float)) and not math.isnan(value)


def figures(rounds, name, key):
    """Of those rounds that have it."""
    return [one[name][key] for one in rounds if name in one and is_figure(one[name].get(key))]


def rows_of(rounds, made):
    """[{"name", "raw": {key: spread}, "ratio": {key: spread}}], for those in the rounds."""
    rows = []
    for name in dict.fromkeys(name for one in rounds for name in one):
        row = {"name": name, "raw": {}, "ratio": {}}
        for column in made.columns:
            raw = figures(rounds, name, column.key)
            pairs = [(one[name][column.key], one[made.base][column.key]) for one in rounds if name in one and made.base in one
                     and is_figure(one[name].get(column.key)) and is_figure(one[made.base].get(column.key))]
            if raw:
                row["raw"][column.key] = spread([column.scale * value for value in raw])
            if column.better and name != made.base and pairs and all(base > 0 for _, base in pairs):
                row["ratio"][column.key] = spread([value / base for value, base in pairs])
        rows.append(row)
    return rows


def shown_ratio(ratio):
    """With as many digits as tell something."""
    return shown_spread(ratio, 2 if ratio["median"] < 10 else 1 if ratio["median"] < 100 else 0)


def shown_row(row, made):
    cells = [row["name"], ALL[row["name"]].kept_in]
    for column in made.columns:
        if column.better:
            ratio = row["ratio"].get(column.key)
            cells.append(shown_ratio(ratio) if ratio else "1" if row["name"] == made.base and column.key in row["raw"] else "-")
        raw = row["raw"].get(column.key)
        cells.append(f"{raw['median']:,.{column.digits}f}" if raw else "-")
    return cells


def header(made):
    cells = ["of", "kept in"]
    for column in made.columns:
        cells += [f"{column.title}: ratio", ""] if column.better else [column.title]
    return cells


def text_of(made, rows):
    return table(made.title, header(made), [shown_row(row, made) for row in rows])


def markdown_table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def markdown_of(made, rows):
    return f"**{made.title}**\n\n" + markdown_table(header(made), [shown_row(row, made) for row in rows])


def behind(made, rows):
    """A line for each figure in which a peer is better than what it is compared with, by the median, by half a percent at least.
    A lead that some rounds do not show may be none."""
    lines = []
    for row in rows:
        if row["name"] in (ONE, THREE):
            continue
        for column in made.columns:
            ratio = row["ratio"].get(column.key)
            if not ratio:
                continue
            more = column.better == "more"
            if ratio["median"] > 1.005 if more else ratio["median"] < 0.995:
                always = ratio["min"] > 1 if more else ratio["max"] < 1
                lines.append(f"{made.title}, {column.title}: {row['name']} has {shown_ratio(ratio)} of what {made.base} has"
                             + ("" if always else ", not in every round"))
    return lines


def conformance_rows(cells_of, rules):
    """cells_of: {participant: {rule: cell}}"""
    return [[name, *(f"{cells[rule]['verdict']} ({cells[rule]['tries']})" for rule in rules)] for name, cells in cells_of.items()]


def conformance_text(cells_of, rules):
    return table("Conformance, with the number of tries", ["of", *rules.values()], conformance_rows(cells_of, rules))


def conformance_markdown(cells_of, rules):
    lines = [markdown_table(["", *rules.values()], conformance_rows(cells_of, rules)), "", "What was seen:", ""]
    for rule, title in rules.items():
        lines.append(f"- *{title}*: " + "; ".join(f"**{name}** {cells[rule]['seen']}" for name, cells in cells_of.items()) + ".")
    return "\n".join(lines)
