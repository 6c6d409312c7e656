"""Two audits compared: what is exact must be equal, what is trained within its interval."""

import copy
import json

import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.comparison import CHANGED, NOT_COMPARED, compare, read_audit, regressions
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.errors import InputError
from tests.audits.planted import planted
from tests.audits.test_auditing import benchmark


def audited(strength, seed=0):
    table = planted("length", strength, 300, seed)[0]
    return audit(benchmark(table), ProbeSettings(probes=False)).as_json()


@pytest.fixture(scope="module")
def done():
    return audited(0.3)


@pytest.fixture
def stored(done):
    return copy.deepcopy(done)


def changed(old, new):
    return [check.what for check in compare(old, new) if check.status == CHANGED]


def test_the_same_audit_is_the_same(done):
    assert compare(done, done) == []


def test_changed_figures_of_heuristics_counts_and_rows_are_found(done, stored):
    stored["shortcuts"][0]["accuracy"] += 1e-6
    stored["chance"] += 1
    assert changed(stored, done) == ["chance", stored["shortcuts"][0]["name"]]
    stored["certificate"]["splits"]["test"]["order"] = "0" * 64  # of other rows, figures need not be equal
    assert changed(stored, done) == ["rows of test", "chance"]


def test_a_removed_and_an_invented_shortcut_are_found(done, stored):
    removed = stored["shortcuts"].pop(0)["name"]
    stored["shortcuts"][0]["name"] = "invented"
    assert {removed, "invented"} <= set(changed(stored, done))


@pytest.mark.parametrize(
    ("gain", "low", "high", "same"),
    [
        (0.10, 0.05, 0.15, True),
        (0.12, 0.07, 0.17, True),
        (0.30, 0.25, 0.35, False),
        (0.0, -1.0, 1.0, False),  # a wide interval excuses nothing
        (0.10, 0.1, 0.1, True),
    ],
)
def test_a_trained_probe_must_be_within_both_intervals(done, stored, gain, low, high, same):
    new = copy.deepcopy(done)
    new["shortcuts"][0] |= {"trained": True, "gain": 0.1, "low": 0.05, "high": 0.15}
    stored["shortcuts"][0] |= {"trained": True, "gain": gain, "low": low, "high": high}
    assert (not changed(stored, new)) == same


def test_a_missing_trained_probe_is_a_change_unless_the_settings_are_others(done, stored):
    name = stored["shortcuts"][0]["name"]
    stored["shortcuts"][0]["trained"] = True
    new = copy.deepcopy(done)
    new["shortcuts"].pop(0)
    assert changed(stored, new) == [name]
    stored["certificate"]["settings"]["probes"] = True
    assert changed(stored, new) == []
    skipped = [check.what for check in compare(stored, new) if check.status == NOT_COMPARED]
    assert skipped == ["settings", name]


def test_a_trained_probe_for_which_a_machine_had_no_time_is_not_compared(done, stored):
    name = stored["shortcuts"][0]["name"]
    stored["shortcuts"][0]["trained"] = True
    late = copy.deepcopy(done)
    late["shortcuts"].pop(0)
    late["not_run"] = [{"name": name, "reason": "the time limit was reached after 1 of 5 folds"}]
    for pair in ((late, stored), (stored, late)):
        assert [(check.what, check.status) for check in compare(*pair)] == [(name, NOT_COMPARED)]


def test_only_a_stronger_shortcut_is_a_regression():
    weak, strong = audited(0.2, 1), audited(0.6, 2)
    assert "longest choice" in regressions(weak, strong, 0.0)
    assert regressions(weak, strong, 0.5) == regressions(strong, weak, 0.0) == regressions(weak, weak, 0.0) == []
    assert "longest choice" in changed(weak, strong)


DAMAGED = [
    lambda stored: stored.pop("certificate"),
    lambda stored: stored["certificate"]["splits"].update(test=3),
    lambda stored: stored["shortcuts"].append(None),
    "null", '{"rows": 3}', "{",
]  # fmt: skip


@pytest.mark.parametrize("change", DAMAGED)
def test_a_damaged_audit_and_other_files_are_named(stored, change, tmp_path):
    if not isinstance(change, str):
        change(stored)
    path = tmp_path / "audit.json"
    path.write_text(change if isinstance(change, str) else json.dumps(stored))
    with pytest.raises(InputError, match=r"audit\.json: not an audit"):
        read_audit(path)
    with pytest.raises(InputError, match="this is a folder"):
        read_audit(tmp_path)
