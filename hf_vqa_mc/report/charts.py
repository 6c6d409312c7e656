"""SVG charts of one dataset or of two side by side: bars, lines, stacked bars, and the sunburst of first words."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Any

from hf_vqa_mc.audits.figures.figure import Share, Sides, number_text
from hf_vqa_mc.report.plain_text import plain

Point = tuple[float, float]

WIDTH = 480.0  # units; text of 13 units is readable at 340 pixels, the width of a phone
SERIES = ("a", "b")  # colours of the first and second dataset
CATEGORIES = *OWN, OTHERS = tuple(f"c{number}" for number in range(8))
"""Colours of the most frequent parts of stacked bars, and the grey of all others."""
_CATEGORY_COLOURS = ("#7fb7be", "#e3a36f", "#a9b665", "#b79fd0", "#e08d8d", "#8fb0dd", "#d9c064", "#a8a39b")
COLOURS = {
    "a": ("#1b7f8c", "#4cb7c4"),
    "b": ("#c2501e", "#f0854f"),
    "ink": ("#1e252e", "#e8e6e1"),
    "soft": ("#5c6673", "#a5aeb9"),
    "hair": ("#e3e0da", "#323943"),
    "paper": ("#ffffff", "#1c2128"),
    "on": ("#14181d", "#14181d"),
    **{name: (colour, colour) for name, colour in zip(CATEGORIES, _CATEGORY_COLOURS, strict=True)},
}
"""Name to the colour in light and in dark mode; "on" is that of text on `CATEGORIES`."""
FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif"
MOST_NAME = 0.5 * WIDTH  # maximum width of the names on the left of bars
ROW, BAR = 24.0, 14.0
MOST_BARS = 24  # maximum number of bars and of stacked bars; all are in the table
PLOT = 220.0  # height of a plot with axes
SUNBURST = 450.0
HOLE = 0.16  # radius of the hole in the middle of a sunburst, as a share of its radius
VISIBLE = 0.001  # smallest length of a bar, as a share of the longest
LEGIBLE = 10.0  # smallest width of an arc with a word, in units
TITLE = 200  # maximum number of characters of a title or text


class Drawing:
    """An SVG drawing: shapes, then texts on them; y grows downwards."""

    def __init__(self, height: float) -> None:
        self.height, self.shapes, self.labels = height, list[str](), list[str]()

    def polygon(self, points: Iterable[Point], colour: str, title: str = "") -> None:
        """Add a filled polygon; the title is shown when pointed at."""
        text = f"<title>{escape(plain(title, TITLE))}</title>" if title else ""
        self.shapes.append(f'<polygon class="fill-{colour}" points="{_coordinates(points)}">{text}</polygon>')

    def box(self, x: float, y: float, width: float, height: float, colour: str, title: str = "") -> None:
        """Add a rectangle."""
        self.polygon(((x, y), (x + width, y), (x + width, y + height), (x, y + height)), colour, title)

    def line(self, points: Iterable[Point], colour: str) -> None:
        """Add a line."""
        width, drawn = 1 if colour == "hair" else 1.8, _coordinates(points)
        self.shapes.append(f'<polyline class="line-{colour}" stroke-width="{width}" points="{drawn}"/>')

    def label(
        self, x: float, y: float, text: str, size: int = 13, anchor: str = "start", tone: str = "ink", angle: float = 0
    ) -> None:
        """Add a text in a colour ``tone``; ``y`` is the middle of its line, the angle in degrees, clockwise."""
        turned = f' transform="rotate({angle:.1f} {x:.1f} {y:.1f})"' if angle else ""
        look = f'class="fill-{tone}" font-size="{size}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}'
        self.labels.append(f"<text {look}>{escape(plain(text, TITLE))}</text>")

    def svg(self, title: str, file: bool = False) -> str:
        """An SVG element; with ``file``, one with its own colours and background."""
        width, height, look = f"{WIDTH:g}", f"{self.height:g}", ""
        if file:
            look = f"<style>{drawing_styles()}text {{ font-family: {FONT}; }}</style>"
            look += f'<rect class="fill-paper" width="{width}" height="{height}"/>'
        about = f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(plain(title, TITLE))}"'
        shapes = "".join([*self.shapes, *self.labels])
        return f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" {about}>{look}{shapes}</svg>'


def _coordinates(points: Iterable[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def colour_styles(prefix: str, colours: Mapping[str, tuple[str, str]]) -> str:
    """CSS of the colours in light and dark mode."""
    light, dark = ("".join(f" --{prefix}-{name}: {both[n]};" for name, both in colours.items()) for n in (0, 1))
    return f":root {{{light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}\n"


def drawing_styles() -> str:
    """CSS of drawings."""
    rule = ".fill-{0} {{ fill: var(--draw-{0}); }}\n.line-{0} {{ stroke: var(--draw-{0}); }}\n"
    shared = ".drawing polyline { fill: none; }\n.drawing text { dominant-baseline: central; }\n"
    return colour_styles("draw", COLOURS) + shared + "".join(map(rule.format, COLOURS))


def text_width(text: str, size: float = 13.0) -> float:
    """Width of a text in units, by that of digits in DejaVu Sans; most letters and fonts are narrower."""
    return 0.62 * size * len(text)


def shortened(text: str, most: float, size: float = 13.0) -> str:
    """A text cut to a width in units.

    >>> shortened("what is the man", 80), shortened("is", 70)
    ('what is …', 'is')
    """
    letters = max(int(most / text_width("x", size)), 1)
    return text if len(text) <= letters else f"{text[: max(letters - 2, 1)].rstrip()} …"


def bars(sides: Sides, names_in: str, values_in: str) -> Drawing | None:
    """A horizontal bar per row of the table, two with two datasets, in the order of the first; integers ascend."""
    tables = [one.table for _, one in sides]
    by_side = [dict(zip(one.get(names_in, ()), one.get(values_in, ()), strict=True)) for one in tables]
    names = list(dict.fromkeys(name for found in by_side for name in found))
    if all(isinstance(name, int) for name in names):
        names.sort()
    sizes = {name: max(found.get(name) or 0 for found in by_side) for name in names}
    largest = max(sizes.values(), default=0)
    names = [name for name in names if sizes[name] > VISIBLE * largest][:MOST_BARS]
    left_out = sum(map(bool, sizes.values())) - len(names)
    if not names:
        return None
    step = ROW if len(by_side) == 1 else 1.5 * ROW
    drawing, top = _with_legend(sides, step * len(names) + 4, left_out)
    left = _names_width(list(map(number_text, names)))
    texts = [number_text(found[name]) for name in names for found in by_side if name in found]
    room = WIDTH - left - max(text_width(text, 12) for text in texts) - 10
    for row, name in enumerate(names):
        y = top + step * row
        drawing.label(left - 8, y + step / 2, shortened(number_text(name), left - 8), anchor="end")
        for number, found in enumerate(by_side):
            if (value := found.get(name)) is None:
                continue
            at, text = y + (step - BAR * len(by_side)) / 2 + BAR * number, number_text(value)
            drawing.box(left, at, room * value / largest, BAR - 1, SERIES[number], f"{number_text(name)}: {text}")
            drawing.label(left + room * value / largest + 6, at + BAR / 2, text, size=12, tone="soft")
    return drawing


def lines(
    sides: Sides, xs: str, ys: str, title: str, logarithmic: bool = False, until: float = 0.999
) -> Drawing | None:
    """A line through the rows of the table, whose x is a number, with axes from 0.

    The tail of a distribution is not drawn after the share ``until`` of the rows.
    """
    drawn = [_points(one.table.get(xs, []), one.table.get(ys, []), until) for _, one in sides]
    points = [point for line in drawn for point in line]
    if not points:
        return None
    drawing, top = _with_legend(sides, PLOT + 52)
    left, right, bottom = 52.0, WIDTH - 24, top + 8 + PLOT
    low = min(x for x, _ in points) if logarithmic else min(0, *(x for x, _ in points))
    high = max(max(x for x, _ in points), low + 1)
    highest = max(y for _, y in points) or 1.0

    def across(x: float) -> float:
        if logarithmic:
            return left + (right - left) * math.log(x / low) / math.log(high / low)
        return left + (right - left) * (x - low) / (high - low)

    is_share = any(isinstance(value, Share) for _, value in points)
    for tick in _ticks(highest):
        y = bottom - PLOT * tick / highest
        drawing.line(((left, y), (right, y)), "hair")
        text = number_text(Share(tick) if is_share else tick)
        if is_share and highest >= 0.05:
            text = f"{100 * tick:.0f}%"
        drawing.label(left - 6, y, text, size=12, anchor="end", tone="soft")
    powers = range(math.ceil(math.log10(max(low, 1))), math.floor(math.log10(high)) + 1)
    for x in [10.0**power for power in powers] if logarithmic else _ticks(high, whole=True):
        if x >= low:
            drawing.label(across(x), bottom + 14, f"{x:,.0f}", size=12, anchor="middle", tone="soft")
    drawing.label((left + right) / 2, bottom + 32, title, size=12, anchor="middle", tone="soft")
    for number, line in enumerate(drawn):
        at = [(across(x), bottom - PLOT * y / highest) for x, y in line]
        drawing.line(at, SERIES[number])
        for (x, y), (across_x, height) in zip(line, at, strict=True):
            drawing.box(across_x - 2.5, height - 2.5, 5, 5, SERIES[number], f"{x:,}: {number_text(y)}")
    return drawing


def _points(xs: list[Any], ys: list[Any], until: float) -> list[Point]:
    sums = accumulate(ys if ys and isinstance(ys[0], Share) else ())
    most = next((n for n, total in enumerate(sums, 1) if total >= until), len(ys))
    return list(zip(xs[:most], ys[:most], strict=True))


def stacked(sides: Sides, group_in: str, part_in: str, value_in: str) -> Drawing | None:
    """A bar of 100% per group with its most frequent parts, such as answers by question type, in one colour each.

    With two datasets, the bars of a group are next to each other.
    """
    by_side: list[dict[str, dict[str, float]]] = [{} for _ in sides]
    for nested, (_, one) in zip(by_side, sides, strict=True):
        columns = (one.table.get(name, []) for name in (group_in, part_in, value_in))
        for name, part, value in zip(*columns, strict=True):
            nested.setdefault(name, {})[part] = value
    every = list(dict.fromkeys(name for found in by_side for name in found))
    groups = every[:MOST_BARS]
    if not groups:
        return None
    step = ROW * len(sides) + (10 if len(sides) > 1 else 2)
    drawing, top = _with_legend(sides, step * len(groups) + 4, len(every) - len(groups))
    total: Counter[str] = Counter()
    for parts in (found.get(group, {}) for found in by_side for group in groups):
        total.update(parts)
    colours = dict(zip(sorted(total, key=lambda part: (-total[part], part)), OWN, strict=False))
    left = _names_width(groups) + 4
    room = WIDTH - left - 8
    for row, group in enumerate(groups):
        y = top + step * row
        drawing.label(left - 12, y + ROW * len(sides) / 2, shortened(group, left - 12), anchor="end")
        for number, found in enumerate(by_side):
            x, at = left, y + ROW * number + 1
            if len(sides) > 1 and group in found:
                drawing.box(left - 7, at, 4, ROW - 2, SERIES[number])
            for part, value in found.get(group, {}).items():
                title = f"{group}: {part} {number_text(value)}"
                drawing.box(x, at, max(room * value - 1, 0.2), ROW - 2, colours.get(part, OTHERS), title)
                if text_width(part, 11) + 6 < room * value:
                    drawing.label(x + 4, at + ROW / 2 - 1, part, size=11, tone="on")
                x += room * value
    return drawing


def sunburst(sides: Sides, words: Sequence[str], value_in: str) -> Drawing | None:
    """Rings of words: the first in the middle; an arc is as long as its share of the questions.

    ``words`` are the columns of the words, None behind a shorter beginning. A child begins where its parent begins,
    after its siblings. Two datasets are below each other.
    """
    if not any(one.table for _, one in sides):
        return None
    named = 26 if len(sides) > 1 else 0
    drawing, colours = Drawing(len(sides) * (SUNBURST + named)), dict[str, str]()  # of first words, the same in both
    ring = SUNBURST / 2 * (1 - HOLE) / len(words)
    for number, (name, found) in enumerate(sides):
        top = number * (SUNBURST + 26)
        if named:
            drawing.label(4, top + 12, shortened(name, WIDTH))
        x, y, used = WIDTH / 2, top + named + SUNBURST / 2, {(): 0.0}
        for row, value in enumerate(found.table.get(value_in, [])):
            path = tuple(word for name in words if (word := found.table[name][row]) is not None)
            start = used.get(path[:-1])
            if start is None:
                continue
            used[path[:-1]], used[path] = start + value, start
            inner = SUNBURST / 2 * HOLE + ring * (len(path) - 1)
            gap = min(0.4 / (2 * math.pi * inner), value / 4)
            steps = max(int(90 * (value - 2 * gap)), 1)
            turns = [start + gap + (value - 2 * gap) * step / steps for step in range(steps + 1)]
            around = [(inner + ring - 1, turn) for turn in turns] + [(inner, turn) for turn in reversed(turns)]
            colour = colours.setdefault(path[0], CATEGORIES[len(colours) % len(CATEGORIES)])
            title = f"{' '.join(path)}: {number_text(Share(value))}"
            drawing.polygon((_at(x, y, *one) for one in around), colour, title)
            radius, turn = inner + ring / 2, start + value / 2
            if 2 * math.pi * radius * value >= LEGIBLE:
                angle = 360 * turn - 90 + (180 if turn % 1 > 0.5 else 0)  # never upside down
                text = shortened(path[-1], ring - 3, 10)
                drawing.label(*_at(x, y, radius, turn), text, size=10, anchor="middle", tone="on", angle=angle)
    return drawing


def _at(x: float, y: float, radius: float, turn: float) -> Point:
    """The point at a distance from a centre, after a part of a turn clockwise from the top."""
    return x + radius * math.sin(2 * math.pi * turn), y - radius * math.cos(2 * math.pi * turn)


def _names_width(names: Sequence[str]) -> float:
    """Width of the names on the left of bars, with the space next to them."""
    return min(max(map(text_width, names)) + 10, MOST_NAME)


def _with_legend(sides: Sides, height: float, left_out: int = 0) -> tuple[Drawing, float]:
    """A drawing with so much space between the names of two datasets and the number of bars left out, and its top."""
    named = sides if len(sides) > 1 else ()
    drawing = Drawing(24 * len(named) + height + (ROW if left_out else 0))
    if left_out:
        drawing.label(4, drawing.height - ROW / 2, f"{left_out:,} more in the table only", size=12, tone="soft")
    for number, (name, _) in enumerate(named):
        drawing.box(4, 24 * number + 5, 14, 10, SERIES[number])
        drawing.label(26, 24 * number + 10, shortened(name, WIDTH - 30))
    return drawing, 24.0 * len(named)


def _ticks(highest: float, whole: bool = False) -> list[float]:
    """Up to six round numbers from 0."""
    step = 10 ** math.floor(math.log10(highest)) if highest else 1.0
    step = next(step * part for part in (0.2, 0.5, 1, 2, 5) if highest / (step * part) <= 6)
    step = max(step, 1) if whole else step
    return [step * number for number in range(int(highest / step + 1e-9) + 1)]


CHARTS: dict[str, Any] = {one.__name__: one for one in (bars, lines, stacked, sunburst)}  # see `Figure.chart`
