"""The fast probes find what is planted and nothing else, and never look at the labels of the rows asked."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits import number_rows
from hf_vqa_mc.audits.estimates import estimate
from hf_vqa_mc.audits.fast_probes import fast_probes
from hf_vqa_mc.audits.folds import folds_of
from hf_vqa_mc.audits.parts import divided
from hf_vqa_mc.audits.probe_features import ProbeFeatures
from hf_vqa_mc.audits.probed import NotRun
from tests.audits.planted import planted, split_of

CHOICES, QUESTION = "choices alone", "question and choices"
SEES = {
    "position": CHOICES,
    "length": CHOICES,
    "frequency": CHOICES,
    "question overlap": QUESTION,
    "question cue": QUESTION,
    "image cue": "image and choices",
}


@pytest.fixture(autouse=True, scope="module")
def _small_forests():
    """A tenth of the trees: enough for what is planted here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_vqa_mc.audits.pair_models.TREES", 20)
        yield


def asked_about(bias, strength, n_rows, seed, **options):
    """Name to probe, and the split."""
    table, vectors, truth = planted(bias, strength, n_rows, seed)
    split = split_of(table)
    options = {"placed": True, "most_rows": 5000, "image_vectors": (vectors, None)} | options
    rows = number_rows({"test": table})["test"]
    found = {one.shortcut.name: one for one in fast_probes(rows, folds_of(split), None, **options)}
    return found, split, rows, truth


@pytest.mark.parametrize("bias", SEES)
def test_what_is_planted_is_found_by_both_models_that_may_know_it(bias):
    found, split, rows, truth = asked_about(bias, 0.6, 900, 3)
    for model in ("logistic regression", "random forest"):
        shortcut = found[f"{model}: {SEES[bias]}"].shortcut
        told = estimate(shortcut.scores, rows.chance, split.clusters, shortcut.inflation)
        assert 0.5 * truth < told.gain
        assert told.low <= truth
        assert told.p < 0.001


def test_where_nothing_is_planted_nothing_is_found():
    found, split, rows, _ = asked_about("none", 0.0, 900, 1)
    assert len(found) == 4
    for probe in found.values():
        told = estimate(probe.shortcut.scores, rows.chance, split.clusters, probe.shortcut.inflation)
        assert told.low <= 0.0
        assert told.p > 0.01


def test_the_order_of_choices_is_no_shortcut_where_the_benchmark_tells_none():
    table, _, _ = planted("position", 1.0, 400, 0)  # the target always first
    rows, folds = number_rows({"test": table})["test"], folds_of(split_of(table))
    for probe in fast_probes(rows, folds, None, placed=False, most_rows=5000):
        assert probe.shortcut.scores.mean() == pytest.approx(0.25, abs=0.12)


def test_labels_of_the_rows_asked_change_no_answer():
    table, _, _ = planted("question cue", 0.6, 300, 0)
    split = split_of(table)
    folds = folds_of(split)
    labels = table["label"].to_numpy().copy()
    asked = np.flatnonzero(folds == folds[0])
    labels[asked] = np.random.default_rng(5).integers(4, size=len(asked))
    other = table.set_column(table.column_names.index("label"), "label", pa.array(labels))
    answers = []
    for one in (table, other):
        # One vocabulary for both, so that texts have the same numbers whatever the labels are.
        rows = number_rows({"both": table, "test": one})["test"]
        options = {"placed": True, "most_rows": 5000, "image_vectors": (np.zeros((300, 3), np.float32), None)}
        found = {}
        for probe in fast_probes(rows, folds, None, **options):
            in_place = np.zeros(probe.chances.shape)
            np.put_along_axis(in_place, rows.places, probe.chances, axis=1)
            found[probe.shortcut.name] = in_place[asked]
        answers.append(found)
    assert len(answers[0]) == 8
    for name, chances in answers[0].items():
        np.testing.assert_allclose(chances, answers[1][name], atol=1e-6, err_msg=name)


