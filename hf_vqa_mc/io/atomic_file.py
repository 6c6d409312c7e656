"""Atomic writes of files: a file is written under a hidden name next to its path and renamed when complete."""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hf_vqa_mc.errors import InputError

_ENVIRONMENT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}


def write_json(path: Path, value: Any, indent: int | None = None) -> None:  # noqa: ANN401  any json value
    """Write a value as JSON with `write_bytes`."""
    write_bytes(path, (json.dumps(value, allow_nan=False, indent=indent) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write or replace a file atomically; create its folder if missing. An OSError leaves an old file unchanged."""
    with in_plain_words(path):
        Path(os.path.realpath(path)).parent.mkdir(exist_ok=True)
    with replaced_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """A file for writing that replaces ``path`` (or the target of a link) unless the block raises an exception."""
    target = Path(os.path.realpath(path))
    with in_plain_words(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".partial", dir=target.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123  it is open already
                os.fchmod(descriptor, 0o666 & ~umask())  # mkstemp creates files that only their owner can read
                yield file
                file.flush()
                os.fsync(descriptor)
            Path(name).replace(target)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def check_output_file(path: Path, option: str, inputs: Iterable[Path] = ()) -> None:
    """Raise InputError unless a file can be written at the path that ``option`` names, outside of all ``inputs``."""
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give a file in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is not a regular file; give one")
    check_folder(path.absolute().parent, f"{option} {path}: the folder")
    target = Path(os.path.realpath(path))  # circular links stay links
    if target.is_symlink() or not target.parent.parent.is_dir():
        raise InputError(f"{option} {path} is a broken link; give a file")
    if any(target.is_relative_to(os.path.realpath(given)) for given in inputs):
        raise InputError(f"{option} {path} would replace or change an input; choose another path")


def check_folder(folder: Path, what: str) -> None:
    """Raise InputError unless it is a folder or can be created in an existing one; ``what`` names it in messages."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{what} {folder} is a file; give a folder")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{what} {folder}: there is no folder {folder.absolute().parent}; create it first")


def umask() -> int:
    """The process's file mode mask; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def in_plain_words(path: Path, within: str = "") -> Iterator[None]:
    """Reword OSErrors of a full disk or missing permissions to one sentence that names the path.

    With ``within``, errors of files outside the path whose names do not contain it stay unchanged.
    """
    try:
        yield
    except OSError as error:
        at = str(error.filename or "") if within else ""
        elsewhere = at and within not in at and not at.startswith(str(path))
        if error.errno not in _ENVIRONMENT or elsewhere:
            raise
        reason = os.strerror(error.errno).lower() + (f" ({at})" if at else "")
        raise OSError(error.errno, f"cannot write {path}: {reason}; nothing there was changed") from error
