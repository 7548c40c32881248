"""What was measured, as SVG. No library: a plot here is a few rectangles, lines and words."""

import math

COLOURS = {"etcd": "#c2571a", "holdfast resp": "#1f6fb4", "holdfast http": "#7fb3dc", "holdfast": "#1f6fb4",
           "directly": "#c2571a", "by keep-alives": "#e8a678", "by one statement": "#e8a678",
           "one front": "#1f6fb4", "two fronts": "#7fb3dc",
           "no engine": "#5a8f3c", "holdfast x3": "#7fb3dc", "redis": "#c62828", "redis aof": "#ef9a9a",
           "redis sentinel": "#ef9a9a", "etcd x3": "#e8a678",
           "etcd shared": "#e8a678", "postgres": "#6a4c93", "zookeeper": "#5a8f3c",
           "zookeeper x3": "#a5c88f"}
INK, GRID, PAPER = "#333333", "#dddddd", "#ffffff"


class Canvas:
    """Things at places in pixels, and the text of the file."""

    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = []
        self.text(16, 26, title, size=16, weight="bold")

    def rect(self, x, y, width, height, fill, opacity=1.0):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
                          f'fill-opacity="{opacity}"/>')

    def line(self, points, colour, width=1.0, dashes=None):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>')

    def text(self, x, y, words, size=12, anchor="start", colour=INK, weight="normal"):
        escaped = str(words).replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
                          f'font-weight="{weight}">{escaped}</text>')

    def svg(self):
        paper = f'<rect x="0" y="0" width="{self.width}" height="{self.height}" fill="{PAPER}"/>\n'
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
                f'viewBox="0 0 {self.width} {self.height}" font-family="sans-serif">\n' + paper + "\n".join(self.parts) + "\n</svg>\n")


