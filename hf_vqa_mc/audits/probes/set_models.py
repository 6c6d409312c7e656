"""Probes that judge the choices of a row together, one for each set of inputs.

Models that judge each choice by itself miss relations between choices: with decoys of two kinds, the target is the
only choice that fits both.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part
from hf_vqa_mc.audits.probes.probe import LEAST_COUNTED, Context, Probe, Skipped
from hf_vqa_mc.audits.probes.text_bags import choice_bags, question_bags
from hf_vqa_mc.audits.shortcut import Prediction, Sees
from hf_vqa_mc.decoys.candidates import MISSING

COST = 15
FITTED = 5
"""Maximum number of rows that a network is fitted on, as a multiple of ``probe_rows``: its texts need many rows."""
DECIMALS = 5
"""Decimals of log odds; rounding makes choices without known features tie."""


def _log_odds(context: Context, sees: Sees, part: Part) -> NDArray[np.float64]:
    """Train a network on a part's rows; return the log odds of its test rows, (rows, choices)."""
    from hf_vqa_mc.audits.probes.set_network import Inputs, trained_odds

    known, most = part.counted, FITTED * context.settings.probe_rows
    if len(known) > most:
        known = np.sort(np.random.default_rng(context.settings.seed).choice(known, most, replace=False))
    every = np.concatenate([known, part.test])
    rows, train = context.shuffled.take(every), context.shuffled.take(known)
    keys, choices = np.unique(rows.keys[rows.valid].astype(np.int64), return_inverse=True)
    numbered = np.full(rows.keys.shape, MISSING, np.int64)
    numbered[rows.valid] = choices
    asked, questions = np.unique(rows.questions.astype(np.int64), return_inverse=True)
    inputs = Inputs(
        numbered,
        choice_bags(train, keys, 0 if context.train_rows is not None else LEAST_COUNTED),
        questions,
        question_bags(train, asked) if sees.question else None,
        _image_vectors(context, every, len(known)) if sees.image else None,
    )

    def check() -> None:
        if time.monotonic() > context.deadline:
            raise Skipped("the time limit was reached in training")

    indices = np.arange(len(every))
    odds = trained_odds(
        inputs, indices[: len(known)], train.target, indices[len(known) :], context.settings.seed, check
    )
    return np.round(odds, DECIMALS)


def _image_vectors(
    context: Context, every: NDArray[np.int64], n_train: int
) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    """A function from indices into ``every`` to standardised image vectors, 0 for rows without an image."""
    vectors = context.images[0]
    if vectors is None:
        raise ValueError("no image vectors were given")
    of_rows = np.searchsorted(context.used, every)
    sample = vectors[of_rows[np.linspace(0, n_train - 1, min(n_train, 10_000)).astype(np.int64)]]
    sample = sample[np.isfinite(sample).all(axis=1)]
    if not len(sample):
        sample = np.zeros((1, vectors.shape[1]), np.float32)
    mean, spread = sample.mean(axis=0), np.maximum(sample.std(axis=0), 1e-6)
    return lambda rows: np.clip(np.nan_to_num((vectors[of_rows[rows]] - mean) / spread), -5, 5).astype(np.float32)


def _probe(sees: Sees) -> Probe:
    def run(context: Context) -> Prediction:
        return context.cross_fit(partial(_log_odds, context, sees))

    sentence = f"{sees.sentence} and judges the choices together by a neural network"
    name = f"set network: {sees.label}"
    return Probe(name, sees, sentence, run, trained=True, fitted=True, cost=COST, setting="probes", one_thread=True)


SET_MODELS = tuple(map(_probe, Sees))
