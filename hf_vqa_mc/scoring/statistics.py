"""Means of scores, their standard errors and intervals; agreement of annotators."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name", str, int)

Ratings = Sequence[Sequence[Hashable]]
"""The values that the annotators gave to each unit; units may have different numbers of them."""

CONFIDENCE = 0.95  # level of the two-sided intervals
SMALLEST_ERROR = 1e-9  # A smaller standard error is a rounding error and counts as 0


def standard_error(
    scores: NDArray[np.float64], clusters: Sequence[str] | NDArray[np.int64] | None = None
) -> float | None:
    """The standard error of a mean of scores, clustered by name or number such as the image; None for one cluster.

    sqrt(G / (G - 1) * sum over the G clusters of (sum of deviations)^2) / n; without clusters each score is its own.
    Source: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 2.2, with the factor G / (G - 1) added.
    """
    deviations = scores - scores.mean()
    if clusters is not None:
        cluster = clusters if isinstance(clusters, np.ndarray) else numbered(clusters)[1]
        deviations = np.bincount(cluster, deviations)[np.bincount(cluster) > 0]
    n_clusters = len(deviations)
    if n_clusters < 2:
        return None
    return float(np.sqrt(n_clusters / (n_clusters - 1) * (deviations**2).sum()) / len(scores))


def effective_rows(
    scores: NDArray[np.float64], clusters: NDArray[np.integer], inflation: float = 1.0
) -> tuple[float, float]:
    """The number of independent rows with the same standard error, and Student's degrees of freedom.

    The standard error is the jackknife's over the numbered clusters (Efron and Stein 1981), times ``inflation``; where
    all clusters have equally many rows it equals `standard_error`.

    >>> effective_rows(np.array([1.0, 1.0, 0.0, 0.0]), np.array([0, 0, 1, 1]))
    (1.0, 1.0)
    """
    rows, accuracy = len(scores), float(scores.mean())
    sizes = np.bincount(clusters)
    used = sizes > 0
    sums, sizes = np.bincount(clusters, scores - accuracy)[used], sizes[used]
    if len(sums) == 1:
        return 1.0, 1.0
    independent = 1.0 / float(((sizes / rows) ** 2).sum())
    error = inflation * float(np.sqrt((len(sums) - 1) / len(sums) * ((sums / (rows - sizes)) ** 2).sum()))
    # If all clusters' scores are equal, the variance cannot be estimated; each cluster then counts as one row.
    effective = accuracy * (1 - accuracy) / error**2 if error > SMALLEST_ERROR else independent / inflation**2
    return max(effective, 1.0), max(independent - 1.0, 1.0)


def mean_interval(
    scores: NDArray[np.float64], clusters: Sequence[str] | NDArray[np.int64] | None = None
) -> list[float]:
    """The bounds of the 95% interval of a mean of scores, see `proportion_interval`.

    >>> low, high = mean_interval(np.ones(10))
    >>> round(low, 3), high
    (0.661, 1.0)
    """
    if not isinstance(clusters, np.ndarray):
        clusters = np.arange(len(scores)) if clusters is None else numbered(clusters)[1]
    return [*proportion_interval(float(scores.mean()), *effective_rows(scores, clusters))]


def proportion_interval(share: float, rows: float, freedom: float) -> tuple[float, float]:
    """The 95% interval of a share; ``rows`` and ``freedom`` are of `effective_rows`.

    The union of Wilson's (1927), with Student's quantile for the effective number of clusters, and Clopper and
    Pearson's (1934), which is valid for few expected hits. Both use the effective number of rows.

    >>> low, high = proportion_interval(0.5, 100, 99)
    >>> round(low, 3), round(high, 3)
    (0.398, 0.602)
    """
    from scipy import special

    tail = (1 - CONFIDENCE) / 2
    quantile = float(special.stdtrit(freedom, 1 - tail))
    middle = (share + quantile**2 / (2 * rows)) / (1 + quantile**2 / rows)
    half = quantile / (1 + quantile**2 / rows)
    half *= np.sqrt(share * (1 - share) / rows + quantile**2 / (4 * rows**2))
    hits, misses = share * rows, (1 - share) * rows
    low = min(middle - half, float(special.betaincinv(hits, misses + 1, tail)) if hits > 0 else 0.0)
    high = max(middle + half, float(special.betaincinv(hits + 1, misses, 1 - tail)) if misses > 0 else 1.0)
    return min(max(float(low), 0.0), share), max(min(float(high), 1.0), share)  # not beyond it by rounding


class Accuracy(TypedDict):
    """A mean of scores in [0, 1]; standard error and interval are clustered, see `standard_error`."""

    accuracy: float
    stderr: float | None  # standard error of the accuracy
    interval: list[float]  # 95% interval of the accuracy


def accuracy(scores: NDArray[np.float64], clusters: Sequence[str] | None) -> Accuracy:
    """The mean score with its standard error and interval."""
    cluster = None if clusters is None else numbered(clusters)[1]
    error, interval = standard_error(scores, cluster), mean_interval(scores, cluster)
    return {"accuracy": float(scores.mean()), "stderr": error, "interval": interval}


def mean_of_each(
    measures: Mapping[str, NDArray[np.float64]], clusters: Sequence[str] | None, per_question: bool
) -> dict[str, Any]:
    """Each measure's mean score; the same keys under ``stderr``, ``interval`` and, if requested, ``per_question``."""
    return {
        **{name: float(scores.mean()) for name, scores in measures.items()},
        "stderr": {name: standard_error(scores, clusters) for name, scores in measures.items()},
        "interval": {name: mean_interval(scores, clusters) for name, scores in measures.items()},
        "per_question": {name: scores.tolist() for name, scores in measures.items()} if per_question else None,
    }


def mean_by(scores: NDArray[np.float64], groups: Sequence[Name] | None) -> dict[Name, float] | None:
    """The mean score of each group, groups in the order of their names; None without groups."""
    if groups is None:
        return None
    names, group = numbered(groups)
    means = np.bincount(group, scores) / np.bincount(group)
    return dict(zip(names, means.tolist(), strict=True))


def numbered(values: Sequence[Name]) -> tuple[list[Name], NDArray[np.int64]]:
    """The distinct values, sorted, and the index of each value among them."""
    names = sorted(set(values))
    indices = {name: index for index, name in enumerate(names)}
    return names, np.fromiter(map(indices.__getitem__, values), np.int64, len(values))


def krippendorff_alpha(ratings: Ratings) -> float | None:
    """Krippendorff's alpha of nominal values: 1 - observed / expected disagreement.

    1 for agreement, 0 for agreement as by chance; None if no unit has two values or all values are the same. Source:
    Krippendorff 2011, Computing Krippendorff's Alpha-Reliability, sections A to C.
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
    """Fleiss' kappa, with its range as alpha's, over the units with the most frequent number of values; their number.

    Source: Fleiss 1971, Measuring nominal scale agreement among many raters.
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


def _counts(ratings: Sequence[Sequence[Hashable]]) -> NDArray[np.float64]:
    """How many annotators gave each value, float64 (units, values)."""
    numbers: dict[Hashable, int] = {}
    codes = np.array([numbers.setdefault(value, len(numbers)) for unit in ratings for value in unit], np.int64)
    counts = np.zeros((len(ratings), len(numbers)))
    np.add.at(counts, (np.repeat(np.arange(len(ratings)), [*map(len, ratings)]), codes), 1)
    return counts
