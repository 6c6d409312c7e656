"""Consensus accuracy of VQA v1 and v2: how many of ten annotators gave the same answer."""

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.inputs import QUESTIONS
from hf_vqa_mc.scoring.official import vqa_files
from hf_vqa_mc.scoring.questions import Column, Columns
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, VQA, LetterCase, Matched, Scheme
from hf_vqa_mc.scoring.statistics import Accuracy, accuracy, mean_by
from hf_vqa_mc.scoring.table import ScoreTable, by_type, line
from hf_vqa_mc.scoring.vqa_normalisation import normalised, tidied, without_punctuation

ENOUGH = 3  # matches among the other annotators that make an answer fully correct

QUESTIONS_AT_A_TIME = 20_000  # questions per batch when computing chance

Protocol = Literal["2021", "2017"]


Form = Callable[[str], str]
FORMS: dict[str, tuple[Form, Form, Form, Form]] = {
    "2021": (tidied, normalised, tidied, normalised),
    "2017": (str, without_punctuation, normalised, normalised),
}
"""Normal forms by protocol: of answers if all to a question are equal in it, of other answers; then of predictions."""


class VqaAccuracy(Accuracy):
    """Fractions in [0, 1]; None if a required column is missing."""

    per_question_type: dict[str, float] | None
    per_answer_type: dict[str, float] | None
    per_question: list[float] | None


def vqa_accuracy(
    predictions: Column,
    references: Column,
    *,
    question_types: Column | None = None,
    answer_types: Column | None = None,
    image_ids: Column | None = None,
    choices: Sequence[Sequence[str]] | None = None,
    protocol: Protocol = "2021",
    question_ids: Column | None = None,
    per_question: bool = False,
) -> VqaAccuracy:
    """Mean over the annotators of min(1, matches among the other annotators / 3), as the official program gives it.

    That program rounds to percent with two digits; this does not round.

    Args:
        predictions: text.
        references: each question's answers, usually ten: text, each from a different annotator, or records with
            ``answer``. As in the official program, identical records (after normalising their answers) do not count as
            other annotators of each other; distinct values of ``answer_id`` prevent that.
        question_types: for `per_question_type`.
        answer_types: for `per_answer_type`.
        image_ids: clusters for the standard error.
        choices: each question's choices; a prediction that is not among them, as given, is an error, except for "",
            which picks none and is wrong.
        protocol: the official program of 2021 or that of 2017, which normalise differently.
        question_ids: names of the questions in errors.
        per_question: also give each question's score.

    Raises:
        InputError: names the question and the field.

    >>> answers = ["red"] * 2 + ["dark red"] * 8
    >>> vqa_accuracy(["red", "Dark-red."], [answers, answers], per_question=True)["per_question"]
    [0.6, 1.0]
    """
    types = {"question_types": question_types, "answer_types": answer_types}
    given = {"predictions": predictions, "references": references}
    columns = Columns(given, question_ids, choices=choices, **types, image_ids=image_ids)
    if "choices" in columns:
        listed = columns.lists("choices", "text")
        for row, (prediction, texts) in enumerate(zip(columns.texts("predictions"), listed, strict=True)):
            if prediction and prediction not in texts:
                raise columns.wrong(row, "predictions", f"one of its choices {texts}")
    scores = consensus(columns, protocol)
    return {
        **accuracy(scores, columns.groups("image_ids")),
        "per_question_type": mean_by(scores, columns.groups("question_types")),
        "per_answer_type": mean_by(scores, columns.groups("answer_types")),
        "per_question": scores.tolist() if per_question else None,
    }


def consensus(columns: Columns, protocol: str) -> NDArray[np.float64]:
    """Each question's consensus accuracy, float64 (questions,) in [0, 1], by a protocol of ``FORMS``."""
    if not isinstance(protocol, str) or protocol not in FORMS:
        raise InputError(f"protocol is {shown(protocol)}, expected {' or '.join(map(repr, FORMS))}")
    forms = FORMS[protocol]
    numbers: dict[str, int] = defaultdict(count().__next__)  # 0, 1, ... in the order of first lookups
    lists = columns.lists("references", "answers", of_text=False)
    try:
        found = ([one["answer"] for one in of] if isinstance(of[0], dict) else of for of in lists)
        texts = list(chain.from_iterable(found))
    except (KeyError, TypeError):  # a record without answer, or text among records
        texts = [None]
    for row, answers in enumerate(lists) if not set(map(type, texts)) <= {str} else ():
        kept = [one.get("answer") for one in answers] if all(isinstance(one, dict) for one in answers) else answers
        if not all(isinstance(text, str) for text in kept):
            raise columns.wrong(row, "references", "a list of text, or of records with text in answer")
    agreed_answers, free_answers = _numbered(texts, *forms[:2], numbers)
    agreed_predictions, free_predictions = _numbered(columns.texts("predictions"), *forms[2:], numbers)
    sizes = np.array([len(listed) for listed in columns["references"]])
    starts = np.cumsum(sizes) - sizes
    agreed = np.minimum.reduceat(agreed_answers, starts) == np.maximum.reduceat(agreed_answers, starts)
    answered = np.where(np.repeat(agreed, sizes), agreed_answers, free_answers)
    right = answered == np.repeat(np.where(agreed, agreed_predictions, free_predictions), sizes)
    matches = np.add.reduceat(right, starts, dtype=np.int64)
    others = np.repeat(matches, sizes) - right * _equal_records(columns, right, starts, matches)
    scores: NDArray[np.float64] = np.add.reduceat(np.minimum(others / ENOUGH, 1.0), starts) / sizes
    return scores


