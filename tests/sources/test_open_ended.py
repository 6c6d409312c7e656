"""Open-ended configs hold everything of their publishers' records, and what is wrong with these is named."""

# ruff: noqa: E501 (a table with one case a line)

import gzip
import json
import lzma
import zipfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import json_stream
from hf_vqa_mc.sources import SOURCES, tdiuc
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.source import OpenEnded, read_triplets
from tests.sources.fixtures import VQA_IMAGES, vqa_annotations_json, vqa_questions_json, write_vqa, write_vqa_abstract
from tests.sources.open_ended_files import (
    gqa_json,
    pairs_json,
    tdiuc_json,
    write_gqa,
    write_json,
    write_tdiuc,
    write_vqa2_pairs,
    write_vqa_open,
)
from tests.sources.spoiling import Spoil, drop, put, repeat

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

CONFIGS = {config.name: config for source in SOURCES.values() for config in source.open_ended}
SOURCE_OF = {config.name: source for source in SOURCES.values() for config in source.open_ended}
WRITERS = {"gqa_balanced": write_gqa, "gqa_all": write_gqa, "tdiuc": write_tdiuc, "tdiuc_tail": write_tdiuc,
           "vqa2_pairs": write_vqa2_pairs, "vqa2_open": write_vqa2_pairs, "vqa_open": write_vqa_open,
           "vqa_abstract_open": write_vqa_abstract}  # fmt: skip


def _read(name: str, folder: Path) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    reading = Reading(CONFIGS[name], Folder(folder, SOURCE_OF[name].downloads))
    tables = {split: pa.concat_tables(list(reading.tables(split))) for split in reading.splits}
    return tables, reading.statistics()


def _as_published(row: dict[str, Any]) -> dict[str, Any]:
    """A row of GQA's back in the publisher's form."""
    links = {"question": "question", "answer": "answer", "full_answer": "fullAnswer"}
    return {
        "semantic": row["semantic"],
        "entailed": row["entailed"],
        "equivalent": row["equivalent"],
        "question": row["question"],
        "imageId": row["image_id"],
        "isBalanced": row["is_balanced"],
        "groups": row["groups"],
        "answer": row["answer"],
        "semanticStr": row["semantic_str"],
        "annotations": {
            theirs: {link["span"]: link["object_id"] for link in row["annotations"][ours]}
            for ours, theirs in links.items()
        },
        "types": row["types"],
        "fullAnswer": row["full_answer"],
    }


@pytest.mark.parametrize("name", CONFIGS)
def test_rows_have_the_schema_in_batches_of_any_size_and_every_column_is_explained(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path)
    tables, figures = _read(name, tmp_path)
    config: OpenEnded = CONFIGS[name]
    assert all(table.schema == config.schema for table in tables.values())
    assert {split: table.num_rows for split, table in tables.items()} == figures["rows"]
    described = " ".join(config.columns)
    assert all(column in described or column.startswith("complementary_") for column in config.schema.names)
    json.dumps(figures)
    monkeypatch.setattr(json_stream, "BATCH", 1)
    in_pieces = _read(name, tmp_path)
    assert in_pieces[1] == figures
    assert all(table.equals(in_pieces[0][split]) for split, table in tables.items())


@pytest.mark.parametrize("kind", ["balanced", "all"])
def test_gqa_records_are_read_without_loss(kind: str, tmp_path: Path) -> None:
    write_gqa(tmp_path)
    tables, figures = _read(f"gqa_{kind}", tmp_path)
    for split, name in {"train": "train", "validation": "val", "test": "testdev"}.items():
        assert {row["question_id"]: _as_published(row) for row in tables[split].to_pylist()} == gqa_json(name, kind)
    assert figures["not_read"] == {
        f"test_{kind}_questions.json": f"testdev_{kind}_questions.json is the test split",
        f"challenge_{kind}_questions.json": "its questions have no answers",
    }


REAL = [
    ("testdev_balanced_questions.json", "GQAOOD__ood_testdev_head.json.xz"),
    ("testdev_balanced_questions.json", "GQAOOD__ood_testdev_tail.json.xz"),
    ("testdev_balanced_questions.json", "GQAOOD__val_bal_tail_-0.7.json.xz"),
    ("train_all_questions_0.json", "allennlp__gqa__questions.json"),
    ("train_all_questions_0.json", "allennlp__gqa__question_dir__questions1.json"),
]


