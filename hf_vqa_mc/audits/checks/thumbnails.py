"""Thumbnails of images, and which of them are nearly equal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.io.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 16
SIMILAR = 0.98
"""Lowest correlation of the thumbnails of similar images. Of 569 COCO images no two reach 0.88. Of their copies nearly
all that are compressed, scaled, made square, 20% brighter or of 30% more contrast reach 0.98, but not all that are
cropped or gray (`tests/audits/test_thumbnails.py`)."""
_AT_A_TIME = 2048


def thumbnail(picture: "Image") -> bytes:
    """SIDE x SIDE x 3 values, 8 bit."""
    return picture.convert("RGB").resize((SIDE, SIDE), reducing_gap=3).tobytes()


def similar(
    ones: Mapping[int, bytes], others: Mapping[int, bytes], progress: Progress
) -> dict[int, tuple[int, float]]:
    """The other thumbnail that resembles each one most, and their correlation, if it is at least `SIMILAR`."""
    if not others:
        return {}
    codes, found = np.array(list(others)), dict[int, tuple[int, float]]()
    ids, queries, keys = list(ones), list(ones.values()), list(others.values())
    for first in range(0, len(ids), _AT_A_TIME):
        progress("similar images", first, len(ids))
        query = _centred(queries[first : first + _AT_A_TIME])
        for start in range(0, len(keys), _AT_A_TIME):
            correlation = query @ _centred(keys[start : start + _AT_A_TIME]).T
            at, best = correlation.argmax(axis=1), correlation.max(axis=1)
            for row in np.flatnonzero(best >= SIMILAR).tolist():
                if best[row] > found.get(ids[first + row], (0, 0.0))[1]:
                    found[ids[first + row]] = codes[start + at[row]].item(), best[row].item()
    return found


def _centred(thumbnails: list[bytes]) -> NDArray[np.float32]:
    """(thumbnails, values) of mean 0 by channel and norm 1; zeros for an image of one colour, which resembles none."""
    values = np.frombuffer(b"".join(thumbnails), np.uint8).reshape(len(thumbnails), -1, 3).astype(np.float32)
    values -= values.mean(axis=1, keepdims=True)
    values /= np.maximum(np.linalg.norm(values, axis=(1, 2), keepdims=True), 1)
    return values.reshape(len(thumbnails), -1)
