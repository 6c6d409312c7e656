"""Images for a page: decoded, downscaled and encoded again, so that no metadata or malformed data remains."""

import base64
import io
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.io.pictures import BrokenImage, HugeImage, opened_picture

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 320
"""Pixels."""
BROKEN, HUGE = "the image cannot be read", "the image is too large to be shown"


def picture_values(content: bytes | None, longest: int = LONGEST_SIDE, absent: str = "") -> dict[str, Any]:
    """An image as values for templates; deterministic.

    Args:
        content: image file, possibly broken; None without an image.
        longest: longer side in pixels.
        absent: the note if there is no image.

    Returns:
        ``image`` (a JPEG as a ``data:`` URL, "" if it cannot be shown), its ``width`` and ``height``, and ``missing``,
        the reason why there is none.
    """
    picture = small_image(content, longest) if content else absent
    if isinstance(picture, str):
        return {"image": "", "width": 0, "height": 0, "missing": picture}
    written = io.BytesIO()
    picture.save(written, format="JPEG", quality=82, optimize=True)
    address = f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}"
    return {"image": address, "width": picture.width, "height": picture.height, "missing": ""}


def small_image(content: bytes, longest: int) -> "Image | str":
    """An image file as a small upright RGB picture on white; or the reason why it cannot be shown."""
    from PIL import Image, ImageOps

    try:
        with opened_picture(content, side=2 * longest) as image:
            upright = ImageOps.exif_transpose(image)
            upright.thumbnail((longest, longest))
            coloured = upright.convert("RGBA")
    except HugeImage:
        return HUGE
    except BrokenImage:
        return BROKEN
    paper = Image.new("RGBA", coloured.size, "white")
    return Image.alpha_composite(paper, coloured).convert("RGB")  # without the file's metadata
