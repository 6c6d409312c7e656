"""Values of GQA's files by question id, and the consistency of answers to questions that entail others."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import Questions, is_whole

ById = Iterable[Mapping[str, Any]] | Mapping[str, Any] | Mapping[int, Any]
"""A list of records, each with its question's id, or a mapping from id to value."""

EXACT = 2**53
"""Whole numbers up to this one are exact as floating-point numbers."""
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
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise InputError(f"{name} is {type(given).__name__}, expected a list of records or a mapping by question id")
    if isinstance(given, Mapping) and set(map(type, given)) <= {str}:
        return dict(given)
    is_mapping = isinstance(given, Mapping)
    found: dict[str, Any] = {}
    for row, value in enumerate(given.items() if isinstance(given, Mapping) else given):
        where, key, content = (f"{name}: a key", *value) if is_mapping else _record(f"{name}, row {row}", value)
        question_id = text_id(key)
        if question_id is None:
            raise InputError(f"{where} is {shown(key)}, expected text or a whole number")
        if once and question_id in found:
            raise InputError(f"question {question_id!r} occurs more than once in {name}")
        if field is not None and not is_mapping and field not in content:
            raise InputError(f"{name}, row {row}: question {question_id!r} has no {field}")
        found[question_id] = content if field is None or is_mapping else content[field]
    return found


def _record(where: str, record: Any) -> tuple[str, Any, Any]:  # noqa: ANN401  whatever users give
    """Location and value of a record's id, and the record."""
    for name in ID_FIELDS if isinstance(record, RECORD) else ():
        if name in record:
            return f"{where}: {name}", record[name], record
    raise InputError(f"{where}, is {shown(record)}, expected a record with {' or '.join(ID_FIELDS)}")


def text_id(value: object) -> str | None:
    """An id as text; None if it is not an id. A floating-point number that is whole, as in data frames, is one."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return str(int(value))
    return str(value) if is_whole(value) else None


def consistency_score(
    columns: Questions, right: Sequence[float], records: Mapping[str, Any], answers: Mapping[str, Any], demanded: bool
) -> tuple[float | None, int]:
    """Mean, over the correctly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice. ``right`` is 1 for correct
    answers to the balanced questions; ``records`` and ``answers`` are of all questions, by id. An entailed question
    that cannot be scored, since it has no record, no prediction or no text in them, is an error if ``demanded``;
    otherwise it is counted.

    Returns:
        A fraction, None if some cannot be scored or no question counts; and the number of those that cannot be scored.
    """
    known = dict(zip(columns["question_ids"], right, strict=True))
    for name in (name for name in records if name not in known and name in answers):
        gold, predicted = records[name].get("answer"), answers[name]
        if isinstance(gold, str) and isinstance(predicted, str):
            known[name] = float(gold == predicted)
    means: list[float] = []
    missing: set[str] = set()
    for row, (question_id, listed) in enumerate(zip(columns["question_ids"], columns["entailed"], strict=True)):
        ids: Sequence[Any] = listed if isinstance(listed, list | tuple) else [None]
        if not set(map(type, ids)) <= {str}:
            ids = list(map(text_id, ids))
            if None in ids:
                raise columns.wrong(row, "entailed", ENTAILED)
        found = [known.get(other, math.nan) for other in ids if other != question_id]
        if math.nan in found:
            lacking = [other for other in ids if other != question_id and other not in known]
            if demanded:
                raise _unscorable(lacking[0], columns.where(row), records, answers)
            missing.update(lacking)
        elif found and right[row]:
            means.append(sum(found) / len(found))
    return sum(means) / len(means) if means and not missing else None, len(missing)


def _unscorable(question_id: str, by: str, records: Mapping[str, Any], answers: Mapping[str, Any]) -> InputError:
    """The error for an entailed question that cannot be scored."""
    remedy = "consistency needs both for every entailed question (or set consistency=False)"
    if question_id not in records or question_id not in answers:
        what = "prediction" if question_id in records else "record among the references"
        return InputError(f"question {question_id!r}, entailed by {by}, has no {what}; {remedy}")
    gold, predicted = records[question_id].get("answer"), answers[question_id]
    field, value = ("predictions", predicted) if isinstance(gold, str) else ("answer", gold)
    return InputError(f"question {question_id!r}: {field} is {shown(value)}, expected text")
