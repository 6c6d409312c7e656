"""The fast probes find what is planted and nothing else, and never look at the labels of the evaluated rows."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from hf_vqa_mc.audits.closed_sets import folds_of
from hf_vqa_mc.audits.probes.models import PAIR_MODELS
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.audits.shortcut import ProbeInputs, estimate
from tests.audits.planted import MODELS, context_of, planted, ran, split_of, with_columns

CHOICES, QUESTION = "choices alone", "question and choices"
SEES = {
    "position": CHOICES,
    "length": CHOICES,
    "frequency": CHOICES,
    "question overlap": QUESTION,
    "question cue": QUESTION,
    "image cue": "image and choices",
}


def audited(bias, strength, n_rows, seed):
    """Name to shortcut, its estimate, and the true gain."""
    table, vectors, truth = planted(bias, strength, n_rows, seed)
    context = context_of(table, vectors=vectors)
    found, _ = ran(context, MODELS)
    chance, clusters = context.rows.chance, context.split.clusters
    estimates = {name: estimate(one.scores, chance, clusters, one.inflation) for name, one in found.items()}
    return found, estimates, truth


@pytest.mark.parametrize(
    "bias", [bias if bias == "question cue" else pytest.param(bias, marks=pytest.mark.slow) for bias in SEES]
)
def test_what_is_planted_is_found_by_both_models_that_may_know_it(bias):
    _, estimates, truth = audited(bias, 0.6, 900, 3)
    for model in ("logistic regression", "random forest"):
        gain = estimates[f"{model}: {SEES[bias]}"]
        assert 0.5 * truth < gain.gain
        assert gain.low <= truth
        assert gain.p < 0.001


@pytest.mark.parametrize(
    ("marked", "plain"), [("{0}\u00a0x".format, "{0} x".format), (lambda text: f"a{text.capitalize()}", "a{0}".format)]
)
def test_spaces_and_capitals_that_only_the_target_has_are_found(marked, plain):
    table, _, _ = planted("none", 0.0, 300, 0)
    choices, labels = table["choices"].to_pylist(), table["label"].to_pylist()
    for row, label in zip(choices, labels, strict=True):
        row[:] = [marked(text) if index == label else plain(text) for index, text in enumerate(row)]
    (found,) = ran(context_of(with_columns(table, choices=choices)), PAIR_MODELS[:1])[0].values()
    assert found.scores.mean() > 0.95


@pytest.mark.slow
def test_where_nothing_is_planted_nothing_is_found():
    _, estimates, _ = audited("none", 0.0, 900, 1)
    assert len(estimates) == 6
    for gain in estimates.values():
        assert gain.low <= 0.0
        assert gain.p > 0.01


@pytest.mark.slow
def test_the_order_of_choices_is_no_shortcut_where_the_benchmark_tells_none():
    table, _, _ = planted("position", 1.0, 400, 0)  # the target always first
    for shortcut in ran(context_of(table, placed=False), MODELS)[0].values():
        assert shortcut.scores.mean() == pytest.approx(0.25, abs=0.12)


@pytest.mark.slow
def test_labels_of_the_evaluated_rows_change_no_answer(monkeypatch):
    # without rounding, which turns a difference in the last digit into one of 1e-5 where a value is on the boundary
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.DECIMALS", 15)
    table, _, _ = planted("question cue", 0.6, 300, 0)
    split = split_of(table)
    folds = folds_of(split)
    labels = table["label"].to_numpy().copy()
    evaluated = np.flatnonzero(folds == folds[0])
    labels[evaluated] = np.random.default_rng(5).integers(4, size=len(evaluated))
    other, answers = with_columns(table, label=labels), []
    for one in (table, other):
        # One vocabulary for both, so that texts have the same numbers whatever the labels are.
        rows = number_rows({"both": table, "test": one})["test"]
        context = context_of(one, folds=folds, vectors=np.zeros((300, 3), np.float32), rows=rows)
        found = {}
        for name, shortcut in ran(context, MODELS)[0].items():
            by_position = np.zeros(shortcut.probabilities.shape)
            np.put_along_axis(by_position, rows.positions, shortcut.probabilities, axis=1)
            found[name] = by_position[evaluated]
        answers.append(found)
    assert len(answers[0]) == 12
    for name, probabilities in answers[0].items():
        np.testing.assert_allclose(probabilities, answers[1][name], atol=1e-6, err_msg=name)


def test_labels_of_a_training_split_are_used_and_those_of_the_evaluated_split_are_not_needed():
    train, _, _ = planted("question cue", 0.6, 900, 1)
    table, _, truth = planted("question cue", 0.6, 300, 0)
    found, _ = ran(context_of(table, train), MODELS)
    assert {shortcut.folds for shortcut in found.values()} == {0}
    best = max(float(shortcut.scores.mean()) for shortcut in found.values())
    assert best == pytest.approx(0.25 + truth, abs=0.12)


def test_a_number_that_is_counted_from_labels_never_holds_the_rows_own():
    table, _, _ = planted("frequency", 0.6, 200, 0)
    labels = table["label"].to_numpy().copy()
    folds = folds_of(split_of(table))
    one = int(np.flatnonzero(folds != 0)[0])
    labels[one] = (labels[one] + 1) % 4
    other, found = with_columns(table, label=labels), []
    for each in (table, other):
        rows = number_rows({"both": table, "test": each})["test"]
        context = context_of(each, folds=folds, rows=rows)
        part = next(part for part in context.parts if one in part.train)
        columns, _ = context.features.of(ProbeInputs.QUESTION, part, sparse=False)
        choices = columns.reshape(len(part.train), 4, -1)[part.train.tolist().index(one)]
        found.append(choices[np.argsort(context.shuffled.positions[one])])
    np.testing.assert_array_equal(*found)


texts = st.text(st.sampled_from("ab 2.<\0é'"), max_size=6)
some_rows = st.lists(
    st.tuples(texts, st.lists(texts, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 4)),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(rows=some_rows)
def test_any_rows_can_be_evaluated(rows):
    table = pa.table(
        {
            "question": [question for question, *_ in rows],
            "choices": [choices for _, choices, *_ in rows],
            "label": [label % len(choices) for _, choices, label, _ in rows],
        }
    )
    folds = np.array([fold for *_, fold in rows])
    found, not_run = ran(context_of(table, folds=folds, probe_rows=100), MODELS)
    assert bool(not_run) == (len(set(folds)) == 1)
    for shortcut in found.values():
        assert ((shortcut.scores >= 0) & (shortcut.scores <= 1)).all()
        np.testing.assert_allclose(shortcut.probabilities.sum(axis=1), 1)


def test_forests_leave_the_warning_filters_as_they_were(monkeypatch):
    fit = RandomForestClassifier.fit

    def racing(forest, *given):
        warnings.resetwarnings()  # what scikit-learn's threads may leave behind
        warnings.warn("for nothing", UserWarning, stacklevel=1)
        return fit(forest, *given)

    monkeypatch.setattr(RandomForestClassifier, "fit", racing)
    filters = [*warnings.filters]
    table = planted("length", 0.6, 200, 3)[0]
    with warnings.catch_warnings(record=True) as seen:
        ran(context_of(table), [one for one in PAIR_MODELS if one.name == "random forest: choices alone"])
    assert seen == []
    assert warnings.filters == filters
