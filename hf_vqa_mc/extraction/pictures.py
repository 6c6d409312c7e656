"""Image files of others: which formats are decoded, and to what."""

import io

from PIL import Image, UnidentifiedImageError

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""Those that are decoded in the process; PIL would start another program for, say, EPS."""


class BrokenImage(ValueError):
    """An image file that cannot be decoded; the message says why."""


def known_formats() -> list[str]:
    """Those of ``FORMATS`` that this PIL knows, for ``Image.open(..., formats=...)``."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def decoded(content: bytes) -> Image.Image:
    """The image in RGB as it is stored: its EXIF orientation is ignored.

    Raises:
        BrokenImage: it cannot be decoded.
    """
    try:
        with Image.open(io.BytesIO(content)) as stored:
            return stored.convert("RGB")
    except UnidentifiedImageError as error:
        raise BrokenImage("no image that can be read") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
        raise BrokenImage(str(error) or type(error).__name__) from error
