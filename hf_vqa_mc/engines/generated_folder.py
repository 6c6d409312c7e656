"""Folders of generated files, written atomically; only its own engine replaces one."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.io.atomic_folder import FolderKind, carry_over, check_output, new_folder
from hf_vqa_mc.sources.generated import STATISTICS, generated_by


def check_generated_folder(output: Path, engine: str) -> None:
    """Raise InputError unless the path is free, an empty folder or one of this engine, in an existing folder."""
    check_output(output, _kind(engine))


@contextlib.contextmanager
def generated_folder(output: Path, engine: str) -> Iterator[Path]:
    """A hidden folder beside the output, which takes its place when the block ends without an error.

    The block must write ``statistics.json`` with ``"engine": engine``, by which the folder may be replaced later, and
    ``"version"``; it gets the names of the ``files``. What others put into the folder stays. Killed at any moment, the
    old folder or the new one is there, or what the next run makes of it.

    Args:
        output: the folder.
        engine: its name in ``vqa-mc generate``, such as ``gqa``.

    Raises:
        InputError: as ``check_generated_folder``.
        OSError: the disk is full or closed to us; what was there before still is.
    """
    with new_folder(output, _kind(engine)) as place:
        yield place.tree
        told = generated_by(place.tree) or {}
        files = sorted({STATISTICS, *(path.name for path in place.tree.iterdir())})
        write_json(place.tree / STATISTICS, {**told, "files": files}, indent=1)
        for path in place.tree.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        place.publish(lambda old: _keep_others(old, place.tree))


def copy_generated(folder: Path, output: Path, engine: str) -> list[Path]:
    """Copy a generated folder; returns the files written.

    Raises:
        InputError: as ``check_generated_folder``.
        OSError: the disk is full or not writable; what was there before still is.
    """
    check_generated_folder(output, engine)
    with generated_folder(output, engine) as copy:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        for name in names:
            shutil.copyfile(folder / name, copy / name)
    return [output / name for name in names]


def _keep_others(old: Path | None, tree: Path) -> None:
    """Files of an old folder that no engine wrote stay."""
    if old is not None:
        carry_over(old, tree, leave_out=set((generated_by(old) or {}).get("files", ())))


def _kind(engine: str) -> FolderKind:
    """What tells a folder of this engine."""

    def is_ours(folder: Path) -> bool:
        return (generated_by(folder) or {}).get("engine") == engine

    return FolderKind(f"vqa-mc generate {engine}", STATISTICS, is_ours)
