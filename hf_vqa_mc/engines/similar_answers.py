"""Exact answers of the most similar questions by bag of words: cosine of word counts in integer arithmetic.

Bags are sorted in a trie, so a bag adds only its last words to the sum of the previous one; LANES queries are answered
in one pass. A query keeps its best answers so far; the worst of them determines how many words a bag of each length
must share with it, so most bags cost one comparison.
"""

from typing import NamedTuple

import numpy as np
from numpy import uintp
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.decoys.word_bags import LANES, SEGMENT, WordBags
from hf_vqa_mc.io.progress import Progress

_BATCHES = 16  # passes between two progress reports
NOBODY = -1


class _Trie(NamedTuple):
    """A `BagTrie` with the lengths of its bags."""

    shared: NDArray[np.int32]
    words: NDArray[np.int32]
    word_starts: NDArray[np.int64]
    depth: int
    squares: NDArray[np.int64]  # (bags,): of the length
    length_class: NDArray[np.int32]  # (bags,): index of its square in `class_squares`
    class_squares: NDArray[np.int64]
    n_words: int


class BagAnswers(NamedTuple):
    """The distinct answers of each bag's questions, in the order of their first questions."""

    starts: NDArray[np.int64]  # (bags + 1,)
    keys: NDArray[np.int32]
    donors: NDArray[np.int32]  # the first question with this answer


class _Best(NamedTuple):
    """The best answers of some queries, best first; similarity is shared / sqrt(square), up to the query's length."""

    keys: NDArray[np.int32]  # (queries, most)
    donors: NDArray[np.int32]  # NOBODY at the end
    shared: NDArray[np.int64]
    squares: NDArray[np.int64]


def answers_of_bags(bags: WordBags, keys: NDArray[np.int32]) -> BagAnswers:
    """The distinct answers of each bag; ``keys``: int32 (questions,)."""
    bag = np.repeat(np.arange(bags.size), np.diff(bags.member_starts))
    given = keys[bags.members]  # in each bag in the order of the questions
    pairs = bag * (int(given.max(initial=0)) + 1) + given
    firsts = np.sort(np.unique(pairs, return_index=True)[1])
    counts = np.bincount(bag[firsts], minlength=bags.size)
    return BagAnswers(starts(counts), given[firsts], bags.members[firsts].astype(np.int32))


