"""Atomic writes of files: a file is written under a hidden name next to its path and renamed when complete.

The hidden file is locked while its writer lives; the next writer of the same path removes those of killed writers.
"""

import contextlib
import errno
import fcntl
import functools
import glob
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, Protocol

from filelock import FileLock

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.manifest import Entry, entry_of

_ENVIRONMENT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}
_REPORTED = "cannot write "


class Staged(Protocol):
    """A new file or folder, complete except for its name."""

    path: Path
    is_folder: bool

    def complete(self) -> None:
        """Check the output again and write everything to the disk."""

    def withdraw(self) -> None:
        """Remove the old output."""

    def put(self) -> None:
        """Replace the output in one step."""


def publish_together(*staged: Staged) -> None:
    """Publish the files and folders of one run.

    The old versions of all but the first are removed before the first is replaced, then the others follow: a command
    killed in between leaves some of them missing, but no new ones next to old ones.

    Raises:
        InputError: an output was changed meanwhile; nothing was published.
        OSError: the disk is full or read-only.
    """
    with contextlib.ExitStack() as locks:
        for one in staged:
            if one.is_folder or (one is staged[0] and len(staged) > 1):
                locks.enter_context(locked(one.path))
        for one in staged:
            one.complete()
        try:
            for one in staged[1:]:
                one.withdraw()
            for one in staged:
                one.put()
        except (OSError, InputError) as error:
            if len(staged) == 1:
                raise
            raise OSError(f"only a part of the output was written ({error}); run the command again") from error


_P = ParamSpec("_P")


def published(
    staged: Callable[_P, contextlib.AbstractContextManager[tuple[Staged, list[Path]]]],
) -> Callable[_P, list[Path]]:
    """A function that writes one output as ``staged`` does, publishes it, and returns its files."""

    @functools.wraps(staged)
    def write(*args: _P.args, **options: _P.kwargs) -> list[Path]:
        with staged(*args, **options) as (output, files):
            publish_together(output)
        return files

    return write


class NewFile:
    """The hidden file of one command: its content will replace ``path``, an existing file only with ``overwrite``."""

    is_folder = False

    def __init__(self, path: Path, overwrite: bool = True) -> None:
        self._given, self._overwrite = path, overwrite
        self.path = Path(os.path.realpath(path))  # a link stays a link: its target is replaced
        _remove_leftovers(self.path)
        descriptor, self._name = _locked_partial(self.path)
        self.file: BinaryIO = open(descriptor, "w+b")  # noqa: PTH123  it is open already
        os.fchmod(descriptor, 0o666 & ~umask())  # mkstemp creates files that only their owner can read

    def complete(self) -> None:
        """Write everything to the disk."""
        if not self._overwrite:
            _check_new(self._given)
        self.file.flush()
        os.fsync(self.file.fileno())

    def entry(self) -> Entry:
        """Size and sha256 of the new content."""
        self.file.flush()
        return entry_of(self._name)

    def withdraw(self) -> None:
        """Remove the old file."""
        if self._overwrite:
            self.path.unlink(missing_ok=True)

    def put(self) -> None:
        """Replace the old file, or raise InputError if there is one now that may not be replaced."""
        if not self._overwrite:
            with contextlib.suppress(OSError):  # the file exists, or the file system has no hard links
                os.link(self._name, self.path)
                return
            _check_new(self._given)
        self._name.replace(self.path)

    def discard(self) -> None:
        """Remove the hidden file unless it was published."""
        with contextlib.suppress(OSError):
            self._name.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # of what could not be flushed
            self.file.close()


