"""A part of easy-VQA, on which the pages and notebooks run: what they do does not depend on the number of rows."""

import json
import shutil
from pathlib import Path

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import CountMismatch
from hf_vqa_mc.sources.easyvqa import package_folder

QUESTIONS = {"train": 3_000, "test": 900}


@pytest.fixture(scope="session")
def part_of_easy_vqa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH, whose package easy_vqa has the first questions of each split, and their images."""
    folder, whole = tmp_path_factory.mktemp("packages"), package_folder()
    for split, questions in QUESTIONS.items():
        images = folder / "easy_vqa" / "data" / split / "images"
        images.mkdir(parents=True)
        rows = json.loads((whole / split / "questions.json").read_text("utf-8"))[:questions]
        images.with_name("questions.json").write_text(json.dumps(rows), "utf-8")
        for image in {image for *_, image in rows}:
            shutil.copy(whole / split / "images" / f"{image}.png", images)
    (folder / "easy_vqa" / "__init__.py").touch()
    return folder


@pytest.fixture(scope="session")
def quickstart_dataset(part_of_easy_vqa: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder vqa_mc as ``vqa-mc quickstart`` would build it from the part of easy-VQA."""
    data, output = part_of_easy_vqa / "easy_vqa" / "data", tmp_path_factory.mktemp("quickstart") / "vqa_mc"
    with pytest.warns(CountMismatch):
        vm.build("easyvqa", data_dir=data, images=data, output=output)
    return output
