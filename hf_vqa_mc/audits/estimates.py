"""How far a shortcut goes beyond chance, and how sure one may be of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
"""Of every interval, with as much left out on each side."""
ALARM_LEVEL = (1 - CONFIDENCE) / 2
"""How often a benchmark without shortcuts may raise an alarm, by any of its checks."""

SMALLEST_ERROR = 1e-9
"""Less is what sums of equal numbers differ by."""


@dataclass(frozen=True)
class Estimate:
    """An accuracy and its gain over chance, with an interval for the gain."""

    accuracy: float
    """in [0, 1]"""
    gain: float
    """accuracy less chance"""
    low: float
    """end of the gain's interval of 95%; so is ``high``"""
    high: float
    p: float
    """one-sided: how often chance alone would give as much, in [0, 1]"""


def estimate(
    scores: NDArray[np.float64], chance: NDArray[np.float64], clusters: NDArray[np.integer], inflation: float = 1.0
) -> Estimate:
    """What a rule's scores say of its gain over chance.

    Rows of one image go right or wrong together, so the standard error is the jackknife's that leaves out one image
    after the other (Efron and Stein 1981); for images with as many rows each it is `scoring.standard_error`. The
    interval is the wider of Wilson's (1927), with Student's quantile for as many images as weigh alike (1 / sum of
    squared shares), and of Clopper and Pearson's (1934), which holds where few hits are expected; both for as many
    rows as would have this error if they were independent. A single image says next to nothing.

    Args:
        scores: (rows,): how often the rule picks the target, in [0, 1].
        chance: (rows,): how often one does who picks at random.
        clusters: (rows,): the number of each row's image, from 0.
        inflation: of the standard error, where the rule was learnt from other rows that are asked, too.

    >>> result = estimate(np.ones(50), np.full(50, 0.25), np.arange(50))
    >>> result.gain, round(result.low, 3), result.high
    (0.75, 0.675, 0.75)
    """
    accuracy, expected = float(scores.mean()), float(chance.mean())
    worth, freedom = _independent_rows(scores, clusters, inflation)
    quantile = float(stats.t.ppf(1 - ALARM_LEVEL, freedom))
    middle = (accuracy + quantile**2 / (2 * worth)) / (1 + quantile**2 / worth)
    half = quantile / (1 + quantile**2 / worth)
    half *= np.sqrt(accuracy * (1 - accuracy) / worth + quantile**2 / (4 * worth**2))
    hits, misses = accuracy * worth, (1 - accuracy) * worth
    low = min(middle - half, float(stats.beta.ppf(ALARM_LEVEL, hits, misses + 1)) if hits > 0 else 0.0)
    high = max(middle + half, float(stats.beta.ppf(1 - ALARM_LEVEL, hits + 1, misses)) if misses > 0 else 1.0)
    spread = np.sqrt(expected * (1 - expected) / worth)
    p = 1.0
    if spread > 0 and hits > 0:
        by_chance = float(stats.beta.cdf(expected, hits, misses + 1))  # of so many hits or more, binomially
        p = max(float(stats.t.sf((accuracy - expected) / spread, freedom)), by_chance)
    low, high = max(low, 0.0), min(high, 1.0)
    return Estimate(accuracy, accuracy - expected, float(low - expected), float(high - expected), p)


def _independent_rows(
    scores: NDArray[np.float64], clusters: NDArray[np.integer], inflation: float
) -> tuple[float, float]:
    """How many independent rows would have the same standard error, and Student's degrees of freedom."""
    rows, accuracy = len(scores), float(scores.mean())
    sizes = np.bincount(clusters)
    there = sizes > 0
    sums, sizes = np.bincount(clusters, scores - accuracy)[there], sizes[there]
    if len(sums) == 1:
        return 1.0, 1.0
    alike = 1.0 / float(((sizes / rows) ** 2).sum())
    error = inflation * float(np.sqrt((len(sums) - 1) / len(sums) * ((sums / (rows - sizes)) ** 2).sum()))
    # Where all scores are alike nothing is known of their spread; then each image is a question of its own.
    worth = accuracy * (1 - accuracy) / error**2 if error > SMALLEST_ERROR else alike / inflation**2
    return max(worth, 1.0), max(alike - 1.0, 1.0)


def holm(p_values: Sequence[float]) -> list[float]:
    """P values that may be compared to one level all together (Holm 1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    adjusted = np.empty(len(order))
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[place]))
        adjusted[place] = largest
    return [float(p) for p in adjusted]
