"""Exchanging rows between closed sets: sets stay valid, and their leaks become smaller."""

from itertools import combinations, product

import numpy as np
import pytest

from hf_vqa_mc.decoys import closed_set_builder
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.decoy_table import IndexedTriplets
from hf_vqa_mc.decoys.propensity_model import Propensities
from hf_vqa_mc.decoys.set_rows import SCALE, may_share, rows_of, swap_rows
from hf_vqa_mc.decoys.settings import Settings
from tests.decoys.test_closed_sets import ANSWERS, triplets

SIZE, DIMENSIONS, FAR = 3, 6, 2 * SCALE


def world(seed, n_rows=90, extra=15, far=()):
    """Rows in sets of 3 and some in no set, with random propensities, and two groups of rows."""
    rng = np.random.default_rng(seed)
    given = [(at // 2, f"what is number {at}", ANSWERS[at % SIZE]) for at in range(n_rows)]
    given += [(n_rows + at, f"what is number {n_rows + at}", str(rng.choice(ANSWERS))) for at in range(extra)]
    given[1] = (*given[1], [given[1][2], *ANSWERS[SIZE:]])  # human answers that exclude the targets of some others
    indexed = IndexedTriplets(triplets(given), Settings())
    rows = rows_of(indexed)
    coordinates = rng.integers(-FAR // 8, FAR // 8, size=(len(given), 2))
    coordinates[far] += FAR  # their sets cannot exchange rows with others
    rows = rows._replace(coordinates=coordinates.astype(np.int16))
    n_keys = len(indexed.candidates.key_texts)
    propensities = Propensities(
        questions=rng.normal(size=(len(given), DIMENSIONS)).astype(np.float32),
        answers=rng.normal(size=(2, n_keys, DIMENSIONS)).astype(np.float32),
        bias=rng.normal(size=(2, n_keys)).astype(np.float32),
        folds=rng.integers(2, size=len(given)),
        classes=np.arange(n_keys),
    )
    partners = np.full((len(given), SIZE - 1), MISSING, np.int32)
    for first in range(0, n_rows, SIZE):
        for at in range(SIZE):
            partners[first + at] = [first + other for other in range(SIZE) if other != at]
    middle = n_rows // 2
    groups = np.arange(len(given)), np.array([0, middle, len(given)])
    return indexed, rows, propensities, partners, groups


def leak(partners, propensities, rows):
    first = np.flatnonzero((partners[:, 0] != MISSING) & (np.arange(len(partners)) < partners.min(axis=1)))
    sets = np.concatenate([first[:, None], partners[first]], axis=1)
    return closed_set_builder._leaks(sets, sets != MISSING, propensities, rows), sets


@pytest.mark.parametrize("seed", range(4))
def test_sets_stay_valid_and_leak_less(seed):
    indexed, rows, propensities, partners, groups = world(seed)
    before, given = leak(partners, propensities, rows)
    tables = indexed.tables
    swap_rows(groups, partners, propensities, rows, tables)
    after, found = leak(partners, propensities, rows)
    assert len(found) == len(given) and len(np.unique(found)) == found.size
    assert after.sum() < 0.7 * before.sum()
    middle = groups[1][1]
    for one in found:
        assert len(set(rows.targets[one])) == SIZE
        assert (one < middle).all() or (one >= middle).all()  # sets stay in their groups
        for row in one:
            assert set(partners[row]) == set(one) - {row}
        newcomers = [(a, b) for a in one for b in one if a < b and set(one) not in map(set, given)]
        assert all(may_share(a, b, rows, tables) for a, b in newcomers)


def test_repeated_until_nothing_changes_no_exchange_of_two_rows_would_decrease_the_leak():
    indexed, rows, propensities, partners, groups = world(9, n_rows=24, extra=0)
    tables, before = indexed.tables, None
    while before is None or (before != partners).any():
        before = partners.copy()
        swap_rows(groups, partners, propensities, rows, tables)
    leaks, sets = leak(partners, propensities, rows)
    in_first, tried_any = sets[:, 0] < groups[1][1], False
    for one, other in combinations(range(len(sets)), 2):
        if in_first[one] != in_first[other]:
            continue
        for a, b in product(range(SIZE), repeat=2):
            tried = sets.copy()
            tried[one, a], tried[other, b] = sets[other, b], sets[one, a]
            changed = [combinations(tried[one], 2), combinations(tried[other], 2)]
            pairs = [pair for of_set in changed for pair in of_set]
            if all(rows.targets[c] != rows.targets[d] and may_share(c, d, rows, tables) for c, d in pairs):
                tried_any = True
                found = closed_set_builder._leaks(tried, np.ones(tried.shape, bool), propensities, rows)
                assert found.sum() > leaks.sum() - 1e-4
    assert tried_any


def test_rows_join_only_near_ones():
    far = list(range(9))
    indexed, rows, propensities, partners, _ = world(5, far=far)
    whole = np.arange(len(partners)), np.array([0, len(partners)])
    before = partners.copy()
    swap_rows(whole, partners, propensities, rows, indexed.tables)
    assert (partners != before).any()
    assert set(partners[far].ravel().tolist()) == set(far)
