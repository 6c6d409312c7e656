"""Audits in parts: the counts of all parts together, whatever makes them."""

import os
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import hf_vqa_mc as vm
from hf_vqa_mc.audits import parts
from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.parts import audit_in_parts, count_part, divide
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.errors import InputError
from tests.audits.planted import planted, split_of
from tests.audits.test_auditing import benchmark

COUNTS = ProbeSettings(probes=False)
IN_PARTS = ProbeSettings(probes=False, largest_part=1000)
LOCAL = {"longest choice", "shortest choice", "odd one out", "most words of the question", "choice A"}
"""Strategies that see one row at a time."""


@pytest.fixture(scope="module")
def rows():
    return planted("length", 0.3, 4000, 0)[0]


def figures(done):
    return {gain.shortcut.name: gain.estimate for gain in done.gains}


def test_rows_of_an_image_are_in_one_part_and_all_rows_in_some(rows):
    split = split_of(rows)
    of_parts = divide({"test": split}, 1000).rows["test"]
    assert len(of_parts) == 4
    assert np.array_equal(np.sort(np.concatenate(of_parts)), np.arange(4000))
    images = [set(split.clusters[own].tolist()) for own in of_parts]
    assert sum(map(len, images)) == len(set.union(*images))


def test_strategies_that_see_one_row_have_the_figures_of_the_whole(rows):
    whole, pooled = (figures(audit_in_parts(benchmark(rows), settings)) for settings in (COUNTS, IN_PARTS))
    for name in LOCAL & whole.keys():
        assert pooled[name] == whole[name]
    assert pooled.keys() == whole.keys()


def test_counts_of_labels_are_those_of_the_own_part():
    seen = planted("frequency", 0.6, 6000, 1)[0]
    whole, pooled = (figures(audit_in_parts(benchmark(seen), settings)) for settings in (COUNTS, IN_PARTS))
    assert 0.3 < pooled["answer prior (eq. 2)"].gain < whole["answer prior (eq. 2)"].gain


def test_labels_that_depend_on_the_row_number_are_found_in_parts(rows):
    labels = [row % 4 for row in range(4000)]
    placed = rows.set_column(rows.schema.get_field_index("label"), "label", pa.array(labels, pa.int64()))
    pooled = figures(audit_in_parts(benchmark(placed), IN_PARTS))
    assert pooled["row number"].accuracy == 1


