"""Goyal's two rounds: people pick an image, ten people answer for it, and VQA2's reader takes the files."""

import json
from contextlib import closing

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.vqa2 import read_pairs
from hf_vqa_mc.studies.store import Study
from tests.studies import worlds

QUESTIONS, IMAGES = 4, 30


@pytest.fixture
def dataset(tmp_path):
    """A folder with four questions, the images' folder, and a file of six candidates per question."""
    folder, images = tmp_path / "data", tmp_path / "images"
    for path in (folder / "data", images):
        path.mkdir(parents=True)
    for number in range(1, IMAGES + 1):
        (images / f"{number}.png").write_bytes(worlds.picture(number))
    rows = [
        {"question_id": f"{number}000", "image_id": str(number), "question": f"What is {number}?", "answer": "red"}
        for number in range(1, QUESTIONS + 1)
    ]
    frame = pd.DataFrame([{**row, "answers": ["red"] * 9 + ["pink"], "question_type": "what is"} for row in rows])
    frame.to_parquet(folder / "data" / "validation.parquet")
    candidates = [
        {**row, "candidates": [str(5 * at + number) for at in range(1, 6)], "distances": [5.0, 4.0, 3.0, 2.0, 1.0]}
        for number, row in enumerate(rows, start=1)
    ]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in candidates))
    return folder, images, tmp_path / "candidates.jsonl"


def test_picks_and_ten_answers_become_vqa2s_files(tmp_path, dataset):
    folder, images, candidates = dataset
    options = {"dataset": folder, "images": images}
    path = worlds.new_study(tmp_path, "picker", candidates=candidates, **options)
    with closing(Study(path)) as study:
        annotator = study.annotator(study.join())
        for task in study.next_page(annotator).tasks:
            picked = -1 if task.item.question_id == "1000" else 1
            study.save(annotator, task.id, worlds.right(study, task.item) if task.item.control else picked, 1.0)
    result = vm.study_results(path, output=tmp_path / "picked")
    assert result.to_dict()["conditions"][0]["share_not_possible"] == 0.25
    assert result.to_pandas().iloc[0]["question_id"] == "1000"
    picks = [json.loads(line) for line in (tmp_path / "picked" / "picks.jsonl").read_text().splitlines()]
    assert {row["question_id"]: row["picked_image_id"] for row in picks} == {"2000": "22", "3000": "23", "4000": "24"}

    path = worlds.new_study(tmp_path, "picked-answers", candidates=tmp_path / "picked" / "picks.jsonl", **options)
    with closing(Study(path)) as study:
        assert {item.question_id for item in study.items.values() if not item.control} == {"22000", "23000", "24000"}
        for number in range(10):
            annotator = study.annotator(study.join())
            for task in study.next_page(annotator).tasks:
                value = {"text": "green" if number else "blue", "confidence": "yes"}
                study.save(annotator, task.id, worlds.right(study, task.item) if task.item.control else value, 1.0)
    vm.study_results(path, output=tmp_path / "pairs")
    pairs = read_pairs(Folder(tmp_path / "pairs"), "val2014").to_pylist()
    assert {row["complementary_answer"] for row in pairs} == {"green"}
    assert {row["question_id"]: row["complementary_question_id"] for row in pairs} == {
        "2000": "22000",
        "3000": "23000",
        "4000": "24000",
    }


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"distances": [1.0]}, "record 1: expected a record of vqa-mc generate complementary"),
        ({"candidates": []}, "record 1: expected a record of vqa-mc generate complementary"),
        ({"candidates": ["99"], "distances": [1.0]}, "no image"),
        ({"question": None}, "a text or all candidates are missing"),
    ],
)
def test_a_wrong_file_of_candidates_is_an_error(tmp_path, dataset, record, problem):
    folder, images, candidates = dataset
    first, *rest = candidates.read_text().splitlines()
    candidates.write_text("\n".join([json.dumps({**json.loads(first), **record}), *rest]))
    with pytest.raises(InputError, match=problem):
        worlds.new_study(tmp_path, "picker", dataset=folder, images=images, candidates=candidates)
    assert not (tmp_path / "picker.sqlite").exists()


def test_picks_need_ten_answers_of_the_original_question(tmp_path, dataset):
    folder, images, _ = dataset
    pick = {"question_id": "7", "image_id": "1", "picked_image_id": "2", "question": "What?", "answer": "red"}
    (tmp_path / "picks.jsonl").write_text(json.dumps(pick) + "\n")
    with pytest.raises(InputError, match=r"picks.jsonl, line 1: question '7': expected .* with 10 answers"):
        worlds.new_study(
            tmp_path, "picked-answers", dataset=folder, images=images, candidates=tmp_path / "picks.jsonl"
        )
