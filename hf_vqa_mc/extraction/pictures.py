"""Decoding of image files, and opening of images that users give as paths, URLs, bytes or PIL images."""

import base64
from os import PathLike
from pathlib import Path

from huggingface_hub import get_session
from huggingface_hub.utils import httpx  # type: ignore[attr-defined]  # as transformers has it
from PIL import Image

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture

RawImage = Image.Image | str | PathLike[str] | bytes  # also URLs (http, https, data:image/...) and content
TIMEOUT = 30.0  # seconds without an answer after which a server counts as not reachable


def decoded(content: bytes) -> Image.Image:
    """The image in RGB as stored, ignoring the EXIF orientation; raises BrokenImage if it cannot be decoded."""
    with opened_picture(content) as stored:
        return stored.convert("RGB")


def open_image(image: RawImage) -> Image.Image:
    """The image in RGB as stored, as `decoded`. Paths and addresses are read as given: check those of other people.

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
        raise InputError(f"{name}: {error}; expected a complete file such as PNG or JPEG") from error


def _content(path: str | PathLike[str], name: str) -> bytes:
    text = str(path)
    if text.startswith(("http://", "https://")):
        try:
            answer = get_session().get(text, follow_redirects=True, timeout=TIMEOUT)
            return bytes(answer.raise_for_status().content)
        except httpx.HTTPError as error:
            raise ConnectionError(f"{name} cannot be fetched: {error}") from error
    try:
        if text.startswith("data:image/"):
            return base64.b64decode(text.partition(",")[2])
        return Path(path).expanduser().read_bytes()
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"{name}: {reason}; expected the path or URL of an image file") from error
