"""Forming closed answer sets: within groups of rows, from the most similar to the least, a row per answer."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import MISSING, Bools, FilterTables, Float32s, Int16s, Int32s, Int64s, starts
from hf_vqa_mc.decoys.decoy_table import DecoyTable, IndexedTriplets, LeftOut
from hf_vqa_mc.decoys.kind import SAME_IMAGE, SAME_QUESTION, SET_KINDS, SIMILAR_QUESTION
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash
from hf_vqa_mc.decoys.set_rows import RARE, SCALE, RowDistances, Rows, fill, may_share, rows_of, swap_rows
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.text.embeddings import embedding_families, normalised
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.question_encoder import TextEncoder, Vectors, averaged

LEAF, LARGEST = 1_000, 4_000
"""Rows per group of similar questions: of the smallest groups, and the maximum of the largest."""
DISTANCES = (0.3, 1.0, np.inf)
"""Maximum mean squared distance of a row to those before it in its set; nearer sets are formed first."""
_ESTIMATED = 1e-6  # minimum estimated leak; only that of sets of a single question is exactly 0
_TASKS = 64
BLOCK = 8  # dimensions after which the distance is compared with the best one
_FARTHEST = np.iinfo(np.int32).max
"""Squared distances are below 49 * 2 * SCALE**2, since those of Hellinger are at most 2."""

Groups = tuple[Int64s, Int64s]  # rows sorted by group, and the start of each group
_Live = tuple[Int64s, Int64s, Int32s, Bools, Bools]
"""Rows of a group; the number of the target and the coordinates of each, whether it is free; targets of the set."""
Report = Callable[[int], None]
if TYPE_CHECKING:
    from hf_vqa_mc.decoys.propensity_model import Propensities

    Revealed = Propensities | RowDistances


def take_sets(
    decoys: DecoyTable,
    pool: Int64s,
    indexed: IndexedTriplets,
    report: Report,
    same_question: bool = True,
    same_image: bool = False,
    similar_question: bool = True,
) -> None:
    """Form closed sets of the rows of a pool, and give each row the targets of the others as decoys.

    Rows of a set ask the same question, are about the same image, or ask similar questions, in this order.
    Sets lie in one split. Sets of ``set_size`` rows are formed first, then of one row less, down to two. Of similar
    questions, the sets with the largest estimated leak are dissolved: see ``coverage``.
    """
    settings, triplets = indexed.settings, indexed.triplets
    rows, revealed = rows_of(indexed), None
    if not same_image:  # no image twice in a set, whatever is asked about it
        rows = rows._replace(comparable=np.zeros_like(rows.comparable))
    partners = np.full((indexed.size, settings.set_decoys), MISSING, np.int32)
    order = order_keys(purpose_hash(settings.seed, "closed sets"), 0, triplets.hashes)
    splits = indexed.table["split"].to_numpy()[pool]
    if similar_question:
        revealed = _revealed(indexed, rows, lambda fitted: report(int(len(pool) * fitted)))
        rows = rows._replace(coordinates=np.round(SCALE * revealed.coordinates()).astype(np.int16))
    for split in dict.fromkeys(splits.tolist()):
        own = pool[splits == split]
        own = own[np.argsort(order[own], kind="stable")]
        exact = [_grouped(rows.questions, own)] * same_question + [_grouped(rows.images, own)] * same_image
        levels = _levels(rows.coordinates, own) if similar_question else []
        _form_split(own, exact, levels, rows, partners, indexed)
        if revealed is not None:  # within the smallest groups; by distances within the largest, between any two rows
            near = rows if revealed.is_calibrated else rows._replace(coordinates=rows.coordinates[:, :0])
            among = levels[0 if revealed.is_calibrated else -1]
            swap_rows(among, partners, revealed, near, indexed.tables)
        free = own[partners[own, 0] == MISSING]
        alone = np.logical_and.reduce([_without_others(one, rows.targets) for one in [*exact, *levels[-1:]]])
        decoys.closed.left_out[free] = np.where(alone[free], LeftOut.NO_PARTNER, LeftOut.SURPLUS)
        if revealed is not None:
            _dissolve(decoys, partners, revealed, own, rows, settings)
    own = np.where(partners[pool] == MISSING, pool[:, None], partners[pool])
    sets, kinds = np.concatenate([pool[:, None], own], axis=1), list(SET_KINDS)
    shared = [(column[sets] == column[pool][:, None]).all(axis=1) for column in (rows.questions, rows.images)]
    named = [kinds.index(one.name) for one in (SAME_QUESTION, SAME_IMAGE, SIMILAR_QUESTION)]
    first = np.where(partners[pool, 0] == MISSING, MISSING, sets.min(axis=1))
    fill(decoys, pool, partners[pool], first, np.select(shared, named[:2], named[2]), triplets.targets)


take_sets_same_question = partial(take_sets, similar_question=False)
take_sets_same_image = partial(take_sets, same_question=False, same_image=True, similar_question=False)
take_sets_similar_question = partial(take_sets, same_question=False)


def _revealed(indexed: IndexedTriplets, rows: Rows, report: Callable[[float], None]) -> "Revealed":
    """What the questions reveal; with word vectors or a text encoder also by words that are rare here."""
    from hf_vqa_mc.decoys.propensity_model import answer_propensities  # needs torch

    name, vectors, seed = indexed.settings.question_encoder, indexed.vectors, indexed.settings.seed
    encoder = None if name is None else TextEncoder(name).encode
    questions = comparable_texts(indexed.table["question"].combine_chunks())[0]
    if len(rows.targets) < RARE * len(np.unique(rows.targets)):
        embed = [one.embed for one in embedding_families(vectors)]
        if encoder is not None:
            embed.append(lambda texts: normalised(encoder(texts)))
        return RowDistances(questions, rows.targets, indexed.candidates.key_texts, embed)

    def encode(distinct: pa.Array) -> Vectors | None:
        if encoder is not None:
            return encoder(distinct.to_pylist())
        return None if vectors is None else averaged(distinct, vectors)

    return answer_propensities(questions, rows.targets, rows.images, seed, report, encode)


def _form_split(
    own: Int64s, exact: list[Groups], levels: list[Groups], rows: Rows, partners: Int32s, indexed: IndexedTriplets
) -> None:
    """Form the sets of a split's rows ``own``: large ones first, and among those the nearest first.

    Rows that have found no partner among similar questions form sets of the full size with any others. Smaller sets
    of such rows would mix answers that the questions tell apart, such as numbers, colors and vehicles in COCO-QA.
    """
    unordered, full = rows._replace(coordinates=rows.coordinates[:, :0]), indexed.settings.set_size
    for size in range(full, 1, -1):
        for groups in exact:
            _form_all(groups, size, np.inf, unordered, partners, indexed)
        for most in DISTANCES if size == full else DISTANCES[:-1]:
            for groups in levels:
                _form_all(groups, size, most, rows, partners, indexed)
    if levels:
        free = own[partners[own, 0] == MISSING]
        groups = free, np.append(np.arange(0, len(free), LARGEST), len(free))
        _form_all(groups, full, np.inf, rows, partners, indexed)


def _grouped(column: Int32s, rows: Int64s) -> Groups:
    numbers = np.unique(column[rows], return_inverse=True)[1]
    return rows[np.argsort(numbers, kind="stable")], starts(np.bincount(numbers))


def _levels(coordinates: Int16s, rows: Int64s) -> list[Groups]:
    """Nested groups of near rows, the smallest first: halves of halves along the first principal axis."""
    ordered, bounds = rows.copy(), [0, len(rows)]
    levels = [(ordered.copy(), np.array(bounds))]
    while max(np.diff(bounds)) > LEAF:
        ends = [0]
        for first, stop in pairwise(bounds):
            if stop - first > LEAF:
                part = ordered[first:stop]
                centred = coordinates[part] - coordinates[part].mean(axis=0, dtype=np.float64)
                axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
                ordered[first:stop] = part[np.argsort(centred @ axis, kind="stable")]
                ends.append((first + stop) // 2)
            ends.append(stop)
        bounds = ends
        levels.append((ordered.copy(), np.array(bounds)))
    return [level for level in reversed(levels) if np.diff(level[1]).max() <= LARGEST] or levels[:1]


def _without_others(groups: Groups, targets: Int32s) -> Bools:
    """(all rows,): whether no other row of a row's group has another target; True for rows of no group."""
    members, group_starts = groups
    group = np.repeat(np.arange(len(group_starts) - 1), np.diff(group_starts))
    pairs = np.unique(np.stack([group, targets[members]]), axis=1)
    found = np.ones(len(targets), np.bool_)
    found[members] = np.bincount(pairs[0])[group] == 1
    return found


