"""The choices of all rows as a benchmark's cells tell them, those included that are empty and so not offered."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

UNTOLD = -1
"""Stands for the place of a right choice that the label does not tell."""


@dataclass(frozen=True, eq=False)
class Offered:
    """The cells of the choices, row after row."""

    texts: pa.Array
    """(cells,): text; null where a cell is empty"""
    lengths: NDArray[np.int64]
    """(rows,): how many cells each row has"""
    names: pa.Array | None = None
    """(cells,): what the label calls each, where the rows or the columns' names say so"""

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(rows,): the place of each row's first cell."""
        starts: NDArray[np.int64] = np.cumsum(self.lengths) - self.lengths
        return starts

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(cells,): the row of each."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """(cells,): whether it is offered: null, "" and NaN are not."""
        filled = pc.fill_null(pc.not_equal(self.texts, ""), False)
        return np.asarray(filled.to_numpy(zero_copy_only=False), bool)

    @cached_property
    def before(self) -> NDArray[np.int64]:
        """(cells + 1,): how many are offered before each, from the first row's on."""
        return np.concatenate([[0], np.cumsum(self.there)])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(rows,): how many choices each offers."""
        counts: NDArray[np.int64] = self.before[self.starts + self.lengths] - self.before[self.starts]
        return counts

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """(rows,): the place behind each row's last choice; their number, where no cell before it is empty."""
        ends = np.zeros(len(self.lengths), np.int64)
        cells = np.flatnonzero(self.there)
        np.maximum.at(ends, self.rows[cells], cells - self.starts[self.rows[cells]] + 1)
        return ends

    @cached_property
    def choices(self) -> pa.ListArray:
        """(rows,): the choices that are offered, lists of text."""
        offsets = np.concatenate([self.before[self.starts], self.before[-1:]]).astype(np.int32)
        texts = self.texts if self.there.all() else self.texts.filter(pa.array(self.there))
        return pa.ListArray.from_arrays(pa.array(offsets), texts)

    def labels(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of right choices among those that are offered.

        Args:
            positions: (rows,) places among all cells of the row, or UNTOLD.

        Returns:
            (rows,), UNTOLD where there is no such cell or it is empty.
        """
        fits = (positions >= 0) & (positions < self.lengths)
        cells = np.where(fits, self.starts + positions, 0)
        if not len(self.there):
            return np.full(len(positions), UNTOLD, np.int64)
        fits &= self.there[cells]
        return np.where(fits, self.before[cells] - self.before[self.starts], UNTOLD)

    def first(self, hit: pa.Array) -> NDArray[np.int64]:
        """The place in its row of the first cell that is hit and offered, UNTOLD where none is.

        Args:
            hit: (cells,) boolean.
        """
        cells = np.flatnonzero(np.asarray(pc.fill_null(hit, False).to_numpy(zero_copy_only=False), bool) & self.there)
        found = np.full(len(self.lengths), UNTOLD, np.int64)
        rows = self.rows[cells]
        found[rows[::-1]] = (cells - self.starts[rows])[::-1]
        return found


def as_text(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A column in one piece as text; NaN becomes null.

    Raises:
        pa.ArrowInvalid: it is more than an Arrow text array holds (2 GB), or cannot be text.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(array, pa.ChunkedArray):  # an empty one, or too much for one piece
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, "True", "False")
    return array.cast(pa.string())


def as_large_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as it is cut, in the type that holds any amount; for cells as large as pictures."""
    return column.cast(pa.large_string())
