"""Images of an export: checked, in a format that every harness opens, and as base64."""

import base64
import io
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.questions import Questions
from hf_vqa_mc.io.atomic_file import in_plain_words
from hf_vqa_mc.io.progress import Progress

FEWEST_BYTES = 49
"""Fewer bytes give at most 64 base64 characters, which VLMEvalKit parses as the index of another row."""
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tif"}
"""Formats that are copied unchanged; others are converted to PNG."""


def exported_image(questions: Questions, image: int) -> tuple[bytes, str] | None:
    """The bytes of an image file, by its index, and its suffix; None if the row has no image.

    Raises:
        InputError: it cannot be read or is not an image.
    """
    from PIL import Image

    content = questions.source.read(questions.image_rows[image]) if questions.source else None
    if content is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about large images: only the header is read
            with Image.open(io.BytesIO(content)) as opened:
                suffix = SUFFIXES.get(opened.format or "")
                if suffix and len(content) >= FEWEST_BYTES:
                    return content, suffix
                kept = io.BytesIO()
                opened.convert("RGB").save(kept, "PNG")
                return kept.getvalue(), "png"
    except Exception as error:  # PIL raises many types
        where = questions.where(questions.image_rows[image])
        raise InputError(
            f"{where}: its image cannot be opened ({type(error).__name__}); fix it or remove it"
        ) from error


@dataclass(frozen=True)
class Base64Images:
    """Images by index, as base64 without line breaks."""

    file: IO[bytes]
    spans: dict[int, tuple[int, int]]
    """start and size in the file"""

    def __contains__(self, image: object) -> bool:
        return image in self.spans

    def __getitem__(self, image: int) -> str:
        start, size = self.spans[image]
        self.file.seek(start)
        return self.file.read(size).decode("ascii")


@contextmanager
def base64_images(questions: Questions, folder: Path, progress: Progress) -> Iterator[Base64Images]:
    """The images of an export, each read once into an unnamed temporary file in this folder.

    Raises:
        InputError: an image cannot be opened.
        OSError: the disk is full or not writable.
    """
    with in_plain_words(folder):
        file = tempfile.TemporaryFile(dir=folder)
    with file:
        images = Base64Images(file, {})
        with in_plain_words(folder):
            for image in range(len(questions.image_rows)):
                found = exported_image(questions, image)
                if found is not None:
                    text = base64.b64encode(found[0])
                    images.spans[image] = file.seek(0, 2), len(text)
                    file.write(text)
                progress("reading images", image + 1, len(questions.image_rows))
        yield images
