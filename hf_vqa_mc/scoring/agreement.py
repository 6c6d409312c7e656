"""Agreement of annotators: Krippendorff's alpha and Fleiss' kappa of nominal values."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ratings = Sequence[Sequence[Hashable]]
"""The values that the annotators gave to each unit; units may have different numbers of them."""


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Krippendorff's alpha of nominal values: 1 - observed / expected disagreement.

    A unit with one value does not count. Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability,
    sections A to C.

    Returns:
        1 for agreement, 0 for agreement as by chance; None if no unit has two values or all values are the same.

    >>> krippendorff_alpha([["a", "a"], ["b", "b"], ["b", "a"]])
    0.4444444444444444
    """
    paired = [unit for unit in ratings if len(unit) > 1]
    counts = _counts(paired)
    sizes = counts.sum(axis=1)
    total, values = sizes.sum(), counts.sum(axis=0)
    expected = total**2 - (values**2).sum()
    if not expected:
        return None
    differing = sizes**2 - (counts**2).sum(axis=1)
    return float(1 - (total - 1) * (differing / (sizes - 1)).sum() / expected)


def fleiss_kappa(ratings: Ratings) -> tuple[float | None, int]:
    """Fleiss' kappa, over the units with the most frequent number of values, which has to be the same in all.

    Source: Fleiss 1971, Measuring nominal scale agreement among many raters.

    Returns:
        1 for agreement, 0 for agreement as by chance; None if no unit has two values or all values are the same. And
        the number of units.

    >>> fleiss_kappa([["a", "a"], ["b", "b"], ["b", "a"]])
    (0.33333333333333326, 3)
    """
    sizes = Counter(len(unit) for unit in ratings if len(unit) > 1)
    if not sizes:
        return None, 0
    size = max(sizes, key=lambda one: (sizes[one], one))
    counts = _counts([unit for unit in ratings if len(unit) == size])
    chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    if chance == 1:
        return None, len(counts)
    observed = float((((counts**2).sum(axis=1) - size) / (size * (size - 1))).mean())
    return (observed - chance) / (1 - chance), len(counts)


def _counts(ratings: Iterable[Sequence[Hashable]]) -> NDArray[np.float64]:
    """How many annotators gave each value, float64 (units, values)."""
    units = [Counter(unit) for unit in ratings]
    numbers = {value: number for number, value in enumerate(dict.fromkeys(value for unit in units for value in unit))}
    counts = np.zeros((len(units), len(numbers)))
    for row, unit in enumerate(units):
        for value, count in unit.items():
            counts[row, numbers[value]] = count
    return counts
