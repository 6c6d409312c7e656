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
    choice_columns,
    decoy_columns,
    is_cell,
    is_text,
    named,
)
from hf_vqa_mc.benchmarks.first_number import UntoldFirst, first_number, untold
from hf_vqa_mc.benchmarks.label_forms import (
    ByLetter,
    ByName,
    ByPlace,
    ByText,
    LabelForm,
    hidden,
    whole_numbers_only,
)
from hf_vqa_mc.benchmarks.layouts import Layout, PlacedLayout, TargetLayout
from hf_vqa_mc.benchmarks.offered import UNTOLD, Offered, as_text
from hf_vqa_mc.benchmarks.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown


@dataclass(frozen=True)
class _Reading:
    """A layout that fits, and what it says."""

    layout: PlacedLayout
    labels: NDArray[np.int64]


def find_layout(tables: Mapping[str, pa.Table], asked: str, columns: BenchmarkOptions, place: str) -> Layout:
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
        except UntoldFirst:
            raise
        except InputError as error:
            failures.append(error)
    decoys = next(_decoy_forms(table, columns), None)
    if decoys is not None:
        if columns.label_from is not None:
            raise next(iter(failures), None) or InputError(
                f"--label-from {columns.label_from}: in {place}, {decoys[1]} holds texts, no numbers; leave it out"
            )
        return TargetLayout(decoys[1], decoys[0])
    for failure in failures:
        raise failure
    raise InputError(
        f"{place}: no choices recognised among the columns {', '.join(map(shown, table.column_names))}; expected a "
        f"list of choices, columns such as A, B, C, D, or a right answer and its distractors; {OPTIONS}"
    )


def _choice_forms(table: pa.Table, columns: BenchmarkOptions) -> list[ChoiceForm]:
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


def _decoy_forms(table: pa.Table, columns: BenchmarkOptions) -> Iterator[tuple[ChoiceForm, str]]:
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
    if whole_numbers_only(column) and not (_decoys_by_name(form) or whole_numbers_only(offered.texts)):
        return False  # places that do not fit, beside choices in words
    among = ByText().read(column, offered) != UNTOLD
    letters = ByLetter().read(column, offered) != UNTOLD
    return bool(not among.any() and not letters.all() and not hidden(column).all())


def _decoys_by_name(form: ChoiceForm) -> bool:
    """Whether the columns' names say that they hold decoys, and not all choices."""
    known = {*named(form.columns, DECOYS)} - {*named(form.columns, CHOICES)}
    return bool(known or decoy_columns(form.columns))


def _with_label(
    tables: Mapping[str, pa.Table], asked: str, form: ChoiceForm, columns: BenchmarkOptions, place: str
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
    offered = {asked: form.read(table, place)}
    for split, other in tables.items():
        if split != asked and set(form.columns) <= set(other.column_names):
            offered[split] = form.read(other, split)
    fitting: list[list[_Reading]] = []
    failures: list[InputError] = []
    for name in names:
        try:
            fitting.append(_readings(tables, asked, form, name, offered, columns.label_from, place))
        except InputError as error:
            failures.append(error)
    if not fitting:
        raise failures[0]  # of the column whose name says most
    first, *more = _decided(fitting, tables, offered, place)
    for other in more:
        _agree(first, other, f"{place}: {names}", "say which with --label")
    if columns.label_from is not None and not any(
        isinstance(one.layout.label_form, ByPlace) for one in (first, *more)
    ):
        raise InputError(
            f"--label-from {columns.label_from}: in {place}, {first.layout.label} holds "
            f"{first.layout.label_form.in_short}, no numbers; leave it out"
        )
    also = tuple((one.layout.label, one.layout.label_form) for one in more)
    return PlacedLayout(form, first.layout.label, first.layout.label_form, also)


def _readings(
    tables: Mapping[str, pa.Table],
    asked: str,
    form: ChoiceForm,
    name: str,
    offered: Mapping[str, Offered],
    label_from: int | None,
    place: str,
) -> list[_Reading]:
    """How this column tells the right choice: the forms must agree on every row that several of them fit.

    Returns:
        One reading; two where its numbers may count from 0 or from 1.

    Raises:
        InputError: none fits (HiddenLabels: it tells none at all) all rows, or several that contradict each other.
    """
    table = tables[asked]
    column, choices = as_text(table[name]), offered[asked]
    rows = np.flatnonzero(choices.counts > 0)
    first = label_from if label_from is not None else first_number(name, _told(tables, name, offered), offered, tables)
    places: list[LabelForm] = [ByPlace(number) for number in ((0, 1) if first is None else (first,))]
    others: list[LabelForm] = [ByLetter(), ByName(), ByText()]
    if label_from is not None and whole_numbers_only(column):
        others = []  # the user says what they are
    read = [(one, choices.labels(one.read(column, choices))) for one in (*places, *others)]
    found = [_Reading(PlacedLayout(form, name, one), labels) for one, labels in read]
    fitting = [reading for reading in found if (reading.labels[rows] != UNTOLD).all()]
    if not fitting or not len(rows):
        best = max(found, key=lambda reading: int((reading.labels != UNTOLD).sum())).layout
        some = pc.unique(choices.rows[:0]) if not len(rows) else pa.array(rows)
        best.labels(table.take(some), form.read(table.take(some), place), place)
        raise InputError(f"{place}: no row offers choices in {', '.join(form.columns)}; {OPTIONS}")
    numbers = [reading for reading in fitting if isinstance(reading.layout.label_form, ByPlace)]
    if len(numbers) == len(fitting):
        return numbers
    texts = fitting[len(numbers) :]
    fitting = [*_agreeing(numbers, texts[0]), *texts]
    for other in fitting[1:]:
        _agree(fitting[0], other, f"{place}: {name} could be", "store it as letters, or as whole numbers from 0")
    return fitting[:1]


def _told(tables: Mapping[str, pa.Table], name: str, offered: Mapping[str, Offered]) -> dict[str, pa.Array]:
    """The labels of the splits that tell any."""
    beside = {split: as_text(tables[split][name]) for split in offered if name in tables[split].column_names}
    return {split: labels for split, labels in beside.items() if not hidden(labels).all()}


def _decided(
    fitting: list[list[_Reading]], tables: Mapping[str, pa.Table], offered: Mapping[str, Offered], place: str
) -> list[_Reading]:
    """One reading of each column: where its numbers may count from 0 or from 1, what the other columns say decides.

    Raises:
        InputError: none of them says it, and there are too many rows to take it for chance.
    """
    sure = next((readings[0] for readings in fitting if len(readings) == 1), None)
    if sure is not None:
        return [_agreeing(readings, sure)[0] for readings in fitting]
    for readings in fitting:
        name = readings[0].layout.label
        error = untold(place, name, _told(tables, name, offered), offered)
        if error is not None:
            raise error
    return [readings[0] for readings in fitting]


def _agreeing(readings: list[_Reading], sure: _Reading) -> list[_Reading]:
    """The one that says the same as another column or form; the first if none does, or all do."""
    return [one for one in readings if (one.labels == sure.labels).all()][:1] or readings[:1]


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
