"""The dataset folder: what lies in it, what load_dataset makes of it, and what a second build changes."""

import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from datasets import load_dataset

from hf_vqa_mc.data import shards
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.dataset.card import multiple_choice_features
from hf_vqa_mc.dataset.folder import write_folder
from tests.dataset.fixtures import ABOUT, MADE_WITH, ROWS, made_variants, tree_bytes


@pytest.fixture
def built(tmp_path):
    build(tmp_path / "vqa_mc", "iou", "qou", "iou_qou")
    return tmp_path / "vqa_mc"


def build(output, *names, source="made", seed=0, rows=None):
    variants = made_variants(*names, seed=seed, rows=rows)
    return write_folder(output, source, variants, about=ABOUT, made_with=MADE_WITH)


def load(folder, config=None, **options):
    return load_dataset(str(folder), config, cache_dir=str(folder.parent / "cache"), **options)


def test_load_dataset_gives_back_the_rows(built):
    (variant,) = made_variants("iou_qou")
    ds = load(built, "made_iou_qou")
    assert {split: rows.num_rows for split, rows in ds.items()} == ROWS
    assert list(ds) == ["train", "test"]
    for split, rows in ds.items():
        assert rows.features == multiple_choice_features()
        assert rows.to_list() == variant.splits[split].to_pylist()


@pytest.mark.slow
def test_the_literal_call_finds_the_folder_without_a_network(built):
    # os._exit: a stream that is left half read makes Arrow's threads abort some Python exits
    code = """
import os
from datasets import load_dataset
ds = load_dataset("vqa_mc", "made_iou_qou")
assert ds["train"].num_rows == 40, ds
assert load_dataset("vqa_mc")["test"].features == ds["test"].features
assert next(iter(load_dataset("vqa_mc", "made_iou_qou", streaming=True)["test"]))["question_id"] == "test-0"
os._exit(0)
"""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(built.parent / "home")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=built.parent, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_second_source_is_added_and_the_first_stays_until_it_is_built_again(built):
    before = tree_bytes(built)
    build(built, "iou", source="other")
    after = tree_bytes(built)
    assert all(after[path] == before[path] for path in before if path.startswith("made_"))
    assert load(built, "other_iou")["test"].num_rows == load(built, "made_qou")["test"].num_rows == 20
    assert read_inventory(built)["default"] == "made_iou_qou"
    build(built, "qou", seed=1)
    inventory = read_inventory(built)
    assert set(inventory["sources"]["made"]["configs"]) == {"made_qou"}
    assert sorted(path.name for path in built.iterdir() if path.is_dir()) == ["made_qou", "other_iou"]
    assert inventory["default"] == "made_qou"
    assert load(built)["train"].to_list() == made_variants("qou", seed=1)[0].splits["train"].to_pylist()


def test_the_same_rows_give_the_same_bytes_in_any_order_of_sources(tmp_path, built):
    again = tmp_path / "again"
    build(again, "iou", source="other")
    build(again, "iou", "qou", "iou_qou")
    build(again, "iou", "qou", "iou_qou", source="made")
    build(built, "iou", source="other")
    first, second = tree_bytes(built), tree_bytes(again)
    assert json.loads(first["statistics.json"])["default"] == "made_iou_qou", "the only one of the preferred variant"
    assert first == second


def test_a_rebuilt_folder_is_not_answered_from_the_cache_of_the_old_one(built):
    old = load(built, "made_iou")["train"]["choices"][:]
    sizes = read_inventory(built)["sources"]["made"]["configs"]["made_iou"]["splits"]
    build(built, "iou", seed=1)
    assert read_inventory(built)["sources"]["made"]["configs"]["made_iou"]["splits"] == sizes
    assert load(built, "made_iou")["train"]["choices"][:] != old


def test_large_splits_become_several_files_and_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_BYTES", 40_000)
    monkeypatch.setattr(shards, "GROUP_BYTES", 10_000)
    build(tmp_path / "vqa_mc", "iou", rows={"train": 1001, "test": 7})
    files = sorted((tmp_path / "vqa_mc" / "made_iou").glob("train-*"))
    n = len(files)
    assert n > 2
    assert [file.name for file in files] == [f"train-{i:05d}-of-{n:05d}.parquet" for i in range(n)]
    for file in files:
        groups = pq.ParquetFile(file).metadata
        assert groups.num_row_groups > 2
        assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) < 100
    expected = made_variants("iou", rows={"train": 1001, "test": 7})[0].splits["train"].to_pylist()
    assert load(tmp_path / "vqa_mc", "made_iou")["train"].to_list() == expected


def test_very_long_and_unusual_text_is_unchanged(tmp_path):
    (variant,) = made_variants("iou", rows={"test": 3})
    table = variant.splits["test"]
    questions = ["é" * 100_000, "a\u2028b\x00c\n---\n", "# *what* | `is` <b>this</b>?"]
    table = table.set_column(2, "question", [questions])
    odd = variant._replace(splits={"test": table})
    write_folder(tmp_path / "vqa_mc", "made", [odd], about=ABOUT, made_with=MADE_WITH)
    assert load(tmp_path / "vqa_mc", "made_iou")["test"]["question"][:] == questions
