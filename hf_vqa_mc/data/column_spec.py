"""Which columns of a benchmark hold questions, choices and labels, and in which form; read, and written back."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_array, as_mask, as_text, flat, is_text, with_columns
from hf_vqa_mc.data.choices import UNKNOWN, ChoiceCells, ChoiceForm, TargetAndDecoys
from hf_vqa_mc.data.labels import (
    BY_LETTER,
    BY_TEXT,
    HiddenLabels,
    LabelForm,
    by_index,
    hidden,
    hidden_labels,
    label_texts,
    with_labels,
)
from hf_vqa_mc.data.names import columns_in_words
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.text.many_texts import lists_of

PER_CHOICE = ("choice_kinds", "choice_fallback", "choice_origins")
"""Columns of vqa-mc with one entry per choice; emptied where the choices change."""
SAMPLE, LEAST_ROWS = 1000, 10  # rows in which an unnamed label column is searched, and the fewest that show one
Choices: TypeAlias = Sequence[Sequence[str]] | pa.ListArray | pa.ChunkedArray  # (rows,) the choices of each row


@dataclass(frozen=True)
class RowCells:
    """Questions, choices and labels of a table's rows."""

    questions: pa.Array  # (rows,): text
    cells: ChoiceCells
    labels: NDArray[np.int64]  # (rows,): index of the correct choice; UNKNOWN in rows without choices
    faults: dict[int, tuple[str, str]] = field(default_factory=dict)
    """why a row cannot be read, by row: question, choices, label or missing_label, and a message"""


