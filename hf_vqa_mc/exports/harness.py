"""Declaration of harnesses; atomic writing of exports, which replace only earlier exports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.questions import Questions
from hf_vqa_mc.io.atomic import new_folder
from hf_vqa_mc.io.outputs import FolderKind, check_folder
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.version import __version__

RECORD = "export.json"  # what an exported folder holds, see `record`
EXPORTED = FolderKind("vqa-mc export")


@dataclass(frozen=True)
class Exported:
    """Result of an export."""

    name: str  # name of the task or dataset
    files: list[Path]  # main files; images are not listed
    questions: int
    how: list[str]  # commands that run it
    notes: list[str] = field(default_factory=list)  # sentences on what was omitted or changed, and why
    others: list[Path] = field(default_factory=list)  # README.md and export.json


@dataclass(frozen=True)
class Harness:
    """An evaluation program; listed in ``exports.HARNESSES``."""

    name: str  # name as typed by users
    write: Callable[[Questions, Path, Progress, bool], Exported]
    """Write the tasks into a folder for the harness, created if missing; the last argument is ``--overwrite``.

    Raises InputError if the harness cannot present a row, an image cannot be opened, or the output is not an export;
    OSError if the disk is full or read-only (an earlier export is then unchanged)."""
    shows_images: bool = True


def record(harness: str, questions: int, hidden: bool) -> dict[str, Any]:
    """What an export holds."""
    answers = "hidden" if hidden else "in the data"
    return {"version": __version__, "harness": harness, "questions": questions, "answers": answers}


def made_folder(folder: Path) -> Path:
    """The absolute path of the folder of exports, created if missing; raises InputError if it cannot be one."""
    check_folder(folder, "--output")
    folder.mkdir(exist_ok=True)
    return folder.resolve()


@contextmanager
def replaced_folder(folder: Path, overwrite: bool) -> Iterator[Path]:
    """An empty folder that replaces ``folder``, new or an export, if the block succeeds."""
    with new_folder(folder, EXPORTED, overwrite) as new:
        yield new.tree
        new.publish()
