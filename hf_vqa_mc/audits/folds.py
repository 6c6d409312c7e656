"""Which rows a model is fitted on, and which it is evaluated on: the training split, or folds of the audited rows."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS
from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

SHARED_BY = (20, 5, 2)
"""Choices that more rows share, such as yes and no, say nothing of a single row."""
LARGEST = 0.5
"""Largest group of connected rows, as a fraction of a fold; else choices shared by fewer rows connect them."""
COUNTED = 10
"""Rows that are counted at most, as a multiple of those that models are fitted on: counting is fast."""


def folds_of(split: Split, rows: Rows | None = None) -> NDArray[np.int8]:
    """The fold of each row: rows of one image share one; rows without go by question and choices (`Split.units`).

    With ``rows``, those that present the same choices share one, too, unless they are many: where a benchmark asks
    about two images and each choice is right once, one row's answer gives the other's. scikit-learn's GroupKFold
    balances sizes instead, so that a row's fold would depend on all other rows.

    Args:
        split: whose rows.
        rows: the same, numbered.

    Returns:
        int8 (rows,), in [0, FOLDS). It depends on nothing but the names and texts of connected rows.
    """
    hashes, image = text_hashes(dict.fromkeys(split.units)), split.clusters
    group = np.arange(len(hashes))
    if rows is not None:
        group = _connected(image, _choice_sets(rows), len(hashes))
    first = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, group, hashes)
    found: NDArray[np.int8] = (first[group][image] % np.uint64(FOLDS)).astype(np.int8)
    return found


def _choice_sets(rows: Rows) -> NDArray[np.int64]:
    """(rows,): the number of each row's set of choices."""
    draws = np.random.default_rng(0).integers(2**63, size=len(rows.vocabulary.key_texts), dtype=np.uint64)
    sums = np.where(rows.valid, draws[rows.keys], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    numbers: NDArray[np.int64] = np.unique(sums, return_inverse=True)[1]
    return numbers


def _connected(image: NDArray[np.int64], choices: NDArray[np.int64], n_images: int) -> NDArray[np.int64]:
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


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are evaluated together, and those that a model is fitted on, which share no image with them."""

    counted: NDArray[np.int64]
    """rows whose labels are counted"""
    inner: NDArray[np.int64]
    """(rows counted,): folds that are counted for one another, from 0"""
    chosen: NDArray[np.int64]
    """indices of those of ``counted`` that a model is fitted on"""
    test: NDArray[np.int64]

    @cached_property
    def train(self) -> NDArray[np.int64]:
        """Rows that a model is fitted on."""
        return self.counted[self.chosen]


def parts_of(
    folds: NDArray[np.integer], train_folds: NDArray[np.integer] | None, most: int, rng: np.random.Generator
) -> list[Part]:
    """What is fitted for which rows; rows are numbered from the first audited one, training rows after them.

    Args:
        folds: (audited rows,).
        train_folds: (training rows,); None without a training split.
        most: rows to fit a model on, at most.
        rng: of the samples.
    """
    every = np.arange(len(folds))
    if train_folds is not None:
        sides = [(np.arange(len(train_folds)) + len(folds), train_folds, every)]
    else:
        sides = [(every[folds != fold], folds[folds != fold], every[folds == fold]) for fold in np.unique(folds)]
    parts = []
    for known, inner, test in sides:
        if not len(known):
            continue
        kept = _sample(len(known), COUNTED * most, rng)
        distinct, number = np.unique(inner[kept], return_inverse=True)
        if len(distinct) < 2:
            number = np.arange(len(kept)) % FOLDS
        parts.append(Part(known[kept], number.astype(np.int64), _sample(len(kept), most, rng), test))
    return parts


def _sample(rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
