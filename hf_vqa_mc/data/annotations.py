"""Annotations of any dataset: publishers' files (recognised by content), built folders, Hub names, ``Dataset``."""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from sys import intern
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.inventory import PREFERRED
from hf_vqa_mc.data.labels import AmbiguousLabels
from hf_vqa_mc.data.loading import chosen_split, open_tables
from hf_vqa_mc.data.names import QUESTION, named
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import UnreadableRows, read_opened
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import object_items
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.scoring.inputs import PAIRS
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.predictions import FIRST_FIELD, HEADER_FIELDS
from hf_vqa_mc.scoring.scheme import GQA, MULTIPLE_CHOICE, TDIUC, VQA, Annotations
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import member_names
from hf_vqa_mc.sources.open_ended import open_ended_source
from hf_vqa_mc.sources.source import Source, source_of

ACCEPTED = (
    "a dataset folder of vqa-mc build, a benchmark that vqa-mc audit reads, or an annotation file: VQA or TDIUC "
    'annotations ({"annotations": [...]} or the list), GQA questions ({id: record}, or a folder with several of them)'
)
PAIR_COLUMNS = ("question_id", "image_id", "answer", "answers", "answer_type")
"""Columns of each of a pair's two questions; the second's are prefixed."""

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
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


def read_annotations(
    dataset: Any,  # noqa: ANN401  any dataset of `read_benchmark`, or a Benchmark
    config: str | None = None,
    split: str | None = None,
    *,
    grounding: bool = False,
    columns: Mapping[str, Any] | None = None,
) -> Annotations:
    """Read the questions of a dataset with their right answers; ``grounding`` keeps what GQA's grounding needs."""
    if isinstance(dataset, Benchmark):
        return _of_benchmark(dataset)
    options = BenchmarkOptions(dataset, config, split=split, **columns or {})
    if columns or not isinstance(dataset, str | Path):
        return _rows(options, grounding)
    path = Path(dataset).expanduser()
    entries = sorted(path.glob("*/")) if not _is_dataset(path) else []
    if inside := [entry for entry in entries if _is_dataset(entry)]:
        raise InputError(f"{dataset} is not a dataset folder; did you mean {' or '.join(map(str, inside))}?")
    try:
        return _read(path, options, grounding)
    except InputError as error:
        source = _raw_source(path)
        if source is None:
            raise
        raise InputError(
            f"{dataset} holds {source.title} as published; build it first (vqa-mc build {source.name} "
            f"--data-dir {path if path.is_dir() else path.parent}), then score against the built folder"
        ) from error


