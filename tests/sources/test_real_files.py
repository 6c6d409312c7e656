"""The publishers' real files, or samples of them, as far as they could be had."""

import gzip
import json
import lzma
import shutil
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.sources.visual7w import read_image_splits


def test_cocoqa_is_complete(real_data: Path) -> None:
    triplets = read_triplets("cocoqa", real_data / "cocoqa")  # a warning about the counts would be an error here
    assert Counter(triplets["split"].to_pylist()) == {"train": 78_736, "test": 38_948}
    assert len(pc.unique(triplets["target"])) == 430  # Ren et al. 2015, Table 1: 430 answers
    assert Counter(triplets["question_type"].to_pylist()) == {
        "object": 54_992 + 27_206,
        "number": 5_885 + 2_755,
        "color": 13_059 + 6_509,
        "location": 4_800 + 2_478,
    }
    assert triplets.slice(2, 1).to_pylist() == [
        {
            "question_id": "train-2",
            "image_id": "23004",
            "split": "train",
            "question": "what is the color of the horses",
            "target": "brown",
            "answers": ["brown"],
            "orig_decoys": [],
            "question_type": "color",
            "answer_type": "",
            "image_file": "COCO_train2014_000000023004.jpg",
        }
    ]


def test_easyvqa_is_complete_and_its_images_are_there() -> None:
    if find_spec("easy_vqa") is None:
        pytest.skip("easy-vqa is not installed")
    triplets = read_triplets("easyvqa")
    assert Counter(triplets["split"].to_pylist()) == {"train": 38_575, "test": 9_673}
    assert SOURCES["easyvqa"].default_folder is not None
    folder = SOURCES["easyvqa"].default_folder()
    images = pc.unique(triplets["image_file"]).to_pylist()
    assert len(images) == 5_000
    assert all((folder / image).is_file() for image in images)


@pytest.mark.slow
def test_the_released_decoys_are_joined_to_every_question_of_visual7w(real_data: Path, tmp_path: Path) -> None:
    archive = real_data / "chao_decoys" / "Visual7W_decoys.zip"
    shutil.copy(archive, tmp_path)
    decoys = _write_telling_around(archive, tmp_path)
    triplets = read_triplets("visual7w", tmp_path, released_decoys=True)  # without a warning about the counts
    assert Counter(triplets["split"].to_pylist()) == {"train": 69_817, "validation": 28_020, "test": 42_031}
    for row in (*range(0, triplets.num_rows, 9_973), triplets.num_rows - 1):
        found = triplets.slice(row, 1).to_pylist()[0]
        expected = decoys[found["question_id"]]
        assert (found["iou_decoys"], found["qou_decoys"]) == (expected["IoU_decoys"], expected["QoU_decoys"])
        assert found["image_id"] == str(expected["image_id"])


@pytest.mark.slow
def test_no_image_of_visual7w_is_in_two_splits(real_data: Path) -> None:
    splits = read_image_splits(Folder(real_data / "chao_decoys"))
    assert Counter(splits.values()) == {"train": 14_366, "validation": 5_678, "test": 8_609}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_visual_genome_is_divided_around_the_real_split_of_visual7w(real_data: Path, tmp_path: Path) -> None:
    sample = real_data / "visual_genome" / "minyus100__question_answers.json.xz"
    shutil.copy(sample, tmp_path / "question_answers.json.xz")
    shutil.copy(real_data / "chao_decoys" / "Visual7W_decoys.zip", tmp_path)
    triplets = read_triplets("qavg", tmp_path)
    published = {str(pair["qa_id"]): pair for image in json.loads(lzma.open(sample).read()) for pair in image["qas"]}
    assert triplets.num_rows == len(published) == 3_393
    for row in triplets.to_pylist():
        pair = published[row["question_id"]]
        assert (row["image_id"], row["question"], row["target"]) == (
            str(pair["image_id"]), pair["question"], pair["answer"],
        )  # fmt: skip
    split_of = dict(zip(triplets["image_id"].to_pylist(), triplets["split"].to_pylist(), strict=True))
    assert Counter(split_of.values()) == {"train": 25, "validation": 10, "test": 15}  # half of them have no questions
    visual7w = read_image_splits(Folder(tmp_path))
    shared = visual7w.keys() & split_of.keys()
    assert len(shared) == 8
    assert all(split_of[image] == visual7w[image] for image in shared)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_visual_genome_is_read_from_an_archive_with_folders_named_like_files(real_data: Path, tmp_path: Path) -> None:
    shutil.copy(real_data / "visual_genome" / "hfdummy__question_answers_v1.2.0.zip", tmp_path)
    shutil.copy(real_data / "chao_decoys" / "Visual7W_decoys.zip", tmp_path)
    triplets = read_triplets("qavg", tmp_path)
    assert triplets.num_rows == 721
    assert set(triplets["image_id"].to_pylist()) == {"1", "2", "3", "4", "5"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_real_vqa2_records_are_read(real_data: Path, tmp_path: Path) -> None:
    for subset, part in (("train2014", "train"), ("val2014", "valid")):
        for target, name in (("OpenEnded_mscoco_{}_questions", "questions"), ("mscoco_{}_annotations", "annotatons")):
            packed = real_data / "vqa_v2" / f"vqa_{name}_{part}.gzip"
            shutil.copy(packed, tmp_path / f"v2_{target.format(subset)}.json.gz")
    triplets = read_triplets("vqa2", tmp_path)
    assert Counter(triplets["split"].to_pylist()) == {"train": 48_061, "validation": 8_977}
    assert Counter(triplets["answer_type"].to_pylist()) == {"number": 19_034, "yes/no": 18_980, "other": 19_024}
    published = json.loads(gzip.open(real_data / "vqa_v2" / "vqa_annotatons_train.gzip").read())["annotations"]
    assert triplets["answers"].to_pylist()[:500] == [
        [one["answer"] for one in row["answers"]] for row in published[:500]
    ]
    assert all(
        target in answers
        for target, answers in zip(*triplets.select(["target", "answers"]).to_pydict().values(), strict=True)
    )
    minus = read_triplets("vqa2_minus", tmp_path)
    assert minus.num_rows == sum(target not in ("yes", "no") for target in triplets["target"].to_pylist())


def _write_telling_around(archive: Path, folder: Path) -> dict[str, Any]:
    """A made-up dataset_v7w_telling.json with the real images and qa_ids; the real decoys by qa_id."""
    decoys: dict[str, Any] = {}
    images: dict[int, dict[str, Any]] = {}
    with zipfile.ZipFile(archive) as packed:
        for split in ("train", "val", "test"):
            for record in json.loads(packed.read(f"Visual7W_decoys/v7w_{split}_decoys.json")):
                image_id = record["image_id"]
                image = images.setdefault(
                    image_id, {"image_id": image_id, "filename": "", "split": split, "qa_pairs": []}
                )
                pair = {"qa_id": record["qa_id"], "image_id": image_id, "question": "Made up?", "answer": "Yes."}
                image["qa_pairs"].append(pair | {"multiple_choices": ["No.", "Perhaps.", "Never."], "type": "what"})
                decoys[str(record["qa_id"])] = record
    (folder / "dataset_v7w_telling.json").write_text(json.dumps({"images": list(images.values())}))
    return decoys
