"""How many questions of each answer a group keeps, so that its answers are more even.

Hudson and Manning 2019, Sect. 3.5 and Appendix B.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.errors import InputError


@dataclass(frozen=True, slots=True)
class Bounds:
    """How even the answers of a group become. The paper gives no numbers: these are ours."""

    head: float = 1.0
    """the answers down to one, the head, hold at most this many times the questions of the rest, the tail"""
    min_ratio: float = 1.05
    """an answer keeps at least this many times the questions of the next one, or what ratio there was, so that the
    order stays; at least 1"""
    max_ratio: float = 1.5
    """and at most this many times, if there is enough of the tail; at least ``min_ratio``"""
    thin: float = 0.1
    """tails of less than this share of the group bound nothing, but that they count as this share for the first
    answer: else a group would shrink with its rarest answers; in (0, 1)"""

    def check(self) -> None:
        """Nothing, if the bounds can be kept.

        Raises:
            InputError: names the one that cannot.
        """
        expected = {
            "head": ("above 0", 0 < self.head < np.inf),
            "min_ratio": ("1 or more", 1 <= self.min_ratio < np.inf),
            "max_ratio": (f"min_ratio ({self.min_ratio}) or more", self.min_ratio <= self.max_ratio < np.inf),
            "thin": ("between 0 and 1", 0 < self.thin < 1),
        }
        for name, (what, holds) in expected.items():
            if not holds:
                raise InputError(f"bounds: {name} is {getattr(self, name)}, expected a number {what}")


def smoothed(counts: NDArray[np.int64], starts: NDArray[np.int64], bounds: Bounds) -> NDArray[np.int64]:
    """How many questions of each answer are kept, group by group.

    From the most to the least frequent answer, the answers so far (the head) are scaled down together until they
    hold no more than ``bounds.head`` times what the others (the tail) hold and their last is no more than
    ``bounds.max_ratio`` times as frequent as the next, but not below ``bounds.min_ratio`` times the next. Of two
    answers the more frequent stays so; equal ones stay equal; none vanishes; the entropy never falls. Done twice it
    may take more: what is a thin tail is so in relation to all questions of the group.

    Args:
        counts: questions of each answer, int64 (cells,), of each group together and in falling order, all above 0.
        starts: where the groups begin, and the end, int64 (groups + 1,).
        bounds: checked.

    Returns:
        From 1 to ``counts``, int64 (cells,).
    """
    return _smoothed(counts, starts, bounds.head, bounds.min_ratio, bounds.max_ratio, bounds.thin)


@njit(cache=True)
def _smoothed(
    counts: NDArray[np.int64],
    starts: NDArray[np.int64],
    bound: float,
    min_ratio: float,
    max_ratio: float,
    thin: float,
) -> NDArray[np.int64]:
    kept = counts.copy()
    scales = np.ones(len(counts))
    for group in range(len(starts) - 1):
        first, end = starts[group], starts[group + 1]
        total = counts[first:end].sum()
        head, tail = 0.0, float(total)
        for place in range(first, end - 1):
            here, following = float(counts[place]), float(counts[place + 1])
            head, tail = head + here, tail - here
            if place > first and tail < thin * total:
                break
            reach = max(tail, thin * total)
            scale = min(1.0, bound * reach / head)
            scale = min(scale, max_ratio * max(following, thin * reach, reach / (end - 1 - place)) / here)
            scale = max(scale, min(min_ratio * following / here, 1.0))
            scales[place] = scale
            head *= scale
        product, before, entropy = 1.0, 0.0, 0.0
        for place in range(end - 1, first - 1, -1):
            product *= scales[place]
            fewest = 1
            if place < end - 1:
                fewest = kept[place + 1] + (counts[place] > counts[place + 1])
            kept[place] = min(counts[place], max(int(counts[place] * product + 0.5), fewest))
            if place < end - 1 and counts[place] == counts[place + 1]:
                kept[place] = kept[place + 1]
        left = kept[first:end].sum()
        for place in range(first, end):
            before -= counts[place] / total * np.log(counts[place] / total)
            entropy -= kept[place] / left * np.log(kept[place] / left)
        if entropy < before:  # rounding, in groups of a few questions
            kept[first:end] = counts[first:end]
    return kept


def entropies(counts: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The entropy of the answers of each group in bits, float64 (groups,); 0 for a group without questions.

    Args:
        counts: questions of each answer, of each group together, int64 (cells,).
        starts: where the groups begin, and the end, int64 (groups + 1,).
    """
    if not len(counts):
        return np.zeros(len(starts) - 1)
    totals = np.maximum(np.add.reduceat(counts, starts[:-1]), 1)
    shares = counts / np.repeat(totals, np.diff(starts))
    terms = np.where(shares > 0, -shares * np.log2(np.where(shares > 0, shares, 1.0)), 0.0)
    return np.asarray(np.add.reduceat(terms, starts[:-1]))
