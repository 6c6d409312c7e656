"""Annotations of VQA, TDIUC and GQA: publishers' files, recognised by content, and rows of open-ended configs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.scoring.inputs import PAIRS
from hf_vqa_mc.scoring.official import PACKED
from hf_vqa_mc.scoring.predictions import FIRST_FIELD, HEADER_FIELDS
from hf_vqa_mc.scoring.scheme import GQA, TDIUC, VQA, Annotations
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.source import generated_by
from hf_vqa_mc.sources.table import ROWS

ACCEPTED = (
    "a dataset folder of vqa-mc build, a benchmark that vqa-mc audit reads, or an annotation file: VQA or TDIUC "
    'annotations ({"annotations": [...]} or the list), GQA questions ({id: record}, or a folder with several of them)'
)
PAIR_COLUMNS = ("question_id", "image_id", "answer", "answers", "answer_type")
"""Columns of each of a pair's two questions; the second's are prefixed."""
PAIR_PREFIXES = ("", "complementary_")

_HEAD = 1 << 16
_UNBALANCED_FIELDS = ("answer", "isBalanced")
_ROW_FIELDS = ("question", "types", "groups", "semantic", "entailed")
"""Columns of GQA's open-ended config with the names of GQA's own fields."""
_BALANCED_FIELDS = (*_UNBALANCED_FIELDS, "imageId", *_ROW_FIELDS)
_LINKS = {"question": "question", "answer": "answer", "full_answer": "fullAnswer"}
"""Fields of a row's annotations to GQA's names."""
_VQA_TEXTS = {"question_type": "question_types", "answer_type": "answer_types", "multiple_choice_answer": "gold"}
"""Fields of VQA's records to those of Annotations."""
_ABOUT = ("data_type", "data_subtype", "task_type")


def read_annotation_files(path: Path, grounding: bool) -> Annotations:
    """The questions of an annotation file, or of a folder with parts of GQA's."""
    if path.is_dir() and (generated := generated_by(path)):
        balanced = {"gqa": "test_balanced_questions.json (with consistency: test_all_questions.json)"}
        name = balanced.get(generated["engine"], "mscoco_val2014_annotations.json")
        raise InputError(f"{path} is an output of vqa-mc generate with all splits; give a file, such as {path}/{name}")
    parts = json_files(path) if path.is_dir() else [path]
    layouts = {_layout(part) for part in parts}
    if layouts == {"gqa"}:
        return _gqa_files(parts, str(path), grounding)
    if len(parts) > 1:
        raise InputError(f"{path}: expected a folder with GQA questions only, found other files; give one file")
    header: dict[str, Any] = {}
    batches = read_records(parts[0], "annotations" if "object" in layouts else None, header)
    first = next(batches)
    if not isinstance(first.rows[0], dict):
        raise InputError(f"{first.location(0)}: expected a JSON object, found {shown(first.rows[0])}")
    kind = first.rows[0].get("question_type")
    if "ans_source" in first.rows[0] or (isinstance(kind, str) and kind in QUESTION_TYPES):
        return _tdiuc_records(chain([first], batches), str(parts[0]))
    return _vqa_records(chain([first], batches), str(parts[0]), header)


