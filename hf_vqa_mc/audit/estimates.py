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

    Wilson's score interval (1927) with the number of rows that would give the same standard error if they were
    independent: rows of one image go right or wrong together (`scoring.statistics.standard_error`). With few images
    its normal quantile is Student's.

    Args:
        scores: (rows,): how often the rule picks the target, in [0, 1].
        chance: (rows,): how often one does who picks at random.
        clusters: (rows,): the number of each row's image, from 0.
        inflation: of the standard error, where the rule was learnt from other rows that are asked, too.

    >>> result = estimate(np.ones(50), np.full(50, 0.25), np.arange(50))
    >>> result.gain, round(result.low, 3), result.high
    (0.75, 0.675, 0.75)
    """
    rows, accuracy, expected = len(scores), float(scores.mean()), float(chance.mean())
    sums = np.bincount(clusters, scores - accuracy)
    sums = sums[np.bincount(clusters) > 0]
    n_clusters = len(sums)
    error = inflation * float(np.sqrt(n_clusters / max(n_clusters - 1, 1) * (sums**2).sum())) / rows
    # Where all scores are alike nothing is known of their spread; then each image is a question of its own.
    worth = accuracy * (1 - accuracy) / error**2 if error > 0 else n_clusters / inflation**2
    freedom = max(n_clusters - 1, 1)
    quantile = float(stats.t.ppf(1 - ALARM_LEVEL, freedom))
    middle = (accuracy + quantile**2 / (2 * worth)) / (1 + quantile**2 / worth)
    half = quantile / (1 + quantile**2 / worth)
    half *= np.sqrt(accuracy * (1 - accuracy) / worth + quantile**2 / (4 * worth**2))
    distance = accuracy - expected
    spread = np.sqrt(expected * (1 - expected) / worth)
    p = float(stats.t.sf(distance / spread, freedom)) if spread > 0 else 1.0
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return Estimate(accuracy, distance, float(low - expected), float(high - expected), p)


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
