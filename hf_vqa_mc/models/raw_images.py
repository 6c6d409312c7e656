"""Images as users have them, opened as ``vqa-mc features`` opens them."""

import io
import urllib.request
from os import PathLike
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from hf_vqa_mc.errors import InputError, shown

RawImage = Image.Image | str | PathLike[str] | bytes
"""An image, the path or the address (http, https) of a file, or the bytes of one."""

TIMEOUT = 60.0
"""Seconds that a server may be silent."""


def open_image(image: RawImage) -> Image.Image:
    """The image in RGB, as it is stored: a camera's note on how to turn it is not looked at, as for features.

    Raises:
        InputError: there is no such file, or it is no image.
        ConnectionError: its server cannot be reached.
    """
    if isinstance(image, Image.Image):
        return image.convert("RGB")
    if isinstance(image, bytes):
        return _decoded(image, "image given as bytes")
    if not isinstance(image, (str, PathLike)):
        raise InputError(f"image is {shown(image)}; expected a PIL image, the path or address of a file, or its bytes")
    name = str(image)
    if name.startswith(("http://", "https://")):
        return _decoded(_fetched(name), f"image {name}")
    try:
        return _decoded(Path(image).expanduser().read_bytes(), f"image {name}")
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"image {name[:200]}: {reason}; expected the path or address of an image file") from error


def _fetched(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            return bytes(answer.read())
    except (OSError, ValueError) as error:  # HTTPError and URLError are OSErrors
        raise ConnectionError(f"image {address} cannot be fetched: {error}") from error


def _decoded(content: bytes, place: str) -> Image.Image:
    try:
        with Image.open(io.BytesIO(content)) as stored:
            return stored.convert("RGB")
    except UnidentifiedImageError as error:
        raise InputError(f"{place}: no image that can be read; expected a file such as PNG or JPEG") from error
    except Exception as error:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others
        raise InputError(f"{place}: a broken image ({error}); give another file") from error