@pytest.mark.parametrize(("name", "file"), REAL)
def test_real_records_of_gqa_come_back_as_they_were(name: str, file: str, real_data: Path, tmp_path: Path) -> None:
    kind = "balanced" if file.endswith(".xz") else "all"
    content = (real_data / "gqa" / file).read_bytes()
    records = json.loads(lzma.decompress(content) if kind == "balanced" else content)
    write_json(tmp_path / name, records)
    (table,) = _read(f"gqa_{kind}", tmp_path)[0].values()
    assert {row["question_id"]: _as_published(row) for row in table.to_pylist()} == records
    if kind == "balanced":
        targets = read_triplets("gqa", tmp_path)["target"].to_pylist()
        assert targets == [record["answer"] for record in records.values()]


def test_files_of_one_split_are_enough_and_test_with_answers_replaces_testdev(tmp_path: Path) -> None:
    write_json(tmp_path / "test_balanced_questions.json", gqa_json("testdev"))
    write_json(tmp_path / "challenge_balanced_questions.json", gqa_json("val"))
    tables, figures = _read("gqa_balanced", tmp_path)
    assert figures["rows"] == {"test": 16, "challenge": 16}
    assert figures["not_read"] == {}
    assert set(read_triplets("gqa", tmp_path)["split"].to_pylist()) == {"test"}
    assert tables["challenge"].num_rows == 16


def test_files_without_answers_alone_are_refused(tmp_path: Path) -> None:
    write_json(tmp_path / "test_all_questions.json", gqa_json("test", "all"))
    with pytest.raises(
        InputError, match=r"gqa_all: test_all_questions\.json cannot be read: its questions have no an"
    ):
        _read("gqa_all", tmp_path)
    with pytest.raises(
        InputError, match=r"no train_balanced_questions\.json .* Download questions1\.2\.zip from http"
    ):
        _read("gqa_balanced", tmp_path)


def test_all_questions_are_read_packed_and_out_of_the_publishers_zip(tmp_path: Path) -> None:
    write_gqa(tmp_path / "plain")
    expected = _read("gqa_all", tmp_path / "plain")
    for path in (tmp_path / "plain").rglob("*.json"):
        packed = tmp_path / "packed" / path.relative_to(tmp_path / "plain").with_suffix(".json.gz")
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "zipped").mkdir()
    with zipfile.ZipFile(tmp_path / "zipped" / "questions1.2.zip", "w") as archive:
        for path in sorted((tmp_path / "plain").rglob("*.json")):
            archive.write(path, path.relative_to(tmp_path / "plain"))
    for name in ("packed", "zipped"):
        tables, figures = _read("gqa_all", tmp_path / name)
        assert figures == expected[1]
        assert all(table.equals(tables[split]) for split, table in expected[0].items())


def test_a_missing_part_is_named(tmp_path: Path) -> None:
    write_gqa(tmp_path, ["all"])
    (tmp_path / "train_all_questions" / "train_all_questions_1.json").unlink()
    with pytest.raises(InputError, match=r"train_all_questions_2\.json, but not train_all_questions_1\.json"):
        _read("gqa_all", tmp_path)
    write_json(tmp_path / "train_all_questions.json", {})
    with pytest.raises(
        InputError, match=r"found both .*train_all_questions\.json and train_all_questions/.*; expected"
    ):
        _read("gqa_all", tmp_path)


