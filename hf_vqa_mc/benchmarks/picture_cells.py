"""Pictures as the cells of a table hold them: files' bytes, base64 text, paths, or the name of the row that has it."""

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
"""A text no longer than this is no base64 of a picture: it is a path, or names the row that has the picture
(VLMEvalKit's tables)."""
MOST_HOPS = 3
"""A row may name one that names another: a question asked again with its choices moved round names the first time it
is asked, which may name the first question about the picture."""
LOOKED_AT = 1000
"""How many pictures are looked for before they count as not being here."""

NAME_FOLDER = "name the folder that holds them with --images"
"""What to do."""

_LONGEST_TOLD = 80  # characters
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_DATA_URI = re.compile(r"data:[^,]{0,100};base64,")
_LONGEST_PATH = 4096
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-\s]*")


@dataclass(frozen=True, eq=False)
class PictureCells:
    """The columns of a table with its rows' pictures; of several in a row the first is shown."""

    columns: Sequence[pa.ChunkedArray]
    base: Path | None
    """the folder that paths start from, and must not leave"""
    place: str
    """for messages"""
    references: Mapping[str, int] = field(default_factory=dict)
    """what a cell may name instead of a picture, and the row that has it"""
    trusted: bool = False
    """whether ``datasets`` wrote the paths, which then may lie anywhere on this machine"""

    def read(self, row: int) -> bytes | None:
        """As `Images` has it."""
        return next((self._content(value, row) for value in self._values(row)), None)

    def identity(self, row: int) -> str:
        """The same for rows with the same pictures: a path as it is, else the sha256 of the bytes; "" for none."""
        found = [self._identity(value) for value in self._values(row)]
        if len(found) < 2:  # one picture, or none
            return "".join(found)
        return hashlib.sha256("\n".join(found).encode()).hexdigest()

    def here(self) -> bool:
        """Whether any of the first pictures is on this machine."""
        return any(itertools.islice(self._found(), LOOKED_AT))

    def missing(self) -> str:
        """Why none of the first pictures is here, and what to do; "" where no row has one."""
        values = (value for row in range(len(self.columns[0])) for value in self._values(row))
        names = [value for value in itertools.islice(values, LOOKED_AT) if isinstance(value, str)]
        if not names:
            return ""
        if "://" in names[0]:
            return f"the images are web addresses, e.g. {told(names[0])}; download them, and {NAME_FOLDER}"
        number = f"the first {LOOKED_AT}" if len(names) == LOOKED_AT else f"{len(set(names))}"
        return f"none of {number} image paths is there, e.g. {told(names[0])}; {NAME_FOLDER}"

    def all_here(self) -> bool:
        """Whether all pictures are on this machine."""
        return all(self._found())

    def _found(self) -> Iterator[bool]:
        """Of each row's pictures, whether they are on this machine."""
        for row in range(len(self.columns[0])):
            for value in self._values(row):
                yield (
                    not isinstance(value, str)
                    or self._is_stored(value)
                    or not _is_name(value)
                    or bool(self._file(value))
                )

    def _is_stored(self, value: str) -> bool:
        """Whether a path is an address that ``with_images`` made."""
        return self.trusted and value.startswith(f"{PROTOCOL}://")

    def _values(self, row: int, hops: int = MOST_HOPS) -> Iterator[bytes | str]:
        """The pictures of a row: bytes, base64 text or a path."""
        for column in self.columns:
            for value in _flat(column[row].as_py()):
                if isinstance(value, str) and len(value) <= MOST_NAME and value in self.references and hops:
                    target = self.references[value]
                    yield from self._values(target, hops - 1) if target != row else iter(())
                else:
                    yield value

    def _content(self, value: bytes | str, row: int) -> bytes:
        where = f"{self.place}, row {row}"
        if isinstance(value, bytes):
            return value
        if not _is_name(value):
            try:
                return _decoded(value)
            except ValueError as error:
                raise InputError(f"{where}: the image is no base64 text ({error}): {shown(value)}") from error
        if self._is_stored(value):
            with fsspec.open(value, "rb") as stored:
                return bytes(stored.read())
        file = self._file(value)
        if file is None:
            raise InputError(f"{where}: there is no image {shown(value)} in {self.base}; say where with --images DIR")
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
        """The file of this name, None if it is not here."""
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
        except OSError:  # a name longer than a file's can be
            return None


def _flat(value: Any) -> Iterator[bytes | str]:  # noqa: ANN401  any cell
    """The pictures in a cell, in order, without empty ones."""
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        yield from _flat(value.get("bytes") or value.get("path"))
    elif isinstance(value, bytes | str) and value:
        yield value


def told(name: str) -> str:
    """A path or id in a message."""
    return name if name.isprintable() and len(name) <= _LONGEST_TOLD else shown(name)


def _is_name(text: str) -> bool:
    """Whether a text is a path or another name, not a picture in base64."""
    if _DATA_URI.match(text):
        return False
    if len(text) <= MOST_NAME or text[-8:].lower().endswith(_SUFFIXES):
        return True
    return len(text) < _LONGEST_PATH and not _BASE64.fullmatch(text)


def _decoded(text: str) -> bytes:
    """The bytes that base64 text spells; raises ValueError if it spells none."""
    start = _DATA_URI.match(text)
    packed = "".join(text[start.end() if start else 0 :].split())
    return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
