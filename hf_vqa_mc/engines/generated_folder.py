"""Folders of generated files, written atomically; only the same engine replaces one."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.io.atomic_folder import FolderKind, check_output, new_folder
from hf_vqa_mc.io.manifest import MANIFEST


def check_generated_folder(output: Path, engine: str, overwrite: bool = False) -> None:
    """Raise InputError unless the path is free, an empty folder or one of this engine, in an existing folder."""
    check_output(output, _kind(engine), overwrite)


@contextlib.contextmanager
def generated_folder(output: Path, engine: str, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder next to the output, which replaces it when the block ends without an error.

    The block must write ``statistics.json`` with ``"engine": engine`` and ``"version"``. The replacement is atomic.

    Args:
        output: the folder.
        engine: its name in ``vqa-mc generate``, such as ``gqa``.
        overwrite: replace changed files, and keep files that no command wrote.

    Raises:
        InputError: as ``check_generated_folder``.
        OSError: the disk is full or not writable; the output is unchanged.
    """
    with new_folder(output, _kind(engine), overwrite) as new:
        yield new.tree
        new.publish()


def copy_generated(folder: Path, output: Path, engine: str, overwrite: bool = False) -> list[Path]:
    """Copy a generated folder; return the files written. Raises as ``generated_folder``."""
    with generated_folder(output, engine, overwrite) as copy:
        names = sorted(path.name for path in folder.iterdir() if path.is_file() and path.name != MANIFEST)
        for name in names:
            shutil.copyfile(folder / name, copy / name)
    return [output / name for name in names]


def _kind(engine: str) -> FolderKind:
    return FolderKind(f"vqa-mc generate {engine}")
