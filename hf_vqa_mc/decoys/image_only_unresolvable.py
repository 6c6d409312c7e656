"""IoU decoys: targets of other questions about the same image. Baseline: targets drawn at random from all."""

from collections.abc import Callable
from functools import partial

import numpy as np

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import Int32s, Int64s, starts
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets, KernelInputs, new_memory, try_targets, wants_more
from hf_vqa_mc.decoys.rng import below, draw, order_keys, purpose_hash

MOST_DRAWS = 1_000  # draws, with replacement, after which a set stays incomplete; the paper does not state a limit
_DRAWS_PER_CALL = 8
_TRIPLETS_PER_TASK = 4096
_IMAGES_PER_TASK = 512
_LAST = np.uint64(1 << 63)  # bit by which members come last in a random order


def take_iou_decoys(
    decoys: DecoyTable, pool: Int64s, indexed: IndexedTriplets, progress: Callable[[int], None]
) -> None:
    """Fill the sets of a pool's triplets with targets of the same image (Chao et al. 2018, Sect. 4.1).

    A triplet's order of donors does not depend on other images. With ``preset="plausible"``, those whose target has
    the same type come first.
    """
    images = indexed.triplets.images[pool]
    by_image, image_starts = pool[np.argsort(images, kind="stable")], starts(np.bincount(images))
    types = indexed.plausible.types if indexed.plausible else np.zeros(indexed.size, np.int32)
    seed_hash = purpose_hash(indexed.settings.seed, "iou")
    given = KernelInputs(decoys, indexed.triplets, indexed.tables, seed_hash)
    over_ranges(_take_iou, len(image_starts) - 1, _IMAGES_PER_TASK, given, by_image, image_starts, types)


@njit(cache=True, nogil=True)
def _take_iou(
    first: int, last: int, given: KernelInputs, by_image: Int64s, image_starts: Int64s, types: Int32s
) -> None:
    decoys, triplets, tables, seed_hash = given
    memory = new_memory(decoys, tables)
    for image in range(first, last):
        members = by_image[image_starts[image] : image_starts[image + 1]]
        hashes = triplets.hashes[members]
        for triplet in members:
            keys = order_keys(seed_hash, triplets.hashes[triplet], hashes) >> np.uint64(1)
            keys = np.where(types[members] == types[triplet], keys, keys | _LAST)
            others = members[np.argsort(keys, kind="mergesort")]
            try_targets(decoys, triplet, others, triplets, memory, 0, tables, len(members))


def _take_random(
    decoys: DecoyTable, pool: Int64s, indexed: IndexedTriplets, progress: Callable[[int], None], by_frequency: bool
) -> None:
    """Fill the sets of a pool's triplets with targets drawn at random (Chao et al. 2018, Supplement G).

    (A) drawn uniformly from the distinct correct answers of the pool, (B) weighted by their frequency.
    """
    triplets, candidates = indexed.triplets, indexed.candidates
    targets = triplets.targets[pool]
    rank = np.empty(len(candidates.texts), np.int64)
    rank[sorted(range(len(rank)), key=candidates.texts.__getitem__)] = np.arange(len(rank))
    donors = pool[np.argsort(rank[targets], kind="stable")]
    if not by_frequency:
        unique = set(candidates.most_frequent(targets).tolist())
        first = {int(triplets.targets[triplet]): triplet for triplet in donors[::-1].tolist()}
        donors = np.array([triplet for text, triplet in reversed(first.items()) if text in unique], np.int64)
    seed_hash = purpose_hash(indexed.settings.seed, "random_frequency" if by_frequency else "random_uniform")
    given = KernelInputs(decoys, triplets, indexed.tables, seed_hash)
    over_ranges(_take_drawn, len(pool), _TRIPLETS_PER_TASK, given, pool, donors)


take_uniform_decoys = partial(_take_random, by_frequency=False)
take_frequency_decoys = partial(_take_random, by_frequency=True)


@njit(cache=True, nogil=True)
def _take_drawn(first: int, last: int, given: KernelInputs, pool: Int64s, donors: Int64s) -> None:
    decoys, triplets, tables, seed_hash = given
    memory, drawn = new_memory(decoys, tables), np.empty(_DRAWS_PER_CALL, np.int64)
    for triplet in pool[first:last]:
        n_taken = number = 0
        while number < MOST_DRAWS and wants_more(decoys, triplet, MOST_DRAWS):
            for i in range(len(drawn)):
                drawn[i] = donors[below(draw(seed_hash, triplets.hashes[triplet], number), len(donors))]
                number += 1
            n_taken = try_targets(decoys, triplet, drawn, triplets, memory, n_taken, tables, MOST_DRAWS)
