"""IoU decoys: the targets of other questions on the same image (Chao et al. 2018, Sect. 4.1).

Who sees the image but not the question cannot tell which of them is meant.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import FilterTables, starts
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, new_walk, offer_targets, wants_more
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash

_IMAGES_PER_TASK = 512
_SORTED_FIRST = 256
_LAST_KEY = np.uint64(0xFFFFFFFFFFFFFFFF)


def take_image_decoys(
    decoys: DecoySet, pool: NDArray[np.int64], triplets: Triplets, tables: FilterTables, seed: int
) -> None:
    """Fills the sets of the triplets of a pool with targets of the same image's other triplets, in random order.

    Args:
        decoys: the sets, changed in place.
        pool: the triplets that get decoys and give them, int64.
        triplets: all triplets.
        tables: what the filters look up.
        seed: of the random order, which is each triplet's own and does not change when other images come in.
    """
    images = triplets.images[pool]
    by_image = pool[np.argsort(images, kind="stable")]
    image_starts = starts(np.bincount(images))
    chance = purpose_hash(seed, "iou")
    n_images = len(image_starts) - 1
    over_ranges(_walk, n_images, _IMAGES_PER_TASK, decoys, by_image, image_starts, triplets, tables, chance)


@njit(cache=True, nogil=True)
def _walk(
    first: int,
    last: int,
    decoys: DecoySet,
    by_image: NDArray[np.int64],
    image_starts: NDArray[np.int64],
    triplets: Triplets,
    tables: FilterTables,
    chance: np.uint64,
) -> None:
    walk = new_walk(decoys, tables)
    for image in range(first, last):
        members = by_image[image_starts[image] : image_starts[image + 1]]
        hashes = triplets.hashes[members]
        for triplet in members:
            keys = order_keys(chance, triplets.hashes[triplet], hashes)
            n_taken, low, high = 0, np.uint64(0), _first_keys(len(members))
            while wants_more(decoys, triplet, len(members)):
                others = _between(low, high, keys, members)
                n_taken = offer_targets(decoys, triplet, others, triplets, walk, n_taken, tables, len(members))
                if high == _LAST_KEY:
                    break
                low, high = high, _LAST_KEY


@njit(cache=True)
def _first_keys(size: int) -> np.uint64:
    """Below which some _SORTED_FIRST of so many random keys lie: few images have more, and sorting all takes long."""
    return _LAST_KEY if size <= _SORTED_FIRST else _LAST_KEY // np.uint64(size) * np.uint64(_SORTED_FIRST)


@njit(cache=True)
def _between(
    low: np.uint64, high: np.uint64, keys: NDArray[np.uint64], members: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The members whose keys lie in [low, high), or up to the last key, in the order of their keys."""
    there = np.flatnonzero((keys >= low) & ((keys < high) | (high == _LAST_KEY)))
    return members[there[np.argsort(keys[there], kind="mergesort")]]
