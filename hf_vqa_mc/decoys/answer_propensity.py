"""What a question reveals: P(answer | question), learned from other images, and questions grouped by it.

Rows whose predicted distributions are equal give nothing away about whose answer is whose: P(answer | question) is a
balancing score (Rosenbaum and Rubin 1983, The Central Role of the Propensity Score in Observational Studies).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hf_vqa_mc.compiled import n_threads
from hf_vqa_mc.decoys.candidates import Float32s, Int32s, Int64s, Ints
from hf_vqa_mc.decoys.rng import purpose_hash

FOLDS = 5
"""Rows of an image are predicted by a model that was fitted on the other four of five folds of images."""
CLASSES = 2_000
"""Maximum number of answers with a class of their own; rarer ones share a class."""
FITTED = 300_000
"""Maximum number of rows that a model is fitted on; each has a random sample of its own."""
COORDINATES = 48
"""Principal components of the square roots of the distributions."""
SAMPLED = 100_000
"""The principal components are computed from every n-th row, so that at least this many remain."""
_AT_ONCE = 1 << 14
Floats = Float32s


@dataclass(frozen=True, eq=False)
class Propensities:
    """Cross-fitted log P(answer | question) of all rows, up to a constant of each row, as products of vectors."""

    is_calibrated = True

    questions: Floats
    """(rows, size): a vector of each row's question, from the model of its fold"""
    answers: Floats
    """(folds, classes, size): vectors of the answers"""
    bias: Floats
    """(folds, classes)"""
    folds: Int64s
    """(rows,): the fold of each row"""
    classes: Int64s
    """(keys,): the class of each answer key"""

    def log_odds(self, rows: Ints, keys: Ints) -> Floats:
        """Unnormalised log P of the answers ``keys`` (rows, answers) for each of the ``rows``, (rows, answers)."""
        fold, of_keys = self.folds[rows][:, None], self.classes[keys]
        odds: Floats = np.einsum("rs,ras->ra", self.questions[rows], self.answers[fold, of_keys])
        odds += self.bias[fold, of_keys]
        return odds

    def log_odds_of_all(self, rows: Ints, classes: Ints) -> Floats:
        """As `log_odds`, of some answer classes, the same for all rows, (rows, classes)."""
        odds: Floats = np.empty((len(rows), len(classes)), np.float32)
        for fold in range(len(self.bias)):
            own = self.folds[rows] == fold
            odds[own] = self.questions[rows[own]] @ self.answers[fold, classes].T + self.bias[fold, classes]
        return odds

    def of_group(self, rows: Int64s, targets: Int32s) -> tuple[Floats, Int64s]:
        """See `Revealed`."""
        distinct, target = np.unique(targets[rows], return_inverse=True)
        return self.log_odds_of_all(rows, self.classes[distinct]), target

    def of_sets(self, sets: Int64s, targets: Int32s) -> Floats:
        """See `Revealed`."""
        return np.stack([self.log_odds(sets[:, at], targets[sets]) for at in range(sets.shape[1])], axis=1)

    def distributions(self, rows: Ints) -> Floats:
        """P(answer class | question), float32 (rows, classes)."""
        odds = self.log_odds_of_all(rows, np.arange(self.bias.shape[1]))
        shares: Floats = np.exp(odds - odds.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares

    def coordinates(self) -> Floats:
        """Coordinates in which near rows have similar distributions, float32 (rows, at most COORDINATES).

        Square roots of the distributions, whose distance is that of Hellinger, projected on principal components.
        """
        n, classes = len(self.questions), self.bias.shape[1]
        sample = np.arange(0, n, max(n // SAMPLED, 1))
        total, products = np.zeros(classes), np.zeros((classes, classes))
        for part in _parts(sample):
            roots = np.sqrt(self.distributions(part))
            total += roots.sum(axis=0, dtype=np.float64)
            products += roots.T @ roots
        mean = total / len(sample)
        _, vectors = np.linalg.eigh(products / len(sample) - np.outer(mean, mean))
        axes = vectors[:, -COORDINATES:].astype(np.float32)
        parts = [(np.sqrt(self.distributions(part)) - mean.astype(np.float32)) @ axes for part in _parts(np.arange(n))]
        return np.concatenate(parts)


def _parts(rows: Int64s) -> Iterator[Int64s]:
    return (rows[first : first + _AT_ONCE] for first in range(0, len(rows), _AT_ONCE))


def answer_propensities(
    questions: pa.Array,
    keys: Ints,
    images: Ints,
    seed: int,
    report: Callable[[int], None],
    encode: Callable[[pa.Array], Floats | None] = lambda questions: None,
) -> Propensities:
    """Fit models of the answers to questions on each four of five folds of images, and predict the fifth.

    A model is a bag of words and bigrams, two layers and a vector per answer; the log odds of several are averaged.
    They run on the CPU, so the result does not depend on the machine's GPU.

    Args:
        questions: large_string (rows,), comparable texts.
        keys: (rows,): number of each row's answer.
        images: (rows,): number of each row's image.
        seed: random seed.
        report: called with the number of finished folds.
        encode: returns vectors of distinct questions, (questions, dimensions), that the model sees besides words.
    """
    from hf_vqa_mc.decoys.propensity_model import MODELS, SIZE, Bags, fitted, one_thread

    counts = np.bincount(keys)
    frequent = np.argsort(-counts, kind="stable")[: min(CLASSES, int(np.count_nonzero(counts)))]
    classes = np.full(len(counts), len(frequent), np.int64)
    classes[frequent] = np.arange(len(frequent))
    encoded = questions.dictionary_encode()
    bags, of_row = Bags.of(encoded.dictionary, encode(encoded.dictionary)), encoded.indices.to_numpy()
    rng = np.random.default_rng(int(purpose_hash(seed, "propensity folds")))
    folds = rng.integers(FOLDS, size=int(images.max()) + 1)[images]
    n_classes = int(classes.max()) + 1
    vectors = np.zeros((len(keys), MODELS * SIZE), np.float32)
    answers, bias = np.zeros((FOLDS, n_classes, MODELS * SIZE), np.float32), np.zeros((FOLDS, n_classes), np.float32)

    def fit(fold: int) -> None:
        others, own = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if not len(own) or not len(others):  # nothing is known about these rows
            return
        of_fold = np.random.default_rng(int(purpose_hash(seed, f"propensity {fold}")))
        distinct, back = np.unique(of_row[own], return_inverse=True)
        for first in range(0, MODELS * SIZE, SIZE):
            rows = others if len(others) <= FITTED else np.sort(of_fold.choice(others, FITTED, replace=False))
            found = fitted(bags, of_row[rows], classes[keys[rows]], n_classes, of_fold)
            answers[fold, :, first : first + SIZE] = found.answers.detach().numpy() / MODELS
            bias[fold] += found.bias.detach().numpy() / MODELS
            vectors[own, first : first + SIZE] = found.encode(bags, distinct)[back]

    with one_thread(), ThreadPoolExecutor(n_threads()) as pool:
        for done, _ in enumerate(pool.map(fit, range(FOLDS)), 1):
            report(done)
    return Propensities(vectors, answers, bias, folds, classes)
