"""Atomic writes of folders: everything goes into ``.<output>.<random>.partial/tree`` next to the output.

The complete tree is exchanged with the output by one system call (Linux: renameat2 with RENAME_EXCHANGE). Where that
is not supported, two renames do it: a command killed between them leaves no output, and the next one restores the old
one. A command killed at any other moment leaves the output unchanged. The next command also removes hidden folders
left over by killed ones.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import in_plain_words

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}


@dataclass(frozen=True)
class FolderKind:
    """How a command recognizes its own output; only such a folder may be replaced."""

    command: str
    """the command, for messages: ``vqa-mc build``"""
    mark: str
    """the file by which its output is recognized, for messages: ``statistics.json``"""
    is_ours: Callable[[Path], bool]
    """whether a folder is the command's output; raises InputError if it is, but must not be changed"""
    remedy: str = "choose another"
    """what to do if the output is another folder, for messages"""


def check_output(output: Path, kind: FolderKind) -> None:
    """Raise InputError unless the output is new (in an existing folder), an empty folder, or one of this kind."""
    target = Path(os.path.realpath(output))  # circular links stay links
    if not target.parent.is_dir():
        raise InputError(f"output {output}: there is no folder {target.parent}; create it first")
    if not target.exists() and not target.is_symlink():
        return
    if target == Path.cwd().resolve():
        raise InputError(
            f"output {output} is the current directory, which {kind.command} would replace; give a folder in it"
        )
    if target.is_mount():
        raise InputError(f"output {output} is a mount point, which cannot be replaced; give a folder in it")
    if not target.is_dir():
        raise InputError(f"output {output} exists and is not a folder; choose another")
    if any(target.iterdir()) and not kind.is_ours(target):
        raise InputError(
            f"output {output} is a folder that {kind.command} did not write (it has no valid {kind.mark}); "
            f"{kind.remedy}, or remove it first"
        )


@contextlib.contextmanager
def new_folder(output: Path, kind: FolderKind) -> Iterator["NewFolder"]:
    """A hidden folder in which to write a new tree for ``output``; it is removed at the end of the block.

    Raises:
        InputError: as ``check_output``.
        OSError: the disk is full or not writable; the output is unchanged.
    """
    output = Path(os.path.realpath(output))  # a link stays a link: its target is replaced
    check_output(output, kind)
    with in_plain_words(output, within=f".{output.name}."):
        new = NewFolder(output, kind)
        try:
            yield new
        finally:
            new.discard()


class NewFolder:
    """The hidden folder of one command: ``tree`` will become the output."""

    def __init__(self, output: Path, kind: FolderKind) -> None:
        self.output = output
        self._kind = kind
        with locked(output):
            remove_leftovers(output)
            self._folder = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".partial", dir=output.parent))
            self._alive = FileLock(self._folder / "lock")  # held by this process, so that others keep the folder
            self._alive.acquire()
        self.tree = self._folder / "tree"
        self.tree.mkdir()

    def publish(self, complete: Callable[[Path | None], None] = lambda old: None) -> None:
        """Replace the output by the tree.

        ``complete`` is called with the current output (None if there is none) while it is locked, to add to ``tree``
        what the new output keeps of it.
        """
        with locked(self.output):
            check_output(self.output, self._kind)
            old = self.output if self.output.is_dir() and any(self.output.iterdir()) else None
            complete(old)
            if old is None:
                self.tree.rename(self.output)  # replaces an empty folder too
            elif not exchange(self.tree, self.output):
                self.output.rename(self._folder / "old")
                self.tree.rename(self.output)

    def discard(self) -> None:
        """Remove the hidden folder."""
        _remove(self._folder, self.output)
        self._alive.release(force=True)


def carry_over(old: Path, tree: Path, leave_out: set[str]) -> None:
    """Hard-link (or copy) everything of an old output that the new tree lacks, except the names left out."""
    for path in sorted(old.iterdir()):
        if path.name in leave_out or (tree / path.name).exists():
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, tree / path.name, symlinks=True, copy_function=_link_or_copy)
        else:
            _link_or_copy(path, tree / path.name)


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


def _remove(folder: Path, output: Path) -> None:
    if (folder / "old").is_dir() and not output.exists():
        (folder / "old").rename(output)
    shutil.rmtree(folder, ignore_errors=True)


def _link_or_copy(path: str | Path, to: str | Path) -> None:
    try:
        os.link(path, to, follow_symlinks=False)
    except OSError:
        shutil.copy2(path, to, follow_symlinks=False)
