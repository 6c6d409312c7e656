"""A few numbers of each image, without any model: enough to see which look alike."""

import io
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.benchmarks.benchmark import Images, Split
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.extraction.pictures import known_formats

SIDE, LEVELS = 8, 4
"""Pixels on a side that an image is shrunk to, and steps of each colour in the histogram beside them."""
NUMBERS = 3 * SIDE**2 + LEVELS**3
MOST_PIXELS = 50_000_000
"""An image of more is left unread: unpacked it would take 150 MB and more."""
AT_ONCE = 256

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Described:
    """What images look like."""

    vectors: NDArray[np.float32]
    """(rows, NUMBERS): rows with the same image have the same, rows whose image was not read the mean of all"""
    images: int
    """that were read"""
    broken: int
    """that could not be read, or are too large"""
    left_out: int
    """that were more than were to be read"""


def image_descriptors(
    split: Split, progress: Progress = lambda step, done, total: None, most: int = 20_000
) -> Described | None:
    """Describe the images of a split: each image once, in threads.

    Args:
        split: of a benchmark.
        progress: told (step, done, total).
        most: so many images are read at most, chosen by the hash of their ids.

    Returns:
        None where the split has no images here.
    """
    if split.images is None:
        return None
    numbers, rows = np.unique(split.clusters, return_index=True)
    ids = split.rows["image_id"].take(rows).to_pylist()
    order = np.argsort(text_hashes(ids), kind="stable")
    chosen = np.sort(order[:most])
    found = np.full((len(numbers), NUMBERS), np.nan, np.float32)
    images = split.images
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what PIL finds odd but reads is no fault
        for first in range(0, len(chosen), AT_ONCE):
            block = chosen[first : first + AT_ONCE]
            described = pool.map(lambda row: _described(images, int(row)), rows[block])
            for number, vector in zip(block, described, strict=True):
                if vector is not None:
                    found[number] = vector
            progress("images", min(first + AT_ONCE, len(chosen)), len(chosen))
    read = ~np.isnan(found[:, 0])
    found[~read] = found[read].mean(axis=0) if read.any() else 0.0
    n_read = int(read.sum())
    return Described(found[split.clusters], n_read, len(chosen) - n_read, len(numbers) - len(chosen))


def _described(images: Images, row: int) -> NDArray[np.float32] | None:
    """None where there is no image, or none that can be read."""
    try:
        content = images.read(row)
        if content is None:
            return None
        with Image.open(io.BytesIO(content), formats=known_formats()) as stored:
            if stored.width * stored.height > MOST_PIXELS:
                return None
            stored.draft("RGB", (8 * SIDE, 8 * SIDE))  # a JPEG is unpacked no larger than needed
            image = stored.convert("RGB")
        small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX), np.float32) / 127.5 - 1
        colours = np.asarray(image.resize((8 * SIDE, 8 * SIDE), Image.Resampling.BOX), np.int64) * LEVELS // 256
    except Exception:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others, images.read InputError
        return None
    place = colours @ np.array([LEVELS**2, LEVELS, 1])
    histogram = np.sqrt(np.bincount(place.ravel(), minlength=LEVELS**3) / place.size)
    return np.concatenate([small.ravel(), histogram]).astype(np.float32)
