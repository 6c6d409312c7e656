"""Rules without training: each picks what its name says, and planted shortcuts are found as large as they are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits.closed_sets import folds_of
from hf_vqa_mc.audits.probes.heuristics import COSINES
from hf_vqa_mc.audits.probes.priors import ORDERS
from hf_vqa_mc.audits.shortcut import ALARM_LEVEL, FOLDS, estimate, gains, holm
from tests.audits.planted import HEURISTICS, RULES, context_of, planted, ran, split_of, with_columns

OTHERS = [*ORDERS, COSINES[-1]]
"""Rules that use the order, and one whose ties depend on it."""
FIXED = [probe for probe in HEURISTICS if probe not in OTHERS]


def picked(*rows, placed=True):
    questions, choices, labels = zip(*rows, strict=True)
    table = pa.table({"question": questions, "choices": choices, "label": labels})
    context = context_of(table, placed=placed, folds=np.arange(len(rows), dtype=np.int8) % FOLDS)
    return {name: shortcut.scores.tolist() for name, shortcut in ran(context, FIXED)[0].items()}


def test_positions_are_published_ones_and_missing_positions_pick_at_random():
    scores = picked(("?", ["a", "b", "c"], 2), ("?", ["d", "e"], 1), ("?", ["f", "g"], 0))
    assert scores["choice A"] == [0, 0, 1]
    assert scores["choice B"] == [0, 1, 0]
    assert scores["choice C"] == [1, 0.5, 0.5]
    assert scores["last choice"] == [1, 1, 0]


SPELLED = [("?", ["a red ball", "a red bell", "elephant"], 2), ("?", ["cat", "cats", "dog"], 0)]
PICKS = {
    "longest choice":
        ([("?", ["ééé", "abcd", "x"], 0), ("?", ["aa", "bb", "c"], 1), ("?", ["  a  ", "bb"], 1)], [0, 0.5, 1]),
    "most frequent choice":
        ([("?", ["Red", "blue"], 0), ("?", ["red.", "green"], 0), ("?", ["RED", "black"], 1)], [1, 1, 0]),
    "odd one out": (SPELLED, [1, 0]),
    "most like the others": (SPELLED, [0, 0.5]),
    "most words of the question":
        ([("Is the cat red?", ["a red cat", "the cat", "dog"], 1), ("Two?", ["2", "one"], 0)], [1, 1]),
}  # fmt: skip
"""Rule to rows and its scores: ties are shared, case does not matter, numbers are words."""


@pytest.mark.parametrize("rule", PICKS)
def test_a_rule_picks_what_its_name_says(rule):
    rows, scores = PICKS[rule]
    assert picked(*rows)[rule] == scores


def test_at_most_ten_positions_have_heuristics():
    scores = picked(("?", [f"choice {n}" for n in range(12)], 0), ("?", ["x", "y"], 0))
    assert [name for name in scores if name.startswith("choice ")] == [f"choice {letter}" for letter in "ABCDEFGHIJ"]


def test_heuristics_without_preferences_are_omitted():
    scores = picked(("?", ["ab", "cd"], 0), ("?", ["ef", "gh"], 1), placed=False)
    assert not {"longest choice", "odd length", "other script", "median number", "punctuation at the end"} & set(
        scores
    )
    assert {"answer prior (eq. 2)", "question and answer prior", "similar choices prior"} < set(scores)


texts = st.text(st.sampled_from("ab é-世"), max_size=6)
some_rows = st.lists(
    st.tuples(texts, st.lists(texts, min_size=1, max_size=5), st.integers(0, 4)).map(
        lambda row: (row[0], row[1], row[2] % len(row[1]))
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(deadline=None)  # the first call compiles
@given(some_rows, st.randoms())
def test_heuristics_do_not_depend_on_the_order_of_choices(rows, rng):
    moved = []
    for question, choices, label in rows:
        order = rng.sample(range(len(choices)), len(choices))
        moved.append((question, [choices[index] for index in order], order.index(label)))
    assert picked(*rows, placed=False) == picked(*moved, placed=False)


@settings(deadline=None)
@given(some_rows)
def test_with_any_label_the_scores_of_a_row_sum_to_one(rows):
    permuted = [(question, choices, label) for question, choices, _ in rows[:1] for label in range(len(choices))]
    for name, scores in picked(*permuted).items():
        if "prior" not in name and name != "last choice":
            assert sum(scores) == pytest.approx(1.0)


def test_rows_of_one_image_are_in_one_fold_whatever_the_other_rows():
    table = planted("none", 0.0, 500, 0)[0]
    folds, images = folds_of(split_of(table)), np.array(table["image_id"])
    assert all(len(set(folds[images == image].tolist())) == 1 for image in set(images.tolist()))
    assert set(folds.tolist()) == set(range(FOLDS))
    assert folds_of(split_of(table.slice(100, 50))).tolist() == folds[100:150].tolist()
    without = with_columns(table, image_id=[""] * 500)
    assert np.bincount(folds_of(split_of(without))).min() > 60  # by question_id


def audited(bias, strength, size, seed):
    table, _, truth = planted(bias, strength, size, seed)
    context = context_of(table)
    rng, clusters = context.rows.chance, context.split.clusters
    found, _ = ran(context, HEURISTICS)
    return {name: estimate(one.scores, rng, clusters, one.inflation) for name, one in found.items()}, truth


@pytest.mark.slow
@pytest.mark.parametrize("bias", [bias for bias, rule in RULES.items() if rule])
def test_a_planted_shortcut_is_found_as_large_as_it_is(bias):
    inside = 0
    for seed in range(9):
        results, truth = audited(bias, (0.1, 0.3, 0.6)[seed % 3], 300, seed)
        inside += results[RULES[bias]].low <= truth <= results[RULES[bias]].high
    assert inside >= 8


@pytest.mark.slow
def test_a_dataset_without_shortcuts_raises_no_alarm():
    alarms = sum(
        min(holm([result.p for result in audited("none", 0.0, 600, seed)[0].values()])) < ALARM_LEVEL
        for seed in range(20)
    )
    assert alarms <= 2


@pytest.mark.slow
def test_priors_do_not_exceed_the_true_gain():
    for seed in range(10):
        results, truth = audited("question cue", 0.6, 2000, seed)
        assert 0.05 < results["question and answer prior"].low < truth
        assert results["answer prior (eq. 2)"].p > 0.001


def test_priors_count_the_training_split_if_there_is_one():
    train, table = planted("question cue", 0.6, 3000, 1)[0], planted("question cue", 0.6, 500, 2)[0]
    found, _ = ran(context_of(table, train), HEURISTICS)
    counted = {name: shortcut for name, shortcut in found.items() if "prior" in name}
    assert [shortcut.folds for shortcut in counted.values()] == [0, 0, 0]
    assert counted["question and answer prior"].scores.mean() == pytest.approx(0.25 + 0.45, abs=0.07)


@pytest.mark.parametrize("share", [0.15, 0.35])
def test_decoys_that_repeat_a_word_of_the_question_are_found_in_few_rows(share):
    table = planted("none", 0.0, 1200, 0)[0]
    rng, rows = np.random.default_rng(0), zip(table["choices"].to_pylist(), table["label"].to_pylist(), strict=True)
    words = [row[(label + 1) % 4] if rng.random() < share else "thing" for row, label in rows]
    context = context_of(with_columns(table, question=[f"what is the {word} of it" for word in words]))
    found = gains(list(ran(context, FIXED)[0].values()), context.rows.chance, context.split.clusters)
    assert [gain.name for gain in found if gain.alarm] == ["fewest words of the question"]
