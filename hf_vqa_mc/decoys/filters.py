"""The filters that reject ambiguous decoys, each with the name under which statistics count it.

Chao et al. 2018, Sect. 4.1, "Resolving ambiguous decoys" and "Other details". All are numba functions on text keys
(see `candidates`): a build calls them hundreds of millions of times.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import FilterTables
from hf_vqa_mc.text.similarity import phrase_score
from hf_vqa_mc.text.wu_palmer import reading_inline


class Reason(IntEnum):
    """Why a candidate is rejected."""

    SAME_TEXT = 0
    """it equals the target, or a decoy already taken of the same set"""
    CONTAINS = 1
    """it contains the target or is contained in it, spaces ignored ("pony tail", "ponytail")"""
    WUP_TARGET = 2
    """its Wu-Palmer similarity to the target reaches the threshold"""
    WUP_TAKEN = 3
    """its Wu-Palmer similarity to a decoy already taken of the same set reaches the threshold"""
    REPEATS_OTHER_SET = 4
    """an earlier set of the same row holds it (combined variants with ``combine="distinct"``)"""


REASONS = tuple(reason.name.lower() for reason in Reason)
ACCEPTED = -1

_SAME_TEXT, _CONTAINS, _WUP_TARGET, _WUP_TAKEN = (int(reason) for reason in list(Reason)[:4])


@reading_inline
def contains(key: int, other: int, tables: FilterTables) -> bool:
    """Whether the squeezed text of one key contains that of the other."""
    start, end = tables.letter_starts[key], tables.letter_starts[key + 1]
    other_start, other_end = tables.letter_starts[other], tables.letter_starts[other + 1]
    if end - start > other_end - other_start:
        start, end, other_start, other_end = other_start, other_end, start, end
    length = end - start
    for offset in range(other_start, other_end - length + 1):
        same = 0
        while same < length and tables.letters[start + same] == tables.letters[offset + same]:
            same += 1
        if same == length:
            return True
    return False


@reading_inline
def too_similar(key: int, other: int, tables: FilterTables) -> bool:
    """Whether the WUP score of two texts reaches the threshold (exceeds it for ``wup_boundary="accept"``)."""
    score = phrase_score(
        tables.tokens,
        tables.token_starts[key],
        tables.token_starts[key + 1],
        tables.token_starts[other],
        tables.token_starts[other + 1],
        tables.scores,
    )
    return score > tables.threshold or (tables.reject_at_threshold and score == tables.threshold)


@reading_inline
def reason_against(
    key: int, target: int, taken: NDArray[np.int32], n_taken: int, wup: bool, tables: FilterTables
) -> int:
    """Why a candidate, by its key, cannot join a set, or ACCEPTED.

    ``taken[:n_taken]`` are the keys of the decoys already taken of the same set; ``wup`` switches on the WUP filters.
    """
    if key == target:
        return _SAME_TEXT
    for i in range(n_taken):
        if key == taken[i]:
            return _SAME_TEXT
    if contains(key, target, tables):
        return _CONTAINS
    if wup:
        if too_similar(key, target, tables):
            return _WUP_TARGET
        for i in range(n_taken):
            if too_similar(key, taken[i], tables):
                return _WUP_TAKEN
    return ACCEPTED
