"""Atomic writes: a file or folder is written into a hidden folder next to its path, which it replaces when complete.

A command killed at any moment leaves the last complete version. The hidden folder, ``.<name>.<random>.partial``, is
locked while its writer lives; the next writer of the same path removes those of killed writers. Folders are exchanged
by one system call (Linux: renameat2 with RENAME_EXCHANGE). Where that is not supported, two renames do it: a command
killed between them leaves no folder, and the next one restores the old one.
"""

import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any, Self

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import MANIFEST, FolderKind, check_new, check_output, entry_of, files_in

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SYNCED_AT_ONCE = 8  # files written to the disk at a time; a disk takes several in one step


@contextlib.contextmanager
def locked(lock: Path, busy: str = "") -> Iterator[None]:
    """Hold a lock file, removed at the end. If it is held, wait, or with ``busy`` raise InputError."""
    while True:  # filelock leaves its files in place: it does not notice that one was removed while it waited
        with lock.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
            except BlockingIOError:
                raise InputError(busy) from None
            if os.fstat(file.fileno()).st_nlink == 0:
                continue  # its last holder removed it
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)
            return


class Staged:
    """A new file, to be written at ``new`` in a block, that will replace ``path`` (or the target of a link)."""

    def __init__(self, path: Path, overwrite: bool = True) -> None:
        self.given, self.overwrite = path, overwrite
        self.path = Path(os.path.realpath(path))
        self.lock = self.path.parent / f".{self.path.name}.lock"  # of those who replace the path
        with locked(self.lock):
            remove_leftovers(self.path)
            prefix = f".{self.path.name}."
            self._hidden = Path(tempfile.mkdtemp(prefix=prefix, suffix=".partial", dir=self.path.parent))
            self._alive = FileLock(self._hidden / "lock")
            self._alive.acquire()
        self.new = self._hidden / "new"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Remove the hidden folder; name the output in errors of a full disk, which name no file."""
        if isinstance(error, OSError) and error.errno in _NO_SPACE and error.filename is None:
            error.filename = str(self.path)
        _remove(self._hidden, self.path)
        self._alive.release()

    def complete(self) -> None:
        """Check the output again, and write everything to the disk."""
        if not self.overwrite:
            check_new(self.given)
        _to_disk(self.new)

    def withdraw(self) -> None:
        """Remove the old version."""
        self.path.unlink(missing_ok=True)

    def put(self) -> None:
        """Replace the old version in one step."""
        self.new.replace(self.path)


def remove_leftovers(output: Path) -> None:
    """Remove the hidden folders of killed writers; an old version that one of them moved there is restored."""
    for folder in output.parent.glob(f".{glob.escape(output.name)}.????????.partial/"):
        with contextlib.suppress(Timeout), FileLock(folder / "lock", timeout=0):
            _remove(folder, output)


def _remove(hidden: Path, output: Path) -> None:
    if (hidden / "old").is_dir() and not output.exists():
        (hidden / "old").rename(output)
    shutil.rmtree(hidden, ignore_errors=True)


def publish_together(*staged: Staged, outdated: Iterable[Path] = ()) -> None:
    """Publish the files and folders of one run, and remove outdated files.

    The old versions of all but the first are removed before the first is replaced, then the others follow: a command
    killed in between leaves some of them missing, but no new ones next to old ones. Raises InputError if an output was
    changed meanwhile; then nothing is published.
    """
    with contextlib.ExitStack() as locks:
        for lock in sorted({one.lock for one in staged}):
            locks.enter_context(locked(lock))
        for one in staged:
            one.complete()
        for path in outdated:
            path.unlink(missing_ok=True)
        for one in staged[1:]:
            one.withdraw()
        for one in staged:
            one.put()


def publish(staged: contextlib.AbstractContextManager[tuple[Staged, list[Path]]]) -> list[Path]:
    """Write and publish one output; return its files."""
    with staged as (output, files):
        publish_together(output)
    return files


@contextlib.contextmanager
def new_file(path: Path, content: bytes = b"", overwrite: bool = True) -> Iterator[Staged]:
    """A new version of a file, to be published in the block; ``overwrite`` is checked again then."""
    folder = Path(os.path.realpath(path)).parent
    is_new = not folder.exists()
    folder.mkdir(exist_ok=True)
    try:
        with Staged(path, overwrite) as new:
            new.new.write_bytes(content)
            yield new
    finally:
        if is_new:
            with contextlib.suppress(OSError):  # it has files
                folder.rmdir()


def json_bytes(value: Any, indent: int | None = None) -> bytes:  # noqa: ANN401  any json value
    """A value as JSON with a line end; raises ValueError if it holds NaN."""
    return (json.dumps(value, allow_nan=False, indent=indent) + "\n").encode()


def write_json(
    path: Path,
    value: Any,  # noqa: ANN401  any json value
    indent: int | None = None,
    overwrite: bool = True,
) -> None:
    """Write a value as JSON with `write_bytes`."""
    write_bytes(path, json_bytes(value, indent), overwrite)


def write_bytes(path: Path, content: bytes, overwrite: bool = True) -> None:
    """Write or replace a file atomically; create its folder if missing. An OSError leaves an old file unchanged."""
    write_together({path: content}, overwrite)


def write_together(contents: Mapping[Path, bytes], overwrite: bool = True) -> None:
    """Write or replace files with `publish_together`; an OSError leaves all old files unchanged."""
    with contextlib.ExitStack() as stack:
        publish_together(
            *[stack.enter_context(new_file(path, content, overwrite)) for path, content in contents.items()]
        )


@contextlib.contextmanager
def new_folder(output: Path, kind: FolderKind | None, overwrite: bool = False) -> Iterator["NewFolder"]:
    """A new version of a folder, to be written and published in the block; raises InputError as ``check_output``.

    ``kind`` is None for a folder inside one that the command manages itself: neither checked nor listed.
    """
    if kind:
        check_output(output, kind, overwrite)
    with NewFolder(output, kind, overwrite) as new:
        new.tree.mkdir()
        yield new


class NewFolder(Staged):
    """A new folder, to be written at ``tree``."""

    keep: Callable[[Path | None, list[str]], None]
    """called with the current output (None if there is none) and its listed files while it is locked, to add to
    ``tree`` what the new output keeps of it"""

    def __init__(self, output: Path, kind: FolderKind | None, overwrite: bool) -> None:
        super().__init__(output, overwrite)
        self.tree, self._kind = self.new, kind
        self.keep = lambda old, names: None
        self._listed: list[str] = []

    def publish(self) -> None:
        """Replace the output by the tree."""
        publish_together(self)

    def complete(self) -> None:
        """Check the output again, add what it keeps and the manifest to the tree, and write all to the disk."""
        old, foreign = self._old(), set[str]()
        if self._kind:
            foreign.update(check_output(self.path, self._kind, self.overwrite))
            found = files_in(self.path) if old else []
            self._listed = [name for name in found if name not in foreign and name != MANIFEST]
        self.keep(old, self._listed)
        own = files_in(self.tree)
        for name in foreign:
            _carry_file(self.path, self.tree, name)
        if self._kind:
            entries = {name: entry_of(self.tree / name) for name in own}
            manifest = {"command": self._kind.command, "files": dict(sorted(entries.items()))}
            (self.tree / MANIFEST).write_bytes(json_bytes(manifest, 1))
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as threads:
            list(threads.map(_to_disk, (self.tree / name for name in {*files_in(self.tree)} - foreign)))

    def withdraw(self) -> None:
        """Remove the listed files of the old output."""
        for name in self._listed:
            (self.path / name).unlink(missing_ok=True)

    def put(self) -> None:
        """Replace the old output."""
        if self._old() is None:
            self.tree.rename(self.path)  # replaces an empty folder too
        elif not exchange(self.tree, self.path):
            self.path.rename(self._hidden / "old")
            self.tree.rename(self.path)

    def _old(self) -> Path | None:
        return self.path if self.path.is_dir() and any(self.path.iterdir()) else None


def carry_over(old: Path, tree: Path, names: Iterable[str], leave_out: Collection[str] = ()) -> None:
    """Hard-link (or copy) files of an old output, except in folders (or of names) left out or in the new tree."""
    present = {*leave_out, *(path.name for path in tree.iterdir())}
    for name in names:
        if PurePosixPath(name).parts[0] not in present:
            _carry_file(old, tree, name)


def _carry_file(old: Path, tree: Path, name: str) -> None:
    target = tree / name
    if os.path.lexists(target) or any(parent.is_file() for parent in target.parents):
        raise InputError(f"output {old}: {name} would be replaced, but vqa-mc did not write it; move it")
    target.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(old / name, target)


def link_or_copy(path: Path, to: Path) -> None:
    """Hard-link a file, or copy it where that is not possible; a link stays a link."""
    try:
        os.link(path, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, to, follow_symlinks=False)


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one system call; False where that is not supported."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    paths = (_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other))
    return rename is not None and rename(*paths, _RENAME_EXCHANGE) == 0


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def staged_files(
    folder: Path, kind: FolderKind, contents: Mapping[str, bytes], overwrite: bool = False
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write the files of a folder by name, for `publish_together`; its parent is created if missing."""
    folder.parent.mkdir(exist_ok=True)
    with new_folder(folder, kind, overwrite) as new:
        for name, content in contents.items():
            (new.tree / name).parent.mkdir(exist_ok=True)
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]
