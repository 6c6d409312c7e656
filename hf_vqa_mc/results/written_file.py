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
    """Write a value as json; what was there before is replaced in one step.

    Raises:
        OSError: the disk is full or closed to us; one sentence, and what was there before still is.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    with _in_plain_words(path):
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:200]}.", suffix=".partial", dir=path.parent)
        try:
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123  it is open already
                os.fchmod(descriptor, 0o666 & ~_umask())  # mkstemp lets nobody else read it
                file.write(text + "\n")
                file.flush()
                os.fsync(descriptor)
            Path(name).replace(path)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def check_place(path: Path, option: str, inputs: Iterable[Path] = ()) -> None:
    """Nothing, if a file can be put there.

    Args:
        path: where.
        option: what names it, for the message.
        inputs: files that it must not replace.

    Raises:
        InputError: it is a folder, or an input, or there is no folder around it.
    """
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file in it")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{option} {path}: there is no folder {path.absolute().parent}; create it first")
    if path.resolve() in {given.resolve() for given in inputs}:
        raise InputError(f"{option} {path} would replace what is read; name another file")


def _umask() -> int:
    """What the user takes from everybody's rights; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextlib.contextmanager
def _in_plain_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in _ENVIRONMENT:
            raise
        reason = os.strerror(error.errno).lower()
        raise OSError(error.errno, f"cannot write {path}: {reason}; nothing there was changed") from error
