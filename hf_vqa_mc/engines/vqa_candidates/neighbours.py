"""The answers of the questions most similar by bag of words, exactly: cosine of word counts, all in whole numbers.

Bags stand sorted in a trie, so that a bag adds only its last words to the sum of the one before; some hundred queries
are answered in one walk over it. A query keeps the best answers found so far; its worst says how many words a bag
of each length must share with it to matter, so that most bags cost a comparison.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import uintp
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.decoys.word_bags import LANES, SEGMENT, WordBags
from hf_vqa_mc.errors import InputError

_BATCHES = 16
"""Walks between two tellings of progress."""
_LONGEST = 2_000_000
"""Squares of the length of counts up to which products of three of them fit into 64 bits."""
NOBODY = -1


class _Trie(NamedTuple):
    """A `BagTrie` with the lengths of its bags, as vectors of counts."""

    shared: NDArray[np.int32]
    words: NDArray[np.int32]
    word_starts: NDArray[np.int64]
    depth: int
    squares: NDArray[np.int64]  # (bags,): of the length
    length_class: NDArray[np.int32]  # (bags,): index of its square in `class_squares`
    class_squares: NDArray[np.int64]
    n_words: int


class BagAnswers(NamedTuple):
    """The different answers of each bag's questions, in the order of the questions that they were first given to."""

    starts: NDArray[np.int64]  # (bags + 1,)
    keys: NDArray[np.int32]
    donors: NDArray[np.int32]  # the question that an answer was first given to


class _Best(NamedTuple):
    """The best answers of some queries, best first; similarity is shared / sqrt(square), up to the query's length."""

    keys: NDArray[np.int32]  # (queries, most)
    donors: NDArray[np.int32]  # NOBODY at the end
    shared: NDArray[np.int64]
    squares: NDArray[np.int64]


def answers_of_bags(bags: WordBags, keys: NDArray[np.int32]) -> BagAnswers:
    """The different answers of each bag.

    Args:
        bags: of questions.
        keys: (questions,), of the answers.
    """
    bag = np.repeat(np.arange(bags.size), np.diff(bags.member_starts))
    given = keys[bags.members]
    order = np.lexsort((bags.members, given, bag))
    new = np.ones(len(order), np.bool_)
    new[1:] = (bag[order][1:] != bag[order][:-1]) | (given[order][1:] != given[order][:-1])
    firsts = order[new]
    firsts = firsts[np.lexsort((bags.members[firsts], bag[firsts]))]
    counts = np.bincount(bag[firsts], minlength=bags.size)
    return BagAnswers(starts(counts), given[firsts], bags.members[firsts].astype(np.int32))


