"""Exchanging rows between closed answer sets of similar questions, so that the questions reveal less."""

from typing import NamedTuple

import numpy as np

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import MISSING, FilterTables, Float64s, Int32s, Int64s
from hf_vqa_mc.decoys.set_rows import SCALE, Revealed, Rows, may_share

PASSES = 3
"""Maximum number of times that each row may be exchanged."""
LEAST = 1e-6
"""Minimum decrease of the leak of an exchange."""
NEAR = 1.0
"""Maximum squared distance of a row to those that it joins.

Errors of different signs cancel out in the leak of a set, so that sets of two unlike pairs of questions would seem to
reveal nothing.
"""


def swap_rows(
    groups: tuple[Int64s, Int64s], partners: Int32s, revealed: Revealed, rows: Rows, tables: FilterTables
) -> None:
    """Exchange rows of sets with rows of other sets of their group, or rows in no set, while the leaks become smaller.

    Each row in turn makes the exchange that decreases the estimated leak of both sets together the most (a 2-opt local
    search); rows join only near ones. Sets that ask a single question, and those that lie in several groups, are kept.

    Args:
        groups: rows sorted by group, and the start of each group.
        partners: (all rows, set size - 1): other rows of each row's set, MISSING at the end; changed in place.
        revealed: what the questions tell about the answers.
        rows: what decides which rows may share a set.
        tables: filters of pairs of answers.
    """
    members, group_starts = groups
    given = (members, group_starts, partners, revealed, rows, tables)
    over_ranges(_exchange_in_groups, len(group_starts) - 1, 1, *given)


def _exchange_in_groups(
    first: int,
    stop: int,
    members: Int64s,
    group_starts: Int64s,
    partners: Int32s,
    revealed: Revealed,
    rows: Rows,
    tables: FilterTables,
) -> None:
    for group in range(first, stop):
        live = np.sort(members[group_starts[group] : group_starts[group + 1]])
        sets = _sets_within(live, partners, rows)
        free = live[partners[live, 0] == MISSING]
        live = np.union1d(sets[sets != MISSING], free)
        if not len(sets):
            continue
        numbered = np.where(sets == MISSING, MISSING, np.searchsorted(live, sets))
        odds, target = revealed.of_group(live, rows.targets)
        shares = np.exp(odds - odds.max(axis=1, keepdims=True), dtype=np.float64)
        size, count = (numbered != MISSING).sum(axis=1), len(live)
        state = (size, np.zeros(len(sets)), np.full(count, MISSING, np.int64), np.zeros(count, np.int64), live)
        _exchange(_Sets(numbered, *state), shares, target, rows, tables)
        partners[live] = MISSING
        for one in numbered:
            found = live[one[one != MISSING]]
            for row in found:
                partners[row, : len(found) - 1] = found[found != row]


def _sets_within(live: Int64s, partners: Int32s, rows: Rows) -> Int64s:
    """The sets of several questions whose rows are all among ``live``, ascending rows (sets, size), padded."""
    own = np.concatenate([live[:, None], partners[live]], axis=1)
    valid = own != MISSING
    inside = (np.isin(own, live) | ~valid).all(axis=1)
    several = ((rows.questions[own] != rows.questions[live][:, None]) & valid).any(axis=1)
    first = live == np.where(valid, own, len(partners)).min(axis=1)
    found: Int64s = own[inside & several & first]
    return found


class _Sets(NamedTuple):
    """The sets of a group of rows, which are numbered from 0; changed in place."""

    rows: Int64s  # (sets, size), padded
    sizes: Int64s
    leaks: Float64s
    set_of: Int64s  # (rows,): the set of each row, MISSING for rows in no set
    position: Int64s  # (rows,): position in its set
    numbers: Int64s  # (rows,): index in `Rows`


