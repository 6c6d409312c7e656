"""The ways in which benchmarks tell a row's choices, and write others in the same way."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.columns import choice_columns, is_cell, is_list, is_text, next_name
from hf_vqa_mc.benchmarks.offered import Offered, as_text
from hf_vqa_mc.benchmarks.spelled_lists import list_of_json, unpacked_lists
from hf_vqa_mc.errors import InputError, shown

Texts = Mapping[int, Sequence[str]]
"""Row to its new choices; only rows that change."""


class ChoiceForm(Protocol):
    """How the choices are told."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows.

        Raises:
            InputError: the columns hold something else.
        """

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows; those that are new come last.

        Raises:
            InputError: the form cannot hold them.
        """


@dataclass(frozen=True)
class ListOfChoices:
    """A list in one column."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""
        return (self.column,)

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        lists = _lists(table[self.column])
        lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        return Offered(as_text(pc.list_flatten(lists)), lengths)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows."""
        kind = table.schema.field(self.column).type
        if pa.types.is_fixed_size_list(kind):
            for row, choices in texts.items():
                if len(choices) != kind.list_size:
                    raise InputError(
                        f"row {row}: column {self.column!r} holds lists of {kind.list_size}, not of {len(choices)}; "
                        "keep the number of choices or store it as lists of any length"
                    )
        values = table[self.column].to_pylist()
        for row, choices in texts.items():
            values[row] = list(choices)
        if is_text(kind.value_type):
            return {self.column: pa.array(values, kind)}
        offsets = np.concatenate([[0], np.cumsum([len(value or ()) for value in values])])
        flat = [None if cell is None else str(cell) for value in values for cell in value or ()]
        cells = _typed(pa.array(flat, pa.string()), kind.value_type, self.column)
        nulls = pa.array([value is None for value in values])
        plain = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), cells, mask=nulls)
        return {self.column: plain.cast(kind)}


