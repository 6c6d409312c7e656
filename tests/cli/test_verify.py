"""``vqa-mc verify``: the rows of an audit, or of a built folder."""

import json
import random

import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.dataset.folder import write_folder
from tests.cli.test_audit import lines, run  # noqa: F401  a fixture
from tests.dataset.fixtures import ABOUT, MADE_WITH, made_variants


@pytest.fixture
def audited(run, tmp_path):  # noqa: F811
    data = lines(tmp_path / "b.jsonl", "length", 0.3)
    assert run("audit", data, "--no-probes", "--output", tmp_path / "done").exit_code == 0
    return data, tmp_path / "done" / "audit.json"


def test_unchanged_rows_are_verified(run, audited):  # noqa: F811
    data, certificate = audited
    result = run("verify", certificate, data)
    assert result.exit_code == 0, result.output
    check, last = result.stdout.splitlines()
    assert check.startswith("same          rows of test: ") and last == "verified: 1 check"


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[7].update(label=(rows[7]["label"] + 1) % 4),
        lambda rows: rows.pop(),
        lambda rows: random.Random(0).shuffle(rows),
    ],
)
def test_other_rows_or_another_order_fail(run, audited, change):  # noqa: F811
    data, certificate = audited
    rows = [json.loads(line) for line in data.read_text().splitlines()]
    change(rows)
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("verify", certificate, data, "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verified"]) == (3, False)
    assert [(one["what"], one["status"]) for one in found["checks"]] == [("rows of test", "changed")]


def test_columns_are_read_as_in_the_audit_and_a_second_name_of_the_file_does_not_matter(run, audited, tmp_path):  # noqa: F811
    data, _ = audited
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text().replace('"label"', '"right"').replace('"choices"', '"options_here"'))
    columns = ("--label", "right", "--choices", "options_here")
    assert run("audit", other, "--no-probes", *columns, "--output", tmp_path / "second").exit_code == 0
    data.write_bytes(other.read_bytes())
    result = run("verify", tmp_path / "second" / "audit.json", data)
    assert result.exit_code == 0, result.output


def test_a_certificate_of_another_version_is_an_error(run, audited):  # noqa: F811
    data, certificate = audited
    content = json.loads(certificate.read_text())
    content["certificate"]["read_with"]["outputs"] = "x"
    certificate.write_text(json.dumps(content))
    result = run("verify", certificate, data)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "settings of another version" in result.stderr


def test_a_missing_or_damaged_certificate_is_an_error(run, audited, tmp_path):  # noqa: F811
    data, certificate = audited
    assert "no such file" in run("verify", tmp_path / "none.json", data).stderr
    certificate.write_text("{")
    assert "not an audit" in run("verify", certificate, data).stderr


def test_the_row_hashes_of_a_built_folder_are_verified_alone(run, tmp_path):  # noqa: F811
    folder = tmp_path / "vqa_mc"
    write_folder(folder, "made", made_variants("iou", "qou"), about=ABOUT, made_with=MADE_WITH)
    same = run("verify", folder / "statistics.json", folder, "made_qou")
    assert (same.exit_code, same.stdout.splitlines()[-1]) == (0, "verified: 2 checks")
    (file,) = (folder / "made_qou").glob("test-*")
    rows = pq.read_table(file)
    pq.write_table(rows.take(list(range(len(rows)))[::-1]), file)
    other = run("verify", folder / "statistics.json", folder, "made_qou")
    assert other.exit_code == 3 and "changed       rows of test" in other.stdout
    unknown = run("verify", folder / "statistics.json", folder, "made_none")
    assert unknown.exit_code == 2 and "made_none" in unknown.stderr
    inventory = json.loads((folder / "statistics.json").read_text())
    del inventory["sources"]["made"]["configs"]["made_qou"]["row_hashes"]
    (folder / "statistics.json").write_text(json.dumps(inventory))
    earlier = run("verify", folder / "statistics.json", folder, "made_qou")
    assert earlier.exit_code == 2 and "made_qou has no row hashes" in earlier.stderr