@njit(cache=True, nogil=True)
def _exchange(sets: _Sets, shares: Float64s, target: Int64s, rows: Rows, tables: FilterTables) -> None:
    """Exchange rows until no exchange decreases the leak, at most PASSES times each.

    ``shares`` are P(target | question) of the rows, up to a factor of each, (rows, targets); ``target`` is the column
    of each row's own.
    """
    for one in range(len(sets.rows)):
        own = sets.rows[one, : sets.sizes[one]]
        sets.leaks[one] = _leak(own, shares, target)
        for at in range(len(own)):
            sets.set_of[own[at]], sets.position[own[at]] = one, at
    for _ in range(PASSES):
        n_exchanged = 0
        for row in range(len(sets.set_of)):
            own = sets.set_of[row]
            if own == MISSING or sets.leaks[own] < LEAST:
                continue
            other = _best_exchange(row, sets, shares, target, rows, tables)
            if other == MISSING:
                continue
            n_exchanged += 1
            to = sets.set_of[other]
            for one, at, new in ((own, sets.position[row], other), (to, sets.position[other], row)):
                if one != MISSING:
                    sets.rows[one, at] = new
                    sets.leaks[one] = _leak(sets.rows[one, : sets.sizes[one]], shares, target)
            sets.set_of[other], sets.set_of[row] = own, to
            sets.position[other], sets.position[row] = sets.position[row], sets.position[other]
        if n_exchanged == 0:
            return


@njit(cache=True, nogil=True)
def _best_exchange(row: int, sets: _Sets, shares: Float64s, target: Int64s, rows: Rows, tables: FilterTables) -> int:
    """The row whose exchange with a row in a set decreases the leaks the most; MISSING if none does."""
    own, at = sets.set_of[row], sets.position[row]
    mine, best, most = sets.rows[own, : sets.sizes[own]], MISSING, LEAST
    for other in range(len(sets.set_of)):
        to, to_at = sets.set_of[other], sets.position[other]
        if to == own:
            continue
        decrease = _decrease(mine, sets.leaks[own], at, other, shares, target)
        theirs = mine[:0]
        if to != MISSING:
            if decrease + sets.leaks[to] <= most:
                continue
            theirs = sets.rows[to, : sets.sizes[to]]
            decrease += _decrease(theirs, sets.leaks[to], to_at, row, shares, target)
        if decrease <= most or not _may_join(mine, at, other, sets.numbers, rows, tables):
            continue
        if _may_join(theirs, to_at, row, sets.numbers, rows, tables):
            best, most = other, decrease
    return best


@njit(cache=True, nogil=True)
def _leak(one: Int64s, shares: Float64s, target: Int64s) -> float:
    """The estimated leak of a set, see `forming_sets`: abs(sum of P(target | question, choices) - 1)."""
    total = 0.0
    for row in one:
        all_choices = 0.0
        for other in one:
            all_choices += shares[row, target[other]]
        total += shares[row, target[row]] / all_choices if all_choices > 0.0 else 1.0 / len(one)
    return abs(total - 1.0)


@njit(cache=True, nogil=True)
def _decrease(one: Int64s, leak: float, position: int, row: int, shares: Float64s, target: Int64s) -> float:
    """How much a set's leak decreases if a row replaces the one at ``position``; -inf if another has its target."""
    for at in range(len(one)):
        if at != position and target[one[at]] == target[row]:
            return -np.inf
    replaced = one[position]
    one[position] = row
    decrease = leak - _leak(one, shares, target)
    one[position] = replaced
    return decrease


@njit(cache=True, nogil=True)
def _may_join(one: Int64s, position: int, row: int, numbers: Int64s, rows: Rows, tables: FilterTables) -> bool:
    """Whether a row is near to all rows of a set but the one at ``position``, and may share it with them."""
    for at in range(len(one)):
        if at == position:
            continue
        if not may_share(numbers[one[at]], numbers[row], rows, tables):
            return False
        distance = 0
        for axis in range(rows.coordinates.shape[1]):
            distance += (int(rows.coordinates[numbers[one[at]], axis]) - rows.coordinates[numbers[row], axis]) ** 2
        if distance > NEAR * SCALE**2:
            return False
    return True
