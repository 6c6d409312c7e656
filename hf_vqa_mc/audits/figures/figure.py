"""The declaration of a figure, what it finds in a dataset, and the description of datasets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.text.counted import percent


class Share(float):
    """A fraction, printed in percent."""


Number: TypeAlias = int | float | Share | str
Table: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True)
class Found:
    """What a figure finds in a dataset."""

    numbers: Mapping[str, Number] = field(default_factory=dict)  # headline figures
    table: Table = field(default_factory=dict)  # columns of texts, integers, floats or `Share`; None: an empty cell
    why: str = ""  # why it does not apply to the dataset


Sides: TypeAlias = Sequence[tuple[str, Found]]  # name of each dataset and what was found


@dataclass(frozen=True)
class Figure:
    """A figure of a paper."""

    name: str
    title: str
    source: str  # paper and section, figure or table
    sentence: str  # what it shows, how it is computed
    compute: Callable[[Data], Found]
    chart: tuple[Any, ...] = ()
    """one of `report.charts.CHARTS`, and its arguments: ``("bars", "words", "share")``; () if the table says it"""
    needs: tuple[str, ...] = ()  # what a dataset must have, see `Data.lacks`


def figure(
    title: str, source: str, chart: tuple[Any, ...] = (), needs: tuple[str, ...] = ()
) -> Callable[[Callable[[Data], Found]], Figure]:
    """Declare a figure by its function, which has the figure's name; its docstring is the figure's sentence."""

    def declared(compute: Callable[[Data], Found]) -> Figure:
        return Figure(
            compute.__name__, title, source, " ".join((compute.__doc__ or "").split()), compute, chart, needs
        )

    return declared


def share(part: float, of: float) -> Share:
    """A fraction; 0 of nothing."""
    return Share(part / of if of else 0.0)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Columns from rows.

    >>> table(["word", "questions"], [("what", 2), ("is", 1)])
    {'word': ['what', 'is'], 'questions': [2, 1]}
    """
    listed = list(rows)
    return {name: [row[number] for row in listed] for number, name in enumerate(names)}


def distribution(name: str, values: Iterable[Any], counts: Iterable[float], of_what: str = "questions") -> Table:
    """A table of values with their counts and shares of the sum."""
    numbers = [int(count) for count in counts]
    return {name: list(values), of_what: numbers, "share": [share(count, sum(numbers)) for count in numbers]}


def value_counts(name: str, values: NDArray[np.int64], of_what: str = "questions") -> Table:
    """The distribution of integers."""
    distinct, counts = np.unique(values, return_counts=True)
    return distribution(name, distinct.tolist(), counts, of_what)


def number_text(value: Any) -> str:  # noqa: ANN401  a cell
    """A cell as text.

    >>> [number_text(value) for value in (Share(0.5883), 614163, 2.704, "what is", None)]
    ['58.83%', '614,163', '2.70', 'what is', '']
    """
    if isinstance(value, Share):
        return percent(value, 2)
    if isinstance(value, float):
        return f"{value:,.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.1g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


class Described(NamedTuple):
    """What a figure finds in the described datasets."""

    figure: Figure
    sides: Sides


@dataclass(frozen=True, eq=False)
class Description:
    """The figures of one dataset, or of two side by side."""

    names: list[str]
    notes: list[str]
    figures: list[Described]  # those that apply to a dataset
    left_out: dict[str, str]  # figure to the reason why it does not apply

    def as_json(self) -> dict[str, Any]:
        """All numbers and tables; fractions."""
        figures = {
            one.name: {
                "title": one.title,
                "source": one.source,
                "description": one.sentence,
                "found": [None if side.why else {"numbers": side.numbers, "table": side.table} for _, side in sides],
            }
            for one, sides in self.figures
        }
        return {"datasets": self.names, "notes": self.notes, "figures": figures, "left_out": self.left_out}


def describe_data(datasets: Sequence[Data], chosen: Sequence[Figure], progress: Progress) -> Description:
    """Compute figures of one dataset or two; raises InputError if none applies."""
    figures, left_out = list[Described](), dict[str, str]()
    short, long = [data.short_name for data in datasets], [data.name for data in datasets]
    numbered = [f"{name} ({n})" for n, name in enumerate(long, 1)]
    names = next(one for one in (short, long, numbered) if len(set(one)) == len(one))
    for done, one in enumerate(chosen):
        progress("figures", done, len(chosen))
        reasons = [next(filter(None, map(data.lacks, one.needs)), "") for data in datasets]
        found = [Found(why=why) if why else one.compute(data) for why, data in zip(reasons, datasets, strict=True)]
        if all(side.why for side in found):
            left_out[one.name] = "; ".join(dict.fromkeys(side.why for side in found))
        else:
            figures.append(Described(one, list(zip(names, found, strict=True))))
    progress("figures", len(chosen), len(chosen))
    if not figures:
        raise InputError(f"no figure applies: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    before = [f"{name}: " for name in names] if len(names) > 1 else [""]
    notes = [f"{name}{note}" for name, data in zip(before, datasets, strict=True) for note in data.notes]
    return Description(names, notes, figures, left_out)
