"""Two models that learn which of two choices of a row is the target."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.dealt import Dealt

TREES, LEAF, SHARE = 200, 8, 0.7
"""Of a forest: trees, the fewest choices of a leaf, and the part of the choices that each tree learns from."""
STRENGTH = 0.5
"""Inverse of the linear model's L2 penalty; 0.1 has 1 point less on held-out rows of COCO-QA, 2 takes much longer."""
STEPS = 100
"""Of its fit at most; what it knows by then is enough."""
MOST_LEARNT = 200_000
"""Choices that a forest's tree learns from at most."""
AT_ONCE = 20_000
"""Choices that a forest judges at a time."""


class PairModel(ABC):
    """Learns from rows and gives the choices of others their chances.

    Args:
        seed: of every random choice.
    """

    takes_sparse = False
    """whether it is given the words' columns, too"""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @abstractmethod
    def learn(self, columns: Any, rows: Dealt) -> None:  # noqa: ANN401  an array or a sparse matrix
        """Learn.

        Args:
            columns: (choices, columns)
            rows: whose choices they are.
        """

    @abstractmethod
    def log_odds(self, columns: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """How much rather each choice is the target, (choices,)."""

    def chances(self, columns: Any, rows: Dealt) -> NDArray[np.float64]:  # noqa: ANN401
        """P(target) of each choice, (rows, places): its odds, given that one of the row's choices is right."""
        odds = np.full(rows.there.shape, -np.inf)
        odds[rows.there] = self.log_odds(columns)
        shares = np.exp(odds - odds.max(axis=1, keepdims=True))
        found: NDArray[np.float64] = shares / shares.sum(axis=1, keepdims=True)
        return found


class LogisticRegression(PairModel):
    """A conditional logit, fitted by pairs: P(target, not decoy) = sigmoid(weights · (target - decoy)).

    What all choices of a row share drops out, as it should.
    """

    takes_sparse = True

    def learn(self, columns: Any, rows: Dealt) -> None:  # noqa: ANN401
        """Fit the weights; each row weighs as much as another."""
        from scipy import sparse
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression as Model

        row, target, decoy = _pairs(rows)
        self._weights = np.zeros(columns.shape[1])
        if len(row) < 2:  # the model wants both outcomes
            return
        difference = sparse.csr_matrix(columns[target] - columns[decoy])
        sign = np.where(np.arange(len(row)) % 2, 1, -1)
        difference = sparse.diags_array(sign.astype(np.float32)).tocsr() @ difference
        weight = 1.0 / np.maximum(rows.sizes[row] - 1, 1)
        model = Model(C=STRENGTH, fit_intercept=False, max_iter=STEPS, tol=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(difference, sign, sample_weight=weight)
        self._weights = model.coef_[0] * (1 if model.classes_[-1] == 1 else -1)

    def log_odds(self, columns: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """(choices,)."""
        found: NDArray[np.float64] = columns @ self._weights
        return found


class RandomForest(PairModel):
    """Judges each choice by itself and by how it compares to the row's others."""

    def learn(self, columns: Any, rows: Dealt) -> None:  # noqa: ANN401
        """Grow the trees."""
        from sklearn.ensemble import RandomForestClassifier

        self._forest = RandomForestClassifier(
            n_estimators=TREES,
            min_samples_leaf=LEAF,
            max_features="sqrt",
            max_samples=max(min(int(SHARE * len(columns)), MOST_LEARNT), 1),
            n_jobs=-1,
            random_state=self._seed,
        )
        self._forest.fit(columns, rows.is_target[rows.there])

    def log_odds(self, columns: Any) -> NDArray[np.float64]:  # noqa: ANN401
        """(choices,)."""
        if len(self._forest.classes_) == 1:  # rows of one choice
            return np.zeros(len(columns))
        blocks = [columns[first : first + AT_ONCE] for first in range(0, len(columns), AT_ONCE)]
        chance = np.clip(np.concatenate([self._mean(block) for block in blocks]), 0.001, 0.999)
        odds: NDArray[np.float64] = np.log(chance / (1 - chance))
        return odds

    def _mean(self, columns: NDArray[np.float32]) -> NDArray[np.float64]:
        """The trees' mean chance; scikit-learn's own adds them as threads end, and its last digits go by that."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            found = pool.map(lambda tree: tree.predict_proba(columns, check_input=False)[:, 1], self._forest)
            mean: NDArray[np.float64] = sum(found, np.zeros(len(columns))) / len(self._forest)
            return mean


MODELS: dict[str, Callable[[int], PairModel]] = {
    "logistic regression": LogisticRegression,
    "random forest": RandomForest,
}


def _pairs(rows: Dealt) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Row, target and decoy of each pair; choices are numbered as ``there.nonzero()`` has them."""
    number = np.cumsum(rows.there.ravel()).reshape(rows.there.shape) - 1
    row, column = (rows.there & ~rows.is_target).nonzero()
    return row, number[row, rows.target[row]], number[row, column]
