"""Loading local folders, which ``datasets`` caches by their names."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_vqa_mc.data.loading import load_splits


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def written(folder, answer):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"answer": [answer]}), folder / "train.parquet")
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: own\n  data_files: train.parquet\n---\n")
    return folder


def answer_of(folder):
    return load_splits(str(folder), "own")[1]["train"]["answer"][0]


def test_folders_of_one_name_are_not_mistaken_for_each_other(tmp_path):
    one, other = written(tmp_path / "a" / "data", "red"), written(tmp_path / "b" / "data", "sky")
    assert [answer_of(one), answer_of(other), answer_of(one)] == ["red", "sky", "red"]


def test_a_changed_file_is_read_again_even_if_its_size_and_time_are_as_before(tmp_path):
    folder = written(tmp_path / "data", "red")
    before = (folder / "train.parquet").stat()
    assert answer_of(folder) == "red"
    written(folder, "sky")
    os.utime(folder / "train.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert answer_of(folder) == "sky"