@dataclass(frozen=True)
class ColumnSpec:
    """The columns of questions, choices and labels, with their forms."""

    question: str | None  # None if the choices' column holds the question, too
    choices: ChoiceForm
    labels: tuple[tuple[str, LabelForm], ...] = ()
    """label columns, such as letters and the text of the choice; none if the choices show the correct one"""
    repeated: str = ""
    """columns that repeat the choices, such as the prompts ``query`` of MathVista; they cannot be changed"""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of choices and labels."""
        return (*self.choices.columns, *(name for name, _ in self.labels))

    @property
    def ordered(self) -> bool:
        """Whether the benchmark defines the order of choices; otherwise the target comes first."""
        return not isinstance(self.choices, TargetAndDecoys)

    @property
    def index_from(self) -> int | None:
        """Index of the first choice, if labels are integers."""
        return self.labels[0][1].first if self.labels else None

    @property
    def read_as(self) -> str:
        """Short description of the columns."""
        labels = " and ".join(f"{columns_in_words([name])} ({form.name})" for name, form in self.labels)
        question = f"question={columns_in_words([self.question or self.choices.columns[0]])}"
        return ", ".join(filter(None, [question, self.choices.description, labels and f"label={labels}"]))

    @property
    def description(self) -> str:
        """The columns of choices, and the form of labels, for cards."""
        label = f"; {self.labels[0][0]} is {self.labels[0][1].description}" if self.labels else ""
        return f"{self.choices.description}{label}"

    def read(self, table: pa.Table, location: str) -> RowCells:
        """Questions, choices and labels of all rows; raises HiddenLabels if no row has a label."""
        table = self._flat(table, location)
        cells = self.choices.read(table)
        faults = {row: ("choices", message) for row, message in cells.faults.items()}
        questions = self.choices.questions(table) if self.question is None else as_text(table[self.question])
        questions = pa.nulls(table.num_rows, pa.string()) if questions is None else questions
        labels = self._labels(table, cells, faults, location)
        for row in np.flatnonzero(cells.has_choices & (cells.counts < 2)).tolist():
            faults.setdefault(row, ("choices", f"{cells.counts[row]} choice, expected two or more"))
        name = self.question or self.choices.columns[0]
        for row in np.flatnonzero(as_mask(pc.is_null(questions))).tolist():
            faults.setdefault(row, ("question", f"{name} is empty (null), expected a question"))
        return RowCells(questions, cells, labels, faults)

    def _labels(
        self, table: pa.Table, cells: ChoiceCells, faults: dict[int, tuple[str, str]], location: str
    ) -> NDArray[np.int64]:
        """(rows,): index of the correct choice; adds the faults of rows with choices and without a label."""
        valid = cells.has_choices
        if cells.targets is not None:
            labels = cells.labels(cells.targets)
            target = self.choices.columns[-1]
            if valid.any() and (labels == UNKNOWN)[valid].all():
                raise HiddenLabels(f"{location}: the labels are hidden ({target} is empty in all rows)")
            for row in np.flatnonzero(valid & (labels == UNKNOWN)).tolist():
                faults.setdefault(row, ("missing_label", f"{target} is empty or marks several, expected one answer"))
            return labels
        name, form = self.labels[0]
        texts, several = label_texts(table, name)
        positions = form.read(texts, cells)
        labels = cells.labels(positions)
        wrong, is_hidden = np.flatnonzero(valid & (labels == UNKNOWN)).tolist(), hidden(texts)
        if wrong and not several and is_hidden[valid].all():
            raise hidden_labels(location, name, table, wrong[0])
        for row in wrong:
            message = several.get(row) or form.unreadable(name, table, cells, row)
            if 0 <= positions[row] < cells.ends[row]:
                message = f"{name} is {shown(table[name][row].as_py())}, but this choice is empty"
            is_missing = is_hidden[row] and row not in several
            faults.setdefault(row, ("missing_label" if is_missing else "label", message))
        return labels

    def written(
        self, table: pa.Table, rows: pa.Table, choices: Choices, labels: Sequence[int], location: str
    ) -> pa.Table:
        """The table with new choices and label indices, (rows,) each; changed rows lose ``PER_CHOICE`` cells."""
        changed: dict[int, tuple[list[str], int]] = {}
        before = zip(lists_of(as_array(rows["choices"])), rows["label"].to_pylist(), strict=True)
        given = lists_of(as_array(choices)) if isinstance(choices, pa.Array | pa.ChunkedArray) else choices
        for row, (old, texts, label) in enumerate(zip(before, given, labels, strict=True)):
            if old != (list(texts), label):
                changed[row] = list(texts), int(label)
        spec = replace(self, labels=(*self.labels, *self._other_labels(table, rows)))
        return spec._with_rows(table, changed, location) if changed else table

    def _other_labels(self, table: pa.Table, rows: pa.Table) -> list[tuple[str, LabelForm]]:
        """Further columns that name the correct choice in all rows (of the first thousand), in any form."""
        table = flat(table.slice(0, SAMPLE), self.columns)
        cells, labels = self.choices.read(table), rows["label"].to_numpy()[:SAMPLE]
        if table.num_rows < LEAST_ROWS or len(np.unique(labels)) == 1:
            return []
        forms = (BY_LETTER, BY_TEXT, by_index(0), by_index(1))
        others = [one.name for one in table.schema if is_text(one.type) or pa.types.is_integer(one.type)]
        return [
            (name, form)
            for name in others
            if name not in (*self.columns, self.question)
            for form in forms
            if (cells.labels(form.read(as_text(table[name]), cells)) == labels).all()
        ]

    def _with_rows(self, table: pa.Table, changed: dict[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new choices and labels in some rows; raises InputError unless they can be read back."""
        if self.repeated:
            raise InputError(
                f"{location}: {self.repeated} repeats the choices of {columns_in_words(self.choices.columns)} and "
                f"would keep the old ones; remove it, or choose with --choices {','.join(self.choices.columns)}"
            )
        columns = self.choices.write(self._flat(table, location), changed)
        table = with_columns(table, columns)
        wider = replace(self.choices, columns=tuple(columns))
        inner = flat(table, (*self.columns, *columns))
        cells = wider.read(inner)
        new = {}
        for row, (texts, label) in changed.items():
            cell = int(cells.starts[row]) + label
            name = cells.names[cell].as_py() if cells.names is not None and cell < len(cells.names) else None
            new[row] = label, texts[label], name
        for name, form in self.labels:
            table = with_columns(table, {name: with_labels(form, inner, name, new)})
        for name in PER_CHOICE:
            if name in table.column_names:
                values, kind = table[name].to_pylist(), table.schema.field(name).type
                for row in changed:
                    values[row] = "[]" if is_text(kind) else []  # text in CSV files
                table = with_columns(table, {name: pa.array(values, kind)})
        again = ColumnSpec(self.question, wider, self.labels).read(table.take(pa.array(list(changed))), location)
        for at, (row, (texts, label)) in enumerate(changed.items()):
            expected = texts if self.ordered else [texts[label], *texts[:label], *texts[label + 1 :]]
            read = again.cells.choices[at].as_py(), int(again.labels[at])
            if at in again.faults or read != (expected, label if self.ordered else 0):
                raise InputError(
                    f"{location}, row {row + 1}: the choices {shown(texts)} cannot be written so that they are read "
                    f"back from {columns_in_words(self.columns)}; store the choices as a list of texts"
                )
        return table

    def _flat(self, table: pa.Table, location: str) -> pa.Table:
        """The table with the columns within its columns; raises InputError if a column is missing."""
        needed = [*self.columns, *filter(None, [self.question])]
        table = flat(table, needed)
        for name in needed:
            if name not in table.column_names:
                raise InputError(f"{location}: no column {name!r}, which the other splits have")
        return table
