"""GQA's consistency: whether a model that answers a question correctly also answers what follows from it correctly."""

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
    """Mean, over the correctly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice.

    Args:
        asked: the balanced questions, with `entailed`.
        right: whether each is answered correctly.
        records: all questions, by id.
        answers: all predictions, by id.
        demanded: whether a missing record or prediction of an entailed question is an error; None: it is where a
            question that is not balanced has a prediction.

    Returns:
        A fraction; None where something is missing and not demanded, or no question counts.
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
            ids = [text_id(value) for value in listed]
            if None in ids:
                raise asked.wrong(row, "entailed", EXPECTED) from None
            others = [other for other in ids if other != question_id]
            missing = [other for other in others if other not in known]
            if missing and not (bool(unbalanced) if demanded is None else demanded):
                return None
            if missing:
                what = "prediction" if missing[0] in records else "record among the references"
                raise InputError(
                    f"question {missing[0]!r}, entailed by {asked.where(row)}, has no {what}; consistency needs both "
                    "for every entailed question (consistency=False leaves it out)"
                ) from None
            found = [known[other] for other in others]
        if found and right[row]:
            means.append(sum(found) / len(found))
    return sum(means) / len(means) if means else None


def _is_right(question_id: str, records: Mapping[str, Any], answers: Mapping[str, Any]) -> bool:
    """Whether a question that is not balanced is answered correctly."""
    gold, predicted = records[question_id].get("answer"), answers[question_id]
    for field, value in (("answer", gold), ("predictions", predicted)):
        if not isinstance(value, str):
            raise InputError(f"question {question_id!r}: {field} is {shown(value)}, expected text")
    return bool(gold == predicted)
