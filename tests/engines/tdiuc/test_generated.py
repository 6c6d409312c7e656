"""Every question that TDIUC's engine makes is right by the annotation, and what a broken engine makes is found out."""

import json
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hf_vqa_mc.engines.tdiuc import coco, imported, questions
from hf_vqa_mc.engines.tdiuc import generate as engine
from hf_vqa_mc.engines.tdiuc.coco import CocoImage
from hf_vqa_mc.engines.tdiuc.generate import generate
from hf_vqa_mc.engines.tdiuc.questions import QuestionCollection
from hf_vqa_mc.engines.tdiuc.words import COCO_OBJECTS
from tests.engines.tdiuc import made_annotations as made
from tests.engines.tdiuc.independent_checker import NUMBERS, faults

COMPLETE = (
    "COCO128__instances_train2017",
    "COCO_MINI__instances_train2017",
    "COCO_MINI__instances_val2017",
    "COCO_Tiny__instances_train2017",
    "COCO_Tiny__instances_val2017",
)
"""The real files that list all objects of their images, 447 images in all."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Made-up files of every source."""
    folder = tmp_path_factory.mktemp("inputs")
    figures = made.instances(60, 1, "COCO_val2014_{:012d}.jpg")
    coco = [
        made.write(folder / "instances_val2014.json", figures),
        made.write(folder / "instances.json", made.instances(60, 2, first=1001)),
    ]
    genome, vqa = made.write_genome(folder / "genome", 50), made.write_vqa(folder / "vqa", 6)
    return {"coco": coco, "visual_genome": genome, "vqa": vqa}


def judged(output: Path, inputs: dict[str, Any]) -> list[str]:
    return faults(output, *inputs.values())


def test_all_that_is_made_of_made_up_files_is_right(inputs: dict[str, Any], tmp_path: Path) -> None:
    figures = generate(tmp_path / "out", **inputs)
    assert judged(tmp_path / "out", inputs) == []
    counts = {name: one["questions"] for name, one in figures["types"].items()}
    assert {name for name, count in counts.items() if not count} == {"utility_affordance"}
    assert sum(counts.values()) == figures["questions"] == sum(figures["origins"].values())
    assert figures["types"]["object_presence"]["entropy_bits"] == 1.0
    assert figures["types"]["object_presence"]["answers"] == {
        one: counts["object_presence"] // 2 for one in ("no", "yes")
    }


def _all_objects(image: CocoImage, _: frozenset[str]) -> list[str]:
    return list(COCO_OBJECTS)


