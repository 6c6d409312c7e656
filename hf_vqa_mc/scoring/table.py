"""Scores as tables of percentages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hf_vqa_mc.text.tables import TextTable

MOST_TYPES = 15  # maximum number of types in a table, most frequent first
IN_JSON = "in --json/--output"


class Line(NamedTuple):
    """The cells of a score, "" for none; lines of one group, such as a kind of types, share a heading."""

    name: str
    score: str = ""
    interval: str = ""
    other: str = ""  # cell of the table's ``other`` column
    questions: str = ""
    group: str = ""


class ScoreTable(NamedTuple):
    """The scores of a scheme."""

    lines: list[Line]
    other: str = ""  # heading of an additional column; "" for none
    missing: Mapping[str, str] = {}  # scores that were not computed, and their missing inputs
    title: str = ""

    def __rich__(self) -> TextTable:
        names, *columns, groups = zip(*self.lines, strict=True)
        headings = ("%", "95% interval", self.other, "questions")
        cells = {name: list(column) for name, column in zip(headings, columns, strict=True) if any(column)}
        return TextTable({"": list(names), **cells}, [""], groups)


def line(
    name: str,
    score: float | None,
    interval: Sequence[float] | None = None,
    *,
    other: float | None = None,
    questions: int | None = None,
    group: str = "",
) -> Line:
    """A line of fractions, in percent; None leaves a cell empty.

    >>> line("accuracy", 0.12345, (0.104, 0.146), questions=1000)
    Line(name='accuracy', score='12.3', interval='10.4 to 14.6', other='', questions='1,000', group='')
    """
    count = "" if questions is None else f"{questions:,}"
    return Line(name, score_cell(score), " to ".join(map(score_cell, interval or ())), score_cell(other), count, group)


def with_interval(share: float, interval: Sequence[float] | None) -> str:
    """A fraction in percent with its interval, if there is one.

    >>> with_interval(0.123, (0.104, 0.146))
    '12.3 (10.4 to 14.6)'
    """
    return score_cell(share) + (f" ({' to '.join(map(score_cell, interval))})" if interval else "")


def score_cell(share: float | None) -> str:
    """A fraction in percent without the sign, "" for None."""
    return "" if share is None else f"{100 * share:.1f}"


def by_type(group: str, scores: Mapping[str, float] | None, types: Iterable[str] | None) -> list[Line]:
    """The scores of the most frequent types, and the number of others; ``types`` of the questions are counted."""
    counts, scores = Counter(types or ()), scores or {}
    ordered = sorted(scores, key=lambda name: -counts[name])
    lines = [
        line(name or "(no type)", scores[name], questions=counts[name] if counts else None, group=group)
        for name in ordered[:MOST_TYPES]
    ]
    more = len(ordered) - len(lines)
    return [*lines, Line(f"{more:,} more {IN_JSON}", group=group)] if more else lines