def nearest_answers(
    bags: WordBags,
    answers: BagAnswers,
    queries: NDArray[np.int32],
    most: int,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.int32]:
    """The first different answers of the other bags, the most similar bag first; ties by the order of the questions.

    Args:
        bags: of all questions.
        answers: of the same.
        queries: bag numbers, ascending.
        most: how many answers.
        progress: told how many queries are done.

    Returns:
        int32 (queries, most): the questions that the answers were given to, NOBODY where there are no more. Bags
        that share no word with the query give none.

    Raises:
        InputError: a question repeats its words many hundred times.
    """
    squares = bags.squares
    if squares.max(initial=0) > _LONGEST:
        raise InputError(
            f"question {bags.members[bags.member_starts[squares.argmax()]]}: words are repeated too often to "
            f"compare questions (squares of their counts add up to {squares.max():,}); shorten it"
        )
    width = np.int16 if squares.max(initial=0) < np.iinfo(np.int16).max else np.int64
    class_squares, length_class = np.unique(squares, return_inverse=True)
    trie = _Trie(*bags.trie(), squares, length_class.astype(np.int32), class_squares, len(bags.vocabulary))
    found = np.full((len(queries), most), NOBODY, np.int32)
    for start in range(0, len(queries), LANES * _BATCHES):
        some = queries[start : start + LANES * _BATCHES]
        batches = -(-len(some) // LANES)
        part = found[start : start + len(some)]
        over_ranges(
            _search,
            batches,
            _BATCHES // 4,
            some,
            bags.words,
            bags.word_starts,
            trie,
            answers,
            part,
            np.zeros(1, width),
        )
        if progress:
            progress(start + len(some))
    return found


@njit(cache=True)
def _better(shared: int, square: int, donor: int, than_shared: int, than_square: int, than_donor: int) -> bool:
    """Whether one answer comes before another: more similar, or as similar and of an earlier question."""
    mine, other = shared * shared * than_square, than_shared * than_shared * square
    return mine > other or (mine == other and donor < than_donor)


@njit(cache=True)
def _keep(best: _Best, lane: int, key: int, donor: int, shared: int, square: int) -> bool:
    """Puts an answer among the best of a lane, if it is; whether it could have been."""
    keys, donors, shares, squares = best.keys[lane], best.donors[lane], best.shared[lane], best.squares[lane]
    last = len(keys) - 1
    if donors[last] != NOBODY and not _better(shared, square, donor, shares[last], squares[last], donors[last]):
        return False
    place = 0
    while place < last and donors[place] != NOBODY and keys[place] != key:
        place += 1
    if donors[place] != NOBODY and keys[place] == key:
        if not _better(shared, square, donor, shares[place], squares[place], donors[place]):
            return True
    while place > 0 and _better(shared, square, donor, shares[place - 1], squares[place - 1], donors[place - 1]):
        keys[place], donors[place] = keys[place - 1], donors[place - 1]
        shares[place], squares[place] = shares[place - 1], squares[place - 1]
        place -= 1
    keys[place], donors[place], shares[place], squares[place] = key, donor, shared, square
    return True


@njit(cache=True)
def _raise_needs(needed: NDArray[np.integer], lane: int, class_squares: NDArray[np.int64], best: _Best) -> None:
    """How many words a bag of each length must share with a lane's query to be as similar as its worst answer."""
    last = best.donors.shape[1] - 1
    if best.donors[lane, last] == NOBODY:
        return
    shared, square = best.shared[lane, last], best.squares[lane, last]
    for number in range(len(class_squares)):
        wanted = shared * shared * class_squares[number]
        need = np.int64(np.sqrt(wanted / square))
        while need * need * square < wanted:
            need += 1
        while need > 1 and (need - 1) * (need - 1) * square >= wanted:
            need -= 1
        needed[number * LANES + lane] = need


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
    """Offers a bag's answers to the queries with which it shares as many words as they need; see `_scan`."""
    needs = trie.length_class[bag] * LANES
    for lane in range(len(queries)):
        if sums[lane] < needed[needs + lane] or bag == queries[lane]:
            continue
        changed = False
        for place in range(answers.starts[bag], answers.starts[bag + 1]):
            donor, shared = answers.donors[place], int(sums[lane])
            if not _keep(best, lane, answers.keys[place], donor, shared, trie.squares[bag]):
                break
            changed = True
        if changed:
            _raise_needs(needed, lane, trie.class_squares, best)


@njit(cache=True)
def _add_words(
    bag: int,
    trie: _Trie,
    word_counts: NDArray[np.integer],
    active: NDArray[np.bool_],
    sums: NDArray[np.integer],
    row_of: NDArray[np.int64],
) -> int:
    """Add what a bag does not share with the one before; gives its row of sums, 0 if it shares no word with a query.

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
    """Walks the trie from one bag to another.

    ``sums`` holds a row of LANES for each word of a bag: how many words its beginning shares with each query;
    ``needed`` one for each length of bags: how many a query needs.
    """
    lanes = uintp(LANES)
    for bag in range(start, end):
        level = _add_words(bag, trie, word_counts, active, sums, row_of)
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
    """Answers some batches of LANES queries; `width` is an array of the whole numbers that sums need."""
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
        # the segment where the queries are comes first: it sets needs that few bags elsewhere meet
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
