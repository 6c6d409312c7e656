"""Images on their way out: known to be images, in a format that every harness opens."""

import io
import warnings

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.questions import Questions

FEWEST_BYTES = 49
"""What base64 makes 64 letters or fewer of, VLMEvalKit takes for the number of another row."""
SUFFIXES = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "WEBP": "webp", "BMP": "bmp", "TIFF": "tif"}
"""Formats that leave as they are; others leave as PNG."""


def exported_image(questions: Questions, image: int) -> tuple[bytes, str] | None:
    """The bytes of an image file and its suffix; None where the row has no image.

    Args:
        questions: that are exported.
        image: its number.

    Raises:
        InputError: it cannot be read, or is no image.
    """
    from PIL import Image

    content = questions.read_image(image)
    if content is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of huge images: they are told by their header, not decoded
            with Image.open(io.BytesIO(content)) as opened:
                suffix = SUFFIXES.get(opened.format or "")
                if suffix and len(content) >= FEWEST_BYTES:
                    return content, suffix
                kept = io.BytesIO()
                opened.convert("RGB").save(kept, "PNG")
                return kept.getvalue(), "png"
    except Exception as error:  # PIL has many names for a broken image
        where = questions.where(questions.image_rows[image])
        raise InputError(
            f"{where}: its image cannot be opened ({type(error).__name__}); mend or leave it out"
        ) from error
