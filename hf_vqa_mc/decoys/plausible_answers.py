"""Answers that fit a question: those to questions that begin with the same words.

Fallbacks are answers of random rows with the longest common beginning, so each occurs as often as it is correct there.
Below three words a beginning such as "what is" says little; answers of the target's type come first there.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.decoys.answer_types import answer_types
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Candidates, Int32s, Int64s, Ints
from hf_vqa_mc.text.normalisation import YES_NO

TYPED_WORDS = 4
"""Words of the beginnings from which types of answers are learned."""
LEVELS = ((5, False), (4, False), (3, False), (2, True), (2, False), (0, True), (0, False))
"""Rows from which fallbacks are drawn, in this order: equal words at the beginning of the question, and whether the
target has the same type. The target's type before equal beginnings would reveal the target: on COCO-QA (``iou_qou``,
chance 14.3) a set network reaches 40% by the choices alone with types first and 37% with beginnings first."""
DRAWS = 24
"""Draws from each level, with replacement."""


class PlausibleAnswers(NamedTuple):
    """Lookup tables of fitting answers, for numba kernels."""

    types: Int32s  # (triplets,): the type of each target
    rows: Int32s  # the training triplets by type and beginning, then by beginning alone
    ranges: Int32s  # (triplets, LEVELS, 2): first and last + 1 index in `rows` of each level
    opposites: Int32s  # (keys,): the text number of the opposite of "yes" and "no", else MISSING


def plausible_answers(
    candidates: Candidates, targets: Int32s, questions: pa.Array, training: Bools
) -> PlausibleAnswers:
    """Learn types of answers, and sort the training triplets by the beginnings of their questions.

    Args:
        candidates: with the texts of all targets.
        targets: text numbers (triplets,).
        questions: comparable questions, large_string (triplets,).
        training: (triplets,): triplets whose targets become fallbacks.
    """
    beginnings = numbered_beginnings(questions, {TYPED_WORDS, *(n_words for n_words, _ in LEVELS)})
    keys = candidates.keys[targets]
    types = answer_types(candidates.key_texts, keys, beginnings[TYPED_WORDS])[keys]
    rows: list[Int32s] = []
    ranges = np.empty((len(targets), len(LEVELS), 2), np.int32)
    donors, none = np.flatnonzero(training), np.zeros_like(types)
    for typed in (True, False):
        of_type = types if typed else none
        columns: list[Ints] = [*reversed(beginnings.values()), of_type]
        order = donors[np.lexsort([column[donors] for column in columns])]
        for level, (n_words, same_type) in enumerate(LEVELS):
            if same_type == typed:
                ranges[:, level] = _ranges(of_type, beginnings[n_words], order) + len(donors) * len(rows)
        rows.append(order.astype(np.int32))
    found = np.full(len(candidates.key_texts), MISSING, np.int32)
    frequent = candidates.most_frequent(targets)
    texts = {candidates.key_texts[candidates.keys[text]]: text for text in frequent.tolist()}
    for answer, opposite in (YES_NO, YES_NO[::-1]):
        if answer in texts and opposite in texts:
            found[candidates.keys[texts[answer]]] = texts[opposite]
    return PlausibleAnswers(types, np.concatenate(rows), ranges, found)


def numbered_beginnings(questions: pa.Array, lengths: set[int]) -> dict[int, Int64s]:
    """Equal numbers for questions with the same first n words, for each n, shortest first, (questions,) each."""
    encoded = questions.dictionary_encode()
    texts, numbers = encoded.dictionary, encoded.indices.to_numpy()
    found: dict[int, Int64s] = {}
    for length in sorted(lengths, reverse=True):
        first_words = rf"^((?:\S+ ){{{length - 1}}}\S+) .*" if length else ".*"
        encoded = pc.replace_substring_regex(texts, first_words, r"\1" if length else "").dictionary_encode()
        texts, numbers = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)[numbers]
        found[length] = numbers
    return dict(reversed(found.items()))


def _ranges(types: Int32s, beginnings: Int64s, order: Int64s) -> Int64s:
    """The range in ``order`` of the rows with each row's type and beginning, (rows, 2)."""
    together = types * (beginnings.max(initial=0) + 1) + beginnings
    _, group = np.unique(together, return_inverse=True)
    sizes = np.bincount(group[order], minlength=int(group.max(initial=0)) + 1)
    first = np.zeros_like(sizes)
    changes = np.flatnonzero(np.diff(group[order], prepend=-1))
    first[group[order[changes]]] = changes
    return np.stack([first[group], first[group] + sizes[group]], axis=1)
