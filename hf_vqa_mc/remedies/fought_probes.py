"""The probes that targeted repair fights, the learners that they share with those which judge it, and cross-fitting.

Fought are three kinds, because a repair that fights one probe moves the leak to where that probe is blind: a linear
model of words, a boosted one of relations in embeddings, and the untrained cosine of question and choice.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.models import pairwise_weights
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Float64s, Int32s, Int64s, Ints
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.remedies.row_features import Columns, TextForms, TextSpace, choice_columns, in_blocks

FOLDS = 5
MOST_FITTED = 20_000  # rows that a probe is fitted on; more are sampled
ONE_THREAD = 50_000  # choices up to which boosting uses one thread
STRENGTH = 0.3  # logistic regression: C
HASHED = 2**15  # columns of hashed words
TREES, RATE, LEAVES = 60, 0.1, 12  # boosting: see `boosted`
SHARE_PRIOR = 1.0  # presentations that a text's share as a target is shrunk by
INPUTS = (ProbeInputs.CHOICES, ProbeInputs.QUESTION)

Scores = Float64s  # (rows, choices): higher for a choice that looks more like the target
Fit = Callable[[Int64s, int], Callable[[Int64s], Scores]]
"""Takes numbers of training rows and a seed, returns a function from numbers of rows to their scores."""
Relations = dict[ProbeInputs, Columns]


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
    column, choice = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    found = scipy.sparse.csr_matrix((np.ones(len(column), np.float32), (choice, column)), shape=(choices, size))
    found.data[:] = 1
    return found


def conditional_logit(columns: Any, valid: Bools) -> Float64s:  # noqa: ANN401
    """Coefficients of a pairwise conditional logit: P(target, not decoy) = sigmoid(weights · (target - decoy)).

    ``columns`` are a sparse matrix (rows * choices, columns), the target of each row first; ``valid`` is the mask.
    """
    decoys = valid.copy()
    decoys[:, 0] = False
    row, column = decoys.nonzero()
    if len(row) < 2:
        return np.zeros(columns.shape[1])
    difference = scipy.sparse.csr_matrix(columns[row * valid.shape[1]] - columns[row * valid.shape[1] + column])
    weights, used = np.zeros(columns.shape[1]), np.unique(difference.indices)
    weights[used] = pairwise_weights(difference[:, used], 1.0 / decoys.sum(axis=1)[row], STRENGTH)
    return weights


def boosted(columns: Float32s, targets: Bools, trees: int, rate: float, leaves: int, seed: int) -> Any:  # noqa: ANN401
    """Gradient boosting that is fitted to tell targets; max_iter, learning_rate and max_leaf_nodes are given."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    model = HistGradientBoostingClassifier(max_iter=trees, learning_rate=rate, max_leaf_nodes=leaves,
                                           l2_regularization=1.0, early_stopping=False, random_state=seed)  # fmt: skip
    # On few choices several threads wait for one another, on a busy machine for minutes.
    with threadpool_limits(None if len(targets) > ONE_THREAD else 1, "openmp"):
        return model.fit(columns, targets)


