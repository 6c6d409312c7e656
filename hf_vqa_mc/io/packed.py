"""Plain files and files packed with gzip, xz or zip, decompressed while they are read."""

import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from io import StringIO
from pathlib import Path
from typing import IO, Protocol, TypeAlias, cast

from hf_vqa_mc.errors import InputError

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
    passed, rest = 0, b""

    def decoded(block: bytes) -> str:
        try:
            return block.decode("utf-8" if passed else "utf-8-sig")
        except UnicodeDecodeError as error:
            line = passed + block.count(b"\n", 0, error.start) + 1
            found = f"0x{block[error.start]:02x}"
            raise InputError(f"{location}, line {line}: expected UTF-8 text, found the byte {found}") from None

    while content := stream.read(_CHUNK):
        block, end, rest = (rest + content).rpartition(b"\n")
        if end:
            yield decoded(block + end)
            passed += block.count(b"\n") + 1
    if rest:
        yield decoded(rest)


@contextmanager
def unpacked(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """The unpacked content of a file; the packing is detected by its first bytes.

    Args:
        path: the file.
        member: file in a zip; by default a zip must hold one file.

    Raises:
        InputError: it cannot be read, is damaged, truncated or encrypted, or is a zip with several files.
    """
    location = str(path) if member is None else f"{member} in {path}"
    try:
        with path.open("rb") as raw:
            start = raw.read(6)
            raw.seek(0)
            if member is not None or start.startswith(b"PK\x03\x04"):
                with zipfile.ZipFile(raw) as archive, archive.open(member or _only_member(archive, path)) as file:
                    yield file
            elif start.startswith(b"\x1f\x8b"):
                with gzip.GzipFile(fileobj=raw) as file:
                    yield cast("IO[bytes]", file)
            elif start == b"\xfd7zXZ\x00":
                with lzma.open(raw) as file:
                    yield file
            else:
                yield raw
    except DAMAGE as error:
        raise damaged(location, error) from error
    except OSError as error:
        raise InputError(f"{location}: cannot be read ({error.strerror or error})") from error


def damaged(location: str, error: Exception) -> InputError:
    """The error for an archive that cannot be unpacked."""
    return InputError(f"{location}: the archive is damaged or truncated ({error}); download or write it again")


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        found = ", ".join(names) or "nothing"
        raise InputError(f"{path}: expected a zip with one file, found {found}; unpack it and give one of them")
    return names[0]
