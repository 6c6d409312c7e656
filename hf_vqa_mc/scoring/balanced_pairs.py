"""Balanced pairs of VQA v2: one question about two similar images that have different answers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.consensus import Protocol, consensus
from hf_vqa_mc.scoring.inputs import PAIRS, QUESTIONS
from hf_vqa_mc.scoring.questions import Column, Columns, is_whole
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, VQA, Matched, Scheme
from hf_vqa_mc.scoring.statistics import mean_interval, standard_error
from hf_vqa_mc.scoring.table import ScoreTable, line
from hf_vqa_mc.scoring.vqa_normalisation import tidied

NUMBER = "number"
COUNTING = "how many"


class VqaPairAccuracy(TypedDict):
    """Fractions of the pairs in [0, 1]; None if there is no such pair or a required column is missing."""

    all: float  # pairs of which both questions have consensus accuracy 1
    number: float | None  # the same among the pairs whose answer types both are ``number``
    count: float | None  # the same among the pairs whose questions both begin with ``how many``
    both_right: float  # the same as `all`; Goyal et al. report this and the next two (arXiv 1612.00837, section 4)
    identical: float  # pairs with the same text as both predictions, correct or not
    different: float
    stderr: float | None  # standard error of `all`, over the pairs
    interval: list[float]  # 95% interval of `all`, over the pairs


def vqa_pair_accuracy(
    predictions: Column,
    references: Column,
    *,
    question_ids: Column,
    pairs: Sequence[Sequence[int | str]],
    questions: Column | None = None,
    answer_types: Column | None = None,
    protocol: Protocol = "2021",
) -> VqaPairAccuracy:
    """Share of pairs with both questions answered correctly, and with same prediction for both.

    A question may be in several pairs or in none. Predictions are compared after `tidied`, as in the official program.

    Args:
        predictions: text.
        references: each question's answers, as for `vqa_accuracy`.
        question_ids: text or whole numbers, each once; compared as text.
        pairs: two question ids each, as in the ``complementary_pairs`` files.
        questions: their text, needed for `count`.
        answer_types: needed for `number`.
        protocol: as for `vqa_accuracy`.

    Raises:
        InputError: names the question or the pair, and the field.

    >>> result = vqa_pair_accuracy(
    ...     ["2", "3", "red", "red"],
    ...     [["2"] * 10, ["3"] * 10, ["red"] * 10, ["blue"] * 10],
    ...     question_ids=[1, 2, 3, 4],
    ...     pairs=[[1, 2], [3, 4]],
    ...     questions=["How many cats?", "How many cats?", "What color?", "What color?"],
    ... )
    >>> result["all"], result["count"], result["number"], result["identical"]
    (0.5, 1.0, None, 0.5)
    """
    given = {"predictions": predictions, "references": references, "question_ids": question_ids}
    columns = Columns(given, questions=questions, answer_types=answer_types)
    rows = {name: row for row, name in enumerate(columns.groups("question_ids") or [])}
    listed = pairs.tolist() if isinstance(pairs, np.ndarray) else pairs
    if not isinstance(listed, list | tuple):
        raise InputError(f"pairs is {type(pairs).__name__}, expected a list of two question ids each")
    if not listed:
        raise InputError("no pairs to score")
    members = np.array([_rows_of(pair, index, rows) for index, pair in enumerate(listed)])
    right = (consensus(columns, protocol) == 1.0)[members].all(axis=1).astype(np.float64)
    texts = [tidied(text) for text in columns.texts("predictions")]
    same = np.array([texts[one] == texts[other] for one, other in members])
    asked = columns.texts("questions") if "questions" in columns else []

    def mean_where(passes: list[bool]) -> float | None:
        """The mean over the pairs whose questions both pass; None if there are none."""
        chosen = right[np.array(passes)[members].all(axis=1)] if passes else ()
        return float(np.mean(chosen)) if len(chosen) else None

    return {
        "all": float(right.mean()),
        "number": mean_where([kind == NUMBER for kind in columns.groups("answer_types") or []]),
        "count": mean_where([text.lower().startswith(COUNTING) for text in asked]),
        "both_right": float(right.mean()),
        "identical": float(same.mean()),
        "different": float((~same).mean()),
        "stderr": standard_error(right),
        "interval": mean_interval(right),
    }


def _rows_of(pair: Any, index: int, rows: dict[str, int]) -> tuple[int, int]:  # noqa: ANN401  whatever users give
    names = pair if isinstance(pair, list | tuple) and len(pair) == 2 else [None]
    if not all(isinstance(name, str) or is_whole(name) for name in names):
        raise InputError(f"pair {index}: pairs has {pair!r}, expected two question ids")
    for name in names:
        if str(name) not in rows:
            raise InputError(f"pair {index}: pairs has question {name!r}, which is not among the question_ids")
    one, other = (rows[str(name)] for name in names)
    if one == other:
        raise InputError(f"pair {index}: pairs has {pair!r}, expected two different questions")
    return one, other


def _table(result: Mapping[str, Any], matched: Matched) -> ScoreTable:
    lines = [
        line("both right", result["all"], result["interval"]),
        line("both right, of answer type number", result["number"]),
        line('both right, of "how many" questions', result["count"]),
        line("same prediction for both", result["identical"]),
        line("different predictions", result["different"]),
    ]
    needs = {
        "pairs of answer type number": ("answer_type in the annotations", matched.annotations.answer_types),
        'pairs of "how many" questions': (QUESTIONS.flag, matched.annotations.questions),
    }
    missing = {what: needed for what, (needed, column) in needs.items() if column is None}
    return ScoreTable([one for one in lines if one.score], missing=missing)


SCHEME: Scheme = Scheme(
    "vqa_pair_accuracy",
    vqa_pair_accuracy,
    "{pairs:,} balanced pairs",
    columns=("question_ids", "questions", "answer_types"),
    features=(("string", ["string"]), ("string", [{"answer": "string", "answer_id": "int64"}])),
    kinds=(MULTIPLE_CHOICE, VQA),
    references="answers",
    is_default=lambda annotations: True,
    inputs=(PAIRS, QUESTIONS),
    has_protocols=True,
    run=lambda matched: {**SCHEME.call(matched), "pairs": len(matched.inputs[PAIRS.name])},
    show=_table,
)