@dataclass(frozen=True)
class LabelledChoices:
    """A column of records, each with a list of texts and a list of what the label calls them."""

    column: str
    text: str
    label: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""
        return (self.column,)

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        records = table[self.column]
        texts, names = (_lists(pc.struct_field(records, field)) for field in (self.text, self.label))
        lengths = pc.fill_null(pc.list_value_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        beside = pc.fill_null(pc.list_value_length(names), 0).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(lengths != beside)[:1]:
            raise InputError(
                f"{place}, row {row}: {self.column} has {lengths[row]} in {self.text!r} and {beside[row]} in "
                f"{self.label!r}; expected one for each"
            )
        return Offered(as_text(pc.list_flatten(texts)), lengths, as_text(pc.list_flatten(names)))

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows."""
        records = table[self.column].to_pylist()
        for row, choices in texts.items():
            names = list(records[row][self.label] or ["A"])[: len(choices)]
            while len(names) < len(choices):
                last = names[-1]
                names.append(next_name(last, 1) if isinstance(last, str) else last + 1)
            records[row] = {**records[row], self.text: list(choices), self.label: names}
        return {self.column: pa.array(records, table.schema.field(self.column).type)}


@dataclass(frozen=True)
class PackedChoices:
    """A list spelled as text in one column, as Python or json spells it; never evaluated as code."""

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""
        return (self.column,)

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        cells = as_text(table[self.column]).to_pylist()
        lists = unpacked_lists(cells)
        for row, found in enumerate(lists):
            if found is None:
                raise InputError(
                    f"{place}, row {row}: {self.column} is {shown(cells[row])}; expected a list of choices such as "
                    "\"['red', 'blue']\""
                )
        texts = [text for found in lists for text in found or ()]
        return Offered(pa.array(texts, pa.string()), np.array([len(found or ()) for found in lists], np.int64))

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows."""
        cells = table[self.column].to_pylist()
        as_json = all(list_of_json(cell) is not None for cell in cells if cell)
        for row, choices in texts.items():
            cells[row] = json.dumps(list(choices), ensure_ascii=False) if as_json else repr(list(choices))
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


@dataclass(frozen=True)
class ChoiceColumns:
    """A column for each choice, such as A, B, C, D."""

    columns: tuple[str, ...]

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        width, rows = len(self.columns), table.num_rows
        by_column = pa.concat_arrays([as_text(table[name]) for name in self.columns])
        row_by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
        names = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(width, dtype=np.int32), rows)), pa.array(self.columns)
        )
        return Offered(by_column.take(pa.array(row_by_row)), np.full(rows, width, np.int64), names)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows."""
        width = max([len(self.columns), *(len(choices) for choices in texts.values())])
        last = self.columns[-1]
        names = [*self.columns, *(next_name(last, more) for more in range(1, width - len(self.columns) + 1))]
        for name in names[len(self.columns) :]:
            if name in table.column_names:
                raise InputError(f"a choice more needs the column {name!r}, which holds something else; rename it")
        empty = "" if _leaves_empty(table, self.columns) else None
        written = {}
        for place, name in enumerate(names):
            there = place < len(self.columns)
            kind = table.schema.field(name if there else last).type
            column = table[name] if there else pa.chunked_array([pa.array([empty] * table.num_rows, pa.string())])
            cells = as_text(column).to_pylist() if texts else []
            for row, choices in texts.items():
                cells[row] = choices[place] if place < len(choices) else empty
            written[name] = _typed(pa.array(cells, pa.string()), kind, name) if texts else column
        return written


@dataclass(frozen=True)
class ChoiceFields:
    """A column of records with a field for each choice, such as {"A": ..., "B": ...}."""

    column: str
    fields: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold them."""
        return (self.column,)

    def read(self, table: pa.Table, place: str) -> Offered:
        """The choices of all rows."""
        kind = table[self.column].type
        here = [field.name for field in kind] if pa.types.is_struct(kind) else []
        names = (*self.fields, *(name for name in here if name not in self.fields))
        columns = {name: pc.struct_field(table[self.column], name) for name in names if name in here}
        if set(self.fields) - columns.keys():
            raise InputError(f"{place}: column {self.column!r} holds {kind}, expected the fields {self.fields}")
        return ChoiceColumns(tuple(columns)).read(pa.table(columns), place)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The columns with other choices in some rows."""
        kind = table.schema.field(self.column).type
        columns = {field.name: pc.struct_field(table[self.column], field.name) for field in kind}
        written = ChoiceColumns(self.fields).write(pa.table(columns), texts)
        arrays = {name: _whole(column) for name, column in {**columns, **written}.items()}
        return {self.column: pa.StructArray.from_arrays(list(arrays.values()), list(arrays))}


def _lists(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece, as lists of any length."""
    kind = column.type
    if pa.types.is_fixed_size_list(kind):
        column = column.cast(pa.list_(kind.value_type))
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column in one piece."""
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column


def _typed(texts: pa.Array, kind: pa.DataType, column: str) -> pa.Array:
    """Texts as a column of this type."""
    if pa.types.is_null(kind):
        return texts  # a column without a single value has no type to keep
    if pa.types.is_boolean(kind):
        texts = pc.utf8_lower(texts)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"column {column!r} holds {kind}, and a new choice is none ({error}); store it as text"
        ) from error


def _leaves_empty(table: pa.Table, columns: Sequence[str]) -> bool:
    """Whether unused cells are "" rather than null."""
    kinds = [table.schema.field(name).type for name in columns]
    return all(map(is_text, kinds)) and not any(table[name].null_count for name in columns)


def form_of(table: pa.Table, column: str) -> ChoiceForm | None:
    """The form in which one column holds all choices of a row, None if it does not."""
    kind = table.schema.field(column).type
    if is_list(kind):
        simple = is_text(kind.value_type) or pa.types.is_integer(kind.value_type)
        return ListOfChoices(column) if simple or pa.types.is_floating(kind.value_type) else None
    if pa.types.is_struct(kind):
        lists = {field.name: field for field in kind if is_list(field.type)}
        text = next((name for name in ("text", "texts", "choices", "choice") if name in lists), None)
        label = next((name for name in ("label", "labels", "key", "keys") if name in lists), None)
        if text and label:
            return LabelledChoices(column, text, label)
        names = [field.name for field in kind]
        runs = [run for run in choice_columns(names) if len(run) == len(names)]
        return ChoiceFields(column, tuple(runs[0])) if runs and all(is_cell(field.type) for field in kind) else None
    if is_text(kind):
        starts = pc.utf8_slice_codeunits(pc.utf8_ltrim_whitespace(as_text(table[column]).drop_null()), 0, 1)
        found = {start for start in pc.unique(starts).to_pylist() if start}
        return PackedChoices(column) if found and found <= {"[", "("} else None
    return None


def changed_rows(
    old: pa.ListArray, old_labels: NDArray[np.int64], choices: Sequence[Sequence[str]], labels: Sequence[int]
) -> NDArray[np.int64]:
    """The rows whose choices or label are others than before."""
    same = [list(new) == before for new, before in zip(choices, old.to_pylist(), strict=True)]
    changed: NDArray[np.int64] = np.flatnonzero(~np.array(same, bool) | (old_labels != np.asarray(labels, np.int64)))
    return changed
