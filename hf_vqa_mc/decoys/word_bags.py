"""Questions grouped by their bags of words, and the bags as a trie, for exact searches over questions.

A similarity is a sum over words. Bags are sorted, the more frequent words first, so that each shares a long prefix
with the previous one: a search adds only the remaining words to a sum that it already has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Float64s, Int32s, Int64s, starts
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.text.wu_palmer import reading_inline

NO_BAG = -1  # bag of a question without (known) words, which is similar to no other
LANES = 256  # queries answered in one pass over the trie
_KEY = np.dtype(">u4")  # vocabulary index as bytes that sort in the same order
SEGMENT = 4096  # bags after which the trie restarts, so that a pass can begin near its queries


@dataclass(frozen=True, eq=False)
class WordBags:
    """The distinct bags of words of some questions, sorted; questions of a bag have similarity 1."""

    of_question: Int32s  # (questions,): the bag of each, or NO_BAG
    members: Int64s  # indices of the questions of all bags, concatenated
    member_starts: Int64s  # (bags + 1,)
    words: Int32s  # vocabulary indices of all bags' words with repetitions, sorted within each bag, concatenated
    word_starts: Int64s  # (bags + 1,)
    vocabulary: list[str]  # most frequent first

    @classmethod
    def group(cls, questions: Sequence[str], same_as: Callable[[list[str]], Int64s] | None = None) -> "WordBags":
        """Group questions; bags with proportional counts are one, as "ha ha" and "ha" have the same direction.

        Given the distinct words, ``same_as`` returns the index of the word that stands for each, or MISSING for words
        to leave out; by default each stands for itself.
        """
        encoded = pa.array(questions, pa.large_string()).dictionary_encode()
        number, first, distinct = numbered_words(*comparable_texts(encoded.dictionary))
        vocabulary = np.array(texts_of(distinct), object)
        word = number.astype(np.int64) if same_as is None else same_as(vocabulary.tolist())[number]
        text = np.repeat(np.arange(len(first) - 1), np.diff(first))[word != MISSING]
        word = word[word != MISSING]
        counts = np.bincount(word, minlength=len(vocabulary))
        by_count = np.array(sorted(np.flatnonzero(counts), key=lambda one: (-counts[one], vocabulary[one])), np.int64)
        rank = np.empty(len(vocabulary), np.int64)
        rank[by_count] = np.arange(len(by_count))
        keys = _keys(text, rank[word], len(first) - 1)
        sorted_keys = sorted({key for key in keys if key})
        bag_of = {key: bag for bag, key in enumerate(sorted_keys)}
        bags = np.fromiter((bag_of.get(key, NO_BAG) for key in keys), np.int32, len(keys))
        of_question = bags[encoded.indices.to_numpy()]
        members = np.argsort(of_question, kind="stable")[np.count_nonzero(of_question == NO_BAG) :]
        return cls(
            of_question=of_question,
            members=members,
            member_starts=starts(np.bincount(of_question[members], minlength=len(sorted_keys))),
            words=np.frombuffer(b"".join(sorted_keys), _KEY).astype(np.int32),
            word_starts=starts([len(key) // _KEY.itemsize for key in sorted_keys]),
            vocabulary=vocabulary[by_count].tolist(),
        )

    @property
    def size(self) -> int:
        """Number of bags."""
        return len(self.word_starts) - 1

    @cached_property
    def squares(self) -> Int64s:
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

    shared: Int32s  # (bags,): number of words shared with the previous bag
    words: Int32s  # the words that are not shared
    word_starts: Int64s  # (bags + 1,)
    depth: int


def _keys(text: Int64s, rank: Int64s, n_texts: int) -> list[bytes]:
    """The sorted words of each text, their counts divided by the greatest common divisor, as bytes that sort alike.

    ``text`` (words,), ascending, and ``rank`` (words,) are the text and the vocabulary index of each word.
    """
    order = np.lexsort((rank, text))
    text, rank = text[order], rank[order]
    new = np.flatnonzero((np.diff(text, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0))  # first of equal words
    counts, text, rank = np.diff(new, append=len(text)), text[new], rank[new]
    divisors = np.ones(n_texts, np.int64)
    if len(text):
        divisors[np.unique(text)] = np.gcd.reduceat(counts, np.flatnonzero(np.diff(text, prepend=-1)))
    counts //= divisors[text]
    data = np.repeat(rank, counts).astype(_KEY).tobytes()
    ends = starts(np.bincount(text, counts, n_texts).astype(np.int64)) * _KEY.itemsize
    return [data[start:end] for start, end in pairwise(ends.tolist())]


@njit(cache=True)
def _shared_prefixes(words: Int32s, word_starts: Int64s) -> Int32s:
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


class BagVectors(NamedTuple):
    """What the directions of bags are computed from, for kernels."""

    words: Int32s  # see `WordBags`
    word_starts: Int64s
    vectors: Float32s  # (words, dim)
    first: Int32s  # (bags,): the first question of each


@dataclass(frozen=True, eq=False)
class QuestionGroups:
    """The grouped questions of a pool."""

    bags: WordBags  # the groups; questions without any word with a vector belong to none
    arrays: BagVectors
    lengths: Float64s  # (groups,): norm of the sum of a bag's vectors

    @property
    def size(self) -> int:
        """Number of groups."""
        return self.bags.size


def group_questions(questions: Sequence[str], vectors: WordVectors) -> QuestionGroups:
    """Group questions by their words that have a vector (Chao et al. 2018, Sect. 4.1: the average word vector)."""
    bags = WordBags.group(questions, partial(_same_vectors, vectors))
    first = bags.members[bags.member_starts[:-1]].astype(np.int32)
    arrays = BagVectors(bags.words, bags.word_starts, vectors.rows(bags.vocabulary)[0], first)
    return QuestionGroups(bags, arrays, _lengths(arrays))


def _same_vectors(vectors: WordVectors, words: list[str]) -> Int64s:
    """(words,): the first word with the same vector; MISSING without a vector."""
    rows, found = vectors.rows(words)
    found &= rows.any(axis=1)
    same: dict[bytes, int] = {}
    first = np.full(len(words), MISSING)
    for index in np.flatnonzero(found).tolist():
        first[index] = same.setdefault(rows[index].tobytes(), index)
    return first


@reading_inline
def put_direction(direction: Float64s, group: int, bags: BagVectors) -> float:
    """Put the normalised sum of a group's vectors, added in float64 in the order of its words; returns its norm."""
    direction[:] = 0.0
    for i in range(bags.word_starts[group], bags.word_starts[group + 1]):
        for j in range(len(direction)):
            direction[j] += bags.vectors[bags.words[i], j]
    square = 0.0
    for j in range(len(direction)):
        square += direction[j] * direction[j]
    length = np.sqrt(square)
    if length > 0.0:
        for j in range(len(direction)):
            direction[j] = direction[j] / length
    return float(length)


@njit(cache=True)
def directions(groups: Int32s, bags: BagVectors) -> Float64s:
    """Normalised average word vectors, (groups, dim); zero where the words cancel out."""
    found = np.empty((len(groups), bags.vectors.shape[1]))
    for row in range(len(groups)):
        put_direction(found[row], groups[row], bags)
    return found


@njit(cache=True)
def _lengths(bags: BagVectors) -> Float64s:
    lengths, direction = np.empty(len(bags.first)), np.empty(bags.vectors.shape[1])
    for group in range(len(lengths)):
        lengths[group] = put_direction(direction, group, bags)
    return lengths
