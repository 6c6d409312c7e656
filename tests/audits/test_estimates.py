"""Intervals hold what they say, and Holm's correction is his."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.audits.estimates import estimate, holm


def test_rows_of_one_image_count_for_less_than_rows_of_their_own():
    scores, chance = np.repeat([1.0, 0.0], 50), np.full(100, 0.25)
    alone = estimate(scores, chance, np.arange(100))
    together = estimate(scores, chance, np.arange(100) // 5)
    assert together.gain == alone.gain == 0.25
    assert together.low < alone.low < alone.gain < alone.high < together.high
    assert together.p > alone.p


def test_numbers_of_images_may_have_gaps():
    scores, chance = np.array([1.0, 0.0, 1.0, 1.0]), np.full(4, 0.5)
    assert estimate(scores, chance, np.array([7, 7, 2, 9])) == estimate(scores, chance, np.array([0, 0, 1, 2]))


def test_one_image_says_next_to_nothing():
    result = estimate(np.ones(10), np.full(10, 0.25), np.zeros(10, np.int64))
    assert result.low < 0 < result.gain
    assert result.p > 0.05


def test_what_was_learnt_from_the_same_rows_is_less_sure():
    scores, chance = np.repeat([1.0, 0.0], 50), np.full(100, 0.25)
    plain, learnt = (estimate(scores, chance, np.arange(100), inflation) for inflation in (1.0, 1.5))
    assert learnt.low < plain.low < plain.high < learnt.high
    assert learnt.p > plain.p


def test_where_chance_is_certain_nothing_is_gained():
    result = estimate(np.ones(10), np.ones(10), np.arange(10))
    assert (result.gain, result.p) == (0.0, 1.0)


def test_an_image_with_most_of_the_rows_cannot_vouch_for_itself():
    draws = np.random.default_rng(0)
    for most in (450, 250, 500):
        alarms = covered = 0
        for _ in range(100):
            scores = (draws.random(500) < 0.25).astype(float)
            clusters = np.maximum(np.arange(500) - most + 1, 0)
            result = estimate(scores, np.full(500, 0.25), clusters)
            alarms += result.p < 0.025
            covered += result.low <= 0 <= result.high
        assert alarms <= 5
        assert covered >= 95


def test_few_expected_hits_are_counted_exactly():
    scores = np.repeat([1.0, 0.0], [3, 47])
    assert 0.0138 < estimate(scores, np.full(50, 0.01), np.arange(50)).p < 0.016  # 3 or more of 50, binomially: 0.0138


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 8), st.integers(0, 5)), min_size=1, max_size=40))
def test_the_gain_lies_in_its_interval(rows):
    scores, choices, clusters = (np.array(column) for column in zip(*rows, strict=True))
    result = estimate(scores.astype(float), 1 / choices, clusters)
    assert np.isfinite([result.low, result.high, result.p]).all()
    assert result.low - 1e-9 <= result.gain <= result.high + 1e-9
    assert 0 <= result.p <= 1


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_steps_down_from_the_smallest(p_values):
    adjusted, running = {}, 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = running
    assert holm(p_values) == pytest.approx([adjusted[place] for place in range(len(p_values))])
