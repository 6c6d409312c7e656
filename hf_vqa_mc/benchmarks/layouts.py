"""How a benchmark's columns tell choices and the right one: read, and written in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.benchmarks.choice_forms import ChoiceColumns, ChoiceForm, changed_rows
from hf_vqa_mc.benchmarks.columns import is_text, names_told
from hf_vqa_mc.benchmarks.label_forms import LabelForm, hidden, written_labels
from hf_vqa_mc.benchmarks.offered import UNTOLD, Offered, as_text
from hf_vqa_mc.errors import InputError, shown

BESIDE_CHOICES = ("choice_kinds", "choice_fallback", "choice_origins")
"""Our own columns with an entry for each choice; where the choices change they fit no longer, and are emptied."""


Choices: TypeAlias = Sequence[Sequence[str]] | pa.ListArray
"""The choices of each row."""


class HiddenLabels(InputError):
    """No row of a split says which choice is right."""


class Layout(Protocol):
    """How rows are told."""

    @property
    def placed(self) -> bool:
        """Whether the choices stand in an order of the benchmark's."""

    @property
    def told(self) -> str:
        """In words."""

    @property
    def read_as(self) -> str:
        """Which columns are read as what, in short."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell the choices and the right one."""

    def offered(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows.

        Raises:
            InputError: the columns hold something else.
        """

    def labels(self, table: pa.Table, offered: Offered, place: str) -> NDArray[np.int64]:
        """(rows,): the place of the right choice among those that are offered.

        Raises:
            InputError: a row does not tell it; names place, row and column.
        """

    def written(self, split: Split, choices: Choices, labels: Sequence[int]) -> pa.Table:
        """The split's columns as they are, with other choices.

        Rows whose choices and label are as before keep their cells. Of the others nothing else changes, but for our
        own columns ``BESIDE_CHOICES``, which are emptied.

        Args:
            split: as it was read.
            choices: (rows,) the choices of each row.
            labels: (rows,) the place of the right one.

        Raises:
            InputError: the layout cannot hold them.
        """


@dataclass(frozen=True)
class PlacedLayout:
    """Choices in an order, and a label that says which is right."""

    choices: ChoiceForm
    label: str
    """the column"""
    label_form: LabelForm
    also: tuple[tuple[str, LabelForm], ...] = ()
    """more columns that say the same, such as the choice's text beside its letter"""

    @property
    def placed(self) -> bool:
        """They stand in an order of the benchmark's."""
        return True

    @property
    def told(self) -> str:
        """In words."""
        return f"choices in {', '.join(self.choices.columns)}; {self.label} is {self.label_form.told}"

    @property
    def read_as(self) -> str:
        """Which columns are read as what, in short."""
        labels = [(self.label, self.label_form), *self.also]
        told = " and ".join(f"{names_told([name])} ({form.in_short})" for name, form in labels)
        return f"choices={names_told(self.choices.columns)}, label={told}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell the choices and the right one."""
        return (*self.choices.columns, self.label, *(name for name, _ in self.also))

    def offered(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        return self.choices.read(table, place)

    def labels(self, table: pa.Table, offered: Offered, place: str) -> NDArray[np.int64]:
        """(rows,): the place of the right choice among those that are offered."""
        column = as_text(table[self.label])
        found = offered.labels(self.label_form.read(column, offered))
        wrong = np.flatnonzero(found == UNTOLD)
        if len(wrong) and hidden(column).all():
            raise HiddenLabels(f"{place}: the labels are hidden ({self.label} is {shown(column[0].as_py())} in row 0)")
        for row in wrong[:1]:
            raise InputError(
                f"{place}, row {row}: {self.label} is {shown(table[self.label][int(row)].as_py())}, expected "
                f"{self.label_form.told}, one of its {offered.counts[row]}; mend or leave out such rows "
                f"({len(wrong)} of {len(found)}), or name another column with --label"
            )
        return found

    def written(self, split: Split, choices: Choices, labels: Sequence[int]) -> pa.Table:
        """The split's columns as they are, with other choices."""
        given, rows = _changes(split, choices, labels)
        columns = self.choices.write(split.original, {row: given[row] for row in rows})
        table = _with_columns(split.original, columns)
        wider = ChoiceColumns(tuple(columns)) if isinstance(self.choices, ChoiceColumns) else self.choices
        offered = wider.read(table, split.place)
        places = {}
        for row in rows:
            name = (
                None if offered.names is None else offered.names[int(offered.starts[row]) + int(labels[row])].as_py()
            )
            places[row] = int(labels[row]), given[row][labels[row]], name
        for column, form in ((self.label, self.label_form), *self.also):
            table = _with_columns(table, {column: written_labels(form, table[column], places)})
        return _emptied(table, rows)


@dataclass(frozen=True)
class TargetLayout:
    """The text of the right choice, and its decoys beside it; there is no order."""

    target: str
    """the column"""
    decoys: ChoiceForm

    @property
    def placed(self) -> bool:
        """The target is put first."""
        return False

    @property
    def told(self) -> str:
        """In words."""
        return f"the right choice in {self.target}, its decoys in {', '.join(self.decoys.columns)}"

    @property
    def read_as(self) -> str:
        """Which columns are read as what, in short."""
        return f"right choice={names_told([self.target])}, decoys={names_told(self.decoys.columns)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tell the choices and the right one."""
        return (*self.decoys.columns, self.target)

    def offered(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows, the target first."""
        decoys = self.decoys.read(table, place)
        texts = pa.concat_arrays([as_text(table[self.target]), decoys.texts])
        rows = table.num_rows
        order = np.empty(len(texts), np.int64)
        firsts = decoys.starts + np.arange(rows)
        others = np.ones(len(texts), bool)
        others[firsts] = False
        order[firsts] = np.arange(rows)
        order[others] = rows + np.arange(len(decoys.texts))
        return Offered(texts.take(pa.array(order)), decoys.lengths + 1)

    def labels(self, table: pa.Table, offered: Offered, place: str) -> NDArray[np.int64]:
        """(rows,): 0, where there is a target."""
        found = offered.labels(np.zeros(table.num_rows, np.int64))
        wrong = np.flatnonzero(found == UNTOLD)
        if len(found) and len(wrong) == len(found):
            raise HiddenLabels(f"{place}: the labels are hidden ({self.target} is empty in all rows)")
        for row in wrong[:1]:
            raise InputError(
                f"{place}, row {row}: {self.target} is empty, expected the right answer; mend or leave out such rows "
                f"({len(wrong)} of {len(found)})"
            )
        return found

    def written(self, split: Split, choices: Choices, labels: Sequence[int]) -> pa.Table:
        """The split's columns as they are, with other choices."""
        given, rows = _changes(split, choices, labels)
        targets = split.original[self.target].to_pylist()
        decoys = {}
        for row in rows:
            targets[row] = given[row][labels[row]]
            decoys[row] = [text for place, text in enumerate(given[row]) if place != labels[row]]
        table = _with_columns(split.original, self.decoys.write(split.original, decoys))
        kind = split.original.schema.field(self.target).type
        return _emptied(_with_columns(table, {self.target: pa.array(targets, kind)}) if rows else table, rows)


def _changes(split: Split, choices: Choices, labels: Sequence[int]) -> tuple[list[list[str]], list[int]]:
    """The choices as lists, and the rows that change.

    Raises:
        InputError: there are not as many as rows, a choice is empty, or a label is none of them.
    """
    given = choices.to_pylist() if isinstance(choices, pa.Array | pa.ChunkedArray) else list(map(list, choices))
    if not len(given) == len(labels) == split.rows.num_rows:
        raise InputError(
            f"{split.place}: {len(given)} choices and {len(labels)} labels for {split.rows.num_rows} rows; "
            "expected one each"
        )
    for row, (texts, label) in enumerate(zip(given, labels, strict=True)):
        if not 0 <= label < len(texts) or not all(texts):
            raise InputError(
                f"{split.place}, row {row}: label {label} with choices {shown(texts)}; expected one of them"
            )
    old = split.rows["choices"].combine_chunks()
    rows = changed_rows(old, split.rows["label"].to_numpy(), given, labels)
    return given, rows.tolist()


def _with_columns(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """The table with these columns in their places; new ones stand behind the one named before them."""
    last = len(table.column_names) - 1
    for name, values in columns.items():
        if name in table.column_names:
            last = table.column_names.index(name)
            field = table.schema.field(name)
            table = table.set_column(last, field.with_type(values.type).with_nullable(True), values)
        else:
            last += 1
            table = table.add_column(last, name, values)
    return table


def _emptied(table: pa.Table, rows: Sequence[int]) -> pa.Table:
    """The table without what our own columns say of the choices of these rows."""
    for name in BESIDE_CHOICES:
        if rows and name in table.column_names:
            values = table[name].to_pylist()
            for row in rows:
                values[row] = "[]" if is_text(table.schema.field(name).type) else []  # text, as csv files have it
            table = _with_columns(table, {name: pa.array(values, table.schema.field(name).type)})
    return table
