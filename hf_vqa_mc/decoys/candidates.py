"""Every text that may become a choice, numbered once, with the tables that the filters look up."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.text.normalisation import comparable, squeezed, words
from hf_vqa_mc.text.similarity import WordScores, word_scores

MISSING = -1
"""Text number of a decoy that could not be found."""


class FilterTables(NamedTuple):
    """What the filters look up, for numba kernels. A key is the number of a comparable text; texts may share one."""

    letters: NDArray[np.uint8]  # the squeezed texts of all keys in UTF-8, concatenated
    letter_starts: NDArray[np.int64]  # (keys + 1,)
    tokens: NDArray[np.int32]  # the word numbers of all keys, concatenated
    token_starts: NDArray[np.int64]  # (keys + 1,)
    scores: WordScores
    threshold: float
    reject_at_threshold: bool


@dataclass(frozen=True, eq=False)
class NumberedTexts:
    """Distinct texts in order of first occurrence; equivalent ones share a key."""

    texts: list[str]
    """as published; the index of a text is its number"""
    keys: NDArray[np.int32]
    """(texts,): the number of the comparable text, the same for "2" and "two" """
    key_texts: list[str]
    """(keys,): the comparable texts"""

    @classmethod
    def number(cls, columns: Sequence[pa.Array]) -> "tuple[NumberedTexts, list[NDArray[np.int32]]]":
        """The numbered texts of some columns, and the text numbers of each column, int32 (values,)."""
        together = pa.chunked_array(columns, pa.string()).dictionary_encode().combine_chunks()
        if isinstance(together, pa.ChunkedArray):
            together = together.chunk(0)
        texts = together.dictionary.to_pylist()
        numbers: dict[str, int] = {}
        keys = (numbers.setdefault(comparable(text), len(numbers)) for text in texts)
        ends = np.cumsum([len(column) for column in columns])
        found = cls(texts, np.fromiter(keys, np.int32, len(texts)), list(numbers))
        return found, np.split(np.array(together.indices), ends[:-1])  # writable, as kernels are compiled for

    def most_frequent(self, given: NDArray[np.int32]) -> NDArray[np.int32]:
        """One text number per distinct key, int32: the key's most frequent spelling; most frequent keys first.

        Args:
            given: text numbers with repetitions. Ties are ordered by text.
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
        return np.array(list(first.values()), np.int32)


@dataclass(frozen=True, eq=False)
class Candidates(NumberedTexts):
    """All distinct texts of a dataset's targets and published decoys, with what the filters look up."""

    tables: FilterTables

    @classmethod
    def of(cls, found: NumberedTexts, wup_threshold: float, reject_at_threshold: bool) -> "Candidates":
        """Numbered texts with the filters' tables."""
        phrases = [words(text) for text in found.key_texts]
        vocabulary = {
            word: number for number, word in enumerate(dict.fromkeys(w for phrase in phrases for w in phrase))
        }
        letters = [squeezed(text).encode() for text in found.key_texts]
        tables = FilterTables(
            letters=np.frombuffer(b"".join(letters), np.uint8),
            letter_starts=starts([len(part) for part in letters]),
            tokens=np.array([vocabulary[word] for word in chain.from_iterable(phrases)], np.int32),
            token_starts=starts([len(phrase) for phrase in phrases]),
            scores=word_scores(list(vocabulary), wup_threshold),
            threshold=wup_threshold,
            reject_at_threshold=reject_at_threshold,
        )
        return cls(found.texts, found.keys, found.key_texts, tables)


def starts(lengths: list[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    """Start of each part when parts of these lengths are concatenated, and the end of the last.

    >>> starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])
