"""The probes that targeted repair fights: cross-fitted models and untrained cosines, summed.

Three kinds, because a repair that fights one probe moves the leak to where that probe is blind: a linear model of
words, a boosted one of relations in embeddings, and the untrained cosine of question and choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Sees, picked
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.cross_fitting import Scores, conditional_logit, fitted_rows, in_blocks, sparse_columns
from hf_vqa_mc.remedies.row_features import Asked, Columns, TextForms, Texts, TextSpace, relation_columns

HASHED = 2**15
"""Columns of hashed words."""
TREES, RATE, LEAVES, SMALLEST_LEAF = 60, 0.1, 12, 20
"""Boosting: max_iter, learning_rate, max_leaf_nodes, min_samples_leaf."""
COSINE_WEIGHT = 2.0
"""Weight of each cosine in the sum, relative to a model."""
SHARE_PRIOR = 1.0
"""Presentations that a text's share as a target is shrunk by."""
INPUTS = (Sees.CHOICES, Sees.QUESTION)

Score = Callable[[Texts, Asked], Scores]
"""Scores (rows, choices) of rows that need not exist."""


@dataclass(frozen=True, eq=False)
class ChoiceMaterial:
    """What probes read of a vocabulary, whatever the rows."""

    spaces: Sequence[TextSpace]
    forms: TextForms
    keys: NDArray[np.int32] = field(repr=False)
    """(texts,): number of the comparable text"""

    def columns(self, texts: Texts, asked: Asked, question: bool) -> Columns:
        """Relations in every space, and lengths."""
        parts = [relation_columns(space, texts, asked, question) for space in self.spaces]
        return np.concatenate([*parts, self.forms.columns(texts, asked, question)], axis=2)


class TargetShares:
    """How often each text is a target in the rows outside of some folds, smoothed, as log odds."""

    def __init__(self, rows: Rows, folds: NDArray[np.integer], keys: NDArray[np.int32]) -> None:
        self._keys, self._chance = keys, float(rows.chance.mean())
        n_keys, n_folds = int(keys.max()) + 1, int(folds.max()) + 1
        cell = rows.keys.astype(np.int64) * n_folds + folds[:, None]
        self._counts = np.bincount(cell[rows.valid], minlength=n_keys * n_folds).reshape(n_keys, n_folds)
        self._targets = np.bincount(cell[:, 0], minlength=n_keys * n_folds).reshape(n_keys, n_folds)

    def columns(self, texts: Texts, fold: int, own: NDArray[np.integer] | None = None) -> Columns:
        """Log odds and log(1 + count) of each text outside of ``fold`` and, if given, each row's ``own`` fold."""
        keys = self._keys[texts]
        count = self._counts.sum(axis=1)[keys] - self._counts[keys, fold]
        targets = self._targets.sum(axis=1)[keys] - self._targets[keys, fold]
        if own is not None:
            count = count - self._counts[keys, own[:, None]]
            targets = targets - self._targets[keys, own[:, None]]
        share = (targets + SHARE_PRIOR * self._chance) / (count + SHARE_PRIOR)
        valid = texts != MISSING
        odds = np.where(valid, np.log(share / np.maximum(1 - share, 1e-3)), 0)
        return np.stack([odds, np.where(valid, np.log1p(count), 0)], axis=2).astype(np.float32)


