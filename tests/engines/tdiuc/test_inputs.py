"""What TDIUC's engine makes of good, split, doubled and broken input files, and where it writes."""

import copy
import gzip
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import hf_vqa_mc
from hf_vqa_mc.cli import app
from hf_vqa_mc.engines.tdiuc.coco import absent_objects, read_coco
from hf_vqa_mc.engines.tdiuc.generate import generate
from hf_vqa_mc.engines.tdiuc.questions import QuestionCollection
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import PublishedFile
from tests.engines.tdiuc import made_annotations as made
from tests.engines.tdiuc.independent_checker import faults

Questions = list[tuple[str, str, str]]


def questions_in(output: Path, image_id: int | None = None) -> Questions:
    """Question, answer and type of all questions (on one image)."""
    rows = []
    for subset in ("train2014", "val2014"):
        questions = json.loads((output / f"OpenEnded_mscoco_{subset}_questions.json").read_text())["questions"]
        annotations = json.loads((output / f"mscoco_{subset}_annotations.json").read_text())["annotations"]
        for one, other in zip(questions, annotations, strict=True):
            if image_id in (None, one["image_id"]):
                rows.append((one["question"], other["answers"][0]["answer"], other["question_type"]))
    return rows


def of_image(tmp_path: Path, *objects: tuple[str, list[float]], crowd: bool = False) -> Questions:
    """What is asked of an image with these objects, twin images beside it so that every answer occurs twice."""
    files = []
    for number in range(4):
        content = made.one_image(*objects, image_id=number + 1, crowd=crowd)
        for one in content["annotations"]:
            one["id"] += 1000 * number
        files.append(made.write(tmp_path / f"{number}.json", content))
    generate(tmp_path / "out", coco=files, absurd=0)
    return questions_in(tmp_path / "out", 1)


def answers(rows: Questions, kind: str) -> list[str]:
    return [answer for _, answer, question_type in rows if question_type == kind]


LARGE, SMALL = [100.0, 100.0, 60.0, 60.0], [300.0, 300.0, 20.0, 20.0]


@pytest.mark.parametrize(
    ("objects", "crowd", "kind", "expected"),
    [
        ([("dog", LARGE), ("dog", LARGE)], False, "counting", ["two"]),
        ([("dog", LARGE), ("dog", SMALL)], False, "counting", []),
        ([("dog", LARGE)], True, "counting", []),
        ([("dog", LARGE)], True, "object_presence", ["no", "yes"]),
        ([("dog", LARGE)], False, "object_recognition", ["dog"]),
        ([("dog", LARGE), ("cat", SMALL)], False, "object_recognition", []),
        (
            [("person", LARGE), ("tennis racket", LARGE), ("sports ball", LARGE)],
            False,
            "sport_recognition",
            ["tennis"],
        ),
        ([("person", LARGE), ("skis", LARGE), ("snowboard", LARGE)], False, "sport_recognition", []),
        ([("surfboard", LARGE)], False, "sport_recognition", []),
        ([("person", LARGE), ("sports ball", LARGE)], False, "sport_recognition", []),
        ([("person", LARGE), ("skis", LARGE), ("sports ball", LARGE)], False, "sport_recognition", []),
    ],
)
def test_small_objects_crowds_and_contradictions_leave_no_answer(
    objects: list[tuple[str, list[float]]], crowd: bool, kind: str, expected: list[str], tmp_path: Path
) -> None:
    assert sorted(answers(of_image(tmp_path, *objects, crowd=crowd), kind)) == expected


def test_a_teddy_bear_keeps_bears_out_of_every_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_vqa_mc.engines.tdiuc.questions.MIN_ANSWERS", 1)
    content = made.one_image(("teddy bear", LARGE), ("dog", LARGE), ("cat", LARGE), ("bird", LARGE))
    path = made.write(tmp_path / "one.json", content)
    (image,) = read_coco([PublishedFile(path.name, path)], QuestionCollection(0))
    absent = absent_objects(image, frozenset())
    assert {"bear", "teddy bear"}.isdisjoint(absent)
    assert "horse" in absent
    for seed in range(5):
        generate(tmp_path / "out", coco=[path], seed=seed)
        assert not any(
            " bear" in question.replace("teddy bear", "") for question, _, _ in questions_in(tmp_path / "out")
        )


