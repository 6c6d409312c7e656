"""dataset_scripts/vqa_mc.py under datasets 3, next to the installed package, as its docstring says."""

import json
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "dataset_scripts" / "vqa_mc.py"

CODE = """
import json, sys
import datasets
from datasets import load_dataset
ds = load_dataset("vqa_mc", "cocoqa_iou_qou", **json.loads(sys.argv[1]))
kinds = ds["train"].features["choice_kinds"]
names = kinds[0].names if isinstance(kinds, list) else kinds.feature.names
rows = {split: ds[split].to_list() for split in ds}
print(json.dumps({"version": datasets.__version__, "columns": ds["train"].column_names, "kinds": names, "rows": rows}))
"""


@pytest.fixture
def load(run, datasets3, tmp_path):
    """What a call of ``load_dataset`` in a folder gives, under datasets 3 or the newer one."""

    def load(folder, old=True, **options):
        environment = {"PYTHONPATH": str(datasets3)} if old else {}
        environment["HF_HOME"] = str(tmp_path / ("home of 3" if old else "home"))  # neither reads the other's cache
        loaded = json.loads(run("python", "-c", CODE, json.dumps(options), cwd=folder, **environment))
        assert loaded.pop("version").startswith("3.") == old
        return loaded

    return load


def test_the_script_builds_the_rows_of_the_folder_of_vqa_mc_build(load, built, raw, tmp_path):
    (tmp_path / "vqa_mc").mkdir()
    shutil.copy(SCRIPT, tmp_path / "vqa_mc")
    options = {"data_dir": str(raw / "cocoqa"), "word_vectors": str(raw / "vectors.txt"), "trust_remote_code": True}
    assert load(tmp_path, **options) == load(built, old=False)


def test_datasets_3_reads_the_folder_of_vqa_mc_build_itself(load, built):
    assert load(built) == load(built, old=False)
