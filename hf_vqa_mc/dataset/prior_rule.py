"""The answer-only rule of Chao et al. 2018, eq. 2: how far one gets by knowing which answers tend to be correct."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING

NEVER_SEEN = 0.5
"""P(correct | C) of a choice that is never seen in training (eq. 2)."""


@dataclass(frozen=True)
class PriorRule:
    """What eq. 2 makes of a training set."""

    likelihood: NDArray[np.float64]
    """(keys,): P(correct | C) of each text, in [0, 1]"""

    @classmethod
    def learn(cls, keys: NDArray[np.int32], n_keys: int, decoys_per_row: int) -> "PriorRule":
        """Counts targets and decoys.

        Args:
            keys: (rows, places) text keys, the target first, MISSING where there is no decoy.
            n_keys: how many keys there are.
            decoys_per_row: K.
        """
        as_target = np.bincount(keys[:, 0], minlength=n_keys)
        decoys = keys[:, 1:]
        as_decoy = np.bincount(decoys[decoys != MISSING], minlength=n_keys)
        seen = as_target * decoys_per_row + as_decoy  # whole numbers, so that equal ratios are equal numbers
        return cls(np.where(seen > 0, as_target * decoys_per_row / np.maximum(seen, 1), NEVER_SEEN))

    def accuracy(self, keys: NDArray[np.int32]) -> float:
        """The share of rows where it picks the target, in [0, 1]; of choices that tie each is picked as often."""
        return float(np.mean(target_picked(self.likelihood[keys], keys)))


def decoys_per_row(keys: NDArray[np.int32]) -> int:
    """K of eq. 2: how many decoys stand beside the target in (rows, places) text keys; the median, at least 1."""
    return max(int(np.median((keys[:, 1:] != MISSING).sum(axis=1))), 1)


def target_picked(likelihood: NDArray[np.float64], keys: NDArray[np.int32]) -> NDArray[np.float64]:
    """How often the most likely choice of each row is the target.

    Args:
        likelihood: (rows, places), in [0, 1]; any value where there is no choice.
        keys: (rows, places) text keys, the target first, MISSING where there is no choice.

    Returns:
        float64 (rows,), in [0, 1]: of choices that tie for the most likely each is picked as often.
    """
    scores = np.where(keys == MISSING, -1.0, likelihood)
    best = scores == scores.max(axis=1, keepdims=True)
    picked: NDArray[np.float64] = best[:, 0] / best.sum(axis=1)
    return picked


def chance(keys: NDArray[np.int32]) -> float:
    """The accuracy of picking at random, in [0, 1]."""
    return float(np.mean(1.0 / (keys != MISSING).sum(axis=1)))
