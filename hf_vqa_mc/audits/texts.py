"""Columns of texts with each distinct text once, so that figures are computed per distinct text."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_array, as_lists
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.scoring.vqa_normalisation import ARTICLES, CONTRACTIONS, NUMBERS, normalised
from hf_vqa_mc.text.many_texts import comparable_keys, comparable_texts, numbered_words, texts_of

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Words:
    """The words of each text, see `text.normalisation.words`."""

    numbers: Codes  # (all words,): number of each word, concatenated
    starts: NDArray[np.int64]  # (texts + 1,): start of each text's words
    words: pa.Array  # large_string: the distinct words

    @cached_property
    def vocabulary(self) -> list[str]:
        """The distinct words as a list."""
        return texts_of(self.words)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(texts,): number of words."""
        return np.diff(self.starts)

    @cached_property
    def matrix(self) -> Any:  # noqa: ANN401  sparse
        """Sparse float32 (texts, words): the words of each text in their order, repeated words several times."""
        ones, shape = np.ones(len(self.numbers), np.float32), (len(self.lengths), max(len(self.words), 1))
        return scipy.sparse.csr_matrix((ones, self.numbers.copy(), self.starts), shape=shape)

    @property
    def texts(self) -> NDArray[np.int64]:
        """(all words,): index of each word's text."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def of(self, texts: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of some texts, concatenated, and the index of the text of each; MISSING has none."""
        lengths = np.where(texts == MISSING, 0, self.lengths[texts])
        owner = np.repeat(np.arange(len(texts)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.numbers[self.starts[:-1][texts][owner] + within].astype(np.int64), owner

    def at(self, position: int) -> Codes:
        """(texts,): number of the word at a position; MISSING in shorter texts."""
        longer = self.lengths > position
        found = np.full(len(longer), MISSING, np.int32)
        found[longer] = self.numbers[self.starts[:-1][longer] + position]
        return found


class Tree:
    """The first ``depth`` words of texts, such as questions, as a tree."""

    def __init__(self, words: Words, depth: int) -> None:
        nodes = np.full((len(words.lengths), depth + 1), MISSING, np.int32)  # the last column is before the first word
        levels, size = [], 0
        for position in range(depth):
            word = words.at(position)
            longer = np.flatnonzero(word != MISSING)
            codes, found = np.unique(pairs(nodes[longer, position - 1], word[longer]), return_inverse=True)
            nodes[longer, position] = found + size
            levels.append(codes)
            size += len(codes)
        self.nodes: Codes = nodes[:, :depth]
        """(texts, depth): node of each distinct text's first word, first two words and so on; else MISSING"""
        self.parents, self.words = unpaired(np.concatenate(levels))
        """(nodes,): MISSING for a first word; number of the last word"""

    def counts(self, of_texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(nodes,): number of texts that begin so, from (texts,) that of each distinct text."""
        rows, columns = np.nonzero(self.nodes != MISSING)
        return np.bincount(self.nodes[rows, columns], of_texts[rows], len(self.words)).astype(np.int64)

    def path(self, node: int, vocabulary: Sequence[str]) -> list[str]:
        """The words that lead to a node."""
        if node == MISSING:
            return []
        return [*self.path(int(self.parents[node]), vocabulary), vocabulary[self.words[node]]]


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Texts by number; empty texts are missing."""

    distinct: pa.Array  # large_string: distinct texts; some may occur in no row
    codes: Codes  # (rows,): index of each row's text, MISSING without one

    @classmethod
    def of(cls, texts: pa.Array | pa.ChunkedArray) -> Self:
        """Number texts; null and "" are missing."""
        joined = as_array(texts.cast(pa.large_string()))
        encoded = pc.if_else(pc.equal(joined, ""), None, joined).dictionary_encode()
        codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
        return cls(encoded.dictionary, codes.astype(np.int32))

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Column":
        """Some of the rows."""
        return Column(self.distinct, self.codes[rows])

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """(rows,): whether the row has a text."""
        return np.asarray(self.codes != MISSING)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(distinct,): number of rows with each text."""
        return np.bincount(self.codes[self.valid], minlength=len(self.distinct))

    @property
    def different(self) -> int:
        """Number of distinct texts in the rows."""
        return int((self.counts > 0).sum())

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """(distinct,): rank of each text in alphabetical order."""
        return np.asarray(pc.rank(self.distinct), np.int64)

    @cached_property
    def texts(self) -> list[str]:
        """(distinct,): the texts."""
        return texts_of(self.distinct)

    @cached_property
    def comparable(self) -> "Column":
        """The texts in the form in which they count as equal: lower case, no punctuation, numbers as words."""
        found = Column.of(comparable_texts(self.distinct)[0])
        return Column(found.distinct, np.append(found.codes, MISSING)[self.codes].astype(np.int32))

    @cached_property
    def words(self) -> Words:
        """The words of the distinct texts."""
        return Words(*numbered_words(*comparable_texts(self.distinct)))

    def most_frequent(self, most: int) -> list[int]:
        """Indices of the most frequent texts; of equally frequent ones the first in alphabetical order."""
        order = np.lexsort((self.ranks, -self.counts))[:most]
        return [index for index in order.tolist() if self.counts[index]]


class Lists:
    """A column of lists: several texts per row."""

    def __init__(self, lists: pa.Array | pa.ChunkedArray) -> None:
        texts, self.lengths = as_lists(lists)  # (rows,)
        self.flat = Column.of(texts)  # the texts of all rows, concatenated
        self.starts = np.cumsum(self.lengths) - self.lengths  # (rows,): index of each row's first text
        self.rows = np.repeat(np.arange(len(self.lengths)), self.lengths)  # (texts,): row of each text


@cache
def no_lists() -> Lists:
    """The column of a dataset without lists; pyarrow imports pandas to make it."""
    return Lists(pa.array([], pa.list_(pa.string())))


def pairs(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number for each pair of numbers in [-1, 2**31)."""
    return (one.astype(np.int64) + 1) * 2**32 + other + 1


def unpaired(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both numbers of each pair.

    >>> [numbers.tolist() for numbers in unpaired(pairs(np.array([-1, 7]), np.array([5, -1])))]
    [[-1, 7], [5, -1]]
    """
    return codes // 2**32 - 1, codes % 2**32 - 1


def grouped(codes: NDArray[np.integer], *others: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number from 0 for each combination of codes."""
    for other in others:
        codes = pairs(np.unique(codes, return_inverse=True)[1], other)
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def official_texts(texts: pa.Array) -> pa.Array:
    """Texts normalised as in the official evaluation; those with operators, which it removes, are `comparable`.

    A text of articles only is its own key. Most need only lower case, which Arrow does for all at once.
    """
    changed = [*ARTICLES, *NUMBERS, *(word for word in CONTRACTIONS if word.isalnum())]
    lower = pc.ascii_lower(texts)
    same = pc.match_substring_regex(lower, "^[a-z0-9]+( [a-z0-9]+)*$")
    others = pc.invert(pc.and_not(same, pc.match_substring_regex(lower, rf"\b({'|'.join(changed)})\b")))
    slow = [unicodedata.normalize("NFC", text) for text in texts_of(texts.filter(others))]
    made = pa.array([normalised(text) or text.strip().lower() for text in slow], pa.large_string())
    keys, signed, _ = comparable_keys(texts)
    return pc.if_else(pa.array(signed), keys, pc.replace_with_mask(lower, others, made))