def _numbered(texts: list[str], agreed: Form, free: Form, numbers: dict[str, int]) -> list[NDArray[np.int64]]:
    """Ids of both normal forms of each text, int64 (texts,) each; equal text has equal ids."""
    indices: dict[str, int] = defaultdict(count().__next__)
    index = np.fromiter(map(indices.__getitem__, texts), np.int64, len(texts))
    return [np.array([numbers[form(text)] for text in indices])[index] for form in (agreed, free)]


def _equal_records(
    columns: Columns, right: NDArray[np.bool_], starts: NDArray[np.int64], matches: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number of records equal to each matching record, itself included, int64 (answers,); 1 where answers are text."""
    twins = np.ones(len(right), np.int64)
    for row in np.flatnonzero(matches > 1).tolist():
        records = columns["references"][row]
        try:
            is_distinct = len({one["answer_id"] for one in records}) == len(records)
        except (KeyError, TypeError):  # no answer_id, or text
            is_distinct = not isinstance(records[0], dict)
        if not is_distinct:
            indices = starts[row] + np.flatnonzero(right[starts[row] : starts[row] + len(records)])
            rests = [{**records[index - starts[row]], "answer": ""} for index in indices]
            try:
                twins[indices] = [rests.count(rest) for rest in rests]
            except ValueError:  # NumPy's error when comparing arrays
                raise columns.wrong(row, "references", "records of plain values, no arrays") from None
    return twins


def _run(matched: Matched) -> Mapping[str, Any]:
    result, choices, answers = SCHEME.call(matched), matched.annotations.choices, matched.annotations.answers or []
    if choices is not None:
        sizes = np.array([len(texts) for texts in choices])
        scores = choice_consensus(choices, answers, matched.protocol)  # the mean of a question's choices, then of all
        return {**result, "chance": float(np.sum(scores / np.repeat(sizes, sizes))) / len(sizes)}
    rows = [row for row, text in enumerate(matched.texts) if text is not None and text != text.lower()]
    lowered = [str(matched.texts[row]).lower() for row in rows]
    better = _scores(lowered, [answers[row] for row in rows], matched.protocol) if rows else ()
    higher = sum(score > result["per_question"][row] for row, score in zip(rows, better, strict=True))
    if higher:
        text = (
            f"{higher:,} predictions differ from the annotators' answer in letter case only and count as wrong: where "
            "all annotators agree, this protocol is case-sensitive; see the card of vqa_accuracy"
        )
        warnings.warn(LetterCase(text), stacklevel=2)
    return {**result, "chance": None}


def choice_consensus(
    choices: Sequence[Sequence[str]], references: Sequence[Any], protocol: str = "2021"
) -> NDArray[np.float64]:
    """The consensus accuracy of all choices of all questions, one after another, float64 (choices,) in [0, 1].

    >>> choice_consensus([["red", "blue"]], [["red"] * 3 + ["blue"] * 7]).round(2).tolist()
    [0.9, 1.0]
    """
    found = []
    for start in range(0, len(choices), QUESTIONS_AT_A_TIME):
        some = range(start, min(start + QUESTIONS_AT_A_TIME, len(choices)))
        texts = [text for row in some for text in choices[row]]
        found.append(_scores(texts, [references[row] for row in some for _ in choices[row]], protocol))
    return np.concatenate(found)


def _scores(predictions: list[str], references: list[Any], protocol: str) -> NDArray[np.float64]:
    return consensus(Columns({"predictions": predictions, "references": references}), protocol)


def _table(result: Mapping[str, Any], matched: Matched) -> ScoreTable:
    annotations, chance = matched.annotations, result.get("chance")
    overall = line("accuracy", result["accuracy"], result["interval"], other=chance, questions=len(annotations))
    by_answer_type = by_type("by answer type", result["per_answer_type"], annotations.answer_types)
    by_question_type = by_type("by question type", result["per_question_type"], annotations.question_types)
    return ScoreTable([overall, *by_answer_type, *by_question_type], "chance" if chance is not None else "")


SCHEME = Scheme(
    "vqa_accuracy",
    vqa_accuracy,
    "agreement with the annotators",
    columns=("question_types", "answer_types", "image_ids", "choices", "question_ids"),
    features=(("string", ["string"]), ("string", [{"answer": "string", "answer_id": "int64"}])),
    kinds=(MULTIPLE_CHOICE, VQA),
    references="answers",
    is_default=lambda annotations: True,
    inputs=(QUESTIONS,),
    has_protocols=True,
    run=_run,
    show=_table,
    official=vqa_files,
)
