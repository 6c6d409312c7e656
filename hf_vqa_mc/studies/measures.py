"""What all kinds of study report: shares with intervals over annotators, agreement, time, most frequent answers."""

import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from hf_vqa_mc.scoring.agreement import Ratings, fleiss_kappa, krippendorff_alpha
from hf_vqa_mc.scoring.statistics import effective_rows, numbered, proportion_interval
from hf_vqa_mc.studies.kind import Answered

V = TypeVar("V", bound=Hashable)


def by_item(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    """The answers to each question, by question_id."""
    found: dict[str, list[Answered]] = {}
    for one in answered:
        found.setdefault(one.item.question_id, []).append(one)
    return found


def by_condition(answered: Sequence[Answered]) -> dict[str, list[Answered]]:
    """The answers in each condition."""
    found: dict[str, list[Answered]] = {}
    for one in answered:
        found.setdefault(one.condition, []).append(one)
    return found


def share(answered: Sequence[Answered], holds: Callable[[Answered], float], name: str) -> dict[str, float]:
    """The mean of a score in [0, 1] over the answers, and its 95% interval, clustered by annotator.

    The answers of an annotator are not independent; the interval is that of `proportion_interval` for the effective
    number of answers.
    """
    scores = np.array([float(holds(one)) for one in answered])
    clusters = numbered([str(one.annotator) for one in answered])[1]
    low, high = proportion_interval(float(scores.mean()), *effective_rows(scores, clusters))
    return {name: float(scores.mean()), "low": low, "high": high}


def agreement(ratings: Ratings) -> dict[str, Any]:
    """Krippendorff's alpha, and Fleiss' kappa with its number of units, see `scoring.agreement`."""
    kappa, units = fleiss_kappa(ratings)
    return {"alpha": krippendorff_alpha(ratings), "kappa": kappa, "kappa_units": units}


def counts(answered: Sequence[Answered]) -> dict[str, Any]:
    """The numbers of questions, annotators and answers, and the median time per answer in seconds."""
    return {
        "questions": len(by_item(answered)),
        "annotators": len({one.annotator for one in answered}),
        "answers": len(answered),
        "seconds": statistics.median(one.seconds for one in answered),
    }


def most_frequent(values: Sequence[V]) -> V:
    """The most frequent value; of several the one that was given first.

    >>> most_frequent(["b", "a", "c", "a", "c"])
    'a'
    """
    return Counter(values).most_common(1)[0][0]
