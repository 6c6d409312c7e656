"""Rows that may share a closed answer set, the decoys of the sets' rows, and exchanges of rows between sets."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import (
    MISSING,
    FilterTables,
    Float32s,
    Float64s,
    Int16s,
    Int32s,
    Int64s,
    Ints,
    KeyLists,
    ambiguous,
    holds,
)
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets
from hf_vqa_mc.decoys.kind import SET_KINDS
from hf_vqa_mc.decoys.plausible_answers import TYPED_WORDS, answer_types, numbered_beginnings
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.wu_palmer import reading

if TYPE_CHECKING:
    from hf_vqa_mc.decoys.propensity_model import Propensities

SCALE = 1_000
"""Coordinates are rounded to 1/SCALE: sums of integers do not depend on their order, so they are fast and exact."""
COORDINATES = 48  # maximum number of coordinates: principal components of what the questions reveal
PASSES = 3  # maximum number of times that each row may be exchanged
LEAST = 1e-6  # minimum decrease of the leak of an exchange
NEAR = 1.0
"""Maximum squared distance of a row to those that it joins.

Errors of different signs cancel out in the leak of a set, so that sets of two unlike pairs of questions would seem to
reveal nothing.
"""


class Rows(NamedTuple):
    """What decides which rows may share a set, for kernels; (rows,) each unless stated."""

    targets: Int32s  # keys
    images: Int32s
    questions: Int32s  # equal for questions that are the same letter by letter
    comparable: Int32s  # equal for equivalent questions
    coordinates: Int16s  # (rows, dimensions) * SCALE, none if any two rows of a group are equally similar
    answers: KeyLists  # of annotators
    rejected: KeyLists  # by verdicts


def rows_of(indexed: IndexedTriplets) -> Rows:
    """The rows of a dataset, without coordinates."""
    triplets, questions = indexed.triplets, indexed.table["question"].combine_chunks()
    return Rows(
        targets=triplets.keys[triplets.targets],
        images=triplets.images,
        questions=np.array(questions.dictionary_encode().indices),
        comparable=np.array(comparable_texts(questions)[0].dictionary_encode().indices),
        coordinates=np.empty((indexed.size, 0), np.int16),
        answers=KeyLists.of(indexed.table["answers"].combine_chunks(), indexed.candidates),
        rejected=triplets.rejected,
    )


@reading
def may_share(row: int, other: int, rows: Rows, tables: FilterTables) -> bool:
    """Whether two rows with different targets may share their choices: neither target may be correct in both."""
    if rows.images[row] == rows.images[other] and rows.comparable[row] == rows.comparable[other]:
        return False
    target, candidate = rows.targets[row], rows.targets[other]
    for lists in (rows.answers, rows.rejected):
        if holds(lists, row, candidate) or holds(lists, other, target):
            return False
    return not ambiguous(candidate, target, tables)


def fill(decoys: DecoyTable, pool: Int64s, partners: Int32s, first: Int64s, kind: Ints | int, targets: Int32s) -> None:
    """Give each row of a pool the targets of its partners as decoys, and name its closed set.

    ``partners`` (pool, decoys) are rows of the same set with all its other targets, MISSING at the end; ``first`` is
    the first row of each row's set, MISSING for rows in no set; ``kind`` is an index in ``SET_KINDS``.
    """
    found = (partners != MISSING).sum(axis=1)
    decoys.picks[pool, 0] = np.where(partners == MISSING, MISSING, targets[partners])
    decoys.donors[pool, 0], decoys.found[pool, 0], decoys.considered[pool] = partners, found, found
    decoys.closed.first[pool], decoys.closed.kind[pool] = first, kind
    exact = np.array(["question" in one.exact for one in SET_KINDS.values()])  # their leak is 0
    decoys.closed.leak[pool[exact[kind] & (first != MISSING)]] = 0


class _Sets(NamedTuple):
    """The sets of a group of rows, which are numbered from 0; changed in place."""

    rows: Int64s  # (sets, size), padded
    sizes: Int64s
    leaks: Float64s
    set_of: Int64s  # (rows,): the set of each row, MISSING for rows in no set
    position: Int64s  # (rows,): position in its set
    numbers: Int64s  # (rows,): index in `Rows`
    shares: Float64s  # (rows, targets): P(target | question), up to a factor of each row
    target: Int64s  # (rows,): column of each row's own target


def swap_rows(
    groups: tuple[Int64s, Int64s],
    partners: Int32s,
    revealed: "Propensities | RowDistances",
    rows: Rows,
    tables: FilterTables,
) -> None:
    """Exchange rows of sets with rows of other sets of their group, or rows in no set, while the leaks become smaller.

    Each row in turn makes the exchange that decreases the estimated leak of both sets together the most (a 2-opt local
    search); rows join only near ones. Sets that ask a single question, and those that lie in several groups, are kept.
    Groups are rows sorted by group, and the start of each group; ``partners`` (all rows, set size - 1) are changed.
    """
    members, group_starts = groups

    def exchange(first: int, stop: int) -> None:
        for group in range(first, stop):
            live = np.sort(members[group_starts[group] : group_starts[group + 1]])
            sets = _sets_within(live, partners, rows)
            if not len(sets):
                continue
            live = np.union1d(sets[sets != MISSING], live[partners[live, 0] == MISSING])
            numbered = np.where(sets == MISSING, MISSING, np.searchsorted(live, sets))
            odds, target = revealed.of_group(live, rows.targets)
            shares = np.exp(odds - odds.max(axis=1, keepdims=True), dtype=np.float64)
            size, count = (numbered != MISSING).sum(axis=1), len(live)
            none, position = np.full(count, MISSING, np.int64), np.zeros(count, np.int64)
            _exchange(_Sets(numbered, size, np.zeros(len(sets)), none, position, live, shares, target), rows, tables)
            partners[live] = MISSING
            for one in numbered:
                found = live[one[one != MISSING]]
                for row in found:
                    partners[row, : len(found) - 1] = found[found != row]

    over_ranges(exchange, len(group_starts) - 1, 1)


def _sets_within(live: Int64s, partners: Int32s, rows: Rows) -> Int64s:
    """The sets of several questions whose rows are all among ``live``, ascending rows (sets, size), padded."""
    own = np.concatenate([live[:, None], partners[live]], axis=1)
    valid = own != MISSING
    inside = (np.isin(own, live) | ~valid).all(axis=1)
    several = ((rows.questions[own] != rows.questions[live][:, None]) & valid).any(axis=1)
    first = live == np.where(valid, own, len(partners)).min(axis=1)
    found: Int64s = own[inside & several & first]
    return found


@njit(cache=True, nogil=True)
def _exchange(sets: _Sets, rows: Rows, tables: FilterTables) -> None:
    """Exchange rows until no exchange decreases the leak, at most PASSES times each."""
    for one in range(len(sets.rows)):
        own = sets.rows[one, : sets.sizes[one]]
        sets.leaks[one] = _leak(own, sets.shares, sets.target)
        for at in range(len(own)):
            sets.set_of[own[at]], sets.position[own[at]] = one, at
    for _ in range(PASSES):
        n_exchanged = 0
        for row in range(len(sets.set_of)):
            own = sets.set_of[row]
            if own == MISSING or sets.leaks[own] < LEAST:
                continue
            other = _best_exchange(row, sets, rows, tables)
            if other == MISSING:
                continue
            n_exchanged += 1
            to = sets.set_of[other]
            for one, at, new in ((own, sets.position[row], other), (to, sets.position[other], row)):
                if one != MISSING:
                    sets.rows[one, at] = new
                    sets.leaks[one] = _leak(sets.rows[one, : sets.sizes[one]], sets.shares, sets.target)
            sets.set_of[other], sets.set_of[row] = own, to
            sets.position[other], sets.position[row] = sets.position[row], sets.position[other]
        if n_exchanged == 0:
            return


@njit(cache=True, nogil=True)
def _best_exchange(row: int, sets: _Sets, rows: Rows, tables: FilterTables) -> int:
    """The row whose exchange with a row in a set decreases the leaks the most; MISSING if none does."""
    own, at = sets.set_of[row], sets.position[row]
    mine, best, most = sets.rows[own, : sets.sizes[own]], MISSING, LEAST
    for other in range(len(sets.set_of)):
        to, to_at = sets.set_of[other], sets.position[other]
        if to == own:
            continue
        decrease = _decrease(mine, sets.leaks[own], at, other, sets.shares, sets.target)
        theirs = mine[:0]
        if to != MISSING:
            if decrease + sets.leaks[to] <= most:
                continue
            theirs = sets.rows[to, : sets.sizes[to]]
            decrease += _decrease(theirs, sets.leaks[to], to_at, row, sets.shares, sets.target)
        if decrease <= most or not _may_join(mine, at, other, sets.numbers, rows, tables):
            continue
        if _may_join(theirs, to_at, row, sets.numbers, rows, tables):
            best, most = other, decrease
    return best


@njit(cache=True, nogil=True)
def _leak(one: Int64s, shares: Float64s, target: Int64s) -> float:
    """The estimated leak of a set: abs(sum of P(target | question, choices) - 1)."""
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


RARE = 2  # mean number of rows per distinct answer below which P(answer | question) cannot be learned
ADVANTAGE, OTHER_TYPE, OTHER_BEGINNING = 6.0, 3.0, 3.0
"""Standard deviations of question distance that count as much as one of the gain, as an answer of another type, and as
another beginning of the question. Chosen on A-OKVQA at a coverage of 0.9 by the cosine of wordllama (31.1%, 27.5% by
assignment) and the share of implausible decoys (23%); 4, 4 and 4: 32.8%, 31.0% and 22%."""
WORDS = 2  # first words of questions that begin alike
PER_LOG_ODDS = (
    20.0  # distances per log odds. In sets with a few rows their leak is then nearly linear in the distances
)
SAMPLED = 1_000  # rows from which standard deviations are estimated


class _Family(NamedTuple):
    """Embeddings with rows of norm 1, and the standard deviations of what is computed from them."""

    questions: Float32s  # (distinct questions, dimensions)
    answers: Float32s  # (keys, dimensions)
    gain: float = 1.0
    distance: float = 1.0


class RowDistances:
    """Distances of pairs of rows, as log odds of one's answer for the other's question, by families of embeddings."""

    is_calibrated = False

    def __init__(
        self, questions: pa.Array, keys: Ints, key_texts: list[str], embed: Sequence[Callable[[list[str]], Float32s]]
    ) -> None:
        encoded = questions.dictionary_encode()
        self._question, self._key = encoded.indices.to_numpy(), keys
        beginnings = numbered_beginnings(questions, {WORDS, TYPED_WORDS})
        self._beginning = beginnings[WORDS]
        self._type = answer_types(key_texts, keys, beginnings[TYPED_WORDS])[keys]
        texts = encoded.dictionary.to_pylist()
        sample = np.arange(0, len(keys), -(-len(keys) // SAMPLED))[None]
        self._families: list[_Family] = []
        for one in embed:
            family = _Family(one(texts), one(key_texts))
            gain, distance = (max(values.std(), 1e-6) for values in self._compared(family, sample))
            self._families.append(family._replace(gain=gain, distance=distance))

    def coordinates(self) -> Float32s:
        """Principal components of the questions' embeddings, float32 (rows, at most COORDINATES)."""
        vectors = np.concatenate([one.questions for one in self._families], axis=1) / len(self._families) ** 0.5
        centred = vectors - vectors[self._question].mean(axis=0)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, -COORDINATES:]
        found: Float32s = (centred @ axes)[self._question]
        return found

    def of_group(self, rows: Int64s, targets: Int32s) -> tuple[Float32s, Int64s]:
        """See `Propensities.of_group`; every row's answer is one of its own."""
        return self.of_sets(rows[None], targets)[0], np.arange(len(rows))

    def of_sets(self, sets: Int64s, targets: Int32s) -> Float32s:
        """See `Propensities.of_sets`."""
        total = np.zeros((*sets.shape, sets.shape[1]), np.float32)
        for one in self._families:
            gain, distance = self._compared(one, sets)
            total += (ADVANTAGE * np.abs(gain) / one.gain + distance / one.distance) / len(self._families)
        for column, weight in ((self._type, OTHER_TYPE), (self._beginning, OTHER_BEGINNING)):
            total += np.float32(weight) * (column[sets][:, :, None] != column[sets][:, None])
        total /= -PER_LOG_ODDS
        return total

    def _compared(self, family: _Family, sets: Int64s) -> tuple[Float32s, Float32s]:
        """The gain of a cosine from each pair of rows of some sets, and the distance of their questions."""
        questions, answers = family.questions[self._question[sets]], family.answers[self._key[sets]]
        scores = questions @ answers.swapaxes(1, 2)
        own = np.einsum("sii->si", scores)[:, :, None]
        gain = own - scores
        return gain + gain.swapaxes(1, 2), 1 - questions @ questions.swapaxes(1, 2)
