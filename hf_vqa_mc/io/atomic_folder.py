"""Atomic writes of folders: everything goes into ``.<output>.<random>.partial/tree`` next to the output.

The complete tree is exchanged with the output by one system call (Linux: renameat2 with RENAME_EXCHANGE). Where that
is not supported, two renames do it: a command killed between them leaves no output, and the next one restores the old
one. A command killed at any other moment leaves the output unchanged. The next command also removes hidden folders
left over by killed ones.

Every folder lists its files (`manifest`). Files that are not listed, or were changed, are never replaced or removed
unless the user asks for it.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.atomic_file import in_plain_words, locked, publish_together
from hf_vqa_mc.io.manifest import (
    MANIFEST,
    Entry,
    changed_files,
    entry_of,
    files_in,
    manifest_text,
    read_manifest,
)

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


SYNCED_AT_ONCE = 8
"""Files written to the disk at a time; a disk takes several in one step."""
_CACHES = "__pycache__"
"""Folders of Python's caches, which are no reason to refuse an output: harnesses run programs of exports."""


@dataclass(frozen=True)
class FolderKind:
    """The output folders of a command."""

    command: str
    """as in their manifest and in messages: ``vqa-mc build``"""
    remedy: str = "choose another"
    """what to do if the output is another folder, for messages"""
    unlisted: Callable[[Path], Mapping[str, Entry] | None] = lambda folder: None
    """the command's files in a folder without a manifest, such as one downloaded from the Hub; None if not its own"""


def check_output(output: Path, kind: FolderKind, overwrite: bool = False, option: str = "output") -> list[str]:
    """Raise InputError unless the output can be replaced or extended without loss.

    It is new (in an existing folder), an empty folder, or one of this kind in which all files are listed and
    unchanged. With ``overwrite``, changed files may be replaced, and files that are not listed are kept.

    Returns:
        The files in it that are not listed.
    """
    what = f"{option} {output}"
    target = _possible_folder(output, what, kind)
    found = files_in(target) if target.is_dir() else []
    if not found:
        return []
    manifest = read_manifest(target / MANIFEST)
    if manifest and manifest.command != kind.command:
        raise InputError(f"{what} is a folder that {manifest.command} wrote; {kind.remedy}")
    files = manifest.files if manifest else kind.unlisted(target)
    if files is None:
        names = listed(found, 1)
        raise InputError(
            f"{what} is a folder that {kind.command} did not write (it has no valid {MANIFEST}, but {names}); "
            f"{kind.remedy}, or remove it first"
        )
    foreign = [name for name in found if name not in files and name != MANIFEST]
    if overwrite:
        return foreign
    if others := [name for name in foreign if _CACHES not in PurePosixPath(name).parts]:
        raise InputError(
            f"{what} has files that {kind.command} did not write: {listed(others, 1)}; move them, or keep them there "
            "with --overwrite"
        )
    if changed := changed_files(target, found, files):
        raise InputError(
            f"{what} has files that were changed after {kind.command} wrote them: {listed(changed, 1)}; move them, "
            "or replace them with --overwrite"
        )
    return foreign


def _possible_folder(output: Path, what: str, kind: FolderKind) -> Path:
    """The path of the folder without links; raises InputError unless a folder can be there."""
    target = Path(os.path.realpath(output))  # circular links stay links
    if not target.parent.is_dir():
        raise InputError(f"{what}: there is no folder {target.parent}; create it first")
    if not target.exists() and not target.is_symlink():
        return target
    if target == Path.cwd().resolve():
        raise InputError(f"{what} is the current directory, which {kind.command} would replace; give a folder in it")
    if target.is_mount():
        raise InputError(f"{what} is a mount point, which cannot be replaced; give a folder in it")
    if not target.is_dir():
        raise InputError(f"{what} exists and is not a folder; choose another")
    return target


@contextlib.contextmanager
def new_folder(output: Path, kind: FolderKind | None, overwrite: bool = False) -> Iterator["NewFolder"]:
    """A hidden folder in which to write a new tree for ``output``; it is removed at the end of the block.

    Args:
        output: the folder.
        kind: None for a folder inside one that the command manages itself: neither checked nor listed.
        overwrite: as for ``check_output``.

    Raises:
        InputError: as ``check_output``.
        OSError: the disk is full or not writable; the output is unchanged.
    """
    output = Path(os.path.realpath(output))  # a link stays a link: its target is replaced
    if kind:
        check_output(output, kind, overwrite)
    with in_plain_words(output, within=f".{output.name}."):
        new = NewFolder(output, kind, overwrite)
        try:
            yield new
        finally:
            new.discard()


