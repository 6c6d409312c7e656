"""Thumbnails of images, and which of them are nearly equal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.io.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 16
SIMILAR = 0.96
"""Lowest similarity of similar images. Of 569 COCO images no two reach 0.87. Of their copies 99% and more that are
compressed, scaled, made square, 20% brighter or of 30% more contrast reach 0.96, fewer that are cropped or gray
(`tests/audits/test_thumbnails.py`)."""
NOISE = 4.0 * SIDE * SIDE * 3
"""Added to sums of squares, so that images whose values differ by little, or not at all, resemble none."""
_AT_A_TIME = 2048


def thumbnail(picture: "Image") -> bytes:
    """SIDE x SIDE x 3 values, 8 bit; what is transparent is white."""
    from PIL import Image

    if "A" not in picture.getbands() and "transparency" not in picture.info:
        return picture.convert("RGB").resize((SIDE, SIDE), reducing_gap=3).tobytes()
    white = Image.new("RGBA", (SIDE, SIDE), "white")
    white.alpha_composite(picture.convert("RGBA").resize((SIDE, SIDE), reducing_gap=3))
    return white.convert("RGB").tobytes()


def similar(
    ones: Mapping[int, bytes], others: Mapping[int, bytes], progress: Progress
) -> dict[int, tuple[int, float]]:
    """The other thumbnail that resembles each one most, and how similar they are, if at least `SIMILAR`.

    The similarity of centred values a and b is Lin's concordance, 2ab / (aa + bb): their correlation for equal
    contrasts, and less for others.
    """
    if not others:
        return {}
    codes, found = np.array(list(others)), dict[int, tuple[int, float]]()
    ids, queries, keys = list(ones), list(ones.values()), list(others.values())
    for first in range(0, len(ids), _AT_A_TIME):
        progress("similar images", first, len(ids))
        query, sizes = _centred(queries[first : first + _AT_A_TIME])
        for start in range(0, len(keys), _AT_A_TIME):
            key, key_sizes = _centred(keys[start : start + _AT_A_TIME])
            concordance = 2 * (query @ key.T) / (sizes[:, None] + key_sizes)
            at, best = concordance.argmax(axis=1), concordance.max(axis=1)
            for row in np.flatnonzero(best >= SIMILAR).tolist():
                if best[row] > found.get(ids[first + row], (0, 0.0))[1]:
                    found[ids[first + row]] = codes[start + at[row]].item(), best[row].item()
    return found


def _centred(thumbnails: list[bytes]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(thumbnails, values) of mean 0 by channel, and their sums of squares plus `NOISE`."""
    values = np.frombuffer(b"".join(thumbnails), np.uint8).reshape(len(thumbnails), -1, 3).astype(np.float32)
    values = (values - values.mean(axis=1, keepdims=True)).reshape(len(thumbnails), -1)
    return values, (values**2).sum(axis=1) + NOISE
