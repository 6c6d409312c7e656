"""Datasets at a tag, branch or commit, and certificates that name the commit."""

import json

from tests.hub.test_untrusted_dataset import NAME, parquet, publish


def test_a_certificate_names_the_commit_and_fails_once_the_rows_moved(hub, vqa_mc, tmp_path):
    publish(hub, {"test.parquet": parquet(["x", "y", "z"])})
    repository = hub.repositories["dataset", NAME]
    first = repository.tags["v1.0"] = repository.branches["main"]
    audited = vqa_mc("audit", f"{NAME}@v1.0", "--no-probes", "--output", tmp_path / "done")
    assert audited.returncode == 0, audited.stderr
    certificate = tmp_path / "done" / "audit.json"
    assert json.loads(certificate.read_text())["certificate"]["revision"] == first
    second = repository.write("main", {"test.parquet": parquet(["x", "y"])}, title="one row less").oid
    moved = vqa_mc("verify", certificate, NAME)
    assert moved.returncode == 3
    assert f"note         revision: {first}, now {second}" in moved.stdout
    assert "FAILED       rows of test: 3 rows, now 2" in moved.stdout
    assert vqa_mc("verify", certificate, f"{NAME}@{first}").returncode == 0
    unknown = vqa_mc("verify", certificate, f"{NAME}@v2")
    assert unknown.returncode == 2
    assert "Revision 'v2' doesn't exist" in unknown.stderr
