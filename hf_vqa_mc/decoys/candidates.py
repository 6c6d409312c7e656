"""Every text that may become a choice, numbered once, with all that the filters compare made ready for kernels."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.text.normalisation import comparable, squeezed, words
from hf_vqa_mc.text.similarity import WordScores, word_scores

MISSING = -1
"""Stands where a decoy could not be found."""


class FilterTables(NamedTuple):
    """What the filters look up; numba kernels take it. A `key` numbers a comparable text, two texts may share one."""

    letters: NDArray[np.uint8]  # the squeezed texts of all keys in UTF-8, one after the other
    letter_starts: NDArray[np.int64]  # (keys + 1,)
    tokens: NDArray[np.int32]  # the word numbers of all keys, one after the other
    token_starts: NDArray[np.int64]  # (keys + 1,)
    scores: WordScores
    threshold: float
    reject_at_threshold: bool


@dataclass(frozen=True, eq=False)
class Candidates:
    """All different texts of a dataset's targets and published decoys."""

    texts: list[str]
    """as published; a text's number is its place"""
    keys: NDArray[np.int32]
    """(texts,): the number of the comparable text, the same for texts that count as the same"""
    key_texts: list[str]
    """(keys,): the comparable texts"""
    tables: FilterTables

    @classmethod
    def number(
        cls, texts: Iterable[str], wup_threshold: float, reject_at_threshold: bool
    ) -> tuple["Candidates", NDArray[np.int32]]:
        """Numbers texts in the order in which they first occur; also gives each text's number, int32 (texts,)."""
        numbers: dict[str, int] = {}
        of_text = np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int32)
        distinct = list(numbers)
        key_numbers: dict[str, int] = {}
        keys = np.array([key_numbers.setdefault(comparable(text), len(key_numbers)) for text in distinct], np.int32)
        tables = _filter_tables(list(key_numbers), wup_threshold, reject_at_threshold)
        return cls(distinct, keys, list(key_numbers), tables), of_text


def _filter_tables(key_texts: list[str], wup_threshold: float, reject_at_threshold: bool) -> FilterTables:
    phrases = [words(text) for text in key_texts]
    vocabulary = {word: number for number, word in enumerate(dict.fromkeys(w for phrase in phrases for w in phrase))}
    letters = [squeezed(text).encode() for text in key_texts]
    return FilterTables(
        letters=np.frombuffer(b"".join(letters), np.uint8),
        letter_starts=starts([len(part) for part in letters]),
        tokens=np.array([vocabulary[word] for phrase in phrases for word in phrase], np.int32),
        token_starts=starts([len(phrase) for phrase in phrases]),
        scores=word_scores(list(vocabulary), wup_threshold),
        threshold=wup_threshold,
        reject_at_threshold=reject_at_threshold,
    )


def starts(lengths: list[int] | NDArray[np.integer]) -> NDArray[np.int64]:
    """Where each part begins when parts of these lengths stand one after the other; one more for the end.

    >>> starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.asarray(lengths, np.int64))])