class NewFolder:
    """The hidden folder of one command: ``tree`` will become the output."""

    is_folder = True
    keep: Callable[[Path | None, list[str]], None]
    """called with the current output (None if there is none) and its listed files while it is locked, to add to
    ``tree`` what the new output keeps of it"""

    def __init__(self, output: Path, kind: FolderKind | None, overwrite: bool) -> None:
        self.path = output
        self._kind, self._overwrite = kind, overwrite
        with locked(output):
            remove_leftovers(output)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".partial", dir=output.parent))
            self._alive = FileLock(self._folder / "lock")  # held by this process, so that others keep the folder
            self._alive.acquire()
        self.tree = self._folder / "tree"
        self.tree.mkdir()
        self.keep = lambda old, names: None
        self._listed: list[str] = []
        self._foreign: dict[str, None] = {}

    def publish(self) -> None:
        """Replace the output by the tree."""
        publish_together(self)

    def complete(self) -> None:
        """Check the output again, add what it keeps and the manifest to the tree, and write all to the disk."""
        old = self._old()
        if self._kind:
            self._foreign = dict.fromkeys(check_output(self.path, self._kind, self._overwrite))
            found = files_in(self.path) if old else []
            self._listed = [name for name in found if name not in self._foreign and name != MANIFEST]
        self.keep(old, self._listed)
        own = files_in(self.tree)
        for name in self._foreign:
            _carry_file(self.path, self.tree, name)
        if self._kind:
            entries = {name: entry_of(self.tree / name) for name in own if name != MANIFEST}
            (self.tree / MANIFEST).write_text(manifest_text(self._kind.command, entries), "utf-8")
        with ThreadPoolExecutor(SYNCED_AT_ONCE) as threads:
            list(
                threads.map(_to_disk, (self.tree / name for name in files_in(self.tree) if name not in self._foreign))
            )

    def withdraw(self) -> None:
        """Remove the listed files of the old output."""
        for name in self._listed:
            (self.path / name).unlink(missing_ok=True)

    def put(self) -> None:
        """Replace the old output."""
        if self._old() is None:
            self.tree.rename(self.path)  # replaces an empty folder too
            return
        old = self.tree
        if not exchange(self.tree, self.path):
            old = self._folder / "old"
            self.path.rename(old)
            self.tree.rename(self.path)
        if self._kind:
            self._keep_new_files(old)

    def discard(self) -> None:
        """Remove the hidden folder."""
        _remove(self._folder, self.path)
        self._alive.release(force=True)

    def _keep_new_files(self, old: Path) -> None:
        """Move files that another program wrote into the old output since ``complete`` to the new one."""
        known = {*self._listed, *self._foreign, MANIFEST}
        for name in files_in(old):
            if name not in known and not os.path.lexists(self.path / name):
                (self.path / name).parent.mkdir(parents=True, exist_ok=True)
                (old / name).rename(self.path / name)

    def _old(self) -> Path | None:
        return self.path if self.path.is_dir() and any(self.path.iterdir()) else None


def carry_over(old: Path, tree: Path, names: Iterable[str], leave_out: Collection[str] = ()) -> None:
    """Hard-link (or copy) files of an old output, except in folders (or of names) left out or in the new tree."""
    present = {*leave_out, *(path.name for path in tree.iterdir())}
    for name in names:
        if PurePosixPath(name).parts[0] not in present:
            _carry_file(old, tree, name)


def exchange(one: Path, other: Path) -> bool:
    """Swap two paths in one system call; False where that is not supported."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(other))


def remove_leftovers(output: Path) -> None:
    """Remove the hidden folders of killed commands, recognized by their names and free locks.

    If a command was killed between two renames, its folder holds the old output, which is restored.
    """
    ours = re.compile(rf"\.{re.escape(output.name)}\.[a-z0-9_]{{8}}\.partial")
    for folder in sorted(output.parent.iterdir()):
        if ours.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            with contextlib.suppress(Timeout), FileLock(folder / "lock", timeout=0):
                _remove(folder, output)


def _remove(folder: Path, output: Path) -> None:
    if (folder / "old").is_dir() and not output.exists():
        (folder / "old").rename(output)
    shutil.rmtree(folder, ignore_errors=True)


def _carry_file(old: Path, tree: Path, name: str) -> None:
    """Hard-link (or copy) a file of an old output; raises InputError if a new file has its path."""
    target = tree / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        taken = os.path.lexists(target)
    except (FileExistsError, NotADirectoryError):
        taken = True
    if taken:
        raise InputError(f"output {old}: {name} would be replaced, but vqa-mc did not write it; move it")
    link_or_copy(old / name, target)


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def link_or_copy(path: Path, to: Path) -> None:
    """Hard-link a file, or copy it where that is not possible; a link stays a link."""
    try:
        os.link(path, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, to, follow_symlinks=False)