def test_a_strategy_that_does_not_apply_in_a_part_guesses_there(rows):
    """Only the last of these rows have a choice of their own length."""
    choices = [["a", "b", "c", "d"]] * 3900 + [["a", "b", "cc", "d"]] * 100
    table = rows.set_column(rows.schema.get_field_index("choices"), "choices", pa.array(choices))
    label = pa.array([2] * 4000, pa.int64())
    table = table.set_column(rows.schema.get_field_index("label"), "label", label)
    table = table.set_column(
        rows.schema.get_field_index("image_id"), "image_id", pa.array([str(row // 200) for row in range(4000)])
    )
    whole, pooled = (figures(audit_in_parts(benchmark(table), settings)) for settings in (COUNTS, IN_PARTS))
    assert pooled["longest choice"] == whole["longest choice"]


def test_findings_of_parts_are_added_and_those_that_need_all_rows_are_named(rows):
    table = pa.concat_tables([rows, rows.slice(0, 40)])  # 40 rows twice
    whole, pooled = (audit_in_parts(benchmark(table), settings) for settings in (COUNTS, IN_PARTS))
    found, expected = ({one.name: one for one in done.findings} for done in (pooled, whole))
    assert found["duplicate rows"].rows.tolist() == expected["duplicate rows"].rows.tolist() == [*range(4000, 4040)]
    assert found["duplicate rows"].sentence == expected["duplicate rows"].sentence
    assert found.keys() < expected.keys()
    assert {one.name for one in pooled.not_run} == {"decoys that are never correct", "same question on several images"}
    assert not (pooled.possibly_correct ^ whole.possibly_correct).any()


def test_rows_that_may_be_in_different_parts_are_not_compared(rows):
    """Rows of a closed set are in one part, not those of an image; without images, those with the same texts."""
    sets = pa.array([f"set {row // 2}" for row in range(4000)])
    in_sets = replace(split_of(rows), original=rows.append_column("set_id", sets))
    done = audit_in_parts(
        replace(benchmark(rows), splits={"test": in_sets, "train": split_of(rows, "train")}), IN_PARTS
    )
    no_images = rows.set_column(rows.schema.get_field_index("image_id"), "image_id", pa.array([""] * 4000))
    without = audit_in_parts(benchmark(no_images), IN_PARTS)
    shared = {"duplicate rows", "decoys that are never correct", "same question on several images"}
    leaks = {f"{what} also in train" for what in ("image", "image and question", "question and choices")}
    assert {one.name for one in done.not_run} == shared | leaks
    assert {one.name for one in without.not_run} == shared


def test_trained_probes_are_those_of_the_first_part(rows):
    done = audit_in_parts(benchmark(rows), ProbeSettings(largest_part=1000, probe_rows=500))
    first = divide({"test": split_of(rows)}, 1000).rows["test"][0]
    trained = [gain.shortcut for gain in done.gains if gain.shortcut.trained]
    assert trained
    for shortcut in trained:
        assert np.array_equal(np.flatnonzero(shortcut.evaluated), first)
    assert "Rows were divided by image into 4 parts" in done.as_json()["caveat"]
    assert set(np.flatnonzero(np.isfinite(done.bias))) == set(first)


def test_closed_sets_stay_together_and_are_exact():
    sets = [
        (f"image {n} {row}", f"question {n}", ["yes", "no"], row, f"set {n}") for n in range(1500) for row in range(2)
    ]
    images, questions, choices, labels, names = zip(*sets, strict=True)
    table = pa.table(
        {"image_id": images, "question": questions, "choices": choices, "label": labels, "set_id": names}
    ).to_pandas()
    done = vm.audit(table, probes=False, largest_part=1000).to_dict()
    assert done["exact_sets"]["question"] == 1500
    assert "every rule that sees these inputs" in done["verdict"]


def test_a_part_without_rows_of_a_split_is_an_error(rows):
    with pytest.raises(InputError, match=r"--largest-part 1000: \d+ of 4 parts have no rows of the split train"):
        audit_in_parts(benchmark(rows.slice(0, 3990), train=rows.slice(3999)), IN_PARTS)


def test_word_vectors_trained_on_the_benchmark_need_all_rows():
    with pytest.raises(InputError, match="--largest-part cannot be used with --word-vectors corpus; give a file"):
        ProbeSettings(largest_part=1000, word_vectors="corpus")


def test_one_part_is_the_ordinary_audit(rows):
    done = audit_in_parts(benchmark(rows), ProbeSettings(probes=False, largest_part=4000))
    assert figures(done) == figures(audit(benchmark(rows), COUNTS))
    assert not done.not_run


def test_a_certificate_of_an_audit_in_parts_is_verified_in_the_same_parts(rows, tmp_path):
    parquet.write_table(rows, tmp_path / "rows.parquet")
    done = vm.audit(tmp_path / "rows.parquet", probes=False, largest_part=1000, output=tmp_path / "audit")
    assert vm.verify(tmp_path / "audit" / "audit.json", tmp_path / "rows.parquet").exit_code == 0
    assert done.to_dict()["certificate"]["settings"]["largest_part"] == 1000


def test_ray_needs_parts(rows):
    with pytest.raises(InputError, match="--executor ray needs --largest-part"):
        vm.audit(rows.to_pandas(), executor="ray")


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 7])
def test_a_cluster_finds_the_same_whatever_dies(rows, cluster, monkeypatch, tmp_path, workers):
    audited = partial(vm.audit, rows.to_pandas(), probes=False, largest_part=1000)
    local = audited().to_dict()
    monkeypatch.setattr(parts, "count_part", partial(dies_once, tmp_path / "died"))
    assert (
        vm.audit(rows.to_pandas(), probes=False, largest_part=1000, executor="ray", workers=workers).to_dict() == local
    )
    assert (tmp_path / "died").exists()


def dies_once(marker, benchmark, settings):
    """As `count_part`, but the first worker dies."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return count_part(benchmark, settings)


def test_the_last_choice_is_picked_in_parts_with_equally_many_choices_too(rows):
    """Only rows of some images have three choices."""
    fewer = [row % 50 == 0 for row in range(4000)]
    choices = [["a", "b", "c"] if few else ["a", "b", "c", "d"] for few in fewer]
    columns = {"choices": choices, "label": [2] * 4000, "image_id": [str(row % 50) for row in range(4000)]}
    for name, values in columns.items():
        at = rows.schema.get_field_index(name)
        rows = rows.set_column(at, name, pa.array(values, rows.schema.field(name).type))
    whole, pooled = (figures(audit_in_parts(benchmark(rows), settings)) for settings in (COUNTS, IN_PARTS))
    assert pooled["last choice"] == whole["last choice"]
    assert "last choice" not in figures(audit_in_parts(benchmark(rows.filter(~np.array(fewer))), IN_PARTS))
