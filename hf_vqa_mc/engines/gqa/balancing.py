"""Columns of all questions, and how many questions of each answer a group keeps.

Hudson and Manning 2019, Sect. 3.5 and Appendix B. Loops over cells are compiled: a dataset has millions of questions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit

# Ours, since the paper (Sect. 3.5, appendix B) gives no numbers:
HEAD = 1.0
"""Maximum ratio of questions with the more frequent answers of a group to questions with the others."""
MIN_RATIO, MAX_RATIO = 1.05, 1.5
"""Bounds of the ratio of questions with an answer to those with the next one; it is not raised to the lower one."""
THIN = 0.1
"""Rare answers with less than this fraction of a group's questions do not limit the frequent ones."""

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class AnswerCells:
    """The answers of each group of one level, global or local, most frequent first."""

    def __init__(self, groups: NDArray[np.integer], answers: NDArray[np.integer], priority: Ints) -> None:
        """Sort questions into cells by group (negative: none) and answer; the lowest ``priority`` is removed last."""
        n_answers = int(answers.max(initial=0)) + 1
        keys = np.where(groups >= 0, groups.astype(np.int64) * n_answers + answers, -1)
        order = np.lexsort((priority, keys))
        order = order[np.searchsorted(keys[order], 0) :]
        found, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
        group = found // n_answers
        by_count = np.lexsort((found, -counts, group))
        self.counts: Ints = counts[by_count].astype(np.int64)
        """number of questions of each cell"""
        self.cell_starts: Ints = np.concatenate(([0], np.cumsum(self.counts)))
        moved = np.repeat(first[by_count] - self.cell_starts[:-1], self.counts)
        self.questions: Ints = order[np.arange(len(order)) + moved]
        """indices of questions by cell, in reverse order of their removal"""
        self.groups, starts = np.unique(group[by_count], return_index=True)
        self.starts: Ints = np.append(starts, len(found)).astype(np.int64)
        """index of each group's first cell, and the number of cells"""

    def kept_counts(self, kept: Bools) -> Ints:
        """Number of kept questions of each cell, int64 (cells,)."""
        if not len(self.counts):
            return np.zeros(0, np.int64)
        return np.add.reduceat(kept[self.questions].astype(np.int64), self.cell_starts[:-1])

    def drop_to(self, kept: Bools, most: Ints) -> None:
        """Keep at most ``most`` questions of each cell."""
        _drop(kept, self.questions, self.cell_starts, most)

    def restore(self, kept: Bools, more: Ints) -> int:
        """Restore up to ``more`` questions of each cell; returns how many."""
        return int(_restore(kept, self.questions, self.cell_starts, more))


@njit(cache=True)
def _drop(kept: Bools, questions: Ints, starts: Ints, most: Ints) -> None:
    for cell in range(len(most)):
        left = most[cell]
        for index in range(starts[cell], starts[cell + 1]):
            if kept[questions[index]]:
                if left == 0:
                    kept[questions[index]] = False
                else:
                    left -= 1


@njit(cache=True)
def _restore(kept: Bools, questions: Ints, starts: Ints, more: Ints) -> int:
    brought = 0
    for cell in range(len(more)):
        left = more[cell]
        for index in range(starts[cell], starts[cell + 1]):
            if left == 0:
                break
            if not kept[questions[index]]:
                kept[questions[index]] = True
                left -= 1
                brought += 1
    return brought


@njit(cache=True)
def out_of_order(counts: Ints, kept: Ints, starts: Ints, fewest: int) -> Ints:
    """Number of questions to restore so that each answer stays above all that were less frequent, int64 (cells,).

    ``counts``: of all questions, descending in each group; ``kept``: of the kept ones; ``starts``: first cell of each
    group, and the end; ``fewest``: minimum number of kept questions of each answer.
    """
    lacks = np.zeros(len(counts), np.int64)
    for group in range(len(starts) - 1):
        below, of_tier, tier = 0, 0, -1
        for cell in range(starts[group + 1] - 1, starts[group] - 1, -1):
            if counts[cell] != tier:
                below, tier = max(below, of_tier), counts[cell]
            wanted = max(fewest, below + 1 if below > 0 else 0)
            if kept[cell] < wanted:
                lacks[cell] = wanted - kept[cell]
            of_tier = max(of_tier, kept[cell] + lacks[cell])
    return lacks


