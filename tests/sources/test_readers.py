"""Every reader turns its publisher's files into the triplets that they describe."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hf_vqa_mc.errors import CountMismatch, InputError
from hf_vqa_mc.io import json_stream
from hf_vqa_mc.schema import RELEASED_DECOYS, TRIPLETS
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.qavg import split_images
from hf_vqa_mc.sources.source import read_triplets
from tests.sources import fixtures, open_ended_files
from tests.sources.open_ended_files import write_json

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

WRITERS: dict[str, Callable[[Path], Path]] = {
    "visual7w": fixtures.write_visual7w,
    "vqa": fixtures.write_vqa,
    "vqa_minus": fixtures.write_vqa,
    "vqa_abstract": fixtures.write_vqa_abstract,
    "vqa2": fixtures.write_vqa2,
    "vqa2_minus": fixtures.write_vqa2,
    "cocoqa": fixtures.write_cocoqa,
    "qavg": fixtures.write_visual_genome,
    "easyvqa": fixtures.write_easyvqa,
    "tdiuc": open_ended_files.write_tdiuc,
    "gqa": open_ended_files.write_gqa,
    "triplets": fixtures.write_triplets,
}
NO_DECOYS = ("vqa2", "vqa2_minus", "cocoqa", "qavg", "easyvqa", "tdiuc", "gqa")
OTHER_SPLITS = {"tdiuc": ("train", "validation")}
"""Splits of sources that publish only the total number of questions."""


def test_every_source_has_a_fixture() -> None:
    assert WRITERS.keys() == SOURCES.keys()


@pytest.mark.parametrize("name", WRITERS)
def test_a_source_gives_triplets_in_the_order_train_validation_test_in_batches_of_any_size(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path)
    triplets = read_triplets(name, tmp_path)
    assert triplets.schema == TRIPLETS
    splits = triplets["split"].to_pylist()
    assert splits == sorted(splits, key=("train", "validation", "test").index)
    expected = SOURCES.find(name).expected_counts or OTHER_SPLITS.get(name, ("train", "validation", "test"))
    assert set(splits) == set(expected) | {"train"}
    assert all(triplets["image_file"].to_pylist())
    assert all(answers for answers in triplets["answers"].to_pylist())
    assert bool(triplets["orig_decoys"][0].as_py()) == (name not in NO_DECOYS) == SOURCES.find(name).has_orig_decoys
    monkeypatch.setattr(json_stream, "BATCH", 1)
    assert read_triplets(name, tmp_path).equals(triplets)


def test_visual7w_questions_keep_their_three_decoys_and_their_order(tmp_path: Path) -> None:
    fixtures.write_visual7w(tmp_path)
    expected = [
        (str(pair["qa_id"]), str(image["image_id"]), pair["question"], pair["answer"], pair["multiple_choices"])
        for image in fixtures.visual7w_json()["images"]
        for pair in image["qa_pairs"]
    ]
    triplets = read_triplets("visual7w", tmp_path)
    assert _rows(triplets, "question_id", "image_id", "question", "target", "orig_decoys") == expected
    assert Counter(triplets["split"].to_pylist()) == {"train": 40, "validation": 16, "test": 24}
    assert triplets["image_file"][0].as_py() == "v7w_1.jpg"
    assert triplets["question_type"][0].as_py() == fixtures.scene(1)[1].kind


def test_visual7w_images_in_any_order_come_out_by_split(tmp_path: Path) -> None:
    content = fixtures.visual7w_json()
    content["images"].reverse()
    write_json(tmp_path / "dataset_v7w_telling.json", content)
    ids = read_triplets("visual7w", tmp_path)["image_id"].to_pylist()
    expected = [str(one) for split in ("train", "val", "test") for one in fixtures.VISUAL7W_SPLITS[split][::-1]]
    assert list(dict.fromkeys(ids)) == expected


@pytest.mark.parametrize("form", ["second release", "first release", "another order"])
def test_released_decoys_are_joined_by_qa_id(tmp_path: Path, form: str) -> None:
    fixtures.write_visual7w(tmp_path)
    published = fixtures.visual7w_decoys_json()
    if form == "another order":
        for split, records in published.items():
            write_json(tmp_path / f"v7w_{split}_decoys.json", records[::-1])
    else:
        fixtures.write_visual7w_decoys(tmp_path, form == "first release")
    triplets = read_triplets("visual7w", tmp_path, released_decoys=True)
    assert list(triplets.schema) == [*TRIPLETS, *RELEASED_DECOYS]
    expected = {
        str(record["qa_id"]): (record["IoU_decoys"], record["QoU_decoys"])
        for records in published.values()
        for record in records
    }
    found = {row[0]: row[1:] for row in _rows(triplets, "question_id", "iou_decoys", "qou_decoys")}
    assert found == expected


def test_only_sources_with_released_decoys_give_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="vqa: has no released decoys; expected one of: visual7w"):
        read_triplets("vqa", tmp_path, released_decoys=True)


def test_vqa_decoys_are_the_other_17_choices_in_their_order(tmp_path: Path) -> None:
    fixtures.write_vqa(tmp_path)
    triplets = read_triplets("vqa", tmp_path)
    questions = [
        question
        for subset in ("train2014", "val2014")
        for question in fixtures.vqa_questions_json(subset)["questions"]
    ]
    for question, row in zip(questions, triplets.to_pylist(), strict=True):
        assert row["question_id"] == str(question["question_id"])
        assert len(row["orig_decoys"]) == 17
        assert row["orig_decoys"] == [text for text in question["multiple_choices"] if text != row["target"]]
    assert triplets["image_file"][0].as_py() == "COCO_train2014_000000000009.jpg"
    assert triplets["image_file"][-1].as_py() == "COCO_val2014_000000262148.jpg"


def test_vqa_answers_are_joined_by_question_id_in_the_order_of_their_answer_id(tmp_path: Path) -> None:
    fixtures.write_vqa(tmp_path)
    in_order = read_triplets("vqa", tmp_path)
    annotations = fixtures.vqa_annotations_json("train2014")
    expected = [[answer["answer"] for answer in one["answers"]] for one in annotations["annotations"]]
    assert in_order["answers"].to_pylist()[: len(expected)] == expected
    for at, annotation in enumerate(annotations["annotations"]):
        annotation["answers"] = annotation["answers"][at % 10 :] + annotation["answers"][: at % 10]
    annotations["annotations"].reverse()
    write_json(tmp_path / "mscoco_train2014_annotations.json", annotations)
    assert read_triplets("vqa", tmp_path).equals(in_order)


def test_vqa_from_open_ended_files_is_the_same_without_decoys(tmp_path: Path) -> None:
    fixtures.write_vqa(tmp_path / "mc")
    fixtures.write_vqa(tmp_path / "oe", multiple_choice=False)
    chosen, open_ended = read_triplets("vqa", tmp_path / "mc"), read_triplets("vqa", tmp_path / "oe")
    assert chosen.drop_columns("orig_decoys").equals(open_ended.drop_columns("orig_decoys"))
    assert set(map(tuple, open_ended["orig_decoys"].to_pylist())) == {()}


def test_vqa_takes_multiple_choice_files_where_both_tasks_are_there_and_does_not_mix_them(tmp_path: Path) -> None:
    fixtures.write_vqa(tmp_path, multiple_choice=False)
    fixtures.write_vqa(tmp_path)
    assert len(read_triplets("vqa", tmp_path)["orig_decoys"][0].as_py()) == 17
    (tmp_path / "MultipleChoice_mscoco_val2014_questions.json").unlink()
    with pytest.raises(InputError, match=r"no MultipleChoice_mscoco_val2014_questions\.json"):
        read_triplets("vqa", tmp_path)


@pytest.mark.parametrize("name", ["vqa", "vqa2"])
def test_minus_is_the_source_without_yes_and_no(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path)
    whole, minus = read_triplets(name, tmp_path).to_pylist(), read_triplets(f"{name}_minus", tmp_path).to_pylist()
    assert minus == [row for row in whole if row["target"] not in ("yes", "no")]
    assert len(minus) == len(whole) - len(fixtures.COCO_IMAGES["train2014"]) - len(fixtures.COCO_IMAGES["val2014"])


def test_cocoqa_questions_are_numbered_by_line_and_types_are_named(tmp_path: Path) -> None:
    fixtures.write_cocoqa(tmp_path)
    triplets = read_triplets("cocoqa", tmp_path)
    texts = fixtures.cocoqa_texts()
    assert triplets["question_id"].to_pylist() == [f"train-{n}" for n in range(49)] + [f"test-{n}" for n in range(28)]
    for column, part in (("question", "questions"), ("target", "answers"), ("image_id", "img_ids")):
        lines = [line for split in ("train", "test") for line in texts[f"{split}/{part}.txt"].splitlines()]
        assert triplets[column].to_pylist() == lines
    names = ["object", "number", "color", "location"]
    assert triplets["question_type"].to_pylist()[:7] == [*names[:3], *names]
    assert triplets["image_file"][0].as_py() == "COCO_train2014_000000000009.jpg"
    assert triplets["image_file"][-1].as_py() == "COCO_val2014_000000262148.jpg"


def test_cocoqa_with_windows_line_ends_and_without_the_last_one_is_the_same(tmp_path: Path) -> None:
    fixtures.write_cocoqa(tmp_path)
    plain = read_triplets("cocoqa", tmp_path)
    for path in tmp_path.rglob("*.txt"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n"))
    assert read_triplets("cocoqa", tmp_path).equals(plain)


def test_qavg_is_divided_50_20_30_by_image(tmp_path: Path) -> None:
    fixtures.write_visual_genome(tmp_path)
    triplets = read_triplets("qavg", tmp_path)
    split_of = dict(_rows(triplets, "image_id", "split"))
    assert Counter(split_of.values()) == {"train": 15, "validation": 6, "test": 9}
    assert len(split_of) == len({*_rows(triplets, "image_id", "split")})
    assert set(triplets["image_file"].to_pylist()) == {f"{image}.jpg" for image in fixtures.VISUAL_GENOME_IMAGES}


@pytest.mark.parametrize("with_decoys_only", [False, True])
def test_each_part_of_qavg_holds_the_images_of_visual7w(tmp_path: Path, with_decoys_only: bool) -> None:
    fixtures.write_visual_genome(tmp_path, with_visual7w=not with_decoys_only)
    if with_decoys_only:
        fixtures.write_visual7w_decoys(tmp_path)
    split_of = dict(_rows(read_triplets("qavg", tmp_path), "image_id", "split"))
    for split, name in (("train", "train"), ("val", "validation"), ("test", "test")):
        assert {split_of[str(image)] for image in fixtures.VISUAL7W_SPLITS[split]} == {name}


def test_qavg_needs_the_split_of_visual7w_and_warns_about_its_missing_images(tmp_path: Path) -> None:
    fixtures.write_visual_genome(tmp_path, with_visual7w=False)
    with pytest.raises(
        InputError, match=r"no dataset_v7w_telling\.json .* Download dataset_v7w_telling\.zip from htt"
    ):
        read_triplets("qavg", tmp_path)
    fixtures.write_visual_genome(tmp_path)
    write_json(tmp_path / "question_answers.json", fixtures.visual_genome_json()[1:])
    with pytest.warns(CountMismatch, match="no questions on 1 of Visual7W's 20 images"):
        read_triplets("qavg", tmp_path)


def test_the_split_of_images_depends_on_neither_their_order_nor_the_process() -> None:
    image_ids = [str(number) for number in range(1000)]
    fixed = {"7": "test", "8": "validation"}
    splits = split_images(image_ids, fixed)
    assert splits == split_images(image_ids[::-1], fixed)
    assert Counter(splits.values()) == {"train": 500, "validation": 200, "test": 300}
    assert (splits["7"], splits["8"]) == ("test", "validation")
    assert [image for image in image_ids[:12] if splits[image] == "train"] == ["0", "5", "10"]


def test_fixed_images_beyond_a_share_are_all_kept() -> None:
    splits = split_images([str(number) for number in range(10)], {str(number): "validation" for number in range(4)})
    assert [splits[str(number)] for number in range(4)] == ["validation"] * 4
    assert Counter(splits.values()) == {"train": 5, "validation": 4, "test": 1}


def test_easyvqa_images_of_the_two_splits_are_different_images(tmp_path: Path) -> None:
    fixtures.write_easyvqa(tmp_path)
    rows = read_triplets("easyvqa", tmp_path).to_pylist()
    assert {row["image_id"] for row in rows if row["split"] == "train"}.isdisjoint(
        row["image_id"] for row in rows if row["split"] == "test"
    )
    assert all((tmp_path / row["image_file"]).is_file() for row in rows)
    assert rows[0]["question_id"] == "train-0"
    assert rows[-1] == rows[-1] | {"question_id": "test-17", "image_id": "test-5", "image_file": "test/images/5.png"}


def test_ids_given_as_text_are_taken_as_they_are(tmp_path: Path) -> None:
    content = fixtures.visual7w_json()
    fixtures.write_visual7w(tmp_path / "numbers")
    for image in content["images"]:
        image["image_id"] = str(image["image_id"])
        for pair in image["qa_pairs"]:
            pair["qa_id"], pair["image_id"] = str(pair["qa_id"]), str(pair["image_id"])
    write_json(tmp_path / "texts" / "dataset_v7w_telling.json", content)
    assert read_triplets("visual7w", tmp_path / "texts").equals(read_triplets("visual7w", tmp_path / "numbers"))


def test_text_is_kept_as_published(tmp_path: Path) -> None:
    content = fixtures.visual7w_json()
    odd = ["  Where's the café? \n", "Né à Zürich 🎿.", "x" * 100_000]
    for text, pair in zip(odd, content["images"][0]["qa_pairs"], strict=False):
        pair["question"] = pair["answer"] = text
    write_json(tmp_path / "dataset_v7w_telling.json", content)
    triplets = read_triplets("visual7w", tmp_path)
    assert triplets["question"].to_pylist()[:3] == triplets["target"].to_pylist()[:3] == odd


def test_counts_that_differ_from_the_published_ones_are_a_warning_with_both_numbers(tmp_path: Path) -> None:
    fixtures.write_vqa2(tmp_path)
    with pytest.warns(CountMismatch, match="vqa2 .*: 42 in train where 443,757 .*; 24 in validation where 214,354"):
        read_triplets("vqa2", tmp_path)
    fixtures.write_visual_genome(tmp_path)
    with pytest.warns(CountMismatch, match="90 in all where 1,445,322 were expected"):
        read_triplets("qavg", tmp_path)


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "triplets"])
def test_every_source_names_its_publisher(name: str) -> None:
    source = SOURCES[name]
    assert source.name == name
    assert source.homepage.startswith("https://")
    assert source.citation.startswith("@")
    assert source.citation.count("{") == source.citation.count("}")
    assert source.licence
    assert source.image_hint.endswith(".")
    assert bool(source.downloads) != bool(source.default_folder)
    assert all(len(remote.sha256) == 64 for remote in source.downloads if remote.sha256)
    assert (source.read_released is not None) == (name == "visual7w")
    assert source.default_word_vectors == ("corpus" if name == "easyvqa" else None)
    assert source.consensus == name.startswith("vqa")


def _rows(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))
