"""Images in the cells of a table: file content, base64 text, a path, or a reference to another row."""

import base64
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import is_list, is_text
from hf_vqa_mc.dataset.allowed_images import NAME_FOLDER, AllowedImages, is_web_address, refusal, shortened
from hf_vqa_mc.errors import InputError, shown

MOST_NAME = 64
"""A text up to this length is not a base64 image, but a path or a reference to another row (VLMEvalKit's tables)."""
MOST_HOPS = 3
"""References are followed up to this depth: a question repeated with shuffled choices refers to its first occurrence,
which may refer to the first question about the image."""
LOOKED_AT = 1000
"""Number of images checked; if all are missing, the benchmark counts as one without images."""

_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
_DATA_URI = re.compile(r"data:[^,]{0,100};base64,")
_LONGEST_PATH = 4096
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-\s]*")


@dataclass(frozen=True, eq=False)
class PictureCells:
    """The image columns of a table; if a row has several images, the first is read."""

    columns: Sequence[pa.ChunkedArray]
    allowed: AllowedImages
    """the only way to files that cells name"""
    location: str
    """location for messages"""
    references: Mapping[str, int] = field(default_factory=dict)
    """row by the reference that a cell may hold instead of an image"""

    def read(self, row: int) -> bytes | None:
        """See `Images`; None if the row's image is refused."""
        value = next(self._values(row), None)
        if value is None or (_is_named(value) and self.allowed.refuses(str(value))):
            return None
        return self._content(value, row)

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
        number = f"the first {LOOKED_AT}" if len(names) == LOOKED_AT else f"{len(set(names))}"
        if self.allowed.refuses(names[0]):
            where, remedy = refusal(names[0])
            return f"the images are {where} and are not read, e.g. {shortened(names[0])}; {remedy}"
        return f"none of {number} image paths exists, e.g. {shortened(names[0])}; {NAME_FOLDER}"

    def found(self) -> Iterator[bool]:
        """Whether each image of each row is available."""
        for value in self._every():
            yield not _is_named(value) or self.allowed.has(str(value))

    def refused(self) -> Iterator[str]:
        """Sentences that count the images that are not allowed and name the first, with the remedy."""
        found: dict[bool, list[tuple[int, int, str]]] = {}
        for column in self.columns:
            for names, rows in _names(column):
                unique = pc.unique(names).to_pylist()
                distinct = [name for name in unique if name not in self.references and _is_name(name)]
                for web in (False, True):
                    some = [name for name in distinct if is_web_address(name) == web and self.allowed.refuses(name)]
                    at = pc.is_in(names, pa.array(some, names.type)).to_numpy(zero_copy_only=False).nonzero()[0]
                    if len(at):
                        found.setdefault(web, []).append((len(at), int(rows[at[0]]), names[int(at[0])].as_py()))
        for several in found.values():
            count, (_, row, name) = sum(one[0] for one in several), min(several, key=lambda one: one[1])
            where, remedy = refusal(name)
            row_named = f"{self.location.rpartition('/')[2]}, row {row}: {shortened(name)}"  # no folders of the user
            yield f"{count:,} images are {where} and are not read, e.g. {row_named}; {remedy}"

    def _every(self) -> Iterator[bytes | str]:
        return (value for row in range(len(self.columns[0])) for value in self._values(row))

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
        try:
            return self.allowed.read(value)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def _identity(self, value: bytes | str) -> str:
        if isinstance(value, str) and _is_name(value):
            return value
        try:
            content = _decoded(value) if isinstance(value, str) else value
        except ValueError:
            content = str(value).encode()
        return hashlib.sha256(content).hexdigest()


def _flat(value: Any) -> Iterator[bytes | str]:  # noqa: ANN401  any cell
    """The images in a cell, in order, without empty ones."""
    if isinstance(value, list):
        for one in value:
            yield from _flat(one)
    elif isinstance(value, dict):
        yield from _flat(value.get("bytes") or value.get("path"))
    elif isinstance(value, bytes | str) and value:
        yield value


def _names(column: pa.ChunkedArray) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
    """The texts in image cells that are short enough for names of images, and their rows; by chunk."""
    start = 0
    for chunk in column.chunks:
        rows = np.arange(start, start + len(chunk))
        start += len(chunk)
        while is_list(chunk.type):
            rows = rows[pc.list_parent_indices(chunk).to_numpy()]
            chunk = pc.list_flatten(chunk)
        if pa.types.is_struct(chunk.type):
            content, path = (pc.struct_field(chunk, part) for part in ("bytes", "path"))
            lengths = pc.fill_null(pc.binary_length(content), 0) if not pa.types.is_null(content.type) else 0
            chunk = pc.if_else(pc.equal(lengths, 0), path, content if is_text(content.type) else None)
        if is_text(chunk.type):
            chunk = chunk.cast(pa.large_string())
            short = pc.less(pc.fill_null(pc.binary_length(chunk), _LONGEST_PATH), _LONGEST_PATH)
            at = np.flatnonzero(pc.fill_null(short, False).to_numpy(zero_copy_only=False))
            yield chunk.take(at), rows[at]


def _is_named(value: bytes | str) -> bool:
    return isinstance(value, str) and _is_name(value)


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