def test_labels_of_a_training_split_are_used_and_those_asked_are_not_needed():
    train, _, _ = planted("question cue", 0.6, 900, 1)
    table, _, truth = planted("question cue", 0.6, 300, 0)
    rows = number_rows({"train": train, "test": table})
    probes = list(fast_probes(rows["test"], np.zeros(300, np.int8), rows["train"], placed=True, most_rows=5000))
    assert all(probe.shortcut.folds == 0 for probe in probes)
    best = max(float(probe.shortcut.scores.mean()) for probe in probes)
    assert best == pytest.approx(0.25 + truth, abs=0.12)


def test_a_number_that_is_counted_from_labels_never_holds_the_rows_own():
    table, _, _ = planted("frequency", 0.6, 200, 0)
    labels = table["label"].to_numpy().copy()
    folds = folds_of(split_of(table))
    one = int(np.flatnonzero(folds != 0)[0])
    labels[one] = (labels[one] + 1) % 4
    other = table.set_column(table.column_names.index("label"), "label", pa.array(labels))
    found = []
    for each in (table, other):
        rows = number_rows({"both": table, "test": each})["test"]
        dealt, parts = divided(rows, folds, None, None, 5000, np.random.default_rng(0))
        part = next(part for part in parts if one in part.learn)
        columns, _ = ProbeFeatures(dealt, True, None, 0).of("question", part, sparse=False)
        choices = columns.reshape(len(part.learn), 4, -1)[part.learn.tolist().index(one)]
        found.append(choices[np.argsort(dealt.places[one])])
    np.testing.assert_array_equal(*found)


def test_chances_sum_to_one_and_what_is_no_choice_has_none():
    table = pa.table(
        {
            "question": ["what is it", "is it 2", "how many or few", "?"] * 6,
            "choices": [["a"], ["yes", "no"], ["1", "two", "3 <b>", "", "all of the above"], ["x", "y", "z"]] * 6,
            "label": [0, 1, 4, 2] * 6,
        }
    )
    rows = number_rows({"test": table})["test"]
    for probe in fast_probes(rows, np.arange(24) % 5, None, placed=True, most_rows=10):
        assert probe.chances.shape == rows.texts.shape
        np.testing.assert_allclose(probe.chances.sum(axis=1), 1)
        assert (probe.chances[~rows.there] == 0).all()
        assert (probe.shortcut.scores[::4] == 1).all()  # rows of one choice


def test_the_same_seed_gives_the_same_answers():
    first, *_ = asked_about("length", 0.3, 200, 0)
    again, *_ = asked_about("length", 0.3, 200, 0)
    for name, probe in first.items():
        np.testing.assert_array_equal(probe.chances, again[name].chances)


def test_what_there_was_no_time_for_is_told():
    table, _, _ = planted("length", 0.3, 100, 0)
    rows, folds = number_rows({"test": table})["test"], folds_of(split_of(table))
    found = list(fast_probes(rows, folds, None, placed=True, most_rows=50, deadline=time.monotonic() - 1))
    assert [type(one) for one in found] == [NotRun] * 4
    assert found[0].name == "logistic regression: choices alone"
    assert found[0].why == "no time was left after 0 of its 5 trainings"


texts = st.text(st.sampled_from("ab 2.<\0é'"), max_size=6)
some_rows = st.lists(
    st.tuples(texts, st.lists(texts, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 4)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=10, deadline=None)
@given(rows=some_rows)
def test_any_rows_can_be_asked(rows):
    table = pa.table(
        {
            "question": [question for question, *_ in rows],
            "choices": [choices for _, choices, *_ in rows],
            "label": [label % len(choices) for _, choices, label, _ in rows],
        }
    )
    asked = number_rows({"test": table})["test"]
    folds = np.array([fold for *_, fold in rows])
    for probe in fast_probes(asked, folds, None, placed=True, most_rows=100):
        if isinstance(probe, NotRun):
            assert len(set(folds)) == 1
            continue
        assert ((probe.shortcut.scores >= 0) & (probe.shortcut.scores <= 1)).all()
        np.testing.assert_allclose(probe.chances.sum(axis=1), 1)
