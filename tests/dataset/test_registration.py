"""The opt-in that lets load_dataset run our builder, through private names of datasets: this fails when they move."""

import subprocess
import sys

import pytest
from datasets import load

from tests.dataset.fixtures import write_made

BEGIN = """
import warnings
warnings.simplefilter("ignore")
import hf_vqa_mc
from datasets import load_dataset
hf_vqa_mc.register()
hf_vqa_mc.register()
"""


@pytest.fixture
def run(preloaded, tmp_path, offline):
    """Runs code after ``register()`` in an empty folder, offline."""
    (tmp_path / "here").mkdir()

    def run(code, *arguments):
        command = [preloaded / "python", "-c", BEGIN + code, *map(str, arguments)]
        environment = {**offline, "PYTHONPATH": ":".join(filter(None, sys.path))}
        return subprocess.run(
            command, cwd=tmp_path / "here", env=environment, capture_output=True, text=True, check=False
        )

    return run


def test_datasets_still_has_the_private_names_that_register_needs():
    assert isinstance(load._PACKAGED_DATASETS_MODULES, dict)
    assert load._PACKAGED_DATASETS_MODULES["parquet"][0] == "datasets.packaged_modules.parquet.parquet"
    assert callable(load.PackagedDatasetModuleFactory("parquet").get_module)
    assert hasattr(load, "LocalDatasetModuleFactory")
    fields = {"module_path", "hash", "builder_kwargs"}
    assert fields <= set(load.DatasetModule.__dataclass_fields__)


@pytest.mark.slow
def test_load_dataset_builds_from_raw_files(run, cocoqa_files, glove_file):
    done = run(
        """
import sys
options = {"data_dir": sys.argv[1], "word_vectors": sys.argv[2]}
ds = load_dataset("vqa_mc", "cocoqa_iou_qou", **options)
assert list(ds) == ["train", "test"], ds
other = load_dataset("vqa_mc", "cocoqa_iou_qou", split="test", **options, seed=1)
assert other["choices"][:] != ds["test"]["choices"][:]
assert next(iter(load_dataset("vqa_mc", "cocoqa_iou_qou", streaming=True, **options)["test"])) == ds["test"][0]
""",
        cocoqa_files,
        glove_file,
    )
    assert done.returncode == 0, done.stderr


def test_the_literal_call_still_reads_a_built_folder_and_other_builders_work_as_before(run, tmp_path):
    write_made(tmp_path / "here" / "vqa_mc", "iou")
    (tmp_path / "here" / "rows.csv").write_text("a,b\n1,2\n")
    done = run(
        'assert load_dataset("vqa_mc", "made_iou")["train"].num_rows == 40\n'
        'assert load_dataset("csv", data_files="rows.csv")["train"][0] == {"a": 1, "b": 2}'
    )
    assert done.returncode == 0, done.stderr


def test_missing_files_raise_an_input_error(run):
    done = run('load_dataset("vqa_mc", "cocoqa_iou")')
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("hf_vqa_mc.errors.InputError: vqa_mc: no data_dir was given, there is no built folder"), (
        last
    )
    assert 'load_dataset("NAMESPACE/vqa_mc", ...) from the Hub' in last