def test_gqa_statistics_count_types_groups_and_answers(tmp_path: Path) -> None:
    write_gqa(tmp_path)
    figures = _read("gqa_all", tmp_path)[1]
    records = [record for split in ("train", "val", "testdev") for record in gqa_json(split, "all").values()]
    answers = Counter(record["answer"] for record in records)
    assert figures["answers"]["different"] == len(answers)
    assert figures["answers"]["most_frequent"][0] == ["yes", len(records) // 2]
    assert figures["entropy"]["by"]["structural type"]["verify"] == 0.0
    assert list(figures["entropy"]["by"]["global group"]) == ["color"]  # null is no group
    crossed, *_ = figures["tables"]
    assert crossed["columns"] == ["structural type", "attr"]
    assert crossed["rows"] == [["query", len(records) // 2], ["verify", len(records) // 2]]


def test_a_field_that_is_none_of_gqas_is_counted_as_left_out(tmp_path: Path) -> None:
    records = gqa_json("train")
    next(iter(records.values()))["difficulty"] = 3
    write_json(tmp_path / "train_balanced_questions.json", records)
    assert _read("gqa_balanced", tmp_path)[1]["left_out"] == {"field 'difficulty', which is none of GQA's": 1}


def test_tdiuc_rows_are_questions_with_their_annotations(tmp_path: Path) -> None:
    write_tdiuc(tmp_path)
    tables, figures = _read("tdiuc", tmp_path)
    for subset, split in (("train2014", "train"), ("val2014", "validation")):
        questions, annotations = tdiuc_json(subset)
        for row, question, annotation in zip(
            tables[split].to_pylist(), questions["questions"], annotations["annotations"], strict=True
        ):
            image = question["image_id"]
            expected = {**annotation, "question": question["question"], "answer": annotation["answers"][0]["answer"]}
            expected |= {"question_id": str(question["question_id"]), "image_id": str(image)}
            assert row == {**expected, "image_file": f"COCO_{subset}_{image:012d}.jpg"}
    types, origins = figures["tables"]
    assert {row[0]: row[1] for row in types["rows"]}["absurd"] == 22
    assert origins["columns"] == ["question type", "generated", "imported_genome", "imported_vqa"]
    assert sum(sum(row[1:]) for row in origins["rows"]) == 198


@pytest.mark.parametrize("below", [4, 100])  # with the second all answers are rare, those of presence and absurd too
def test_the_tail_agrees_with_the_score_but_for_two_types(
    below: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tdiuc, "TAIL_BELOW", below)
    write_tdiuc(tmp_path)
    whole = [row for table in _read("tdiuc", tmp_path)[0].values() for row in table.to_pylist()]
    seen = Counter(row["answer"] for row in whole)
    expected = [
        row["question_id"]
        for row in whole
        if seen[row["answer"]] < below and row["question_type"] not in ("absurd", "object_presence")
    ]
    tables, figures = _read("tdiuc_tail", tmp_path)
    assert [row["question_id"] for table in tables.values() for row in table.to_pylist()] == expected
    assert 0 < len(expected) <= len(whole) - 44
    assert (len(expected) < len(whole) - 44) == (below == 4)
    assert figures["left_out"] == {
        f"answers seen {below} times or more": len(whole) - 44 - len(expected),
        "of the types absurd and object_presence": 44,
    }


def test_ids_that_both_files_of_tdiuc_use_get_the_name_of_their_subset(tmp_path: Path) -> None:
    for subset, offset in (("train2014", 0), ("val2014", 1000)):
        questions, annotations = tdiuc_json("train2014")
        for record in (*questions["questions"], *annotations["annotations"]):
            record["image_id"] += offset
        write_json(tmp_path / f"OpenEnded_mscoco_{subset}_questions.json", questions)
        write_json(tmp_path / f"mscoco_{subset}_annotations.json", annotations)
    tables, _ = _read("tdiuc", tmp_path)
    assert [tables[split]["question_id"][0].as_py() for split in tables] == ["train2014-90", "val2014-90"]
    assert read_triplets("tdiuc", tmp_path).num_rows == 252


def test_pairs_hold_both_questions(tmp_path: Path) -> None:
    write_vqa2_pairs(tmp_path)
    tables, figures = _read("vqa2_pairs", tmp_path)
    rows = {row["question_id"]: row for row in read_triplets("vqa2", tmp_path).to_pylist()}
    for subset, split in (("train2014", "train"), ("val2014", "validation")):
        for row, (one, other) in zip(tables[split].to_pylist(), pairs_json(subset), strict=True):
            for prefix, question_id in (("", one), ("complementary_", other)):
                triplet = rows[str(question_id)]
                for name in ("question_id", "image_id", "answers", "answer_type", "image_file"):
                    assert row[prefix + name] == triplet[name]
                assert row[prefix + "answer"] == triplet["target"]
                assert row["question"] == triplet["question"]
    assert figures["pairs"]["all"] == 9
    assert figures["pairs"]["same_answer"] == sum(
        row["answer"] == row["complementary_answer"] for table in tables.values() for row in table.to_pylist()
    )
    images = distinct_images(CONFIGS["vqa2_pairs"], Folder(tmp_path)).to_pylist()
    assert len(images) == len({row["image_id"] for row in images})
    assert {row["image_id"] for row in images} >= {
        row["complementary_image_id"] for table in tables.values() for row in table.to_pylist()
    }


RELEASES = {
    "vqa_open": ("1.0", "mscoco"),
    "vqa2_open": ("2.0", "mscoco"),
    "vqa_abstract_open": ("1.0", "abstract_v002"),
}
IMAGE_FILES = {"mscoco": "COCO_{}_{:012d}.jpg", "abstract_v002": "abstract_v002_{}_{:012d}.png"}


@pytest.mark.parametrize("name", RELEASES)
def test_vqa_rows_are_questions_with_their_annotations_and_those_of_test_have_none(name: str, tmp_path: Path) -> None:
    version, data_type = RELEASES[name]
    tables, figures = _read(name, WRITERS[name](tmp_path))
    assert list(tables) == ["train", "validation", "test"]
    for subset, table in zip(VQA_IMAGES[data_type], tables.values(), strict=False):
        questions = vqa_questions_json(subset, False, version, data_type)["questions"]
        annotations: list[dict[str, Any]] = [{} for _ in questions]
        if not subset.startswith("test"):
            annotations = vqa_annotations_json(subset, version, data_type)["annotations"]
        for row, question, annotation in zip(table.to_pylist(), questions, annotations, strict=True):
            assert row == {
                "question_id": str(question["question_id"]),
                "image_id": str(question["image_id"]),
                "question": question["question"],
                "question_type": annotation.get("question_type", ""),
                "answer_type": annotation.get("answer_type", ""),
                "answer": annotation.get("multiple_choice_answer", ""),
                "answers": annotation.get("answers", []),
                "image_file": IMAGE_FILES[data_type].format(subset, question["image_id"]),
            }
    assert figures["left_out"] == {}


def test_vqa_answers_keep_the_order_of_the_file_and_lack_what_it_lacks(tmp_path: Path) -> None:
    write_vqa_open(tmp_path)
    content = json.loads((tmp_path / VQA_TRAIN).read_text())
    answers = content["annotations"][0]["answers"]
    answers.reverse()
    del answers[4]["answer_confidence"]
    write_json(tmp_path / VQA_TRAIN, content)
    found = _read("vqa_open", tmp_path)[0]["train"]["answers"][0].as_py()
    assert found == [{"answer_confidence": "", **one} for one in answers]


def test_vqa_takes_the_questions_of_either_task(tmp_path: Path) -> None:
    subsets = tuple(VQA_IMAGES["mscoco"])
    expected = _read("vqa_open", write_vqa_open(tmp_path / "open"))
    found = _read("vqa_open", write_vqa(tmp_path / "choices", subsets=subsets))
    assert found[0] == expected[0]
    assert found[1] == expected[1] | {
        "not_read": {
            "MultipleChoice_mscoco_test-dev2015_questions.json": "its questions are in "
            "MultipleChoice_mscoco_test2015_questions.json"
        }
    }


def test_test_dev_is_the_test_split_without_the_whole_one(tmp_path: Path) -> None:
    write_vqa_open(tmp_path)
    tables, figures = _read("vqa_open", tmp_path)
    assert figures["rows"] == {"train": 42, "validation": 24, "test": 12}
    assert figures["not_read"] == {"OpenEnded_mscoco_test-dev2015_questions.json": f"its questions are in {VQA_TEST}"}
    (tmp_path / VQA_TEST).unlink()
    parts, figures = _read("vqa_open", tmp_path)
    assert figures["rows"] == {"train": 42, "validation": 24, "test": 6}
    assert figures["not_read"] == {}
    rows = {row["question_id"]: row for row in tables["test"].to_pylist()}
    assert all(row == rows[row["question_id"]] for row in parts["test"].to_pylist())  # with the images of test2015


def test_vqa_splits_are_those_with_files(tmp_path: Path) -> None:
    write_vqa(tmp_path / "train", subsets=["train2014"])
    assert list(_read("vqa_open", tmp_path / "train")[0]) == ["train"]
    write_vqa(tmp_path / "test", subsets=["test2015"])
    tables, figures = _read("vqa_open", tmp_path / "test")
    assert list(tables) == ["test"]
    assert (figures["answers"], figures["entropy"]["overall"]) == ({"different": 0, "most_frequent": []}, 0.0)
    assert not SOURCES["vqa"].has_triplets(Folder(tmp_path / "test"))
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match=r"no OpenEnded_mscoco_train2014_questions\.json .*Questions_Train_mscoco"):
        _read("vqa_open", tmp_path / "none")


def test_vqa_statistics_count_answers_and_annotators_who_agree(tmp_path: Path) -> None:
    _, figures = _read("vqa_open", write_vqa_open(tmp_path))
    annotations = [one for subset in ("train2014", "val2014") for one in vqa_annotations_json(subset)["annotations"]]
    answers = Counter(one["multiple_choice_answer"] for one in annotations)
    assert figures["answers"]["different"] == len(answers)
    assert figures["answers"]["most_frequent"][0][1] == max(answers.values())
    assert 0 < figures["entropy"]["by"]["answer type"]["yes/no"] <= 1
    of_types, agreement, of_beginnings = figures["tables"]
    assert {row[0]: row[1] for row in of_types["rows"]} == Counter(one["answer_type"] for one in annotations)
    assert sum(row[1] for row in of_beginnings["rows"]) == len(annotations)
    agreeing = Counter(
        (sum(each["answer"] == one["multiple_choice_answer"] for each in one["answers"]), one["answer_type"])
        for one in annotations
    )
    types = agreement["columns"][2:]
    assert types == ["number", "other", "yes/no"]
    assert [row[0] for row in agreement["rows"]] == sorted({number for number, _ in agreeing}, reverse=True)
    for number, total, *of_type in agreement["rows"]:
        assert of_type == [agreeing[number, kind] for kind in types]
        assert total == sum(of_type)


@pytest.mark.exhaustive
def test_real_questions_of_vqa_come_back_with_all_their_answers(real_data: Path, tmp_path: Path) -> None:
    path = real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
    records = json.loads(lzma.decompress(path.read_bytes()))
    expected = defaultdict(list)
    for subset in ("train2014", "val2014"):
        questions, annotations = [], []
        for one in (one for one in records if one["coco_split"] == subset):
            ids = {"question_id": one["question_id"], "image_id": one["image_id"]}
            answers = [{"answer": text, "answer_id": number} for number, text in enumerate(one["answer"], 1)]
            questions.append({**ids, "question": one["question"]})
            types = {"question_type": "", "answer_type": ""}  # which this file lacks
            target = {"multiple_choice_answer": one["multiple_choice_answer"]}
            annotations.append({**ids, **types, **target, "answers": answers})
            expected[subset].append((str(one["question_id"]), one["multiple_choice_answer"], one["answer"]))
        write_json(tmp_path / f"OpenEnded_mscoco_{subset}_questions.json", {"questions": questions})
        write_json(tmp_path / f"mscoco_{subset}_annotations.json", {"annotations": annotations})
    tables, figures = _read("vqa_open", tmp_path)
    assert figures["rows"] == {"train": 84_421, "validation": 40_893}
    for table, rows in zip(tables.values(), expected.values(), strict=True):
        found = zip(*(table[name].to_pylist() for name in ("question_id", "answer", "answers")), strict=True)
        assert [(name, answer, [one["answer"] for one in answers]) for name, answer, answers in found] == rows
    agreement = {number: questions for number, questions, *_ in figures["tables"][1]["rows"]}
    assert agreement == {10: 48_553, 9: 20_408, 8: 12_165, 7: 9_781, 6: 8_946, 5: 8_249, 4: 5_812, 3: 5_653,
                         2: 4_586, 1: 1_161}  # fmt: skip
    assert figures["answers"]["most_frequent"][0][0] == "yes"


def test_real_samples_of_abstract_scenes_come_back_as_they_were(real_data: Path, tmp_path: Path) -> None:
    for subset in ("train2015", "val2015"):
        name = f"abstract_v002_{subset}_annotations.json"
        content = json.loads((real_data / "vqa_v1" / f"{name}_samples.json").read_text())
        write_json(tmp_path / name, content)
        questions = [
            {"question_id": one["question_id"], "image_id": one["image_id"], "question": "Made up?"}
            for one in content["annotations"]
        ]
        write_json(tmp_path / f"OpenEnded_abstract_v002_{subset}_questions.json", {"questions": questions})
        table = _read("vqa_abstract_open", tmp_path)[0][{"train2015": "train", "val2015": "validation"}[subset]]
        for row, one in zip(table.to_pylist(), content["annotations"], strict=True):
            assert {name: row[name] for name in ("answers", "question_type", "answer_type")} == {
                name: one[name] for name in ("answers", "question_type", "answer_type")
            }
            assert row["answer"] == one["multiple_choice_answer"]
            assert row["image_file"] == f"abstract_v002_{subset}_{one['image_id']:012d}.png"


GQA_TRAIN, TDIUC_TOLD = "train_balanced_questions.json", "Annotations/mscoco_val2014_annotations.json"
GQA_ALL = "train_all_questions/train_all_questions_0.json"
PAIRS = "v2_mscoco_train2014_complementary_pairs.json"
VQA_TRAIN, VQA_TEST = "mscoco_train2014_annotations.json", "OpenEnded_mscoco_test2015_questions.json"
CUT_OFF = {
    "gqa_balanced": "val_balanced_questions.json",
    "gqa_all": "val_all_questions.json",
    "tdiuc": TDIUC_TOLD,
    "tdiuc_tail": TDIUC_TOLD,
    "vqa2_pairs": PAIRS,
    "vqa2_open": f"v2_{VQA_TEST}",
    "vqa_open": VQA_TRAIN,
    "vqa_abstract_open": "abstract_v002_val2015_annotations.json",
}
SPOILT: list[tuple[str, str, Spoil, str]] = [
    ("gqa_balanced", GQA_TRAIN, drop("0000", "types"), r"train_balanced_questions\.json, question '0000', field 'types': it is missing; the record's fields are"),
    ("gqa_balanced", GQA_TRAIN, drop("0000", "answer"), r"question '0000', field 'answer': it is missing"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "answer", to=" "), r"field 'answer': expected text, found ' '"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "isBalanced", to=1), r"field 'isBalanced': expected true or false, found 1"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "types", to="query"), r"field 'types': expected a JSON object, found 'query'"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "types", to={"structural": "query"}), r"field 'types', field 'semantic': it is missing"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "isBalanced", to=False), r"question '0000', field 'isBalanced': expected true, .*, found False"),
    ("gqa_balanced", GQA_TRAIN, put("0000", "types", "structural", to="zzz"), r"'0000', field 'types', field 'structural': expected one of 'query', .*, found 'zzz'"),
    ("gqa_all", GQA_ALL, put("0000", "types", "semantic", to="object"), r"'0000', field 'types', field 'semantic': expected one of 'obj', .*, found 'object'"),
    ("tdiuc", TDIUC_TOLD, put("annotations", 1, "question_type", to="colour"), r"annotations\[1\], field 'question_type': expected one of 'absurd', .*, found 'colour'"),
    ("tdiuc", TDIUC_TOLD, put("annotations", 1, "answers", to=[]), r"annotations\[1\], field 'answers': expected an answer, found \[\]"),
    ("tdiuc", TDIUC_TOLD, repeat("annotations"), r"annotations\[72\], field 'question_id': 420 occurs already in annotations\[0\]"),
    ("vqa_open", VQA_TRAIN, drop("annotations", 2, "answers", 9), r"annotations\[2\], field 'answers': expected 10 items, found 9"),
    ("vqa_open", VQA_TEST, put("questions", 1, "question", to=""), r"test2015_questions\.json, questions\[1\], field 'question': expected text, found ''"),
    ("vqa2_pairs", PAIRS, put(1, to=[252, 7]), r"pairs\.json, pair 1: question_id 7 is not among the questions of .*v2_OpenEnded"),
    ("vqa2_pairs", PAIRS, put(1, to=[252]), r"pair 1: expected two question ids, found \[252\]"),
    ("vqa2_pairs", PAIRS, lambda content: content.clear(), r"expected pairs of question ids, found none"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "spoil", "message"), SPOILT, ids=[f"{s[0]}-{n}" for n, s in enumerate(SPOILT)]
)
def test_malformed_files_are_refused_with_the_location(
    name: str, file: str, spoil: Spoil, message: str, tmp_path: Path
) -> None:
    WRITERS[name](tmp_path)
    content = json.loads((tmp_path / file).read_text())
    spoil(content)
    write_json(tmp_path / file, content)
    with pytest.raises(InputError, match=message):
        _read(name, tmp_path)


@pytest.mark.parametrize("name", CONFIGS)
def test_truncated_json_is_refused_wherever_it_ends(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path)
    file = CUT_OFF[name]
    content = (tmp_path / file).read_bytes()
    for share in (0.1, 0.5, 0.999):
        (tmp_path / file).write_bytes(content[: int(len(content) * share)])
        with pytest.raises(InputError, match=rf"{Path(file).name}: the JSON is truncated"):
            _read(name, tmp_path)