def nearest_answers(
    bags: WordBags, answers: BagAnswers, queries: NDArray[np.int32], most: int, progress: Progress
) -> NDArray[np.int32]:
    """The questions with the first distinct answers of the other bags, most similar first, int32 (queries, most).

    Ties are in the order of the questions; NOBODY where no other bag shares a word with the query (bags, ascending).
    """
    squares = bags.squares
    width = np.int16 if squares.max(initial=0) < np.iinfo(np.int16).max else np.int64
    class_squares, length_class = np.unique(squares, return_inverse=True)
    trie = _Trie(*bags.trie(), squares, length_class.astype(np.int32), class_squares, len(bags.vocabulary))
    found = np.full((len(queries), most), NOBODY, np.int32)
    progress("plausible answers", 0, len(queries))
    for start in range(0, len(queries), LANES * _BATCHES):
        some = queries[start : start + LANES * _BATCHES]
        part = found[start : start + len(some)]
        arguments = (some, bags.words, bags.word_starts, trie, answers, part, np.zeros(1, width))
        over_ranges(_search, -(-len(some) // LANES), _BATCHES // 4, *arguments)
        progress("plausible answers", start + len(some), len(queries))
    return found


@njit(cache=True)
def _better(shared: int, square: int, donor: int, than_shared: int, than_square: int, than_donor: int) -> bool:
    """Whether one answer comes before another: more similar, or as similar and of an earlier question."""
    mine, other = shared * shared * than_square, than_shared * than_shared * square
    return mine > other or (mine == other and donor < than_donor)


@njit(cache=True)
def _keep(best: _Best, lane: int, key: int, donor: int, shared: int, square: int) -> bool:
    """Insert an answer into the best of a lane; False if it is worse than all of them."""
    keys, donors, shares, squares = best.keys[lane], best.donors[lane], best.shared[lane], best.squares[lane]
    last = len(keys) - 1
    if donors[last] != NOBODY and not _better(shared, square, donor, shares[last], squares[last], donors[last]):
        return False
    at = 0
    while at < last and donors[at] != NOBODY and keys[at] != key:
        at += 1
    if donors[at] != NOBODY and keys[at] == key:
        if not _better(shared, square, donor, shares[at], squares[at], donors[at]):
            return True
    while at > 0 and _better(shared, square, donor, shares[at - 1], squares[at - 1], donors[at - 1]):
        keys[at], donors[at] = keys[at - 1], donors[at - 1]
        shares[at], squares[at] = shares[at - 1], squares[at - 1]
        at -= 1
    keys[at], donors[at], shares[at], squares[at] = key, donor, shared, square
    return True


@njit(cache=True)
def _consider(
    bag: int,
    sums: NDArray[np.integer],
    needed: NDArray[np.integer],
    queries: NDArray[np.int32],
    trie: _Trie,
    answers: BagAnswers,
    best: _Best,
) -> None:
    """Insert a bag's answers into the best of those queries with which it shares enough words; then require more."""
    needs = trie.length_class[bag] * LANES
    for lane in range(len(queries)):
        if sums[lane] < needed[needs + lane] or bag == queries[lane]:
            continue
        changed = False
        for i in range(answers.starts[bag], answers.starts[bag + 1]):
            if not _keep(best, lane, answers.keys[i], answers.donors[i], int(sums[lane]), trie.squares[bag]):
                break
            changed = True
        if not changed or best.donors[lane, -1] == NOBODY:
            continue
        worst, square = best.shared[lane, -1], best.squares[lane, -1]
        for number, class_square in enumerate(trie.class_squares):
            needed[number * LANES + lane] = np.int64(np.ceil(worst * np.sqrt(class_square / square) - 1e-9))


@njit(cache=True)
def _scan(
    start: int,
    end: int,
    trie: _Trie,
    word_counts: NDArray[np.integer],
    active: NDArray[np.bool_],
    sums: NDArray[np.integer],
    row_of: NDArray[np.int64],
    needed: NDArray[np.integer],
    queries: NDArray[np.int32],
    answers: BagAnswers,
    best: _Best,
) -> None:
    """Scan the trie from one bag to another.

    ``sums`` has a row of LANES for each word of a bag: the number of words that its beginning shares with each query;
    ``row_of`` gives the row of each word: a word of no query (not ``active``) leaves the sums unchanged. ``needed``
    has a row for each length of bags: the number that a query requires.
    """
    lanes = uintp(LANES)  # unsigned, so that the loops over lanes are vectorised
    for bag in range(start, end):
        level = trie.shared[bag]
        for i in range(trie.word_starts[bag], trie.word_starts[bag + 1]):
            word = trie.words[i]
            level += 1
            row_of[level] = row_of[level - 1]
            if active[word]:
                above, own, counts = uintp(row_of[level - 1]) * lanes, uintp(level) * lanes, uintp(word) * lanes
                for lane in range(LANES):
                    sums[own + uintp(lane)] = sums[above + uintp(lane)] + word_counts[counts + uintp(lane)]
                row_of[level] = level
        level = row_of[level]
        if not level:
            continue
        row, needs = uintp(level) * lanes, uintp(trie.length_class[bag]) * lanes
        reached = False
        for lane in range(LANES):
            reached |= sums[row + uintp(lane)] >= needed[needs + uintp(lane)]
        if reached:
            _consider(bag, sums[level * LANES : (level + 1) * LANES], needed, queries, trie, answers, best)


@njit(cache=True, nogil=True)
def _search(
    first_batch: int,
    last_batch: int,
    all_queries: NDArray[np.int32],
    words: NDArray[np.int32],
    word_starts: NDArray[np.int64],
    trie: _Trie,
    answers: BagAnswers,
    found: NDArray[np.int32],
    width: NDArray[np.integer],
) -> None:
    """Answer some batches of LANES queries; ``width``: an array of the integer type for sums."""
    n_bags, most = len(trie.shared), found.shape[1]
    n_segments = (n_bags + SEGMENT - 1) // SEGMENT
    word_counts = np.zeros(trie.n_words * LANES, width.dtype)
    active = np.zeros(trie.n_words, np.bool_)
    needed = np.empty(len(trie.class_squares) * LANES, width.dtype)
    sums = np.zeros((trie.depth + 1) * LANES, width.dtype)
    row_of = np.zeros(trie.depth + 1, np.int64)
    for batch in range(first_batch, last_batch):
        queries = all_queries[batch * LANES : (batch + 1) * LANES]
        best = _Best(
            np.full((LANES, most), NOBODY, np.int32),
            np.full((LANES, most), NOBODY, np.int32),
            np.zeros((LANES, most), np.int64),
            np.ones((LANES, most), np.int64),
        )
        needed[:] = 1
        for lane in range(len(queries)):
            for i in range(word_starts[queries[lane]], word_starts[queries[lane] + 1]):
                word_counts[words[i] * LANES + lane] += 1
                active[words[i]] = True
        # the queries' own segment first: few bags elsewhere then share enough words
        own = queries[len(queries) // 2] // SEGMENT
        for step in range(n_segments):
            segment = own if step == 0 else (step - 1 if step <= own else step)
            first, end = segment * SEGMENT, min((segment + 1) * SEGMENT, n_bags)
            _scan(first, int(end), trie, word_counts, active, sums, row_of, needed, queries, answers, best)
        for lane in range(len(queries)):
            found[batch * LANES + lane] = best.donors[lane]
            for i in range(word_starts[queries[lane]], word_starts[queries[lane] + 1]):
                word_counts[words[i] * LANES + lane] = 0
                active[words[i]] = False
