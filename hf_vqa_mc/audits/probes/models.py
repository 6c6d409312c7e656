"""Models as probes: logistic regression, random forest and networks."""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import Part
from hf_vqa_mc.audits.probes.probe import Context, trained_probe
from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.audits.shortcut import ProbeInputs

TREES, LEAF, SHARE = 200, 8, 0.7  # random forest: n_estimators, min_samples_leaf, share of choices for each tree
STRENGTH = 0.5  # logistic regression: C; on held-out rows of COCO-QA 0.1 is 1 point worse, 2 takes much longer
STEPS = 100  # logistic regression: max_iter
MOST_FITTED = 25_000  # maximum number of choices that a tree is fitted on
AT_ONCE = 20_000  # choices that the forest predicts at a time
PAIR_COST, SET_COST = 10, 15

Odds = NDArray[np.float64]


def logistic_regression(train: Any, rows: ShuffledRows, test: Any, seed: int) -> Odds:  # noqa: ANN401  sparse matrices
    """A pairwise conditional logit: P(target, not decoy) = sigmoid(weights · (target - decoy)).

    Features shared by all choices of a row cancel out. All rows have the same weight. ``train`` and ``test`` are
    (choices, columns); the result are log odds of the test choices. The fit is deterministic.
    """
    number = np.cumsum(rows.valid.ravel()).reshape(rows.valid.shape) - 1
    row, column = (rows.valid & ~rows.is_target).nonzero()
    if len(row) < 2:  # the model needs both classes
        return np.zeros(test.shape[0])
    difference = scipy.sparse.csr_matrix(train[number[row, rows.target[row]]] - train[number[row, column]])
    odds: Odds = test @ pairwise_weights(difference, 1.0 / np.maximum(rows.sizes[row] - 1, 1), STRENGTH)
    return odds


def pairwise_weights(difference: Any, sample_weight: Odds, strength: float) -> Odds:  # noqa: ANN401  sparse
    """The weights (columns,) of a conditional logit on differences target - decoy (pairs, columns), at least two."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    sign = np.where(np.arange(len(sample_weight)) % 2, 1, -1)  # the model needs both classes
    model = LogisticRegression(C=strength, fit_intercept=False, max_iter=STEPS, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        signed = scipy.sparse.diags_array(sign.astype(np.float32)).tocsr() @ difference
        model.fit(signed, sign, sample_weight=sample_weight)
    found: NDArray[np.float64] = model.coef_[0]
    return found


isolated_warnings = partial(warnings.catch_warnings, record=True)
"""Around forests: scikit-learn's threads overwrite the process's warning filters at the same time and then warn for
nothing. Here such warnings are dropped, and the filters restored."""


def random_forest(train: Any, rows: ShuffledRows, test: Any, seed: int) -> Odds:  # noqa: ANN401  arrays
    """Classify each choice by its features; for arguments and result see `logistic_regression`."""
    from sklearn.ensemble import RandomForestClassifier

    n_fitted = max(min(int(SHARE * len(train)), MOST_FITTED), 1)
    forest = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=LEAF, max_features="sqrt",
                                    max_samples=n_fitted, n_jobs=-1, random_state=seed)  # fmt: skip
    with isolated_warnings():
        forest.fit(train, rows.is_target[rows.valid])
    if len(forest.classes_) == 1:  # rows of one choice
        return np.zeros(len(test))

    chance = np.zeros(len(test))
    # scikit-learn's predict_proba sums the trees in the order in which threads end, which is not deterministic.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for first in range(0, len(test), AT_ONCE):
            some = test[first : first + AT_ONCE]
            for found in pool.map(lambda tree, some=some: tree.predict_proba(some, check_input=False)[:, 1], forest):
                chance[first : first + AT_ONCE] += found
    chance = np.clip(chance / len(forest), 0.001, 0.999)
    return np.log(chance / (1 - chance))


def _pair_odds(
    model: Callable[[Any, ShuffledRows, Any, int], Odds], sees: ProbeInputs, sparse: bool, context: Context, part: Part
) -> Odds:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # more threads are no faster for such small products
        train, test = context.features.of(sees, part, sparse=sparse)
        valid = context.shuffled.valid[part.test]
        odds = np.zeros(valid.shape)
        odds[valid] = model(train, context.shuffled.take(part.train), test, context.settings.seed)
        return odds


PAIR_MODELS = tuple(
    trained_probe(name, sees, f"judges them by a {name}", partial(_pair_odds, model, sees, sparse), cost=PAIR_COST)
    for sees in ProbeInputs
    for name, model, sparse in (
        ("logistic regression", logistic_regression, True),
        ("random forest", random_forest, False),
    )
)


def _set_odds(sees: ProbeInputs, context: Context, part: Part) -> Odds:
    from hf_vqa_mc.audits.probes.set_network import set_odds  # imports torch

    return set_odds(sees, context, part)


SET_MODELS = tuple(
    trained_probe("set network", sees, "judges the choices together by neural networks", partial(_set_odds, sees),
                  cost=SET_COST, one_thread=True)
    for sees in ProbeInputs
)  # fmt: skip
