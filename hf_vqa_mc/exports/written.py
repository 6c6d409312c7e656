"""Exports appear whole or not at all, and replace nothing but exports."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_vqa_mc.io.atomic_file import check_folder, in_plain_words
from hf_vqa_mc.io.atomic_folder import FolderKind, written_beside
from hf_vqa_mc.version import __version__

WRITTEN_BY = "hf_vqa_mc export"
RECORD = "export.json"
"""What an exported folder says of itself."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    name: str
    """of the task or dataset"""
    files: list[Path]
    """those to look at or to name; images are not listed one by one"""
    questions: int
    how: list[str]
    """commands with which the harness runs it"""
    notes: list[str] = field(default_factory=list)
    """what was left out or changed, and why; each a sentence"""


def record(harness: str, questions: int, hidden: bool, files: list[str]) -> dict[str, Any]:
    """What is written beside an export, so that the next one knows it for its own."""
    told: dict[str, Any] = {"written_by": WRITTEN_BY, "version": __version__, "harness": harness}
    return {**told, "questions": questions, "answers": "hidden" if hidden else "in the data", "files": files}


def read_record(path: Path) -> dict[str, Any] | None:
    """What an earlier export wrote there; None if it is none of ours."""
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and told.get("written_by") == WRITTEN_BY else None


def made_folder(folder: Path) -> Path:
    """The folder that exports go to, made if there is none.

    Raises:
        InputError: it is a file, or there is no folder around it.
    """
    check_folder(folder, "--output")
    with in_plain_words(folder):
        folder.mkdir(exist_ok=True)
    return folder.resolve()


EXPORTED = FolderKind(
    "vqa-mc export",
    RECORD,
    lambda folder: read_record(folder / RECORD) is not None,
    remedy="choose another --name or --output",
)


@contextlib.contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """An empty folder, which takes the place of ``folder`` at the end of the block if all went well.

    Killed at any moment, the old folder or the new one is there; what lies beside it then, the next export clears.

    Raises:
        InputError: something that is no export is there.
        OSError: the disk is full or closed to us; what was there still is.
    """
    with written_beside(folder, EXPORTED) as place:
        yield place.tree
        place.publish()
