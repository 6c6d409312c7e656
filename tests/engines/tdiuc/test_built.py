"""What is built of a generated TDIUC: its images have names that can be found, its card claims no publisher."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from hf_vqa_mc.engines.tdiuc.generate import generate
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET
from hf_vqa_mc.verbs.build import build
from tests.dataset.fixtures import draw_images
from tests.engines.tdiuc import made_annotations as made


@pytest.fixture(autouse=True)
def _rare_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The made-up files are too few for two questions of each answer."""
    monkeypatch.setattr("hf_vqa_mc.engines.tdiuc.questions.MIN_ANSWERS", 1)


def image_files(folder: Path) -> dict[int, set[str]]:
    """The names that each image has in the questions of a folder."""
    rows = read_triplets("tdiuc", folder).select(["image_id", "image_file"]).to_pylist()
    found: dict[int, set[str]] = {}
    for row in rows:
        found.setdefault(int(row["image_id"]), set()).add(row["image_file"])
    return found


def test_images_of_a_subset_given_by_files_have_the_names_of_2014(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2014.json", made.instances(20, 3))
    generate(tmp_path / "out", coco=[path])
    found = image_files(tmp_path / "out")
    assert found == {one: {f"COCO_val2014_{one:012d}.jpg"} for one in found}


def test_images_of_no_known_subset_have_the_names_of_2017_and_visual_genomes_its_own(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2017.json", made.instances(20, 3, first=1001))
    genome = made.write_genome(tmp_path / "genome", 30)
    generate(tmp_path / "out", coco=[path], visual_genome=genome)
    found = image_files(tmp_path / "out")
    assert {one for one in found if one > GENOME_OFFSET}
    assert {one for one in found if one < 1000}
    for one, names in found.items():
        expected = f"{one - GENOME_OFFSET}.jpg" if one > GENOME_OFFSET else f"{one:012d}.jpg"
        assert names == {expected}


def test_visual_genomes_images_change_nothing_where_files_give_the_subset(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_train2014.json", made.instances(20, 3))
    genome = made.write_genome(tmp_path / "genome", 20)
    generate(tmp_path / "out", coco=[path], visual_genome=genome)
    names = {name for one, found in image_files(tmp_path / "out").items() if one <= 20 for name in found}
    assert names
    assert all(name.startswith("COCO_train2014_") for name in names)


def test_images_of_both_are_found_though_their_numbers_are_the_same(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2017.json", made.instances(20, 3))
    genome = made.write_genome(tmp_path / "genome", 20)
    generate(tmp_path / "out", coco=[path], visual_genome=genome)
    pictures = tmp_path / "pictures"
    for folder, name in (("val2017", "{:012d}.jpg"), ("VG_100K", "{}.jpg")):
        numbers = range(1, 21)
        draw_images(
            pictures / folder,
            pa.table({"image_id": list(map(str, numbers)), "image_file": [name.format(one) for one in numbers]}),
        )
    built = build("tdiuc", data_dir=tmp_path / "out", output=tmp_path / "vqa_mc", variants=["open"], images=pictures)
    assert built.configs["tdiuc_images"]["splits"]["images"]["rows"] == len(image_files(tmp_path / "out"))


@pytest.mark.slow
def test_a_subset_without_questions_is_reported_as_not_read(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2014.json", made.instances(20, 3))
    figures = generate(tmp_path / "out", coco=[path])
    built = build("tdiuc", data_dir=tmp_path / "out", output=tmp_path / "vqa_mc", variants=["open", "iou"])
    config = built.configs["tdiuc"]
    assert {split: one["rows"] for split, one in config["splits"].items()} == {"validation": figures["questions"]}
    assert config["statistics"]["not_read"] == {"OpenEnded_mscoco_train2014_questions.json": "it holds no questions"}
    annotations = tmp_path / "out" / "mscoco_train2014_annotations.json"
    annotations.write_bytes((tmp_path / "out" / "mscoco_val2014_annotations.json").read_bytes())
    with pytest.raises(
        InputError, match=r"train2014_questions\.json: expected records in the list 'questions', found"
    ):
        read_triplets("tdiuc", tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("variants", [["open", "tail"], ["open", "random_uniform"]])
def test_the_card_of_generated_questions_claims_no_publisher(variants: list[str], tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2014.json", made.instances(30, 3))
    generate(tmp_path / "out", coco=[path])
    build("tdiuc", data_dir=tmp_path / "out", output=tmp_path / "vqa_mc", variants=variants)
    card = (tmp_path / "vqa_mc" / "README.md").read_text("utf-8")
    assert "vqa-mc generate tdiuc (version" in card
    about = card.split("## TDIUC-style questions, generated")[1]
    assert not re.search(r"publisher|as published|CC-BY-4\.0", about, re.IGNORECASE)