def _form_all(groups: Groups, size: int, most: float, rows: Rows, partners: Int32s, indexed: IndexedTriplets) -> None:
    n_groups = len(groups[1]) - 1
    arguments = (groups, size, most * SCALE**2, rows, partners, indexed.tables)
    over_ranges(_form, n_groups, max(n_groups // _TASKS, 1), *arguments)


@njit(cache=True, nogil=True)
def _form(
    first: int, stop: int, groups: Groups, size: int, most: float, rows: Rows, partners: Int32s, tables: FilterTables
) -> None:
    """Form sets of ``size`` rows within each of some groups, until none is possible."""
    members, group_starts = groups
    for group in range(first, stop):
        live = members[group_starts[group] : group_starts[group + 1]]
        live = live[partners[live, 0] == MISSING]
        if len(live) >= size:
            _form_sets(live, size, most, rows, partners, tables)


@njit(cache=True, nogil=True)
def _form_sets(live: Int64s, size: int, most: float, rows: Rows, partners: Int32s, tables: FilterTables) -> None:
    """Start each set with a row of the most frequent remaining target, and add the nearest rows that may join it."""
    distinct = np.unique(rows.targets[live])
    number = np.searchsorted(distinct, rows.targets[live])
    remaining = np.bincount(number, minlength=len(distinct))  # free rows of each target
    untried = remaining.copy()
    tried = np.zeros(len(live), np.bool_)
    free = np.ones(len(live), np.bool_)
    in_set = np.zeros(len(distinct), np.bool_)  # targets
    coordinates = _in_blocks(rows.coordinates[live])
    taken = np.empty(size, np.int64)
    while True:
        best = -1
        for target in range(len(distinct)):
            if untried[target] > 0 and (best < 0 or remaining[target] > remaining[best]):
                best = target
        if best < 0:
            return
        start = 0
        while tried[start] or number[start] != best:
            start += 1
        tried[start] = True
        untried[best] -= 1
        taken[0] = start
        is_complete = _complete(taken, most, (live, number, coordinates, free, in_set), rows, tables)
        in_set[:] = False
        if not is_complete:
            continue
        for i in range(size):
            at = taken[i]
            remaining[number[at]] -= 1
            untried[number[at]] -= not tried[at]
            tried[at], free[at] = True, False
            position = 0
            for j in range(size):
                if j != i:
                    partners[live[at], position] = live[taken[j]]
                    position += 1


@njit(cache=True, nogil=True)
def _complete(taken: Int64s, most: float, given: _Live, rows: Rows, tables: FilterTables) -> bool:
    """Fill ``taken``, indices into ``live``, with the nearest rows that may join the first; False if there are none.

    The nearest row has the smallest sum of squared distances to the n taken rows, at most ``most`` per row. Times n,
    that sum is the squared distance of n times the row to the sum of the taken rows, and a constant.
    """
    live, number, coordinates, free, in_set = given
    total = coordinates[taken[0]].copy()
    squares = np.sum(total.astype(np.int64) ** 2)
    in_set[number[taken[0]]] = True
    for n_taken in range(1, len(taken)):
        constant = n_taken * squares - np.sum(total.astype(np.int64) ** 2)
        bound = min(most * n_taken**2 - constant + 1, float(_FARTHEST))
        nearest, best = -1, np.int32(max(bound, 0))
        for at in range(len(live)):
            if not free[at] or in_set[number[at]]:
                continue
            distance = _squared_distance(n_taken, coordinates[at], total, best)
            if distance >= best:
                continue
            joins = True
            for i in range(n_taken):
                joins = joins and may_share(live[taken[i]], live[at], rows, tables)
            if joins:
                nearest, best = at, distance
        if nearest < 0:
            return False
        taken[n_taken] = nearest
        in_set[number[nearest]] = True
        total += coordinates[nearest]
        squares += np.sum(coordinates[nearest].astype(np.int64) ** 2)
    return True


@njit(cache=True, nogil=True)
def _in_blocks(coordinates: Int16s) -> Int32s:
    """Coordinates with the axis of the largest variance, the last one, first; padded to whole blocks."""
    rows, dimensions = coordinates.shape
    found = np.zeros((rows, -(-dimensions // BLOCK) * BLOCK), np.int32)
    found[:, :dimensions] = coordinates[:, ::-1]
    return found


@njit(cache=True, nogil=True, inline="always")
def _squared_distance(times: int, row: Int32s, total: Int32s, best: np.int32) -> np.int32:
    """The squared distance of ``times`` a row to ``total``; a part of it once that is ``best`` or more."""
    distance = np.int32(0)
    for first in range(0, len(row), BLOCK):
        for axis in range(first, first + BLOCK):
            difference = np.int32(times * row[axis] - total[axis])
            distance += difference * difference
        if distance >= best:
            break
    return distance


def _dissolve(
    decoys: DecoyTable, partners: Int32s, revealed: "Revealed", own: Int64s, rows: Rows, settings: Settings
) -> None:
    """Estimate the leak of each set of a split's rows ``own``, and dissolve the sets with the largest.

    The leak of k rows is at most k - 1, so sets are ranked by the fraction of that; else small sets would be kept.
    """
    others = np.where(partners[own] == MISSING, len(partners), partners[own]).min(axis=1)
    first = own[(partners[own, 0] != MISSING) & (own < others)]
    sets = np.concatenate([first[:, None], partners[first]], axis=1)
    valid = sets != MISSING
    leaks, sizes = _leaks(sets, valid, revealed, rows), valid.sum(axis=1)
    order = np.lexsort((first, leaks / (sizes - 1)))
    kept = (np.cumsum(sizes[order]) <= settings.coverage * len(own)) | (leaks[order] == 0)
    decoys.closed.size[sets[valid]] = np.repeat(sizes, sizes)
    if revealed.is_calibrated:
        decoys.closed.leak[sets[valid]] = np.repeat(leaks, sizes)
    dissolved = order[~kept]
    members = sets[dissolved][valid[dissolved]]
    partners[members], decoys.closed.left_out[members] = MISSING, LeftOut.LEAK


def _leaks(sets: Int64s, valid: Bools, revealed: "Revealed", rows: Rows) -> Float32s:
    """The estimated leak of each of some sets (sets, rows), padded: abs(sum of P(target | question, choices) - 1).

    In [0, set size - 1]: 0 if the questions say nothing about whose target is whose, as if all are the same.
    """
    odds = np.where(valid[:, None, :], revealed.of_sets(sets, rows.targets), -np.inf)  # (sets, rows, choices)
    odds[~valid] = 0
    shares = np.exp(odds - odds.max(axis=2, keepdims=True))
    shares /= shares.sum(axis=2, keepdims=True)
    diagonal = np.where(valid, np.einsum("srr->sr", shares), 0)
    same = (~valid | (rows.questions[sets] == rows.questions[sets[:, :1]])).all(axis=1)
    estimated = np.maximum(np.abs(diagonal.sum(axis=1) - 1), _ESTIMATED)
    leaks: Float32s = np.where(same, 0, estimated).astype(np.float32)
    return leaks
