"""Plain files and files packed with gzip, bzip2, xz or zip, decompressed while they are read, under a limit.

A few megabytes can unpack to terabytes. So a packed file may hold at most `LARGEST` bytes and, beyond `FREE` bytes, at
most `RATIO` times its own size. No published file of a source comes near: the largest, word vectors and GQA's training
questions, hold some gigabytes, and the most repetitive, GQA's questions packed with xz, 27 times their size.
``max_unpacked``, an option of every verb that reads files, replaces these limits.
"""

import bz2
import gzip
import io
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeAlias, cast

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FREE, RATIO, LARGEST = 64 * 10**6, 100, 64 * 10**9
"""Limits of a packed file: unpacked bytes at any ratio, ratio of unpacked to packed bytes beyond them, and bytes."""
REMEDY = "if you trust it, set --max-unpacked to its size in GB"
"""What to do about a file beyond the limits."""

# RuntimeError and NotImplementedError: of zipfile, for a password and an unknown compression method
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    struct.error,
    gzip.BadGzipFile,
    NotImplementedError,
    RuntimeError,
)
"""Exceptions of the standard library for archives that cannot be unpacked."""

_CHUNK = 1 << 20
_REPORTED = 1 << 26
"""Unpacked bytes between two reports of progress; smaller files are not reported."""


@dataclass(frozen=True)
class _Reading:
    """How files are read in this context."""

    max_unpacked: float | None = None
    progress: Progress = silent


_READING: ContextVar[_Reading] = ContextVar("reading", default=_Reading())  # noqa: B039  it is frozen


@contextmanager
def reading(max_unpacked: float | None = None, progress: Progress = silent) -> Iterator[None]:
    """Read files in the block with another limit, and report progress of large ones.

    Args:
        max_unpacked: limit in GB of what a packed file holds, at any ratio; None for the default limits.
        progress: called with (step, done, total), in MB.
    """
    token = _READING.set(_Reading(max_unpacked, progress))
    try:
        yield
    finally:
        _READING.reset(token)


def most_unpacked(packed: int, free: int | None = None) -> float:
    """Maximum number of bytes that a file of ``packed`` bytes may hold; ``free`` at any ratio, by default `FREE`."""
    given = _READING.get().max_unpacked
    least = FREE if free is None else free
    return min(LARGEST, max(least, RATIO * packed)) if given is None else given * 10**9


def bomb(location: str, packed: int, most: float) -> InputError:
    """The error for a file of ``packed`` bytes that holds more than it may."""
    return InputError(
        f"{location}: refused, its {packed / 10**6:,.1f} MB unpack to more than {most / 10**9:,.3g} GB; {REMEDY}"
    )


