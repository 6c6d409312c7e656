"""Images for a page: decoded, downscaled and encoded again, so that no metadata or malformed data remains."""

import base64
import io
import warnings
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.extraction.pictures import known_formats

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 320
"""Pixels."""
MOST_PIXELS = 64_000_000
"""Larger images are not decoded, which limits memory."""
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

    known = known_formats()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PIL warns about unusual files that it reads
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
    return Image.alpha_composite(paper, coloured).convert("RGB")  # without the file's metadata
