"""The files beside what was asked: question texts, balanced pairs, answer vocabularies, GQA's choices and maps."""

import csv
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.metrics.asked import Asked


@dataclass(frozen=True)
class Beside:
    """Files that some schemes take; None where not given. Named as the options are."""

    questions: Path | None = None
    pairs: Path | None = None
    answer_vocabulary: Path | None = None
    choices: Path | None = None
    attentions: Path | None = None
    scene_graphs: Path | None = None

    def given(self) -> dict[str, Path]:
        """Those that were given."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: path for name, path in named.items() if path is not None}


def option_of(name: str) -> str:
    """The option that gives a file of ``Beside``.

    >>> option_of("scene_graphs")
    '--scene-graphs'
    """
    return f"--{name.replace('_', '-')}"


class ById(NamedTuple):
    """What a file of GQA tells of each question or image."""

    option: str
    of: Literal["question", "image"]
    """whose ids these are"""
    fields: frozenset[str]
    """of each record; empty where it is a list"""


CHOICES = ById("--choices", "question", frozenset({"valid", "plausible"}))
ATTENTIONS = ById("--attentions", "question", frozenset())
SCENE_GRAPHS = ById("--scene-graphs", "image", frozenset({"objects"}))


class QuestionTexts(NamedTuple):
    """In the order of what was asked."""

    texts: list[str]
    choices: list[list[str]] | None
    """of the multiple-choice task's files"""


def read_question_texts(path: Path, asked: Asked) -> QuestionTexts:
    """The questions of a VQA or TDIUC questions file; those that were not asked are left out.

    Raises:
        InputError: a question has no text there; names the question.
    """
    wanted = set(asked.names)
    texts: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    for records in read_records(path, None if first_character(path) == "[" else "questions"):
        ids = records.ids("question_id")
        with_choices = "multiple_choices" in records.rows[0]
        listed = records.lists("multiple_choices") if with_choices else [None] * len(ids)
        for position, (name, text, of_one) in enumerate(zip(ids, records.texts("question"), listed, strict=True)):
            if name not in wanted:
                continue
            texts[name] = text
            if of_one is not None:
                if not of_one or not all(isinstance(choice, str) for choice in of_one):
                    raise records.unexpected(position, "multiple_choices", "a list of text", of_one)
                choices[name] = of_one
    _check_whole(asked.names, texts, f"{path}: no question")
    if choices:
        _check_whole(asked.names, choices, f"{path}: no multiple_choices of question")
    return QuestionTexts(
        [texts[name] for name in asked.names], [choices[name] for name in asked.names] if choices else None
    )


def read_pairs(path: Path) -> list[list[int | str]]:
    """The balanced pairs of VQA2's ``complementary_pairs`` files: a list of two question ids each.

    Raises:
        InputError: names the pair.
    """
    pairs: list[list[int | str]] = []
    for records in read_records(path):
        for position, pair in enumerate(records.rows):
            if type(pair) is not list or len(pair) != 2 or not all(type(name) in (int, str) for name in pair):
                raise InputError(f"{records.place(position)}: expected two question ids, found {shown(pair)}")
        pairs += records.rows
    return pairs


def read_vocabulary(path: Path) -> list[str]:
    """The answers that a model can give: csv of ``answer,index`` as TDIUC's answer key, or a json list of text.

    Raises:
        InputError: names the line.
    """
    if first_character(path) == "[":
        answers: list[Any] = [answer for records in read_records(path) for answer in records.rows]
        for position, answer in enumerate(answers):
            if not isinstance(answer, str):
                raise InputError(f"{path}, record {position}: expected text, found {shown(answer)}")
        return answers
    with unpacked(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", newline="") as lines:
        try:
            rows = [row for row in csv.reader(lines, strict=True) if row]
        except (csv.Error, UnicodeDecodeError) as error:
            raise InputError(f"{path}: not csv in UTF-8 ({error}); expected answer,index or a json list") from None
    if rows and rows[0][:1] == ["answer"] and not (rows[0][1:] and rows[0][1].isdigit()):
        rows = rows[1:]
    for number, row in enumerate(rows, 1):
        if len(row) != 2 or not row[1].strip().isdigit():
            raise InputError(f"{path}, answer {number}: expected answer,index, found {shown(','.join(row))}")
    if not rows:
        raise InputError(f"{path}: there is no answer in it")
    return [row[0] for row in rows]


def read_by_id(path: Path, wanted: Collection[str], what: ById) -> dict[str, Any]:
    """What a file of GQA tells of some ids: its choices, attention maps or scene graphs.

    Args:
        path: an object id -> value; or, of attention maps, a list of records with ``questionId`` and ``attention``.
        wanted: the ids to keep.
        what: it should tell.

    Raises:
        InputError: the file is another one; names option, file and record.
    """
    found, name = {}, None
    try:
        for name, value in _listed(path) if what is ATTENTIONS and first_character(path) == "[" else _mapped(path):
            _check_told(value, what, f"{path}, {name!r}")
            if name in wanted:
                found[name] = value
    except InputError as error:
        raise InputError(f"{what.option} {error}") from error
    if wanted and not found:
        raise InputError(
            f"{what.option} {path}: it tells of none of the {len(wanted):,} {what.of}s that are asked; "
            f"the last that it tells of is {name!r}"
        )
    return found


def _check_told(value: object, what: ById, place: str) -> None:
    """Nothing, if it is what such a file tells."""
    if what.fields and not (isinstance(value, dict) and what.fields <= value.keys()):
        expected = f"each {what.of}'s record with {' and '.join(sorted(what.fields))}"
        raise InputError(f"{place}: expected {expected}, found {shown(value)}")
    if not what.fields and not isinstance(value, list):
        raise InputError(f"{place}: expected each {what.of}'s map, found {shown(value)}")


def _mapped(path: Path) -> Iterator[tuple[str, Any]]:
    for batch in object_items(path):
        yield from batch


def _listed(path: Path) -> Iterator[tuple[str, Any]]:
    for records in read_records(path):
        name = (
            "question_id" if isinstance(records.rows[0], dict) and "question_id" in records.rows[0] else "questionId"
        )
        yield from zip(records.ids(name), records.column("attention"), strict=True)


def _check_whole(names: list[str], found: Collection[str], what: str) -> None:
    lacking = [name for name in names if name not in found]
    if lacking:
        raise InputError(f"{what} {lacking[0]!r}, which is asked ({len(lacking):,} of {len(names):,} are not there)")
