"""Plain files and files packed with gzip, bzip2, xz or zip, decompressed while they are read, under a limit."""

import bz2
import errno
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
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, TypeAlias, cast

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

FREE, RATIO = 64 * 10**6, 100
"""A few megabytes can unpack to terabytes: beyond `FREE` bytes, a packed file may hold at most `RATIO` times its own
size. The most repetitive published file, GQA's questions packed with xz, holds 27 times its size."""

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


def check_size(location: str, packed: int, size: int, free: int | None = None) -> None:
    """Raise InputError if a file of ``packed`` bytes holds more than it may; any file may hold ``free`` bytes."""
    most = max(FREE if free is None else free, RATIO * packed)
    if size > most:
        raise InputError(
            f"{location}: refused, its {packed / 10**6:,.1f} MB unpack to more than {most / 10**9:,.3g} GB; if you "
            "trust it, unpack or convert it first"
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
    unpacks to more than `check_size` allows.
    """
    location = str(path) if member is None else f"{member} in {path}"
    try:
        with path.open("rb") as raw:
            start, size = raw.read(6), os.fstat(raw.fileno()).st_size
            raw.seek(0)
            packing = next((one for mark, one in _PACKINGS.items() if start.startswith(mark)), None)
            if member is not None or start.startswith(b"PK\x03\x04"):
                with zipfile.ZipFile(raw) as archive:
                    info = archive.getinfo(member or _only_member(archive, path))
                    with archive.open(info) as file:
                        done = lambda count: (count, info.file_size)  # noqa: E731
                        yield io.BufferedReader(_Counted(file, location, size, info.filename, done), _CHUNK)
            elif packing is None:
                yield io.BufferedReader(_Counted(raw, location, None, path.name, lambda count: (count, size)), _CHUNK)
            else:
                with packing(raw) as file:
                    done = lambda count: (raw.tell(), size)  # noqa: E731
                    yield io.BufferedReader(_Counted(file, location, size, path.name, done), _CHUNK)
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


_PACKINGS: dict[bytes, Callable[[IO[bytes]], IO[bytes]]] = {
    b"\x1f\x8b": lambda raw: cast("IO[bytes]", gzip.GzipFile(fileobj=raw)),
    b"BZh": lambda raw: cast("IO[bytes]", bz2.BZ2File(raw)),
    b"\xfd7zXZ\x00": lambda raw: cast("IO[bytes]", lzma.LZMAFile(raw)),
}
"""First bytes of a packed file, and what unpacks it."""


def is_packed(start: bytes) -> bool:
    """Whether a file that starts with these bytes is packed with gzip, bzip2 or xz."""
    return start.startswith(tuple(_PACKINGS))


class _Counted(io.RawIOBase):
    """A file whose unpacked bytes are counted while it is read; ``packed`` is its size, None for a plain file."""

    def __init__(
        self,
        file: IO[bytes],
        location: str,
        packed: int | None,
        name: str,
        position: Callable[[int], tuple[int, int]],
    ) -> None:
        self.name = name
        self._file = cast(io.BufferedIOBase, file)
        self._location, self._packed, self._position = location, packed, position
        self._count, self._reported = 0, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        count = self._file.readinto(buffer)
        self._count += count
        if self._packed is not None:
            check_size(self._location, self._packed, self._count)
        if self._count - self._reported >= _REPORTED or (self._reported and not count):
            self._reported = self._count
            done, total = self._position(self._count)
            mega = -(-total // 10**6)
            _PROGRESS.get()(f"reading {self.name} (MB)", min(done // 10**6, mega) if count else mega, mega)
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
