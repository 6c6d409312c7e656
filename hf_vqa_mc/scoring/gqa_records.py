"""Values of GQA's files by question id, and the consistency of answers to questions that entail others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import Questions, is_whole

ById = Iterable[Mapping[str, Any]] | Mapping[str, Any] | Mapping[int, Any]
"""A list of records, each with its question's id, or a mapping from id to value."""

ENTAILED = "a list of question ids (or set consistency=False)"
ID_FIELDS = ("question_id", "questionId")
RECORD = (dict, Mapping)
"""Types of a record; dict first, because isinstance with it is four times as fast as with Mapping."""


def by_question_id(name: str, given: ById, field: str | None = None, once: bool = False) -> dict[str, Any]:
    """Values by question id as text: 201 and "201" are the same question.

    Messages use ``name``; in a list, the value is a field of a record, or all of it. If a question occurs twice, the
    last value counts, as in the official program; with ``once`` it is an error.

    >>> by_question_id("predictions", [{"questionId": 201, "prediction": "yes"}], "prediction")
    {'201': 'yes'}
    """
    if isinstance(given, Mapping):
        if set(map(type, given)) <= {str}:
            return dict(given)
        pairs = ((_id(f"{name}: a key", key), value) for key, value in given.items())
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"{name} is {type(given).__name__}, expected a list of records or a mapping by question id")
    else:
        pairs = (_pair(name, row, record, field) for row, record in enumerate(given))
    found: dict[str, Any] = {}
    for question_id, value in pairs:
        if once and question_id in found:
            raise InputError(f"question {question_id!r} occurs more than once in {name}")
        found[question_id] = value
    return found


def text_id(value: object) -> str | None:
    """An id as text; None if it is not an id."""
    if isinstance(value, str):
        return value
    return str(value) if is_whole(value) else None


def _pair(name: str, row: int, record: object, field: str | None) -> tuple[str, Any]:
    if not isinstance(record, RECORD):
        raise InputError(f"{name}, row {row}, is {shown(record)}, expected a record with {' or '.join(ID_FIELDS)}")
    id_field = "question_id" if "question_id" in record else "questionId"
    if id_field not in record:
        raise InputError(f"{name}, row {row}, has no {' or '.join(ID_FIELDS)}")
    question_id = record[id_field]
    if not isinstance(question_id, str):
        question_id = _id(f"{name}, row {row}: {id_field}", question_id)
    if field is None:
        return question_id, record
    if field not in record:
        raise InputError(f"{name}, row {row}: question {question_id!r} has no {field}")
    return question_id, record[field]


def _id(where: str, value: object) -> str:
    found = text_id(value)
    if found is None:
        raise InputError(f"{where} is {shown(value)}, expected text or a whole number")
    return found


def consistency_score(
    columns: Questions,
    right: Sequence[float],
    records: Mapping[str, Any],
    answers: Mapping[str, Any],
    demanded: bool | None,
) -> float | None:
    """Mean, over the correctly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice. ``right`` is 1 for correct
    answers to the balanced questions; ``records`` and ``answers`` are of all questions, by id. A missing record or
    prediction of an entailed question is an error if ``demanded``, or if that is None and a question that is not
    balanced has a prediction.

    Returns a fraction; None if ``demanded`` is False, something is missing without error, or no question counts.
    """
    if not isinstance(demanded, bool | None):
        raise InputError(f"consistency is {demanded!r}, expected True, False or None")
    if demanded is False:
        return None
    known = dict(zip(columns["question_ids"], right, strict=True))
    unbalanced = [question_id for question_id in records if question_id not in known and question_id in answers]
    known |= {question_id: _is_right(question_id, records, answers) for question_id in unbalanced}
    means = []
    for row, (question_id, listed) in enumerate(zip(columns["question_ids"], columns["entailed"], strict=True)):
        if not isinstance(listed, list | tuple):
            raise columns.wrong(row, "entailed", ENTAILED)
        try:
            found = [known[other] for other in listed if other != question_id]
        except (KeyError, TypeError):  # an id that is not text, or a question without record or prediction
            ids = [text_id(value) for value in listed]
            if None in ids:
                raise columns.wrong(row, "entailed", ENTAILED) from None
            others = [other for other in ids if other != question_id]
            missing = [other for other in others if other not in known]
            if missing and not (bool(unbalanced) if demanded is None else demanded):
                return None
            if missing:
                what = "prediction" if missing[0] in records else "record among the references"
                raise InputError(
                    f"question {missing[0]!r}, entailed by {columns.where(row)}, has no {what}; consistency needs "
                    "both for every entailed question (or set consistency=False)"
                ) from None
            found = [known[other] for other in others]
        if found and right[row]:
            means.append(sum(found) / len(found))
    return sum(means) / len(means) if means else None


def _is_right(question_id: str, records: Mapping[str, Any], answers: Mapping[str, Any]) -> bool:
    gold, predicted = records[question_id].get("answer"), answers[question_id]
    for field, value in (("answer", gold), ("predictions", predicted)):
        if not isinstance(value, str):
            raise InputError(f"question {question_id!r}: {field} is {shown(value)}, expected text")
    return bool(gold == predicted)
