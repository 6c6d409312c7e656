"""Questions grouped by their bag of words: two questions of a group have the same average word vector."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import WordVectors

NO_GROUP = -1
"""Of a question whose words all lack vectors: it is similar to none."""


@dataclass(frozen=True, eq=False)
class QuestionGroups:
    """The questions of a pool, grouped; groups are numbered in the order of their bags."""

    of_question: NDArray[np.int32]
    """(questions,): the group of each, or NO_GROUP"""
    members: NDArray[np.int64]
    """the questions of all groups, one group after the other, in their order"""
    member_starts: NDArray[np.int64]
    """(groups + 1,)"""
    first: NDArray[np.int32]
    """(groups,): the first question of each"""
    bags: NDArray[np.int32]
    """the words of all groups, one group after the other, the more frequent words first"""
    bag_starts: NDArray[np.int64]
    """(groups + 1,)"""
    vectors: NDArray[np.float32]
    """(words, dim)"""
    directions: NDArray[np.float64]
    """(groups, dim): unit vectors along the average word vectors; zero where the words cancel out"""
    lengths: NDArray[np.float64]
    """(groups,): the length of the sum of a bag's vectors"""

    @property
    def size(self) -> int:
        """How many groups there are."""
        return len(self.bag_starts) - 1


def group_questions(questions: Sequence[str], vectors: WordVectors) -> QuestionGroups:
    """Groups questions by their words that have a vector (Chao et al. 2018, Sect. 4.1: the average word vector)."""
    bag_of_text = _bags(dict.fromkeys(questions), vectors)
    used, vocabulary_vectors = _vocabulary(bag_of_text, vectors)
    number = {word: place for place, word in enumerate(used)}
    key_of_text = {text: _in_lowest_terms(sorted(number[word] for word in bag)) for text, bag in bag_of_text.items()}
    keys = sorted({key for key in key_of_text.values() if key})
    group_of_key = {key: group for group, key in enumerate(keys)}
    of_question = np.array([group_of_key.get(key_of_text[question], NO_GROUP) for question in questions], np.int32)
    grouped = np.argsort(of_question, kind="stable")[np.count_nonzero(of_question == NO_GROUP) :]
    member_starts = starts(np.bincount(of_question[grouped], minlength=len(keys)))
    bags = np.array([word for key in keys for word in key], np.int32)
    bag_starts = starts([len(key) for key in keys])
    directions, lengths = _directions(bags, bag_starts, vocabulary_vectors)
    return QuestionGroups(
        of_question=of_question,
        members=grouped,
        member_starts=member_starts,
        first=grouped[member_starts[:-1]].astype(np.int32),
        bags=bags,
        bag_starts=bag_starts,
        vectors=vocabulary_vectors,
        directions=directions,
        lengths=lengths,
    )


def _bags(texts: dict[str, None], vectors: WordVectors) -> dict[str, list[str]]:
    """The words of each text that have a vector; of words with the very same vector the first stands for all."""
    bags = {text: words(text) for text in texts}
    vocabulary = list(dict.fromkeys(word for bag in bags.values() for word in bag))
    rows, found = vectors.rows(vocabulary)
    found &= rows.any(axis=1)
    same: dict[bytes, str] = {}
    stand_in = {
        word: same.setdefault(row.tobytes(), word)
        for word, row, has_vector in zip(vocabulary, rows, found, strict=True)
        if has_vector
    }
    return {text: [stand_in[word] for word in bag if word in stand_in] for text, bag in bags.items()}


def _vocabulary(bags: dict[str, list[str]], vectors: WordVectors) -> tuple[list[str], NDArray[np.float32]]:
    """The words in use, most frequent first: bags sorted so share long beginnings, which makes their scores cheap."""
    counts = Counter(word for bag in bags.values() for word in bag)
    used = sorted(counts, key=lambda word: (-counts[word], word))
    return used, vectors.rows(used)[0]


def _in_lowest_terms(bag: list[int]) -> tuple[int, ...]:
    """Each word as often as needed for the same direction: ``(a, a, b, b)`` is ``(a, b)``."""
    if len(bag) < 2 or len(set(bag)) == len(bag):
        return tuple(bag)
    counts = Counter(bag)
    divisor = math.gcd(*counts.values())
    return tuple(word for word, count in counts.items() for _ in range(count // divisor))


@njit(cache=True)
def _directions(
    bags: NDArray[np.int32], bag_starts: NDArray[np.int64], vectors: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of vectors in float64 and in the order of the bag, divided by their length; and these lengths."""
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
