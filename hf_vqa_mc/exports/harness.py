"""What all exports share: their declaration, atomic folders that replace only earlier exports, and images."""

import base64
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hf_vqa_mc.data.questions import Questions
from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.io.atomic import new_folder
from hf_vqa_mc.io.outputs import FolderKind, check_folder
from hf_vqa_mc.io.pictures import BrokenImage, portable_picture
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.version import __version__

RECORD = "export.json"  # what an exported folder holds, see `record`
EXPORTED = FolderKind("vqa-mc export")
FEWEST_BYTES = 49  # fewer bytes give at most 64 base64 characters, which VLMEvalKit parses as the index of another row
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tif"}
"""Formats that are copied unchanged; others are converted to PNG."""
NAMED = 5  # number of broken images that an error names


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


@contextmanager
def replaced_folder(output: Path, name: str, overwrite: bool) -> Iterator[tuple[Path, Path]]:
    """An empty folder, and ``output/<name>``, new or an export, which it replaces if the block succeeds.

    The folder of exports is created if missing; raises InputError if it cannot be one.
    """
    check_folder(output, "--output")
    output.mkdir(exist_ok=True)
    folder = output.resolve() / name
    with new_folder(folder, EXPORTED, overwrite) as new:
        yield new.tree, folder
        new.publish()


def harness_file(name: str) -> str:
    """The text of a program or template that is written into exports."""
    return (Path(__file__).parent / "harness_files" / name).read_text("utf-8")


def exported_images(questions: Questions, step: str, progress: Progress) -> Iterator[list[tuple[bytes, str]]]:
    """The content and the suffix of each file of each of ``image_rows``; each file is decoded to check it.

    Raises InputError after the last image if any cannot be opened, with their number.
    """
    broken, total = [], len(questions.image_rows)
    for image, row in enumerate(questions.image_rows):
        found = []
        try:
            contents = questions.source.read(row) if questions.source else ()
            found = [portable_picture(content, SUFFIXES, FEWEST_BYTES) for content in contents]
        except (BrokenImage, InputError) as error:
            broken.append(f"question_id {shown(questions.question_ids[row])} ({error})")
        yield found
        progress(step, image + 1, total)
    if broken:
        raise InputError(
            f"{questions.location}: {len(broken):,} of {total:,} images cannot be opened: "
            f"{listed(broken, NAMED, '; ')}; fix them, remove their rows, or export without images: --image ''"
        )


@dataclass(frozen=True)
class Base64Images:
    """Images as base64 without line breaks, in a file: those of a benchmark may not fit in memory."""

    file: IO[bytes]
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # image to start and size of its files
    suffixes: dict[int, list[str]] = field(default_factory=dict)

    def __getitem__(self, image: int) -> list[str]:
        found = []
        for start, size in self.spans[image]:
            self.file.seek(start)
            found.append(self.file.read(size).decode("ascii"))
        return found


@contextmanager
def base64_images(questions: Questions, folder: Path, progress: Progress) -> Iterator[Base64Images]:
    """The images of an export, each read once into an unnamed temporary file in this folder."""
    with tempfile.TemporaryFile(dir=folder) as file:
        images = Base64Images(file)
        for image, found in enumerate(exported_images(questions, "reading images", progress)):
            for content, suffix in found:
                text = base64.b64encode(content)
                images.spans.setdefault(image, []).append((file.tell(), file.write(text)))
                images.suffixes.setdefault(image, []).append(suffix)
        yield images
