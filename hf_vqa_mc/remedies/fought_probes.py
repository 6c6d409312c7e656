"""The probes that targeted repair fights: cross-fitted models and untrained cosines, stacked.

Three kinds, because a repair that fights one probe moves the leak to where that probe is blind: a linear model of
words, a boosted one of relations in embeddings, and the untrained cosine of question and choice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import ProbeInputs, picked
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Int32s, Int64s, Ints
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.cross_fitting import Scores, conditional_logit, fitted_rows, in_blocks, sparse_columns
from hf_vqa_mc.remedies.row_features import Columns, QuestionNumbers, TextForms, Texts, TextSpace, relation_columns

HASHED = 2**15
"""Columns of hashed words."""
TREES, RATE, LEAVES, SMALLEST_LEAF = 60, 0.1, 12, 20
"""Boosting: max_iter, learning_rate, max_leaf_nodes, min_samples_leaf."""
SHARE_PRIOR = 1.0
"""Presentations that a text's share as a target is shrunk by."""
INPUTS = (ProbeInputs.CHOICES, ProbeInputs.QUESTION)

Score = Callable[[Columns, Texts, QuestionNumbers], Scores]
"""Scores (rows, choices) of rows that need not exist, from their features."""


@dataclass(frozen=True, eq=False)
class ChoiceFeatures:
    """What probes read of a vocabulary, whatever the rows."""

    spaces: Sequence[TextSpace]
    forms: TextForms
    keys: Int32s = field(repr=False)
    """(texts,): number of the comparable text"""

    def columns(self, texts: Texts, asked: QuestionNumbers, question: bool) -> Columns:
        """Relations in every space, and lengths."""
        parts = [relation_columns(space, texts, asked, question) for space in self.spaces]
        return np.concatenate([*parts, self.forms.columns(texts, asked, question)], axis=2)


