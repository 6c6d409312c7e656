"""How far one gets blind: two rules that count choices and look at no image.

Both answer for every row how often they pick the target, in [0, 1] (choices that tie are picked as often as one
another), so that a mean over any of the rows is an accuracy. What is counted is a training split or, where there is
none, all other parts of the rows that are asked.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import NO_BEGINNING, Rows
from hf_vqa_mc.dataset.prior_rule import NEVER_SEEN, PriorRule, decoys_per_row, target_picked
from hf_vqa_mc.decoys.candidates import MISSING


def answer_prior(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """Knows the answers alone: picks the choice that is most often correct for how often it is offered.

    Chao et al. 2018, eq. 2; what their MLP-A learns.

    Args:
        train: rows to count.
        asked: rows to answer, numbered together with them.

    Returns:
        float64 (rows asked,).
    """
    return target_picked(_of_answers(train, asked), asked.keys)


def question_answer_prior(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """Knows question and answers: eq. 2 counted among the training questions that begin as this one does.

    First among all of them, which is eq. 2 itself, then among those with the same first word, the same first two and
    so on to the whole question (to its first `MOST_WORDS`). Each step adds to its own counts what the step before
    gave, with the weight of one row; so a choice that was never offered under the longer beginning keeps what the
    shorter one says::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it comes within 3 points of the paper's trained MLP-QA (Table 8).

    Args:
        train: rows to count.
        asked: rows to answer, numbered together with them.

    Returns:
        float64 (rows asked,).
    """
    both = _one_after_the_other(train, asked)
    parts = np.repeat(np.arange(2, dtype=np.int8), [len(train), len(asked)])
    likelihood = np.full(both.keys.shape, NEVER_SEEN)
    likelihood[len(train) :, : asked.keys.shape[1]] = _of_answers(train, asked)
    _count_beginnings(both, parts, likelihood, np.full(len(both), decoys_per_row(train.keys)))
    return target_picked(likelihood, both.keys)[len(train) :]


def answer_prior_of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> NDArray[np.float64]:
    """`answer_prior` where each part of the rows is asked and all others are counted.

    Args:
        rows: rows to count and to answer.
        folds: (rows,): the part of each.

    Returns:
        float64 (rows,).
    """
    return target_picked(_of_other_folds(rows, folds)[0], rows.keys)


def question_answer_prior_of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> NDArray[np.float64]:
    """`question_answer_prior` where each part of the rows is asked and all others are counted.

    Args:
        rows: rows to count and to answer.
        folds: (rows,): the part of each.

    Returns:
        float64 (rows,).
    """
    likelihood, decoys = _of_other_folds(rows, folds)
    _count_beginnings(rows, folds, likelihood, decoys)
    return target_picked(likelihood, rows.keys)


def _of_answers(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """P(correct | C) of every choice, (rows asked, places)."""
    rule = PriorRule.learn(train.keys, len(train.vocabulary.key_texts), decoys_per_row(train.keys))
    return rule.likelihood[asked.keys]


def _of_other_folds(rows: Rows, folds: NDArray[np.int8]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """P(correct | C) of every choice (rows, places) and K (rows,), as the other parts have it."""
    likelihood, decoys = np.full(rows.keys.shape, NEVER_SEEN), np.ones(len(rows), np.int64)
    for fold in np.unique(folds):
        asked = folds == fold
        if not asked.all():
            train = rows.take(~asked)
            likelihood[asked], decoys[asked] = _of_answers(train, rows.take(asked)), decoys_per_row(train.keys)
    return likelihood, decoys


def _count_beginnings(
    rows: Rows, parts: NDArray[np.int8], likelihood: NDArray[np.float64], decoys: NDArray[np.int64]
) -> None:
    """Brings P_0 to P_n in place; each row's counts are those of all parts but its own.

    A choice that stands under a beginning only once is left alone from there on: nobody else says anything of it.

    Args:
        rows: counted and asked.
        parts: (rows,), from 0.
        likelihood: (rows, places).
        decoys: (rows,): K.
    """
    n_keys, n_parts = len(rows.vocabulary.key_texts), int(parts.max()) + 1
    at_row, at_place = np.nonzero(rows.there)
    key = rows.keys[at_row, at_place]
    offers = np.bincount(key, minlength=n_keys)
    left = offers[key] > 1
    for length in range(1, rows.vocabulary.beginnings.shape[1] + 1):
        at_row, at_place, key = at_row[left], at_place[left], key[left]
        left = rows.beginning(length)[at_row] != NO_BEGINNING
        at_row, at_place, key = at_row[left], at_place[left], key[left]
        if not len(key):
            return
        pair = rows.beginning(length)[at_row].astype(np.int64) * n_keys + key
        _, group, offers = np.unique(pair, return_inverse=True, return_counts=True)
        cell = group * n_parts + parts[at_row]
        as_target, as_decoy = (
            np.bincount(group[is_one], minlength=len(offers))[group]
            - np.bincount(cell[is_one], minlength=len(offers) * n_parts)[cell]
            for is_one in (at_place == 0, at_place > 0)
        )
        before = likelihood[at_row, at_place]
        likelihood[at_row, at_place] = (as_target + before) / (as_target + as_decoy / decoys[at_row] + 1.0)
        left = offers[group] > 1


def _one_after_the_other(first: Rows, second: Rows) -> Rows:
    places = max(first.texts.shape[1], second.texts.shape[1])

    def padded(part: NDArray[np.int32]) -> NDArray[np.int32]:
        return np.pad(part, ((0, 0), (0, places - part.shape[1])), constant_values=MISSING)

    return Rows(
        np.concatenate([padded(first.texts), padded(second.texts)]),
        np.concatenate([padded(first.places), padded(second.places)]),
        np.concatenate([first.questions, second.questions]),
        first.vocabulary,
    )
