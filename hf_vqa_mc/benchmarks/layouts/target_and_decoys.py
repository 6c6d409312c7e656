"""The layout of SciQ and Visual7W: target in one column, decoys in others, without an order of choices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import UNKNOWN, ChoiceCells, as_text, is_text
from hf_vqa_mc.benchmarks.columns import CHOICES, DECOYS, LABEL, cell_columns, columns_in_words, decoy_columns, named
from hf_vqa_mc.benchmarks.faulty_rows import FaultyRows
from hf_vqa_mc.benchmarks.layouts.choice_forms import ChoiceForm
from hf_vqa_mc.benchmarks.layouts.label_forms import BY_LETTER, BY_TEXT, hidden, integers_only
from hf_vqa_mc.benchmarks.layouts.layout import HiddenLabels, Layout, Tables, with_columns
from hf_vqa_mc.benchmarks.layouts.text_forms import forms_of
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError


@dataclass(frozen=True)
class TargetAndDecoys(Layout):
    """The target's text and its decoys."""

    name: ClassVar[str] = "target_and_decoys"
    ordered: ClassVar[bool] = False

    target: str
    """the column of targets"""
    decoys: ChoiceForm

    @classmethod
    def find(cls, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> "TargetAndDecoys | None":
        """A column of decoys, and a column of texts that are never among them."""
        table = tables[split]
        cells = cell_columns(table)
        targets = [options.label] if options.label else named(table.column_names, LABEL)
        targets = [name for name in targets if name in cells and is_text(table.schema.field(name).type)]
        for form in forms_of(table, options, DECOYS, decoy_columns):
            for target in targets:
                if target not in form.columns and _are_disjoint(table, form, target):
                    if options.label_from is not None:
                        raise InputError(
                            f"--label-from {options.label_from}: in {location}, {target} holds texts, not integers; "
                            "remove it"
                        )
                    return cls(target, form)
        return None

    @property
    def description(self) -> str:
        """The columns of target and decoys."""
        return f"the right choice in {self.target}, its decoys in {', '.join(self.decoys.columns)}"

    @property
    def read_as(self) -> str:
        """Short description of the columns."""
        return f"right choice={columns_in_words([self.target])}, decoys={columns_in_words(self.decoys.columns)}"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of decoys and target."""
        return (*self.decoys.columns, self.target)

    def cells(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows, the target first."""
        decoys = self.decoys.read(table, location)
        texts = pa.concat_arrays([as_text(table[self.target]), decoys.texts])
        rows = table.num_rows
        order = np.insert(np.arange(rows, len(texts)), decoys.starts, np.arange(rows))
        return ChoiceCells(texts.take(pa.array(order)), decoys.lengths + 1)

    def labels(self, table: pa.Table, cells: ChoiceCells, location: str) -> NDArray[np.int64]:
        """(rows,): 0."""
        found = cells.labels(np.zeros(table.num_rows, np.int64))
        wrong = np.flatnonzero(found == UNKNOWN)
        if len(found) and len(wrong) == len(found):
            raise HiddenLabels(f"{location}: the labels are hidden ({self.target} is empty in all rows)")
        for row in wrong[:1]:
            raise FaultyRows(
                f"{location}, row {row}: {self.target} is empty, expected the correct answer; fix or remove such "
                f"rows ({len(wrong)} of {len(found)})",
                "label",
                wrong,
                self.target,
            )
        return found

    def write(self, table: pa.Table, rows: Mapping[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new targets and decoys in some rows."""
        targets, kind = table[self.target].to_pylist(), table.schema.field(self.target).type
        decoys = {}
        for row, (texts, label) in rows.items():
            targets[row] = texts[label]
            decoys[row] = texts[:label] + texts[label + 1 :]
        table = with_columns(table, self.decoys.write(table, decoys))
        return with_columns(table, {self.target: pa.array(targets, kind)}) if rows else table


def _are_disjoint(table: pa.Table, form: ChoiceForm, target: str) -> bool:
    """Whether the target is a text that is never among the row's decoys."""
    try:
        cells = form.read(table, "")
    except InputError:
        return False
    column = as_text(table[target])
    named_decoys = {*named(form.columns, DECOYS)} - {*named(form.columns, CHOICES)} or decoy_columns(form.columns)
    if integers_only(column) and not (named_decoys or integers_only(cells.texts)):
        return False  # indices out of range of textual choices
    among = BY_TEXT.read(column, cells) != UNKNOWN
    letters = BY_LETTER.read(column, cells) != UNKNOWN
    return bool(not among.any() and not letters.all() and not hidden(column).all())
