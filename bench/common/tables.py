"""Figures of several rounds, and tables of them for people."""

import statistics


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def shown_spread(values, digits):
    if values["min"] == values["max"]:  # as of one round
        return f"{values['median']:.{digits}f}"
    return f"{values['median']:.{digits}f} ({values['min']:.{digits}f}-{values['max']:.{digits}f})"


def table(title, header, rows):
    widths = [max(len(str(row[i])) for row in [header, *rows]) for i in range(len(header))]
    lines = [title]
    for row in [header, ["-" * width for width in widths], *rows]:
        lines.append("  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
    return "\n".join(lines)
