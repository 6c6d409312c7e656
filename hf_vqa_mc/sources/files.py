"""Finding and opening published files: plain, .gz, .xz or inside a .zip; nothing is unpacked to disk."""

import os
import zipfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Protocol
from urllib.parse import urlsplit

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import DAMAGE, damaged, text_lines, unpacked

DEPTH = 2
"""Levels of folders below the data folder that are searched."""

_PACKED = ("", ".gz", ".xz")


@dataclass(frozen=True)
class RemoteFile:
    """A published file for download."""

    url: str
    holds: tuple[str, ...]
    """names of the files that readers need: members of the archive, or the file itself"""
    sha256: str | None = None
    """hexadecimal; None if no checksum is known"""
    size: int | None = None
    """bytes"""

    @property
    def name(self) -> str:
        """The file's name as published, such as ``dataset_v7w_telling.zip``."""
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True)
class PublishedFile:
    """A published file on this machine."""

    name: str
    """the publisher's name"""
    path: Path
    """the file itself or the zip file that contains it"""
    member: str | None = None
    """name in the zip file ``path``"""

    @property
    def location(self) -> str:
        """The file's name for messages."""
        return f"{self.path}" if self.member is None else f"{self.member} in {self.path}"

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the unpacked content; raises InputError if the file is unreadable, damaged or truncated."""
        return unpacked(self.path, self.member)

    def read_lines(self) -> list[str]:
        """The lines of a text file without line ends; raises InputError as ``open`` or if it is not UTF-8."""
        with self.open() as stream:
            return [line.removesuffix("\n").removesuffix("\r") for line in text_lines(stream, self.location)]


class Files(Protocol):
    """The files of a source."""

    def has(self, name: str) -> bool:
        """Whether there is a file with this name."""

    def find(self, name: str) -> PublishedFile:
        """Find a file by name (``train/questions.txt``); the InputError for a missing one says where to get it."""


class Folder:
    """Files in a folder and up to DEPTH folders below it, plain, packed, or inside zip files."""

    def __init__(self, path: Path, downloads: Sequence[RemoteFile] = ()) -> None:
        """downloads: where to get the files, for messages about missing ones."""
        if not path.is_dir():
            found = "is a file; give its folder" if path.exists() else "does not exist"
            names = ", ".join(remote.name for remote in downloads)
            where = f" (as downloaded: {names})" if names else ""
            raise InputError(f"data folder {path} {found}. Expected a folder with the publisher's files{where}")
        self.path = path
        self._downloads = downloads
        self._found: dict[str, PublishedFile | None] = {}
        self._unreadable: dict[Path, str] = {}

    def has(self, name: str) -> bool:
        """Whether there is a file with this name."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name] is not None

    def find(self, name: str) -> PublishedFile:
        """Find a file by name; if there are several, the one in the topmost folder, plain before packed.

        Raises:
            InputError: there is none, or two at the same level, or its zip file is damaged.
        """
        file = self._found[name] if self.has(name) else None
        if file is None:
            raise InputError(self._missing(name))
        return file

    def _search(self, name: str) -> PublishedFile | None:
        for folders in self._levels:
            for suffix in _PACKED:
                paths = [folder / (name + suffix) for folder in folders]
                plain = [PublishedFile(name, path) for path in paths if path.is_file()]
                if plain:
                    return _only(plain)
            zipped = [
                PublishedFile(name, path, member)
                for path in self._zips
                if path.parent in folders
                for member in members_named(self._zips[path], name)
            ]
            if zipped:
                return _only(zipped)
        return None

    @cached_property
    def _levels(self) -> list[list[Path]]:
        """The folder itself, the folders in it, and those in them."""
        levels = [[self.path]]
        for _ in range(DEPTH):
            inner = (path for folder in levels[-1] for path in sorted(folder.glob("*/")))
            levels.append([path for path in inner if os.access(path, os.R_OK | os.X_OK)])  # not a disk's lost+found
        return levels

    @cached_property
    def _zips(self) -> dict[Path, list[str]]:
        """The members of each zip file; unreadable zip files are remembered for messages."""
        names = {}
        for folder in (folder for level in self._levels for folder in level):
            for path in sorted(folder.glob("*.zip")):
                try:
                    names[path] = member_names(path)
                except (InputError, OSError) as error:  # also a folder of that name
                    self._unreadable[path] = str(error)
        return names

    def _missing(self, name: str) -> str:
        remotes = [remote for remote in self._downloads if name in remote.holds]
        broken = [self._unreadable[path] for path in self._unreadable if path.name in {r.name for r in remotes}]
        if broken:
            return broken[0]
        where = "".join(f" Download {remote.name} from {remote.url} and put it there unchanged." for remote in remotes)
        others = "".join(f" Not read: {error}." for error in list(self._unreadable.values())[:3])
        return (
            f"{self.path}: no {name} in this folder or up to {DEPTH} folders below it, plain, as .gz or .xz, or in a "
            f".zip.{where}{others}"
        )


def member_names(path: Path) -> list[str]:
    """The names of the files in a zip file; raises InputError if it is damaged, truncated or encrypted."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except DAMAGE as error:
        raise damaged(str(path), error) from error
    return [info.filename for info in infos if not info.is_dir()]


def members_named(members: Sequence[str], name: str) -> list[str]:
    """The members of a zip file with this name, in any folder except macOS's metadata."""
    return [one for one in members if f"/{one}".endswith(f"/{name}") and not one.startswith("__MACOSX/")]


def _only(files: list[PublishedFile]) -> PublishedFile:
    if len(files) > 1:
        listed = " and ".join(file.location for file in files[:3])
        raise InputError(
            f"{files[0].name} was found {len(files)} times: {listed}; expected one, give a folder with one"
        )
    return files[0]
