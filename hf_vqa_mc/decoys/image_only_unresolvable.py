"""IoU decoys: the targets of other questions on the same image (Chao et al. 2018, Sect. 4.1).

Who sees the image but not the question cannot tell which of them is meant.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import FilterTables, starts
from hf_vqa_mc.decoys.chance import purpose_hash, shuffled
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, new_walk, offer_targets
from hf_vqa_mc.decoys.workers import over_ranges

_IMAGES_AT_A_GO = 512


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
    over_ranges(_walk, n_images, _IMAGES_AT_A_GO, decoys, by_image, image_starts, triplets, tables, chance)


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
            others = members[shuffled(chance, triplets.hashes[triplet], hashes)]
            offer_targets(decoys, triplet, others, triplets, walk, 0, tables, len(others))
