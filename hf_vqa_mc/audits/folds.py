"""Which part of the rows a row belongs to, where a rule can be learnt from nothing but the rows that it is asked."""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS
from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

SHARED_BY = (20, 5, 2)
"""Choices that more rows share, such as yes and no, tell nothing of a single row."""
LARGEST = 0.5
"""Of a part's size: how large a group of rows that hang together may be; else fewer rows share choices."""


def folds_of(split: Split, rows: Rows | None = None) -> NDArray[np.int8]:
    """The part of each row: rows of one image are in one part, rows without by question and choices (`Split.units`).

    With the rows, those that offer the same choices are in one part, too, unless they are many: where a benchmark asks
    of two images and each choice is right once, whoever was shown the one answer knows the other.

    Args:
        split: whose rows.
        rows: the same, numbered.

    Returns:
        int8 (rows,), in [0, FOLDS). It depends on nothing but the names and texts of the rows that hang together.
    """
    hashes, image = text_hashes(dict.fromkeys(split.units)), split.clusters
    group = np.arange(len(hashes))
    if rows is not None:
        group = _hanging_together(image, _choice_sets(rows), len(hashes))
    first = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, group, hashes)
    found: NDArray[np.int8] = (first[group][image] % np.uint64(FOLDS)).astype(np.int8)
    return found


def _choice_sets(rows: Rows) -> NDArray[np.int64]:
    """The number of each row's choices, the same for rows that offer the same ones in any order: (rows,)."""
    draws = np.random.default_rng(0).integers(2**63, size=len(rows.vocabulary.key_texts), dtype=np.uint64)
    sums = np.where(rows.there, draws[rows.keys], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    numbers: NDArray[np.int64] = np.unique(sums, return_inverse=True)[1]
    return numbers


def _hanging_together(image: NDArray[np.int64], choices: NDArray[np.int64], n_images: int) -> NDArray[np.int64]:
    """The group of each image; those whose rows share choices are in one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    shared = np.bincount(choices)[choices]
    most = max(LARGEST * len(image) / FOLDS, float(np.bincount(image).max()), SHARED_BY[-1])
    for limit in SHARED_BY:
        some = np.flatnonzero((shared > 1) & (shared <= limit))
        size = n_images + len(np.bincount(choices))
        links = coo_array((np.ones(len(some), np.int8), (image[some], n_images + choices[some])), shape=(size, size))
        group: NDArray[np.int64] = connected_components(links, directed=False)[1][:n_images]
        if np.bincount(group[image]).max() <= most:
            return group
    return np.arange(n_images)
