"""Downscaled pixel values and a colour histogram of each image, without any model: enough to find similar ones."""

import io
import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.audits.shortcut import NotRun
from hf_vqa_mc.benchmarks.benchmark import Images, Split
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.pictures import known_formats
from hf_vqa_mc.io.progress import Progress, silent

SIDE, LEVELS = 8, 4
"""Pixels on a side of the downscaled image, and steps of each colour in the histogram."""
DIMENSIONS = 3 * SIDE**2 + LEVELS**3
MOST_PIXELS = 50_000_000
"""Larger images are not read: decoded they would take 150 MB and more."""
AT_ONCE = 256

Vectors = NDArray[np.float32]


def image_vectors(
    splits: Sequence[Split], features: Path | None, progress: Progress = silent
) -> tuple[Vectors | None, list[NotRun]]:
    """Vectors of the images of splits, and why some or all are missing.

    Args:
        splits: of a benchmark.
        features: folder of ``vqa-mc features``; by default downscaled pixel values.
        progress: called with (step, done, total).

    Returns:
        float32 (rows of all splits, dimensions), None where a split has no readable images; and what is missing.

    Raises:
        InputError: the features cannot be used.
    """
    if features is not None:
        return _stored_vectors(splits, features), []
    vectors, missing = [], []
    for split in splits:
        found = image_descriptors(split, progress)
        reason = split.images_missing or f"{split.place} has no images here"
        if found is not None and not found.images:
            reason = f"none of the {found.broken:,} images of {split.place} can be read; they are broken or too large"
        if found is None or not found.images:
            return None, [NotRun("probes that see images", reason)]
        vectors.append(found.vectors)
        if found.broken + found.left_out:
            why = f"{found.broken:,} could not be read, {found.left_out:,} were more than are read"
            missing.append(NotRun(f"some images of {split.name}", why))
    return np.concatenate(vectors), missing


def _stored_vectors(splits: Sequence[Split], folder: Path) -> Vectors:
    from hf_vqa_mc.extraction.image_features import ImageFeatures

    made = ImageFeatures.open(folder)
    if made.kind.grid is not None:
        raise InputError(f"--features {folder}: probes take one vector an image; make them without --grid")
    return np.concatenate([made.take(split.rows["image_id"].to_pylist()) for split in splits])


class Described(NamedTuple):
    """Descriptors of a split's images."""

    vectors: Vectors
    """(rows, DIMENSIONS): rows with the same image have the same, rows whose image was not read the mean of all"""
    images: int
    """that were read"""
    broken: int
    """that could not be read, or are too large"""
    left_out: int
    """beyond those that are read at most"""


def image_descriptors(split: Split, progress: Progress = silent, most: int = 20_000) -> Described | None:
    """Describe the images of a split: each image once, in threads.

    Args:
        split: of a benchmark.
        progress: called with (step, done, total).
        most: images that are read at most, chosen by the hash of their ids.

    Returns:
        None where the split has no images here.
    """
    if split.images is None:
        return None
    numbers, rows = np.unique(split.clusters, return_index=True)
    ids = split.rows["image_id"].take(rows).to_pylist()
    order = np.argsort(text_hashes(ids), kind="stable")
    chosen = np.sort(order[:most])
    found = np.full((len(numbers), DIMENSIONS), np.nan, np.float32)
    images = split.images
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PIL warns of odd files that it reads well
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
    """Descriptor of a row's image; None where there is none, or none that can be read."""
    try:
        content = images.read(row)
        if content is None:
            return None
        with Image.open(io.BytesIO(content), formats=known_formats()) as stored:
            if stored.width * stored.height > MOST_PIXELS:
                return None
            stored.draft("RGB", (8 * SIDE, 8 * SIDE))  # a JPEG is decoded no larger than needed
            image = stored.convert("RGB")
        small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX), np.float32) / 127.5 - 1
        colours = np.asarray(image.resize((8 * SIDE, 8 * SIDE), Image.Resampling.BOX), np.int64) * LEVELS // 256
    except Exception:  # PIL raises OSError, SyntaxError, ValueError, struct.error and others, images.read InputError
        return None
    bin_ = colours @ np.array([LEVELS**2, LEVELS, 1])
    histogram = np.sqrt(np.bincount(bin_.ravel(), minlength=LEVELS**3) / bin_.size)
    return np.concatenate([small.ravel(), histogram]).astype(np.float32)