class FoughtProbes:
    """The fought probes fitted on rows, one model for each fold (rows,) that is left out."""

    def __init__(
        self, rows: Rows, folds: Ints, spaces: Sequence[TextSpace], forms: TextForms, seed: int, progress: Progress
    ) -> None:
        self._spaces, self._forms = spaces, forms
        self._keys, self._chance = np.append(rows.vocabulary.keys, 0), float(rows.chance.mean())
        n_keys, n_folds = int(self._keys.max()) + 1, int(folds.max()) + 1
        cell = rows.keys.astype(np.int64) * n_folds + folds[:, None]
        # how often each key occurs, and is the target, in each fold
        self._counts, self._targets = (
            np.bincount(one, minlength=n_keys * n_folds).reshape(n_keys, n_folds)
            for one in (cell[rows.valid], cell[:, 0])
        )
        self._models: dict[int, dict[ProbeInputs, tuple[Any, Float32s, Float64s]]] = {}
        """by fold and inputs: a boosted model, and the spreads of the dense columns and the weights of a linear one"""
        relations = self._relations(rows.texts, rows.questions)
        by_probe: dict[str, Scores] = {}
        present = np.unique(folds).tolist()
        for fold in present:
            progress("fitting the probes of the repair", len(self._models), len(present))
            some = fitted_rows(folds, fold, np.random.default_rng([seed, fold]))
            fitted, self._models[fold] = rows.take(some), {}
            shares, targets = self._shares(fitted.texts, fold, folds[some]), fitted.valid.nonzero()[1] == 0
            for sees, one in relations.items():
                dense = np.concatenate([one[some], shares], axis=2)
                boosting = boosted(dense[fitted.valid], targets, TREES, RATE, LEAVES, seed)
                spread = np.maximum(dense[fitted.valid].std(axis=0), 1e-6)
                columns = self._sparse(dense / spread, fitted.texts, fitted.questions, sees.question)
                self._models[fold][sees] = boosting, spread, conditional_logit(columns, fitted.valid)
            own = np.flatnonzero(folds == fold)
            of_own = {sees: one[own] for sees, one in relations.items()}
            for name, scores in self._scores(fold, rows.texts[own], rows.questions[own], of_own).items():
                by_probe.setdefault(name, np.zeros(rows.texts.shape))[own] = scores
        self._weights = {fold: _stacked(by_probe, rows.valid, folds != fold) for fold in present}
        sums = np.zeros(rows.texts.shape)
        for fold, weights in self._weights.items():
            own = folds == fold
            sums[own] = np.sum([weights[name] * scores[own] for name, scores in by_probe.items()], axis=0)
        self.sums: Scores = np.where(rows.valid, sums, -np.inf)
        """(rows, choices): the stacked scores with standard deviation 1, -inf for padding"""

    def sums_of(self, fold: int, texts: Int32s, asked: Int32s) -> Scores:
        """As `sums`, of rows that need not exist, by the models that have not seen a fold."""

        def block(some: Int64s) -> Scores:
            found = self._scores(fold, texts[some], asked[some], self._relations(texts[some], asked[some]))
            total = np.sum([self._weights[fold][name] * scores for name, scores in found.items()], axis=0)
            return np.where(texts[some] != MISSING, total, -np.inf)

        return in_blocks(block, len(texts))

    def _relations(self, texts: Int32s, asked: Int32s) -> Relations:
        return {sees: choice_columns(self._spaces, self._forms, texts, asked, sees.question) for sees in INPUTS}

    def _shares(self, texts: Int32s, fold: int, own: Ints | None = None) -> Columns:
        """How often each text is a target outside of ``fold`` and, if given, of each row's ``own`` fold.

        Log odds of the smoothed share, and log(1 + count).
        """
        keys = self._keys[texts]
        count, targets = (one.sum(axis=1)[keys] - one[keys, fold] for one in (self._counts, self._targets))
        if own is not None:
            count, targets = count - self._counts[keys, own[:, None]], targets - self._targets[keys, own[:, None]]
        share = (targets + SHARE_PRIOR * self._chance) / (count + SHARE_PRIOR)
        columns = np.stack([np.log(share / np.maximum(1 - share, 1e-3)), np.log1p(count)], axis=2)
        return np.where((texts != MISSING)[:, :, None], columns, 0).astype(np.float32)

    def _scores(self, fold: int, texts: Int32s, asked: Int32s, relations: Relations) -> dict[str, Scores]:
        """Probe to scores (rows, choices) minus their mean in each row; 0 for padding."""
        shares, valid, found = self._shares(texts, fold), texts != MISSING, dict[str, Scores]()
        for sees, (boosting, spread, weights) in self._models[fold].items():
            dense, scores = np.concatenate([relations[sees], shares], axis=2), np.zeros(texts.shape)
            scores[valid] = boosting.decision_function(dense[valid])
            linear = self._sparse(dense / spread, texts, asked, sees.question) @ weights
            found |= {f"boosting: {sees.label}": scores, f"linear: {sees.label}": linear.reshape(texts.shape)}
        for space in self._spaces:
            found[f"cosine with the question: {space.name}"] = space.question_cosines(texts, asked).astype(np.float64)
        sizes = np.maximum(valid.sum(axis=1, keepdims=True), 1)
        some = {name: np.where(valid, scores, 0) for name, scores in found.items()}
        return {name: np.where(valid, one - one.sum(axis=1, keepdims=True) / sizes, 0) for name, one in some.items()}

    def _sparse(self, dense: NDArray[np.floating], texts: Int32s, asked: Int32s, question: bool) -> Any:  # noqa: ANN401
        """A sparse matrix (rows * choices, columns) of dense columns and hashed words."""
        words = self._forms.hashed_words(texts, asked, question, HASHED)
        flat = scipy.sparse.csr_matrix(dense.reshape(-1, dense.shape[2]))
        return scipy.sparse.hstack([flat, sparse_columns(words, texts.size, HASHED)], format="csr")


def _stacked(by_probe: dict[str, Scores], valid: Bools, some: Bools) -> dict[str, float]:
    """The weight of each probe by which a conditional logit finds the targets of some rows.

    A plain sum falls to chance while single probes still find the target: what is fought most overshoots and
    then hides the others. Weights may be negative, as a probe below chance leaks, too.
    """
    scores, valid = np.stack(list(by_probe.values()), axis=2)[some], valid[some]
    spread = np.maximum(scores[valid].std(axis=0), 1e-6)
    flat = scipy.sparse.csr_matrix((scores / spread).reshape(-1, scores.shape[2]))
    weights = conditional_logit(flat, valid) / spread
    deviation = max(float((scores @ weights)[valid].std()), 1e-6)
    return dict(zip(by_probe, (weights / deviation).tolist(), strict=True))
