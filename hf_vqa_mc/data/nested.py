"""Columns within columns: records, objects written as text, and conversations, as columns of their own."""

import contextlib
import json
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.cells import JSON_TEXT, MOST_NAMES, as_array, is_image, is_list, is_text, parsed, spelled_like

TURNS = {"human": "human", "gpt": "gpt", "user": "human", "assistant": "gpt"}
"""Speaker of a turn to the name of its column, in conversations of LLaVA's form and in chat messages."""


def flat(table: pa.Table, needed: Collection[str] | None = None) -> pa.Table:
    """The table, followed by the columns within its columns, such as ``question.stem`` of a column of records.

    Conversations with one human turn and at most one answer become ``conversations.human`` and ``conversations.gpt``.
    Texts in columns of values of different types are not quoted. ``needed``: the columns that are read; None for all.
    """
    inner = {}
    for field in table.schema:
        if is_json(field) and (needed is None or field.name in needed):
            index = table.schema.get_field_index(field.name)
            texts = map(_unquoted, table[field.name].to_pylist())
            table = table.set_column(index, field, pa.array(texts, pa.string()))
        if needed is not None and not any(name.startswith(f"{field.name}.") for name in needed):
            continue
        for name, column in _inner(table[field.name]).items():
            if f"{field.name}.{name}" not in table.column_names:
                inner[f"{field.name}.{name}"] = column
    for name, column in inner.items():
        table = table.append_column(name, column)
    return table


def name_within(name: str, table: pa.Table) -> str:
    """The name of a column within its column: ``stem`` of ``question.stem``; the name of other columns."""
    parent, dot, inner = name.partition(".")
    return inner if dot and parent in table.column_names else name


def with_columns(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    """The table with columns replaced, also those of `flat`; a new one is inserted after the one named before it."""
    names, last, inner = table.column_names, table.num_columns - 1, dict[str, dict[str, pa.Array]]()
    for name, values in columns.items():
        parent, _, child = name.partition(".")
        if name in table.column_names:
            last = table.column_names.index(name)
            field = table.schema.field(name)
            if is_json(field):
                cells = zip(table[name].to_pylist(), as_array(values).to_pylist(), strict=True)
                quoted = (old if new == _unquoted(old) else json.dumps(new, ensure_ascii=False) for old, new in cells)
                values = pa.array(quoted, pa.string())
            table = table.set_column(last, field.with_type(values.type).with_nullable(True), values)
        elif child and parent in names:
            inner.setdefault(parent, {})[child] = as_array(values)
        else:
            last += 1
            table = table.add_column(last, name, values)
    for parent, children in inner.items():
        table = with_columns(table, {parent: _with_inner(as_array(table[parent]), children)})
    return table


def is_json(field: pa.Field) -> bool:
    """Whether a column holds values of different types as JSON text; see `cells.JSON_TEXT`."""
    return bool((field.metadata or {}).items() >= JSON_TEXT.items())


def _unquoted(cell: str | None) -> str | None:
    value = None if cell is None else json.loads(cell)
    return value if isinstance(value, str | None) else cell


def _inner(column: pa.ChunkedArray) -> dict[str, pa.Array]:
    kind = column.type
    if pa.types.is_struct(kind) and not is_image(kind):
        return {field.name: as_array(pc.struct_field(column, field.name)) for field in kind}
    if turn_fields := _turn_fields(kind):
        turns = [_turns(cell, turn_fields[0]) for cell in column.to_pylist()]
        return {name: pa.array([found.get(name, {}).get(turn_fields[1]) for found in turns], pa.string())
                for name in ("human", "gpt")}  # fmt: skip
    if is_text(kind):
        records = _records(column)
        names = dict.fromkeys(name for record in records for name in record or ())
        if len(names) <= MOST_NAMES and all(name and isinstance(name, str) for name in names):
            found = {}
            for name in names:
                with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # of several types
                    found[name] = pa.array([one and one.get(name) for one in records])
            return found
    return {}


def _records(column: pa.ChunkedArray) -> list[dict[str, Any] | None]:
    """Objects in JSON or Python syntax, None for empty cells; [] unless all texts are such."""
    first = next((text for text in pc.drop_null(column.slice(0, 1000)).to_pylist() if text.strip()), "")
    if not first.lstrip().startswith("{"):
        return []
    found: list[dict[str, Any] | None] = []
    for text in column.to_pylist():
        value = parsed(text) if text and text.strip() else None
        if not isinstance(value, dict | None):
            return []
        found.append(value)
    return found


def _turn_fields(kind: pa.DataType) -> tuple[str, str] | None:
    """The names of speaker and text in the records of a conversation; None for other columns."""
    struct = kind.value_type if is_list(kind) else kind
    if not is_list(kind) or not pa.types.is_struct(struct):
        return None
    texts = {field.name for field in struct if is_text(field.type)}
    return next((pair for pair in (("from", "value"), ("role", "content")) if texts.issuperset(pair)), None)


def _turns(cell: list[dict[str, Any] | None] | None, speaker: str) -> dict[str, dict[str, Any]]:
    """The turn of each speaker; none if one speaks twice."""
    turns = [turn for turn in cell or () if turn and turn[speaker] in TURNS]
    found = {TURNS[turn[speaker]]: turn for turn in turns}
    return found if len(found) == len(turns) else {}


def _with_inner(column: pa.Array, children: Mapping[str, pa.Array]) -> pa.Array:
    if pa.types.is_struct(column.type):
        fields = {field.name: pc.struct_field(column, field.name) for field in column.type} | dict(children)
        return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=pc.is_null(column))
    cells, values = column.to_pylist(), {name: child.to_pylist() for name, child in children.items()}
    for row, cell in enumerate(cells):
        if not cell:
            continue
        if turn_fields := _turn_fields(column.type):
            for name, turn in _turns(cell, turn_fields[0]).items():
                turn[turn_fields[1]] = values[name][row] if name in values else turn[turn_fields[1]]
            continue
        record = parsed(cell)
        if isinstance(record, dict):
            given = {name: texts[row] for name, texts in values.items()}
            new = record | {name: text for name, text in given.items() if name in record or text is not None}
            cells[row] = cell if new == record else spelled_like(cell, new)
    return pa.array(cells, column.type)
