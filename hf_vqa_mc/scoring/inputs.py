"""Input files of schemes other than predictions and annotations."""

import csv
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character, object_items
from hf_vqa_mc.io.packed import opened, text_lines
from hf_vqa_mc.io.records import Records, read_records

if TYPE_CHECKING:
    from hf_vqa_mc.scoring.scheme import Annotations


@dataclass(frozen=True)
class Input:
    """An input file of a scheme."""

    name: str  # name of the function's argument, and on the command line
    read: Callable[[Path, "Annotations"], Any]
    what: str = ""  # content of the file, for messages
    required: bool = False
    kinds: tuple[str, ...] = ()  # names of the kinds of annotations that it applies to; empty for all

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--inputs {self.name}"


def read_questions(path: Path, annotations: "Annotations") -> tuple[list[str], list[list[str]] | None]:
    """The texts, and choices of the multiple-choice task, from a VQA or TDIUC questions file, as the annotations.

    Questions that have no annotation are ignored; raises InputError if one is missing.
    """
    names, wanted = annotations.names, set(annotations.names)
    texts: dict[str, str] = {}
    choices: dict[str, list[str]] = {}
    for records in read_records(path, None if first_character(path) == "[" else "questions"):
        columns: list[tuple[dict[str, Any], list[Any]]] = [(texts, records.texts("question"))]
        if "multiple_choices" in records.rows[0]:
            columns.append((choices, records.text_lists("multiple_choices")))
            records.checked("multiple_choices", bool, "a list of text")
        for column, values in columns:
            pairs = zip(records.ids("question_id"), values, strict=True)
            column |= {name: value for name, value in pairs if name in wanted}
    for found, what in ((texts, "question"), (choices or texts, "multiple_choices of question")):
        missing = [name for name in names if name not in found]
        if missing:
            raise InputError(f"{path}: no {what} {missing[0]!r} ({len(missing):,} of {len(names):,} are missing)")
    return [texts[name] for name in names], [choices[name] for name in names] if choices else None


def read_pairs(path: Path, annotations: "Annotations | None" = None) -> list[list[int | str]]:
    """Read the balanced pairs of VQA2's ``complementary_pairs`` files: a list of two question ids each."""
    pairs: list[list[int | str]] = []
    for records in read_records(path):
        for row, pair in enumerate(records.rows):
            if type(pair) is not list or len(pair) != 2 or not all(type(name) in (int, str) for name in pair):
                raise InputError(f"{records.location(row)}: expected two question ids, found {shown(pair)}")
        pairs += records.rows
    return pairs


def read_vocabulary(path: Path, annotations: "Annotations | None" = None) -> list[str]:
    """Read a model's answers: csv of ``answer,index`` as TDIUC's answer key, or a json list of text."""
    if first_character(path) == "[":
        answers: list[Any] = [answer for records in read_records(path) for answer in records.rows]
        for number, answer in enumerate(answers, 1):
            if not isinstance(answer, str):
                raise InputError(f"{path}, record {number}: expected text, found {shown(answer)}")
        return answers
    with opened(path) as stream:
        rows = [row for row in csv.reader(text_lines(stream, str(path))) if row]
    rows = rows[1:] if rows[:1] == [["answer", "index"]] else rows
    for number, row in enumerate(rows, 1):
        if len(row) != 2 or not row[1].strip().isdigit():
            raise InputError(f"{path}, answer {number}: expected answer,index, found {shown(','.join(row))}")
    if not rows:
        raise InputError(f"{path}: found no answers")
    return [row[0] for row in rows]


def read_by_id(
    path: Path,
    annotations: "Annotations",
    option: str = "--inputs attentions",
    what: str = "question",
    fields: Collection[str] = (),
) -> dict[str, Any]:
    """Records with some fields, or attention maps, of the scored questions or their images, by id.

    Maps are by id, or in records of ``questionId`` and ``attention``.
    """
    expected = f"each {what}'s {'record with ' + ' and '.join(fields) if fields else 'map'}"
    images = annotations.column("image_ids") or [] if what == "image" else annotations.scored
    found, name, kept = {}, None, set(map(str, images))
    try:
        is_list = not fields and first_character(path) == "["
        lists = (_pairs(records) for records in read_records(path)) if is_list else object_items(path)
        for name, value in chain.from_iterable(lists):
            if not (isinstance(value, dict) and value.keys() >= {*fields} if fields else isinstance(value, list)):
                raise InputError(f"{path}, {name!r}: expected {expected}, found {shown(value)}")
            if name in kept:
                found[name] = value
    except InputError as error:
        raise InputError(f"{option}={error}") from error
    if kept and not found:
        wanted = f"{len(kept):,} {what}s of {annotations.location}"
        raise InputError(f"{option}={path}: found none of {wanted}; the last one in the file is {name!r}")
    return found


def _pairs(records: Records) -> Iterable[tuple[str, Any]]:
    first = records.rows[0]
    name = "question_id" if isinstance(first, dict) and "question_id" in first else "questionId"
    return zip(records.ids(name), records.column("attention"), strict=True)


QUESTIONS = Input("questions", read_questions, kinds=("vqa", "tdiuc"))
"""VQA: choices of the multiple-choice task, and questions for pairs; TDIUC: questions absurd for other images."""
PAIRS = Input("pairs", read_pairs, "the list of balanced pairs", required=True)
"""VQA2; not needed with the rows of vqa2_pairs, which hold them."""
ANSWER_VOCABULARY = Input("answer_vocabulary", read_vocabulary)  # TDIUC: answers that the model can give
CHOICES: Input = Input(
    "choices", lambda path, found: read_by_id(path, found, CHOICES.flag, fields=("plausible", "valid"))
)
"""GQA, for validity and plausibility."""
ATTENTIONS = Input("attentions", read_by_id, "grounding")
SCENE_GRAPHS = Input(
    "scene_graphs",
    lambda path, found: read_by_id(path, found, "--inputs scene_graphs", "image", ("objects",)),
    "grounding",
)
"""GQA, both for grounding."""
