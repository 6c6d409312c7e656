"""A folder of generated files is written beside its place and moved there when whole."""

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.written_file import in_plain_words, umask

STATISTICS = "statistics.json"
"""The file by which a generated folder is known."""


def check_generated_folder(output: Path, engine: str) -> None:
    """Nothing, if a generated folder can be put there: nothing is there, an empty folder, or one of this engine.

    Raises:
        InputError: the folder around it is missing, or something else is there (which is then left alone).
    """
    if not output.absolute().parent.is_dir():
        raise InputError(f"output {output}: there is no folder {output.absolute().parent}; create it first")
    if not output.exists() and not output.is_symlink():
        return
    if not output.is_dir():
        raise InputError(f"output {output} exists and is not a folder; name another")
    if output.resolve() == Path.cwd().resolve() or output.is_mount():
        raise InputError(f"output {output} is a folder that cannot be replaced; name one in it")
    if any(output.iterdir()) and _engine_of(output) != engine:
        raise InputError(
            f"output {output} is a folder that vqa-mc generate {engine} did not write; name another, "
            "or remove it first"
        )


@contextlib.contextmanager
def generated_folder(output: Path, engine: str) -> Iterator[Path]:
    """A hidden folder beside the output, which takes its place when the block ends without an error.

    The block must write ``statistics.json`` with ``"engine": engine``, by which the folder may be replaced later.

    Raises:
        InputError: as ``check_generated_folder``.
        OSError: the disk is full or closed to us; what was there before still is.
    """
    output = output.absolute().resolve()
    check_generated_folder(output, engine)
    with in_plain_words(output):
        hidden = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".partial", dir=output.parent))
        try:
            hidden.chmod(0o777 & ~umask())
            yield hidden
            check_generated_folder(output, engine)
            _take_place(hidden, output)
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


def _take_place(hidden: Path, output: Path) -> None:
    for path in hidden.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    if not output.exists() or not any(output.iterdir()):
        hidden.rename(output)  # replaces an empty folder too
        return
    old = hidden.with_name(f"{hidden.name}.old")
    output.rename(old)
    try:
        hidden.rename(output)
    except BaseException:
        old.rename(output)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _engine_of(folder: Path) -> str | None:
    """The engine that wrote a folder; None if none of ours did."""
    try:
        told = json.loads((folder / STATISTICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told.get("engine") if isinstance(told, dict) else None