@njit(cache=True)
def smoothed(counts: Ints, starts: Ints) -> Ints:
    """The number of questions to keep of each answer, group by group.

    From the most to the least frequent answer, the answers so far (the head) are scaled down together until they hold
    at most `HEAD` times the questions of the others (the tail) and the last of them is at most `MAX_RATIO` times
    as frequent as the next, but not below `MIN_RATIO` times the next. The order of answers, and ties, do not change;
    no answer vanishes; the entropy never decreases. Not idempotent: `THIN` is relative to the group.

    Args:
        counts: questions of each answer, int64 (cells,), by group, descending, all above 0.
        starts: first cell of each group, and the end, int64 (groups + 1,).

    Returns:
        From 1 to ``counts``, int64 (cells,).
    """
    kept = counts.copy()
    scales = np.ones(len(counts))
    for group in range(len(starts) - 1):
        first, end = starts[group], starts[group + 1]
        total = counts[first:end].sum()
        head, tail = 0.0, float(total)
        for cell in range(first, end - 1):
            here, following = float(counts[cell]), float(counts[cell + 1])
            head, tail = head + here, tail - here
            if cell > first and tail < THIN * total:
                break
            reach = max(tail, THIN * total)
            scale = min(1.0, HEAD * reach / head)
            scale = min(scale, MAX_RATIO * max(following, THIN * reach, reach / (end - 1 - cell)) / here)
            scale = max(scale, min(MIN_RATIO * following / here, 1.0))
            scales[cell] = scale
            head *= scale
        product, before, entropy = 1.0, 0.0, 0.0
        for cell in range(end - 1, first - 1, -1):
            product *= scales[cell]
            fewest = 1
            if cell < end - 1:
                fewest = kept[cell + 1] + (counts[cell] > counts[cell + 1])
            kept[cell] = min(counts[cell], max(int(counts[cell] * product + 0.5), fewest))
            if cell < end - 1 and counts[cell] == counts[cell + 1]:
                kept[cell] = kept[cell + 1]
        left = kept[first:end].sum()
        for cell in range(first, end):
            before -= counts[cell] / total * np.log(counts[cell] / total)
            entropy -= kept[cell] / left * np.log(kept[cell] / left)
        if entropy < before:  # rounding, in groups of a few questions
            kept[first:end] = counts[first:end]
    return kept


def entropies(counts: Ints, starts: Ints) -> NDArray[np.float64]:
    """The entropy of the answers of each group in bits, float64 (groups,); 0 for a group without questions."""
    if not len(counts):
        return np.zeros(len(starts) - 1)
    totals = np.maximum(np.add.reduceat(counts, starts[:-1]), 1)
    shares = counts / np.repeat(totals, np.diff(starts))
    terms = np.where(shares > 0, -shares * np.log2(np.where(shares > 0, shares, 1.0)), 0.0)
    return np.asarray(np.add.reduceat(terms, starts[:-1]))


@dataclass(frozen=True)
class QuestionTable:
    """All questions; columns of (questions,)."""

    image: NDArray[np.int32]
    number: NDArray[np.int32]  # of the question, in its image
    structural: NDArray[np.int8]
    semantic: NDArray[np.int8]
    detailed: NDArray[np.int16]
    global_group: NDArray[np.int32]  # -1 for none
    local_group: NDArray[np.int32]  # -1 for none
    answer: NDArray[np.int32]
    content: NDArray[np.int32]  # equal for questions about an image with the same content
    words: NDArray[np.int16]
    steps: NDArray[np.int16]  # steps of the program
    entailed: NDArray[np.int32]  # number of entailed questions
    names: Mapping[str, Sequence[str]]  # column to the names of its values
    vocabulary: int  # distinct words of questions and answers, in lower case

    @property
    def count(self) -> int:
        """Number of questions."""
        return len(self.image)
