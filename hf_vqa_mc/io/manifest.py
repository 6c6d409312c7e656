"""``.vqa_mc.json``: the files that a command wrote into a folder, with size and sha256.

Later commands replace or remove only files that are listed in it and unchanged. It is never uploaded.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.io.json_stream import read_json

MANIFEST = ".vqa_mc.json"
WRITTEN_BY = "hf_vqa_mc"
SETTLED_SECONDS = 0.1
"""Age of a file from which a later change also changes its modification time."""

Entry = tuple[int, str]
"""Size in bytes and sha256 of a file."""

_KNOWN: dict[tuple[int, ...], str] = {}
"""sha256 by device, inode, size and modification time; so a file and its hard links are read once per process."""


@dataclass(frozen=True)
class Manifest:
    """The files of a command."""

    command: str
    """such as ``vqa-mc build``"""
    files: Mapping[str, Entry]
    """by path, relative to the folder"""


def read_manifest(path: Path) -> Manifest | None:
    """The manifest in a file; None if there is none, or it is damaged."""
    try:
        found = read_json(path)
        if found["written_by"] != WRITTEN_BY:
            return None
        files = {str(name): (int(size), str(sha256)) for name, (size, sha256) in found["files"].items()}
        return Manifest(str(found["command"]), files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def manifest_text(command: str, files: Mapping[str, Entry], about: Mapping[str, Any] | None = None) -> str:
    """The content of a manifest, with other fields ``about`` the files."""
    listed = {name: list(entry) for name, entry in sorted(files.items())}
    return (
        json.dumps({**(about or {}), "written_by": WRITTEN_BY, "command": command, "files": listed}, indent=1) + "\n"
    )


def entry_of(path: Path) -> Entry:
    """Size and sha256 of a file."""
    return path.stat().st_size, sha256_of(path)


def sha256_of(path: Path) -> str:
    """The sha256 of a file as hexadecimal digits."""
    with path.open("rb") as content:
        about = os.fstat(content.fileno())
        key = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
        if key in _KNOWN:
            return _KNOWN[key]
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if time.time() - about.st_mtime > SETTLED_SECONDS:
        _KNOWN[key] = found
    return found


def changed_files(folder: Path, names: Iterable[str], files: Mapping[str, Entry]) -> list[str]:
    """The names of listed files that are no longer as listed; missing files are not changed."""
    return [name for name in names if name in files and not _is_as_listed(folder / name, files[name])]


def _is_as_listed(path: Path, entry: Entry) -> bool:
    if path.is_symlink() or not path.is_file():
        return not os.path.lexists(path)
    return path.stat().st_size == entry[0] and sha256_of(path) == entry[1]


def files_in(folder: Path) -> list[str]:
    """The relative paths of all files below a folder, sorted; links to folders count as files."""

    def fail(error: OSError) -> None:
        raise error

    found = []
    for root, folders, files in os.walk(folder, onerror=fail):
        links = [name for name in folders if Path(root, name).is_symlink()]
        found += [Path(root, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(found)
