"""Taking IoU decoys: targets of the same image's other questions in random order (Chao et al. 2018, Sect. 4.1)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import FilterTables, starts
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, new_memory, offer_targets, wants_more
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash

_IMAGES_PER_TASK = 512
_SORTED_FIRST = 256
_LAST_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


def take_iou_decoys(
    decoys: DecoySet, pool: NDArray[np.int64], material: Material, progress: Callable[[int], None]
) -> None:
    """Fill the sets of a pool's triplets; a triplet's order of donors does not depend on other images."""
    triplets, tables = material.triplets, material.candidates.tables
    images = triplets.images[pool]
    by_image = pool[np.argsort(images, kind="stable")]
    image_starts = starts(np.bincount(images))
    seed_hash = purpose_hash(material.settings.seed, "iou")
    n_images = len(image_starts) - 1
    over_ranges(_take, n_images, _IMAGES_PER_TASK, decoys, by_image, image_starts, triplets, tables, seed_hash)


@njit(cache=True, nogil=True)
def _take(
    first: int,
    last: int,
    decoys: DecoySet,
    by_image: NDArray[np.int64],
    image_starts: NDArray[np.int64],
    triplets: Triplets,
    tables: FilterTables,
    seed_hash: np.uint64,
) -> None:
    memory = new_memory(decoys, tables)
    for image in range(first, last):
        members = by_image[image_starts[image] : image_starts[image + 1]]
        hashes = triplets.hashes[members]
        for triplet in members:
            keys = order_keys(seed_hash, triplets.hashes[triplet], hashes)
            n_taken, low, high = 0, np.uint64(0), _first_keys(len(members))
            while wants_more(decoys, triplet, len(members)):
                others = _between(low, high, keys, members)
                n_taken = offer_targets(decoys, triplet, others, triplets, memory, n_taken, tables, len(members))
                if high == _LAST_KEY:
                    break
                low, high = high, _LAST_KEY


@njit(cache=True)
def _first_keys(size: int) -> np.uint64:
    """Upper bound of about _SORTED_FIRST of ``size`` random keys; sorting all keys of a large image takes long."""
    return _LAST_KEY if size <= _SORTED_FIRST else _LAST_KEY // np.uint64(size) * np.uint64(_SORTED_FIRST)


@njit(cache=True)
def _between(
    low: np.uint64, high: np.uint64, keys: NDArray[np.uint64], members: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The members with keys in [low, high), the last key included, sorted by key."""
    between = np.flatnonzero((keys >= low) & ((keys < high) | (high == _LAST_KEY)))
    return members[between[np.argsort(keys[between], kind="mergesort")]]
