"""Annotations of any dataset: publishers' files (recognised by content), built folders, Hub names, ``Dataset``."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_vqa_mc.benchmarks.annotated_rows import NotRows, read_benchmark_rows, read_rows
from hf_vqa_mc.benchmarks.annotation_files import ACCEPTED, json_files, read_annotation_files
from hf_vqa_mc.benchmarks.files import file_form
from hf_vqa_mc.benchmarks.labels import AmbiguousLabels
from hf_vqa_mc.benchmarks.reading import UnreadableRows
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.scheme import Annotations
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import member_names
from hf_vqa_mc.sources.source import Source

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")


def read_annotations(
    dataset: Any,  # noqa: ANN401  a path, a name, a Dataset or a DatasetDict
    config: str | None = None,
    split: str | None = None,
    *,
    grounding: bool = False,
    columns: Mapping[str, Any] | None = None,
) -> Annotations:
    """Read the questions of a dataset with their right answers.

    ``grounding`` keeps what GQA's grounding needs; with ``columns``, options of `ColumnOptions`, it is a benchmark.
    """
    if columns:
        return read_benchmark_rows(dataset, config, split, columns)
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
    try:
        return read_rows(dataset, config, split, grounding=grounding)
    except NotRows as error:
        return _benchmark(dataset, config, split, error)


def _benchmark(dataset: Any, config: str | None, split: str | None, reason: InputError) -> Annotations:  # noqa: ANN401
    """The rows of a benchmark; raises ``reason`` if it is none."""
    try:
        return read_benchmark_rows(dataset, config, split)
    except InputError as error:
        is_benchmark = not isinstance(dataset, str) or isinstance(error, AmbiguousLabels | UnreadableRows)
        raise (error if is_benchmark else reason) from error


def _read(path: Path, dataset: str, config: str | None, split: str | None, grounding: bool) -> Annotations:
    if path.is_file() and file_form(path) in ("csv", "tsv", "jsonl", "parquet"):
        return read_benchmark_rows(dataset, config, split)
    if path.is_file() or (path.is_dir() and _is_parts(path)):
        for name, value in (("CONFIG", config), ("--split", split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; remove it")
        try:
            return read_annotation_files(path, grounding)
        except InputError as error:
            return _benchmark(dataset, None, None, error)
    no_name = {*PACKED, *FORMATS} & set(path.suffixes) or not _HUB_NAME.fullmatch(dataset)
    if no_name and not path.is_dir():
        raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    return _rows(str(path) if path.is_dir() else dataset, config, split, grounding)


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
        try:
            names |= {f"/{name}" for name in member_names(path)}
        except InputError:
            pass  # not a zip file, which is reported later
    for source in SOURCES.values():
        published = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in published):
            return source
    return None
