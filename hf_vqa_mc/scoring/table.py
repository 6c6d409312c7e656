"""Scores as tables of percentages."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

MOST_TYPES = 15
"""Largest number of types in a table, most frequent first."""
IN_JSON = "in --json/--output"


class Line(NamedTuple):
    """A score as text, "" for empty cells."""

    name: str
    score: str = ""
    stderr: str = ""
    other: str = ""
    """cell of the table's ``other`` column"""
    questions: str = ""


class Group(NamedTuple):
    """A group of scores."""

    label: str
    """"" for those of all questions"""
    lines: list[Line]


class Table(NamedTuple):
    """The scores of a scheme."""

    groups: list[Group]
    """the scores of all questions, then those by type"""
    other: str = ""
    """heading of an additional column; "" for none"""
    missing: Mapping[str, str] = {}
    """scores that were not computed, and their missing inputs"""
    title: str = ""


def line(
    name: str,
    score: float | None,
    stderr: float | None = None,
    *,
    other: float | None = None,
    questions: int | None = None,
) -> Line:
    """A line of fractions, in percent; None leaves a cell empty.

    >>> line("accuracy", 0.12345, 0.01, questions=1000)
    Line(name='accuracy', score='12.3', stderr='± 1.0', other='', questions='1,000')
    """
    count = "" if questions is None else f"{questions:,}"
    return Line(name, percent(score), f"± {100 * stderr:.1f}" if stderr is not None else "", percent(other), count)


def percent(share: float | None) -> str:
    """A fraction as percent, "" for None."""
    return "" if share is None else f"{100 * share:.1f}"


def by_type(label: str, scores: Mapping[str, float] | None, types: Iterable[str] | None) -> Group:
    """The scores of the most frequent types, and the number of others.

    Args:
        label: of the group.
        scores: by type.
        types: of the questions, to count them.
    """
    counts, scores = Counter(types or ()), scores or {}
    ordered = sorted(scores, key=lambda name: -counts[name])
    shown = ordered[:MOST_TYPES]
    lines = [line(name or "(no type)", scores[name], questions=counts[name] if counts else None) for name in shown]
    more = len(ordered) - len(shown)
    return Group(label, [*lines, Line(f"{more:,} more {IN_JSON}")] if more else lines)
