"""The generated parts of docs/benchmarks.md and docs/scaling.md: what stands between `<!-- generated: NAME -->` and
`<!-- end -->`. The rest is written by hand and stays."""

import re

import conformance
import report
import scaling
from clustered import ALL
from run import PARTS

PICTURES = {"lock": ("throughput", "latency", "cpu"), "growth": ("growth",), "memory": ("memory",), "expiry": ("expiry",),
            "takeover": ("takeover",), "death": ("death",), "stall": ("stall",)}


def replaced(text, name, body):
    """The text with another body in that place. There must be one."""
    pattern = re.compile(rf"(<!-- generated: {re.escape(name)} -->\n).*?(<!-- end -->)", re.S)
    found, count = pattern.subn(lambda match: f"{match[1]}\n{body.strip()}\n\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"there are {count} places for {name}")
    return found


def stamp(found, part):
    """When and how, since each part can be of another run."""
    rounds = len(found["parts"][part].get("rounds", [1]))
    settings = "one round" if rounds == 1 else f"{rounds} rounds"
    return (f"`scripts/bench {part}{' --quick' if found['quick'] else ''}`, {settings}, {found['date']}, load average before "
            f"{found['load_average_before'][0]:.1f} on {found['processors']} processors.")


def part_body(found, part):
    if part == "conformance":
        return stamp(found, part) + "\n\n" + report.conformance_markdown(found["parts"][part]["cells"], conformance.RULES)
    rounds = found["parts"][part]["rounds"]
    blocks = [stamp(found, part)]
    blocks += [report.markdown_of(made, report.rows_of(rounds, made)) for made in report.tables_of(part, rounds)]
    blocks += [f"![{name}](benchmarks/{name}.svg)" for name in PICTURES.get(part, ())]
    return "\n\n".join(blocks)


def promises_body(found):
    rows = [[name, found["versions"][name], *ALL[name].promises.values()] for name in ALL
            if name in found["versions"]]
    return report.markdown_table(["", "version", "durable", "replicated", "waiting", "token"], rows)


def behind_lines(found):
    lines = []
    for part in PARTS:
        if part in found["parts"] and part != "conformance":
            rounds = found["parts"][part]["rounds"]
            lines += [line for made in report.tables_of(part, rounds) for line in report.behind(made, report.rows_of(rounds, made))]
    return lines


def is_whole(found):
    return set(PARTS) <= set(found["parts"])


def write(found, docs, pictures):
    """Only the places of what was measured; what needs all of it only if all of it was."""
    page = docs / "benchmarks.md"
    text = page.read_text()
    for part in found["parts"]:
        text = replaced(text, part, part_body(found, part))
    if is_whole(found):
        text = replaced(text, "participants", promises_body(found))
        text = replaced(text, "behind", "\n".join(f"- {line}" for line in behind_lines(found)) or "Nowhere, in this run.")
    page.write_text(text)
    if {"lock", "renew", "memory"} <= set(found["parts"]):
        page = docs / "scaling.md"
        page.write_text(replaced(page.read_text(), "arithmetic", scaling.body(scaling.figures_of(found))))
    (docs / "benchmarks").mkdir(exist_ok=True)
    for name, svg in pictures.items():
        (docs / "benchmarks" / name).write_text(svg)
