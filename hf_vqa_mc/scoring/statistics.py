"""Means of scores and their standard errors."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def standard_error(scores: NDArray[np.float64], clusters: Sequence[str] | None = None) -> float | None:
    """The standard error of a mean of scores, clustered because questions about one image are correlated.

    With deviations d from the mean, summed within each of G clusters::

        sqrt(G / (G - 1) * sum over clusters of (sum of d)^2) / n

    Without clusters each score is its own, which gives the usual sample standard deviation / sqrt(n).
    Source: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), section 2.2, with the factor G / (G - 1) added.

    Args:
        scores: float64 (n,).
        clusters: cluster of each score, such as image ids.

    Returns:
        In the unit of the scores; None for a single cluster.

    >>> round(standard_error(np.array([1.0, 1.0, 0.0, 0.0])), 3)
    0.289
    >>> standard_error(np.array([1.0, 1.0, 0.0, 0.0]), ["a", "a", "b", "b"])
    0.5
    """
    deviations = scores - scores.mean()
    if clusters is not None:
        deviations = np.bincount(numbered(clusters)[1], deviations)
    n_clusters = len(deviations)
    if n_clusters < 2:
        return None
    return float(np.sqrt(n_clusters / (n_clusters - 1) * (deviations**2).sum()) / len(scores))


def mean_of_each(
    measures: Mapping[str, NDArray[np.float64]], clusters: Sequence[str] | None, per_question: bool
) -> dict[str, Any]:
    """The mean of each measure's scores; the same keys under ``stderr`` and, if requested, ``per_question``."""
    return {
        **{name: float(scores.mean()) for name, scores in measures.items()},
        "stderr": {name: standard_error(scores, clusters) for name, scores in measures.items()},
        "per_question": {name: scores.tolist() for name, scores in measures.items()} if per_question else None,
    }


def mean_by(scores: NDArray[np.float64], groups: Sequence[str] | None) -> dict[str, float] | None:
    """The mean score of each group, groups in the order of their names; None without groups.

    >>> mean_by(np.array([1.0, 0.0, 1.0]), ["what", "what", "how"])
    {'how': 1.0, 'what': 0.5}
    """
    if groups is None:
        return None
    names, group = numbered(groups)
    means = np.bincount(group, scores) / np.bincount(group)
    return dict(zip(names, means.tolist(), strict=True))


def numbered(values: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct values, sorted, and the index of each value among them.

    >>> numbered(["b", "a", "b"])
    (['a', 'b'], array([1, 0, 1]))
    """
    names = sorted(set(values))
    indices = {name: index for index, name in enumerate(names)}
    return names, np.fromiter(map(indices.__getitem__, values), np.int64, len(values))
