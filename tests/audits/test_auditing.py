"""A whole audit: what its figures rest on, and how they are reported."""

import json

import numpy as np
import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.data import Benchmark
from tests.audits.planted import planted, split_of, with_columns

QUICK = ProbeSettings(probes=False)


def benchmark(test, train=None, **more):
    splits = {"test": split_of(test, **more)} | ({"train": split_of(train, "train")} if train is not None else {})
    return Benchmark("planted", None, "test", splits, None, {})


@pytest.mark.slow
def test_figures_are_json_that_every_program_reads():
    done = audit(benchmark(planted("question cue", 0.5, 500, 0)[0]), ProbeSettings(probe_rows=300))
    written = json.loads(json.dumps(done.as_json(), allow_nan=False))
    assert written["rows"] == 500
    assert written["chance"] == pytest.approx(0.25)
    assert [one["gain"] for one in written["shortcuts"]] == sorted(
        (one["gain"] for one in written["shortcuts"]), reverse=True
    )
    assert {one["inputs"] for one in written["shortcuts"]} == {"choices", "question"}
    assert written["ambiguous_decoys"]["decoys"] == 1500


@pytest.mark.slow
def test_the_verdict_and_the_figures_name_what_was_not_tested():
    table = planted("none", 0.0, 400, 0)[0]
    found = audit(benchmark(table), QUICK).as_json()
    images = "(no column of planted, test is recognised as images)"
    assert found["not_tested"] == ["trained probes (--no-probes)", f"image width or height {images}"]
    assert f"; not tested: trained probes (--no-probes); image width or height {images}. " in found["verdict"]
    found = audit(benchmark(table), ProbeSettings(probe_rows=300)).as_json()
    assert found["not_tested"] == [f"probes that see images {images}"]
    assert f"; not tested: probes that see images {images}. " in found["verdict"]


def test_rows_that_nothing_groups_are_reported():
    table = planted("none", 0.0, 300, 0)[0]
    without = with_columns(table, image_id=[""] * 300)
    found = [audit(benchmark(one), QUICK).as_json()["caveat"] for one in (table, without)]
    assert ["as independent" in one for one in found] == [False, True]


def test_question_types_with_enough_rows_are_listed():
    table = planted("position", 0.5, 400, 0)[0]
    types = ["many"] * 300 + ["few"] * 20 + [""] * 80
    done = audit(benchmark(with_columns(table, question_type=types)), QUICK)
    (only,) = done.as_json()["per_type"]
    assert (only["type"], only["rows"]) == ("many", 300)
    strongest = next(gain for gain in done.gains if gain.sees == "choices")
    assert only["shortcuts"][strongest.name]["gain"] == pytest.approx(strongest.scores[:300].mean() - 0.25)


def test_unordered_choices_have_no_position_heuristics():
    table = planted("position", 1.0, 200, 0)[0]
    assert any("choice A" in gain.name for gain in audit(benchmark(table), QUICK).gains)
    unplaced = audit(benchmark(table, placed=False), QUICK)
    assert not any(gain.name.startswith(("choice ", "last ")) for gain in unplaced.gains)


@pytest.mark.slow
def test_the_blind_pick_is_an_index_of_the_published_choices():
    table, _, _ = planted("question cue", 1.0, 400, 0)
    done = audit(benchmark(table), ProbeSettings(probe_rows=400))
    picks = done.picked_blind(list(range(400)))
    labels = table["label"].to_numpy()
    agree = np.mean([picks[row] == labels[row] for row in range(400)])
    expected = np.mean([one.scores.mean() for one in done.gains if one.sees == "question" and one.trained])
    assert agree == pytest.approx(expected, abs=0.1)
    assert agree > 0.5


def test_counts_are_also_cross_fitted_if_there_is_a_training_split():
    (test, *_), (train, *_) = (planted("question cue", 0.8, 600, seed) for seed in (0, 1))
    alone, both = audit(benchmark(test), QUICK), audit(benchmark(test, train), QUICK)
    assert [one.as_json()["train_source"] for one in (alone, both)] == ["5 folds of test", "train"]
    own = {gain.name: gain for gain in alone.gains}
    for gain in both.gains:
        assert gain.cross_fitted == own[gain.name].cross_fitted
        assert ("prior" in gain.name) == (gain.fitted_on == "train")
    named = {gain.name: gain.as_json() for gain in both.gains}
    prior = named["question and answer prior"]
    assert prior["cross_fitted_accuracy"] == own["question and answer prior"].estimate.accuracy
    assert prior["cross_fitted_accuracy"] != prior["accuracy"]
    assert named["longest choice"]["cross_fitted_accuracy"] is named["longest choice"]["fitted_on"] is None


def test_answers_that_only_the_audited_split_gives_away_differ_from_those_of_the_training_split():
    test, train = planted("frequency", 1.0, 600, 0)[0], planted("none", 0.0, 600, 1)[0]
    (prior,) = [gain for gain in audit(benchmark(test, train), QUICK).gains if "eq. 2" in gain.name]
    assert abs(prior.estimate.gain) < 0.1
    assert prior.cross_fitted.gain > 0.6


def test_trained_probes_are_not_cross_fitted_where_there_is_a_training_split():
    (test, *_), (train, *_) = (planted("question cue", 0.8, 200, seed) for seed in (0, 1))
    done = audit(benchmark(test, train), ProbeSettings(probe_rows=100))
    trained = [gain for gain in done.gains if gain.trained and "assignment" not in gain.name]
    assert trained
    assert {gain.fitted_on for gain in trained} == {"train"}
    assert all(gain.cross_fitted is None for gain in trained)
    assert not any("cross-fitted" in one.name for one in done.not_run)
