"""Cells of a benchmark's columns as text, as lists, and as choices, including empty cells."""

import ast
import contextlib
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

JSON_TEXT = {b"hf_vqa_mc": b"json"}
"""Metadata of a text column with JSON values of different types."""
MOST_NAMES = 1000
"""Objects with more names are no records: their keys are texts, such as choices with scores."""
UNKNOWN = -1
"""Index of the correct choice if the label does not give it."""


@dataclass(frozen=True, eq=False)
class ChoiceCells:
    """The cells with choices of all rows, concatenated.

    Empty cells after the last choice of a row are not choices. One before it is an empty choice, which keeps its
    letter, unless the choices have no order.
    """

    texts: pa.Array  # (cells,): text; null for an empty cell
    lengths: NDArray[np.int64]  # (rows,): number of cells of each row
    names: pa.Array | None = None  # (cells,): name of each in labels, if rows or column names define it
    targets: NDArray[np.int64] | None = None
    """(rows,): position of the correct choice, if the cells tell it; else None"""
    faults: Mapping[int, str] = field(default_factory=dict)  # what is wrong with the cells of a row, by row
    ordered: bool = True  # whether the choices have an order

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(rows,): index of each row's first cell."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(cells,): row of each."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """(cells,): whether each has text: not null, "" or NaN."""
        return as_mask(pc.not_equal(self.texts, ""))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(rows,): position after each row's last choice."""
        ends = np.zeros(len(self.lengths), np.int64)
        cells = np.flatnonzero(self.filled)
        np.maximum.at(ends, self.rows[cells], cells - self.starts[self.rows[cells]] + 1)
        return ends

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """(cells,): whether each is a choice."""
        if not self.ordered:
            return self.filled
        return np.arange(len(self.rows)) < (self.starts + self.ends)[self.rows]

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """(cells + 1,): number of choices before each cell."""
        return np.concatenate([[0], np.cumsum(self.valid)])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(rows,): number of choices."""
        counts: NDArray[np.int64] = self.before[self.starts + self.lengths] - self.before[self.starts]
        return counts

    @cached_property
    def choices(self) -> pa.ListArray:
        """(rows,): lists of text."""
        texts = self.texts if self.valid.all() else self.texts.filter(pa.array(self.valid))
        return list_array(pc.fill_null(texts, ""), self.counts)

    def labels(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """(rows,): indices among the choices from positions among all cells; UNKNOWN for empty cells."""
        if not len(self.filled):
            return np.full(len(positions), UNKNOWN, np.int64)
        fits = (positions >= 0) & (positions < self.lengths)
        cells = np.where(fits, self.starts + positions, 0)
        return np.where(fits & self.filled[cells], self.before[cells] - self.before[self.starts], UNKNOWN)

    def first(self, hit: pa.Array) -> NDArray[np.int64]:
        """(rows,): position of the first choice in its row with true ``hit`` (cells,), else UNKNOWN."""
        cells = np.flatnonzero(as_mask(hit) & self.filled)
        found = np.full(len(self.lengths), UNKNOWN, np.int64)
        rows = self.rows[cells]
        found[rows[::-1]] = (cells - self.starts[rows])[::-1]
        return found


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def is_id(kind: pa.DataType) -> bool:
    """Whether a column of this type may hold ids: text or integers."""
    return is_text(kind) or bool(pa.types.is_integer(kind))


def is_image(kind: pa.DataType) -> bool:
    """Whether a column of this type holds images as ``datasets`` stores them: bytes and path."""
    return bool(pa.types.is_struct(kind)) and {"bytes", "path"} <= {field.name for field in kind}


def is_cell(kind: pa.DataType) -> bool:
    """Whether a column of this type holds values that can be written as short text: text, numbers, booleans."""
    return is_text(kind) or is_number(kind) or bool(pa.types.is_boolean(kind) or pa.types.is_null(kind))


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
    found = parsed(cell)
    if not isinstance(found, list | tuple) or not all(isinstance(text, str | int | float | None) for text in found):
        return None
    return [None if text is None or text != text else str(text) for text in found]  # NaN


def parsed(text: str) -> object:
    """A list or object in JSON, NumPy or Python syntax, without evaluating code; the text itself if it is none."""
    syntax, value = _syntax(text)
    return text if syntax is None else value


def spelled_like(old: str, value: object) -> str:
    """A list or object in the syntax of an old text."""
    syntax, _ = _syntax(old)
    if syntax is _of_numpy and isinstance(value, list):
        return f"[{' '.join(map(repr, value))}]"
    return repr(value) if syntax is ast.literal_eval else json.dumps(value, ensure_ascii=False)


def _syntax(text: str) -> tuple[Callable[[str], object] | None, object]:
    for parse in (json.loads, _of_numpy, ast.literal_eval):
        with contextlib.suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return parse, parse(text)
    return None, None


_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_NUMPY = re.compile(rf"\s*\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]\s*", re.DOTALL)


def _of_numpy(text: str) -> list[object]:
    """The texts of a printed array, which have no commas; raises ValueError for other texts."""
    if not _NUMPY.fullmatch(text):
        raise ValueError("not an array")
    return [ast.literal_eval(one) for one in re.findall(_QUOTED, text)]
