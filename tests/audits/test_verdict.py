"""What an audit says: alarms, sentences, the order of shortcuts."""

import numpy as np
import pytest

from hf_vqa_mc.audits.estimates import ALARM_LEVEL
from hf_vqa_mc.audits.shortcut import Shortcut
from hf_vqa_mc.audits.verdict import exceeding, gains, verdict

ROWS = 1000
CHANCE = np.full(ROWS, 0.25)
ALONE = np.arange(ROWS)


def shortcut(name, right, knows="choices", **more):
    """A rule that is right in so many of 1,000 rows."""
    return Shortcut(name, knows, f"picks {name}", (np.arange(ROWS) < right).astype(float), **more)


def found(*shortcuts):
    return gains(shortcuts, CHANCE, ALONE)


def test_the_largest_gain_comes_first_and_only_what_beats_chance_raises_an_alarm():
    names = [
        (gain.shortcut.name, gain.alarm) for gain in found(shortcut("a", 240), shortcut("b", 400), shortcut("c", 255))
    ]
    assert names == [("b", True), ("c", False), ("a", False)]


def test_the_more_rules_are_tried_the_less_one_of_them_says():
    barely = shortcut("barely", 280)
    assert found(barely)[0].alarm
    crowd = [shortcut(f"rule {n}", 250) for n in range(30)]
    assert not found(barely, *crowd)[0].alarm
    assert found(barely, *crowd)[0].p_holm == pytest.approx(31 * found(barely)[0].p_holm)


def test_who_knows_everything_takes_no_shortcut():
    alone, both = found(shortcut("blind", 280)), found(shortcut("blind", 280), shortcut("all", 900, "everything"))
    assert both[0].shortcut.name == "all"
    assert not both[0].alarm
    assert both[1].p_holm == alone[0].p_holm
    assert exceeding(both, 0.0) == [both[1]]
    assert "all" not in verdict(both, 0.25)


def test_what_was_learnt_from_the_rows_themselves_is_less_certain():
    plain, folded = (found(shortcut("x", 300, folds=folds))[0].estimate for folds in (0, 5))
    assert folded.gain == plain.gain
    assert folded.high - folded.low == pytest.approx(1.5 * (plain.high - plain.low), rel=0.01)


def test_exceeding_goes_by_the_end_of_the_interval():
    strong = found(shortcut("x", 400))
    assert strong[0].estimate.low > 0.1
    assert exceeding(strong, strong[0].estimate.low - 1e-9) == strong
    assert exceeding(strong, strong[0].estimate.gain) == []


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (400, "is right in 40.0% of the rows, 15.0 points above chance (95% interval +11."),
        (250, "is right in 25.0% of the rows; that is not reliably more than chance (95% interval -2."),
        (100, "is right in 10.0% of the rows, 15.0 points below chance (95% interval -16."),
    ],
)
def test_sentences_say_what_was_found(right, said):
    assert said in found(shortcut("x", right))[0].sentence


def test_the_verdict_names_the_strongest_of_each_kind_of_knowledge():
    said = verdict(found(shortcut("long", 400), shortcut("longer", 450), shortcut("asked", 600, "question")), 0.25)
    assert "3 of 3 shortcuts beat chance, which is 25.0%" in said
    assert "Without the image, 60.0% of the rows are answered (asked, +35.0 points)." in said
    assert "45.0% of the rows are answered (longer" in said
    assert "(long," not in said
    assert "Without the question, " not in said
    none = verdict(found(shortcut("x", 250)), 0.25)
    assert "None of 1 shortcuts reliably beats chance (25.0%). That is no proof" in none


def test_sound_benchmarks_raise_an_alarm_as_rarely_as_stated():
    draws = np.random.default_rng(0)
    alarms = 0
    for _ in range(400):
        labels = draws.integers(0, 4, ROWS)
        rules = [Shortcut(f"choice {n}", "choices", "", (labels == n).astype(float)) for n in range(4)]
        alarms += any(gain.alarm for gain in gains(rules, CHANCE, ALONE))
    assert alarms / 400 <= ALARM_LEVEL + 3 * np.sqrt(ALARM_LEVEL / 400)
