"""Small models as probes, for each set of inputs: logistic regression, random forest, and networks of whole rows.

The networks judge the choices of a row together, and their texts as bags of words, bigrams and character trigrams, so
that embeddings generalise to unseen texts. Models that judge each choice by itself miss relations between choices:
with decoys of two kinds, the target is the only choice that fits both.
"""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part
from hf_vqa_mc.audits.probes.probe import Context, Skipped, trained_probe
from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.audits.similar_choices import trigram_codes
from hf_vqa_mc.decoys.candidates import MISSING

TREES, LEAF, SHARE = 200, 8, 0.7
"""Random forest: n_estimators, min_samples_leaf, and fraction of the choices that each tree is fitted on."""
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


def random_forest(train: Any, rows: ShuffledRows, test: Any, seed: int) -> Odds:  # noqa: ANN401  arrays
    """Classify each choice by its features; for arguments and result see `logistic_regression`."""
    from sklearn.ensemble import RandomForestClassifier

    n_fitted = max(min(int(SHARE * len(train)), MOST_FITTED), 1)
    forest = RandomForestClassifier(n_estimators=TREES, min_samples_leaf=LEAF, max_features="sqrt",
                                    max_samples=n_fitted, n_jobs=-1, random_state=seed)  # fmt: skip
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


MODELS = (("logistic regression", logistic_regression, True), ("random forest", random_forest, False))
PAIR_MODELS = tuple(
    trained_probe(name, sees, f"judges them by a {name}", PAIR_COST, partial(_pair_odds, model, sees, sparse))
    for sees in ProbeInputs
    for name, model, sparse in MODELS
)


SEEN_IN = 2  # minimum number of training choices, or of training questions, that have a feature
MOST_TEXTS, MOST_GRAMS = 1 << 13, 1 << 14
"""Maximum number of features: choices as a whole, and words of choices, each; of questions. The most frequent ones
are used; this limits the time if all texts differ."""
FIRST_WORDS = 6  # maximum length of the beginnings of questions
TRIGRAMS = 1 << 14  # size of the hash table of character trigrams

Bags = Any  # sparse float32 (texts, features): the weight of each feature in each text
Numbers = NDArray[np.int64]


def choice_bags(train: ShuffledRows, used: Numbers, least: int = 0) -> Bags:
    """Comparable texts (``used``, ascending) as the text itself, its words and its character trigrams.

    ``least`` is the minimum number of training choices with a text, below which the text itself is no feature.
    """
    counts = np.bincount(np.searchsorted(used, train.keys[train.valid]), minlength=len(used))
    itself = scipy.sparse.eye_array(len(used), dtype=np.float32, format="csr")
    codes, text = trigram_codes([train.vocabulary.key_texts[key] for key in used.tolist()])
    hashed = codes * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - 14)  # multiply-shift (Dietzfelbinger 1996)
    trigrams = _bags(text, hashed.astype(np.int64), len(used), TRIGRAMS)
    parts = [_frequent(one, counts, most) for one, most in ((train.vocabulary.worded.matrix[used], MOST_TEXTS),
                                                             (trigrams, TRIGRAMS))]  # fmt: skip
    for bags in parts:
        bags.data /= np.sqrt(np.repeat(np.diff(bags.indptr), np.diff(bags.indptr)))
    itself = _frequent(itself, counts, MOST_TEXTS, max(least, SEEN_IN))
    return scipy.sparse.hstack([itself, *parts], format="csr")


def question_bags(train: ShuffledRows, used: Numbers) -> Bags:
    """Questions (``used``, ascending) as the mean of their words, bigrams and beginnings."""
    counts = np.bincount(np.searchsorted(used, train.questions), minlength=len(used))
    words = train.vocabulary.worded.matrix[used + len(train.vocabulary.key_texts)]
    text = np.repeat(np.arange(len(used)), np.diff(words.indptr))
    pair = words.indices[:-1].astype(np.int64) * words.shape[1] + words.indices[1:]
    inside = text[1:] == text[:-1]
    bigrams = _bags(text[1:][inside], np.unique(pair[inside], return_inverse=True)[1], len(used))
    beginnings = train.vocabulary.beginnings[used, :FIRST_WORDS]
    row, length = (beginnings != MISSING).nonzero()
    begun = _bags(row, beginnings[row, length], len(used))
    bags = _frequent(scipy.sparse.hstack([words, bigrams, begun], format="csr"), counts, MOST_GRAMS)
    bags.data /= np.repeat(np.diff(bags.indptr), np.diff(bags.indptr))
    return bags


