"""Cells as text and as lists; columns within columns (records, objects as text, conversations) as columns."""

import ast
import contextlib
import json
import re
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

JSON_TEXT = {b"hf_vqa_mc": b"json"}  # metadata of a text column with JSON values of different types
MOST_NAMES = 1000  # objects with more names are no records: their keys are texts, such as choices with scores
TURNS = {"human": "human", "gpt": "gpt", "user": "human", "assistant": "gpt"}
"""Speaker of a turn to the name of its column, in conversations of LLaVA's form and in chat messages."""


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_id(kind: pa.DataType) -> bool:
    """Whether a column of this type may hold ids: text or integers."""
    return is_text(kind) or bool(pa.types.is_integer(kind))


def is_image(kind: pa.DataType) -> bool:
    """Whether a column of this type holds images as ``datasets`` stores them: bytes and path."""
    return bool(pa.types.is_struct(kind)) and {"bytes", "path"} <= {field.name for field in kind}


def is_cell(kind: pa.DataType) -> bool:
    """Whether a column of this type holds values that can be written as short text: text, numbers, booleans."""
    one_of = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    return is_text(kind) or any(one(kind) for one in one_of)


def is_json(field: pa.Field) -> bool:
    """Whether a column holds values of different types as JSON text."""
    return bool((field.metadata or {}).items() >= JSON_TEXT.items())


def as_array(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array; raises pa.ArrowInvalid if it exceeds the limit of one (2 GB of text)."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column as one array of text, NaN as null; raises pa.ArrowInvalid if it exceeds 2 GB or cannot be text."""
    array = as_array(column)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, "True", "False")
    return array.cast(pa.string())


def as_mask(array: pa.Array) -> NDArray[np.bool_]:
    """Booleans, null as False."""
    return np.asarray(pc.fill_null(array, False).to_numpy(zero_copy_only=False), bool)


def as_lists(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]]:
    """The concatenated entries of a column of lists, and (rows,) their lengths; null lists are empty."""
    lists = as_array(column)
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    return pc.list_flatten(lists), lengths


def list_array(entries: pa.Array, lengths: NDArray[np.int64]) -> pa.ListArray:
    """(rows,): lists of the entries, of these lengths."""
    return pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32)), entries)


def text_lists(column: pa.ChunkedArray) -> tuple[pa.Array, NDArray[np.int64]] | None:
    """`as_lists` of a column of lists, or of texts with such lists; None for other columns."""
    if is_text(column.type):
        if not _first_text(column).startswith(("[", "(")):
            return None
        cells = unpacked_lists(column.to_pylist())
        return None if None in cells else as_lists(pa.array(cells, pa.list_(pa.string())))
    return as_lists(column) if is_list(column.type) else None


def _first_text(column: pa.ChunkedArray) -> str:
    """The first text of a column that is not empty, stripped; "" if there is none."""
    return next((text.strip() for text in pc.drop_null(column).slice(0, 1000).to_pylist() if text.strip()), "")


