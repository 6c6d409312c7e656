"""Images as a page may show them: decoded, made small and written anew, so that nothing of the file itself remains."""

import base64
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hf_vqa_mc.extraction.pictures import known_formats

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 320
"""Pixels."""
MOST_PIXELS = 64_000_000
"""Of an image that is decoded; others could fill the memory."""
BROKEN, HUGE = "the image cannot be read", "the image is too large to be shown"


@dataclass(frozen=True)
class Thumbnail:
    """A small JPEG, or the reason why there is none."""

    jpeg: bytes
    """"" where there is none"""
    width: int
    height: int
    note: str
    """"" where all is well"""

    @property
    def address(self) -> str:
        """The picture as a ``data:`` address, "" where there is none."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.jpeg).decode()}" if self.jpeg else ""


NOTHING = Thumbnail(b"", 0, 0, "")


def thumbnail(content: bytes | None, longest: int = LONGEST_SIDE) -> Thumbnail:
    """An image's thumbnail; the same file gives the same bytes.

    Args:
        content: an image file of any kind, whole or broken; None where there is none.
        longest: pixels of the longer side.
    """
    if not content:
        return NOTHING
    image = small_image(content, longest)
    if isinstance(image, str):
        return Thumbnail(b"", 0, 0, image)
    written = io.BytesIO()
    image.save(written, format="JPEG", quality=82, optimize=True)
    return Thumbnail(written.getvalue(), image.width, image.height, "")


def small_image(content: bytes, longest: int) -> "Image | str":
    """An image file as a small RGB picture, upright, on white; or why it cannot be shown."""
    from PIL import Image, ImageOps

    known = known_formats()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PIL finds odd but reads is no fault
        try:
            with Image.open(io.BytesIO(content), formats=known) as image:
                if image.width * image.height > MOST_PIXELS:
                    return HUGE
                image.draft("RGB", (2 * longest, 2 * longest))
                upright = ImageOps.exif_transpose(image)
                upright.thumbnail((longest, longest))
                coloured = upright.convert("RGBA")
        except Image.DecompressionBombError:
            return HUGE
        except Exception:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
            return BROKEN
    paper = Image.new("RGBA", coloured.size, "white")
    return Image.alpha_composite(paper, coloured).convert("RGB")  # without what the file said of itself
