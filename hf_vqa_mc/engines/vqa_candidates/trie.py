"""Bags of words one after another, each by the words that it adds to a beginning of the one before."""

from typing import NamedTuple

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.engines.vqa_candidates.bags import Bags

LANES = 256
"""Queries that are answered in one walk over the trie."""
SEGMENT = 4096
"""Bags after which the trie starts anew, so that a walk can begin where its queries are."""


class Trie(NamedTuple):
    """The bags in their order."""

    shared: NDArray[np.int32]  # (bags,): how many words are shared with the bag before
    words: NDArray[np.int32]  # the words that are not
    word_starts: NDArray[np.int64]  # (bags + 1,)
    squares: NDArray[np.int64]  # (bags,)
    length_class: NDArray[np.int32]  # (bags,): the place of its square in `class_squares`
    class_squares: NDArray[np.int64]
    depth: int
    n_words: int


def make_trie(bags: Bags) -> Trie:
    """The trie of some bags, which stand sorted."""
    sizes = np.diff(bags.word_starts)
    shared = _shared_beginnings(bags.words, bags.word_starts)
    is_tail = np.arange(len(bags.words)) - np.repeat(bags.word_starts[:-1], sizes) >= np.repeat(shared, sizes)
    class_squares, length_class = np.unique(bags.squares, return_inverse=True)
    return Trie(
        shared=shared,
        words=bags.words[is_tail],
        word_starts=starts(sizes - shared),
        squares=bags.squares,
        length_class=length_class.astype(np.int32),
        class_squares=class_squares,
        depth=int(sizes.max(initial=0)),
        n_words=bags.n_words,
    )


@njit(cache=True)
def _shared_beginnings(words: NDArray[np.int32], word_starts: NDArray[np.int64]) -> NDArray[np.int32]:
    shared = np.zeros(len(word_starts) - 1, np.int32)
    for bag in range(1, len(shared)):
        if bag % SEGMENT == 0:
            continue
        a, b = word_starts[bag - 1], word_starts[bag]
        while a < word_starts[bag] and b < word_starts[bag + 1] and words[a] == words[b]:
            shared[bag] += 1
            a += 1
            b += 1
    return shared


@njit(cache=True)
def add_words(
    bag: int,
    trie: Trie,
    word_counts: NDArray[np.integer],
    active: NDArray[np.bool_],
    sums: NDArray[np.integer],
    row_of: NDArray[np.int64],
) -> int:
    """Adds what a bag does not share with the one before; the row of its sums, 0 if it shares no word with a query.

    A word of no query leaves a sum as it is, so its row stands for the one below as well. For the loop over lanes to
    become vector instructions, indexes are unsigned.
    """
    lanes = uintp(LANES)
    level = trie.shared[bag]
    for i in range(trie.word_starts[bag], trie.word_starts[bag + 1]):
        word = trie.words[i]
        level += 1
        if not active[word]:
            row_of[level] = row_of[level - 1]
            continue
        above, own, counts = uintp(row_of[level - 1]) * lanes, uintp(level) * lanes, uintp(word) * lanes
        for lane in range(LANES):
            sums[own + uintp(lane)] = sums[above + uintp(lane)] + word_counts[counts + uintp(lane)]
        row_of[level] = level
    return int(row_of[level])
