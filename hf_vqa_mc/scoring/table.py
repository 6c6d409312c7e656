"""Scores as tables of percentages."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

NARROW = 60  # terminal width up to which tables have no padding
NAME_WIDTH = 8  # minimum width of folded names
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
    """The scores of a scheme; `rich` folds its names in a narrow terminal, and never cuts numbers."""

    lines: list[Line]
    other: str = ""  # heading of an additional column; "" for none
    missing: Mapping[str, str] = {}  # scores that were not computed, and their missing inputs
    title: str = ""

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        from rich.table import Table
        from rich.text import Text

        headings = [("%", "score"), ("95% interval", "interval"), (self.other, "other"), ("questions", "questions")]
        kept = [(heading, field) for heading, field in headings if any(getattr(line, field) for line in self.lines)]
        around = 1 if options.max_width > NARROW else 0
        table = Table(padding=(0, around))
        table.add_column("", overflow="fold")
        needed = NAME_WIDTH + (2 * around + 1) * (1 + len(kept)) + 1
        for heading, field in kept:
            table.add_column(heading, justify="right", no_wrap=True)
            needed += max(len(heading), *(len(getattr(line, field)) for line in self.lines))
        for group, lines in groupby(self.lines, key=lambda line: line.group):
            table.add_section()
            if group:
                table.add_row(group, style="bold")
            for line in lines:
                name = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in line.name)
                table.add_row(Text(name), *(getattr(line, field) for _, field in kept))
        table.width = needed if options.max_width < needed else None
        yield table


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
