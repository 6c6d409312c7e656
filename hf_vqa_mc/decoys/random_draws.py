"""Taking random decoys, a baseline (Chao et al. 2018, Supplement G).

(A) drawn uniformly from the distinct correct answers, (B) weighted by their frequency.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import FilterTables
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, new_memory, offer_targets, wants_more
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash

MOST_DRAWS = 1_000
"""Draws, with replacement, after which a set stays incomplete; the paper does not state a limit."""
_DRAWS_PER_OFFER = 8
_TRIPLETS_PER_TASK = 4096


def _take_random(
    decoys: DecoySet, pool: NDArray[np.int64], material: Material, progress: Callable[[int], None], by_frequency: bool
) -> None:
    """Fill the sets of a pool's triplets with targets drawn at random from the pool; (B) by frequency, else (A)."""
    triplets, candidates = material.triplets, material.candidates
    targets = triplets.targets[pool]
    rank = np.empty(len(candidates.texts), np.int64)
    rank[sorted(range(len(rank)), key=candidates.texts.__getitem__)] = np.arange(len(rank))
    urn = pool[np.argsort(rank[targets], kind="stable")]
    if not by_frequency:
        unique = set(candidates.most_frequent(targets).tolist())
        first = {int(triplets.targets[triplet]): triplet for triplet in urn[::-1].tolist()}
        urn = np.array([triplet for text, triplet in reversed(first.items()) if text in unique], np.int64)
    seed_hash = purpose_hash(material.settings.seed, "random_frequency" if by_frequency else "random_uniform")
    over_ranges(_take, len(pool), _TRIPLETS_PER_TASK, decoys, pool, urn, triplets, candidates.tables, seed_hash)


take_uniform_decoys = partial(_take_random, by_frequency=False)
take_frequency_decoys = partial(_take_random, by_frequency=True)


@njit(cache=True, nogil=True)
def _take(
    first: int,
    last: int,
    decoys: DecoySet,
    pool: NDArray[np.int64],
    urn: NDArray[np.int64],
    triplets: Triplets,
    tables: FilterTables,
    seed_hash: np.uint64,
) -> None:
    memory = new_memory(decoys, tables)
    drawn = np.empty(_DRAWS_PER_OFFER, np.int64)
    for triplet in pool[first:last]:
        n_taken = 0
        number = 0
        while number < MOST_DRAWS and wants_more(decoys, triplet, MOST_DRAWS):
            for i in range(len(drawn)):
                drawn[i] = urn[below(draw(seed_hash, triplets.hashes[triplet], number), len(urn))]
                number += 1
            n_taken = offer_targets(decoys, triplet, drawn, triplets, memory, n_taken, tables, MOST_DRAWS)
