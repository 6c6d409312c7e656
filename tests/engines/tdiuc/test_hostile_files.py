"""What TDIUC's engine says of files whose fields are of another type, and of ids that stand for two photographs."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_vqa_mc.engines.tdiuc.generate import generate
from hf_vqa_mc.errors import InputError
from tests.engines.tdiuc import made_annotations as made


def change_genome(folder: Path, name: str, change: Callable[[Any], object]) -> Path:
    """Visual Genome's files of some images, one of them changed."""
    made.write_genome(folder, 9)
    content = json.loads((folder / f"{name}.json").read_text())
    change(content)
    made.write(folder / f"{name}.json", content)
    return folder


def test_nulls_in_lists_of_visual_genome_are_counted(tmp_path: Path) -> None:
    folder = change_genome(
        tmp_path / "genome", "attributes", lambda rows: rows[0]["attributes"][0].update(attributes=[None, "red"])
    )
    figures = generate(tmp_path / "out", visual_genome=folder)
    assert figures["left_out"]["visual genome: nulls in attributes"] == 1


def test_one_photograph_under_two_of_visual_genomes_ids_is_counted(tmp_path: Path) -> None:
    def change(rows: Any) -> None:
        rows[1].update(coco_id=99, flickr_id=5)
        rows[4].update(coco_id=99, flickr_id=5)

    folder = change_genome(tmp_path / "genome", "image_data", change)
    figures = generate(tmp_path / "out", visual_genome=folder)
    counted = {reason: count for reason, count in figures["left_out"].items() if "same photograph" in reason}
    assert list(counted.values()) == [1]


def renamed(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The same file whose images have other names."""
    content = copy.deepcopy(content)
    for one in content["images"]:
        one["file_name"] = name.format(one["id"])
    return content


@pytest.mark.parametrize(
    "name", ["COCO_val2014_{:012d}.jpg", "val2017/{:012d}.jpg", "{:012d}.png", "train2017/a/{:012d}.jpg"]
)
def test_a_photograph_may_have_the_names_of_several_releases(name: str, tmp_path: Path) -> None:
    content = made.instances(20, 3)
    paths = [made.write(tmp_path / "a.json", content), made.write(tmp_path / "b.json", renamed(content, name))]
    figures = generate(tmp_path / "out", coco=paths)
    assert figures["left_out"]["coco: images listed in another file too"] == 20


def test_reasons_that_nothing_was_left_out_for_are_not_reported(tmp_path: Path) -> None:
    content = {**made.instances(5, 3), "annotations": []}
    path = made.write(tmp_path / "instances.json", content)
    with pytest.raises(InputError) as error:
        generate(tmp_path / "out", coco=[path])
    assert "(coco: images without any annotated object: 5)" in str(error.value)
    (tmp_path / "genome").mkdir()
    made.write(tmp_path / "genome" / "objects.json", [{"image_id": 1, "objects": []}])
    made.write(tmp_path / "genome" / "image_data.json", [{"image_id": 1, "coco_id": None}])
    with pytest.raises(InputError, match="generated from these annotations; give more images"):
        generate(tmp_path / "out", visual_genome=tmp_path / "genome")


def test_gray_has_one_spelling_whoever_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_vqa_mc.engines.tdiuc.questions.MIN_ANSWERS", 1)
    folder = made.write_genome(tmp_path / "genome", 9)
    spelled = ["Grey.", "gray", "grey", "Gray"]
    rows = [
        {"id": image_id, "qas": [{"question": f"What color is the {noun}?", "answer": answer, "qa_id": 1}]}
        for image_id, (noun, answer) in enumerate(zip(("road", "carpet", "sky", "wall"), spelled, strict=True), 1)
    ]
    made.write(folder / "question_answers.json", rows)
    vqa = made.write_vqa(tmp_path / "vqa", 2)
    for subset in ("train2014", "val2014"):
        path = vqa / f"mscoco_{subset}_annotations.json"
        path.write_text(path.read_text().replace('"brown"', '"grey"').replace('"green"', '"gray"'))
    generate(tmp_path / "out", visual_genome=folder, vqa=vqa)
    answers = {
        one["answers"][0]["answer"]: one["ans_source"]
        for subset in ("train2014", "val2014")
        for one in json.loads((tmp_path / "out" / f"mscoco_{subset}_annotations.json").read_text())["annotations"]
    }
    assert "gray" in answers
    assert not any("grey" in answer for answer in answers)
