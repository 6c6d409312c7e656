"""Images as base64, each read once and kept in a file without a name until the export is written."""

import base64
import tempfile
from pathlib import Path
from types import TracebackType

from hf_vqa_mc.exports.image_bytes import exported_image
from hf_vqa_mc.exports.questions import Progress, Questions
from hf_vqa_mc.io.atomic_file import in_plain_words


class Base64Images:
    """The images of an export, by number; a context manager.

    Args:
        questions: that are exported.
        folder: on whose file system there is room for all of them.
        progress: told (step, done, total).

    Raises:
        InputError: an image cannot be opened.
        OSError: the disk is full or closed to us.
    """

    def __init__(self, questions: Questions, folder: Path, progress: Progress) -> None:
        self._places: dict[int, tuple[int, int]] = {}
        with in_plain_words(folder):
            self._file = tempfile.TemporaryFile(dir=folder)
        try:
            with in_plain_words(folder):
                for image in range(len(questions.image_rows)):
                    self._keep(image, exported_image(questions, image))
                    progress("reading images", image + 1, len(questions.image_rows))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "Base64Images":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def __contains__(self, image: object) -> bool:
        """Whether there is an image of this number."""
        return image in self._places

    def base64(self, image: int) -> str:
        """An image's file in base64, without line breaks."""
        start, size = self._places[image]
        self._file.seek(start)
        return self._file.read(size).decode("ascii")

    def _keep(self, image: int, found: tuple[bytes, str] | None) -> None:
        if found is not None:
            text = base64.b64encode(found[0])
            self._places[image] = (self._file.seek(0, 2), len(text))
            self._file.write(text)
