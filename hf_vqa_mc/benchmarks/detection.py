"""Which layout a benchmark has: by the names of its columns, and by what all its rows hold."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.choice_forms import ChoiceColumns, ChoiceForm, form_of
from hf_vqa_mc.benchmarks.columns import (
    CHOICES,
    DECOYS,
    LABEL,
    OPTIONS,
    Columns,
    choice_columns,
    decoy_columns,
    is_cell,
    is_text,
    named,
)
from hf_vqa_mc.benchmarks.label_forms import ByLetter, ByName, ByPlace, ByText, LabelForm, from_one, hidden
from hf_vqa_mc.benchmarks.layouts import Layout, PlacedLayout, TargetLayout
from hf_vqa_mc.benchmarks.offered import UNTOLD, Offered, as_text
from hf_vqa_mc.errors import InputError, shown


@dataclass(frozen=True)
class _Reading:
    """A layout that fits, and what it says."""

    layout: PlacedLayout
    labels: NDArray[np.int64]


def find_layout(tables: Mapping[str, pa.Table], asked: str, columns: Columns, place: str) -> Layout:
    """The layout of a benchmark's splits.

    Args:
        tables: split name to its columns.
        asked: the split that has to be read; the others help to tell whether places count from 0 or from 1.
        columns: those that the user names.
        place: of the asked split, for messages.

    Raises:
        InputError: no layout fits (HiddenLabels: no row says which choice is right), or several that contradict.
    """
    table = tables[asked]
    forms = _choice_forms(table, columns)
    failures: list[InputError] = []
    for form in forms:
        try:
            return _with_label(tables, asked, form, columns, place)
        except InputError as error:
            failures.append(error)
    decoys = next(_decoy_forms(table, columns), None)
    if decoys is not None:
        return TargetLayout(decoys[1], decoys[0])
    for failure in failures:
        raise failure
    raise InputError(
        f"{place}: no choices recognised among the columns {', '.join(map(shown, table.column_names))}; expected a "
        f"list of choices, columns such as A, B, C, D, or a right answer and its distractors; {OPTIONS}"
    )


def _choice_forms(table: pa.Table, columns: Columns) -> list[ChoiceForm]:
    """The forms in which the table may hold all choices, the likeliest first."""
    if columns.choices is not None:
        if len(columns.choices) > 1:
            return [ChoiceColumns(columns.choices)]
        form = form_of(table, columns.choices[0])
        if form is None:
            raise InputError(
                f"--choices {columns.choices[0]}: holds {table.schema.field(columns.choices[0]).type}, expected a "
                "list of texts, a text that spells one, or several columns"
            )
        return [form]
    found = [form_of(table, name) for name in named(table.column_names, CHOICES)]
    runs = choice_columns(_cells(table))
    return [*(form for form in found if form), *(ChoiceColumns(tuple(run)) for run in runs)]


def _decoy_forms(table: pa.Table, columns: Columns) -> Iterator[tuple[ChoiceForm, str]]:
    """The forms in which the table may hold decoys, and the column of the right answer."""
    targets = [columns.label] if columns.label else named(table.column_names, LABEL)
    targets = [name for name in targets if name in _cells(table) and is_text(table.schema.field(name).type)]
    if columns.choices is not None:
        single = form_of(table, columns.choices[0]) if len(columns.choices) == 1 else ChoiceColumns(columns.choices)
        forms = [single] if single else []
    else:
        found = [form_of(table, name) for name in named(table.column_names, DECOYS)]
        runs = [ChoiceColumns(tuple(run)) for run in decoy_columns(_cells(table))]
        forms = [*(form for form in found if form), *runs]
    for form in forms:
        for target in targets:
            if target not in form.columns and _apart(table, form, target):
                yield form, target


def _apart(table: pa.Table, form: ChoiceForm, target: str) -> bool:
    """Whether the right answer is a text that is never among the row's decoys."""
    try:
        offered = form.read(table, "")
    except InputError:
        return False
    column = as_text(table[target])
    among = ByText().read(column, offered) != UNTOLD
    letters = ByLetter().read(column, offered) != UNTOLD
    return bool(not among.any() and not letters.all() and not hidden(column).all())