@pytest.mark.parametrize(
    ("objects", "room"),
    [
        (["toilet", "sink"], {"bathroom"}),
        (["oven", "sink"], {"kitchen"}),
        (["toilet", "sink", "bed"], set()),
        (["traffic light", "car"], set()),
    ],
)
def test_rooms_are_asked_where_nothing_contradicts(objects: list[str], room: set[str], tmp_path: Path) -> None:
    found = set(answers(of_image(tmp_path, *((name, LARGE) for name in objects)), "scene_recognition"))
    assert found & {"bathroom", "kitchen", "bedroom", "living room"} == room
    assert ("outdoors" in found) == ("car" in objects)


def test_the_same_image_in_several_files_is_asked_once(tmp_path: Path) -> None:
    content = made.instances(30, 3)
    one = made.write(tmp_path / "instances_train2017.json", content)
    other = tmp_path / "instances_train2014.json.gz"
    other.write_bytes(gzip.compress(json.dumps(content).encode()))
    figures = generate(tmp_path / "both", coco=[one, other])
    generate(tmp_path / "single", coco=[other])
    assert questions_in(tmp_path / "both") == questions_in(tmp_path / "single")
    assert figures["left_out"]["coco: images listed in another file too"] == 30
    assert figures["splits"]["test"] == 0, "one file tells that they are of train2014"


def test_files_may_be_packed_and_objects_in_any_order(tmp_path: Path) -> None:
    content = made.instances(30, 4)
    plain = made.write(tmp_path / "a.json", content)
    turned = {**content, "annotations": content["annotations"][::-1], "images": content["images"][::-1]}
    (tmp_path / "b.json.xz").write_bytes(lzma.compress(json.dumps(turned).encode()))
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as archive:
        archive.writestr("annotations/instances_a.json", json.dumps(turned))
        archive.writestr("annotations/captions_a.json", "{}")
    written = []
    for path in (plain, tmp_path / "b.json.xz", tmp_path / "c.zip"):
        generate(tmp_path / "out", coco=[path])
        written.append({one.name: one.read_bytes() for one in (tmp_path / "out").iterdir()})
    assert written[0] == written[1] == written[2]
    generate(tmp_path / "out", coco=[plain], seed=1)
    assert written[0] != {one.name: one.read_bytes() for one in (tmp_path / "out").iterdir()}


def test_objects_that_other_annotation_mentions_are_not_taken_as_absent(tmp_path: Path) -> None:
    vqa = tmp_path / "vqa"
    vqa.mkdir()
    content = made.instances(40, 5, "COCO_train2014_{:012d}.jpg")
    coco = made.write(tmp_path / "instances_train2014.json", content)
    without_couch = [one["id"] for one in content["images"]]
    key = [{"image_id": one, "question_id": one} for one in without_couch]
    made.write(
        vqa / "OpenEnded_mscoco_train2014_questions.json",
        {"questions": [{**one, "question": "What color is the couch?"} for one in key]},
    )
    ten = [{"answer": "red"}] * 10
    made.write(vqa / "mscoco_train2014_annotations.json", {"annotations": [{**one, "answers": ten} for one in key]})
    generate(tmp_path / "out", coco=[coco], vqa=vqa)
    rows = questions_in(tmp_path / "out")
    assert ("What color is the couch?", "red", "color") in rows
    assert not any("couch" in question and answer in ("no", "doesnotapply") for question, answer, _ in rows)