def json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, also compressed."""
    files = (path for path in sorted(folder.iterdir()) if path.is_file())
    return [path for path in files if [one for one in path.suffixes if one not in PACKED][-1:] == [".json"]]


def _layout(path: Path) -> str:
    """``list``, ``object`` (with a header) or ``gqa``."""
    with unpacked(path) as stream:
        head = stream.read(_HEAD).decode("utf-8-sig", errors="replace").lstrip()
    first = FIRST_FIELD.match(head)
    if head.startswith("["):
        return "list"
    if first is not None and first[1] in HEADER_FIELDS:
        return "object"
    if first is not None and first[2] == "{":
        return "gqa"
    raise InputError(f"{path}: expected {ACCEPTED}; found {repr(head[:40]) if head else 'an empty file'}")


def _vqa_records(batches: Iterable[Records], location: str, header: Mapping[str, Any]) -> Annotations:
    """VQA annotations; an optional column is read only if the first record has it."""
    ids, image_ids, answers = list[str | int](), list[str](), list[list[Any]]()
    texts: dict[str, Any] = {}
    same: dict[str, str] = {}
    for records in batches:
        if not ids:
            texts = {field: [] for name, field in _VQA_TEXTS.items() if name in records.rows[0]}
            with_images = "image_id" in records.rows[0]
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id") if with_images else []
        for name, field in _VQA_TEXTS.items():
            if field in texts:
                texts[field] += (same.setdefault(text, text) for text in records.texts(name))
        answers += _vqa_answers(records, same)
    about = {name: text for name, text in header.items() if name in _ABOUT and isinstance(text, str)}
    return Annotations(VQA, location, ids, image_ids or None, answers=answers, about=about, **texts)


def _vqa_answers(records: Records, same: dict[str, str]) -> Iterator[list[Any]]:
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


def _tdiuc_records(batches: Iterable[Records], location: str) -> Annotations:
    ids, image_ids, types, gold = list[str | int](), list[str](), list[str](), list[str]()
    for records in batches:
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id")
        types += records.texts("question_type")
        gold += records.nested("answers", 1).texts("answer")
    return Annotations(TDIUC, location, ids, image_ids=image_ids, question_types=types, gold=gold)


def _gqa_files(parts: Sequence[Path], location: str, grounding: bool) -> Annotations:
    balanced_fields = _BALANCED_FIELDS + (("annotations",) if grounding else ())
    kept: dict[str, dict[str, Any]] = {}
    for part in parts:
        for name, record in chain.from_iterable(object_items(part)):
            where = f"{part}, {name!r}"
            if not isinstance(record, dict):
                raise InputError(f"{where}: expected a question's record, found {shown(record)}")
            if name in kept:
                raise InputError(f"{part}: question {name!r} occurs twice; expected each id once")
            for field, kind, expected in (("isBalanced", bool, "true or false"), ("answer", str, "text")):
                if type(record.get(field)) is not kind:
                    lacking = "none (the test splits are published without)"
                    found = shown(record[field]) if field in record else lacking
                    raise InputError(f"{where}, field {field!r}: expected {expected}, found {found}")
            fields = balanced_fields if record["isBalanced"] else _UNBALANCED_FIELDS
            kept[name] = {field: record[field] for field in fields if field in record}
    if not kept:
        raise InputError(f"{location}: found no questions")
    return Annotations(GQA, location, list(kept), records=kept)


def _columns(table: pa.Table, names: Sequence[str], location: str) -> list[list[Any]]:
    for name in names:
        if table[name].null_count:
            row = table[name].is_null().to_pylist().index(True)
            raise InputError(f"{location}, row {row}: {name} is null")
    return [table[name].to_pylist() for name in names]


def _tdiuc_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    names = ("question_id", "image_id", "question_type", "question", "answer")
    ids, images, types, questions, gold = _columns(rows, names, location)
    return Annotations(TDIUC, location, ids, images, question_types=types, questions=questions, gold=gold)


def _gqa_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    """GQA's records by id; unbalanced ones have only the required fields."""
    names = ["question_id", "answer", "is_balanced", "image_id", *_ROW_FIELDS, *(["annotations"] if grounding else [])]
    records: dict[str, dict[str, Any]] = {}
    for question_id, *values in zip(*_columns(rows, names, location), strict=True):
        fields = zip((*_BALANCED_FIELDS, "annotations"), values, strict=False)
        record = dict(fields) if values[1] else dict(zip(_UNBALANCED_FIELDS, values, strict=False))
        if "annotations" in record:
            links = ((gqa_name, record["annotations"][field]) for field, gqa_name in _LINKS.items())
            record["annotations"] = {name: {one["span"]: one["object_id"] for one in found} for name, found in links}
        records[question_id] = record
    if len(records) < rows.num_rows:
        raise InputError(f"{location}: a question_id occurs twice; expected each once")
    return Annotations(GQA, location, list(records), records=records)


def _vqa_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    """The rows as records of the annotation file; raises InputError for a question without answers."""
    empty = pc.index(pc.fill_null(pc.list_value_length(rows["answers"]), 0), 0).as_py()
    if empty >= 0:
        raise InputError(
            f"{location}: question {rows['question_id'][empty].as_py()!r} has no answers, as those of VQA's test "
            "questions are not published; score another split: --split validation"
        )
    names = ["question_id", "image_id", "question_type", "answer_type", "answers", "answer"]
    table = rows.select(names).rename_columns([*names[:-1], "multiple_choice_answer"])
    batches = (Records(batch.to_pylist(), lambda row: f"{location}, row {row}") for batch in table.to_batches(ROWS))
    return _vqa_records(batches, location, {})


def _pair_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    """The questions of all pairs, each once, and the pairs."""
    texts, types = _columns(rows, ("question", "question_type"), location)
    sides = [_columns(rows, [prefix + name for name in PAIR_COLUMNS], location) for prefix in PAIR_PREFIXES]
    questions: dict[str, tuple[Any, ...]] = {}
    for pair in zip(*(zip(texts, types, *side, strict=True) for side in sides), strict=True):
        for text, kind, name, *others in pair:
            questions.setdefault(name, (text, kind, *others))
    columns = zip(*questions.values(), strict=True)
    names = ("questions", "question_types", "image_ids", "gold", "answers", "answer_types")
    found: dict[str, Any] = dict(zip(names, map(list, columns), strict=True))
    pairs = list(map(list, zip(*(side[0] for side in sides), strict=True)))
    return Annotations(VQA, location, list(questions), **found, inputs={PAIRS.name: pairs})


OPEN_ENDED = {"tdiuc": _tdiuc_rows, "gqa": _gqa_rows, "vqa": _vqa_rows, "vqa_pairs": _pair_rows}
"""Readers of the rows of open-ended configs, by ``OpenEnded.scored_as``."""
