"""What a prepared config depends on, in one hash: nothing that changed is ever answered from a cache."""

import hashlib
import json
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from hf_vqa_mc.dataset.image_files import IMAGE_SUFFIXES
from hf_vqa_mc.sources.source import Source

_PACKAGES = ("text", "scoring", "sources", "decoys", "dataset")


def fingerprint(parts: Any) -> str:  # noqa: ANN401  any JSON
    """A short hash of JSON, 16 hexadecimal digits."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def input_state(source: Source, data_dir: Path | None) -> list[Any]:
    """What a source is read from: its files' names, sizes and times of change, or what would be downloaded.

    The time of the inode's change is among them, which cannot be set back as that of the content can. Image files do
    not count, since they are not read.
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


def vectors_state(name: str) -> list[str]:
    """A vector file's name and checksum (and those of the files beside it that continue its name, as with .kv)."""
    path = Path(name).expanduser()
    if not path.is_file():
        return [name]  # a name of gensim-data stands for one file for ever; "corpus" depends on the input alone
    files = sorted(other for other in path.parent.iterdir() if other.name.startswith(path.name) and other.is_file())
    return [path.name, *(_checksum(file) for file in files)]


@cache
def code_state() -> str:
    """A hash of our code and tables: another version, or a changed working copy, makes other rows."""
    package = Path(__file__).parents[1]
    files = [package / "schema.py", *(path for room in _PACKAGES for path in _files_below(package / room))]
    return fingerprint([_checksum(path) for path in files if path.suffix in (".py", ".npz")])


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
