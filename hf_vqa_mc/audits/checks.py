"""Shortcuts that are found by counting: one looks for the longest choice, and sees how often it is the target."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.priors import (
    answer_prior,
    answer_prior_of_other_folds,
    question_answer_prior,
    question_answer_prior_of_other_folds,
)
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS, Knows, Shortcut
from hf_vqa_mc.audits.similar_choices import Letters, likeness, words_in_question

MOST_PLACES = 10
"""The first places that have a rule each."""


def shortcut_checks(asked: Rows, placed: bool, folds: NDArray[np.int8], train: Rows | None) -> list[Shortcut]:
    """How often each rule that needs no training picks the target.

    Rules that never prefer a choice to another are left out.

    Args:
        asked: the rows that are audited.
        placed: whether their choices stand in the benchmark's own order.
        folds: (rows,): their parts, by `folds_of`; looked at only without `train`.
        train: rows that may be counted, numbered together with `asked`.

    Returns:
        The rules that look at the labels of no row first, then the two that count which choices were right elsewhere.
    """
    found = []
    for name, knows, picks, score in _rules(asked, placed):
        best = _best(score, asked.there)
        if (best != asked.there).any():
            found.append(Shortcut(name, knows, picks, best[:, 0] / best.sum(axis=1)))
    return found + _counted(asked, folds, train)


def _rules(rows: Rows, placed: bool) -> Iterator[tuple[str, Knows, str, NDArray[np.float64]]]:
    """Each rule's name, what it knows, what it picks, and its score of every choice; the highest is picked."""
    counts = rows.there.sum(axis=1, keepdims=True)
    if placed:
        for place in range(min(int(counts.max()), MOST_PLACES)):
            name = f"choice {chr(ord('A') + place)}"
            yield name, "choices", f"always picks {name}", (rows.places == place).astype(np.float64)
    if placed and counts.min() < counts.max():  # else it is one of those above, or beyond MOST_PLACES
        last: NDArray[np.bool_] = rows.places == counts - 1
        yield "last choice", "choices", "always picks the last choice", last.astype(np.float64)
    lengths = _lengths(rows)
    yield "longest choice", "choices", "picks the longest choice", lengths
    yield "shortest choice", "choices", "picks the shortest choice", -lengths
    offers = np.bincount(rows.keys[rows.there])[rows.keys].astype(np.float64)
    yield "most offered choice", "choices", "picks the choice that the benchmark offers most often", offers
    yield "least offered choice", "choices", "picks the choice that the benchmark offers least often", -offers
    alike = likeness(rows, Letters.of(rows.vocabulary))
    yield "odd one out", "choices", "picks the choice that is spelt least like the others", -alike
    yield "most like the others", "choices", "picks the choice that is spelt most like the others", alike
    words = words_in_question(rows)
    yield "most words of the question", "question", "picks the choice whose words stand in the question", words


def _counted(asked: Rows, folds: NDArray[np.int8], train: Rows | None) -> list[Shortcut]:
    """The rules that know which choices were right in other rows."""
    if train is None:
        alone, both = answer_prior_of_other_folds(asked, folds), question_answer_prior_of_other_folds(asked, folds)
    else:
        alone, both = answer_prior(train, asked), question_answer_prior(train, asked)
    parts = FOLDS if train is None else 0
    return [
        Shortcut(
            "answer prior (eq. 2)",
            "choices",
            "picks the choice that is most often right elsewhere, for how often it is offered",
            alone,
            parts,
        ),
        Shortcut(
            "question and answer prior",
            "question",
            "picks the choice that is most often right for other questions that begin alike",
            both,
            parts,
        ),
    ]


def _lengths(rows: Rows) -> NDArray[np.float64]:
    """Characters of each choice as written, spaces around it left out; (rows, places)."""
    texts = pa.array(rows.vocabulary.choices, pa.large_string())
    characters = pc.utf8_length(pc.utf8_trim_whitespace(texts)).to_numpy()
    lengths: NDArray[np.float64] = characters.astype(np.float64)[rows.texts]
    return lengths


def _best(scores: NDArray[np.float64], there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(rows, places): whether a choice has its row's highest score."""
    of_choices = np.where(there, scores, -np.inf)
    best: NDArray[np.bool_] = of_choices == of_choices.max(axis=1, keepdims=True)
    return best
