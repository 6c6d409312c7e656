"""The beginnings of questions: their tree of first words, and types of questions by their beginning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.texts import Codes, Column, Words, pairs, unpaired
from hf_vqa_mc.decoys.candidates import MISSING

LEAST = 0.01
"""Smallest share of the questions that makes a beginning a type of its own."""
LONGEST = 5
"""Maximum number of words of a counted beginning."""
OTHER = "none of the above"
"""As VQA calls questions with no listed beginning."""


@dataclass(frozen=True, eq=False)
class Tree:
    """The first words of questions as a tree."""

    nodes: NDArray[np.int64]
    """(questions, depth): node of each distinct question's first word, first two words and so on; else MISSING"""
    parents: NDArray[np.int64]
    """(nodes,): MISSING for a first word"""
    words: Codes
    """(nodes,): number of the last word"""

    @classmethod
    def of(cls, words: Words, depth: int) -> "Tree":
        """The tree of the first ``depth`` words."""
        before = np.full(len(words.lengths), MISSING, np.int64)
        columns, parents, last, size = [], [], [], 0
        for position in range(depth):
            word = words.at(position)
            longer = np.flatnonzero(word != MISSING)
            codes, found = np.unique(pairs(before[longer], word[longer]), return_inverse=True)
            before = np.full(len(word), MISSING, np.int64)
            before[longer] = found + size
            columns.append(before)
            parent, number = unpaired(codes)
            parents.append(parent)
            last.append(number.astype(np.int32))
            size += len(codes)
        return cls(np.stack(columns, axis=1), np.concatenate(parents), np.concatenate(last))

    def counts(self, of_questions: NDArray[np.int64]) -> NDArray[np.int64]:
        """(nodes,): number of questions that begin so, from (questions,) that of each distinct question."""
        rows, columns = np.nonzero(self.nodes != MISSING)
        found = np.bincount(self.nodes[rows, columns], of_questions[rows], len(self.words))
        return found.astype(np.int64)

    def path(self, node: int, vocabulary: Sequence[str]) -> list[str]:
        """The words that lead to a node."""
        found: list[str] = []
        while node != MISSING:
            found.insert(0, vocabulary[self.words[node]])
            node = int(self.parents[node])
        return found


def by_beginning(data: Data) -> Column:
    """The type of each row's question by its beginning."""
    counts, found = data.questions.counts, data.questions.words
    names, types = _counted(found, counts)
    codes = np.where(data.questions.valid, types[data.questions.codes], len(names))

    return Column(pa.array([*names, OTHER], pa.large_string()), codes.astype(np.int32))


def _counted(found: Words, counts: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """The longest beginning of each distinct question that at least LEAST of the questions have."""
    tree = Tree.of(found, LONGEST)
    frequent = np.append(tree.counts(counts) >= max(LEAST * counts.sum(), 2), False)
    types = np.full(len(counts), MISSING, np.int64)
    for column in tree.nodes.T:
        types = np.where(frequent[column], column, types)
    used = np.unique(types[types != MISSING])
    names = [" ".join(tree.path(int(node), found.vocabulary)) for node in used]
    return names, np.where(types == MISSING, len(names), np.searchsorted(used, types))