class OldFile:
    """A file of an earlier run that the new run does not write; `publish_together` removes it."""

    is_folder = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def complete(self) -> None:
        """There is nothing to write."""

    def withdraw(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def put(self) -> None:
        """There is nothing to put."""


def write_json(
    path: Path,
    value: Any,  # noqa: ANN401  any json value
    indent: int | None = None,
    overwrite: bool = True,
) -> None:
    """Write a value as JSON with `write_bytes`."""
    write_bytes(path, json_bytes(value, indent), overwrite)


def json_bytes(value: Any, indent: int | None = None) -> bytes:  # noqa: ANN401  any json value
    """A value as JSON with a line end; raises ValueError if it holds NaN."""
    return (json.dumps(value, allow_nan=False, indent=indent) + "\n").encode()


def write_bytes(path: Path, content: bytes, overwrite: bool = True) -> None:
    """Write or replace a file atomically; create its folder if missing. An OSError leaves an old file unchanged."""
    write_together({path: content}, overwrite)


def write_together(contents: dict[Path, bytes], overwrite: bool = True) -> None:
    """Write or replace files with `publish_together`; an OSError leaves all old files unchanged."""
    with contextlib.ExitStack() as stack:
        new = [stack.enter_context(new_file(path, content, overwrite)) for path, content in contents.items()]
        publish_together(*new)


@contextlib.contextmanager
def new_file(path: Path, content: bytes = b"", overwrite: bool = True) -> Iterator[NewFile]:
    """A hidden file for a new version of ``path`` (or of the target of a link); it is removed at the end of the block.

    Without ``overwrite``, publishing it raises InputError if the file exists by then. The folder is created if
    missing, and removed again if the block publishes no file in it.
    """
    folder = Path(os.path.realpath(path)).parent
    with in_plain_words(path):
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        try:
            new = NewFile(path, overwrite)
            try:
                new.file.write(content)
                yield new
            finally:
                new.discard()
        finally:
            if is_new:
                with contextlib.suppress(OSError):  # as when it is not empty
                    folder.rmdir()


@contextlib.contextmanager
def replaced_file(path: Path) -> Iterator[BinaryIO]:
    """A file for writing that replaces ``path`` (or the target of a link) unless the block raises an exception."""
    with new_file(path) as new:
        yield new.file
        publish_together(new)


def check_output_file(path: Path, option: str, inputs: Iterable[Path] = (), overwrite: bool = False) -> None:
    """Raise InputError unless a file can be written at the path that ``option`` names, outside of all ``inputs``.

    An existing file is replaced only with ``overwrite``.
    """
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give a file in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is not a regular file; give one")
    check_folder(path.absolute().parent, f"{option} {path}: the folder")
    target = Path(os.path.realpath(path))  # circular links stay links
    if target.is_symlink() or not target.parent.parent.is_dir():
        raise InputError(f"{option} {path} is a broken link; give a file")
    check_outside(path, option, inputs)
    if not overwrite:
        _check_new(path, f"{option} ")


def check_output_files(outputs: Mapping[str, Path | None], inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Raise InputError unless the files, by option, can be written as in `check_output_file` and are distinct."""
    given, inputs = {option: path for option, path in outputs.items() if path is not None}, list(inputs)
    for option, path in given.items():
        check_output_file(path, option, inputs, overwrite)
    check_distinct(given)


def check_distinct(outputs: Mapping[str, Path]) -> None:
    """Raise InputError if two outputs, by option, are the same file."""
    seen: dict[str, str] = {}
    for option, path in outputs.items():
        target = os.path.realpath(path)
        if target in seen:
            raise InputError(f"{seen[target]} and {option} {path} are the same file; use different files")
        seen[target] = f"{option} {path}"


def _check_new(path: Path, option: str = "") -> None:
    if path.exists():
        raise InputError(f"{option}{path} exists; replace it with --overwrite, or choose another")


def check_outside(output: Path, option: str, inputs: Iterable[str | Path]) -> None:
    """Raise InputError if the output is one of the inputs, is inside one of them, or contains one."""
    target = Path(os.path.realpath(output))
    for given in map(Path, inputs):
        source = Path(os.path.realpath(given))
        if target.is_relative_to(source) or (given.exists() and source.is_relative_to(target)):
            raise InputError(f"{option} {output} would replace or change an input, {given}; choose another path")


def check_folder(folder: Path, what: str) -> None:
    """Raise InputError unless it is a folder or can be created in an existing one; ``what`` names it in messages."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{what} {folder} is a file; give a folder")
    if folder.is_symlink() and not folder.exists():
        raise InputError(f"{what} {folder} is a broken link; give a folder")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{what} {folder}: there is no folder {folder.absolute().parent}; create it first")


@contextlib.contextmanager
def locked(output: Path) -> Iterator[None]:
    """Exclude other commands from the output; the lock file is removed at the end."""
    path = output.parent / f".{output.name}.lock"
    with tempfile.TemporaryFile(dir=output.parent):  # FileLock may wait for ever in a folder that is not writable
        pass
    with FileLock(path):
        try:
            yield
        finally:
            if os.name == "posix":  # elsewhere filelock removes it itself
                path.unlink(missing_ok=True)


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
        if error.errno not in _ENVIRONMENT or elsewhere or str(error.strerror).startswith(_REPORTED):
            raise
        reason = os.strerror(error.errno).lower() + (f" ({at})" if at else "")
        raise OSError(error.errno, f"{_REPORTED}{path}: {reason}; nothing there was changed") from error


def _locked_partial(target: Path) -> tuple[int, Path]:
    """Create and lock a hidden file next to the target."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=_prefix(target), suffix=".partial", dir=target.parent)
        with contextlib.suppress(OSError):  # a file system without locks; others then keep the file
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:  # another writer may have removed it before it was locked
            return descriptor, Path(name)
        os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Remove the hidden files of killed writers of a path, recognized by their names and free locks."""
    ours = re.compile(re.escape(_prefix(target)) + r"[a-z0-9_]{8}\.partial")
    for path in target.parent.glob(f"{glob.escape(_prefix(target))}*.partial"):
        if ours.fullmatch(path.name) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError), path.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."
