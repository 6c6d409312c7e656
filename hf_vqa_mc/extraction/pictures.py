"""Decoding of image files, and opening of images that users give as paths, URLs, bytes or PIL images."""

import io
import urllib.request
from os import PathLike
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from hf_vqa_mc.errors import InputError, shown

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "MPO", "PNG", "PPM", "TIFF", "WEBP")
"""Formats decoded in this process; for others, such as EPS, PIL would start another program."""
RawImage = Image.Image | str | PathLike[str] | bytes
"""A PIL image, the path or the URL (http, https) of an image file, or its content."""
TIMEOUT = 60.0
"""Seconds without data after which a download fails."""


class BrokenImage(ValueError):
    """An image file that cannot be decoded; the message is the reason."""


def known_formats() -> list[str]:
    """The `FORMATS` that this PIL supports, for ``Image.open(..., formats=...)``."""
    Image.init()
    return [name for name in FORMATS if name in Image.OPEN]


def decoded(content: bytes) -> Image.Image:
    """The image in RGB as stored, ignoring the EXIF orientation; raises BrokenImage if it cannot be decoded."""
    try:
        with Image.open(io.BytesIO(content)) as stored:
            return stored.convert("RGB")
    except UnidentifiedImageError as error:
        raise BrokenImage("not a readable image") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
        raise BrokenImage(str(error) or type(error).__name__) from error


def open_image(image: RawImage) -> Image.Image:
    """The image in RGB as stored, as `decoded`.

    Raises InputError if there is no such file or it is not an image, ConnectionError if its server cannot be reached.
    """
    if isinstance(image, Image.Image):
        return image.convert("RGB")
    if not isinstance(image, (str, PathLike, bytes)):
        raise InputError(f"image is {shown(image)}; expected a PIL image, the path or URL of a file, or its bytes")
    name = "image given as bytes" if isinstance(image, bytes) else f"image {str(image)[:200]}"
    try:
        return decoded(image if isinstance(image, bytes) else _content(image, name))
    except BrokenImage as error:
        reason = str(error) if isinstance(error.__cause__, UnidentifiedImageError) else f"a broken image ({error})"
        raise InputError(f"{name}: {reason}; expected a complete file such as PNG or JPEG") from error


def _content(path: str | PathLike[str], name: str) -> bytes:
    if str(path).startswith(("http://", "https://")):
        try:
            with urllib.request.urlopen(str(path), timeout=TIMEOUT) as answer:
                return bytes(answer.read())
        except (OSError, ValueError) as error:  # HTTPError and URLError are OSErrors
            raise ConnectionError(f"{name} cannot be fetched: {error}") from error
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{name}: {reason}; expected the path or URL of an image file") from error
