"""The choices of all rows, and the interface of a form in which columns hold them."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_mask, list_array
from hf_vqa_mc.data.names import columns_in_words
from hf_vqa_mc.errors import InputError

PADDING = ("n/a", "nan", "none", "null")  # texts that may pad rows
UNKNOWN = -1  # index of the correct choice if the label does not give it
NewRows = Mapping[int, tuple[Sequence[str], int]]
"""New choices, and the index of the correct one, by row; for changed rows only."""


@dataclass(eq=False)
class ChoiceCells:
    """The cells with choices of all rows, concatenated.

    Empty cells after the last choice of a row are not choices. One before it is an empty choice, which keeps its
    letter, unless the choices have no order.
    """

    texts: pa.Array  # (cells,): text; null for an empty cell
    lengths: NDArray[np.int64]  # (rows,): number of cells of each row
    names: pa.Array | None = None  # (cells,): name of each in labels, if rows or column names define it
    targets: NDArray[np.int64] | None = None  # (rows,): position of the correct choice, if the cells tell it
    faults: Mapping[int, str] = field(default_factory=dict)  # what is wrong with the cells of a row, by row
    ordered: bool = True  # whether the choices have an order

    def __post_init__(self) -> None:
        """Find out which cells are choices."""
        size = len(self.lengths)
        self.starts = np.cumsum(self.lengths) - self.lengths  # (rows,): index of each row's first cell
        self.rows = np.repeat(np.arange(size), self.lengths)  # (cells,): row of each
        self.filled = as_mask(pc.not_equal(self.texts, ""))  # (cells,): whether each has text: not null, "" or NaN
        cells = np.flatnonzero(self.filled)
        self.ends = np.zeros(size, np.int64)  # (rows,): position after each row's last choice
        self.ends[self.rows[cells]] = cells - self.starts[self.rows[cells]] + 1
        in_order = np.arange(len(self.rows)) < (self.starts + self.ends)[self.rows]
        self.valid = in_order if self.ordered else self.filled  # (cells,): whether each is a choice
        self.before = np.append(0, np.cumsum(self.valid))  # (cells + 1,): number of choices before each cell
        self.counts = self.before[self.starts + self.lengths] - self.before[self.starts]  # (rows,): number of choices
        self.has_choices = self.counts > (0 if self.ordered else 1)  # (rows,): not only a target without decoys

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


def unpadded(texts: pa.Array, lengths: NDArray[np.int64]) -> pa.Array:
    """The cells of all rows, null for padding: N/A and the like, if a row ends with two, or a tenth with one."""
    codes = pc.fill_null(pc.index_in(pc.utf8_lower(texts), pa.array(PADDING)), UNKNOWN).to_numpy(zero_copy_only=False)
    last, cells = np.cumsum(lengths)[lengths > 2] - 1, np.arange(len(texts))
    ends = codes[last]
    numbers = {text: np.count_nonzero(ends == code) for code, text in enumerate(PADDING) if text != "none"}
    frequent = [PADDING.index(text) for text, times in numbers.items() if times > max(1, len(lengths) / 10)]
    pads = np.isin(codes, [*{*ends[ends == codes[last - 1]].tolist(), *frequent} - {UNKNOWN}])
    if not pads.any():
        return texts
    rows, before = np.repeat(np.arange(len(lengths)), lengths), np.full(len(lengths), -1)
    before[rows[~pads]] = cells[~pads]  # the last cell of each row that is none
    return pc.if_else(pa.array(cells > before[rows]), None, texts)


@dataclass(frozen=True)
class ChoiceForm(ABC):
    """A form of columns with choices; tables are those of `cells.flat`."""

    name: ClassVar[str]

    columns: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self | None:
        """The form of a column; None if the column does not have it."""
        return None

    @abstractmethod
    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, and what is wrong with some."""

    @abstractmethod
    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices, new columns last; raises InputError if the form cannot represent them."""

    @property
    def column(self) -> str:
        """The only column."""
        return self.columns[0]

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"choices={columns_in_words(self.columns)}"

    def widened(self, columns: tuple[str, ...]) -> "ChoiceForm":
        """The form of the columns that `write` returned."""
        return replace(self, columns=columns)

    def questions(self, table: pa.Table) -> pa.Array | None:
        """(rows,): the questions, if a column of choices holds them too; else None."""
        return None


def typed(texts: pa.Array, kind: pa.DataType, column: str, what: str) -> pa.Array:
    """Texts as a column of another type; raises InputError if a text cannot be converted."""
    if pa.types.is_null(kind):
        return texts  # a column without values has no type to keep
    try:
        return (pc.utf8_lower(texts) if pa.types.is_boolean(kind) else texts).cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(f"column {column!r}: new {what} does not fit {kind} ({error}); store it as text") from error
