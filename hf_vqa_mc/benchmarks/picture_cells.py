"""Images in the cells of a table: file content, base64 text, a path, or a reference to another row."""

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa

from hf_vqa_mc.dataset.stored_images import PROTOCOL
from hf_vqa_mc.errors import InputError, shown

MOST_NAME = 64
"""A text up to this length is not a base64 image, but a path or a reference to another row (VLMEvalKit's tables)."""
MOST_HOPS = 3
"""References are followed up to this depth: a question repeated with shuffled choices refers to its first occurrence,
which may refer to the first question about the image."""
LOOKED_AT = 1000
"""Number of images checked; if all are missing, the benchmark counts as one without images."""

NAME_FOLDER = "give the folder that holds them with --images"
"""Remedy, for messages."""

_LONGEST_SHOWN = 80  # characters
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_DATA_URI = re.compile(r"data:[^,]{0,100};base64,")
_LONGEST_PATH = 4096
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-\s]*")


@dataclass(frozen=True, eq=False)
class PictureCells:
    """The image columns of a table; if a row has several images, the first is read."""

    columns: Sequence[pa.ChunkedArray]
    base: Path | None
    """the folder to which paths are relative and which they must not leave"""
    location: str
    """location for messages"""
    references: Mapping[str, int] = field(default_factory=dict)
    """row by the reference that a cell may hold instead of an image"""
    trusted: bool = False
    """whether ``datasets`` wrote the paths, which then may be absolute"""

    def read(self, row: int) -> bytes | None:
        """See `Images`."""
        return next((self._content(value, row) for value in self._values(row)), None)

    def identity(self, row: int) -> str:
        """Equal for rows with the same images: a path, else the sha256 of the bytes; "" without image."""
        found = [self._identity(value) for value in self._values(row)]
        if len(found) < 2:
            return "".join(found)
        return hashlib.sha256("\n".join(found).encode()).hexdigest()

    def missing(self) -> str:
        """Why none of the first images was found, and what to do; "" if no row has one."""
        names = [value for value in itertools.islice(self._every(), LOOKED_AT) if isinstance(value, str)]
        if not names:
            return ""
        if "://" in names[0]:
            return f"the images are web addresses, e.g. {shortened(names[0])}; download them, and {NAME_FOLDER}"
        number = f"the first {LOOKED_AT}" if len(names) == LOOKED_AT else f"{len(set(names))}"
        return f"none of {number} image paths exists, e.g. {shortened(names[0])}; {NAME_FOLDER}"

    def found(self) -> Iterator[bool]:
        """Whether each image of each row is available."""
        for value in self._every():
            named = isinstance(value, str) and not self._is_stored(value) and _is_name(value)
            yield not named or bool(self._file(str(value)))

    def _every(self) -> Iterator[bytes | str]:
        return (value for row in range(len(self.columns[0])) for value in self._values(row))

    def _is_stored(self, value: str) -> bool:
        """Whether a path is an address written by ``with_images``."""
        return self.trusted and value.startswith(f"{PROTOCOL}://")

    def _values(self, row: int, hops: int = MOST_HOPS) -> Iterator[bytes | str]:
        """The images of a row: bytes, base64 text or a path."""
        for column in self.columns:
            for value in _flat(column[row].as_py()):
                if isinstance(value, str) and len(value) <= MOST_NAME and value in self.references and hops:
                    target = self.references[value]
                    yield from self._values(target, hops - 1) if target != row else iter(())
                else:
                    yield value

    def _content(self, value: bytes | str, row: int) -> bytes:
        where = f"{self.location}, row {row}"
        if isinstance(value, bytes):
            return value
        if not _is_name(value):
            try:
                return _decoded(value)
            except ValueError as error:
                raise InputError(f"{where}: the image is not base64 text ({error}): {shown(value)}") from error
        if self._is_stored(value):
            with fsspec.open(value, "rb") as stored:
                return bytes(stored.read())
        file = self._file(value)
        if file is None:
            raise InputError(f"{where}: no image {shown(value)} in {self.base}; give its folder with --images DIR")
        try:
            return file.read_bytes()
        except OSError as error:
            raise InputError(f"{where}: {file} cannot be read ({error.strerror or error})") from error

    def _identity(self, value: bytes | str) -> str:
        if isinstance(value, str) and _is_name(value):
            return value
        try:
            content = _decoded(value) if isinstance(value, str) else value
        except ValueError:
            content = str(value).encode()
        return hashlib.sha256(content).hexdigest()

    def _file(self, name: str) -> Path | None:
        """The file of this name, or None."""
        if "\0" in name or "://" in name:
            return None
        if self.trusted and Path(name).is_absolute():
            return Path(name) if Path(name).is_file() else None
        if self.base is None:
            return None
        try:
            base = self.base.resolve()
            file = (base / name).resolve()
            return file if file.is_relative_to(base) and file.is_file() else None
        except OSError:  # the name is too long for a file
            return None


def _flat(value: Any) -> Iterator[bytes | str]:  # noqa: ANN401  any cell
    """The images in a cell, in order, without empty ones."""
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        yield from _flat(value.get("bytes") or value.get("path"))
    elif isinstance(value, bytes | str) and value:
        yield value


def shortened(name: str) -> str:
    """A path or id for messages."""
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)


def _is_name(text: str) -> bool:
    """Whether a text is a path or another name instead of a base64 image."""
    if _DATA_URI.match(text):
        return False
    if len(text) <= MOST_NAME or text[-8:].lower().endswith(_SUFFIXES):
        return True
    return len(text) < _LONGEST_PATH and not _BASE64.fullmatch(text)


def _decoded(text: str) -> bytes:
    """Decode base64 text; raises ValueError if it is invalid."""
    start = _DATA_URI.match(text)
    packed = "".join(text[start.end() if start else 0 :].split())
    return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