def test_a_file_that_annotates_some_kinds_proves_nothing_of_the_others(tmp_path: Path) -> None:
    content = made.instances(40, 6)
    kept = [one for one in content["categories"] if one["name"] in ("dog", "cat", "car", "person", "chair", "oven")]
    content["categories"] = kept
    content["annotations"] = [one for one in content["annotations"] if one["category_id"] in {c["id"] for c in kept}]
    path = made.write(tmp_path / "some.json", content)
    generate(tmp_path / "out", coco=[path])
    rows = questions_in(tmp_path / "out")
    assert not {kind for _, _, kind in rows} & {"object_recognition", "sport_recognition", "scene_recognition"}
    assert not any("horse" in question or "kite" in question for question, _, _ in rows)


def test_hand_annotated_questions_come_from_files(tmp_path: Path) -> None:
    lines = [
        {"image_id": one, "question": "what is the fork used for", "answer": "Eating.", "question_type": kind}
        for one, kind in ((5, "utility_affordance"), (6, "utility_affordance"))
    ]
    path = tmp_path / "ours.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    figures = generate(tmp_path / "out", annotated=[path])
    assert questions_in(tmp_path / "out") == [("What is the fork used for?", "eating", "utility_affordance")] * 2
    assert figures["types"]["utility_affordance"]["origins"]["annotated"] == 2
    again = generate(tmp_path / "again", annotated=[tmp_path / "out"])
    assert again["questions"] == 2
    assert questions_in(tmp_path / "again") == questions_in(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["annotations"][0].pop("area"), r"annotations\[0\], field 'area': it is missing"),
        (lambda c: c["annotations"][0].update(bbox=[1, 2, 3]), "field 'bbox': expected 4 items"),
        (lambda c: c["categories"][0].update(name="persn"), "unknown category 'persn': did you mean 'person'"),
        (lambda c: c["images"][1].update(width=10**12), "'width': expected a whole number from 0 to 999,999,999,999"),
        (lambda c: c.pop("categories"), "expected a field 'categories'"),
        (lambda c: c.update(images={}), "field 'images': expected a list"),
        (lambda c: c.update(annotations=[], images=c["images"]), "no question can be generated"),
    ],
)
def test_a_broken_coco_file_is_named_with_its_record(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    content = copy.deepcopy(made.instances(5, 7))
    change(content)
    path = made.write(tmp_path / "instances.json", content)
    with pytest.raises(InputError, match=message):
        generate(tmp_path / "out", coco=[path])
    assert [one.name for one in tmp_path.iterdir()] == ["instances.json"]


@pytest.mark.parametrize("part", ["objects", "attributes", "relationships", "question_answers"])
def test_any_part_of_visual_genome_may_be_missing(part: str, tmp_path: Path) -> None:
    folder = made.write_genome(tmp_path / "genome", 40)
    (folder / f"{part}.json").unlink()
    generate(tmp_path / "out", visual_genome=folder)
    assert faults(tmp_path / "out", [], folder) == []


def test_visual_genomes_files_may_be_in_different_orders(tmp_path: Path) -> None:
    folder = made.write_genome(tmp_path / "genome", 40)
    first = generate(tmp_path / "out", visual_genome=folder)
    rows = questions_in(tmp_path / "out")
    made.write(folder / "attributes.json", json.loads((folder / "attributes.json").read_text())[::-1])
    assert generate(tmp_path / "out", visual_genome=folder) == first
    assert questions_in(tmp_path / "out") == rows


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("objects", lambda c: c[0]["objects"][0].pop("object_id"), "field 'object_id': it is missing"),
        ("objects", lambda c: c[0].update(image_id=77), "image 77 is not in image_data.json"),
        ("question_answers", lambda c: c[0]["qas"][0].update(answer=2), "field 'answer': expected text"),
    ],
)
def test_a_broken_visual_genome_is_named_with_its_record(
    name: str, change: Callable[[Any], object], message: str, tmp_path: Path
) -> None:
    folder = change_genome(tmp_path / "genome", name, change)
    with pytest.raises(InputError, match=message):
        generate(tmp_path / "out", visual_genome=folder)


