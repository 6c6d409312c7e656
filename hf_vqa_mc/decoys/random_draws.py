"""Random decoys, to compare with: they are neutral, but plausible for neither the image nor the question.

Chao et al. 2018, Supplement G: (A) drawn uniformly from the unique correct answers, (B) weighted by their frequency.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import Candidates, FilterTables
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, new_walk, offer_targets, wants_more
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash

MOST_DRAWS = 1_000
"""After so many draws a set stays incomplete; the paper is silent. Draws are with replacement."""
_DRAWS_PER_OFFER = 8
_TRIPLETS_PER_TASK = 4096


def take_random_decoys(
    decoys: DecoySet,
    pool: NDArray[np.int64],
    triplets: Triplets,
    candidates: Candidates,
    seed: int,
    by_frequency: bool,
) -> None:
    """Fills the sets of the triplets of a pool with targets drawn at random from the same pool.

    Args:
        decoys: the sets, changed in place.
        pool: the triplets that get decoys and give them, int64.
        triplets: all triplets.
        candidates: all texts.
        seed: of the draws.
        by_frequency: (B), draw each target as often as it is the correct answer; else (A).
    """
    targets = triplets.targets[pool]
    rank = np.empty(len(candidates.texts), np.int64)
    rank[sorted(range(len(rank)), key=candidates.texts.__getitem__)] = np.arange(len(rank))
    urn = pool[np.argsort(rank[targets], kind="stable")]
    if not by_frequency:
        unique = set(candidates.most_frequent(targets).tolist())
        first = {int(triplets.targets[triplet]): triplet for triplet in urn[::-1].tolist()}
        urn = np.array([triplet for text, triplet in reversed(first.items()) if text in unique], np.int64)
    chance = purpose_hash(seed, "random_frequency" if by_frequency else "random_uniform")
    over_ranges(_walk, len(pool), _TRIPLETS_PER_TASK, decoys, pool, urn, triplets, candidates.tables, chance)


@njit(cache=True, nogil=True)
def _walk(
    first: int,
    last: int,
    decoys: DecoySet,
    pool: NDArray[np.int64],
    urn: NDArray[np.int64],
    triplets: Triplets,
    tables: FilterTables,
    chance: np.uint64,
) -> None:
    walk = new_walk(decoys, tables)
    drawn = np.empty(_DRAWS_PER_OFFER, np.int64)
    for triplet in pool[first:last]:
        n_taken = 0
        number = 0
        while number < MOST_DRAWS and wants_more(decoys, triplet, MOST_DRAWS):
            for i in range(len(drawn)):
                drawn[i] = urn[below(draw(chance, triplets.hashes[triplet], number), len(urn))]
                number += 1
            n_taken = offer_targets(decoys, triplet, drawn, triplets, walk, n_taken, tables, MOST_DRAWS)
