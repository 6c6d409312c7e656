"""``croissant.json``: core metadata and RAI fields, as MLCommons' own library reads them."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.dataset.croissant import croissant
from hf_vqa_mc.dataset.writing import write_benchmark
from tests.dataset.fixtures import ABOUT, write_made
from tests.exports.conftest import harness as harness

READER = Path(__file__).with_name("read_croissant.py")
NEURIPS = {"dataLimitations", "dataBiases", "personalSensitiveInformation", "dataUseCases", "dataSocialImpact",
           "hasSyntheticData"}  # fmt: skip
"""The RAI fields that NeurIPS 2026 demands, next to prov:wasDerivedFrom and prov:wasGeneratedBy."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A built folder with images."""
    about = {**ABOUT, "synthetic": "A program made the questions."}
    return write_made(tmp_path_factory.mktemp("croissant") / "vqa_mc", "iou", "iou_qou", images=True, about=about)


def content(folder):
    return json.loads((folder / "croissant.json").read_text())


@pytest.mark.slow
def test_mlcroissant_accepts_it_and_reads_the_rows_from_the_folder(folder, harness):
    found = harness(READER, folder / "croissant.json", 100)
    assert found["errors"] == []
    assert [one.partition('"')[2].partition('"')[0].rpartition("/")[2] for one in found["warnings"]] == [
        "datePublished",
        "version",
    ]  # fmt: skip  which are not known before it is published
    rows = {
        split: pq.read_table(*(folder / "made_iou_qou").glob(f"{split}-*")).to_pylist() for split in ("test", "train")
    }
    expected = [{**row, "split": split} for split in rows for row in rows[split]]
    assert found["records"]["made_iou_qou"] == expected
    assert [image["image"] for image in found["records"]["made_images"][:2]] == [[8, 8]] * 2


def test_it_has_all_fields_for_responsible_ai_and_the_facts_of_the_card(folder):
    found = content(folder)
    assert {name for name in found if name.startswith("rai:")} >= {f"rai:{name}" for name in NEURIPS}
    assert found["rai:hasSyntheticData"] is True and "A program made the questions." in found["rai:dataCollection"]
    assert (found["license"], found["prov:wasDerivedFrom"]) == (
        "https://spdx.org/licenses/CC-BY-4.0.html",
        [{"@id": ABOUT["homepage"]}],
    )
    assert ABOUT["citation"] in found["citeAs"]
    assert croissant(read_inventory(folder)) == (folder / "croissant.json").read_text()


def test_what_is_not_known_is_left_out(tmp_path):
    assert "rai:hasSyntheticData" not in content(write_made(tmp_path / "old", "iou"))  # of an earlier version


@pytest.mark.slow
def test_on_the_hub_the_files_are_those_of_the_repository(folder, harness, tmp_path):
    address = "https://huggingface.co/datasets/ada/bench"
    release = "1.0.0", "2026-11-28"
    found = json.loads(croissant(read_inventory(folder), address, release, ["Ada Lovelace"]))
    repository, *files = found["distribution"]
    assert (found["url"], repository["contentUrl"]) == (address, address)
    assert {one["containedIn"]["@id"] for one in files} == {repository["@id"]}
    (tmp_path / "croissant.json").write_text(json.dumps(found))
    checked = harness(READER, tmp_path / "croissant.json", 0)
    assert (checked["errors"], checked["warnings"]) == ([], [])


@pytest.fixture
def remedied(tmp_path):
    """A folder of a benchmark with columns of any type and name."""
    table = pa.table(
        {
            "question": ["a?", "b?"],
            "A": ["x", "y"],
            "B": ["y", "x"],
            "answer": ["A", "B"],
            "a/b c%\"'<": [1, 2],
            "nested": [[["a"], []], [["b"]]],
            "split": ["one", "two"],
            "facts": [{"a": 1}, {"a": 2}],
            "when": pa.array([1, 2], pa.timestamp("s")),
        }
    )
    (tmp_path / "bench").mkdir()
    pq.write_table(table, tmp_path / "bench" / "test.parquet")
    benchmark = read_benchmark(str(tmp_path / "bench"))
    hashes = {"test": benchmark.test.hashes}
    write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "new", "A <b>note</b>.", hashes=hashes)
    return tmp_path / "new"


@pytest.mark.slow
def test_columns_of_any_name_are_read_and_types_that_croissant_lacks_are_named(remedied, harness):
    found = harness(READER, remedied / "croissant.json", 2)
    assert found["errors"] == []
    row = found["records"]["default"][1]
    assert (row["a%2Fb%20c%25%22%27%3C"], row["nested"], row["split"]) == (2, [["b"]], "two")
    (records,) = content(remedied)["recordSet"]
    assert records["description"] == "2 rows of test. Columns without a type in Croissant: facts, when"
    assert "rai:dataBiases" in content(remedied) and "license" not in content(remedied)
