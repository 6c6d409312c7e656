"""A file appears whole or not at all: it is written beside its place and moved there."""

import contextlib
import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError

_ENVIRONMENT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}


def write_json(path: Path, value: Any, indent: int | None = None) -> None:  # noqa: ANN401  any json value
    """Write a value as json, as `write_bytes` does."""
    write_bytes(path, (json.dumps(value, allow_nan=False, indent=indent) + "\n").encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file; what was there before is replaced in one step, the folder made if there is none.

    Raises:
        OSError: the disk is full or closed to us; one sentence, and what was there before still is.
    """
    place = Path(os.path.realpath(path))  # the file that a link names, not the link, is replaced
    with in_plain_words(path):
        place.parent.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name[:100]}.", suffix=".partial", dir=place.parent)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123  it is open already
                os.fchmod(descriptor, 0o666 & ~umask())  # mkstemp lets nobody else read it
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            Path(name).replace(place)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def check_place(path: Path, option: str, inputs: Iterable[Path] = ()) -> None:
    """Nothing, if a file can be put there.

    Args:
        path: where.
        option: what names it, for the message.
        inputs: files that it must not replace, and folders in which it must not lie.

    Raises:
        InputError: it is a folder or a device, or an input, or its folder cannot be made.
    """
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is no ordinary file; name one")
    check_folder(path.absolute().parent, f"{option} {path}: the folder")
    place = Path(os.path.realpath(path))  # which takes links that lead in a circle as they are
    if place.is_symlink() or not place.parent.parent.is_dir():
        raise InputError(f"{option} {path} is a link that leads nowhere; name a file")
    if any(place.is_relative_to(os.path.realpath(given)) for given in inputs):
        raise InputError(f"{option} {path} would replace or change what is read; name another place")


def check_folder(folder: Path, what: str) -> None:
    """Nothing, if it is a folder or can be made in one that there is.

    Args:
        folder: where.
        what: it is, for the message.

    Raises:
        InputError: it is a file, or there is no folder around it.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{what} {folder} is a file; name a folder")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{what} {folder}: there is no folder {folder.absolute().parent}; create it first")


def umask() -> int:
    """What the user takes from everybody's rights; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def in_plain_words(path: Path) -> Iterator[None]:
    """Says in one sentence that something could not be written.

    Raises:
        OSError: the disk is full or closed to us.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _ENVIRONMENT:
            raise
        reason = os.strerror(error.errno).lower()
        raise OSError(error.errno, f"cannot write {path}: {reason}; nothing there was changed") from error