class FoughtProbes:
    """The fought probes fitted on rows, one model for each fold that is left out.

    Args:
        rows: with the target in column 0.
        folds: (rows,): fold of each, see `cross_fitting.group_folds`.
        material: of the rows' vocabulary.
        seed: random seed.
        progress: called with (step, done, total).
    """

    def __init__(
        self,
        rows: Rows,
        folds: NDArray[np.integer],
        material: ChoiceMaterial,
        seed: int,
        progress: Progress = silent,
    ) -> None:
        self._material, self._folds = material, folds
        self._shares = TargetShares(rows, folds, material.keys)
        self._models: dict[int, dict[str, Score]] = {}
        present = np.unique(folds).tolist()
        for fold in present:
            progress("fitting the fought probes", len(self._models), len(present))
            fitted = fitted_rows(folds, fold, np.random.default_rng([seed, fold]))
            self._models[fold] = self._fit(rows.take(fitted), folds[fitted], fold, seed)
        self.scores = self._cross_fitted(rows)
        """probe to scores of the rows, float64 (rows, choices), centred in each row"""
        spread = {name: scores[rows.valid].std() for name, scores in self.scores.items()}
        weight = {name: COSINE_WEIGHT if name.startswith("cosine") else 1.0 for name in spread}
        self._weights = {name: weight[name] / max(float(one), 1e-6) for name, one in spread.items()}
        self.accuracy = {name: float(picked(scores, rows).mean()) for name, scores in self.scores.items()}
        self.sums: Scores = np.where(
            rows.valid, sum(self._weights[name] * one for name, one in self.scores.items()), -np.inf
        )
        """(rows, choices): the sum of the standardised scores, -inf for padding"""

    def sums_of(self, fold: int, texts: Texts, asked: Asked) -> Scores:
        """As `sums`, of rows that need not exist, by the models that have not seen a fold."""

        def block(rows: NDArray[np.int64]) -> Scores:
            valid = texts[rows] != MISSING
            total = np.zeros(valid.shape)
            for name, score in self._models[fold].items():
                total += self._weights[name] * _centred(score(texts[rows], asked[rows]), valid)
            return np.where(valid, total, -np.inf)

        found: Scores = in_blocks(block, len(texts))
        return found

    def _cross_fitted(self, rows: Rows) -> dict[str, Scores]:
        names = next(iter(self._models.values()))
        found = {name: np.zeros(rows.texts.shape) for name in names}
        for fold, models in self._models.items():
            index = np.flatnonzero(self._folds == fold)
            for name, score in models.items():
                found[name][index] = in_blocks(
                    lambda some, index=index, score=score: _centred(  # type: ignore[misc]
                        score(rows.texts[index[some]], rows.questions[index[some]]), rows.valid[index[some]]
                    ),
                    len(index),
                )
        return found

    def _fit(self, rows: Rows, own: NDArray[np.integer], fold: int, seed: int) -> dict[str, Score]:
        models: dict[str, Score] = {}
        for sees in INPUTS:
            question = sees.question
            dense = in_blocks(
                lambda some, question=question: self._material.columns(  # type: ignore[misc]
                    rows.texts[some], rows.questions[some], question
                ),
                len(rows),
            )
            dense = np.concatenate([dense, self._shares.columns(rows.texts, fold, own)], axis=2)
            models[f"boosting: {sees.label}"] = self._boosting(dense, rows, question, fold, seed)
            models[f"linear: {sees.label}"] = self._linear(dense, rows, question, fold)
        for space in self._material.spaces:
            models[f"cosine with the question: {space.name}"] = space.question_cosines
        return models

    def _columns(self, texts: Texts, asked: Asked, question: bool, fold: int) -> Columns:
        return np.concatenate(
            [self._material.columns(texts, asked, question), self._shares.columns(texts, fold)], axis=2
        )

    def _boosting(self, dense: Columns, rows: Rows, question: bool, fold: int, seed: int) -> Score:
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            max_iter=TREES,
            learning_rate=RATE,
            max_leaf_nodes=LEAVES,
            min_samples_leaf=SMALLEST_LEAF,
            l2_regularization=1.0,
            early_stopping=False,
            random_state=seed,
        )
        is_target = np.zeros(rows.texts.shape, np.bool_)
        is_target[:, 0] = True
        model.fit(dense[rows.valid], is_target[rows.valid])

        def score(texts: Texts, asked: Asked) -> Scores:
            valid = texts != MISSING
            scores = np.zeros(texts.shape)
            scores[valid] = model.decision_function(self._columns(texts, asked, question, fold)[valid])
            return scores

        return score

    def _linear(self, dense: Columns, rows: Rows, question: bool, fold: int) -> Score:
        spread = np.maximum(dense[rows.valid].std(axis=0), 1e-6)
        weights = conditional_logit(
            self._linear_columns(dense / spread, rows.texts, rows.questions, question), rows.texts.shape, rows.valid
        )

        def score(texts: Texts, asked: Asked) -> Scores:
            columns = self._columns(texts, asked, question, fold) / spread
            found: Scores = self._linear_columns(columns, texts, asked, question) @ weights
            return found.reshape(texts.shape)

        return score

    def _linear_columns(self, dense: Columns, texts: Texts, asked: Asked, question: bool) -> scipy.sparse.csr_matrix:
        words = self._material.forms.hashed_words(texts, asked, question, HASHED)
        flat = scipy.sparse.csr_matrix(dense.reshape(-1, dense.shape[2]))
        return scipy.sparse.hstack([flat, sparse_columns(words, texts.size, HASHED)], format="csr")


def _centred(scores: Scores, valid: NDArray[np.bool_]) -> Scores:
    """Scores minus their mean in each row; 0 for padding."""
    some = np.where(valid, scores, 0)
    mean = some.sum(axis=1, keepdims=True) / np.maximum(valid.sum(axis=1, keepdims=True), 1)
    return np.where(valid, some - mean, 0)
