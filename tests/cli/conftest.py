"""A cache of its own for each test, and one built folder for all commands that read one."""

import sys
import warnings

import pytest

from hf_vqa_mc.cli import main
from tests.sources import fixtures


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A folder vqa_mc, built of COCO-QA and VQA; not to be changed."""
    from hf_vqa_mc.verbs.build import build

    folder = tmp_path_factory.mktemp("built")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cocoqa, vqa = fixtures.write_cocoqa(folder / "cocoqa"), fixtures.write_vqa(folder / "vqa")
        build("cocoqa", data_dir=cocoqa, output=folder / "vqa_mc", variants=["iou", "random_uniform"])
        build("vqa", data_dir=vqa, output=folder / "vqa_mc", variants=["orig"])
    return folder / "vqa_mc"


@pytest.fixture
def vqa_mc(monkeypatch, capsys, tmp_path):
    """Runs a command line in this process, in an empty folder; exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def vqa_mc(*arguments):
        monkeypatch.setattr(sys, "argv", ["vqa-mc", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code or 0, *capsys.readouterr())

    return vqa_mc
