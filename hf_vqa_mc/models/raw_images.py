"""Images as users have them, opened as ``vqa-mc features`` opens them."""

import urllib.request
from os import PathLike
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.pictures import BrokenImage, decoded

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
        content = Path(image).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"image {name[:200]}: {reason}; expected the path or address of an image file") from error
    return _decoded(content, f"image {name}")


def _fetched(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
            return bytes(answer.read())
    except (OSError, ValueError) as error:  # HTTPError and URLError are OSErrors
        raise ConnectionError(f"image {address} cannot be fetched: {error}") from error


def _decoded(content: bytes, place: str) -> Image.Image:
    try:
        return decoded(content)
    except BrokenImage as error:
        what = str(error) if isinstance(error.__cause__, UnidentifiedImageError) else f"a broken image ({error})"
        raise InputError(f"{place}: {what}; expected a whole file such as PNG or JPEG") from error
