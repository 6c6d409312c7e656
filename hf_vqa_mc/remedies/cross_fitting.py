"""Cross-fitting of probes over folds of groups, and the learners that several probes share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.small_models import pairwise_weights
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.errors import InputError

FOLDS = 5
MOST_FITTED = 20_000
"""Rows that a probe is fitted on; more are sampled."""
STRENGTH = 0.3
"""Logistic regression: C."""
RowNumbers = NDArray[np.int64]
Scores = NDArray[np.float64]
"""(rows, choices): higher for a choice that looks more like the target"""


def group_folds(groups: NDArray[np.integer], seed: int, folds: int = FOLDS) -> NDArray[np.int8]:
    """Folds of about equal size that divide no group (image, video, context), int8 (rows,).

    Raises:
        InputError: there are fewer groups than folds.
    """
    distinct, group = np.unique(groups, return_inverse=True)
    if len(distinct) < folds:
        raise InputError(f"expected at least {folds} images or other groups of rows, found {len(distinct)}")
    sizes = np.bincount(group)
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    totals, fold = np.zeros(folds), np.zeros(len(sizes), np.int8)
    for one in order.tolist():
        fold[one] = totals.argmin()
        totals[fold[one]] += sizes[one]
    return fold[group]


def fitted_rows(folds: NDArray[np.integer], fold: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The rows outside of a fold, or a sample of MOST_FITTED."""
    rows = np.flatnonzero(folds != fold)
    return rows if len(rows) <= MOST_FITTED else np.sort(rng.choice(rows, MOST_FITTED, replace=False))


def cross_fitted(
    rows: Rows,
    folds: NDArray[np.integer],
    fit: Callable[[RowNumbers, int], Callable[[RowNumbers], Scores]],
    seed: int,
) -> Scores:
    """The scores of each row by the model that was fitted without its fold.

    Args:
        rows: with the target in column 0.
        folds: (rows,).
        fit: takes numbers of training rows and a seed, returns a function from numbers of rows to scores.
        seed: random seed.
    """
    scores = np.zeros(rows.texts.shape)
    for fold in np.unique(folds).tolist():
        rng = np.random.default_rng([seed, fold])
        score = fit(fitted_rows(folds, fold, rng), int(rng.integers(2**31)))
        test = np.flatnonzero(folds == fold)
        scores[test] = score(test)
    return scores


def in_blocks(score: Callable[[NDArray[np.int64]], NDArray[Any]], size: int, block: int = 4096) -> NDArray[Any]:
    """Results of a function of row numbers, computed for some rows at a time to limit memory."""
    parts = [score(np.arange(first, min(first + block, size))) for first in range(0, max(size, 1), block)]
    return np.concatenate(parts)


def sparse_columns(parts: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], choices: int, size: int) -> Any:  # noqa: ANN401  a matrix of scipy
    """A matrix (choices, size) of ones from hashed columns."""
    from scipy.sparse import csr_matrix

    column, choice = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    found = csr_matrix((np.ones(len(column), np.float32), (choice, column)), shape=(choices, size))
    found.data[:] = 1
    return found


def conditional_logit(columns: Any, shape: tuple[int, int], valid: NDArray[np.bool_]) -> NDArray[np.float64]:  # noqa: ANN401
    """Coefficients of a pairwise conditional logit: P(target, not decoy) = sigmoid(weights · (target - decoy)).

    Args:
        columns: sparse matrix (rows * choices, columns), rows as in `Rows`: the target first.
        shape: (rows, choices).
        valid: mask (rows, choices).
    """
    from scipy.sparse import csr_matrix

    decoys = valid.copy()
    decoys[:, 0] = False
    row, column = decoys.nonzero()
    if len(row) < 2:
        return np.zeros(columns.shape[1])
    difference = csr_matrix(columns[row * shape[1]] - columns[row * shape[1] + column])
    weights, used = np.zeros(columns.shape[1]), np.unique(difference.indices)
    weights[used] = pairwise_weights(difference[:, used], 1.0 / decoys.sum(axis=1)[row], STRENGTH)
    return weights
