"""Annotations of any dataset: publishers' files (recognised by content), built folders, Hub names, ``Dataset``."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.annotation_files import ACCEPTED, OPEN_ENDED, json_files, read_annotation_files
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.inventory import PREFERRED
from hf_vqa_mc.data.label_interpretation import AmbiguousLabels
from hf_vqa_mc.data.loading import chosen_split
from hf_vqa_mc.data.names import QUESTION, named
from hf_vqa_mc.data.opening import open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import UnreadableRows, read_opened
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Annotations
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import member_names
from hf_vqa_mc.sources.open_ended import open_ended_source
from hf_vqa_mc.sources.source import Source, source_of

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def read_annotations(
    dataset: Any,  # noqa: ANN401  any dataset of `read_benchmark`, or a Benchmark
    config: str | None = None,
    split: str | None = None,
    *,
    grounding: bool = False,
    columns: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Annotations:
    """Read the questions of a dataset with their right answers.

    ``grounding`` keeps what GQA's grounding needs; with ``columns``, options of `ColumnOptions`, it is a benchmark.
    """
    if isinstance(dataset, Benchmark):
        return benchmark_annotations(dataset)
    options = BenchmarkOptions(dataset, config, split=split, **columns or {})
    if columns or not isinstance(dataset, str | Path):
        return _rows(options, grounding, progress)
    path = Path(dataset).expanduser()
    entries = sorted(path.glob("*/")) if not _is_dataset(path) else []
    if inside := [entry for entry in entries if _is_dataset(entry)]:
        raise InputError(f"{dataset} is not a dataset folder; did you mean {' or '.join(map(str, inside))}?")
    try:
        return _read(path, options, grounding, progress)
    except InputError as error:
        source = _raw_source(path)
        if source is None:
            raise
        raise InputError(
            f"{dataset} holds {source.title} as published; build it first (vqa-mc build {source.name} "
            f"--data-dir {path if path.is_dir() else path.parent}), then score against the built folder"
        ) from error


def _rows(options: BenchmarkOptions, grounding: bool, progress: Progress) -> Annotations:
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
    return benchmark_annotations(read_opened(replace(opened, tables=tables), options, progress, evaluated_only=True))


def benchmark_annotations(benchmark: Benchmark) -> Annotations:
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
        label_from=benchmark.spec.index_from,
        unread=split.unread,
        about=_about_split(benchmark.dataset, benchmark.config, split.name),
    )


def _about_split(dataset: str, config: str | None, split: str) -> dict[str, str]:
    subsets = SOURCES[name].official_subsets if (name := source_of(config or "")) else {}
    found = {"dataset": dataset, "config": config, "split": split, "subset": subsets.get(split)}
    return {name: text for name, text in found.items() if text}


def _read(path: Path, options: BenchmarkOptions, grounding: bool, progress: Progress) -> Annotations:
    dataset = str(options.dataset)
    is_json = path.is_file() and file_form(path) not in ("csv", "tsv", "jsonl", "parquet")
    if is_json or (path.is_dir() and _is_parts(path)):
        for name, value in (("CONFIG", options.config), ("--split", options.split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; remove it")
        try:
            return read_annotation_files(path, grounding)
        except InputError as error:
            try:
                return _rows(options, grounding, progress)
            except InputError as of_benchmark:
                is_benchmark = isinstance(of_benchmark, AmbiguousLabels | UnreadableRows)
                raise (of_benchmark if is_benchmark else error) from of_benchmark
    no_name = {*PACKED, *FORMATS} & set(path.suffixes) or not _HUB_NAME.fullmatch(dataset)
    if no_name and not path.exists():
        raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    return _rows(replace(options, dataset=path) if path.is_dir() else options, grounding, progress)


def _is_parts(folder: Path) -> bool:
    return bool(json_files(folder)) and not any(
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
        with contextlib.suppress(InputError):  # not a zip file, which is reported later
            names |= {f"/{name}" for name in member_names(path)}
    for source in SOURCES.values():
        published = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in published):
            return source
    return None
