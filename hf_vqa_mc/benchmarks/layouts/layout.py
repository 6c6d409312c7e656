"""The interface of layouts: how choices and labels are found in a benchmark's columns, read and written back."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import ChoiceCells, as_array, is_text
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.text.many_texts import lists_of

PER_CHOICE = ("choice_kinds", "choice_fallback", "choice_origins")
"""Columns of vqa-mc with one entry per choice; emptied where the choices change."""

Tables = Mapping[str, pa.Table]
"""Split name to its columns."""
Choices: TypeAlias = Sequence[Sequence[str]] | pa.ListArray | pa.ChunkedArray
"""(rows,) the choices of each row."""


class HiddenLabels(InputError):
    """No row of a split has a label."""


class AmbiguousLabels(InputError):
    """Two interpretations of the labels fit equally well; no other layout is tried."""


class Layout(ABC):
    """A layout found in a benchmark's columns; the class is the declaration, listed in ``LAYOUTS``."""

    name: ClassVar[str]
    ordered: ClassVar[bool] = True
    """whether the benchmark defines the order of choices; otherwise the target comes first"""

    @classmethod
    @abstractmethod
    def find(cls, tables: Tables, split: str, options: BenchmarkOptions, location: str) -> Self | None:
        """The layout of these tables; None if it does not apply.

        Args:
            tables: the splits.
            split: the one that must be readable; the others help to interpret its labels.
            options: columns named by the user.
            location: of the split, for messages.

        Raises:
            InputError: the columns look like this layout, but cannot be read.
        """

    @property
    @abstractmethod
    def description(self) -> str:
        """Description of choices and labels for cards and messages."""

    @property
    @abstractmethod
    def read_as(self) -> str:
        """Short description of the detected columns."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The columns of choices and labels."""

    @property
    def index_from(self) -> int | None:
        """Index of the first choice, if labels are integers."""
        return None

    @abstractmethod
    def cells(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows; raises InputError if a row cannot be read."""

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the questions, if a column of choices holds them too; else None."""
        return None

    @abstractmethod
    def labels(self, table: pa.Table, cells: ChoiceCells, location: str) -> NDArray[np.int64]:
        """(rows,): index of the correct choice.

        Raises:
            InputError: a row has no valid label; names location, row and column.
        """

    @abstractmethod
    def write(self, table: pa.Table, rows: Mapping[int, tuple[list[str], int]], location: str) -> pa.Table:
        """The table with new choices and label index by row; raises InputError if it cannot represent them."""

    def written(
        self, table: pa.Table, rows: pa.Table, choices: Choices, labels: Sequence[int], location: str
    ) -> pa.Table:
        """The table with new choices and label indices, (rows,) each; ``rows`` is the same split as ``ROWS``.

        Unchanged rows keep their cells, others have empty ``PER_CHOICE`` columns.

        Raises:
            InputError: a wrong number of rows, an empty choice, a label out of range, or unsupported by the layout.
        """
        if not len(choices) == len(labels) == rows.num_rows:
            raise InputError(
                f"{location}: {len(choices)} choices and {len(labels)} labels for {rows.num_rows} rows; "
                "expected one each"
            )
        changed = {}
        before = zip(lists_of(as_array(rows["choices"])), rows["label"].to_pylist(), strict=True)
        given = lists_of(as_array(choices)) if isinstance(choices, pa.Array | pa.ChunkedArray) else choices
        for row, (old, texts, label) in enumerate(zip(before, given, labels, strict=True)):
            if not 0 <= label < len(texts) or not all(texts):
                raise InputError(
                    f"{location}, row {row}: label {label} with choices {shown(texts)}; expected one of them"
                )
            if old != (list(texts), label):
                changed[row] = list(texts), int(label)
        written = self.write(table, changed, location)
        for name in PER_CHOICE:
            if changed and name in table.column_names:
                values, kind = table[name].to_pylist(), table.schema.field(name).type
                for row in changed:
                    values[row] = "[]" if is_text(kind) else []  # text in CSV files
                written = with_columns(written, {name: pa.array(values, kind)})
        return written


def with_columns(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """The table with columns replaced; each new one is inserted after the one named before it."""
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
