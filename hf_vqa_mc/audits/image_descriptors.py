"""Image descriptors without any model: downscaled pixel values and a colour histogram."""

import contextlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image

from hf_vqa_mc.audits.shortcut import NotRun
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.data.images import Images
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture, picture_size
from hf_vqa_mc.io.progress import Progress, silent

SIDE, LEVELS = 8, 4  # side of the downscaled image in pixels, and histogram bins per colour channel
DIMENSIONS = 3 * SIDE**2 + LEVELS**3
AT_ONCE = 256
MOST_SIZES = 4_000  # number of rows whose images' sizes are read, which limits the time


def image_vectors(
    splits: Sequence[tuple[Split, NDArray[np.integer]]], features: Path | None, progress: Progress = silent
) -> tuple[NDArray[np.float32] | None, list[NotRun]]:
    """Image vectors of some rows of splits, float32 (rows of all splits, dimensions), and the missing images.

    They are `image_descriptors`, or of the folder ``features`` of ``vqa-mc features``; None if a split has no readable
    image. Raises InputError if the folder cannot be used.
    """
    if features is not None:
        from hf_vqa_mc.extraction.store import ImageFeatures

        stored = ImageFeatures(features)
        if stored.kind.grid is not None:
            raise InputError(
                f"--features {features}: expected one vector per image; run vqa-mc features without --grid"
            )
        taken = [stored.take(split.rows["image_id"].take(pa.array(rows)).to_pylist()) for split, rows in splits]
        return np.concatenate(taken), []
    vectors, missing = [], []
    for split, rows in splits:
        found, reason = image_descriptors(split, progress, of_rows=rows)
        if found is None:
            return None, [NotRun("probes that see images", reason)]
        vectors.append(found)
        if reason:
            missing.append(NotRun(f"some images of {split.name}", reason))
    return np.concatenate(vectors), missing


def missing_images(split: Split) -> str:
    """Why a split has no images, and what to do."""
    return split.images_missing or f"no column of {split.location} is recognised as images; name it with --image"


def image_sizes(split: Split) -> NDArray[np.int64]:
    """Width and height of the (first) image of at most MOST_SIZES random rows, int64 (rows, 2); 0 for the others."""
    sizes, images = np.zeros((split.rows.num_rows, 2), np.int64), split.images
    rows = np.argsort(text_hashes(split.rows["question_id"].to_pylist()), kind="stable")[:MOST_SIZES]
    if images is not None:
        for row in rows.tolist():
            with contextlib.suppress(BrokenImage, InputError, OSError, StopIteration):
                sizes[row] = picture_size(next(iter(images.read(row))))
    return sizes


def image_descriptors(
    split: Split, progress: Progress = silent, most: int = 20_000, of_rows: NDArray[np.integer] | None = None
) -> tuple[NDArray[np.float32] | None, str]:
    """Describe at most ``most`` images of some rows (by default all), sampled by a hash of their ids, in threads.

    Returns float32 (rows, DIMENSIONS), the mean of all for images that were not read, and which were not; or None if
    none can be read, and why.
    """
    if split.images is None:
        return None, missing_images(split)
    of_rows = np.arange(split.rows.num_rows) if of_rows is None else of_rows
    _, first_of, image = np.unique(split.clusters[of_rows], return_index=True, return_inverse=True)
    rows = of_rows[first_of]
    ids = split.rows["image_id"].take(pa.array(rows)).to_pylist()
    order = np.argsort(text_hashes(ids), kind="stable")
    chosen = np.sort(order[:most])
    found, images = np.full((len(rows), DIMENSIONS), np.nan, np.float32), split.images
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for first in range(0, len(chosen), AT_ONCE):
            block = chosen[first : first + AT_ONCE]
            found[block] = list(pool.map(lambda row: _described(images, int(row)), rows[block]))
            progress("images", min(first + AT_ONCE, len(chosen)), len(chosen))
    read = ~np.isnan(found[:, 0])
    broken, left_out = [ids[one] for one in chosen[~read[chosen]]], len(rows) - len(chosen)
    if not read.any():
        whole = f"none of the {len(broken):,} images of {split.location} can be read"
        return None, f"{whole}; they are missing, broken or too large"
    found[~read] = found[read].mean(axis=0)
    named = f" (the first has image_id {shown(broken[0])})" if broken else ""
    lacking = f"{len(broken):,} could not be read{named}, {left_out:,} were not sampled"
    return found[image], lacking if broken or left_out else ""


def _described(images: Images, row: int) -> NDArray[np.float32]:
    """Descriptor of a row's image, of several their mean; NaN if one is missing or unreadable."""
    found = []
    try:
        for content in images.read(row):
            with opened_picture(content, side=8 * SIDE) as stored:  # a JPEG is decoded no larger than needed
                image = stored.convert("RGB")
            small = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX), np.float32) / 127.5 - 1
            colours = np.asarray(image.resize((8 * SIDE, 8 * SIDE), Image.Resampling.BOX), np.int64) * LEVELS // 256
            bin_ = colours @ np.array([LEVELS**2, LEVELS, 1])
            histogram = np.sqrt(np.bincount(bin_.ravel(), minlength=LEVELS**3) / bin_.size)
            found.append(np.concatenate([small.ravel(), histogram]).astype(np.float32))
    except (BrokenImage, InputError, OSError):
        found = []
    return np.mean(found, axis=0) if found else np.full(DIMENSIONS, np.nan, np.float32)
