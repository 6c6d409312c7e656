"""Exports appear whole or not at all, and replace nothing but exports."""

import ast
import base64

import pandas
import pyarrow.parquet
import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports import HARNESSES
from hf_vqa_mc.exports.harness import replaced_folder
from hf_vqa_mc.io.outputs import MANIFEST
from tests.exports import small


def test_a_folder_of_others_is_left_alone(tmp_path):
    theirs = tmp_path / "tasks" / "small" / "notes.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("theirs")
    for harness in ("lm-eval", "lmms-eval"):
        with pytest.raises(InputError, match=r"vqa-mc export did not write .*notes.txt\); choose another"):
            small.export(small.benchmark(), harness, tmp_path / "tasks", name="small")
    assert [path.name for path in (tmp_path / "tasks").rglob("*")] == ["small", "notes.txt"]


def test_another_export_replaces_the_earlier(tmp_path):
    small.export(small.benchmark(), "lmms-eval", tmp_path / "tasks", name="small")
    small.export(small.benchmark(), "lm-eval", tmp_path / "tasks", name="small")
    names = {path.name for path in (tmp_path / "tasks" / "small").iterdir()}
    own = {"blind.yaml", "answers.yaml", "rows.py", "questions.parquet", "README.md", "export.json"}
    assert names == own | {MANIFEST}
    assert [path.name for path in (tmp_path / "tasks").iterdir()] == ["small"]


def test_a_disk_that_is_full_is_reported_in_a_sentence(tmp_path):
    full = pytest.raises(OSError, match=r"No space left on device: .*new")
    with full, replaced_folder(tmp_path, "new", overwrite=False):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("harness", HARNESSES)
def test_an_output_without_a_parent_folder_is_rejected(tmp_path, harness):
    with pytest.raises(InputError, match="create it first"):
        small.export(small.benchmark(), harness, tmp_path / "no" / "such")


SEVERAL = {"i0": (small.picture("red"), small.picture("blue")), "i1": small.picture("green")}


def test_all_images_of_a_row_are_exported_where_the_format_can(tmp_path):
    benchmark = small.benchmark(images=SEVERAL)
    small.export(benchmark, "lmms-eval", tmp_path / "tasks", name="small")
    files = pyarrow.parquet.read_table(tmp_path / "tasks" / "small" / "questions.parquet")["image_files"].to_pylist()
    assert [(tmp_path / "tasks" / "small" / name).read_bytes() for name in files[0]] == list(SEVERAL["i0"])
    small.export(benchmark, "vlmevalkit", tmp_path / "data", name="small")
    rows = pandas.read_csv(tmp_path / "data" / "small" / "small.tsv", sep="\t")
    cells = [ast.literal_eval(text) for text in rows.loc[0, ["image", "image_path"]]]
    assert [base64.b64decode(text) for text in cells[0]] == list(SEVERAL["i0"])
    assert cells[1] == ["0_1.png", "0_2.png"]
    with pytest.raises(InputError, match=r"q0.*: the row has 2 images, but inspect-ai's format .* takes one"):
        small.export(benchmark, "inspect", tmp_path / "hub", name="small")
