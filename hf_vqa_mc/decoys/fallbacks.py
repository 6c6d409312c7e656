"""Fallbacks for decoys that were not found: published decoys, frequent targets, or targets that fit the question."""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import ACCEPTED, MISSING, Int32s, Int64s, holds
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets, KernelInputs, Triplets, is_excluded, reason_for
from hf_vqa_mc.decoys.plausible_answers import DRAWS, PlausibleAnswers
from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, shuffled
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

_TRIPLETS_PER_TASK = 4096


def take_fallbacks(decoys: DecoyTable, indexed: IndexedTriplets, name: str) -> None:
    """Complete incomplete sets in place, as far as fallbacks pass the filters (Chao et al. 2018, Sect. 5.1).

    Fallbacks are random ones of the triplet's published decoys, then of the targets most frequent in the training
    split; with ``preset="plausible"``, targets that fit the question. Sets of other names draw other ones.
    """
    settings, plausible = indexed.settings, indexed.plausible
    seed_hash = purpose_hash(settings.seed, f"{'' if plausible is None else 'fitting '}fallback:{name}")
    given = KernelInputs(decoys, indexed.triplets, indexed.tables, seed_hash)
    if plausible is not None:
        over_ranges(_take_fitting, indexed.size, _TRIPLETS_PER_TASK, given, plausible, settings.filter_fallback)
        return
    none = (np.empty(0, np.int32), np.zeros(indexed.size + 1, np.int64))
    published = indexed.lists.get("orig_decoys", none) if settings.fallback_orig else none
    texts = (*published, indexed.frequent, indexed.text_hashes)
    over_ranges(_take_fallbacks, indexed.size, _TRIPLETS_PER_TASK, given, texts, settings.filter_fallback)


@reading_inline
def _add_fallback(given: KernelInputs, triplet: int, view: int, text: int, taken: Int32s, wup: bool) -> None:
    """Add a text to a view as a fallback if it passes the filters; ``taken`` (K,) is overwritten."""
    decoys, triplets = given.decoys, given.triplets
    key, found = triplets.keys[text], decoys.found[triplet, view]
    for i in range(found):
        taken[i] = triplets.keys[decoys.picks[triplet, view, i]]
    if reason_for(triplet, key, taken, found, wup, triplets, given.tables) != ACCEPTED:
        return
    if not is_excluded(decoys, triplet, view, key, given.tables):
        decoys.picks[triplet, view, found] = text
        decoys.fallback[triplet, view, found] = True
        decoys.found[triplet, view] = found + 1


@njit(cache=True, nogil=True)
def _take_fallbacks(
    first: int, last: int, given: KernelInputs, texts: tuple[Int32s, Int64s, Int32s, NDArray[np.uint64]], wup: bool
) -> None:
    published, published_starts, frequent, text_hashes = texts
    decoys, taken = given.decoys, np.empty(given.decoys.picks.shape[2], np.int32)
    for triplet in range(first, last):
        own = published[published_starts[triplet] : published_starts[triplet + 1]]
        for view in range(decoys.found.shape[1]):
            for some in (own, frequent):
                if decoys.found[triplet, view] == decoys.sizes[triplet]:
                    break
                for i in shuffled(given.seed_hash, given.triplets.hashes[triplet], text_hashes[some]):
                    if decoys.found[triplet, view] == decoys.sizes[triplet]:
                        break
                    _add_fallback(given, triplet, view, some[i], taken, wup)


@njit(cache=True, nogil=True)
def _take_fitting(first: int, last: int, given: KernelInputs, plausible: PlausibleAnswers, wup: bool) -> None:
    """Add the opposite of yes and no, and targets of random rows whose questions begin with the same words."""
    decoys, triplets = given.decoys, given.triplets
    taken = np.empty(decoys.picks.shape[2], np.int32)
    for triplet in range(first, last):
        for view in range(decoys.found.shape[1]):
            _add_opposite(decoys, triplet, view, plausible.opposites, triplets)
            number = 0
            for level in range(plausible.ranges.shape[1]):
                start, end = plausible.ranges[triplet, level, 0], plausible.ranges[triplet, level, 1]
                for _ in range(DRAWS if end > start else 0):
                    if decoys.found[triplet, view] == decoys.sizes[triplet]:
                        break
                    drawn = below(draw(given.seed_hash, triplets.hashes[triplet], number), end - start)
                    _add_fallback(given, triplet, view, triplets.targets[plausible.rows[start + drawn]], taken, wup)
                    number += 1


@reading
def _add_opposite(decoys: DecoyTable, triplet: int, view: int, opposites: Int32s, triplets: Triplets) -> None:
    """Offer the opposite of a target "yes" or "no", if need be instead of the last decoy.

    Also if some annotators gave it, as yes/no questions without it make no sense; but not if verdicts reject it.
    """
    opposite = opposites[triplets.keys[triplets.targets[triplet]]]
    if opposite == MISSING or decoys.sizes[triplet] == 0:
        return
    key, found = triplets.keys[opposite], decoys.found[triplet, view]
    if holds(triplets.rejected, triplet, key):
        return
    for i in range(found):
        if triplets.keys[decoys.picks[triplet, view, i]] == key:
            return
    for i in range(decoys.excluded.shape[2]):
        if decoys.excluded[triplet, view, i] == key:
            return
    if found == decoys.sizes[triplet]:
        found -= 1
    decoys.picks[triplet, view, found] = opposite
    decoys.donors[triplet, view, found] = MISSING
    decoys.fallback[triplet, view, found] = True
    decoys.found[triplet, view] = found + 1
