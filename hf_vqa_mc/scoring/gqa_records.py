"""Values of GQA's files by question id, and the consistency of answers to questions that entail others."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
    """An id as text; None if it is not an id. A floating-point number that is whole, as in data frames, is one."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) <= EXACT:
        return str(int(value))
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
    demanded: bool,
    form: Callable[[str], str] | None = None,
) -> tuple[float | None, int]:
    """Mean, over the correctly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice. ``right`` is 1 for correct
    answers to the balanced questions; ``records`` and ``answers`` are of all questions, by id. Answers are compared in
    a ``form``. An entailed question that cannot be scored, since it has no record, no prediction or no text in them,
    is an error if ``demanded``; otherwise it is counted.

    Returns:
        A fraction, None if some cannot be scored or no question counts; and the number of those that cannot be scored.
    """
    known = dict(zip(columns["question_ids"], right, strict=True))
    known |= _others(known, records, answers, form)
    means: list[float] = []
    missing: set[str] = set()
    for row, (question_id, listed) in enumerate(zip(columns["question_ids"], columns["entailed"], strict=True)):
        if not isinstance(listed, list | tuple):
            raise columns.wrong(row, "entailed", ENTAILED)
        try:
            found = [known[other] for other in listed if other != question_id]
        except (KeyError, TypeError):  # an id that is not text, or a question that cannot be scored
            ids = [text_id(value) for value in listed]
            if None in ids:
                raise columns.wrong(row, "entailed", ENTAILED) from None
            others = [other for other in ids if other is not None and other != question_id]
            lacking = [other for other in others if other not in known]
            if lacking and demanded:
                raise _unscorable(lacking[0], columns.where(row), records, answers) from None
            missing.update(lacking)
            if lacking:
                continue
            found = [known[other] for other in others]
        if found and right[row]:
            means.append(sum(found) / len(found))
    return sum(means) / len(means) if means and not missing else None, len(missing)


def _others(
    known: Collection[str], records: Mapping[str, Any], answers: Mapping[str, Any], form: Callable[[str], str] | None
) -> dict[str, float]:
    """1 for each question whose answer is correct, 0 for others, of those that are not known yet and can be scored."""
    found = {}
    for question_id in records:
        if question_id not in known and question_id in answers:
            gold, predicted = records[question_id].get("answer"), answers[question_id]
            if isinstance(gold, str) and isinstance(predicted, str):
                found[question_id] = float(gold == predicted if form is None else form(gold) == form(predicted))
    return found


def _unscorable(question_id: str, by: str, records: Mapping[str, Any], answers: Mapping[str, Any]) -> InputError:
    """The error for an entailed question that cannot be scored."""
    remedy = "consistency needs both for every entailed question (or set consistency=False)"
    if question_id not in records or question_id not in answers:
        what = "prediction" if question_id in records else "record among the references"
        return InputError(f"question {question_id!r}, entailed by {by}, has no {what}; {remedy}")
    gold, predicted = records[question_id].get("answer"), answers[question_id]
    field, value = ("predictions", predicted) if isinstance(gold, str) else ("answer", gold)
    return InputError(f"question {question_id!r}: {field} is {shown(value)}, expected text")
