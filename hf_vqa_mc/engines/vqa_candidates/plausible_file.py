"""Files of plausible answers: what people answered to each question without seeing its image."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, list_items, object_items

LONGEST_ANSWER = 200
"""Characters; the longest answer that VQA's annotators gave has 99."""
_BREAKS = ("Cc", "Zl", "Zp")
"""Unicode's categories of characters that end a line or mean something to terminals."""
_EXPECTED = "a json object {question_id: [answer, ...]} or a list of {question_id, answers: [answer, ...]}"


def read_plausible(path: Path) -> dict[str, list[str]]:
    """Answers given without the image, by question id, in the file's order, without spaces around them.

    Args:
        path: of a json file, plain or packed (.gz, .xz, .zip): ``{question_id: [answer, ...]}`` or a list of
            ``{"question_id": ..., "answers": [answer, ...]}``; ids are text or whole numbers, and an answer may be a
            record ``{"answer": text}`` as in VQA's annotation files. An answer is a line of LONGEST_ANSWER characters
            at most.

    Raises:
        InputError: it is no such file; names file, record and field.
    """
    if not path.is_file():
        found = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(f"plausible answers {path}: it {found}; expected {_EXPECTED}")
    readers = {"{": _of_object, "[": _of_list}
    start = first_character(path)
    if start not in readers:
        raise InputError(f"plausible answers {path}: expected {_EXPECTED}, found {shown(start)}")
    answers: dict[str, list[str]] = {}
    for location, question_id, given in readers[start](path):
        if question_id in answers:
            raise InputError(f"{location}: question_id {question_id!r} occurs twice in {path}; leave one")
        answers[question_id] = _checked(given, location)
    if not answers:
        raise InputError(f"plausible answers {path}: no question at all; expected {_EXPECTED}")
    return answers


def _of_object(path: Path) -> Iterator[tuple[str, str, Any]]:
    for batch in object_items(path):
        for question_id, given in batch:
            yield f"{path}, {question_id!r}", question_id, given


def _of_list(path: Path) -> Iterator[tuple[str, str, Any]]:
    position = 0
    for batch in list_items(path):
        for record in batch:
            location = f"{path}, record {position}"
            position += 1
            if not isinstance(record, dict) or not {"question_id", "answers"} <= record.keys():
                raise InputError(f"{location}: expected an object with question_id and answers, found {shown(record)}")
            question_id = record["question_id"]
            if type(question_id) not in (int, str) or question_id == "":
                raise InputError(
                    f"{location}, field 'question_id': expected text or a whole number, found {shown(question_id)}"
                )
            yield location, str(question_id), record["answers"]


def _checked(given: object, location: str) -> list[str]:
    if not isinstance(given, list):
        raise InputError(f"{location}, field 'answers': expected a list of text, found {shown(given)}")
    texts: list[str] = []
    for answer in given:
        text = answer.get("answer") if isinstance(answer, dict) else answer
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"{location}, field 'answers': expected text that is not empty, found {shown(text)}")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"{location}, field 'answers': expected Unicode text, found {shown(text)}") from None
        text = text.strip()
        if any(unicodedata.category(character) in _BREAKS for character in text):
            raise InputError(f"{location}, field 'answers': expected one line of text, found {shown(text)}")
        if len(text) > LONGEST_ANSWER:
            raise InputError(
                f"{location}, field 'answers': expected {LONGEST_ANSWER} characters at most, found {len(text):,}: "
                f"{shown(text)}"
            )
        texts.append(text)
    return texts
