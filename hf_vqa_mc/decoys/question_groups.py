"""Questions grouped by their bag of words with vectors; a group shares one average word vector."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.word_bags import WordBags
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import WordVectors


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
    bags = {text: words(text) for text in texts}
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
