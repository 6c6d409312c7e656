"""The declaration of a figure, and what it finds in a dataset."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.drawing import Drawing


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
    draw: Chart
    needs: Callable[[Data], str] = lambda data: ""
    """why it does not apply to a dataset; "" if it does"""


def figure(
    title: str, source: str, draw: Chart, needs: Callable[[Data], str] = lambda data: ""
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