def test_an_annotation_without_its_question_is_an_error(tmp_path: Path) -> None:
    folder = made.write_vqa(tmp_path / "vqa", 2)
    made.write(
        folder / "OpenEnded_mscoco_val2014_questions.json",
        {"questions": [{"question_id": 1, "image_id": 1, "question": "What color is it?"}]},
    )
    with pytest.raises(InputError, match=r"are not among the (questions|annotations) of .*val2014"):
        generate(tmp_path / "out", vqa=folder)


def test_an_image_in_both_subsets_is_an_error(tmp_path: Path) -> None:
    content = made.instances(3, 8)
    paths = [made.write(tmp_path / f"instances_{one}2014.json", content) for one in ("train", "val")]
    with pytest.raises(InputError, match="is in val2014, but in train2014 in another file"):
        generate(tmp_path / "out", coco=paths)


def change_genome(folder: Path, name: str, change: Callable[[Any], object]) -> Path:
    """Visual Genome's files of some images, one of them changed."""
    made.write_genome(folder, 9)
    content = json.loads((folder / f"{name}.json").read_text())
    change(content)
    made.write(folder / f"{name}.json", content)
    return folder


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("attributes", lambda rows: rows[0]["attributes"][0].update(attributes=[None, "red"]), "nulls in attributes"),
        (
            "image_data",
            lambda rows: [rows[number].update(coco_id=99) for number in (1, 4)],
            "images that are the same",
        ),
    ],
)
def test_imperfect_records_of_visual_genome_are_counted(
    name: str, change: Callable[[Any], object], reason: str, tmp_path: Path
) -> None:
    left_out = generate(tmp_path / "out", visual_genome=change_genome(tmp_path / "genome", name, change))["left_out"]
    assert [count for found, count in left_out.items() if found.startswith(f"visual genome: {reason}")] == [1]


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


def test_no_input_and_wrong_numbers_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no annotations given"):
        hf_vqa_mc.generate_tdiuc(output=tmp_path / "out")
    with pytest.raises(InputError, match="absurd=-1: expected 0 or more"):
        hf_vqa_mc.generate_tdiuc(coco=["a.json"], output=tmp_path / "out", absurd=-1)


def test_the_function_returns_counts_as_a_table_and_html(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2014.json", made.instances(30, 10))
    result = hf_vqa_mc.generate_tdiuc(coco=[path], output=tmp_path / "out")
    table = result.to_pandas().set_index("type")
    assert table["questions"].sum() == result.to_dict()["questions"] and not table["train"].any()
    assert "object_presence" in repr(result) and "<table" in result._repr_html_()


def test_the_command_writes_and_prints_json(tmp_path: Path) -> None:
    path = made.write(tmp_path / "instances_val2014.json", made.instances(30, 10))
    output = tmp_path / "out"
    result = CliRunner().invoke(
        app, ["generate", "tdiuc", "--coco", str(path), "--output", str(output), "--absurd", "2", "--json"]
    )
    assert result.exit_code == 0, result.output
    figures = json.loads(result.stdout)
    assert figures["splits"] == {"train": 0, "test": figures["questions"]}
    missing_ones = figures["left_out"]["absurd: no other question is provably absurd"]
    assert figures["types"]["absurd"]["questions"] + missing_ones == 2 * 30
    plain = CliRunner().invoke(app, ["generate", "tdiuc", "--coco", str(path), "--output", str(output)])
    assert plain.exit_code == 0
    assert "questions on 30 images" in plain.stdout
    missing = CliRunner().invoke(app, ["generate", "tdiuc", "--coco", "none.json", "--output", str(output)])
    assert missing.exit_code == 2
    assert "no such file; give a file" in missing.output
    assert "Example: vqa-mc generate tdiuc" in " ".join(
        CliRunner().invoke(app, ["generate", "tdiuc", "-h"]).output.split()
    )
