"""Cross-fitting of probes over folds of groups, and the learners that several probes share."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hf_vqa_mc.audits.probes.small_models import pairwise_weights
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import Bools, Float32s, Float64s, Int64s, Ints
from hf_vqa_mc.errors import InputError

FOLDS = 5
MOST_FITTED = 20_000  # rows that a probe is fitted on; more are sampled
ONE_THREAD = 50_000  # choices up to which boosting uses one thread
STRENGTH = 0.3  # logistic regression: C
Scores = Float64s  # (rows, choices): higher for a choice that looks more like the target
Fit = Callable[[Int64s, int], Callable[[Int64s], Scores]]
"""Takes numbers of training rows and a seed, returns a function from numbers of rows to their scores."""


def group_folds(groups: Ints, seed: int) -> Ints:
    """FOLDS folds of about equal size that divide no group (image, video, context), int8 (rows,).

    Raises:
        InputError: there are fewer groups than folds.
    """
    distinct, group, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(distinct) < FOLDS:
        raise InputError(f"expected at least {FOLDS} images or other groups of rows, found {len(distinct)}")
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    totals, fold = np.zeros(FOLDS), np.zeros(len(sizes), np.int8)
    for one in order.tolist():
        fold[one] = totals.argmin()
        totals[fold[one]] += sizes[one]
    return fold[group]


def fitted_rows(folds: Ints, fold: int, rng: np.random.Generator) -> Int64s:
    """The rows outside of a fold, or a sample of MOST_FITTED."""
    rows = np.flatnonzero(folds != fold)
    return rows if len(rows) <= MOST_FITTED else np.sort(rng.choice(rows, MOST_FITTED, replace=False))


def cross_fitted(rows: Rows, folds: Ints, fit: Fit, seed: int) -> Scores:
    """The scores of each row by the model that was fitted without its fold."""
    scores = np.zeros(rows.texts.shape)
    for fold in np.unique(folds).tolist():
        rng = np.random.default_rng([seed, fold])
        score = fit(fitted_rows(folds, fold, rng), int(rng.integers(2**31)))
        test = np.flatnonzero(folds == fold)
        scores[test] = score(test)
    return scores


def sparse_columns(parts: Sequence[tuple[Int64s, Int64s]], choices: int, size: int) -> Any:  # noqa: ANN401  a matrix of scipy
    """A matrix (choices, size) of ones from hashed columns, see `TextForms.hashed_words`."""
    from scipy.sparse import csr_matrix

    column, choice = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    found = csr_matrix((np.ones(len(column), np.float32), (choice, column)), shape=(choices, size))
    found.data[:] = 1
    return found


def conditional_logit(columns: Any, valid: Bools) -> Float64s:  # noqa: ANN401
    """Coefficients of a pairwise conditional logit: P(target, not decoy) = sigmoid(weights · (target - decoy)).

    ``columns`` are a sparse matrix (rows * choices, columns), the target of each row first; ``valid`` is the mask.
    """
    from scipy.sparse import csr_matrix

    decoys = valid.copy()
    decoys[:, 0] = False
    row, column = decoys.nonzero()
    if len(row) < 2:
        return np.zeros(columns.shape[1])
    difference = csr_matrix(columns[row * valid.shape[1]] - columns[row * valid.shape[1] + column])
    weights, used = np.zeros(columns.shape[1]), np.unique(difference.indices)
    weights[used] = pairwise_weights(difference[:, used], 1.0 / decoys.sum(axis=1)[row], STRENGTH)
    return weights


def boosted(columns: Float32s, targets: Bools, trees: int, rate: float, leaves: int, seed: int) -> Any:  # noqa: ANN401
    """Gradient boosting that is fitted to tell targets; max_iter, learning_rate and max_leaf_nodes are given."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(
        max_iter=trees,
        learning_rate=rate,
        max_leaf_nodes=leaves,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    # On few choices several threads wait for one another, on a busy machine for minutes.
    with threadpool_limits(None if len(targets) > ONE_THREAD else 1, "openmp"):
        return model.fit(columns, targets)