def unpacked_lists(cells: Sequence[str | None]) -> list[list[str | None] | None]:
    """`unpacked_list` of each cell."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # for invalid escapes such as "\\d"
        return [unpacked_list(cell) for cell in cells]


def unpacked_list(cell: str | None) -> list[str | None] | None:
    """Parse a list of texts and numbers; None if it is not one, [] for an empty cell.

    >>> unpacked_list("['red', 2, None]"), unpacked_list('["a"]'), unpacked_list("red")
    (['red', '2', None], ['a'], None)
    >>> unpacked_list('["it is", null]'), unpacked_list("['lamp' 'door']")
    (['it is', None], ['lamp', 'door'])
    """
    if not cell or not cell.strip():
        return []
    _, found = _parsed(_LATEX.sub(r"\\\\", cell) if "\\" in cell else cell)
    if not isinstance(found, list | tuple) or not all(isinstance(text, str | int | float | None) for text in found):
        return None
    return [None if text is None or text != text else str(text) for text in found]  # NaN


_LATEX = re.compile(r"(?<!\\)\\(?=[abfv][a-z]|(?:t(?:imes|heta|an|au|frac)|rho|right|n(?:u|eq)|xi)(?![a-z])|text\{)")
"""The backslash of a command of LaTeX that is not escaped: Python and JSON read a tab in ``\\theta``."""
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_NUMPY = re.compile(
    rf"(?P<text>{_QUOTED})|(?P<nan>\bnan\b)|\b(?:np\.\w+|array)\(|(?<=[\]'\"\w])(?:,\s*dtype=[^()\[\]]*)?\)|"
    r"(?<=[\w\]}'\".])(?P<blank>\s+)(?=[\w\[{'\"-])",
    re.DOTALL,
)
"""Text, which is kept; NaN; the calls that NumPy prints; and the blanks between entries, which have no commas."""


def _of_numpy(text: str) -> object:
    """The value of a printed array, or of a list or object with arrays; raises ValueError for other texts."""
    python = {"nan": "None", "blank": ", "}
    plain = _NUMPY.sub(lambda match: match["text"] or python.get(match.lastgroup or "", ""), text)
    if plain == text or "[" not in text:
        raise ValueError("no array")
    return ast.literal_eval(plain)


def _parsed(text: str) -> tuple[Callable[[str], object] | None, object]:
    """The parser of a list or object in JSON, NumPy or Python syntax, and its value; None and None for other texts."""
    for parse in (json.loads, _of_numpy, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            value = parse(text)
            if "\\u" in text:
                json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for lone surrogates
            return parse, value
    return None, None


def unpacked_column(column: pa.ChunkedArray) -> pa.Array | None:
    """The records and lists of records that all texts of a column hold; None if they hold anything else."""
    with contextlib.suppress(pa.ArrowException, OverflowError):  # of several types
        array = pa.array(_values(column, ("{", "[")))
        if pa.types.is_struct(array.type.value_type if is_list(array.type) else array.type):
            return array
    return None


def spelled_like(old: str, value: object) -> str:
    """A list or object in the syntax of an old text."""
    parse, _ = _parsed(old)
    if parse is _of_numpy and isinstance(value, list) and "(" not in old:
        return f"[{' '.join(map(repr, value))}]"
    return json.dumps(value, ensure_ascii=False) if parse in (None, json.loads) else repr(value)


def flat(table: pa.Table, needed: Collection[str] | None = None) -> pa.Table:
    """The table, followed by the columns within its columns, such as ``question.stem`` of a column of records.

    Conversations with one human turn and at most one answer become ``conversations.human`` and ``conversations.gpt``.
    Texts in columns of values of different types are not quoted. ``needed``: the columns that are read; None for all.
    """
    inner = {}
    for field in table.schema:
        if is_json(field) and (needed is None or any(f"{name}.".startswith(f"{field.name}.") for name in needed)):
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
                values = pa.array([_quoted(old, new) for old, new in cells], pa.string())
            table = table.set_column(last, field.with_type(values.type).with_nullable(True), values)
        elif child and parent in names:
            inner.setdefault(parent, {})[child] = as_array(values)
        else:
            last += 1
            table = table.add_column(last, name, values)
    for parent, children in inner.items():
        table = with_columns(table, {parent: _with_inner(as_array(table[parent]), children)})
    return table


def _unquoted(cell: str | None) -> str | None:
    value = json.loads(cell or "null")
    return value if isinstance(value, str | None) else cell


def _quoted(old: str | None, new: str | None) -> str | None:
    """A new cell of a column of values of different types, of the type of the old one if it can be."""
    if new == _unquoted(old):
        return old
    with contextlib.suppress(ValueError, TypeError):  # other texts
        if type(json.loads(str(new))) is type(json.loads(str(old))):
            return new
    return json.dumps(new, ensure_ascii=False)


def _inner(column: pa.ChunkedArray) -> dict[str, pa.Array]:
    kind, found = column.type, dict[str, pa.Array]()
    if pa.types.is_struct(kind) and not is_image(kind):
        return {field.name: as_array(pc.struct_field(column, field.name)) for field in kind}
    if fields := _turn_fields(kind):
        turns = [_turns(cell, fields[0]) for cell in column.to_pylist()]
        return {name: pa.array([one.get(name, {}).get(fields[1]) for one in turns], pa.string())
                for name in ("human", "gpt")}  # fmt: skip
    records = _values(column, ("{",)) if is_text(kind) else []
    names = dict.fromkeys(name for record in records for name in record or ())
    if len(names) <= MOST_NAMES and all(name and isinstance(name, str) for name in names):
        for name in names:
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):  # of several types
                found[name] = pa.array([one and one.get(name) for one in records])
    return found


def _values(column: pa.ChunkedArray, starts: tuple[str, ...]) -> list[Any]:
    """Objects and lists in JSON, Python or NumPy syntax, None for empty cells; [] unless all texts are such."""
    found: list[Any] = []
    for text in column.to_pylist() if _first_text(column).startswith(starts) else ():
        is_empty = not text or not text.strip()
        found.append(None if is_empty else _parsed(text)[1])
        if not is_empty and not (isinstance(found[-1], dict | list) and text.lstrip().startswith(starts)):
            return []
    return found


def _turn_fields(kind: pa.DataType) -> tuple[str, str] | None:
    """The names of speaker and text in the records of a conversation; None for other columns."""
    if not is_list(kind) or not pa.types.is_struct(kind.value_type):
        return None
    texts = {field.name for field in kind.value_type if is_text(field.type)}
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
    cells, turn_fields = column.to_pylist(), _turn_fields(column.type)
    values = {name: child.to_pylist() for name, child in children.items()}
    for row, cell in enumerate(cells):
        new = {name: texts[row] for name, texts in values.items()}
        if cell and turn_fields:
            for name, turn in _turns(cell, turn_fields[0]).items():
                turn[turn_fields[1]] = new.get(name, turn[turn_fields[1]])
        elif cell and isinstance(record := _parsed(cell)[1], dict):
            changed = record | {name: text for name, text in new.items() if name in record or text is not None}
            cells[row] = cell if changed == record else spelled_like(cell, changed)
    return pa.array(cells, column.type)
