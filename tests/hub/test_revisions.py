"""Datasets at a tag, branch or commit, and certificates that name the commit."""

import json

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from tests.hub.pushing import build
from tests.hub.repositories import Fault
from tests.hub.test_untrusted_dataset import NAME, parquet, publish


@pytest.mark.slow
def test_a_certificate_names_the_commit_and_fails_once_the_rows_moved(hub, vqa_mc, tmp_path):
    publish(hub, {"test.parquet": parquet(["x", "y", "z"])})
    repository = hub.repositories["dataset", NAME]
    first = repository.tags["v1.0"] = repository.branches["main"]
    audited = vqa_mc("audit", f"{NAME}@v1.0", "--no-probes", "--output", tmp_path / "done")
    assert audited.returncode == 0, audited.stderr
    certificate = tmp_path / "done" / "audit.json"
    assert json.loads(certificate.read_text())["certificate"]["revision"] == first
    repository.write("main", {"test.parquet": parquet(["x", "y"])}, title="one row less")
    moved = vqa_mc("verify", certificate, NAME)
    assert moved.returncode == 3
    assert "changed       rows of test: 3 rows" in moved.stdout
    assert vqa_mc("verify", certificate, f"{NAME}@{first}").returncode == 0
    unknown = vqa_mc("verify", certificate, f"{NAME}@v2")
    assert unknown.returncode == 2
    assert "Revision 'v2' doesn't exist" in unknown.stderr


@pytest.mark.slow
def test_a_pushed_release_is_tagged_and_never_moved(hub, vqa_mc, built, tmp_path):
    push = ("push", "dataset", "ada/vqa_mc", "--tag", "v1.0", "--folder")
    first = vqa_mc(*push, built)
    assert first.returncode == 0, first.stderr
    repository = hub.repositories["dataset", "ada/vqa_mc"]
    head = repository.at("main").oid
    assert repository.tags == {"v1.0": head}
    assert "tagged ada/vqa_mc@v1.0" in first.stdout
    again = vqa_mc(*push, build(tmp_path / "other" / "vqa_mc", "iou", "iou_qou", seed=1))
    assert again.returncode == 2
    assert "has the tag v1.0" in again.stderr
    assert repository.at("main").oid == head


@pytest.mark.slow
def test_a_push_that_ended_before_its_tag_is_tagged_by_the_next(hub, vqa_mc, built):
    push = ("push", "dataset", "ada/vqa_mc", "--tag", "v1.0", "--folder", built)
    hub.faults = [Fault("POST", "/tag/", status=400)]
    failed = vqa_mc(*push)
    assert failed.returncode != 0
    assert "the Hub rejects the push to ada/vqa_mc (400" in failed.stderr
    repository = hub.repositories["dataset", "ada/vqa_mc"]
    assert repository.tags == {}
    assert "is up to date; nothing was sent" in vqa_mc(*push).stdout
    assert repository.tags == {"v1.0": repository.at("main").oid}


@pytest.mark.parametrize("tag", ["-d", "a b", "a/b", "x..y", "v1."])
def test_names_that_git_would_not_take_are_refused(tag):
    with pytest.raises(InputError, match=r"^tag"):
        vm.push("dataset", "ada/vqa_mc", tag=tag, dry_run=True)
