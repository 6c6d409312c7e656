"""WUPS of Malinowski and Fritz 2014: answers as sets of nouns, near misses counted by Wu-Palmer similarity."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import Column, Columns, as_list, is_whole
from hf_vqa_mc.scoring.scheme import GQA, MULTIPLE_CHOICE, TDIUC, VQA, Scheme
from hf_vqa_mc.scoring.statistics import mean_of_each
from hf_vqa_mc.text.wu_palmer import WordScores, exact_word_score, reading, word_scores

THRESHOLDS = (0.9, 0.0)  # thresholds that the paper reports
BELOW_THRESHOLD = 0.1  # factor of similarities below the threshold


def wups(
    predictions: Column,
    references: Column,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    image_ids: Column | None = None,
    question_ids: Column | None = None,
    per_question: bool = False,
) -> dict[str, Any]:
    """WordNet similarity of the answers, and the share of equal item sets.

    The items of an answer are separated by commas. With m(x, y) of two items, a question scores the smaller of two
    products: over the prediction's items the best m(item, one of the reference's), over the reference's the best
    m(item, one of the prediction's). m is 1 for equal text; else it is the largest Wu-Palmer similarity of their noun
    synsets in WordNet 3.0, times 0.1 if it is below the threshold, and 0 where one of them has none. It is NLTK's to
    the bit, hence not always symmetric.

    Args:
        predictions: text.
        references: text.
        thresholds: numbers in [0, 1]; each has its own result. The official threshold -1 is ``accuracy``.
        image_ids: clusters for the standard errors.
        question_ids: names of the questions in errors.
        per_question: also give each question's scores.

    Returns:
        Fractions in [0, 1]: ``wups@0.9``, ``wups@0.0`` (one per threshold) and ``accuracy``; under ``stderr``,
        ``interval`` and ``per_question`` the same keys with standard errors (None for a single cluster), 95% intervals
        and lists of scores (``per_question`` is None unless asked for).

    Raises:
        InputError: names the question and the field.

    >>> result = wups(["dog", "cat, mat"], ["cat", "mat,cat"])
    >>> result["accuracy"], round(result["wups@0.9"], 3), round(result["wups@0.0"], 3)
    (0.5, 0.543, 0.929)
    """
    listed = as_list("thresholds", thresholds)
    for threshold in listed:
        number = is_whole(threshold) or isinstance(threshold, float | np.floating)
        if not number or not 0 <= threshold <= 1:
            hint = "; for the official threshold -1 use accuracy" if threshold == -1 else ""
            raise InputError(f"thresholds: {shown(threshold)}, expected a number from 0 to 1{hint}")
    bounds = [float(threshold) for threshold in listed]
    columns = Columns({"predictions": predictions, "references": references}, question_ids, image_ids=image_ids)
    of_each = _scores(columns.texts("predictions"), columns.texts("references"), np.array(bounds, np.float64))
    scores = dict(zip([*(f"wups@{bound}" for bound in bounds), "accuracy"], of_each, strict=True))
    return mean_of_each(scores, columns.groups("image_ids"), per_question)


def _scores(
    predictions: Sequence[str], references: Sequence[str], thresholds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Scores at each threshold, then exact matches: float64 (thresholds + 1, questions)."""
    numbers: dict[str, int] = {}
    answered = np.array([numbers.setdefault(text, len(numbers)) for text in predictions])
    expected = np.array([numbers.setdefault(text, len(numbers)) for text in references])
    pairs, pair_of_question = np.unique(answered * len(numbers) + expected, return_inverse=True)
    left, right = pairs // len(numbers), pairs % len(numbers)

    vocabulary: dict[str, int] = {}
    items = [[vocabulary.setdefault(item.strip(), len(vocabulary)) for item in text.split(",")] for text in numbers]
    flat = np.array([item for of_text in items for item in of_text], np.int32)
    starts = np.cumsum([0, *map(len, items)])
    words = word_scores(list(vocabulary), 0.0, nouns_only=True)
    forth, back = np.ones((2, len(pairs), len(thresholds) + 1))
    _multiply_memberships(flat, starts, left, right, thresholds, words, forth)
    _multiply_memberships(flat, starts, right, left, thresholds, words, back)
    scores: NDArray[np.float64] = np.minimum(forth, back)[pair_of_question].T
    return scores


@reading
def _multiply_memberships(
    items: NDArray[np.int32],
    starts: NDArray[np.int64],
    texts: NDArray[np.int64],
    others: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    words: WordScores,
    products: NDArray[np.float64],
) -> None:
    """Multiply each row of ``products`` (pairs, thresholds + 1) by the best similarity of each item to the other text.

    The items (vocabulary indices) of text t are ``items[starts[t]:starts[t + 1]]``; the last column is for equality.
    The best similarity is the best under any threshold, as a larger one never becomes the smaller below a threshold.
    """
    for pair in range(len(texts)):
        for i in range(starts[texts[pair]], starts[texts[pair] + 1]):
            best, same = 0.0, 0.0
            for j in range(starts[others[pair]], starts[others[pair] + 1]):
                if items[i] == items[j]:
                    best, same = 1.0, 1.0
                    break
                best = max(best, exact_word_score(items[i], items[j], words))
            for n in range(len(thresholds)):
                products[pair, n] *= best if best >= thresholds[n] else best * BELOW_THRESHOLD
            products[pair, len(thresholds)] *= same


SCHEME = Scheme(
    "wups",
    wups,
    "WordNet similarity to {gold}",
    columns=("image_ids", "question_ids"),
    kinds=(MULTIPLE_CHOICE, VQA, TDIUC, GQA),
)
