"""Questions grouped by their bags of words, and the bags as a trie, for exact searches over questions.

A similarity is a sum over words. Bags are sorted, the more frequent words first, so that each shares a long prefix
with the previous one: a search adds only the remaining words to a sum that it already has.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.text.many_texts import word_lists
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import WordVectors

NO_BAG = -1
"""Bag of a question without (known) words, which is similar to no other."""
LANES = 256
"""Queries answered in one pass over the trie."""
SEGMENT = 4096
"""Bags after which the trie restarts, so that a pass can begin near its queries."""


@dataclass(frozen=True, eq=False)
class WordBags:
    """The distinct bags of words of some questions, sorted; questions of a bag have similarity 1."""

    of_question: NDArray[np.int32]
    """(questions,): the bag of each, or NO_BAG"""
    members: NDArray[np.int64]
    """indices of the questions of all bags, concatenated"""
    member_starts: NDArray[np.int64]
    """(bags + 1,)"""
    words: NDArray[np.int32]
    """vocabulary indices of all bags' words with repetitions, sorted within each bag, concatenated"""
    word_starts: NDArray[np.int64]
    """(bags + 1,)"""
    vocabulary: list[str]
    """most frequent first"""

    @classmethod
    def group(cls, questions: Sequence[str], words_of: Mapping[str, list[str]] | None = None) -> "WordBags":
        """Group questions.

        Args:
            questions: with repetitions.
            words_of: the words of each distinct question; by default all. Proportional counts make one bag, as their
                vectors have the same direction: "ha ha" is "ha".
        """
        words_of = {text: words(text) for text in dict.fromkeys(questions)} if words_of is None else words_of
        counts = Counter(word for bag in words_of.values() for word in bag)
        vocabulary = sorted(counts, key=lambda word: (-counts[word], word))
        index = {word: number for number, word in enumerate(vocabulary)}
        key_of = {text: _in_lowest_terms(sorted(index[word] for word in bag)) for text, bag in words_of.items()}
        keys = sorted({key for key in key_of.values() if key})
        bag_of = {key: bag for bag, key in enumerate(keys)}
        bags = (bag_of.get(key_of[question], NO_BAG) for question in questions)
        of_question = np.fromiter(bags, np.int32, len(questions))
        members = np.argsort(of_question, kind="stable")[np.count_nonzero(of_question == NO_BAG) :]
        return cls(
            of_question=of_question,
            members=members,
            member_starts=starts(np.bincount(of_question[members], minlength=len(keys))),
            words=np.array([word for key in keys for word in key], np.int32),
            word_starts=starts([len(key) for key in keys]),
            vocabulary=vocabulary,
        )

    @property
    def size(self) -> int:
        """Number of bags."""
        return len(self.word_starts) - 1

    @cached_property
    def squares(self) -> NDArray[np.int64]:
        """(bags,): the squared norm of each vector of word counts."""
        bag = np.repeat(np.arange(self.size), np.diff(self.word_starts))
        first = np.ones(len(bag), np.bool_)
        first[1:] = (self.words[1:] != self.words[:-1]) | (bag[1:] != bag[:-1])
        counts = np.diff(np.append(np.flatnonzero(first), len(bag)))
        return np.bincount(bag[first], weights=counts * counts, minlength=self.size).astype(np.int64)

    def trie(self) -> "BagTrie":
        """The bags as a trie."""
        sizes = np.diff(self.word_starts)
        shared = _shared_prefixes(self.words, self.word_starts)
        offsets = np.arange(len(self.words)) - np.repeat(self.word_starts[:-1], sizes)
        tail = self.words[offsets >= np.repeat(shared, sizes)]
        return BagTrie(shared, tail, starts(sizes - shared), int(sizes.max(initial=0)))


class BagTrie(NamedTuple):
    """Bags in order, each as a prefix of the previous bag and the words added to it."""

    shared: NDArray[np.int32]  # (bags,): number of words shared with the previous bag
    words: NDArray[np.int32]  # the words that are not shared
    word_starts: NDArray[np.int64]  # (bags + 1,)
    depth: int


