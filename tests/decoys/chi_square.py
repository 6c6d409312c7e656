"""Pearson's test, without scipy and so generous that chance alone fails it once in a billion times."""

import numpy as np
from numpy.typing import NDArray


def is_likely(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> bool:
    """Whether counts may come from a distribution (chi-square by Wilson and Hilferty 1931, six sigma)."""
    if counts.sum() != round(expected.sum()) or expected.min() < 5:
        raise ValueError("expected numbers of the same sum, none of them small")
    freedom = len(counts) - 1
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    spread = 2 / (9 * freedom)
    return bool(((chi_square / freedom) ** (1 / 3) - (1 - spread)) / np.sqrt(spread) < 6)
