"""dataset_scripts/vqa_mc.py under datasets 3, in a process of its own."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import load_dataset

from hf_vqa_mc.verbs.build import build

ROOT = Path(__file__).parents[2]

CODE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import datasets
from datasets import load_dataset
assert datasets.__version__.startswith("3."), datasets.__version__
options = json.loads(sys.argv[1])
ds = load_dataset("vqa_mc", "cocoqa_iou_qou", **options)
kinds = ds["test"].features["choice_kinds"]
kinds = kinds[0] if isinstance(kinds, list) else kinds.feature
print(json.dumps({"rows": ds["test"].to_list(), "kinds": kinds.names}))
"""


@pytest.fixture
def run(tmp_path, offline, datasets3):
    def run(folder, **options):
        environment = {**offline, "PYTHONPATH": f"{datasets3}:{ROOT}"}
        command = [sys.executable, "-c", CODE, json.dumps(options)]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_the_script_gives_the_rows_of_the_folder(run, tmp_path, cocoqa_files, glove_file):
    (tmp_path / "vqa_mc").mkdir()
    shutil.copy(ROOT / "dataset_scripts" / "vqa_mc.py", tmp_path / "vqa_mc")
    vectors = str(glove_file)
    found = run(tmp_path, data_dir=str(cocoqa_files), word_vectors=vectors, trust_remote_code=True)
    output = tmp_path / "folder"
    build("cocoqa", data_dir=cocoqa_files, output=output, variants=["iou_qou"], word_vectors=vectors)
    expected = load_dataset(str(output), "cocoqa_iou_qou", cache_dir=str(tmp_path / "cache"))["test"]
    assert found["rows"] == expected.to_list()
    assert found["kinds"] == expected.features["choice_kinds"].feature.names


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_datasets_3_reads_the_built_folder_itself(run, tmp_path, cocoqa_files, glove_file):
    output = tmp_path / "vqa_mc"
    build("cocoqa", data_dir=cocoqa_files, output=output, word_vectors=str(glove_file))
    expected = load_dataset(str(output), "cocoqa_iou_qou", cache_dir=str(tmp_path / "cache"))["test"]
    assert run(tmp_path)["rows"] == expected.to_list()
