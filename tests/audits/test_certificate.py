"""A certificate against recomputed figures: what is exact must be equal, what is trained within its interval."""

import copy

import pytest

from hf_vqa_mc.audits.auditing import audit
from hf_vqa_mc.audits.certificate import Status, figure_checks, read_claims, row_checks
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.errors import InputError
from tests.audits.planted import planted
from tests.audits.test_auditing import benchmark


@pytest.fixture(scope="module")
def done():
    return audit(benchmark(planted("length", 0.3, 300, 0)[0]), ProbeSettings(probes=False))


def failed(claimed, found, **given):
    return [check.what for check in figure_checks(claimed, found, **given) if check.status is Status.DIFFERS]


@pytest.fixture
def claimed(done):
    return copy.deepcopy(done.as_json())


def test_an_unchanged_certificate_passes(done, claimed):
    assert failed(claimed, done.as_json()) == []
    assert {check.status for check in row_checks(claimed, done.benchmark)} == {Status.SAME}


@pytest.mark.parametrize("change", [1e-6, -0.01])
def test_a_changed_figure_of_a_heuristic_fails(done, claimed, change):
    claimed["shortcuts"][0]["accuracy"] += change
    assert failed(claimed, done.as_json()) == [f"{claimed['shortcuts'][0]['name']}, accuracy"]


def test_a_removed_and_an_invented_shortcut_fail(done, claimed):
    removed = claimed["shortcuts"].pop(0)["name"]
    claimed["shortcuts"][0]["name"] = "invented"
    assert removed in failed(claimed, done.as_json())
    assert "invented" in failed(claimed, done.as_json())


@pytest.mark.parametrize(
    ("gain", "low", "high", "passes"),
    [
        (0.10, 0.05, 0.15, True),
        (0.12, 0.07, 0.17, True),
        (0.30, 0.25, 0.35, False),
        (0.0, -1.0, 1.0, False),  # a wide interval excuses nothing
        (0.10, 0.1, 0.1, True),
    ],
)
def test_a_trained_probe_must_be_within_both_intervals(done, claimed, gain, low, high, passes):
    found = copy.deepcopy(claimed)
    found["shortcuts"][0] |= {"trained": True, "gain": 0.1, "low": 0.05, "high": 0.15}
    claimed["shortcuts"][0] |= {"trained": True, "gain": gain, "low": low, "high": high}
    assert (not failed(claimed, found)) == passes


def test_a_trained_probe_that_was_not_recomputed_fails_unless_it_was_left_out(done, claimed):
    found = copy.deepcopy(claimed)
    found["shortcuts"].pop(0)
    claimed["shortcuts"][0]["trained"] = True
    name = claimed["shortcuts"][0]["name"]
    assert failed(claimed, found) == [name]
    assert failed(claimed, found, skipped={"probes"}) == []


@pytest.mark.parametrize("key", ["rows", "chance", "images"])
def test_a_changed_count_fails(done, claimed, key):
    claimed[key] += 1
    assert failed(claimed, done.as_json()) == [key]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda claims: claims.pop("shortcuts"), "not an audit.json"),
        (lambda claims: claims.pop("certificate"), "no certificate"),
        (lambda claims: claims["certificate"].update(splits=[1]), "certificate, splits: expected an object"),
        (lambda claims: claims["certificate"]["splits"].update(test=3), "certificate, splits, test"),
        (lambda claims: claims.update(findings="none"), "findings: expected a list"),
        (lambda claims: claims["ambiguous_decoys"].update(reasons=["same"]), "ambiguous_decoys, reasons"),
        (lambda claims: claims["shortcuts"].append(None), "expected an object"),
        (lambda claims: claims["shortcuts"][0].update(gain=float("nan")), "shortcuts, 0: expected a name and numbers"),
    ],
)
def test_a_damaged_certificate_is_named(claimed, change, message):
    change(claimed)
    with pytest.raises(InputError, match=message):
        read_claims(claimed, "audit.json")


@pytest.mark.parametrize("content", [None, [], "text", {"after": 3}])
def test_other_json_is_no_certificate(content):
    with pytest.raises(InputError, match="not an audit"):
        read_claims(content, "x.json")
