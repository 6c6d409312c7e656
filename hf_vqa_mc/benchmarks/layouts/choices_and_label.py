"""The layout of most benchmarks: ordered choices, and a label for the correct one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import ChoiceCells
from hf_vqa_mc.benchmarks.columns import (
    CHOICES,
    LABEL,
    QUESTION,
    cell_columns,
    choice_columns,
    columns_in_words,
    named,
)
from hf_vqa_mc.benchmarks.layouts.choice_forms import ChoiceColumns, ChoiceForm
from hf_vqa_mc.benchmarks.layouts.label_forms import LabelForm, with_labels
from hf_vqa_mc.benchmarks.layouts.label_readings import Reading, check_agreement, checked_labels, decided, readings
from hf_vqa_mc.benchmarks.layouts.layout import AmbiguousLabels, Layout, Tables, with_columns
from hf_vqa_mc.benchmarks.layouts.text_forms import OptionsInText, forms_of
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown


@dataclass(frozen=True)
class ChoicesAndLabel(Layout):
    """Ordered choices, and a label for the correct one."""

    name: ClassVar[str] = "choices_and_label"

    choices: ChoiceForm
    label: str
    """the column of labels"""
    label_form: LabelForm
    also: tuple[tuple[str, LabelForm], ...] = ()
    """additional label columns, such as the choice's text next to its letter"""

    @classmethod
    def find(cls, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> "ChoicesAndLabel | None":
        """The first form of choices with a matching label column."""
        failures: list[InputError] = []
        for form in _choice_forms(tables[split], options):
            try:
                return cls.with_label(tables, split, form, options, location)
            except AmbiguousLabels:
                raise
            except InputError as error:
                failures.append(error)
        for failure in failures:
            raise failure
        return None

    @classmethod
    def with_label(
        cls, tables: Tables, split: str, form: ChoiceForm, options: BenchmarkOptions, location: str
    ) -> "ChoicesAndLabel":
        """The layout with these choices; raises InputError without label column, or if several disagree."""
        table = tables[split]
        names = [options.label] if options.label else named(cell_columns(table), LABEL)
        names = [name for name in names if name not in form.columns]
        if not names:
            raise InputError(
                f"{location}: choices are in {', '.join(form.columns)}, but no column of "
                f"{', '.join(map(shown, table.column_names))} is recognised as labels; give it with --label"
            )
        same = {name: one for name, one in tables.items() if set(form.columns) <= set(one.column_names)}
        cells = {name: form.read(one, location if name == split else name) for name, one in same.items()}
        fitting: list[list[Reading]] = []
        failures: list[InputError] = []
        for name in names:
            try:
                fitting.append(readings(tables, split, name, cells, options.label_from, location))
            except InputError as error:
                failures.append(error)
        if not fitting:
            raise failures[0]  # of the most likely column
        found = decided(fitting, tables, cells, location)
        check_agreement(found, f"{location}: {names}", "choose one with --label")
        first, *more = found
        if options.label_from is not None and all(one.form.first is None for one in found):
            raise InputError(
                f"--label-from {options.label_from}: in {location}, {first.label} holds {first.form.short}, not "
                "integers; remove it"
            )
        return cls(form, first.label, first.form, tuple((one.label, one.form) for one in more))

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the questions, if the column of choices holds them too."""
        return self.choices.questions(table, location) if isinstance(self.choices, OptionsInText) else None

    @property
    def _labels(self) -> tuple[tuple[str, LabelForm], ...]:
        return ((self.label, self.label_form), *self.also)

    @property
    def description(self) -> str:
        """The columns of choices, and the form of labels."""
        return f"choices in {', '.join(self.choices.columns)}; {self.label} is {self.label_form.description}"

    @property
    def read_as(self) -> str:
        """Short description of the columns."""
        labels = " and ".join(f"{columns_in_words([name])} ({form.short})" for name, form in self._labels)
        return f"choices={columns_in_words(self.choices.columns)}, label={labels}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of choices and labels."""
        return (*self.choices.columns, *(name for name, _ in self._labels))

    @property
    def index_from(self) -> int | None:
        """Index of the first choice, if labels are integers."""
        return self.label_form.first

    def cells(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        return self.choices.read(table, location)

    def labels(self, table: pa.Table, cells: ChoiceCells, location: str) -> NDArray[np.int64]:
        """(rows,): index of the correct choice."""
        return checked_labels(self.label_form, self.label, table, cells, location)

    def write(self, table: pa.Table, rows: Mapping[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new choices and labels in some rows."""
        columns = self.choices.write(table, {row: texts for row, (texts, _) in rows.items()})
        table = with_columns(table, columns)
        wider = ChoiceColumns(tuple(columns)) if isinstance(self.choices, ChoiceColumns) else self.choices
        cells = wider.read(table, location)
        labels = {}
        for row, (texts, label) in rows.items():
            name = None if cells.names is None else cells.names[int(cells.starts[row]) + label].as_py()
            labels[row] = label, texts[label], name
        for name, form in self._labels:
            table = with_columns(table, {name: with_labels(form, table, name, labels)})
        return table


def _choice_forms(table: pa.Table, options: BenchmarkOptions) -> list[ChoiceForm]:
    """Candidate forms of all choices, most likely first."""
    forms = forms_of(table, options, CHOICES, choice_columns)
    if options.choices and not forms:
        (name,) = options.choices
        raise InputError(
            f"--choices {name}: holds {table.schema.field(name).type}, expected a list of texts, a text with "
            "such a list or with lettered options, or several columns"
        )
    if not options.choices:
        questions = [options.question] if options.question else named(table.column_names, QUESTION)
        forms += filter(None, (OptionsInText.of(table, name) for name in questions))
    return forms
