"""Whether tens of millions of ids differ, in constant memory: their hashes wait in a temporary file."""

import tempfile
import weakref
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

AT_ONCE = 1 << 20
"""Hashes compared in memory at a time, 8 bytes each."""


class UniqueIds:
    """Ids that were seen, as 64-bit hashes on disk, 8 bytes an id."""

    def __init__(self) -> None:
        """Nothing seen; the file goes with this object."""
        self._file = tempfile.TemporaryFile()
        weakref.finalize(self, self._file.close)
        self._seen = 0

    def add(self, ids: Sequence[str]) -> None:
        """More ids."""
        self._file.seek(0, 2)
        self._file.write(np.fromiter(map(hash, ids), np.int64, len(ids)).tobytes())
        self._seen += len(ids)

    def suspects(self) -> set[int]:
        """The values of ``hash`` that occur more than once: of equal ids, or hardly ever of different ones."""
        parts = -(-self._seen // AT_ONCE)
        found: set[int] = set()
        for part in range(parts):
            hashes = np.concatenate([piece[piece % parts == part] for piece in self._pieces()])
            values, counts = np.unique(hashes, return_counts=True)
            found.update(values[counts > 1].tolist())
        return found

    def _pieces(self) -> Iterator[NDArray[np.int64]]:
        self._file.seek(0)
        while content := self._file.read(8 * AT_ONCE):
            yield np.frombuffer(content, np.int64)
