"""Annotations of whatever names a dataset: a publisher's files, a built folder, a name on the Hub, a ``Dataset``."""

import re
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.annotation_files import ACCEPTED, json_files, read_annotation_file
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
) -> Annotations:
    """Read the questions of a dataset with their right answers; ``grounding`` keeps what GQA's grounding needs.

    Raises:
        InputError: it is none of those accepted.
    """
    if not isinstance(dataset, str | Path):
        from hf_vqa_mc.metrics.dataset_rows import read_rows

        return read_rows(dataset, config, split, grounding=grounding)
    path = Path(dataset).expanduser()
    inside = _datasets_in(path)
    if inside:
        raise InputError(f"{dataset} holds no dataset itself; did you mean {' or '.join(map(str, inside))}?")
    try:
        return _read(path, str(dataset), config, split, grounding)
    except InputError as error:
        source = _raw_source(path)
        if source is None:
            raise
        raise InputError(
            f"{dataset} holds {source.title} as it is published; build it first (vqa-mc build {source.name} "
            f"--data-dir {path if path.is_dir() else path.parent}), then score against the folder that this makes"
        ) from error


def _read(path: Path, dataset: str, config: str | None, split: str | None, grounding: bool) -> Annotations:
    if path.is_file() or (path.is_dir() and _is_parts(path)):
        for name, value in (("CONFIG", config), ("--split", split)):
            if value is not None:
                raise InputError(f"{name} {value}: {dataset} is an annotation file, which has none; leave it out")
        return read_annotation_file(path, grounding)
    if not path.is_dir():
        if {*PACKED, *FORMATS} & set(path.suffixes) or not _HUB_NAME.fullmatch(dataset):
            raise InputError(f"{dataset} does not exist; expected {ACCEPTED}")
    from hf_vqa_mc.metrics.dataset_rows import read_rows

    return read_rows(str(path) if path.is_dir() else dataset, config, split, grounding=grounding)


def _is_parts(folder: Path) -> bool:
    """Whether a folder holds annotation files and is no dataset."""
    return bool(json_files(folder)) and not any(
        entry.is_dir() or entry.name == "README.md" or entry.suffix in (".parquet", ".py")
        for entry in folder.iterdir()
    )


def _datasets_in(folder: Path) -> list[Path]:
    """The dataset folders in a folder that is none itself."""
    if not folder.is_dir() or _is_dataset(folder):
        return []
    return [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and _is_dataset(entry)]


def _is_dataset(folder: Path) -> bool:
    """Whether a folder has a card and a folder of parquet files per config."""
    return (folder / "README.md").is_file() and next(folder.glob("*/*.parquet"), None) is not None


def _raw_source(path: Path) -> Source | None:
    """The source whose published files these are, of the sources that are not scored against their own files.

    Args:
        path: a file, or a folder with the files in it or one folder below.
    """
    if not path.exists() or _is_dataset(path):
        return None
    names = {f"/{entry}" for entry in (path, *path.glob("*"), *path.glob("*/*"))}
    if path.suffix == ".zip":
        try:
            names |= {f"/{name}" for name in member_names(path)}
        except InputError:
            pass  # no zip, which has its own message
    for source in SOURCES.values():
        published = {name for remote in source.downloads for name in (remote.name, *remote.holds)}
        if not source.scored_as_published and any(name.endswith(f"/{one}") for name in names for one in published):
            return source
    return None
