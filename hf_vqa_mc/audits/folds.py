"""Training and test rows of the probes: the training split and the audited split, or folds of the audited rows."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.rng import text_hashes

SHARED_BY = (20, 5, 2)  # rows with the same choices share a fold if at most so many have them; tried in order
LARGEST = 0.5  # maximum fraction of a fold that is connected; above it the next of `SHARED_BY` is tried
SET_ID, LARGEST_SET = "set_id", 49  # column of closed answer sets, and rows of the largest one: a Latin square of 7
COUNTED = 10  # maximum number of rows for counts, as a multiple of those that models are fitted on: counting is fast
EVALUATED = 20_000  # maximum number of rows that models are evaluated on
ENOUGH = 0.8  # no further fold is evaluated after this fraction of EVALUATED


def folds_of(split: Split, rows: Rows | None = None) -> NDArray[np.int8]:
    """The fold of each row, int8 (rows,) in [0, FOLDS); rows of an image share one, else rows of a `Split.units`.

    With ``rows``, rows with the same set of choices also share a fold if they are few (`SHARED_BY`): the answer of one
    row reveals that of another. Rows of a closed answer set (column ``set_id``) share a fold instead of rows of an
    image: a model that was fitted on a part of a set would exclude the answers of that part. The fold is a hash of the
    group, so it does not depend on other rows, unlike the folds of scikit-learn's GroupKFold.
    """
    if (sets := sets_of(split)) is not None:
        units = [one or unit for one, unit in zip(sets, split.units, strict=True)]
        return (text_hashes(units) % np.uint64(FOLDS)).astype(np.int8)
    hashes, image = text_hashes(dict.fromkeys(split.units)), split.clusters
    group = np.arange(len(hashes))
    if rows is not None:
        group = _connected(image, np.unique(rows.choice_sets, return_inverse=True)[1], len(hashes))
    first = np.full(int(group.max()) + 1, np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, group, hashes)
    return (first[group][image] % np.uint64(FOLDS)).astype(np.int8)


def sets_of(split: Split) -> list[str] | None:
    """(rows,): the closed set of each row, "" for rows in none; None without sets, or if one has most of the rows."""
    if SET_ID not in split.original.column_names:
        return None
    sets = ["" if one in (None, "") else f"set {one}" for one in split.original[SET_ID].to_pylist()]
    largest = max(Counter(one for one in sets if one).values(), default=0)
    return sets if 0 < largest <= max(LARGEST * len(sets) / FOLDS, LARGEST_SET) else None


def _connected(image: NDArray[np.int64], choices: NDArray[np.int64], n_images: int) -> NDArray[np.int64]:
    """The group of each image; images whose rows share choices are connected."""
    shared = np.bincount(choices)[choices]
    most = max(LARGEST * len(image) / FOLDS, float(np.bincount(image).max()), SHARED_BY[-1])
    for limit in SHARED_BY:
        some = np.flatnonzero((shared > 1) & (shared <= limit))
        size = n_images + len(np.bincount(choices))
        links = scipy.sparse.coo_array(
            (np.ones(len(some), np.int8), (image[some], n_images + choices[some])), shape=(size, size)
        )
        group: NDArray[np.int64] = scipy.sparse.csgraph.connected_components(links, directed=False)[1][:n_images]
        if np.bincount(group[image]).max() <= most:
            return group
    return np.arange(n_images)


class Part(NamedTuple):
    """Training and test rows of one fit; they share no image, or no closed answer set."""

    counted: NDArray[np.int64]  # rows whose labels are counted
    inner: NDArray[np.int64]  # (counted rows,): folds for cross-fitted counts, from 0
    train: NDArray[np.int64]  # those of the counted rows that a model is fitted on
    test: NDArray[np.int64]  # rows that the model is evaluated on


def parts_of(
    folds: NDArray[np.integer],
    train_folds: NDArray[np.integer] | None,
    most: int,
    rng: np.random.Generator,
    evaluated: int | None = EVALUATED,
) -> list[Part]:
    """The fits of a probe: one with a training split, else one per fold, as many as are needed for the sample.

    A model is fitted on at most ``most`` rows, and evaluated on a random ``evaluated`` audited rows, None for all.
    Indices of training rows follow those of the audited rows.
    """
    every, parts, wanted = np.arange(len(folds)), list[Part](), len(folds) if evaluated is None else evaluated
    sides = [(every[folds != fold], folds[folds != fold], every[folds == fold]) for fold in np.unique(folds)]
    if train_folds is not None:
        sides = [(np.arange(len(train_folds)) + len(folds), train_folds, every)]
    for known, inner, test in sides:
        left = wanted - sum(len(part.test) for part in parts)
        if not len(known) or (len(folds) > wanted and left <= (1 - ENOUGH) * wanted):
            continue
        kept = _sample(len(known), COUNTED * most, rng)
        distinct, number = np.unique(inner[kept], return_inverse=True)
        if len(distinct) < 2:
            number = np.arange(len(kept)) % FOLDS
        tested, counted = test[_sample(len(test), left, rng)], known[kept]
        parts.append(Part(counted, number.astype(np.int64), counted[_sample(len(kept), most, rng)], tested))
    return parts


def _sample(rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(rng.choice(rows, most, replace=False))
