"""Closed answer sets: guarantees are counted, broken ones are not reported, and sets are attacked as a whole."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.closed_sets import best_assignment, exact_sets
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs, gains, picked
from hf_vqa_mc.data import Benchmark
from tests.audits.planted import context_of, split_of, table_of, with_columns


def sets(count, size=3, question="which one is number {n}", image="{n}-{index}", seed=0, vocabulary=None):
    """Closed sets whose choices are shuffled; ``{n}`` is the set, ``{index}`` the target."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in range(count):
        first = n if vocabulary is None else n % vocabulary
        texts = [f"thing {first} {index}" for index in range(size)]
        for index in rng.permutation(size).tolist():
            order = rng.permutation(size)
            names = {"n": n, "index": index}
            choices = [texts[one] for one in order]
            label = order.tolist().index(index)
            rows.append((image.format(**names), question.format(**names), choices, label))
    return table_of(rows)


def exact(table, sets=None):
    context = context_of(table)
    found = exact_sets(context.rows, context.split.clusters, sets)
    return {sees: one.number for sees, one in found.items()}


def test_sets_of_one_question_and_of_one_image_are_exact_for_these_inputs():
    assert exact(sets(5, image="{n}")) == {ProbeInputs.CHOICES: 5, ProbeInputs.QUESTION: 5, ProbeInputs.IMAGE: 5}
    assert exact(sets(5)) == {ProbeInputs.CHOICES: 5, ProbeInputs.QUESTION: 5}
    assert exact(sets(5, question="which is {index}", image="{n}")) == {ProbeInputs.CHOICES: 5, ProbeInputs.IMAGE: 5}
    assert exact(sets(5, question="which is {index}")) == {ProbeInputs.CHOICES: 5}


def test_spelling_that_could_reveal_the_target_is_not_exact():
    table = sets(4)
    upper = [text.upper() + "?" if row % 2 else text for row, text in enumerate(table["question"].to_pylist())]
    assert exact(with_columns(table, question=upper)) == {ProbeInputs.CHOICES: 4}
    pairs = zip(table["choices"].to_pylist(), table["label"].to_pylist(), strict=True)
    capital = [[text.upper() if at == label else text for at, text in enumerate(row)] for row, label in pairs]
    assert exact(with_columns(table, choices=capital)) == {}


def test_named_sets_are_counted_as_they_are_scored():
    table = sets(6)  # as three Latin squares of two of these sets each
    assert exact(table, [f"square {row // 6}" for row in range(18)]) == {
        ProbeInputs.CHOICES: 3,
        ProbeInputs.QUESTION: 3,
    }
    assert exact(table, ["", *["a"] * 17])[ProbeInputs.CHOICES] == 6


def test_sets_of_different_sizes_are_counted():
    assert exact(pa.concat_tables([sets(3, size=2), sets(2, size=4)]))[ProbeInputs.CHOICES] == 5


@pytest.mark.parametrize("change", ["missing row", "wrong label", "another row"])
def test_a_split_with_one_row_outside_a_set_is_not_exact(change):
    table = sets(5)
    if change == "missing row":
        table = table.slice(1)
    if change == "another row":
        table = pa.concat_tables([table, sets(1, size=4, seed=1).slice(0, 1)])
    if change == "wrong label":
        labels = table["label"].to_pylist()
        labels[0] = (labels[0] + 1) % 3
        table = with_columns(table, label=labels)
    assert exact(table) == {}


def test_the_best_assignment_is_right_where_single_rows_are_not():
    rows = context_of(sets(30)).rows
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(3), len(rows))
    probabilities[:, 0] += 0.15
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    alone = (probabilities.argmax(axis=1) == 0).mean()
    joint = best_assignment(rows, probabilities, 0)
    assert joint.scores.mean() > alone
    assert set(np.bincount(joint.clusters).tolist()) == {3}


def test_rows_of_a_named_set_are_assigned_together_however_many_rows_share_the_choices():
    table = sets(30, vocabulary=1)
    rows, names = context_of(table).rows, [f"set {row // 3}" for row in range(90)]
    probabilities = np.full((90, 3), 0.2)
    probabilities[:, 0] = 0.6
    assert best_assignment(rows, probabilities, 0) is None  # 90 rows have the same choices
    joint = best_assignment(rows, probabilities, 0, sets=names)
    assert joint.scores.all()
    assert np.bincount(joint.clusters).tolist() == [3] * 30


def test_what_is_at_chance_in_each_set_has_no_interval_and_what_the_order_reveals_has_one():
    context = context_of(sets(40))
    groups = {sees: one.groups for sees, one in exact_sets(context.rows, None).items()}

    def gain_of(values, sees):
        scores = picked(values, context.rows)
        shortcut = Prediction(scores, name="made up", sees=sees, sentence="picks")
        return gains([shortcut], context.rows.chance, context.split.clusters, exact=groups)[0]

    preference = np.random.default_rng(0).random(len(context.rows.vocabulary.key_texts))[context.rows.keys]
    found = gain_of(preference, ProbeInputs.CHOICES)
    assert (found.estimate.gain, found.estimate.low, found.estimate.high, found.estimate.p) == (0, 0, 0, 1)
    assert "correct in 33.3% of the rows: exactly chance, due to the closed answer sets" in found.result
    first = gain_of(-context.rows.positions, ProbeInputs.CHOICES).estimate
    assert first.low < first.gain < first.high
    with_image = gain_of(preference, ProbeInputs.IMAGE).estimate
    assert with_image.low < with_image.high


def test_an_assignment_without_knowledge_is_at_chance_whatever_the_published_order():
    table = sets(300)
    first = [
        [row[label], *row[:label], *row[label + 1 :]]
        for row, label in zip(table["choices"].to_pylist(), table["label"].to_pylist(), strict=True)
    ]
    rows = context_of(with_columns(table, choices=first, label=[0] * len(table))).rows
    joint = best_assignment(rows, np.full((len(rows), 3), 1 / 3), 0)
    assert joint.scores.mean() == pytest.approx(1 / 3, abs=0.08)
    assert not gains([joint], rows.chance, np.arange(len(rows)))[0].alarm


@pytest.mark.slow
def test_the_audit_states_the_guarantee_and_what_was_measured():
    split = split_of(sets(60))
    done = audit(Benchmark("sets", None, "test", {"test": split}, None, {}), ProbeSettings(probe_rows=200))
    figures = done.as_json()
    assert figures["exact_sets"] == {"choices": 60, "question": 60}
    assert "Choices alone: exact by construction, 60 sets checked" in figures["verdict"]
    assert "is correct in 33.3% (measured: " in figures["verdict"]
    joint = next(gain for gain in done.gains if gain.name == "best assignment: question and choices")
    assert not joint.alarm
