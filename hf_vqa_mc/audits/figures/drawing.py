"""Drawings as shapes and texts, which `report.drawings` writes as SVG."""

from dataclasses import dataclass, field

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
