"""Every answer numbered once; answers that count as the same share a key ("2", "two", "Two.")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.text.normalisation import comparable

MISSING = -1
"""Stands where there is no answer."""


@dataclass(frozen=True, eq=False)
class Answers:
    """All different texts that are answers."""

    texts: list[str]
    """as published; a text's number is its place"""
    keys: NDArray[np.int32]
    """(texts,): the number of the comparable text"""
    key_texts: list[str]
    """(keys,): the comparable texts"""

    @classmethod
    def number(cls, columns: Sequence[pa.Array]) -> tuple["Answers", list[NDArray[np.int32]]]:
        """Numbers the texts of some columns in the order in which they first occur; also gives each column's."""
        together = pa.chunked_array(columns, pa.string()).dictionary_encode().combine_chunks()
        if isinstance(together, pa.ChunkedArray):
            together = together.chunk(0)
        texts = together.dictionary.to_pylist()
        numbers: dict[str, int] = {}
        keys = np.fromiter(
            (numbers.setdefault(comparable(text), len(numbers)) for text in texts), np.int32, len(texts)
        )
        ends = np.cumsum([len(column) for column in columns])
        return cls(texts, keys, list(numbers)), np.split(together.indices.to_numpy(), ends[:-1])

    def most_popular(self, given: NDArray[np.int32], most: int) -> NDArray[np.int32]:
        """The answers given most often, each as it is most often written; ties by text.

        Args:
            given: text numbers, repeated as often as they were given.
            most: how many.

        Returns:
            int32 (at most ``most``,): a text number of each key, the most frequent key first.
        """
        counts = np.bincount(given, minlength=len(self.texts))
        of_key = np.bincount(self.keys, weights=counts, minlength=len(self.key_texts))
        ranked = sorted(
            np.flatnonzero(counts).tolist(),
            key=lambda text: (
                -of_key[self.keys[text]],
                self.key_texts[self.keys[text]],
                -counts[text],
                self.texts[text],
            ),
        )
        first: dict[int, int] = {}
        for text in ranked:
            first.setdefault(int(self.keys[text]), text)
        return np.array(list(first.values())[:most], np.int32)


def list_starts(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Where each list of a column starts when all stand one after the other; one more for the end."""
    lengths = pc.list_value_length(column).to_numpy()
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
