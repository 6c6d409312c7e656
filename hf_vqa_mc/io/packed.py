"""Plain files and files packed with gzip, bzip2, xz or zip, decompressed while they are read, under a limit."""

import bz2
import errno
import gzip
import io
import lzma
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeAlias

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FREE, RATIO = 64 * 10**6, 100
"""A few megabytes can unpack to terabytes: beyond `FREE` bytes, a packed file may hold at most `RATIO` times its own
size. The most repetitive published file, GQA's questions packed with xz, holds 27 times its size."""
DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error, gzip.BadGzipFile, RuntimeError)
"""Exceptions of the standard library for archives that cannot be unpacked; RuntimeError: for a password."""

_CHUNK = 1 << 20
_REPORTED = 1 << 26  # unpacked bytes between two reports of progress; smaller files are not reported
_PROGRESS: ContextVar[Progress] = ContextVar("progress", default=silent)


@contextmanager
def reading(progress: Progress) -> Iterator[None]:
    """Report (step, done, total) in MB of large files that are read in the block."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


class Readable(Protocol):
    """A plain or packed file, such as ``sources.files.PublishedFile``."""

    @property
    def location(self) -> str:
        """The file's name for messages."""

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the file; its content is unpacked while it is read."""


File: TypeAlias = Path | Readable


def location_of(file: File) -> str:
    """A file's name for messages."""
    return str(file) if isinstance(file, Path) else file.location


def opened(file: File) -> AbstractContextManager[IO[bytes]]:
    """The unpacked content of a file; raises InputError if it cannot be read."""
    return unpacked(file) if isinstance(file, Path) else file.open()


def text_lines(stream: IO[bytes], location: str) -> Iterator[str]:
    """Iterate over the lines of a UTF-8 file, with line ends; raises InputError for other encodings."""
    encoding = "utf-8-sig"
    for number, line in enumerate(stream, 1):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            found = f"0x{error.object[error.start]:02x}"
            raise InputError(f"{location}, line {number}: expected UTF-8 text, found the byte {found}") from None
        encoding = "utf-8"


@contextmanager
def unpacked(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """The unpacked content of a file, or of a ``member`` of a zip; the packing is detected by its first bytes.

    Raises InputError if it is damaged, truncated or encrypted, is a zip with several files, or (while it is read)
    unpacks to more than `FREE` bytes and `RATIO` times its size.
    """
    location = str(path) if member is None else f"{member} in {path}"
    try:
        with path.open("rb") as raw, ExitStack() as stack:
            start = raw.read(6)
            file: Any = raw
            raw.seek(0)
            if member is not None or start.startswith(b"PK\x03\x04"):
                archive = stack.enter_context(zipfile.ZipFile(raw))
                file = stack.enter_context(archive.open(member or _only_member(archive, path)))
            elif start.startswith(b"\x1f\x8b"):
                file = gzip.GzipFile(fileobj=raw)
            elif start.startswith(b"BZh"):
                file = bz2.BZ2File(raw)
            elif start == b"\xfd7zXZ\x00":
                file = lzma.LZMAFile(raw)
            yield io.BufferedReader(_Limited(file, raw, location), _CHUNK)
    except DAMAGE as error:
        raise damaged(location, error) from error
    except OSError as error:
        if error.errno in (None, errno.EINVAL):  # of bz2; a negative offset in a zip
            raise damaged(location, error) from error
        raise


def check_unpacked(path: Path, member: str | None = None) -> None:
    """Raise InputError as `unpacked` unless the whole file can be unpacked within the limits."""
    with unpacked(path, member) as file:
        while file.read(_CHUNK):
            pass


class _Limited(io.RawIOBase):
    """The content of a ``raw`` file, with a limit if it is packed; reports how much of the raw file is read."""

    def __init__(self, file: Any, raw: IO[bytes], location: str) -> None:  # noqa: ANN401  a raw file or one of a packing
        self._file, self._raw, self._location = file, raw, location
        self.name = file.name if isinstance(file, zipfile.ZipExtFile) else Path(location).name
        self._size = os.fstat(raw.fileno()).st_size
        self._most = math.inf if file is raw else max(FREE, RATIO * self._size)
        self._count = self._reported = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        count: int = self._file.readinto(buffer)
        self._count += count
        if self._count > self._most:
            raise InputError(
                f"{self._location}: refused, its {self._size / 10**6:,.1f} MB unpack to more than "
                f"{self._most / 10**9:,.3g} GB; if you trust it, unpack or convert it first"
            )
        if self._count - self._reported >= _REPORTED or (self._reported and not count):
            self._reported = self._count
            total = -(-self._size // 10**6)
            done = min(self._raw.tell() // 10**6, total) if count else total
            _PROGRESS.get()(f"reading {self.name} (MB)", done, total)
        return count


def damaged(location: str, error: Exception) -> InputError:
    """The error for an archive that cannot be unpacked."""
    return InputError(f"{location}: the archive is damaged or truncated ({error}); download or write it again")


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        found = listed(names) or "nothing"
        raise InputError(f"{path}: expected a zip with one file, found {found}; unpack it and give one of them")
    return names[0]
