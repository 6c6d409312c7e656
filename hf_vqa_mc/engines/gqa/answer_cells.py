"""Questions by group and answer: counts, and which of a cell's questions go or come back first."""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


class AnswerCells:
    """The answers of each group of one level, global or local, in falling order of their questions."""

    def __init__(self, groups: NDArray[np.integer], answers: NDArray[np.integer], priority: Ints) -> None:
        """Puts questions in cells.

        Args:
            groups: of each question, below 0 for none.
            answers: of each question, a number from 0.
            priority: each question's place in the order in which questions stay, int64 (questions,), all different.
        """
        n_answers = int(answers.max(initial=0)) + 1
        keys = np.where(groups >= 0, groups.astype(np.int64) * n_answers + answers, -1)
        order = np.lexsort((priority, keys))
        order = order[np.searchsorted(keys[order], 0) :]
        found, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
        group = found // n_answers
        by_count = np.lexsort((found, -counts, group))
        sizes = counts[by_count].astype(np.int64)
        self.questions: Ints = order[_spread(first[by_count], sizes)]
        """places of questions, cell by cell, those that stay longest first"""
        self.counts: Ints = sizes
        """of all questions of each cell"""
        self.cell_starts: Ints = np.concatenate(([0], np.cumsum(self.counts)))
        self.groups, starts = np.unique(group[by_count], return_index=True)
        self.starts: Ints = np.append(starts, len(sizes)).astype(np.int64)
        """where the cells of each group begin, and the end"""
        self.answers: Ints = found[by_count] % n_answers

    def kept_counts(self, kept: Bools) -> Ints:
        """How many questions of each cell are kept, int64 (cells,)."""
        if not len(self.counts):
            return np.zeros(0, np.int64)
        return np.add.reduceat(kept[self.questions].astype(np.int64), self.cell_starts[:-1])

    def drop_to(self, kept: Bools, most: Ints) -> None:
        """Keep no more than so many questions of each cell."""
        _drop(kept, self.questions, self.cell_starts, most)

    def bring_back(self, kept: Bools, more: Ints) -> int:
        """Take back so many questions of each cell, as far as there are; returns how many."""
        return int(_bring_back(kept, self.questions, self.cell_starts, more))


@njit(cache=True)
def _spread(first: Ints, sizes: Ints) -> Ints:
    """Ranges put together: ``sizes[i]`` places from ``first[i]`` on."""
    places = np.empty(sizes.sum(), np.int64)
    at = 0
    for cell in range(len(first)):
        for place in range(sizes[cell]):
            places[at] = first[cell] + place
            at += 1
    return places


@njit(cache=True)
def _drop(kept: Bools, questions: Ints, starts: Ints, most: Ints) -> None:
    for cell in range(len(most)):
        left = most[cell]
        for place in range(starts[cell], starts[cell + 1]):
            if kept[questions[place]]:
                if left == 0:
                    kept[questions[place]] = False
                else:
                    left -= 1


@njit(cache=True)
def _bring_back(kept: Bools, questions: Ints, starts: Ints, more: Ints) -> int:
    brought = 0
    for cell in range(len(more)):
        left = more[cell]
        for place in range(starts[cell], starts[cell + 1]):
            if left == 0:
                break
            if not kept[questions[place]]:
                kept[questions[place]] = True
                left -= 1
                brought += 1
    return brought


@njit(cache=True)
def out_of_order(counts: Ints, kept: Ints, starts: Ints, fewest: int) -> Ints:
    """How many questions each answer lacks to stay ahead of all answers that were less frequent.

    Args:
        counts: of all questions, int64 (cells,), falling in each group.
        kept: of the kept ones.
        starts: where the groups begin, and the end.
        fewest: questions that each answer must keep.
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
