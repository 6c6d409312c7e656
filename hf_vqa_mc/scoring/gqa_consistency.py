"""GQA's consistency: whether a model that answers a question rightly also does so where the answer follows from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.gqa_records import text_id
from hf_vqa_mc.scoring.questions import Questions

EXPECTED = "a list of question ids (consistency=False leaves it out)"


def consistency_score(
    asked: Questions,
    right: Sequence[bool],
    records: Mapping[str, Any],
    answers: Mapping[str, Any],
    demanded: bool | None = None,
) -> float | None:
    """Mean, over the rightly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice.

    Args:
        asked: the balanced questions, with `entailed`.
        right: whether each is answered rightly.
        records: all questions, by id.
        answers: all predictions, by id.
        demanded: whether it is an error that an entailed question has no record or no prediction; None: it is where a
            question that is not balanced has a prediction.

    Returns:
        A fraction; None where a record or a prediction lacks and nothing is demanded, or no question counts.

    Raises:
        InputError: names the first entailed question that lacks something, and whose it is.
    """
    known = dict(zip(asked["question_ids"], right, strict=True))
    unbalanced = [question_id for question_id in records if question_id not in known and question_id in answers]
    known |= {question_id: _is_right(question_id, records, answers) for question_id in unbalanced}
    means = []
    for row, (question_id, listed) in enumerate(zip(asked["question_ids"], asked["entailed"], strict=True)):
        if not isinstance(listed, list | tuple):
            raise asked.wrong(row, "entailed", EXPECTED)
        try:
            found = [known[other] for other in listed if other != question_id]
        except (KeyError, TypeError):  # an id that is no text, or one of a question without record or prediction
            others = [other for other in _text_ids(asked, row) if other != question_id]
            lacking = [other for other in others if other not in known]
            if lacking and not (bool(unbalanced) if demanded is None else demanded):
                return None
            if lacking:
                raise _lacks(lacking[0], asked.where(row), records) from None
            found = [known[other] for other in others]
        if found and right[row]:
            means.append(sum(found) / len(found))
    return sum(means) / len(means) if means else None


def _text_ids(asked: Questions, row: int) -> list[str]:
    ids = [text_id(value) for value in asked["entailed"][row]]
    known = [question_id for question_id in ids if question_id is not None]
    if len(known) < len(ids):
        raise asked.wrong(row, "entailed", EXPECTED)
    return known


def _lacks(question_id: str, entailing: str, records: Mapping[str, Any]) -> InputError:
    what = "prediction" if question_id in records else "record among the references"
    return InputError(
        f"question {question_id!r}, entailed by {entailing}, has no {what}; consistency needs both for every entailed"
        " question (consistency=False leaves it out)"
    )


def _is_right(question_id: str, records: Mapping[str, Any], answers: Mapping[str, Any]) -> bool:
    """Whether a question that is not balanced is answered rightly."""
    gold, predicted = records[question_id].get("answer"), answers[question_id]
    for field, value in (("answer", gold), ("predictions", predicted)):
        if not isinstance(value, str):
            raise InputError(f"question {question_id!r}: {field} is {shown(value)}, expected text")
    return bool(gold == predicted)
