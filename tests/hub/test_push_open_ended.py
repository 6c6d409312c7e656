"""A folder with open-ended configs goes to the Hub whole, and they load from there."""

import json

import pytest
from datasets import load_dataset

from hf_vqa_mc.verbs.build import build
from tests.hub.pushing import as_sent, json_of
from tests.sources.open_ended_files import write_gqa, write_vqa2_pairs

NAME = "ada/vqa_mc"
CONFIGS = ("gqa_balanced", "vqa2_pairs", "gqa_random_uniform")
PULL = """
import json, sys
from datasets import load_dataset
configs = {name: load_dataset(sys.argv[1], name) for name in sys.argv[2:]}
print(json.dumps({name: {split: rows.to_list() for split, rows in ds.items()} for name, ds in configs.items()}))
"""


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
@pytest.mark.slow
def test_open_ended_configs_are_pushed_and_load_as_here(hub, vqa_mc, process, tmp_path):
    folder = tmp_path / "built" / "vqa_mc"
    folder.parent.mkdir()
    names = ["balanced", "random_uniform"]
    build("gqa", data_dir=write_gqa(tmp_path / "gqa"), output=folder, variants=names)
    build("vqa2", data_dir=write_vqa2_pairs(tmp_path / "vqa2"), output=folder, variants=["pairs"])
    done = vqa_mc("push", "dataset", NAME, "--folder", folder)
    assert done.returncode == 0, done.stderr
    sent = hub.repositories["dataset", NAME].files
    assert {path: content for path, content in sent.items() if path[0] != "."} == as_sent(hub, folder)
    loaded = {name: load_dataset(str(folder), name, cache_dir=str(tmp_path / "cache")) for name in CONFIGS}
    here = {name: {split: rows.to_list() for split, rows in ds.items()} for name, ds in loaded.items()}
    assert here["gqa_balanced"]["train"][0]["types"]["structural"] in ("query", "verify")
    assert json.dumps(json_of(process("-c", PULL, NAME, *CONFIGS, token=None, home="elsewhere"))) == json.dumps(here)
