"""What stands in for decoys that cannot be found (Chao et al. 2018, Sect. 5.1, "Creating decoys").

Random ones of the triplet's published decoys, then random ones of the targets most frequent in the training split.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import FilterTables
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, stand_in
from hf_vqa_mc.decoys.rng import purpose_hash, shuffled

N_FREQUENT = 10
"""Stand-ins come from the 10 most frequent targets (Sect. 5.1)."""
_TRIPLETS_PER_TASK = 4096


def take_fallbacks(
    decoys: DecoySet,
    triplets: Triplets,
    tables: FilterTables,
    published: tuple[NDArray[np.int32], NDArray[np.int64]],
    frequent: NDArray[np.int32],
    text_hashes: NDArray[np.uint64],
    seed: int,
    purpose: str,
    wup: bool,
) -> None:
    """Completes all sets that are short of decoys, as far as stand-ins pass the filters.

    Args:
        decoys: the sets, changed in place.
        triplets: all triplets.
        tables: what the filters look up.
        published: the text numbers of all published decoys one triplet after the other, and where each one's start.
        frequent: the text numbers of the most frequent targets.
        text_hashes: of all texts, uint64 (texts,).
        seed: of the random order.
        purpose: the name of the set, so that two sets of a row draw different stand-ins.
        wup: whether stand-ins must pass the WUP filters, too.
    """
    chance = purpose_hash(seed, f"fallback:{purpose}")
    arguments = (decoys, triplets, tables, *published, frequent, text_hashes, chance, wup)
    over_ranges(_walk, len(decoys.picks), _TRIPLETS_PER_TASK, *arguments)


@njit(cache=True, nogil=True)
def _walk(
    first: int,
    last: int,
    decoys: DecoySet,
    triplets: Triplets,
    tables: FilterTables,
    published: NDArray[np.int32],
    published_starts: NDArray[np.int64],
    frequent: NDArray[np.int32],
    text_hashes: NDArray[np.uint64],
    chance: np.uint64,
    wup: bool,
) -> None:
    size = decoys.picks.shape[2]
    for triplet in range(first, last):
        own = published[published_starts[triplet] : published_starts[triplet + 1]]
        for view in range(decoys.found.shape[1]):
            for texts in (own, frequent):
                if decoys.found[triplet, view] == size:
                    break
                for place in shuffled(chance, triplets.hashes[triplet], text_hashes[texts]):
                    if decoys.found[triplet, view] == size:
                        break
                    stand_in(decoys, triplet, view, texts[place], triplets, wup, tables)
