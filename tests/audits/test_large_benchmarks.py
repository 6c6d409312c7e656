"""Large benchmarks: trained probes are evaluated on a sample, wide rows are left out, and the time limit holds."""

from functools import partial

import numpy as np
import pytest
from pyarrow import parquet

from hf_vqa_mc.audits import auditing, closed_sets
from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.closed_sets import parts_of
from hf_vqa_mc.audits.probes import Context
from hf_vqa_mc.audits.probes.heuristics import COSINES
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.report.audit import AuditResult
from hf_vqa_mc.verbs.audit import AuditSettings
from tests.audits.planted import context_of, planted, split_of, with_columns


def benchmark(test, train=None):
    splits = {"test": split_of(test)} | ({} if train is None else {"train": split_of(train, "train")})
    return Benchmark("planted", None, "test", splits, None, {})


@pytest.mark.parametrize(("rows", "n_parts"), [(100, 5), (101, 4), (250, 2), (450, 1), (1000, 1)])
def test_folds_are_evaluated_until_the_sample_is_large_enough(rows, n_parts):
    every, parts = (
        parts_of(np.arange(rows) % 5, None, 50, np.random.default_rng(0), evaluated=most) for most in (None, 100)
    )
    assert (len(np.concatenate([part.test for part in every])), len(parts)) == (rows, n_parts)
    tested = np.concatenate([part.test for part in parts])
    assert 80 <= len(np.unique(tested)) == len(tested) <= 100
    assert all(not np.isin(part.test, part.counted).any() for part in parts)


def test_where_no_probe_can_be_fitted_the_cosines_are_evaluated_on_all_rows():
    context = context_of(planted("none", 0.0, 50, 0)[0], folds=np.zeros(50, np.int8))
    context.evaluated = 10
    assert len(context.tested) == 50


@pytest.fixture(scope="module")
def sampled():
    """An audit whose trained probes are evaluated on 200 of 1,000 rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Context, "of", partial(Context.of, evaluated=200))
        return audit(benchmark(planted("question cue", 0.6, 1000, 0)[0]), ProbeSettings(probe_rows=400))


def test_the_sample_is_stated_wherever_its_figures_are(sampled):
    figures = sampled.as_json()
    trained = [one for one in figures["shortcuts"] if one["trained"]]
    assert {one["rows"] for one in trained} == {200}
    rows_of = {one["name"]: one["rows"] for one in figures["shortcuts"] if not one["trained"]}
    cosines = {rows_of.pop(probe.name) for probe in COSINES if probe.name in rows_of}
    assert (cosines, set(rows_of.values())) == ({200}, {1000})
    assert all("of a random 200 of the 1,000 rows" in one["sentence"] for one in trained)
    assert "Trained probes are evaluated on a random 200 of 1,000 rows." in figures["caveat"]
    assert sum(one["rows"] for one in figures["bias"]["histogram"]) == 200


def test_rows_outside_the_sample_have_no_scores_in_the_files(sampled, tmp_path):
    AuditResult(AuditSettings("planted"), sampled).save(tmp_path / "audit")
    written = parquet.read_table(tmp_path / "audit" / "rows.parquet")
    assert written["bias"].null_count == 800
    assert written["longest choice"].null_count == 0
    assert "of a random 200 of the 1,000 rows" in (tmp_path / "audit" / "report.html").read_text()


def test_features_of_images_are_only_read_for_rows_that_are_used():
    context = context_of(planted("none", 0.0, 300, 0)[0], planted("none", 0.0, 400, 1)[0], probe_rows=2)
    assert len(context.used) == 300 + 2 * closed_sets.COUNTED


def test_the_time_limit_is_that_of_the_whole_audit(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(auditing.time, "monotonic", lambda: clock[0])

    def slow(step, done, total):
        clock[0] += 200.0 * (step == "counting")

    done = audit(benchmark(planted("none", 0.0, 100, 0)[0]), ProbeSettings(time_limit=300.0), slow)
    assert not any(gain.trained for gain in done.gains)
    assert {one.reason for one in done.not_run if "images" not in one.name} == {
        "the time limit was reached after 0 of 5 folds"
    }


def with_wide_row(rows, choices):
    table = planted("none", 0.0, rows, 0)[0]
    cells = table["choices"].to_pylist()
    cells[7] = [f"text {number}" for number in range(choices)]
    label = table["label"].to_numpy().copy()
    label[7] = 0
    return with_columns(table, choices=cells, label=label)


def test_a_row_whose_choices_would_fill_a_huge_matrix_is_named():
    with pytest.raises(InputError, match="test, row 8: 20,000 choices"):
        audit(benchmark(with_wide_row(1000, 20_000)), ProbeSettings(probes=False))


@pytest.mark.slow
def test_a_wide_row_of_a_small_benchmark_is_audited():
    done = audit(benchmark(with_wide_row(60, 1500)), ProbeSettings())
    assert done.rows.texts.shape == (60, 1500)
    assert all(0 <= gain.estimate.accuracy <= 1 for gain in done.gains)
