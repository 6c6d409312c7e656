"""Heuristics without labels (the longest choice, the first one), and two priors that count labels."""

from collections.abc import Callable
from functools import partial
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Probe
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.audits.similar_choices import words_in_question
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.statistics import NEVER_SEEN, decoys_per_row, occurrences, prior_rule, target_picked

LAST = "last choice"
POSITIONS = "ABCDEFGHIJ"
"""Letters of the positions with a heuristic each."""

Values = NDArray[np.float64]
Folds = NDArray[np.int8]


def _position(index: int, context: Context) -> Prediction | None:
    """Always pick the choice at an index of the published order."""
    is_one = context.split.ordered and index < context.rows.texts.shape[1]
    return context.prefer(context.rows.positions == index) if is_one else None


def _last(context: Context) -> Prediction | None:
    sizes = context.rows.sizes
    is_one = context.split.ordered and sizes.min() < sizes.max()  # else it is one of the positions
    return context.prefer(context.rows.positions == sizes[:, None] - 1) if is_one else None


def lengths(context: Context) -> Values:
    """Number of characters of each choice, stripped."""
    texts = pa.array(context.rows.vocabulary.choices, pa.large_string())
    characters = pc.utf8_length(pc.utf8_trim_whitespace(texts)).to_numpy()
    lengths: Values = characters.astype(np.float64)[context.rows.texts]
    return lengths


def _frequencies(context: Context) -> Values:
    """Frequency of each choice in the split."""
    keys = context.rows.keys
    return np.bincount(keys[context.rows.valid])[keys].astype(np.float64)


def heuristic(
    name: str,
    sentence: str,
    values: Callable[[Context], Values],
    sign: int = 1,
    sees: ProbeInputs = ProbeInputs.CHOICES,
) -> Probe:
    """Pick the choice with the highest value, or the lowest with ``sign`` -1."""
    return Probe(name, sees, sentence, lambda context: context.prefer(sign * values(context)))


HEURISTICS = (
    *(
        Probe(f"choice {letter}", ProbeInputs.CHOICES, f"always picks choice {letter}", partial(_position, index))
        for index, letter in enumerate(POSITIONS)
    ),
    Probe(LAST, ProbeInputs.CHOICES, "always picks the last choice", _last),
    heuristic("longest choice", "picks the longest choice", lengths),
    heuristic("shortest choice", "picks the shortest choice", lengths, -1),
    heuristic("most frequent choice", "picks the choice that the benchmark presents most often", _frequencies),
    heuristic("least frequent choice", "picks the choice that the benchmark presents least often", _frequencies, -1),
    heuristic("odd one out", "picks the choice spelled least like the others", attrgetter("trigram_similarity"), -1),
    heuristic(
        "most like the others", "picks the choice spelled most like the others", attrgetter("trigram_similarity")
    ),
    heuristic(
        "most words of the question",
        "picks the choice with the largest share of its words in the question",
        lambda context: words_in_question(context.rows),
        sees=ProbeInputs.QUESTION,
    ),
    heuristic(
        "fewest words of the question",
        "picks the choice with the smallest share of its words in the question",
        lambda context: words_in_question(context.rows),
        -1,
        ProbeInputs.QUESTION,
    ),
)


def answer_prior(rows: Rows, folds: Folds) -> Values:
    """Pick the choice that is most often correct relative to how often it is presented (Chao et al. 2018, eq. 2).

    Args:
        rows: rows to count and to predict.
        folds: (rows,): fold of each row, from 0; a row is predicted with the counts of the other folds.

    Returns:
        float64 (rows,).
    """
    return target_picked(_likelihood(rows, folds)[0], rows.keys)


def question_answer_prior(rows: Rows, folds: Folds) -> Values:
    """Pick by eq. 2 counted among questions with the same beginning; for the arguments see `answer_prior`.

    P_0 is eq. 2 over all questions; P_n counts only questions with the same first n words (up to `MOST_WORDS`), with
    P_n-1 as a prior of the weight of one row::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it is within 3 points of the paper's trained MLP-QA (Table 8).
    """
    likelihood, decoys = _likelihood(rows, folds)
    _count_beginnings(rows, folds, likelihood, decoys)
    return target_picked(likelihood, rows.keys)


def counted_in(train: Rows, rows: Rows, prior: Callable[[Rows, Folds], Values]) -> Values:
    """Predict ``rows`` with a prior that is counted in ``train``, rows with the same vocabulary."""
    sides = np.repeat(np.arange(2, dtype=np.int8), [len(train), len(rows)])
    return prior(train.followed_by(rows), sides)[len(train) :]


def _likelihood(rows: Rows, folds: Folds) -> tuple[Values, NDArray[np.int64]]:
    """P(correct | C) of each choice (rows, choices) and K (rows,), counted in the other folds."""
    likelihood, decoys = np.full(rows.keys.shape, NEVER_SEEN), np.ones(len(rows), np.int64)
    for fold in np.unique(folds):
        test = folds == fold
        if not test.all():
            train = rows.keys[~test]
            decoys[test] = n_decoys = decoys_per_row(train)
            known = prior_rule(*occurrences(train, len(rows.vocabulary.key_texts)), n_decoys)
            likelihood[test] = known[rows.keys[test]]
    return likelihood, decoys


def _count_beginnings(rows: Rows, folds: Folds, likelihood: Values, decoys: NDArray[np.int64]) -> None:
    """Update P_0 (rows, choices) to P_n in place; a row's counts exclude its own fold."""
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
        # by hashes, several times faster than np.unique
        group = pa.array(pair).dictionary_encode().indices.to_numpy().astype(np.int64)
        counts = np.bincount(group)
        cell = group * n_folds + folds[row]
        as_target, as_decoy = (
            np.bincount(group[some], minlength=len(counts))[group]
            - np.bincount(cell[some], minlength=len(counts) * n_folds)[cell]
            for some in (column == 0, column > 0)
        )
        before = likelihood[row, column]
        likelihood[row, column] = (as_target + before) / (as_target + as_decoy / decoys[row] + 1.0)
        left = counts[group] > 1


def prior_probe(name: str, sees: ProbeInputs, sentence: str, prior: Callable[[Rows, Folds], Values]) -> Probe:
    """A prior that is counted in the training split, or without one in other folds of the audited split."""

    def run(context: Context) -> Prediction:
        rows, train = context.rows, context.train_rows
        scores = prior(rows, context.folds) if train is None else counted_in(train, rows, prior)
        return Prediction(scores, folds=context.n_folds)

    return Probe(name, sees, sentence, run, fitted=True)


PRIORS = (
    prior_probe(
        "answer prior (eq. 2)",
        ProbeInputs.CHOICES,
        "picks the choice that is most often correct in other rows, relative to how often it is presented",
        answer_prior,
    ),
    prior_probe(
        "question and answer prior",
        ProbeInputs.QUESTION,
        "picks the choice that is most often correct for other questions with the same beginning",
        question_answer_prior,
    ),
)
