"""Images of an export: checked, in a format that every harness opens, and as base64."""

import base64
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hf_vqa_mc.data.questions import Questions
from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.io.pictures import BrokenImage, portable_picture
from hf_vqa_mc.io.progress import Progress

FEWEST_BYTES = 49  # fewer bytes give at most 64 base64 characters, which VLMEvalKit parses as the index of another row
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tif"}
"""Formats that are copied unchanged; others are converted to PNG."""
MEDIA_TYPES = {"jpg": "jpeg", "tif": "tiff"}  # media types of `SUFFIXES` that are named otherwise
NAMED = 5  # number of broken images that an error names


def check_one_image(questions: Questions, harness: str) -> None:
    """Raise InputError unless every row has at most one image."""
    for row in questions.image_rows:
        if questions.source and (count := questions.source.count(row)) > 1:
            raise InputError(
                f"{questions.where(row)}: the row has {count} images, but {harness} takes one; export to lmms-eval or "
                "vlmevalkit instead"
            )


def exported_images(questions: Questions, step: str, progress: Progress) -> Iterator[list[tuple[bytes, str]]]:
    """The bytes and the suffix of the image files of each of ``image_rows``; each file is decoded to check it.

    Raises:
        InputError: images cannot be read or are damaged; raised after the last one, with their number.
    """
    broken, total = [], len(questions.image_rows)
    for image, row in enumerate(questions.image_rows):
        try:
            contents = questions.source.read(row) if questions.source else ()
            found = [portable_picture(content, SUFFIXES, FEWEST_BYTES) for content in contents]
        except (BrokenImage, InputError) as error:
            broken.append(f"question_id {shown(questions.question_ids[row])} ({error})")
            found = []
        yield found
        progress(step, image + 1, total)
    if broken:
        raise InputError(
            f"{questions.location}: {len(broken):,} of {total:,} images cannot be opened: "
            f"{listed(broken, NAMED, '; ')}; fix them, remove their rows, or export without images: --image ''"
        )


@dataclass(frozen=True)
class Base64Images:
    """Images by index, as base64 without line breaks; several files of rows with several images."""

    file: IO[bytes]
    spans: dict[int, list[tuple[int, int]]]  # start and size in the file of each image file
    suffixes: dict[int, list[str]]

    def __contains__(self, image: object) -> bool:
        return image in self.spans

    def __getitem__(self, image: int) -> list[str]:
        found = []
        for start, size in self.spans[image]:
            self.file.seek(start)
            found.append(self.file.read(size).decode("ascii"))
        return found

    def data_uri(self, image: int) -> str:
        """The only file of an image as an address that holds it."""
        suffix = self.suffixes[image][0]
        return f"data:image/{MEDIA_TYPES.get(suffix, suffix)};base64,{self[image][0]}"


@contextmanager
def base64_images(questions: Questions, folder: Path, progress: Progress) -> Iterator[Base64Images]:
    """The images of an export, each read once into an unnamed temporary file in this folder.

    Raises:
        InputError: images cannot be opened.
        OSError: the disk is full or not writable.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        images = Base64Images(file, {}, {})
        for image, found in enumerate(exported_images(questions, "reading images", progress)):
            for content, suffix in found:
                text = base64.b64encode(content)
                images.spans.setdefault(image, []).append((file.seek(0, 2), len(text)))
                images.suffixes.setdefault(image, []).append(suffix)
                file.write(text)
        yield images
