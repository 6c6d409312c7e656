"""Counter-examples of Goyal et al. 2017: whether the image that people picked is among a model's top k."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import Column, Columns, as_list, is_whole
from hf_vqa_mc.scoring.scheme import Scheme
from hf_vqa_mc.scoring.statistics import mean_of_each

KS = (1, 5)
"""Recall@5 is the paper's measure (section 5); it picks among the 24 nearest neighbours of the question's image."""


def counterexample_recall(
    predictions: Column,
    references: Column,
    *,
    ks: Sequence[int] = KS,
    distances: Column | None = None,
    image_ids: Column | None = None,
    question_ids: Column | None = None,
    per_question: bool = False,
) -> dict[str, Any]:
    """Recall@k of the picked candidate, with chance and the order by distance for comparison.

    Ties are broken by position: the earlier candidate comes first. For the paper's VQA baseline, pass
    the scores of a VQA model.

    Args:
        predictions: each question's scores, one finite number per candidate; higher is better.
        references: index of the picked candidate, from 0.
        ks: whole numbers from 1 on, none above a question's number of candidates.
        distances: each question's distances from its image, one per candidate, for ``distance``.
        image_ids: clusters for the standard errors.
        question_ids: names of the questions in errors.
        per_question: also give each question's scores.

    Returns:
        Fractions in [0, 1]: ``recall@1``, ``recall@5`` (one for each of ks); the same keys under ``stderr`` (None for
        a single cluster), ``interval`` (95%), ``random`` (expected value of a random order: k of n), ``distance``
        (nearest first, ties in the given order; None without distances) and ``per_question`` (lists; None unless asked
        for).

    Raises:
        InputError: names the question and the field.

    >>> result = counterexample_recall([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], [1, 2], ks=(1, 2))
    >>> result["recall@1"], result["recall@2"], round(result["random"]["recall@1"], 3)
    (0.5, 0.5, 0.333)
    """
    listed = as_list("ks", ks)
    for k in listed or [None]:
        if not is_whole(k) or k < 1:
            raise InputError(f"ks: {shown(k)}, expected whole numbers from 1, at least one")
    names = {f"recall@{k}": int(k) for k in listed}
    given = {"predictions": predictions, "references": references}
    columns = Columns(given, question_ids, distances=distances, image_ids=image_ids)
    scores, most, distance = _numbers(columns, "predictions"), max(names.values()), None
    sizes = np.array([len(of_row) for of_row in scores])
    for row, (index, size) in enumerate(zip(columns["references"], sizes.tolist(), strict=True)):
        if not is_whole(index) or not 0 <= index < size:
            raise columns.wrong(row, "references", f"an index of its {size} candidates, from 0")
        if most > size:
            few = f"{size} candidates, too few for k = {most}"
            raise InputError(f"{columns.where(row)}: predictions has {few}; set ks")
    ranks = _ranks(scores, columns["references"])
    hits = {name: (ranks < k).astype(np.float64) for name, k in names.items()}
    if "distances" in columns:
        listed = _numbers(columns, "distances")
        for row in (row for row, of_row in enumerate(listed) if len(of_row) != sizes[row]):
            raise columns.wrong(row, "distances", f"one per candidate, {sizes[row]} in all")
        nearest = _ranks([[-one for one in of_row] for of_row in listed], columns["references"])
        distance = {name: float((nearest < k).mean()) for name, k in names.items()}
    return {
        **mean_of_each(hits, columns.groups("image_ids"), per_question),
        "random": {name: float((k / sizes).mean()) for name, k in names.items()},
        "distance": distance,
    }


def _numbers(columns: Columns, field: str) -> list[list[float]]:
    """A column of lists of finite numbers."""

    def is_finite(value: object) -> bool:
        return is_whole(value) or (isinstance(value, float | np.floating) and math.isfinite(value))

    columns.check(
        field,
        lambda values: isinstance(values, list | tuple) and values and all(map(is_finite, values)),
        "a list of finite numbers, one per candidate",
    )
    return [[one.item() if isinstance(one, np.generic) else one for one in values] for values in columns[field]]


def _ranks(scores: Sequence[Sequence[float]], picked: Sequence[int]) -> NDArray[np.int64]:
    """Number of candidates ranked before the picked one: int64 (questions,)."""
    rows = zip(scores, picked, strict=True)
    return np.array([sum(one > row[at] for one in row) + list(row[:at]).count(row[at]) for row, at in rows], np.int64)


SCHEME = Scheme(
    "counterexample_recall",
    counterexample_recall,
    "recall of the counter-example picked by people",
    columns=("distances", "image_ids", "question_ids"),
    features=((["float64"], "int64"),),
    python_only="takes scores of candidates, not answers",
)
