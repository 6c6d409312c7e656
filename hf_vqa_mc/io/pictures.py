"""Opening of image files, which may come from anyone; the only module that calls PIL's decoders."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""Formats decoded in this process; for others, such as EPS, PIL would start another program."""
MOST_PIXELS = 64_000_000  # images with more pixels are not decoded; this many take 192 MB


class BrokenImage(ValueError):
    """An image file that is not decoded; the message is the reason."""


@contextmanager
def opened_picture(file: bytes | Path, side: int | None = None) -> Iterator["Image"]:
    """The first frame of an image file, fully decoded; a truncated file is an error. Thread-safe.

    A JPEG is decoded at the smallest scale (1, 1/2, 1/4 or 1/8) whose sides have at least ``side`` pixels. Raises
    BrokenImage if it is not an image in one of `FORMATS`, it is damaged, or the body fails to convert it.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        source = io.BytesIO(file if isinstance(file, bytes) else file.read_bytes())
        with Image.open(source, formats=_known_formats()) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BrokenImage(f"{image.width:,} x {image.height:,} pixels, more than {MOST_PIXELS:,}")
            if side is not None:
                image.draft("RGB", (side, side))
            image.load()
            yield _eight_bit(image)
    except (BrokenImage, InputError):
        raise
    except UnidentifiedImageError as error:
        raise BrokenImage("not a readable image") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
        raise BrokenImage(str(error) or type(error).__name__) from error


def _eight_bit(image: "Image") -> "Image":
    """An image with 16-bit gray values scaled to 8 bit, which PIL's ``convert`` would clip at 255."""
    if not image.mode.startswith("I;16"):
        return image
    scaled = image.point(lambda value: value / 256).convert("L")
    scaled.format = image.format
    return scaled


def picture_size(content: bytes) -> tuple[int, int]:
    """Width and height of an image file as stored; it is not decoded. Raises BrokenImage if it is not an image."""
    from PIL import Image

    try:
        with Image.open(io.BytesIO(content), formats=_known_formats()) as image:
            return image.size
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
        raise BrokenImage("not a readable image") from error


def portable_picture(content: bytes, formats: Mapping[str, str], fewest_bytes: int = 0) -> tuple[bytes, str]:
    """An image file unchanged if its format is one of ``formats``, else as PNG; and the format's value there.

    ``formats`` are PIL's names, with ``PNG``, to any values; files below ``fewest_bytes`` are converted, too.
    """
    with opened_picture(content) as opened:
        name = opened.format or ""
        if name in formats and len(content) >= fewest_bytes:
            return content, formats[name]
        converted = io.BytesIO()
        opened.convert("RGB").save(converted, "PNG")
    return converted.getvalue(), formats["PNG"]


@lru_cache(maxsize=1)
def _known_formats() -> list[str]:
    """The `FORMATS` that this PIL supports."""
    from PIL import Image

    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]
