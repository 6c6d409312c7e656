"""Intervals cover what they should; alarms, sentences and the order of shortcuts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.audits.shortcut import (
    ALARM_LEVEL,
    NotRun,
    Prediction,
    ProbeInputs,
    estimate,
    exceeding,
    gains,
    not_tested,
    verdict,
)


def test_intervals_are_clustered_by_image():
    scores, chance = np.repeat([1.0, 0.0], 50), np.full(100, 0.25)
    alone = estimate(scores, chance, np.arange(100))
    together = estimate(scores, chance, np.arange(100) // 5)
    assert together.gain == alone.gain == 0.25
    assert together.low < alone.low < alone.gain < alone.high < together.high
    assert together.p > alone.p


def test_an_image_with_most_of_the_rows_does_not_dominate():
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


ROWS = 1000
CHANCE = np.full(ROWS, 0.25)
ALONE = np.arange(ROWS)


def shortcut(name, right, sees="choices", **more):
    """A rule that is right in so many of 1,000 rows."""
    return Prediction(
        (np.arange(ROWS) < right).astype(float), name=name, sees=ProbeInputs(sees), sentence=f"picks {name}", **more
    )


def found(*shortcuts):
    return gains(shortcuts, CHANCE, ALONE)


def test_gains_are_sorted_and_only_significant_ones_are_alarms():
    names = [(gain.name, gain.alarm) for gain in found(shortcut("a", 240), shortcut("b", 400), shortcut("c", 255))]
    assert names == [("b", True), ("c", False), ("a", False)]


def test_p_values_are_corrected_for_the_number_of_shortcuts():
    barely = shortcut("barely", 280)
    assert found(barely)[0].alarm
    crowd = [shortcut(f"rule {n}", 250) for n in range(30)]
    assert not found(barely, *crowd)[0].alarm
    assert found(barely, *crowd)[0].p_holm == pytest.approx(31 * found(barely)[0].p_holm)


def test_a_probe_with_all_inputs_is_no_shortcut():
    alone, both = found(shortcut("blind", 280)), found(shortcut("blind", 280), shortcut("all", 900, "everything"))
    assert both[0].name == "all"
    assert not both[0].alarm
    assert both[1].p_holm == alone[0].p_holm
    assert exceeding(both, 0.0) == [both[1]] == exceeding(both, both[1].estimate.low - 1e-9)
    assert exceeding(both, both[1].estimate.gain) == []
    assert "all" not in verdict(both, 0.25)


def test_cross_validated_shortcuts_have_wider_intervals():
    plain, folded = (found(shortcut("x", 300, folds=folds))[0].estimate for folds in (0, 5))
    assert folded.gain == plain.gain
    assert folded.high - folded.low == pytest.approx(1.5 * (plain.high - plain.low), rel=0.01)


def test_a_shortcut_fitted_on_folds_is_its_own_cross_fitted_one():
    folded, fitted, plain = found(shortcut("a", 400, folds=5), shortcut("b", 300, fitted=True), shortcut("c", 200))
    assert [gain.fitted_on for gain in (folded, fitted, plain)] == ["folds", "train", None]
    assert folded.cross_fitted == folded.estimate
    assert fitted.cross_fitted is plain.cross_fitted is None
    again = gains([fitted], CHANCE, ALONE, [shortcut("b", 350, folds=5)])[0]
    assert (again.estimate.accuracy, again.cross_fitted.accuracy) == (0.3, 0.35)


@pytest.mark.parametrize(
    ("right", "sentence"),
    [
        (400, "is correct in 40.0% of the rows, 15.0 points above chance (95% interval +11."),
        (250, "is correct in 25.0% of the rows; that is not significantly above chance (95% interval -2."),
        (100, "is correct in 10.0% of the rows, 15.0 points below chance (95% interval -16."),
    ],
)
def test_sentences_describe_the_gain(right, sentence):
    assert sentence in found(shortcut("x", right))[0].result


def test_the_verdict_names_the_strongest_shortcut_of_each_set_of_inputs():
    text = verdict(found(shortcut("long", 400), shortcut("longer", 450), shortcut("both", 600, "question")), 0.25)
    assert text.startswith("3 of 3 shortcuts without the image are significantly above chance (25.0%). For ")
    assert "Without the image, 60.0% of the rows are answered correctly (both, +35.0 points)." in text
    assert "45.0% of the rows are answered correctly (longer" in text
    assert "(long," not in text
    assert "Without the question, " not in text
    text = verdict(found(shortcut("x", 250)), 0.25)
    assert text.startswith("None of 1 tested shortcut without the image is significantly above chance (25.0%). ")
    assert text.endswith("Other shortcuts may exist.")


def test_the_sentence_with_the_number_of_shortcuts_names_what_was_not_tested():
    no_images = "no column of a.csv is recognised as images; name it with --image"
    late = [NotRun(f"probe {number}", "the time limit was reached") for number in range(4)]
    missing = not_tested([NotRun("probes that see images", no_images), NotRun("trained probes", "--no-probes"), *late])
    expected = (
        "; not tested: probes that see images (no column of a.csv is recognised as images); trained probes "
        "(--no-probes); 4 probes (the time limit was reached). "
    )
    for right, counted in (
        (250, "None of 1 tested shortcut without the image is"),
        (400, "1 of 1 shortcut without the image is"),
    ):
        text = verdict(found(shortcut("x", right)), 0.25, missing=missing)
        assert text.startswith(f"{counted} significantly above chance (25.0%){expected}")
    seen = verdict(found(shortcut("x", 250), shortcut("y", 250, "image")), 0.25)
    assert seen.startswith("None of 2 tested shortcuts is significantly above chance (25.0%). ")


def test_the_verdict_on_few_rows_is_that_they_are_too_few():
    ten = Prediction(np.arange(10) < 5.0, name="x", sees=ProbeInputs("choices"), sentence="picks x")
    text = verdict(gains([ten], np.full(10, 0.25), np.arange(10) // 2), 0.25, images=5)
    assert (
        "None of 1" in text
        and "These rows (10 about 5 images) are too few for a verdict: gains are uncertain by about" in text
    )


@pytest.mark.slow
def test_the_familywise_error_rate_is_as_stated():
    draws = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        labels = draws.integers(0, 4, ROWS)
        rules = [
            Prediction((labels == n).astype(float), name=f"choice {n}", sees=ProbeInputs.CHOICES, sentence="")
            for n in range(4)
        ]
        alarms += any(gain.alarm for gain in gains(rules, CHANCE, ALONE))
    assert alarms / 400 <= ALARM_LEVEL + 3 * np.sqrt(ALARM_LEVEL / 400)
