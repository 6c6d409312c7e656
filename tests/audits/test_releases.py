"""Two releases of a benchmark: changed rows, and changes of gains with their intervals."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.releases import gain_changes, regressions, row_changes
from hf_vqa_mc.audits.settings import ProbeSettings
from tests.audits.planted import planted, split_of
from tests.audits.test_auditing import benchmark


def rows(**columns):
    table = planted("none", 0.0, 8, 0)[0]
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values, table.schema.field(name).type))
    return table


def named(ids):
    return rows(question_id=ids)


def changes_of(new, old=None):
    found = row_changes(split_of(named("abcdefgh") if old is None else old), split_of(new))
    return found.same, found.added, found.removed, found.changed


def test_rows_are_matched_by_id_in_any_order():
    table = named("abcdefgh")
    assert changes_of(table.take([5, 0, 1, 2, 3, 4, 7, 6])) == (8, [], [], {})
    assert changes_of(named("abcdefxy")) == (6, ["x", "y"], ["g", "h"], {})


def test_each_change_has_a_name():
    cells = {name: named("abcdefgh")[name].to_pylist() for name in ("question", "choices", "label")}
    cells["question"][0] += "!"
    cells["label"][1] = (cells["label"][1] + 1) % 4
    cells["choices"][2][cells["label"][2] - 1] = "another"
    cells["choices"][3] = cells["choices"][3][::-1]
    cells["label"][3] = 3 - cells["label"][3]
    changed = {"question": ["a"], "answer": ["b"], "decoys": ["c"], "order of choices": ["d"]}
    assert changes_of(rows(question_id=list("abcdefgh"), **cells)) == (4, [], [], changed)


def test_without_ids_rows_are_matched_by_question_and_image_repeats_included():
    same = {"question": ["What?"] * 8, "image_id": ["1"] * 4 + ["2"] * 4}
    numbers = rows(question_id=[str(row) for row in range(8)], **same)
    shorter = numbers.slice(0, 7)
    found = row_changes(split_of(numbers), split_of(shorter))
    assert (found.matched_by, found.same, len(found.removed)) == ("question and image", 7, 1)


@pytest.fixture(scope="module")
def weak():
    return audited("length", 0.2, 1)


def audited(bias, strength, seed, n_rows=500):
    return audit(benchmark(planted(bias, strength, n_rows, seed)[0]), ProbeSettings(probes=False))


def test_the_same_release_has_no_change(weak):
    found = gain_changes(weak, weak)
    assert {(one.change, one.low, one.high) for one in found} == {(0.0, 0.0, 0.0)}
    assert regressions(found, 0.0) == []


def test_a_stronger_shortcut_is_a_regression_and_a_weaker_one_is_not(weak):
    strong = audited("length", 0.6, 2)
    worse = regressions(gain_changes(weak, strong), 0.0)
    assert worse[0].name == "longest choice"
    assert worse[0].low <= 0.4 * 0.75 <= worse[0].high
    assert regressions(gain_changes(weak, strong), 0.5) == []
    assert regressions(gain_changes(strong, weak), 0.0) == []


@pytest.mark.parametrize("shared", [True, False])
def test_intervals_of_rows_that_both_have_are_narrower(weak, shared):
    table = planted("length", 0.2, 500, 1)[0]
    labels = np.array(table["label"].to_pylist())
    labels[:10] = (labels[:10] + 1) % 4
    table = table.set_column(table.column_names.index("label"), "label", pa.array(labels))
    if not shared:
        other = pa.array([f"other {one}" for one in table["image_id"].to_pylist()])
        table = table.set_column(table.column_names.index("image_id"), "image_id", other)
    new = audit(benchmark(table), ProbeSettings(probes=False))
    one = next(one for one in gain_changes(weak, new) if one.name == "longest choice")
    assert (one.high - one.low < 0.05) == shared


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), unique=True), st.lists(st.sampled_from("abcdefghxyz"), unique=True))
def test_every_row_is_counted_once(before, after):
    table = named("abcdefgh")
    old = table.take(pa.array(["abcdefgh".index(one) for one in before], pa.int64()))
    new = named("abcdefgh").slice(0, 0)
    ids = pa.array(after, pa.string())
    new = table.take(pa.array([max("abcdefgh".find(one), 0) for one in after], pa.int64())).set_column(
        table.column_names.index("question_id"), "question_id", ids
    )
    found = row_changes(split_of(old), split_of(new))
    changed = sum(map(len, found.changed.values()))
    assert found.same + changed + len(found.added) == len(after)
    assert found.same + changed + len(found.removed) == len(before)
