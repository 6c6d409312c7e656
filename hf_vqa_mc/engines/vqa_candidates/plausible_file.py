"""Files of plausible answers: what people answered to each question without seeing its image."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.records import check_texts, read_records

_EXPECTED = "a JSON object {question_id: [answer, ...]} or a list of {question_id, answers: [answer, ...]}"


def read_plausible(path: Path) -> dict[str, list[str]]:
    """Read answers given without the image, by question id, in the file's order and stripped of spaces.

    Args:
        path: a JSON file, plain or packed (.gz, .xz, .zip): ``{question_id: [answer, ...]}`` or a list of
            ``{"question_id": ..., "answers": [answer, ...]}``; ids are text or whole numbers, and an answer may be a
            record ``{"answer": text}`` as in VQA's annotation files.

    Raises:
        InputError: the file is not of this form; names file, record and field.
    """
    answers: dict[str, list[str]] = {}
    for location, question_id, given in _rows(path):
        answers[question_id] = _checked(given, f"{location}, field 'answers'")
    if not answers:
        raise InputError(f"plausible answers {path}: no questions; expected {_EXPECTED}")
    return answers


def _rows(path: Path) -> Iterator[tuple[str, str, Any]]:
    """The location, question id and answers of each record."""
    start = first_character(path)
    if start == "{":
        for batch in object_items(path):
            yield from ((f"{path}, {question_id!r}", question_id, given) for question_id, given in batch)
    elif start == "[":
        for records in read_records(path):
            columns = zip(records.ids("question_id"), records.column("answers"), strict=True)
            yield from ((records.location(at), *row) for at, row in enumerate(columns))
    else:
        raise InputError(f"plausible answers {path}: expected {_EXPECTED}, found {shown(start)}")


def _checked(given: object, location: str) -> list[str]:
    if not isinstance(given, list):
        raise InputError(f"{location}: expected a list of text, found {shown(given)}")
    found = [answer.get("answer") if isinstance(answer, dict) else answer for answer in given]
    check_texts(found, lambda _: location)
    texts = [str(text).strip() for text in found]
    if "" in texts:
        raise InputError(f"{location}: an answer is empty; remove it")
    return texts
