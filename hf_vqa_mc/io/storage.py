"""A folder on this machine or in an object store, by path or fsspec URL, for what several machines read and write."""

import contextlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import link_or_copy


def is_url(location: str) -> bool:
    """Whether a location is an fsspec URL, such as ``s3://bucket/folder``, and not a path."""
    return "://" in location


def check_url(option: str, location: str) -> None:
    """Raise InputError for a URL with credentials, with characters of patterns, or without a folder.

    Credentials would be shown in messages, clients delete all that matches a pattern, and who removes all of a bucket
    removes the bucket, too.
    """
    if not is_url(location):
        return
    _, _, path = location.rpartition("://")
    if location.startswith("://"):
        raise InputError(f"{option} {location}: expected a path, or a URL such as s3://BUCKET/vqa_mc")
    if "@" in path.partition("/")[0]:
        raise InputError(f"{option}: a URL must not hold a user or password; credentials come from the environment")
    if found := sorted(set(path) & set("*?[]")):
        raise InputError(f"{option} {location}: {found[0]} cannot be used in a URL, where it is part of a pattern")
    if not path.strip("/").partition("/")[2].strip("/"):
        raise InputError(f"{option} {location}: give a folder in the bucket ({location.rstrip('/')}/vqa_mc)")


def contains(folder: str, location: str) -> bool:
    """Whether a location is a folder or in it."""
    if is_url(folder) != is_url(location):
        return False
    if is_url(folder):
        parts, others = (PurePosixPath(one.rstrip("/")).parts for one in (folder, location))
    else:
        parts, others = (Path(os.path.realpath(one)).parts for one in (folder, location))
    return others[: len(parts)] == parts


@dataclass(frozen=True)
class Storage:
    """A folder whose files appear complete or not at all.

    Every operation raises OSError with the file's location if the storage does not answer or refuses.
    """

    location: str
    """path or fsspec URL; credentials come from the environment, never from the URL"""

    @property
    def _root(self) -> tuple[Any, str]:
        import fsspec

        try:
            fresh = {"use_listings_cache": False} if is_url(self.location) else {}  # other machines write, too
            return cast("tuple[Any, str]", fsspec.url_to_fs(self.location, **fresh))
        except (ImportError, ValueError) as error:
            raise InputError(f"{self.location}: {error}") from error

    def path(self, name: str = "") -> str:
        """The location of a file, for messages."""
        return f"{self.location.rstrip('/')}/{name}".rstrip("/")

    @contextlib.contextmanager
    def _access(self, name: str) -> Iterator[tuple[Any, str]]:
        """The file system and the file's path in it; errors name the file and are of one type."""
        files, root = self._root
        try:
            yield files, f"{root.rstrip('/')}/{name}".rstrip("/")
        except (InputError, FileNotFoundError):
            raise
        except Exception as error:  # clients of object stores raise errors of many types
            reason = " ".join(str(error).split()) or type(error).__name__
            raise OSError(f"{self.path(name)}: {reason[:300]}") from error

    def check_writable(self) -> None:
        """Raise InputError unless a file can be written and removed."""
        name = f".vqa-mc-{uuid.uuid4().hex}"
        try:
            self.write(name, b"")
            self.remove(name)
        except OSError as error:
            raise InputError(f"{self.path()}: cannot be written ({error}); give a location that can be") from error

    def exists(self, name: str = "") -> bool:
        """Whether there is a file or folder."""
        with self._access(name) as (files, path):
            return bool(files.exists(path))

    def names(self, folder: str = "") -> list[str]:
        """The files of a folder, at any depth, sorted."""
        with self._access(folder) as (files, path):
            return sorted(os.path.relpath(name, path) for name in files.find(path))

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading."""
        with self._access(name) as (files, path), files.open(path, "rb") as file:
            yield file

    def read(self, name: str) -> bytes:
        """The content of a file."""
        with self.open(name) as file:
            return file.read()

    def read_json(self, name: str) -> Any:  # noqa: ANN401  any JSON
        """The content of a JSON file."""
        return json.loads(self.read(name))

    def write(self, name: str, content: bytes) -> None:
        """Write a file."""
        self._written(name, lambda files, path: files.pipe_file(path, content))

    def write_json(self, name: str, value: Any) -> None:  # noqa: ANN401  any JSON
        """Write a JSON file."""
        self.write(name, json.dumps(value).encode())

    def put(self, name: str, file: Path) -> None:
        """Upload a file."""
        self._written(name, lambda files, path: files.put_file(str(file), path))

    def _written(self, name: str, write: Callable[[Any, str], None]) -> None:
        """Write a file that appears in one step: object stores do so; elsewhere it is renamed when complete."""
        with self._access(name) as (files, path):
            if not _is_local(files):
                write(files, path)
                return
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            partial = f"{path}.{uuid.uuid4().hex}.partial"
            try:
                write(files, partial)
                Path(partial).replace(path)
            finally:
                Path(partial).unlink(missing_ok=True)

    def copy(self, name: str, to: "Storage", new_name: str) -> None:
        """Copy a file to another folder: a hard link on one disk; an object store copies without a transfer."""
        with self._access(name) as (files, path), to._access(new_name) as (others, new_path):
            if _is_local(files) and _is_local(others):
                Path(new_path).parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(Path(path), Path(new_path))
            elif type(files) is type(others):
                files.cp_file(path, new_path)
            else:
                if _is_local(others):
                    Path(new_path).parent.mkdir(parents=True, exist_ok=True)
                with files.open(path, "rb") as source, others.open(new_path, "wb") as target:
                    shutil.copyfileobj(source, target, 2**24)

    def remove(self, name: str = "") -> None:
        """Remove a file, or a folder with all files."""
        with self._access(name) as (files, path):
            if files.exists(path):
                files.rm(path, recursive=True)

    def remove_own(self, own: re.Pattern[str], last: str) -> None:
        """Remove the files and folders with such names that are directly in the folder, ``last`` after all others."""
        with self._access("") as (files, path):
            names = {name.rstrip("/").rpartition("/")[2]: name for name in files.ls(path, detail=False)}
            if others := [names[name] for name in sorted(names) if own.fullmatch(name) and name != last]:
                files.rm(others, recursive=True)
        self.remove(last)
        with contextlib.suppress(OSError), self._access("") as (files, path):  # most object stores have no folders
            if not files.ls(path, detail=False):
                files.rmdir(path)


def _is_local(files: Any) -> bool:  # noqa: ANN401  a file system
    from fsspec.implementations.local import LocalFileSystem

    return isinstance(files, LocalFileSystem)
