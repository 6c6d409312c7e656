"""Fallbacks for decoys that cannot be found (Chao et al. 2018, Sect. 5.1, "Creating decoys").

Random ones of the triplet's published decoys, then random ones of the targets most frequent in the training split.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import FilterTables
from hf_vqa_mc.decoys.decoy_set import DecoySet, Triplets, add_fallback
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.rng import purpose_hash, shuffled

_TRIPLETS_PER_TASK = 4096


def take_fallbacks(decoys: DecoySet, material: Material, name: str) -> None:
    """Complete incomplete sets in place, as far as fallbacks pass the filters; sets of other names draw other ones."""
    settings = material.settings
    none = (np.empty(0, np.int32), np.zeros(material.size + 1, np.int64))
    published = material.lists.get("orig_decoys", none) if settings.fallback_orig else none
    seed_hash = purpose_hash(settings.seed, f"fallback:{name}")
    texts = (*published, material.frequent, material.text_hashes)
    arguments = (decoys, material.triplets, material.candidates.tables, *texts, seed_hash, settings.filter_fallback)
    over_ranges(_take, material.size, _TRIPLETS_PER_TASK, *arguments)


@njit(cache=True, nogil=True)
def _take(
    first: int,
    last: int,
    decoys: DecoySet,
    triplets: Triplets,
    tables: FilterTables,
    published: NDArray[np.int32],
    published_starts: NDArray[np.int64],
    frequent: NDArray[np.int32],
    text_hashes: NDArray[np.uint64],
    seed_hash: np.uint64,
    wup: bool,
) -> None:
    size = decoys.picks.shape[2]
    for triplet in range(first, last):
        own = published[published_starts[triplet] : published_starts[triplet + 1]]
        for view in range(decoys.found.shape[1]):
            for texts in (own, frequent):
                if decoys.found[triplet, view] == size:
                    break
                for i in shuffled(seed_hash, triplets.hashes[triplet], text_hashes[texts]):
                    if decoys.found[triplet, view] == size:
                        break
                    add_fallback(decoys, triplet, view, texts[i], triplets, wup, tables)
