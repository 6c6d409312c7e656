"""Publishers' annotation files, recognised by content: VQA, TDIUC and GQA."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.scoring.official import PACKED
from hf_vqa_mc.scoring.predictions import FIRST_FIELD, HEADER_FIELDS
from hf_vqa_mc.scoring.scheme import GQA, TDIUC, VQA, Annotations
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.source import generated_by

ACCEPTED = (
    "a dataset folder of vqa-mc build, a benchmark that vqa-mc audit reads, or an annotation file: VQA or TDIUC "
    'annotations ({"annotations": [...]} or the list), GQA questions ({id: record}, or a folder with several of them)'
)

_HEAD = 1 << 16
_BALANCED_FIELDS = ("answer", "isBalanced", "imageId", "question", "types", "groups", "semantic", "entailed")
_UNBALANCED_FIELDS = ("answer", "isBalanced")
_VQA_TEXTS = ("question_type", "answer_type", "multiple_choice_answer")
_ABOUT = ("data_type", "data_subtype", "task_type")


def read_annotation_files(path: Path, grounding: bool) -> Annotations:
    """The questions of an annotation file, or of a folder with parts of GQA's."""
    if path.is_dir() and (generated := generated_by(path)):
        balanced = {"gqa": "test_balanced_questions.json (with consistency: test_all_questions.json)"}
        name = balanced.get(generated["engine"], "mscoco_val2014_annotations.json")
        raise InputError(
            f"{path} is an output of vqa-mc generate with all splits; give one file, such as {path}/{name}"
        )
    parts = json_files(path) if path.is_dir() else [path]
    layouts = {_layout(part) for part in parts}
    if layouts == {"gqa"}:
        return _gqa(parts, str(path), grounding)
    if len(parts) > 1:
        raise InputError(f"{path}: expected a folder with GQA questions only, found other files; give one file")
    return _annotations(parts[0], "annotations" if "object" in layouts else None)


def json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, also compressed."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file()]
    return [path for path in files if [one for one in path.suffixes if one not in PACKED][-1:] == [".json"]]


def _layout(path: Path) -> Literal["list", "object", "gqa"]:
    with unpacked(path) as stream:
        head = stream.read(_HEAD).decode("utf-8-sig", errors="replace")
    first = FIRST_FIELD.match(head)
    if head.lstrip().startswith("["):
        return "list"
    if first is not None and first[1] in HEADER_FIELDS:
        return "object"
    if first is not None and first[2] == "{":
        return "gqa"
    found = repr(head.lstrip()[:40]) if head.strip() else "an empty file"
    raise InputError(f"{path}: expected {ACCEPTED}; found {found}")


def _annotations(path: Path, key: str | None) -> Annotations:
    header: dict[str, Any] = {}
    batches = read_records(path, key, header)
    first = next(batches)
    if not isinstance(first.rows[0], dict):
        raise InputError(f"{first.location(0)}: expected a JSON object, found {shown(first.rows[0])}")
    kind = first.rows[0].get("question_type")
    if "ans_source" in first.rows[0] or (isinstance(kind, str) and kind in QUESTION_TYPES):
        return _tdiuc(chain([first], batches), str(path))
    return vqa_annotations(chain([first], batches), str(path), header)


def vqa_annotations(batches: Iterable[Records], location: str, header: Mapping[str, Any] | None = None) -> Annotations:
    """VQA annotations; an optional column is read only if the first record has it."""
    ids: list[str | int] = []
    texts: dict[str, list[str]] | None = None
    image_ids: list[str] = []
    answers: list[list[Any]] = []
    same: dict[str, str] = {}
    for records in batches:
        if texts is None:
            texts = {name: [] for name in _VQA_TEXTS if name in records.rows[0]}
            with_images = "image_id" in records.rows[0]
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id") if with_images else []
        for name, column in texts.items():
            column += (same.setdefault(text, text) for text in records.texts(name))
        answers += _answers(records, same)
    found = texts or {}
    return Annotations(
        VQA,
        location,
        ids,
        image_ids=image_ids or None,
        question_types=found.get("question_type"),
        answer_types=found.get("answer_type"),
        gold=found.get("multiple_choice_answer"),
        answers=answers,
        about={name: text for name, text in (header or {}).items() if name in _ABOUT and isinstance(text, str)},
    )


def _answers(records: Records, same: dict[str, str]) -> Iterator[list[Any]]:
    """The answers of each annotation: text if every record has a distinct answer_id, else the records."""
    nested = records.nested("answers")
    texts = iter([same.setdefault(text, text) for text in nested.texts("answer")])
    for row, answers in enumerate(records.column("answers")):
        if not answers:
            raise records.unexpected(row, "answers", "at least one answer", answers)
        numbers = [record.get("answer_id") for record in answers]
        of_one = [next(texts) for _ in answers]
        distinct = set(map(type, numbers)) <= {int, str} and len(set(numbers)) == len(numbers)
        yield of_one if distinct else answers


def _tdiuc(batches: Iterable[Records], location: str) -> Annotations:
    ids: list[str | int] = []
    image_ids, types, gold = list[str](), list[str](), list[str]()
    for records in batches:
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id")
        types += records.texts("question_type")
        gold += records.nested("answers", 1).texts("answer")
    return Annotations(TDIUC, location, ids, image_ids=image_ids, question_types=types, gold=gold)


def _gqa(parts: Sequence[Path], location: str, grounding: bool) -> Annotations:
    balanced_fields = _BALANCED_FIELDS + (("annotations",) if grounding else ())
    kept: dict[str, dict[str, Any]] = {}
    for part in parts:
        for batch in object_items(part):
            for name, record in batch:
                if not isinstance(record, dict):
                    raise InputError(f"{part}, {name!r}: expected a question's record, found {shown(record)}")
                if name in kept:
                    raise InputError(f"{part}: question {name!r} occurs twice; expected each id once")
                _check_gqa(record, f"{part}, {name!r}")
                fields = balanced_fields if record["isBalanced"] else _UNBALANCED_FIELDS
                kept[name] = {field: record[field] for field in fields if field in record}
    if not kept:
        raise InputError(f"{location}: found no questions")
    return Annotations(GQA, location, list(kept), records=kept)


def _check_gqa(record: dict[str, Any], where: str) -> None:
    for field, kind, expected in (("isBalanced", bool, "true or false"), ("answer", str, "text")):
        if type(record.get(field)) is not kind:
            found = shown(record[field]) if field in record else "none (the test splits are published without)"
            raise InputError(f"{where}, field {field!r}: expected {expected}, found {found}")
