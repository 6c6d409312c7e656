"""Annotations of any dataset: publishers' files (recognised by content), built folders, Hub names, ``Dataset``."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.metrics.prediction_files import FIRST_FIELD, HEADER_FIELDS
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.scheme import GQA, TDIUC, VQA, Annotations
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import member_names
from hf_vqa_mc.sources.source import Source, generated_by

ACCEPTED = (
    "a dataset folder of vqa-mc build, a benchmark that vqa-mc audit reads, or an annotation file: VQA or TDIUC "
    'annotations ({"annotations": [...]} or the list), GQA questions ({id: record}, or a folder with several of them)'
)

_HEAD = 1 << 16
_BALANCED_FIELDS = ("answer", "isBalanced", "imageId", "question", "types", "groups", "semantic", "entailed")
_UNBALANCED_FIELDS = ("answer", "isBalanced")
_VQA_TEXTS = ("question_type", "answer_type", "multiple_choice_answer")
_ABOUT = ("data_type", "data_subtype", "task_type")
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def read_annotations(
    dataset: Any,  # noqa: ANN401  a path, a name, a Dataset or a DatasetDict
    config: str | None = None,
    split: str | None = None,
    *,
    grounding: bool = False,
) -> Annotations:
    """Read the questions of a dataset with their right answers; ``grounding`` keeps what GQA's grounding needs."""
    if not isinstance(dataset, str | Path):
        return _rows(dataset, config, split, grounding)
    path = Path(dataset).expanduser()
    entries = sorted(path.iterdir()) if path.is_dir() and not _is_dataset(path) else []
    if inside := [entry for entry in entries if entry.is_dir() and _is_dataset(entry)]:
        raise InputError(f"{dataset} is not a dataset folder; did you mean {' or '.join(map(str, inside))}?")
    try:
        return _read(path, str(dataset), config, split, grounding)
    except InputError as error:
        source = _raw_source(path)
        if source is None:
            raise
        raise InputError(
            f"{dataset} holds {source.title} as published; build it first (vqa-mc build {source.name} "
            f"--data-dir {path if path.is_dir() else path.parent}), then score against the built folder"
        ) from error


def _rows(dataset: Any, config: str | None, split: str | None, grounding: bool) -> Annotations:  # noqa: ANN401
    """The rows of a dataset of vqa-mc build; otherwise, if it can be read as one, of a benchmark."""
    from hf_vqa_mc.metrics.dataset_rows import NotRows, read_rows

    try:
        return read_rows(dataset, config, split, grounding=grounding)
    except NotRows as error:
        return _benchmark(dataset, config, split, error)


def _benchmark(dataset: Any, config: str | None, split: str | None, reason: InputError) -> Annotations:  # noqa: ANN401
    """The rows of a benchmark; raises ``reason`` if it is none."""
    from hf_vqa_mc.metrics.dataset_rows import read_benchmark_rows

    try:
        return read_benchmark_rows(dataset, config, split)
    except InputError as error:
        raise reason from error


def _read(path: Path, dataset: str, config: str | None, split: str | None, grounding: bool) -> Annotations:
    from hf_vqa_mc.benchmarks.files import file_form

    if path.is_file() and file_form(path) in ("csv", "tsv", "jsonl", "parquet"):
        from hf_vqa_mc.metrics.dataset_rows import read_benchmark_rows

        return read_benchmark_rows(dataset, config, split)
    if path.is_file() or (path.is_dir() and _is_parts(path)):
        for name, value in (("CONFIG", config), ("--split", split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; remove it")
        try:
            return _read_files(path, grounding)
        except InputError as error:
            return _benchmark(dataset, None, None, error)
    no_name = {*PACKED, *FORMATS} & set(path.suffixes) or not _HUB_NAME.fullmatch(dataset)
    if no_name and not path.is_dir():
        raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    return _rows(str(path) if path.is_dir() else dataset, config, split, grounding)


def _is_parts(folder: Path) -> bool:
    return bool(_json_files(folder)) and not any(
        entry.is_dir() or entry.name == "README.md" or entry.suffix in (".parquet", ".py")
        for entry in folder.iterdir()
    )


def _is_dataset(folder: Path) -> bool:
    return (folder / "README.md").is_file() and next(folder.glob("*/*.parquet"), None) is not None


def _raw_source(path: Path) -> Source | None:
    """The source of this file, or of files up to one level below this folder, if it must be built before scoring."""
    if not path.exists() or _is_dataset(path):
        return None
    names = {f"/{entry}" for entry in (path, *path.glob("*"), *path.glob("*/*"))}
    if path.suffix == ".zip":
        try:
            names |= {f"/{name}" for name in member_names(path)}
        except InputError:
            pass  # not a zip file, which is reported later
    for source in SOURCES.values():
        published = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in published):
            return source
    return None


def _read_files(path: Path, grounding: bool) -> Annotations:
    if path.is_dir() and (generated := generated_by(path)):
        balanced = {"gqa": "test_balanced_questions.json (with consistency: test_all_questions.json)"}
        name = balanced.get(generated["engine"], "mscoco_val2014_annotations.json")
        raise InputError(
            f"{path} is an output of vqa-mc generate with all splits; give one file, such as {path}/{name}"
        )
    parts = _json_files(path) if path.is_dir() else [path]
    layouts = {_layout(part) for part in parts}
    if layouts == {"gqa"}:
        return _gqa(parts, str(path), grounding)
    if len(parts) > 1:
        raise InputError(f"{path}: expected a folder with GQA questions only, found other files; give one file")
    return _annotations(parts[0], "annotations" if "object" in layouts else None)


def _json_files(folder: Path) -> list[Path]:
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
    is_tdiuc = "ans_source" in first.rows[0] or (isinstance(kind, str) and kind in QUESTION_TYPES)
    read = _tdiuc if is_tdiuc else vqa_annotations
    return read(chain([first], batches), str(path), header)


def vqa_annotations(batches: Iterable[Records], location: str, header: Mapping[str, Any]) -> Annotations:
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
        about={name: header[name] for name in _ABOUT if isinstance(header.get(name), str)},
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


def _tdiuc(batches: Iterable[Records], location: str, header: Mapping[str, Any]) -> Annotations:
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
