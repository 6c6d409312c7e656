"""Values of GQA's files by question id."""

from collections.abc import Iterable, Mapping
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.questions import is_whole

ById = Iterable[Mapping[str, Any]] | Mapping[str, Any] | Mapping[int, Any]
"""A list of records, each with its question's id, or a mapping from id to value."""

ID_FIELDS = ("question_id", "questionId")
RECORD = (dict, Mapping)
"""what isinstance takes for a record; it finds out about a dict four times as fast by the first"""


def by_question_id(name: str, given: ById, field: str | None = None, once: bool = False) -> dict[str, Any]:
    """The value of each question, by its id as text: 201 and "201" are one question.

    Args:
        name: what messages call it.
        given: where a question comes twice, the last counts, as in the official program.
        field: of the value in a record of a list; None for the record as a whole.
        once: whether a question that comes twice is an error.

    Raises:
        InputError: names the row or the question, and the field.

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
            raise InputError(f"question {question_id!r} comes more than once in {name}")
        found[question_id] = value
    return found


def text_id(value: object) -> str | None:
    """An id as text; None for what is no id."""
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
