"""Two probes that count how often choices are correct in the training split, or without one in the other folds.

Both return for each row the probability in [0, 1] of picking the target (ties are broken at random).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Prediction, Probe
from hf_vqa_mc.audits.rows import NO_BEGINNING, Rows
from hf_vqa_mc.audits.shortcut import Sees
from hf_vqa_mc.dataset.prior_rule import NEVER_SEEN, PriorRule, decoys_per_row, target_picked

Scores = NDArray[np.float64]


def answer_prior(train: Rows, rows: Rows) -> Scores:
    """Pick the choice that is most often correct relative to how often it is presented (Chao et al. 2018, eq. 2).

    Args:
        train: rows to count.
        rows: rows to answer, with the same vocabulary.

    Returns:
        float64 (rows,).
    """
    return target_picked(_likelihood(train, rows), rows.keys)


def question_answer_prior(train: Rows, rows: Rows) -> Scores:
    """Pick by eq. 2 counted among training questions with the same beginning.

    P_0 is eq. 2 over all questions; P_n counts only questions with the same first n words (up to `MOST_WORDS`), with
    P_n-1 as a prior of the weight of one row::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it is within 3 points of the paper's trained MLP-QA (Table 8).

    Args:
        train: rows to count.
        rows: rows to answer, with the same vocabulary.

    Returns:
        float64 (rows,).
    """
    both = train.followed_by(rows)
    sides = np.repeat(np.arange(2, dtype=np.int8), [len(train), len(rows)])
    likelihood = np.full(both.keys.shape, NEVER_SEEN)
    likelihood[len(train) :, : rows.keys.shape[1]] = _likelihood(train, rows)
    _count_beginnings(both, sides, likelihood, np.full(len(both), decoys_per_row(train.keys)))
    return target_picked(likelihood, both.keys)[len(train) :]


def answer_prior_of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> Scores:
    """Cross-validated `answer_prior`; ``folds`` is (rows,)."""
    return target_picked(_of_other_folds(rows, folds)[0], rows.keys)


def question_answer_prior_of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> Scores:
    """Cross-validated `question_answer_prior`, in one pass; ``folds`` is (rows,)."""
    likelihood, decoys = _of_other_folds(rows, folds)
    _count_beginnings(rows, folds, likelihood, decoys)
    return target_picked(likelihood, rows.keys)


def _likelihood(train: Rows, rows: Rows) -> Scores:
    """P(correct | C) of each choice, (rows, choices)."""
    rule = PriorRule.learn(train.keys, len(train.vocabulary.key_texts), decoys_per_row(train.keys))
    return rule.likelihood[rows.keys]


def _of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> tuple[Scores, NDArray[np.int64]]:
    """P(correct | C) of each choice (rows, choices) and K (rows,), counted in the other folds."""
    likelihood, decoys = np.full(rows.keys.shape, NEVER_SEEN), np.ones(len(rows), np.int64)
    for fold in np.unique(folds):
        test = folds == fold
        if not test.all():
            train = rows.take(~test)
            likelihood[test], decoys[test] = _likelihood(train, rows.take(test)), decoys_per_row(train.keys)
    return likelihood, decoys


def _count_beginnings(rows: Rows, sides: NDArray[np.int8], likelihood: Scores, decoys: NDArray[np.int64]) -> None:
    """Update P_0 (rows, choices) to P_n in place; a row's counts exclude its own side.

    A choice that occurs once under a beginning keeps its value, since no other row counts.
    """
    n_keys, n_sides = len(rows.vocabulary.key_texts), int(sides.max()) + 1
    row, column = np.nonzero(rows.valid)
    key = rows.keys[row, column]
    left = np.bincount(key, minlength=n_keys)[key] > 1
    for length in range(1, rows.vocabulary.beginnings.shape[1] + 1):
        row, column, key = row[left], column[left], key[left]
        left = rows.beginning(length)[row] != NO_BEGINNING
        row, column, key = row[left], column[left], key[left]
        if not len(key):
            return
        pair = rows.beginning(length)[row].astype(np.int64) * n_keys + key
        _, group, counts = np.unique(pair, return_inverse=True, return_counts=True)
        cell = group * n_sides + sides[row]
        as_target, as_decoy = (
            np.bincount(group[some], minlength=len(counts))[group]
            - np.bincount(cell[some], minlength=len(counts) * n_sides)[cell]
            for some in (column == 0, column > 0)
        )
        before = likelihood[row, column]
        likelihood[row, column] = (as_target + before) / (as_target + as_decoy / decoys[row] + 1.0)
        left = counts[group] > 1


def _prior(
    name: str,
    sees: Sees,
    sentence: str,
    of_train: Callable[[Rows, Rows], Scores],
    of_other_folds: Callable[[Rows, NDArray[np.int8]], Scores],
) -> Probe:
    def run(context: Context) -> Prediction:
        rows, train = context.rows, context.train_rows
        scores = of_other_folds(rows, context.folds) if train is None else of_train(train, rows)
        return Prediction(scores, folds=context.n_folds)

    return Probe(name, sees, sentence, run)


PRIORS = (
    _prior(
        "answer prior (eq. 2)",
        Sees.CHOICES,
        "picks the choice that is most often correct in other rows, relative to how often it is presented",
        answer_prior,
        answer_prior_of_other_folds,
    ),
    _prior(
        "question and answer prior",
        Sees.QUESTION,
        "picks the choice that is most often correct for other questions with the same beginning",
        question_answer_prior,
        question_answer_prior_of_other_folds,
    ),
)