class TargetShares:
    """How often each text is a target in the rows outside of some folds, smoothed, as log odds."""

    def __init__(self, rows: Rows, folds: Ints, keys: Int32s) -> None:
        self._keys, self._chance = keys, float(rows.chance.mean())
        n_keys, n_folds = int(keys.max()) + 1, int(folds.max()) + 1
        cell = rows.keys.astype(np.int64) * n_folds + folds[:, None]
        self._counts = np.bincount(cell[rows.valid], minlength=n_keys * n_folds).reshape(n_keys, n_folds)
        self._targets = np.bincount(cell[:, 0], minlength=n_keys * n_folds).reshape(n_keys, n_folds)

    def columns(self, texts: Texts, fold: int, own: Ints | None = None) -> Columns:
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
        features: of the rows' vocabulary.
        seed: random seed.
        progress: called with (step, done, total).
    """

    def __init__(
        self, rows: Rows, folds: Ints, features: ChoiceFeatures, seed: int, progress: Progress = silent
    ) -> None:
        self._features, self._folds = features, folds
        self._shares = TargetShares(rows, folds, features.keys)
        self._models: dict[int, dict[ProbeInputs, dict[str, Score]]] = {}
        relations = {sees: self._relations(rows.texts, rows.questions, sees) for sees in INPUTS}
        self.scores: dict[str, Scores] = {}
        """probe to scores of the rows, float64 (rows, choices), centred in each row"""
        present = np.unique(folds).tolist()
        for fold in present:
            progress("fitting the fought probes", len(self._models), len(present))
            fitted = fitted_rows(folds, fold, np.random.default_rng([seed, fold]))
            of_fitted = {sees: one[fitted] for sees, one in relations.items()}
            self._models[fold] = self._fit(rows.take(fitted), of_fitted, folds[fitted], fold, seed)
            own = np.flatnonzero(folds == fold)
            of_own = {sees: one[own] for sees, one in relations.items()}
            for name, scores in self._scores_of(fold, rows.texts[own], rows.questions[own], of_own).items():
                self.scores.setdefault(name, np.zeros(rows.texts.shape))[own] = scores
        self.accuracy = {name: float(picked(scores, rows).mean()) for name, scores in self.scores.items()}
        self._weights = {fold: self._stacked(rows, folds != fold) for fold in self._models}
        names, sums = list(self.scores), np.zeros(rows.texts.shape)
        for fold, weights in self._weights.items():
            own = folds == fold
            sums[own] = np.sum([weights[name] * self.scores[name][own] for name in names], axis=0)
        self.sums: Scores = np.where(rows.valid, sums, -np.inf)
        """(rows, choices): the stacked scores with standard deviation 1, -inf for padding"""

    def _stacked(self, rows: Rows, some: Bools) -> dict[str, float]:
        """The weight of each probe by which a conditional logit finds the targets of some rows.

        A plain sum falls to chance while single probes still find the target: what is fought most overshoots and
        then hides the others. Weights may be negative, as a probe below chance leaks, too.
        """
        scores = np.stack(list(self.scores.values()), axis=2)[some]
        valid = rows.valid[some]
        spread = np.maximum(scores[valid].std(axis=0), 1e-6)
        flat = scipy.sparse.csr_matrix((scores / spread).reshape(-1, scores.shape[2]))
        weights = conditional_logit(flat, scores.shape[:2], valid) / spread
        deviation = max(float((scores @ weights)[valid].std()), 1e-6)
        return dict(zip(self.scores, (weights / deviation).tolist(), strict=True))

    def sums_of(self, fold: int, texts: Texts, asked: QuestionNumbers) -> Scores:
        """As `sums`, of rows that need not exist, by the models that have not seen a fold."""

        def block(rows: Int64s) -> Scores:
            relations = {sees: self._relations(texts[rows], asked[rows], sees) for sees in INPUTS}
            found = self._scores_of(fold, texts[rows], asked[rows], relations)
            total = np.sum([self._weights[fold][name] * scores for name, scores in found.items()], axis=0)
            return np.where(texts[rows] != MISSING, total, -np.inf)

        sums: Scores = in_blocks(block, len(texts))
        return sums

    def _scores_of(
        self, fold: int, texts: Texts, asked: QuestionNumbers, relations: dict[ProbeInputs, Columns]
    ) -> dict[str, Scores]:
        """Probe to centred scores (rows, choices)."""
        found: dict[str, Scores] = {}
        for sees in INPUTS:
            columns = np.concatenate([relations[sees], self._shares.columns(texts, fold)], axis=2)
            found |= {name: score(columns, texts, asked) for name, score in self._models[fold][sees].items()}
        for space in self._features.spaces:
            found[f"cosine with the question: {space.name}"] = space.question_cosines(texts, asked).astype(np.float64)
        return {name: _centred(scores, texts != MISSING) for name, scores in found.items()}

    def _fit(
        self, rows: Rows, relations: dict[ProbeInputs, Columns], own: Ints, fold: int, seed: int
    ) -> dict[ProbeInputs, dict[str, Score]]:
        models: dict[ProbeInputs, dict[str, Score]] = {}
        shares = self._shares.columns(rows.texts, fold, own)
        for sees in INPUTS:
            dense = np.concatenate([relations[sees], shares], axis=2)
            models[sees] = {
                f"boosting: {sees.label}": self._boosting(dense, rows, seed),
                f"linear: {sees.label}": self._linear(dense, rows, sees.question),
            }
        return models

    def _relations(self, texts: Texts, asked: QuestionNumbers, sees: ProbeInputs) -> Columns:
        return in_blocks(lambda some: self._features.columns(texts[some], asked[some], sees.question), len(texts))

    def _boosting(self, dense: Columns, rows: Rows, seed: int) -> Score:
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

        def score(columns: Columns, texts: Texts, asked: QuestionNumbers) -> Scores:
            valid, scores = texts != MISSING, np.zeros(texts.shape)
            scores[valid] = model.decision_function(columns[valid])
            return scores

        return score

    def _linear(self, dense: Columns, rows: Rows, question: bool) -> Score:
        spread = np.maximum(dense[rows.valid].std(axis=0), 1e-6)
        weights = conditional_logit(
            self._linear_columns(dense / spread, rows.texts, rows.questions, question), rows.texts.shape, rows.valid
        )

        def score(columns: Columns, texts: Texts, asked: QuestionNumbers) -> Scores:
            found: Scores = self._linear_columns(columns / spread, texts, asked, question) @ weights
            return found.reshape(texts.shape)

        return score

    def _linear_columns(
        self, dense: Columns, texts: Texts, asked: QuestionNumbers, question: bool
    ) -> scipy.sparse.csr_matrix:
        words = self._features.forms.hashed_words(texts, asked, question, HASHED)
        flat = scipy.sparse.csr_matrix(dense.reshape(-1, dense.shape[2]))
        return scipy.sparse.hstack([flat, sparse_columns(words, texts.size, HASHED)], format="csr")


def _centred(scores: Scores, valid: Bools) -> Scores:
    """Scores minus their mean in each row; 0 for padding."""
    some = np.where(valid, scores, 0)
    mean = some.sum(axis=1, keepdims=True) / np.maximum(valid.sum(axis=1, keepdims=True), 1)
    return np.where(valid, some - mean, 0)
