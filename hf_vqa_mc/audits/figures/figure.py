"""The declaration of a figure, what it finds in a dataset, its drawing, and the description of datasets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress

Point = tuple[float, float]

WIDTH = 480.0
"""Units; text of 13 units is readable at 340 pixels, the width of a phone."""
SERIES = ("a", "b")
"""Colours of the first and second dataset."""
CATEGORIES = tuple(f"c{number}" for number in range(8))
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
}  # fmt: skip
"""Name to the colour in light and in dark mode; "on" is that of text on `CATEGORIES`."""


@dataclass(frozen=True)
class Shape:
    """A filled polygon, or a line."""

    points: tuple[Point, ...]
    colour: str
    filled: bool = True
    title: str = ""
    """shown when pointed at"""


@dataclass(frozen=True)
class Label:
    """A text; ``y`` is the middle of its line."""

    x: float
    y: float
    text: str
    size: float = 13.0
    anchor: str = "start"
    """start, middle or end"""
    colour: str = "ink"
    angle: float = 0.0
    """degrees, clockwise"""


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

    def line(self, points: tuple[Point, ...], colour: str) -> None:
        """Add a line."""
        self.shapes.append(Shape(points, colour, filled=False))

    def label(self, x: float, y: float, text: str, **look: object) -> None:
        """Add a text."""
        self.labels.append(Label(x, y, text, **look))  # type: ignore[arg-type]


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


class Share(float):
    """A fraction, printed in percent."""


Number: TypeAlias = int | float | Share | str
Chart: TypeAlias = Callable[[Sequence[tuple[str, "Found"]]], Drawing | None]
"""Draws what was found in one or two datasets, by their names; None if there is nothing to draw."""


@dataclass(frozen=True)
class Found:
    """What a figure finds in a dataset."""

    numbers: dict[str, Number] = field(default_factory=dict)
    """headline figures"""
    table: dict[str, list[Any]] = field(default_factory=dict)
    """columns of equal length: texts, integers, floats or `Share`; None for an empty cell"""


@dataclass(frozen=True)
class Figure:
    """A figure of a paper."""

    name: str
    title: str
    source: str
    """paper and section, figure or table"""
    sentence: str
    """what it shows, how it is computed"""
    compute: Callable[[Data], Found]
    draw: Chart | None = None
    """None if the table says it"""
    needs: Callable[[Data], str] = lambda data: ""
    """why it does not apply to a dataset; "" if it does"""


def figure(
    title: str, source: str, draw: Chart | None = None, needs: Callable[[Data], str] = lambda data: ""
) -> Callable[[Callable[[Data], Found]], Figure]:
    """Declare a figure by its function, which has the figure's name; its docstring is the figure's sentence."""

    def declared(compute: Callable[[Data], Found]) -> Figure:
        return Figure(compute.__name__, title, source, " ".join((compute.__doc__ or "").split()), compute, draw, needs)

    return declared


def share(part: float, of: float) -> Share:
    """A fraction; 0 of nothing."""
    return Share(part / of if of else 0.0)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """Columns from rows.

    >>> table(["word", "questions"], [("what", 2), ("is", 1)])
    {'word': ['what', 'is'], 'questions': [2, 1]}
    """
    listed = list(rows)
    return {name: [row[number] for row in listed] for number, name in enumerate(names)}


def distribution(
    name: str, values: Iterable[Any], counts: Iterable[float], of_what: str = "questions"
) -> dict[str, list[Any]]:
    """A table of values with their counts and shares of the sum."""
    numbers = [int(count) for count in counts]
    total = sum(numbers)
    shares = [share(count, total) for count in numbers]
    return {name: list(values), of_what: numbers, "share": shares}


def number_text(value: Any) -> str:  # noqa: ANN401  a cell
    """A cell as text.

    >>> [number_text(value) for value in (Share(0.5883), 614163, 2.704, "what is", None)]
    ['58.83%', '614,163', '2.70', 'what is', '']
    """
    if isinstance(value, Share):
        return f"{100 * value:.2f}%"
    if isinstance(value, float):
        return f"{value:,.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.1g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


@dataclass(frozen=True, eq=False)
class Described:
    """What a figure finds in the described datasets."""

    figure: Figure
    found: list[Found | None]
    """by dataset; None where it does not apply"""
    reasons: list[str]
    """by dataset: why it does not apply, else "" """

    def sides(self, names: Sequence[str]) -> list[tuple[str, Found]]:
        """Names and findings of the datasets."""
        return [(name, one or Found()) for name, one in zip(names, self.found, strict=True)]

    def drawing(self, names: Sequence[str]) -> Drawing | None:
        """The chart; None if there is nothing to draw."""
        return None if self.figure.draw is None else self.figure.draw(self.sides(names))


@dataclass(frozen=True, eq=False)
class Description:
    """The figures of one dataset, or of two side by side."""

    names: list[str]
    notes: list[str]
    figures: list[Described]
    """those that apply to a dataset"""
    left_out: dict[str, str]
    """figure to the reason why it does not apply"""

    def as_json(self) -> dict[str, Any]:
        """All numbers and tables; fractions."""
        figures = {
            one.figure.name: {
                "title": one.figure.title,
                "source": one.figure.source,
                "description": one.figure.sentence,
                "found": [found and vars(found) for found in one.found],
            }
            for one in self.figures
        }
        return {"datasets": self.names, "notes": self.notes, "figures": figures, "left_out": self.left_out}


def describe_data(datasets: Sequence[Data], chosen: Sequence[Figure], progress: Progress) -> Description:
    """Compute figures of one dataset or two.

    Raises:
        InputError: no figure applies.
    """
    figures, left_out = [], {}
    for done, figure in enumerate(chosen):
        progress("figures", done, len(chosen))
        reasons = [figure.needs(data) for data in datasets]
        if all(reasons):
            left_out[figure.name] = "; ".join(dict.fromkeys(reasons))
            continue
        found = [None if reason else figure.compute(data) for data, reason in zip(datasets, reasons, strict=True)]
        figures.append(Described(figure, found, reasons))
    progress("figures", len(chosen), len(chosen))
    if not figures:
        raise InputError(f"no figure applies: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    titles = [data.short_name for data in datasets]
    if len(set(titles)) < len(titles):
        titles = [data.name for data in datasets]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({number})" for number, title in enumerate(titles, 1)]
    prefixes = [f"{title}: " if len(titles) > 1 else "" for title in titles]
    notes = [f"{prefix}{note}" for prefix, data in zip(prefixes, datasets, strict=True) for note in data.notes]
    return Description(titles, notes, figures, left_out)