def shown(number):
    """A number of any size in few digits."""
    if number >= 1_000_000:
        return f"{number / 1e6:.3g}M"
    if number >= 10_000:
        return f"{number / 1000:.0f}k"
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def logarithmic_bars(title, unit, groups, group_width=150):
    """groups: [(label, [(series, median, least, most)])]. Bars from the decade below the least, with their spread."""
    values = [value for _, bars in groups for _, median, least, most in bars for value in (median, least, most) if value > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    left, top, width, height = 70, 60, group_width * len(groups) + 20, 260
    canvas = Canvas(left + width + 20, top + height + 60, title)

    def y_of(value):
        return top + height * (1 - (math.log10(max(value, 10 ** low)) - low) / (high - low))

    for decade in range(low, high + 1):
        y = y_of(10 ** decade)
        canvas.line([(left, y), (left + width, y)], GRID)
        canvas.text(left - 8, y + 4, shown(10 ** decade), anchor="end")
    canvas.text(16, 46, unit, colour="#777777")
    for i, (label, bars) in enumerate(groups):
        slot = min((group_width - 20) / len(bars), 65)
        for j, (series, median, least, most) in enumerate(bars):
            x = left + 20 + group_width * i + slot * j
            canvas.rect(x, y_of(median), slot - 6, top + height - y_of(median), COLOURS[series])
            middle = x + (slot - 6) / 2
            canvas.line([(middle, y_of(least)), (middle, y_of(most))], INK, 1.5)
            canvas.text(middle, y_of(most) - 5, shown(median), size=11, anchor="middle")
        canvas.text(left + 20 + group_width * i + (group_width - 26) / 2, top + height + 18, label, anchor="middle")
    legend(canvas, left, top + height + 42, list(dict.fromkeys(series for _, bars in groups for series, *_ in bars)))
    return canvas.svg()


def legend(canvas, left, y, names):
    """In as many lines as it takes; the canvas grows with them."""
    x = left
    for name in names:
        if x + 18 + 8 * len(name) > canvas.width:
            x, y = left, y + 20
            canvas.height += 20
        canvas.rect(x, y - 10, 12, 12, COLOURS[name])
        canvas.text(x + 18, y, name)
        x += 40 + 8 * len(name)


class Axis:
    """From values to places between `begin` and `end`, in pixels; logarithmic or not."""

    def __init__(self, values, begin, end, logarithmic):
        self.logarithmic = logarithmic
        self.begin, self.end = begin, end
        if logarithmic:
            positive = [value for value in values if value > 0] or [1]
            self.low, self.high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
            self.high = max(self.high, self.low + 1)
            self.marks = [10.0 ** decade for decade in range(self.low, self.high + 1)]
        else:
            self.low, step = min(0, *values), 10.0 ** math.floor(math.log10(max(*values, 1e-9)))
            while max(values) / step < 4:
                step /= 2
            self.high = step * math.ceil(max(*values, 1e-9) / step)
            self.marks = [self.low + step * i for i in range(int(round((self.high - self.low) / step)) + 1)]

    def place(self, value):
        if self.logarithmic:
            value = math.log10(max(value, 10.0 ** self.low))
        return self.begin + (self.end - self.begin) * (value - self.low) / (self.high - self.low)


def lines(title, x_name, y_name, series, x_logarithmic=False, y_logarithmic=False, x_marks=None):
    """series: {name: [(x, y)]}. x_marks: [(x, words)] where the places on the x axis have names of their own."""
    left, top, width, height = 70, 60, 620, 320
    canvas = Canvas(left + width + 30, top + height + 90, title)
    points = [point for each in series.values() for point in each]
    across = Axis([x for x, _ in points], left, left + width, x_logarithmic)
    up = Axis([y for _, y in points], top + height, top, y_logarithmic)
    for mark in up.marks:
        canvas.line([(left, up.place(mark)), (left + width, up.place(mark))], GRID)
        canvas.text(left - 8, up.place(mark) + 4, shown(mark), anchor="end")
    for mark, words in x_marks or [(mark, shown(mark)) for mark in across.marks]:
        canvas.line([(across.place(mark), top), (across.place(mark), top + height)], GRID)
        canvas.text(across.place(mark), top + height + 18, words, anchor="middle")
    canvas.text(16, 46, y_name, colour="#777777")
    canvas.text(left + width, top + height + 36, x_name, colour="#777777", anchor="end")
    for name, each in series.items():
        places = [(across.place(x), up.place(y)) for x, y in each]
        canvas.line(places, COLOURS[name], 2.5)
        for x, y in places if len(places) <= 20 else []:
            canvas.rect(x - 3, y - 3, 6, 6, COLOURS[name])
    legend(canvas, left, top + height + 66, list(series))
    return canvas.svg()


def time_lines(title, lines, slot_seconds=0.1):
    """lines: [(label, series, counts per slot, [(from, to, what)])], one above the other, each with its own height."""
    left, width, height, gap = 70, 760, 110, 56
    canvas = Canvas(left + width + 30, 50 + len(lines) * (height + gap), title)
    longest = max(len(counts) for _, _, counts, _ in lines)
    for i, (label, series, counts, marks) in enumerate(lines):
        top = 62 + i * (height + gap)
        most = max([1, *counts])

        def x_of(seconds):
            return left + width * seconds / (longest * slot_seconds)

        for begin, finish, what in marks:
            canvas.rect(x_of(begin), top, max(1.5, x_of(finish) - x_of(begin)), height, "#d62728", 0.15)
            canvas.text(x_of(begin) + 3, top + 12, what, size=11, colour="#a02020")
        canvas.text(left, top - 8, label, weight="bold")
        for value in (0, most):
            y = top + height * (1 - value / most)
            canvas.line([(left, y), (left + width, y)], GRID)
            canvas.text(left - 8, y + 4, shown(value), anchor="end", size=11)
        for j, count in enumerate(counts):
            bar = height * count / most
            canvas.rect(x_of(j * slot_seconds), top + height - bar, max(1.0, width / longest - 0.5), bar, COLOURS[series])
        step = max(1, round(longest * slot_seconds / 10))
        for second in range(0, int(longest * slot_seconds) + 1, step):
            canvas.text(x_of(second), top + height + 15, f"{second} s", size=11, anchor="middle")
    return canvas.svg()
