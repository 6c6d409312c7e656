"""Two probes that count how often choices are correct in the training split, or without one in the other folds.

Both return for each row the probability in [0, 1] of picking the target (ties are broken at random).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Prediction, Probe
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Sees
from hf_vqa_mc.dataset.statistics import NEVER_SEEN, PriorRule, decoys_per_row, target_picked
from hf_vqa_mc.decoys.candidates import MISSING

Scores = NDArray[np.float64]
Folds = NDArray[np.int8]


def answer_prior(rows: Rows, folds: Folds) -> Scores:
    """Pick the choice that is most often correct relative to how often it is presented (Chao et al. 2018, eq. 2).

    Args:
        rows: rows to count and to answer.
        folds: (rows,): fold of each row, from 0; a row is answered with the counts of the other folds.

    Returns:
        float64 (rows,).
    """
    return target_picked(_likelihood(rows, folds)[0], rows.keys)


def question_answer_prior(rows: Rows, folds: Folds) -> Scores:
    """Pick by eq. 2 counted among questions with the same beginning; arguments and result as of `answer_prior`.

    P_0 is eq. 2 over all questions; P_n counts only questions with the same first n words (up to `MOST_WORDS`), with
    P_n-1 as a prior of the weight of one row::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it is within 3 points of the paper's trained MLP-QA (Table 8).
    """
    likelihood, decoys = _likelihood(rows, folds)
    _count_beginnings(rows, folds, likelihood, decoys)
    return target_picked(likelihood, rows.keys)


def counted_in(train: Rows, rows: Rows, prior: Callable[[Rows, Folds], Scores]) -> Scores:
    """Answer ``rows`` by a prior that is counted in ``train``, rows with the same vocabulary."""
    sides = np.repeat(np.arange(2, dtype=np.int8), [len(train), len(rows)])
    return prior(train.followed_by(rows), sides)[len(train) :]


def _likelihood(rows: Rows, folds: Folds) -> tuple[Scores, NDArray[np.int64]]:
    """P(correct | C) of each choice (rows, choices) and K (rows,), counted in the other folds."""
    likelihood, decoys = np.full(rows.keys.shape, NEVER_SEEN), np.ones(len(rows), np.int64)
    for fold in np.unique(folds):
        test = folds == fold
        if not test.all():
            train = rows.keys[~test]
            decoys[test] = n_decoys = decoys_per_row(train)
            rule = PriorRule.learn(train, len(rows.vocabulary.key_texts), n_decoys)
            likelihood[test] = rule.likelihood[rows.keys[test]]
    return likelihood, decoys


def _count_beginnings(rows: Rows, folds: Folds, likelihood: Scores, decoys: NDArray[np.int64]) -> None:
    """Update P_0 (rows, choices) to P_n in place; a row's counts exclude its own fold.

    A choice that occurs once under a beginning keeps its value, since no other row counts.
    """
    n_keys, n_folds = len(rows.vocabulary.key_texts), int(folds.max()) + 1
    row, column = np.nonzero(rows.valid)
    key = rows.keys[row, column]
    left = np.bincount(key, minlength=n_keys)[key] > 1
    for length in range(1, rows.vocabulary.beginnings.shape[1] + 1):
        row, column, key = row[left], column[left], key[left]
        left = rows.beginning(length)[row] != MISSING
        row, column, key = row[left], column[left], key[left]
        if not len(key):
            return
        pair = rows.beginning(length)[row].astype(np.int64) * n_keys + key
        _, group, counts = np.unique(pair, return_inverse=True, return_counts=True)
        cell = group * n_folds + folds[row]
        as_target, as_decoy = (
            np.bincount(group[some], minlength=len(counts))[group]
            - np.bincount(cell[some], minlength=len(counts) * n_folds)[cell]
            for some in (column == 0, column > 0)
        )
        before = likelihood[row, column]
        likelihood[row, column] = (as_target + before) / (as_target + as_decoy / decoys[row] + 1.0)
        left = counts[group] > 1


def _prior(name: str, sees: Sees, sentence: str, prior: Callable[[Rows, Folds], Scores]) -> Probe:
    def run(context: Context) -> Prediction:
        rows, train = context.rows, context.train_rows
        scores = prior(rows, context.folds) if train is None else counted_in(train, rows, prior)
        return Prediction(scores, folds=context.n_folds)

    return Probe(name, sees, sentence, run)


PRIORS = (
    _prior(
        "answer prior (eq. 2)",
        Sees.CHOICES,
        "picks the choice that is most often correct in other rows, relative to how often it is presented",
        answer_prior,
    ),
    _prior(
        "question and answer prior",
        Sees.QUESTION,
        "picks the choice that is most often correct for other questions with the same beginning",
        question_answer_prior,
    ),
)