def _in_lowest_terms(bag: list[int]) -> tuple[int, ...]:
    """Counts divided by their greatest common divisor: ``(a, a, b, b)`` becomes ``(a, b)``."""
    if len(bag) < 2 or len(set(bag)) == len(bag):
        return tuple(bag)
    counts = Counter(bag)
    divisor = math.gcd(*counts.values())
    return tuple(word for word, count in counts.items() for _ in range(count // divisor))


@njit(cache=True)
def _shared_prefixes(words: NDArray[np.int32], word_starts: NDArray[np.int64]) -> NDArray[np.int32]:
    shared = np.zeros(len(word_starts) - 1, np.int32)
    for bag in range(1, len(shared)):
        if bag % SEGMENT == 0:
            continue
        a, b = word_starts[bag - 1], word_starts[bag]
        while a < word_starts[bag] and b < word_starts[bag + 1] and words[a] == words[b]:
            shared[bag] += 1
            a += 1
            b += 1
    return shared


@dataclass(frozen=True, eq=False)
class QuestionGroups:
    """The grouped questions of a pool."""

    bags: WordBags
    """the groups; questions without any word with a vector belong to none"""
    first: NDArray[np.int32]
    """(groups,): the first question of each"""
    vectors: NDArray[np.float32]
    """(words, dim)"""
    directions: NDArray[np.float64]
    """(groups, dim): normalised average word vectors; zero where the words cancel out"""
    lengths: NDArray[np.float64]
    """(groups,): norm of the sum of a bag's vectors"""

    @property
    def size(self) -> int:
        """Number of groups."""
        return self.bags.size


def group_questions(questions: Sequence[str], vectors: WordVectors) -> QuestionGroups:
    """Group questions by their words that have a vector (Chao et al. 2018, Sect. 4.1: the average word vector)."""
    bags = WordBags.group(questions, _known_words(dict.fromkeys(questions), vectors))
    of_words = vectors.rows(bags.vocabulary)[0]
    directions, lengths = _directions(bags.words, bags.word_starts, of_words)
    return QuestionGroups(bags, bags.members[bags.member_starts[:-1]].astype(np.int32), of_words, directions, lengths)


def _known_words(texts: dict[str, None], vectors: WordVectors) -> dict[str, list[str]]:
    """The words of each text that have a vector; words with equal vectors are replaced by the first of them."""
    bags = dict(zip(texts, word_lists(pa.array(texts, pa.large_string())), strict=True))
    vocabulary = list(dict.fromkeys(word for bag in bags.values() for word in bag))
    rows, found = vectors.rows(vocabulary)
    found &= rows.any(axis=1)
    same: dict[bytes, str] = {}
    first = {
        word: same.setdefault(row.tobytes(), word)
        for word, row, has_vector in zip(vocabulary, rows, found, strict=True)
        if has_vector
    }
    return {text: [first[word] for word in bag if word in first] for text, bag in bags.items()}


@njit(cache=True)
def _directions(
    bags: NDArray[np.int32], bag_starts: NDArray[np.int64], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Normalised sums of vectors, in float64 and in the order of the bag, and their norms."""
    dim = vectors.shape[1]
    directions = np.zeros((len(bag_starts) - 1, dim), np.float64)
    lengths = np.zeros(len(directions), np.float64)
    for group in range(len(directions)):
        for i in range(bag_starts[group], bag_starts[group + 1]):
            for j in range(dim):
                directions[group, j] += vectors[bags[i], j]
        for j in range(dim):
            lengths[group] += directions[group, j] * directions[group, j]
        lengths[group] = np.sqrt(lengths[group])
        if lengths[group] > 0.0:
            for j in range(dim):
                directions[group, j] = directions[group, j] / lengths[group]
    return directions, lengths