class Readable(Protocol):
    """A plain or packed file, such as ``sources.files.PublishedFile``."""

    @property
    def location(self) -> str:
        """The file's name for messages."""

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the file; its content is unpacked while it is read."""


File: TypeAlias = Path | Readable


@contextmanager
def opened(file: File) -> Iterator[tuple[IO[bytes], str]]:
    """The unpacked content of a file, and its name for messages; raises InputError if it cannot be read."""
    with unpacked(file) if isinstance(file, Path) else file.open() as stream:
        yield stream, str(file) if isinstance(file, Path) else file.location


def text_lines(stream: IO[bytes], location: str) -> Iterator[str]:
    """Iterate over the lines of a UTF-8 file, with line ends; raises InputError for other encodings."""
    for block in text_blocks(stream, location):
        yield from StringIO(block, newline="\n")


def text_blocks(stream: IO[bytes], location: str) -> Iterator[str]:
    """Iterate over a file in UTF-8 in blocks of whole lines; raises InputError as ``text_lines``."""
    passed = 0
    rest: list[bytes] = []  # of a line without an end; joined once

    def decoded(block: bytes) -> str:
        try:
            return block.decode("utf-8" if passed else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = passed + block.count(b"\n", 0, error.start) + 1
            found = f"0x{block[error.start]:02x}"
            raise InputError(f"{location}, line {line}: expected UTF-8 text, found the byte {found}") from None

    while content := stream.read(_CHUNK):
        block, end, last = content.rpartition(b"\n")
        if end:
            block = b"".join([*rest, block, end])
            yield decoded(block)
            passed, rest = passed + block.count(b"\n"), []
        rest.append(last)
    if any(rest):
        yield decoded(b"".join(rest))


@contextmanager
def unpacked(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """The unpacked content of a file; the packing is detected by its first bytes.

    Args:
        path: the file.
        member: file in a zip; by default a zip must hold one file.

    Raises:
        InputError: it cannot be read, is damaged, truncated or encrypted, is a zip with several files, or unpacks to
            more than `most_unpacked`; the last while it is read.
    """
    location = str(path) if member is None else f"{member} in {path}"
    try:
        with path.open("rb") as raw:
            start = raw.read(6)
            raw.seek(0)
            if member is not None or start.startswith(b"PK\x03\x04"):
                with zipfile.ZipFile(raw) as archive:
                    info = archive.getinfo(member or _only_member(archive, path))
                    with archive.open(info) as file:
                        yield _counted(file, location, path, info.filename, lambda count: (count, info.file_size))
                return
            size = os.fstat(raw.fileno()).st_size
            packing = next((one for mark, one in _PACKINGS.items() if start.startswith(mark)), None)
            if packing is None:
                yield _counted(raw, location, None, path.name, lambda count: (count, size))
                return
            with packing(raw) as file:
                yield _counted(file, location, path, path.name, lambda count: (raw.tell(), size))
    except DAMAGE as error:
        raise damaged(location, error) from error
    except OSError as error:
        raise InputError(f"{location}: cannot be read ({error.strerror or error})") from error


def check_unpacked(path: Path, member: str | None = None) -> None:
    """Raise InputError as `unpacked` unless the whole file can be unpacked within the limits."""
    with unpacked(path, member) as file:
        while file.read(_CHUNK):
            pass


_PACKINGS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw)),
    b"BZh": lambda raw: cast("IO[bytes]", bz2.BZ2File(raw)),
    b"\xfd7zXZ\x00": lambda raw: cast("IO[bytes]", lzma.LZMAFile(raw)),
}
"""First bytes of a packed file, and what unpacks it."""


def is_packed(start: bytes) -> bool:
    """Whether a file that starts with these bytes is packed with gzip, bzip2 or xz."""
    return start.startswith(tuple(_PACKINGS))


def _counted(
    file: IO[bytes], location: str, packed: Path | None, name: str, position: Callable[[int], tuple[int, int]]
) -> IO[bytes]:
    """A file that is read under the limits, with progress; ``packed`` is None for a plain file."""
    return io.BufferedReader(_Counted(file, location, packed, name, position), _CHUNK)


class _Counted(io.RawIOBase):
    """A file whose unpacked bytes are counted while it is read."""

    def __init__(
        self,
        file: IO[bytes],
        location: str,
        packed: Path | None,
        name: str,
        position: Callable[[int], tuple[int, int]],
    ) -> None:
        self.name = name
        self._file = cast(io.BufferedIOBase, file)
        self._location, self._position = location, position
        self._packed = None if packed is None else packed.stat().st_size
        self._most = None if self._packed is None else most_unpacked(self._packed)
        self._count, self._reported = 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        count = self._file.readinto(buffer)
        self._count += count
        if self._packed is not None and self._most is not None and self._count > self._most:
            raise bomb(self._location, self._packed, self._most)
        if self._count - self._reported >= _REPORTED or (self._reported and not count):
            self._reported = self._count
            done, total = self._position(self._count)
            mega = -(-total // 10**6)
            _READING.get().progress(f"reading {self.name} (MB)", min(done // 10**6, mega) if count else mega, mega)
        return count

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_CHUNK) or b"", b""))


def damaged(location: str, error: Exception) -> InputError:
    """The error for an archive that cannot be unpacked."""
    return InputError(f"{location}: the archive is damaged or truncated ({error}); download or write it again")


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        found = listed(names) or "nothing"
        raise InputError(f"{path}: expected a zip with one file, found {found}; unpack it and give one of them")
    return names[0]
