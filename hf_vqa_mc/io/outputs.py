"""Checks of outputs before work starts, and the list of files that a command wrote into a folder.

Files that are not listed, or were changed, are never replaced or removed unless the user asks for it.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hf_vqa_mc.errors import InputError, listed

MANIFEST = ".vqa_mc.json"  # the files that a command wrote into a folder, with size and sha256. It is never uploaded
Entry = tuple[int, str]  # size in bytes and sha256 of a file

AUDITS, REMEDIES = Path("vqa_mc_audit"), Path("vqa_mc_remedy")  # default folders of the folders of reports

_CACHES = "__pycache__"
"""Folders of Python's caches, which are no reason to refuse an output: harnesses run programs of exports."""


def check_output_file(path: Path, option: str, inputs: Iterable[Path] = (), overwrite: bool = False) -> None:
    """Raise InputError unless the file that ``option`` names can be written, and is new (or with ``overwrite``)."""
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; give a file in it")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {path} is not a regular file; give one")
    check_folder(path.absolute().parent, f"{option} {path}: the folder")
    check_outside(path, option, inputs)
    if not overwrite:
        check_new(path, f"{option} ")


def check_output_files(outputs: Mapping[str, Path | None], inputs: Iterable[Path], overwrite: bool = False) -> None:
    """Raise InputError unless the files, by option, can be written as in `check_output_file` and are distinct."""
    given, inputs = {option: path for option, path in outputs.items() if path is not None}, list(inputs)
    seen: dict[str, str] = {}
    for option, path in given.items():
        check_output_file(path, option, inputs, overwrite)
        target = os.path.realpath(path)
        if target in seen:
            raise InputError(f"{seen[target]} and {option} {path} are the same file; use different files")
        seen[target] = f"{option} {path}"


def check_new(path: Path, option: str = "") -> None:
    """Raise InputError if the file exists."""
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
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{what} {folder}: there is no folder {folder.absolute().parent}; create it first")


@dataclass(frozen=True)
class FolderKind:
    """The output folders of a command."""

    command: str  # as in their manifest and in messages: ``vqa-mc build``
    unlisted: Callable[[Path], Mapping[str, Entry] | None] = lambda folder: None
    """the command's files in a folder without a manifest, such as one downloaded from the Hub; None if not its own"""


def check_output(output: Path, kind: FolderKind, overwrite: bool = False, option: str = "output") -> list[str]:
    """The files in an output that are not listed; raises InputError unless it can be replaced without loss.

    It is new (in an existing folder), an empty folder, or one of this kind in which all files are listed and
    unchanged. With ``overwrite``, changed files may be replaced, and files that are not listed are kept.
    """
    what, target = f"{option} {output}", Path(os.path.realpath(output))
    check_folder(target, option)
    if target == Path.cwd().resolve():
        raise InputError(f"{what} is the current directory, which {kind.command} would replace; give a folder in it")
    found = files_in(target) if target.is_dir() else []
    if not found:
        return []
    manifest = read_manifest(target / MANIFEST)
    if manifest and manifest["command"] != kind.command:
        raise InputError(f"{what} is a folder that {manifest['command']} wrote; choose another")
    files = manifest["files"] if manifest else kind.unlisted(target)
    if files is None:
        raise InputError(
            f"{what} is a folder that {kind.command} did not write (it has no {MANIFEST}, but "
            f"{listed(found, 1)}); choose another, or remove it first"
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


def check_report_folder(
    folder: Path, kind: FolderKind, option: str, data: Iterable[str | Path], overwrite: bool = False
) -> None:
    """Raise InputError unless the folder is new, empty, or an unchanged output of this kind; names its option.

    No path of ``data``, the other inputs and outputs, may be inside the folder, nor the folder inside one of them.
    """
    target = Path(os.path.realpath(folder))
    check_outside(folder, option, data)
    if folder.parent.name in (AUDITS.name, REMEDIES.name) and not target.parent.exists():  # it is also created
        check_folder(target.parent, option)
    else:
        check_output(folder, kind, overwrite, option)


def read_manifest(path: Path) -> dict[str, Any] | None:
    """The ``command`` and ``files`` (an `Entry` by path) in a manifest; None if there is none."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    if not {"command", "files"} <= found.keys():
        return None
    return found | {"files": {name: tuple(entry) for name, entry in found["files"].items()}}


def entry_of(path: Path) -> Entry:
    """Size and sha256 of a file."""
    return path.stat().st_size, sha256_of(path)


def sha256_of(path: Path) -> str:
    """The sha256 of a file as hexadecimal digits."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def changed_files(folder: Path, names: Iterable[str], files: Mapping[str, Entry]) -> list[str]:
    """The names of listed files that are no longer as listed; missing files are not changed."""

    def is_changed(path: Path, entry: Entry) -> bool:
        if path.is_symlink() or not path.is_file():
            return os.path.lexists(path)
        return entry_of(path) != entry

    return [name for name in names if name in files and is_changed(folder / name, files[name])]


def files_in(folder: Path) -> list[str]:
    """The relative paths of all files below a folder, sorted; links to folders count as files."""
    found = []
    for root, folders, files in os.walk(folder):
        links = [name for name in folders if Path(root, name).is_symlink()]
        found += [Path(root, name).relative_to(folder).as_posix() for name in (*files, *links)]
    return sorted(found)
