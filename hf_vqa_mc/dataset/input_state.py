"""What the rows of a build depend on, to recognise equal builds: files, vectors and settings."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.image_files import IMAGE_SUFFIXES
from hf_vqa_mc.sources.source import Source


def fingerprint(parts: Any) -> str:  # noqa: ANN401  any JSON
    """A short hash of JSON, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def input_state(source: Source, data_dir: Path | None) -> list[Any]:
    """Names, sizes and times of change of a source's files except images, or the files that would be downloaded.

    The change time of the inode is included, since the modification time can be set back.
    """
    if data_dir is None and source.default_folder is not None:
        data_dir = source.default_folder()
    if data_dir is None:
        return [[remote.url, remote.sha256, remote.size] for remote in source.downloads]
    return [
        [str(path.relative_to(data_dir)), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
        for path in _files_below(data_dir)
        for stat in [path.stat()]
    ]


def input_contents(source: Source, data_dir: Path | None) -> list[Any]:
    """As `input_state`, by the content of the files: copying or touching them changes nothing."""
    if data_dir is None and source.default_folder is not None:
        data_dir = source.default_folder()
    if data_dir is None:
        return input_state(source, None)
    return [[str(path.relative_to(data_dir)), _checksum(path)] for path in _files_below(data_dir)]


def vectors_state(name: str) -> list[str]:
    """A vector file's name and checksum, and checksums of files with the name as prefix, as with .kv."""
    path = Path(name).expanduser()
    if not path.is_file():
        return [name]  # files of gensim-data never change; "corpus" depends on the input alone
    files = sorted(other for other in path.parent.iterdir() if other.name.startswith(path.name) and other.is_file())
    return [path.name, *(_checksum(file) for file in files)]


def _files_below(folder: Path) -> Iterable[Path]:
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix.lower() not in IMAGE_SUFFIXES and path.is_file():
                yield path


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
