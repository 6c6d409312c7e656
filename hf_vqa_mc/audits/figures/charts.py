"""Charts of one dataset or of two side by side: bars, lines, stacked bars, and the sunburst of first words."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

from hf_vqa_mc.audits.figures.figure import Share, Sides, Table, number_text

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
MOST_NAME = 0.5 * WIDTH  # maximum width of the names on the left of bars
ROW, BAR = 24.0, 14.0
MOST_BARS = 24  # maximum number of bars and of stacked bars; all are in the table
PLOT = 220.0  # height of a plot with axes
SUNBURST = 450.0
HOLE = 0.16  # radius of the hole in the middle of a sunburst, as a share of its radius
VISIBLE = 0.001  # smallest length of a bar, as a share of the longest
LEGIBLE = 10.0  # smallest width of an arc with a word, in units


class Shape(NamedTuple):
    """A filled polygon, or a line; the title is shown when pointed at."""

    points: tuple[Point, ...]
    colour: str
    filled: bool = True
    title: str = ""


class Label(NamedTuple):
    """A text; ``y`` is the middle of its line, the angle in degrees, clockwise."""

    x: float
    y: float
    text: str
    size: float = 13.0
    anchor: str = "start"  # start, middle or end
    colour: str = "ink"
    angle: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """Shapes, then texts on them; y grows downwards."""

    height: float
    shapes: list[Shape] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    width: float = WIDTH

    def box(self, x: float, y: float, width: float, height: float, colour: str, title: str = "") -> None:
        """Add a rectangle."""
        corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
        self.shapes.append(Shape(corners, colour, title=title))

    def line(self, points: Sequence[Point], colour: str) -> None:
        """Add a line."""
        self.shapes.append(Shape(tuple(points), colour, filled=False))

    def label(self, x: float, y: float, text: str, size: float = 13.0, **look: Any) -> None:  # noqa: ANN401
        """Add a text."""
        self.labels.append(Label(x, y, text, size, **look))


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


@dataclass(frozen=True)
class Bars:
    """A horizontal bar per row of the table, two with two datasets."""

    names: str  # column of names
    values: str

    def __call__(self, sides: Sides) -> Drawing | None:
        """Draw them, in the order of the first dataset; integers ascend."""
        tables = [one.table for _, one in sides]
        by_side = [dict(zip(one.get(self.names, ()), one.get(self.values, ()), strict=True)) for one in tables]
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
                drawing.label(left + room * value / largest + 6, at + BAR / 2, text, size=12, colour="soft")
        return drawing


@dataclass(frozen=True)
class Lines:
    """A line through the rows of the table, whose x is a number."""

    x: str
    y: str
    x_title: str
    logarithmic: bool = False
    until: float = 0.999  # share of the rows after which the tail of a distribution is not drawn

    def __call__(self, sides: Sides) -> Drawing | None:
        """Draw them with axes from 0."""
        lines = [self._drawn(one.table[self.x], one.table[self.y]) if one.table else [] for _, one in sides]
        points = [point for line in lines for point in line]
        if not points:
            return None
        drawing, top = _with_legend(sides, PLOT + 52)
        left, right, bottom = 52.0, WIDTH - 24, top + 8 + PLOT
        low = min(x for x, _ in points) if self.logarithmic else min(0, *(x for x, _ in points))
        high = max(max(x for x, _ in points), low + 1)
        highest = max(y for _, y in points) or 1.0

        def across(x: float) -> float:
            if self.logarithmic:
                return left + (right - left) * math.log(x / low) / math.log(high / low)
            return left + (right - left) * (x - low) / (high - low)

        is_share = any(isinstance(value, Share) for _, value in points)
        for tick in _ticks(highest):
            y = bottom - PLOT * tick / highest
            drawing.line(((left, y), (right, y)), "hair")
            text = number_text(Share(tick) if is_share else tick)
            if is_share and highest >= 0.05:
                text = f"{100 * tick:.0f}%"
            drawing.label(left - 6, y, text, size=12, anchor="end", colour="soft")
        powers = range(math.ceil(math.log10(max(low, 1))), math.floor(math.log10(high)) + 1)
        for x in [10.0**power for power in powers] if self.logarithmic else _ticks(high, whole=True):
            if x >= low:
                drawing.label(across(x), bottom + 14, f"{x:,.0f}", size=12, anchor="middle", colour="soft")
        drawing.label((left + right) / 2, bottom + 32, self.x_title, size=12, anchor="middle", colour="soft")
        for number, line in enumerate(lines):
            drawn = [(across(x), bottom - PLOT * y / highest) for x, y in line]
            drawing.line(tuple(drawn), SERIES[number])
            for (x, y), (at, height) in zip(line, drawn, strict=True):
                drawing.box(at - 2.5, height - 2.5, 5, 5, SERIES[number], f"{x:,}: {number_text(y)}")
        return drawing

    def _drawn(self, xs: list[Any], ys: list[Any]) -> list[tuple[float, float]]:
        """The points, without the long tail of a distribution."""
        sums = accumulate(ys)
        most = next(
            (n for n, total in enumerate(sums, 1) if total >= self.until and isinstance(ys[0], Share)), len(ys)
        )
        return list(zip(xs[:most], ys[:most], strict=True))


@dataclass(frozen=True)
class Stacked:
    """A bar of 100% per group with its most frequent parts, such as answers by question type, in one colour each."""

    group: str
    part: str
    value: str

    def __call__(self, sides: Sides) -> Drawing | None:
        """Draw them; with two datasets, the bars of a group are next to each other."""
        by_side: list[dict[str, dict[str, float]]] = [{} for _ in sides]
        for nested, (_, one) in zip(by_side, sides, strict=True):
            columns = (one.table.get(name, []) for name in (self.group, self.part, self.value))
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
                    colour = colours.get(part, OTHERS)
                    title = f"{group}: {part} {number_text(value)}"
                    drawing.box(x, at, max(room * value - 1, 0.2), ROW - 2, colour, title)
                    if text_width(part, 11) + 6 < room * value:
                        drawing.label(x + 4, at + ROW / 2 - 1, part, size=11, colour="on")
                    x += room * value
        return drawing


@dataclass(frozen=True)
class Sunburst:
    """Rings of words: the first in the middle; an arc is as long as its share of the questions."""

    words: tuple[str, ...]  # columns of the words, first to last; None behind a shorter beginning
    value: str

    def __call__(self, sides: Sides) -> Drawing | None:
        """Draw one below the other."""
        if not any(one.table for _, one in sides):
            return None
        drawing = Drawing(len(sides) * (SUNBURST + (26 if len(sides) > 1 else 0)))
        colours: dict[str, str] = {}  # of first words, the same in both
        for number, (name, found) in enumerate(sides):
            top = number * (SUNBURST + 26)
            if len(sides) > 1:
                drawing.label(4, top + 12, shortened(name, WIDTH))
                top += 26
            self._draw(drawing, found.table, WIDTH / 2, top + SUNBURST / 2, colours)
        return drawing

    def _draw(self, drawing: Drawing, table: Table, x: float, y: float, colours: dict[str, str]) -> None:
        """The arcs; a child begins where its parent begins, after its siblings."""
        used: dict[tuple[str, ...], float] = {(): 0.0}
        ring = SUNBURST / 2 * (1 - HOLE) / len(self.words)
        for row, value in enumerate(table.get(self.value, [])):
            path = tuple(word for name in self.words if (word := table[name][row]) is not None)
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
            drawing.shapes.append(Shape(tuple(_at(x, y, *one) for one in around), colour, title=title))
            radius, turn = inner + ring / 2, start + value / 2
            if 2 * math.pi * radius * value >= LEGIBLE:
                angle = 360 * turn - 90 + (180 if turn % 1 > 0.5 else 0)  # never upside down
                text = shortened(path[-1], ring - 3, 10)
                drawing.label(*_at(x, y, radius, turn), text, size=10, anchor="middle", colour="on", angle=angle)


def _at(x: float, y: float, radius: float, turn: float) -> tuple[float, float]:
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
        drawing.label(4, drawing.height - ROW / 2, f"{left_out:,} more in the table only", size=12, colour="soft")
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
