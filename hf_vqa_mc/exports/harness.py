"""What a harness is, and how exports are written: atomically, and replacing nothing but exports."""

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.exports.harness_files import harness_file
from hf_vqa_mc.exports.questions import Questions
from hf_vqa_mc.io.atomic_file import check_folder, in_plain_words, write_json
from hf_vqa_mc.io.atomic_folder import FolderKind, new_folder
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.version import __version__

WRITTEN_BY = "hf_vqa_mc export"
RECORD = "export.json"
"""The record in an exported folder: what wrote it, and what it holds."""
TABLE = "questions.parquet"


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


@dataclass(frozen=True)
class Harness:
    """A program of others that evaluates models on tasks; listed in ``exports.HARNESSES``."""

    name: str
    """as users type it"""
    write: Callable[[Questions, Path, Progress], Exported]
    """Write the tasks into a folder, made if there is none, which the harness is pointed to.

    Raises InputError if a row cannot be asked there, an image cannot be opened, or something else is in the place of
    the export; OSError if the disk is full or not writable (what was there before still is)."""


def record(harness: str, questions: int, hidden: bool, files: list[str]) -> dict[str, Any]:
    """What is written next to an export, so that the next one recognises it."""
    about: dict[str, Any] = {"written_by": WRITTEN_BY, "version": __version__, "harness": harness}
    return {**about, "questions": questions, "answers": "hidden" if hidden else "in the data", "files": files}


def read_record(path: Path) -> dict[str, Any] | None:
    """The record of an earlier export; None if it is none of ours."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("written_by") == WRITTEN_BY else None


def made_folder(folder: Path) -> Path:
    """The folder of exports, made if there is none.

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
    """An empty folder that replaces ``folder`` if the block succeeds.

    Raises:
        InputError: something that is no export is there.
        OSError: the disk is full or not writable; what was there before still is.
    """
    with new_folder(folder, EXPORTED) as place:
        yield place.tree
        place.publish()


def write_task_files(
    tree: Path,
    harness: str,
    questions: Questions,
    table: pa.Table,
    tasks: Mapping[str, str],
    program: tuple[str, str],
    about: Mapping[str, str],
    how: str,
    submitted: str,
) -> list[str]:
    """Write everything of a folder of tasks but its images.

    Args:
        tree: the folder.
        harness: its name.
        questions: that are exported.
        table: the questions as the tasks read them.
        tasks: stem of each yaml file to its text.
        program: name of a program that the tasks use, and of its file in ``harness_files``.
        about: name of each task to what it asks, for the README.
        how: the command to run it.
        submitted: which file holds predictions, where answers are hidden.

    Returns:
        The names of the files to look at.
    """
    pq.write_table(table, tree / TABLE)
    for stem, text in tasks.items():
        (tree / f"{stem}.yaml").write_text(text, "utf-8")
    (tree / program[0]).write_text(harness_file(program[1]), "utf-8")
    hidden = questions.labels is None
    readme = harness_file("README.md").format(
        name=questions.name,
        questions=len(questions),
        harness=harness,
        answers="hidden" if hidden else "in the data",
        tasks="\n".join(f"- `{task}`: {asks}" for task, asks in about.items()),
        how=how,
        scored=f"\n{submitted} what vqa-mc score reads.\n" if hidden else "",
    )
    (tree / "README.md").write_text(readme, "utf-8")
    names = [*(f"{stem}.yaml" for stem in tasks), program[0], TABLE]
    write_json(tree / RECORD, record(harness, len(questions), hidden, names), indent=1)
    return names
