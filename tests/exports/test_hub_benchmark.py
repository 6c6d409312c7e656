"""The export for inspect-ai: a dataset repository with eval.yaml, images as data URIs, hashes and a canary."""

import base64
import io
import json

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image

from hf_vqa_mc.data.inventory import row_hashes
from hf_vqa_mc.errors import InputError
from tests.exports import small

FIELDS = {"id", "config", "split", "field_spec", "shuffle_choices", "epochs", "epoch_reducer", "solvers", "scorers"}
"""What inspect-ai 0.3.285 knows of a task; it refuses others."""


def exported(folder, benchmark=None, **options):
    small.export(benchmark or small.benchmark(), "inspect", folder, name="small", **options)
    return folder / "small"


def rows(folder):
    (file,) = (folder / "data").glob("*.parquet")
    return pq.read_table(file).to_pylist()


def test_load_dataset_reads_the_rows_with_their_images(tmp_path):
    from datasets import load_dataset

    found = load_dataset(str(exported(tmp_path)), split="test", cache_dir=str(tmp_path / "cache"))
    assert [row["question"] for row in found] == [row[2] for row in small.QUESTIONS]
    assert [row["choices"][row["label"]] for row in found] == [row[3][row[4]] for row in small.QUESTIONS]
    head, _, content = found[2]["image"].partition(",")
    assert head == "data:image/png;base64"
    assert Image.open(io.BytesIO(base64.b64decode(content))).size == (24, 16)


def test_eval_yaml_names_columns_that_exist_and_only_fields_that_inspect_knows(tmp_path):
    folder = exported(tmp_path)
    (task,) = yaml.safe_load((folder / "eval.yaml").read_text())["tasks"]
    assert task.keys() <= FIELDS
    spec = task["field_spec"]
    columns = {spec["input"], spec["target"], spec["choices"], spec["input_image"], *spec["metadata"]}
    assert columns == rows(folder)[0].keys()
    blind = exported(tmp_path / "blind", small.benchmark(images=False))
    assert "input_image" not in yaml.safe_load((blind / "eval.yaml").read_text())["tasks"][0]["field_spec"]
    assert {row["image"] for row in rows(blind)} == {""}


def test_the_card_has_the_hashes_of_the_rows_and_a_canary_that_depends_on_them(tmp_path):
    folder = exported(tmp_path)
    hashes = row_hashes(pq.read_table(next((folder / "data").glob("*.parquet"))))
    card = (folder / "README.md").read_text()
    assert hashes.content in card and hashes.order in card
    assert json.loads((folder / "export.json").read_text())["order"] == hashes.order
    other = exported(tmp_path / "other", small.benchmark(small.QUESTIONS[:3]))
    canaries = {next(line for line in (one / "README.md").read_text().splitlines() if "Canary" in line)
                for one in (folder, exported(tmp_path / "again"), other)}  # fmt: skip
    assert len(canaries) == 2


def test_nothing_that_reveals_the_target_besides_the_label_is_written(tmp_path):
    text = str(rows(exported(tmp_path)))
    assert not any(f"'{secret}'" in text for secret in small.SECRETS)


def test_a_context_precedes_the_question(tmp_path):
    benchmark = small.benchmark(columns={"hint": ["Look!", "", "", ""]})
    assert [row["question"] for row in rows(exported(tmp_path, benchmark))][:2] == [
        "Context: Look!\nWhat animal is it?",
        "How many are there?",
    ]


def test_hidden_answers_are_refused(tmp_path):
    with pytest.raises(InputError, match="remove --hide-answers"):
        exported(tmp_path, hide_answers=True)
