"""Images for a page: decoded, downscaled and encoded again, so that no metadata or malformed data remains."""

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.io.pictures import BrokenImage, opened_picture

if TYPE_CHECKING:
    from PIL.Image import Image

LONGEST_SIDE = 320  # pixels
ATTENDED, OPACITY = "#ff5a00", 0.65  # colour of attention, and its opacity at the maximum of a map
BROKEN = "the image cannot be read"


def picture_values(
    contents: Sequence[bytes],
    longest: int = LONGEST_SIDE,
    absent: str = "",
    attention: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """The images of a question as values for templates; deterministic.

    ``pictures``: of each image that can be shown ``image`` (a JPEG as a ``data:`` URL), its ``width`` and ``height``;
    and ``missing``, the reason why one cannot be shown, or ``absent`` without any.
    """
    missing, pictures = "" if contents else absent, []
    for content in contents:
        picture = small_image(content, longest, attention)
        if isinstance(picture, str):
            missing = picture
            continue
        written = io.BytesIO()
        picture.save(written, format="JPEG", quality=82, optimize=True)
        address = f"data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}"
        pictures.append({"image": address, "width": picture.width, "height": picture.height})
    return {"pictures": pictures, "missing": missing}


def small_image(content: bytes, longest: int, attention: NDArray[np.float64] | None = None) -> "Image | str":
    """An image file as a small upright RGB picture on white; or the reason why it cannot be shown.

    ``attention`` (n, n), x first, is of the image as stored, without its EXIF orientation; its minimum is invisible.
    """
    from PIL import ExifTags, Image, ImageOps

    try:
        with opened_picture(content, side=2 * longest) as image:
            orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
            upright = ImageOps.exif_transpose(image)
            upright.thumbnail((longest, longest))
            coloured = upright.convert("RGBA")
    except BrokenImage as error:
        return f"{BROKEN}: {error}"
    paper = Image.new("RGBA", coloured.size, "white")
    small = Image.alpha_composite(paper, coloured).convert("RGB")  # without the file's metadata
    if attention is None:
        return small
    above = attention / max(np.abs(attention).max(), np.finfo(np.float64).tiny)  # the range may exceed float64
    above = above - above.min()
    cells = Image.fromarray(np.asarray((255 * OPACITY * above / (above.max() or 1.0)).round().T, np.uint8))
    cells.getexif()[ExifTags.Base.Orientation] = orientation
    opacity = ImageOps.exif_transpose(cells).resize(small.size, Image.Resampling.BILINEAR)
    return Image.composite(Image.new("RGB", small.size, ATTENDED), small, opacity)
