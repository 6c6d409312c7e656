"""The answer-prior rule of Chao et al. 2018, eq. 2: pick the choice that is most often correct in the training split.

Text keys are int32 (rows, choices), the target first, MISSING where there is no choice.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import MISSING

NEVER_SEEN = 0.5
"""P(correct | C) of a choice that never occurs in training (eq. 2)."""


@dataclass(frozen=True)
class PriorRule:
    """Eq. 2 fitted to a training set."""

    likelihood: NDArray[np.float64]
    """(keys,): P(correct | C) of each text, in [0, 1]"""

    @classmethod
    def learn(cls, keys: NDArray[np.int32], n_keys: int, decoys_per_row: int) -> "PriorRule":
        """Count targets and decoys in text keys below ``n_keys``; ``decoys_per_row`` is K."""
        as_target = np.bincount(keys[:, 0], minlength=n_keys)
        decoys = keys[:, 1:]
        as_decoy = np.bincount(decoys[decoys != MISSING], minlength=n_keys)
        seen = as_target * decoys_per_row + as_decoy  # integers, so that equal ratios are equal floats
        return cls(np.where(seen > 0, as_target * decoys_per_row / np.maximum(seen, 1), NEVER_SEEN))

    def accuracy(self, keys: NDArray[np.int32]) -> float:
        """Share of rows in which the target is picked, in [0, 1]."""
        return float(np.mean(target_picked(self.likelihood[keys], keys)))


def decoys_per_row(keys: NDArray[np.int32]) -> int:
    """K of eq. 2: the median number of decoys per row, at least 1."""
    return max(int(np.median((keys[:, 1:] != MISSING).sum(axis=1))), 1)


def target_picked(likelihood: NDArray[np.float64], keys: NDArray[np.int32]) -> NDArray[np.float64]:
    """Probability that the likeliest choice of each row is the target, float64 (rows,); ties are equally probable.

    Args:
        likelihood: (rows, choices), in [0, 1]; any value where there is no choice.
        keys: text keys.
    """
    scores = np.where(keys == MISSING, -1.0, likelihood)
    best = scores == scores.max(axis=1, keepdims=True)
    picked: NDArray[np.float64] = best[:, 0] / best.sum(axis=1)
    return picked


def chance(keys: NDArray[np.int32]) -> float:
    """Accuracy of random guessing, in [0, 1]."""
    return float(np.mean(1.0 / (keys != MISSING).sum(axis=1)))