def _with_label(
    tables: Mapping[str, pa.Table], asked: str, form: ChoiceForm, columns: Columns, place: str
) -> PlacedLayout:
    """The layout with these choices and the column that tells which is right.

    Raises:
        InputError: no column does (HiddenLabels: no row tells), or several that contradict each other.
    """
    table = tables[asked]
    names = [columns.label] if columns.label else named(_cells(table), LABEL)
    names = [name for name in names if name not in form.columns]
    if not names:
        raise InputError(
            f"{place}: choices are in {', '.join(form.columns)}, but no column of "
            f"{', '.join(map(shown, table.column_names))} is known to tell the right one; name it with --label"
        )
    offered = form.read(table, place)
    others = {
        name: form.read(other, name)
        for name, other in tables.items()
        if name != asked and set(form.columns) <= set(other.column_names)
    }
    fitting: list[_Reading] = []
    failures: list[InputError] = []
    for name in names:
        try:
            fitting.append(_label_form(tables, asked, form, name, {asked: offered, **others}, place))
        except InputError as error:
            failures.append(error)
    if not fitting:
        raise failures[0]  # of the column whose name says most
    for other in fitting[1:]:
        _agree(fitting[0], other, f"{place}: {names}", "say which with --label")
    first, *more = (reading.layout for reading in fitting)
    return PlacedLayout(form, first.label, first.label_form, tuple((one.label, one.label_form) for one in more))


def _label_form(
    tables: Mapping[str, pa.Table],
    asked: str,
    form: ChoiceForm,
    name: str,
    offered: Mapping[str, Offered],
    place: str,
) -> _Reading:
    """How this column tells the right choice: the forms must agree on every row that several of them fit.

    Raises:
        InputError: none fits (HiddenLabels: it tells none at all) all rows, or several that contradict each other.
    """
    table = tables[asked]
    column, choices = as_text(table[name]), offered[asked]
    rows = np.flatnonzero(choices.counts > 0)
    beside = {split: as_text(tables[split][name]) for split in offered if name in tables[split].column_names}
    told = {split: labels for split, labels in beside.items() if not hidden(labels).all()}
    first = int(from_one([told[split] for split in told], [offered[split] for split in told]))
    forms: list[LabelForm] = [ByPlace(first), ByLetter(), ByName(), ByText()]
    readings = [(one, choices.labels(one.read(column, choices))) for one in forms]
    fitting = [
        _Reading(PlacedLayout(form, name, one), found) for one, found in readings if (found[rows] != UNTOLD).all()
    ]
    if not fitting or not len(rows):
        best = max(readings, key=lambda reading: int((reading[1] != UNTOLD).sum()))[0]
        some = pc.unique(choices.rows[:0]) if not len(rows) else pa.array(rows)
        PlacedLayout(form, name, best).labels(table.take(some), form.read(table.take(some), place), place)
        raise InputError(f"{place}: no row offers choices in {', '.join(form.columns)}; {OPTIONS}")
    for other in fitting[1:]:
        _agree(fitting[0], other, f"{place}: {name} could be", "store it as letters, or as whole numbers from 0")
    return fitting[0]


def _agree(one: _Reading, other: _Reading, what: str, remedy: str) -> None:
    """Nothing, if they say the same of every row.

    Raises:
        InputError: naming the first row on which they do not.
    """
    for row in np.flatnonzero(one.labels != other.labels)[:1]:
        raise InputError(
            f"{what}: two ways of reading tell different choices, as in row {row}: {one.layout.told} (choice "
            f"{one.labels[row]}, from 0), or {other.layout.told} (choice {other.labels[row]}); {remedy}"
        )


def _cells(table: pa.Table) -> list[str]:
    """The columns whose cells are short texts or numbers."""
    return [name for name in table.column_names if is_cell(table.schema.field(name).type)]