IS_NEXT_TO = coco._is_next_to
OTHER_SIDE = {"left": "right", "right": "left"}
LARGE_ONES = property(lambda image: frozenset(one.name for one in image.instances if one.area > 2000))
INDOORS = {**coco.SCENES, "outdoor signs": frozenset(), "indoor proof": frozenset(COCO_OBJECTS)}
SINGULARS = {name: one._replace(counted=one.wording) for name, one in COCO_OBJECTS.items()}
FAULTS: dict[str, tuple[object, str, object, str]] = {
    "counts one too many": (coco, "COUNTABLE", tuple(NUMBERS[2:]), "counting"),
    "says no of what is there": (coco, "absent_objects", _all_objects, "there is one"),
    "asks absurdly of what is there": (engine, "absent_objects", _all_objects, "'absurd'"),
    "does not balance": (questions, "_balanced", lambda questions, *_: questions, "not half yes"),
    "takes left for right": (
        coco,
        "_is_next_to",
        lambda other, one, side, *more: IS_NEXT_TO(other, one, OTHER_SIDE[side], *more),
        "positional_reasoning",
    ),
    "overlooks a second thing beside": (coco, "LOOSELY", 1.0, "things are there"),
    "takes every sport for tennis": (coco, "EQUIPMENT", dict.fromkeys(coco.EQUIPMENT, "tennis"), "sport_recognition"),
    "is always indoors": (coco, "SCENES", INDOORS, "scene_recognition"),
    "overlooks small objects": (CocoImage, "present", LARGE_ONES, "object_recognition"),
    "says 'a apple'": (coco, "with_article", lambda phrase: f"a {phrase}", "a or an"),
    "says 'how many dog'": (coco, "COCO_OBJECTS", SINGULARS, "counting"),
    "takes two dogs of Visual Genome for one": (imported, "_same_kind", lambda *_: False, "there are 2 of it"),
    "asks for the thing, not for what is there": (
        imported,
        "_specified",
        lambda one: "chair",
        "the relationships say",
    ),
    "keeps duplicates": (
        questions,
        "without_duplicates",
        lambda made: pd.DataFrame([*made.questions, made.questions[0]]),
        "asked twice",
    ),
    "assigns images at random": (
        QuestionCollection,
        "subset",
        lambda _, image_id: f"{'train' if image_id % 2 else 'val'}2014",
        "wrong split",
    ),
    "asks of small objects": (coco, "MIN_AREA", 0, "ambiguous"),
    "keeps rare answers": (questions, "MIN_ANSWERS", 1, "occurs once"),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_the_checker_detects_an_engine_that(
    fault: str, inputs: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, name, value, expected = FAULTS[fault]
    monkeypatch.setattr(target, name, value)
    generate(tmp_path / "out", **inputs)
    assert any(expected in one for one in judged(tmp_path / "out", inputs))


BOXES = st.lists(st.integers(0, 1200).map(lambda number: number / 4), min_size=4, max_size=4)
"""Pixels in quarters, which stay exact where the checker looks into its mirror."""
OBJECTS = st.lists(st.tuples(st.sampled_from([name for name, _ in made.NAMES]), BOXES), min_size=1, max_size=6)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(OBJECTS, min_size=1, max_size=8), st.integers(0, 3))
@example(
    [[("person", [0.0] * 4)], [("laptop", [0.0] * 4)], [("person", [0, 0, 0, 96.25]), ("mouse", [0.25, 96, 0, 0.25])]],
    0,
)
def test_whatever_is_annotated_the_questions_are_right(
    tmp_path_factory: pytest.TempPathFactory, images: list[list[tuple[str, list[float]]]], seed: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    files = []
    for number, things in enumerate(images * 2):
        content = made.one_image(*things, image_id=number + 1)
        for one in content["annotations"]:
            one["id"] += 100 * number
        files.append(made.write(folder / f"{number}.json", content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coco, "MIN_AREA", 0)
        figures = generate(folder / "out", coco=files, seed=seed)
    assert faults(folder / "out", files, min_area=0) == []
    assert figures["questions"]


@pytest.mark.slow
def test_real_annotation_gives_right_questions_only(real_data: Path, tmp_path: Path) -> None:
    coco = [real_data / "coco" / f"{name}.json.xz" for name in COMPLETE]
    genome, vqa = tmp_path / "genome", tmp_path / "vqa"
    genome.mkdir()
    vqa.mkdir()
    for name in ("objects", "attributes", "relationships", "question_answers", "image_data"):
        found = next((real_data / "visual_genome").glob(f"minyus100__{name}.json*"))
        (genome / found.name.removeprefix("minyus100__")).write_bytes(found.read_bytes())
    with lzma.open(real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz") as file:
        rows = json.load(file)[::20]
    for subset in ("train2014", "val2014"):
        part = [row for row in rows if row["coco_split"] == subset]
        keys = ("image_id", "question_id")
        made.write(
            vqa / f"OpenEnded_mscoco_{subset}_questions.json",
            {"questions": [{one: row[one] for one in (*keys, "question")} for row in part]},
        )
        answers = [
            {**{one: row[one] for one in keys}, "answers": [{"answer": one} for one in row["answer"]]} for row in part
        ]
        made.write(vqa / f"mscoco_{subset}_annotations.json", {"annotations": answers})
    inputs = {"coco": coco, "visual_genome": genome, "vqa": vqa}
    figures = generate(tmp_path / "out", **inputs)
    assert judged(tmp_path / "out", inputs) == []
    made_of = Counter({name: one["origins"]["coco_generated"] for name, one in figures["types"].items()})
    assert made_of["absurd"] == 3 * 444, "447 listed, one of them twice, two without any object"
    assert min(made_of[name] for name in ("object_presence", "counting", "object_recognition")) > 200
    assert min(made_of[name] for name in ("sport_recognition", "positional_reasoning", "scene_recognition")) > 40
    assert figures["types"]["color"]["origins"]["genome_generated"] > 40


def test_a_cut_file_is_refused(real_data: Path, tmp_path: Path) -> None:
    for path in sorted((real_data / "coco").glob("minyus100__instances*")):
        with pytest.raises(ValueError, match="is annotated, but not listed; use a whole file"):
            generate(tmp_path / "out", coco=[path])
    assert list(tmp_path.iterdir()) == []


def _coco(category: int, width: int, name: str = "000000000001.jpg") -> dict[str, Any]:
    """A file with one object."""
    return {
        "images": [{"id": 1, "file_name": name, "width": width, "height": 400}],
        "categories": [{"id": 1, "name": "person"}],
        "annotations": [
            {"id": 1, "image_id": 1, "category_id": category, "area": 9, "bbox": [0, 0, 3, 3], "iscrowd": 0}
        ],
    }


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (_coco(999, 600), "category 999 is annotated, but not listed"),
        (_coco(1, 500), "image 1 is another image"),
        (_coco(1, 600, "garden.jpg"), "image 1 is another image"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(second: dict[str, Any], message: str, tmp_path: Path) -> None:
    paths = [tmp_path / "instances_first.json", tmp_path / "instances_second.json"]
    made.write(paths[0], _coco(1, 600))
    made.write(paths[1], second)
    with pytest.raises(ValueError, match=message):
        generate(tmp_path / "out", coco=paths)