def _read(path: Path, options: BenchmarkOptions, grounding: bool) -> Annotations:
    dataset = str(options.dataset)
    is_json = path.is_file() and file_form(path) not in ("csv", "tsv", "jsonl", "parquet")
    if is_json or (path.is_dir() and _json_files(path)):
        for name, value in (("CONFIG", options.config), ("--split", options.split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; remove it")
        try:
            return _annotation_files(path, grounding)
        except InputError as error:
            try:
                return _rows(options, grounding)
            except InputError as of_benchmark:
                is_benchmark = isinstance(of_benchmark, AmbiguousLabels | UnreadableRows)
                raise (of_benchmark if is_benchmark else error) from of_benchmark
    no_name = {*PACKED, *FORMATS} & set(path.suffixes) or not _HUB_NAME.fullmatch(dataset)
    if no_name and not path.exists():
        raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    return _rows(replace(options, dataset=path) if path.is_dir() else options, grounding)


def _json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, also compressed; none if it holds a dataset."""
    files = sorted(folder.iterdir())
    if any(one.is_dir() or one.name == "README.md" or one.suffix in (".parquet", ".py") for one in files):
        return []
    return [path for path in files if [one for one in path.suffixes if one not in PACKED][-1:] == [".json"]]


def _is_dataset(folder: Path) -> bool:
    return (folder / "README.md").is_file() and next(folder.glob("*/*.parquet"), None) is not None


def _raw_source(path: Path) -> Source | None:
    """The source of this file, or of files up to one level below this folder, if it must be built before scoring."""
    if not path.exists() or _is_dataset(path):
        return None
    names = {f"/{entry}" for entry in (path, *path.glob("*"), *path.glob("*/*"))}
    if path.suffix == ".zip":
        with contextlib.suppress(InputError):  # not a zip file, which is reported later
            names |= {f"/{name}" for name in member_names(path)}
    for source in SOURCES.values():
        published = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in published):
            return source
    return None


def _rows(options: BenchmarkOptions, grounding: bool) -> Annotations:
    """The rows of an open-ended config of vqa-mc build, unless columns are named, or else of a benchmark."""
    open_ended = not options.given_columns
    opened = open_tables(options.dataset, options.config, open_ended=open_ended, expected=ACCEPTED)
    columns = next(iter(opened.tables.values())).column_names
    if open_ended and (source := open_ended_source(columns, opened.config)):
        chosen = chosen_split(list(opened.tables), options.split, opened.name)
        published, config = source
        if config.scored_as not in OPEN_ENDED:
            raise InputError(
                f"{opened.locations[chosen]}: an open-ended config without choices and without a metric; score "
                f"against the publisher's annotation file, or against {published.name}_{PREFERRED}"
            )
        found = OPEN_ENDED[config.scored_as](opened.tables[chosen], opened.locations[chosen], grounding)
        return replace(found, about=_about_split(opened.name, opened.config, chosen))
    tables = dict(opened.tables)
    for name, table in tables.items():  # scores need no questions
        if {"question_id", "choices", "label"} <= set(table.column_names) and not named(table.column_names, QUESTION):
            tables[name] = table.append_column("question", pa.repeat("", table.num_rows))
    return _of_benchmark(read_opened(replace(opened, tables=tables), options, silent, evaluated_only=True))


def _of_benchmark(benchmark: Benchmark) -> Annotations:
    """The questions of the evaluated split; columns that are empty in every row are None."""
    split, rows = benchmark.test, benchmark.test.rows.to_pydict()
    for name in {"answer_type", "set_id", "set_kind"} & set(split.original.column_names):
        rows[name] = pc.fill_null(as_text(split.original[name]), "").to_pylist()
    filled = {name: values for name, values in rows.items() if any(values)}
    return Annotations(
        MULTIPLE_CHOICE,
        split.location,
        rows["question_id"],
        image_ids=filled.get("image_id"),
        question_types=filled.get("question_type"),
        answer_types=filled.get("answer_type"),
        questions=filled.get("question"),
        gold=[texts[label] for texts, label in zip(rows["choices"], rows["label"], strict=True)],
        answers=rows["answers"] if max(map(len, rows["answers"]), default=0) > 1 else None,
        choices=rows["choices"],
        labels=rows["label"],
        choice_kinds=rows["choice_kinds"] if all(rows["choice_kinds"]) else None,
        set_ids=filled.get("set_id"),
        set_kinds=rows.get("set_kind"),
        ordered=split.ordered,
        label_from=benchmark.spec.index_from,
        unread=split.unread,
        about=_about_split(benchmark.dataset, benchmark.config, split.name),
    )


def _about_split(dataset: str, config: str | None, split: str) -> dict[str, str]:
    subsets = SOURCES[name].official_subsets if (name := source_of(config or "")) else {}
    found = {"dataset": dataset, "config": config, "split": split, "subset": subsets.get(split)}
    return {name: text for name, text in found.items() if text}


def _annotation_files(path: Path, grounding: bool) -> Annotations:
    """The questions of an annotation file, or of a folder with parts of GQA's."""
    parts = _json_files(path) if path.is_dir() else [path]
    layouts = {_layout(part, len(parts) == 1) for part in parts}
    if layouts == {"gqa"}:
        return _gqa_files(parts, str(path), grounding)
    if len(parts) > 1:
        largest = max(parts, key=lambda part: part.stat().st_size)
        found = ", ".join(part.name for part in parts[:5])
        expected = "expected a folder with GQA questions only"
        raise InputError(f"{path}: {expected}, found {found}; give one file, such as {largest}")
    header: dict[str, Any] = {}
    batches = read_records(parts[0], "annotations" if "object" in layouts else None, header)
    first = next(batches)
    if not isinstance(first.rows[0], dict):
        raise InputError(f"{first.location(0)}: expected a JSON object, found {shown(first.rows[0])}")
    kind = first.rows[0].get("question_type")
    batches = chain([first], batches)
    if "ans_source" not in first.rows[0] and not (isinstance(kind, str) and kind in QUESTION_TYPES):
        return _vqa_records(batches, str(parts[0]), header)
    ids, image_ids, types, gold = list[str | int](), list[str](), list[str](), list[str]()
    for records in batches:
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id")
        types += records.texts("question_type")
        gold += records.nested("answers", 1).texts("answer")
    return Annotations(TDIUC, str(parts[0]), ids, image_ids, question_types=types, gold=gold)


def _layout(path: Path, alone: bool) -> str:
    """``list``, ``object`` (with a header), ``gqa`` or, if the file is not ``alone``, ``other``."""
    with unpacked(path) as stream:
        head = stream.read(_HEAD).decode("utf-8-sig", errors="replace").lstrip()
    first = FIRST_FIELD.match(head)
    if head.startswith("["):
        return "list"
    if first is not None and first[1] in HEADER_FIELDS:
        return "object"
    if first is not None and first[2] == "{":
        return "gqa"
    if not alone:
        return "other"
    raise InputError(f"{path}: expected {ACCEPTED}; found {repr(head[:40]) if head else 'an empty file'}")


def _vqa_records(batches: Iterable[Records], location: str, header: Mapping[str, Any]) -> Annotations:
    """VQA annotations; an optional column is read only if the first record has it."""
    ids, image_ids, answers = list[str | int](), list[str](), list[list[Any]]()
    texts: dict[str, list[str]] = {}
    for records in batches:
        if not ids:
            texts = {name: [] for name in _VQA_TEXTS if name in records.rows[0]}
            with_images = "image_id" in records.rows[0]
        records.ids("question_id")
        ids += records.column("question_id")
        image_ids += records.ids("image_id") if with_images else []
        for name, found in texts.items():
            found += map(intern, records.texts(name))
        records.nested("answers").texts("answer")
        for row, some in enumerate(records.column("answers")):
            if not some:
                raise records.unexpected(row, "answers", "at least one answer", some)
            answers.append(_vqa_answers(some))
    about = {name: text for name, text in header.items() if name in _ABOUT and isinstance(text, str)}
    fields: dict[str, Any] = {_VQA_TEXTS[name]: found for name, found in texts.items()}
    return Annotations(VQA, location, ids, image_ids or None, answers=answers, about=about, **fields)


def _vqa_answers(records: list[dict[str, Any]]) -> list[Any]:
    """The answers to a question: text if every record has a distinct answer_id, else the records."""
    numbers = [record.get("answer_id") for record in records]
    distinct = {*map(type, numbers)} <= {int, str} and len({*numbers}) == len(numbers)
    return [intern(record["answer"]) for record in records] if distinct else records


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
            raise InputError(f"{location}, row {pc.index(table[name].is_null(), True).as_py() + 1}: {name} is null")
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
        fields = (*_BALANCED_FIELDS, "annotations") if values[1] else _UNBALANCED_FIELDS
        records[question_id] = record = dict(zip(fields, values, strict=False))
        if "annotations" in record:
            links = ((gqa_name, record["annotations"][field]) for field, gqa_name in _LINKS.items())
            record["annotations"] = {name: {one["span"]: one["object_id"] for one in found} for name, found in links}
    if len(records) < rows.num_rows:
        raise InputError(f"{location}: a question_id occurs twice; expected each once")
    return Annotations(GQA, location, list(records), records=records)


def _vqa_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    empty = pc.index(pc.fill_null(pc.list_value_length(rows["answers"]), 0), 0).as_py()
    if empty >= 0:
        raise InputError(
            f"{location}: question {rows['question_id'][empty].as_py()!r} has no answers, as those of VQA's test "
            "questions are not published; score another split: --split validation"
        )
    names = ("question_id", "image_id", "question_type", "answer_type", "answer", "answers")
    ids, images, types, answer_types, gold, answers = _columns(rows, names, location)
    about: dict[str, Any] = {"question_types": types, "answer_types": answer_types, "gold": gold}
    return Annotations(VQA, location, ids, images, answers=list(map(_vqa_answers, answers)), **about)


def _pair_rows(rows: pa.Table, location: str, grounding: bool) -> Annotations:
    """The questions of all pairs, each once, and the pairs."""
    texts, types = _columns(rows, ("question", "question_type"), location)
    prefixes = ("", "complementary_")
    sides = [_columns(rows, [prefix + name for name in PAIR_COLUMNS], location) for prefix in prefixes]
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
