"""Folders of generated files, written atomically; only the same engine replaces one."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.io.atomic_folder import FolderKind, carry_over, check_output, new_folder
from hf_vqa_mc.sources.source import STATISTICS, generated_by


def check_generated_folder(output: Path, engine: str) -> None:
    """Raise InputError unless the path is free, an empty folder or one of this engine, in an existing folder."""
    check_output(output, _kind(engine))


@contextlib.contextmanager
def generated_folder(output: Path, engine: str) -> Iterator[Path]:
    """A hidden folder next to the output, which replaces it when the block ends without an error.

    The block must write ``statistics.json`` with ``"engine": engine``, which identifies the folder, and ``"version"``;
    the names of the ``files`` are added. Other files in the output folder are kept. The replacement is atomic.

    Args:
        output: the folder.
        engine: its name in ``vqa-mc generate``, such as ``gqa``.

    Raises:
        InputError: as ``check_generated_folder``.
        OSError: the disk is full or not writable; the output is unchanged.
    """
    with new_folder(output, _kind(engine)) as new:
        yield new.tree
        statistics = generated_by(new.tree) or {}
        files = sorted({STATISTICS, *(path.name for path in new.tree.iterdir())})
        write_json(new.tree / STATISTICS, {**statistics, "files": files}, indent=1)
        for path in new.tree.rglob("*"):
            if path.is_file():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
        new.publish(lambda old: _keep_others(old, new.tree))


def copy_generated(folder: Path, output: Path, engine: str) -> list[Path]:
    """Copy a generated folder; return the files written. Raises as ``generated_folder``."""
    with generated_folder(output, engine) as copy:
        names = sorted(path.name for path in folder.iterdir() if path.is_file())
        for name in names:
            shutil.copyfile(folder / name, copy / name)
    return [output / name for name in names]


def _keep_others(old: Path | None, tree: Path) -> None:
    """Keep the files of an old folder that no engine wrote."""
    if old is not None:
        carry_over(old, tree, leave_out=set((generated_by(old) or {}).get("files", ())))


def _kind(engine: str) -> FolderKind:
    name = f"vqa-mc generate {engine}"
    return FolderKind(name, STATISTICS, lambda folder: (generated_by(folder) or {}).get("engine") == engine)
