"""The forms in which columns hold the choices of a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks.cells import ChoiceCells, as_array, as_lists, as_text, is_cell, is_list, is_number, is_text
from hf_vqa_mc.benchmarks.columns import choice_columns, next_name
from hf_vqa_mc.errors import InputError

Texts = Mapping[int, Sequence[str]]
"""New choices by row, for changed rows only."""


class ChoiceForm(Protocol):
    """A form of columns with choices."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows; raises InputError if a row cannot be read."""

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with new choices, new columns last; raises InputError if the form cannot represent them."""


@dataclass(frozen=True)
class OneColumn:
    """A form of one column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)


class ListOfChoices(OneColumn):
    """A list in one column."""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "ListOfChoices | None":
        """The form of a column of lists of texts or numbers."""
        kind = table.schema.field(column).type
        return cls(column) if is_list(kind) and (is_text(kind.value_type) or is_number(kind.value_type)) else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        cells, lengths = as_lists(table[self.column])
        return ChoiceCells(as_text(cells), lengths)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        kind = table.schema.field(self.column).type
        values = table[self.column].to_pylist()
        for row, choices in texts.items():
            if pa.types.is_fixed_size_list(kind) and len(choices) != kind.list_size:
                raise InputError(
                    f"row {row}: column {self.column!r} holds lists of {kind.list_size}, not of {len(choices)}; "
                    "keep the number of choices, or store lists of variable length"
                )
            values[row] = list(choices)
        if is_text(kind.value_type):
            return {self.column: pa.array(values, kind)}
        spelled = [value and [None if cell is None else str(cell) for cell in value] for value in values]
        return {self.column: typed(pa.array(spelled, pa.list_(pa.string())), kind, self.column, "choice")}


@dataclass(frozen=True)
class LabelledChoices(OneColumn):
    """A column of records, each with a list of texts and a list of their names in labels."""

    text: str
    label: str

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "LabelledChoices | None":
        """The form of a column such as ARC's ``{"text": [...], "label": [...]}``."""
        kind = table.schema.field(column).type
        lists = [field.name for field in kind if is_list(field.type)] if pa.types.is_struct(kind) else []
        text = next((name for name in ("text", "texts", "choices", "choice") if name in lists), None)
        label = next((name for name in ("label", "labels", "key", "keys") if name in lists), None)
        return cls(column, text, label) if text and label else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        texts, lengths = as_lists(pc.struct_field(table[self.column], self.text))
        names, named = as_lists(pc.struct_field(table[self.column], self.label))
        for row in np.flatnonzero(lengths != named)[:1]:
            raise InputError(
                f"{location}, row {row}: {self.column} has {lengths[row]} in {self.text!r} and {named[row]} in "
                f"{self.label!r}; expected one for each"
            )
        return ChoiceCells(as_text(texts), lengths, as_text(names))

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        records = table[self.column].to_pylist()
        for row, choices in texts.items():
            names = list(records[row][self.label] or ["A"])[: len(choices)]
            while len(names) < len(choices):
                last = names[-1]
                names.append(next_name(last, 1) if isinstance(last, str) else last + 1)
            records[row] = {**records[row], self.text: list(choices), self.label: names}
        return {self.column: pa.array(records, table.schema.field(self.column).type)}


@dataclass(frozen=True)
class ChoiceColumns:
    """A column for each choice, such as A, B, C, D."""

    columns: tuple[str, ...]

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        width, rows = len(self.columns), table.num_rows
        by_column = pa.concat_arrays([as_text(table[name]) for name in self.columns])
        row_by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
        names = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(width, dtype=np.int32), rows)), pa.array(self.columns)
        )
        return ChoiceCells(by_column.take(pa.array(row_by_row)), np.full(rows, width, np.int64), names)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with new choices in some rows, and additional columns for more choices."""
        if not texts:
            return {name: table[name] for name in self.columns}
        last = self.columns[-1]
        more = max(len(choices) for choices in texts.values()) - len(self.columns)
        added = [next_name(last, number) for number in range(1, more + 1)]
        for name in added:
            if name in table.column_names:
                raise InputError(f"a new choice needs the column {name!r}, which exists already; rename that column")
        kinds = {name: table.schema.field(name).type for name in self.columns}
        filled = all(map(is_text, kinds.values())) and not any(table[name].null_count for name in self.columns)
        empty = "" if filled else None
        written = {}
        for index, name in enumerate((*self.columns, *added)):
            cells = as_text(table[name]).to_pylist() if name in kinds else [empty] * table.num_rows
            for row, choices in texts.items():
                cells[row] = choices[index] if index < len(choices) else empty
            written[name] = typed(pa.array(cells, pa.string()), kinds.get(name, kinds[last]), name, "choice")
        return written


@dataclass(frozen=True)
class ChoiceFields(OneColumn):
    """A column of records with a field for each choice, such as {"A": ..., "B": ...}."""

    fields: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "ChoiceFields | None":
        """The form of a column whose fields are all choices."""
        kind = table.schema.field(column).type
        if not pa.types.is_struct(kind) or not all(is_cell(field.type) for field in kind):
            return None
        names = [field.name for field in kind]
        runs = [run for run in choice_columns(names) if len(run) == len(names)]
        return cls(column, tuple(runs[0])) if runs else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        fields = self._fields(table)
        if set(self.fields) - fields.keys():
            kind = table[self.column].type
            raise InputError(f"{location}: column {self.column!r} holds {kind}, expected the fields {self.fields}")
        names = (*self.fields, *(name for name in fields if name not in self.fields))
        return ChoiceColumns(names).read(pa.table(fields), location)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        fields = self._fields(table)
        written = ChoiceColumns(self.fields).write(pa.table(fields), texts)
        arrays = {name: as_array(column) for name, column in {**fields, **written}.items()}
        return {self.column: pa.StructArray.from_arrays(list(arrays.values()), list(arrays))}

    def _fields(self, table: pa.Table) -> dict[str, pa.ChunkedArray]:
        kind = table[self.column].type
        names = [field.name for field in kind] if pa.types.is_struct(kind) else []
        return {name: pc.struct_field(table[self.column], name) for name in names}


def typed(texts: pa.Array, kind: pa.DataType, column: str, what: str) -> pa.Array:
    """Texts as a column of another type; raises InputError if a text cannot be converted."""
    if pa.types.is_null(kind):
        return texts  # a column without values has no type to keep
    try:
        return (pc.utf8_lower(texts) if pa.types.is_boolean(kind) else texts).cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"column {column!r} holds {kind}, a new {what} does not fit ({error}); store the column as text"
        ) from error