def _bags(text: Numbers, feature: Numbers, texts: int, features: int | None = None) -> Bags:
    size = int(feature.max(initial=0)) + 1 if features is None else features
    return scipy.sparse.csr_matrix((np.ones(len(text), np.float32), (text, feature)), shape=(texts, size))


def _frequent(bags: Bags, counts: NDArray[np.integer], most: int, least: int = SEEN_IN) -> Bags:
    """The most frequent features of at least ``least`` texts; ``counts`` (texts,) is the frequency of each text."""
    bags.sum_duplicates()
    bags.data[:] = 1
    frequency = counts @ bags
    kept = np.argsort(-frequency, kind="stable")[:most]
    return scipy.sparse.csr_matrix(bags[:, np.sort(kept[frequency[kept] >= least])])


FITTED = 5
"""Maximum number of rows that a network is fitted on, as a multiple of ``probe_rows``: its texts need many rows."""
PRESENTED = 150
"""Maximum number of rows presented in training, over all folds, as a multiple of ``probe_rows``: above it there are
fewer networks and then fewer epochs."""
DECIMALS = 5  # decimals of log odds; rounding makes choices without known features tie


def _set_odds(sees: ProbeInputs, context: Context, part: Part) -> NDArray[np.float64]:
    """Train a network on a part's rows; return the log odds of its test rows, (rows, choices)."""
    from hf_vqa_mc.audits.probes.set_network import Inputs, trained_odds

    known, most = part.counted, FITTED * context.settings.probe_rows
    if len(known) > most:
        known = np.sort(np.random.default_rng(context.settings.seed).choice(known, most, replace=False))
    every = np.concatenate([known, part.test])
    rows, train = context.shuffled.take(every), context.shuffled.take(known)
    keys = np.unique(rows.keys[rows.valid].astype(np.int64))
    numbered = np.where(rows.valid, np.searchsorted(keys, rows.keys), MISSING)
    asked, questions = np.unique(rows.questions.astype(np.int64), return_inverse=True)
    inputs = Inputs(
        numbered,
        choice_bags(train, keys, context.least_counted),
        questions,
        question_bags(train, asked) if sees.question else None,
        _image_vectors(context, every, len(known)) if sees.image else None,
    )

    def check() -> None:
        if context.time_is_over:
            raise Skipped("the time limit was reached in training")

    own, test = np.split(np.arange(len(every)), [len(known)])
    most = PRESENTED * context.settings.probe_rows // len(context.parts)
    odds = trained_odds(inputs, own, train.target, test, context.settings.seed, check, most)
    return np.round(odds, DECIMALS)


def _image_vectors(context: Context, every: Numbers, n_train: int) -> Callable[[Numbers], NDArray[np.float32]]:
    """A function from indices into ``every`` to standardised image vectors, 0 for rows without an image."""
    vectors = context.images[0]
    assert vectors is not None  # noqa: S101  else no probe that sees images is run
    of_rows = np.searchsorted(context.used, every)
    sample = vectors[of_rows[np.linspace(0, n_train - 1, min(n_train, 10_000)).astype(np.int64)]]
    sample = sample[np.isfinite(sample).all(axis=1)]
    if not len(sample):
        sample = np.zeros((1, vectors.shape[1]), np.float32)
    mean, spread = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-6)
    return lambda rows: np.clip(np.nan_to_num((vectors[of_rows[rows]] - mean) / spread), -5, 5).astype(np.float32)


JUDGES = "judges the choices together by neural networks"
SET_MODELS = tuple(
    trained_probe("set network", sees, JUDGES, SET_COST, partial(_set_odds, sees), one_thread=True)
    for sees in ProbeInputs
)
