"""Open-ended configs hold everything of their publishers' records, and what is wrong with these is named."""

# ruff: noqa: E501 (a table with one case a line)

import gzip
import json
import lzma
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hf_vqa_mc.errors import CountMismatch, InputError
from hf_vqa_mc.io import json_stream
from hf_vqa_mc.scoring.tdiuc import in_tail
from hf_vqa_mc.sources import SOURCES, tdiuc
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.source import OpenEnded, read_triplets
from tests.sources.open_ended_files import (
    gqa_json,
    pairs_json,
    tdiuc_json,
    write_gqa,
    write_json,
    write_tdiuc,
    write_vqa2_pairs,
)

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

CONFIGS = {config.name: config for source in SOURCES.values() for config in source.open_ended}
WRITERS = {"gqa_balanced": write_gqa, "gqa_all": write_gqa, "tdiuc": write_tdiuc, "tdiuc_tail": write_tdiuc,
           "vqa2_pairs": write_vqa2_pairs}  # fmt: skip


def _read(name: str, folder: Path) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    reading = Reading(CONFIGS[name], Folder(folder, SOURCES[name.split("_")[0]].downloads))
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
def test_rows_have_the_schema_and_every_column_is_explained(name: str, tmp_path: Path) -> None:
    WRITERS[name](tmp_path)
    tables, figures = _read(name, tmp_path)
    config: OpenEnded = CONFIGS[name]
    assert all(table.schema == config.schema for table in tables.values())
    assert {split: table.num_rows for split, table in tables.items()} == figures["rows"]
    described = " ".join(config.columns)
    assert all(column in described or column.startswith("complementary_") for column in config.schema.names)
    json.dumps(figures)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_size_of_the_batches_makes_no_difference(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path)
    at_once = _read(name, tmp_path)
    monkeypatch.setattr(json_stream, "BATCH", 1)
    in_pieces = _read(name, tmp_path)
    assert at_once[1] == in_pieces[1]
    assert all(table.equals(in_pieces[0][split]) for split, table in at_once[0].items())


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


@pytest.mark.parametrize("name", ["GQAOOD__ood_testdev_head", "GQAOOD__ood_testdev_tail", "GQAOOD__val_bal_tail_-0.7"])
def test_real_records_of_gqa_come_back_as_they_were(name: str, real_data: Path, tmp_path: Path) -> None:
    records = json.loads(lzma.decompress((real_data / "gqa" / f"{name}.json.xz").read_bytes()))
    write_json(tmp_path / "testdev_balanced_questions.json", records)
    rows = _read("gqa_balanced", tmp_path)[0]["test"].to_pylist()
    assert {row["question_id"]: _as_published(row) for row in rows} == records
    triplets = read_triplets("gqa", tmp_path).to_pylist()
    assert [row["target"] for row in triplets] == [record["answer"] for record in records.values()]


@pytest.mark.parametrize("name", ["allennlp__gqa__questions", "allennlp__gqa__question_dir__questions1"])
def test_real_samples_of_all_questions_come_back_as_they_were(name: str, real_data: Path, tmp_path: Path) -> None:
    records = json.loads((real_data / "gqa" / f"{name}.json").read_text())
    write_json(tmp_path / "train_all_questions_0.json", records)
    rows = _read("gqa_all", tmp_path)[0]["train"].to_pylist()
    assert {row["question_id"]: _as_published(row) for row in rows} == records


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
        InputError, match=r"no train_balanced_questions\.json .* Download questions1\.2\.zip from https"
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


def test_absurd_questions_are_targets_of_the_multiple_choice_variants(tmp_path: Path) -> None:
    write_tdiuc(tmp_path)
    triplets = read_triplets("tdiuc", tmp_path).to_pylist()
    absurd = [row for row in triplets if row["question_type"] == "absurd"]
    assert len(triplets) == 198
    assert len(absurd) == 22
    assert {row["target"] for row in absurd} == {"doesnotapply"}
    assert "absurd" in SOURCES["tdiuc"].description


@pytest.mark.parametrize("below", [4, 100])  # with the second all answers are rare, those of presence and absurd too
def test_the_tail_agrees_with_the_score_but_for_two_types(
    below: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tdiuc, "TAIL_BELOW", below)
    write_tdiuc(tmp_path)
    whole = [row for table in _read("tdiuc", tmp_path)[0].values() for row in table.to_pylist()]
    rare = in_tail([row["answer"] for row in whole], fewer_than=below)
    expected = [
        row["question_id"]
        for row, is_rare in zip(whole, rare, strict=True)
        if is_rare and row["question_type"] not in ("absurd", "object_presence")
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


def test_questions_that_both_files_of_tdiuc_hold_are_refused(tmp_path: Path) -> None:
    write_tdiuc(tmp_path)
    train, val = (tdiuc_json(subset) for subset in ("train2014", "val2014"))
    for name, folder, key, index in (
        ("OpenEnded_mscoco_val2014_questions", "Questions", "questions", 0),
        ("mscoco_val2014_annotations", "Annotations", "annotations", 1),
    ):
        write_json(tmp_path / folder / f"{name}.json", {key: [*val[index][key], train[index][key][3]]})
    message = (
        r"val2014_questions\.json: question_id 93 about image 9 is in .*train2014_questions\.json, too \(1 question"
    )
    for read in (lambda: _read("tdiuc", tmp_path), lambda: read_triplets("tdiuc", tmp_path)):
        with pytest.raises(InputError, match=message):
            read()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"isBalanced": False}, r"question '0000', field 'isBalanced': expected true, .*, found False"),
        (
            {"types": {"structural": "zzz", "semantic": "attr", "detailed": "x"}},
            r"question '0000', field 'types', field 'structural': expected one of 'query', .*, found 'zzz'",
        ),
        (
            {"types": {"structural": "query", "semantic": "object", "detailed": "x"}},
            r"question '0000', field 'types', field 'semantic': expected one of 'obj', .*, found 'object'",
        ),
    ],
)
def test_types_and_balance_of_gqa_must_be_what_the_file_promises(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    write_gqa(tmp_path)
    records = json.loads((tmp_path / GQA_TRAIN).read_text())
    records["0000"] |= change
    write_json(tmp_path / GQA_TRAIN, records)
    for read in (lambda: _read("gqa_balanced", tmp_path), lambda: read_triplets("gqa", tmp_path)):
        with pytest.raises(InputError, match=message):
            read()


def test_all_questions_of_gqa_need_not_be_balanced_but_of_known_types(tmp_path: Path) -> None:
    write_gqa(tmp_path)
    part = tmp_path / "train_all_questions" / "train_all_questions_0.json"
    records = json.loads(part.read_text())
    assert {record["isBalanced"] for record in records.values()} == {True, False}
    _first(records)["types"]["structural"] = "zzz"
    write_json(part, records)
    with pytest.raises(InputError, match=r"field 'structural': expected one of"):
        _read("gqa_all", tmp_path)


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


@pytest.mark.slow
def test_real_questions_of_vqa2_asked_of_two_images_make_pairs(real_data: Path, tmp_path: Path) -> None:
    questions, annotations = [], []
    for part in ("train", "valid", "test"):
        for name, taken in (("questions", questions), ("annotatons", annotations)):
            packed = (real_data / "vqa_v2" / f"vqa_{name}_{part}.gzip").read_bytes()
            (records,) = json.loads(gzip.decompress(packed)).values()
            taken += records
    answers = {one["question_id"]: one["multiple_choice_answer"] for one in annotations}
    by_text = defaultdict(list)
    for one in questions:
        by_text[one["question"]].append(one)
    twice = [some for some in by_text.values() if len(some) == 2 and some[0]["image_id"] != some[1]["image_id"]]
    pairs = [[one["question_id"], other["question_id"]] for one, other in twice]
    write_json(tmp_path / "v2_OpenEnded_mscoco_train2014_questions.json", {"questions": questions})
    write_json(tmp_path / "v2_mscoco_train2014_annotations.json", {"annotations": annotations})
    write_json(tmp_path / "v2_mscoco_train2014_complementary_pairs.json", pairs)
    tables, figures = _read("vqa2_pairs", tmp_path)
    same = sum(answers[one] == answers[other] for one, other in pairs)
    assert figures["pairs"] == {"all": len(pairs), "same_answer": same}
    assert len(pairs) - same == 3_801
    assert tables["train"]["complementary_question_id"].to_pylist() == [str(other) for _, other in pairs]


def _first(content: dict[str, Any]) -> Any:
    return next(iter(content.values()))


def _without_types(content: Any) -> None:
    del _first(content)["types"]


def _without_answer(content: Any) -> None:
    del _first(content)["answer"]


def _set(field: str, value: object) -> Callable[[Any], None]:
    return lambda content: _first(content).update({field: value})


def _other_pair(at: int, *pair: object) -> Callable[[Any], None]:
    return lambda content: content.__setitem__(at, list(pair))


GQA_TRAIN, TDIUC_TOLD = "train_balanced_questions.json", "Annotations/mscoco_val2014_annotations.json"
PAIRS = "v2_mscoco_train2014_complementary_pairs.json"
SPOILT: list[tuple[str, str, Callable[[Any], None], str]] = [
    ("gqa_balanced", GQA_TRAIN, _without_types, r"train_balanced_questions\.json, question '0000', field 'types': it is missing; the record's fields are"),
    ("gqa_balanced", GQA_TRAIN, _without_answer, r"question '0000', field 'answer': it is missing"),
    ("gqa_balanced", GQA_TRAIN, _set("answer", " "), r"field 'answer': expected text, found ' '"),
    ("gqa_balanced", GQA_TRAIN, _set("isBalanced", 1), r"field 'isBalanced': expected true or false, found 1"),
    ("gqa_balanced", GQA_TRAIN, _set("types", "query"), r"field 'types': expected a JSON object, found 'query'"),
    ("gqa_balanced", GQA_TRAIN, _set("types", {"structural": "query"}), r"field 'types', field 'semantic': it is missing"),
    ("gqa_balanced", GQA_TRAIN, _set("entailed", ["1", 2]), r"question '0000', field 'entailed': expected text, found 2"),
    ("gqa_balanced", GQA_TRAIN, _set("annotations", {"question": {"1": 2}, "answer": {}, "fullAnswer": {}}), r"field 'annotations', field 'question': expected text, found 2"),
    ("gqa_balanced", GQA_TRAIN, _set("semantic", [{"operation": "exist", "argument": "?", "dependencies": [-1]}]), r"semantic\[0\], field 'dependencies': expected indices of earlier steps, found \[-1\]"),
    ("gqa_balanced", "testdev_balanced_questions.json", lambda content: content.update({next(iter(gqa_json("train"))): _first(content)}), r"gqa_balanced: question_id 0000 occurs twice, the second time in test; it must be unique"),
    ("tdiuc", TDIUC_TOLD, lambda content: content["annotations"][1].update({"question_type": "colour"}), r"annotations\[1\], field 'question_type': expected one of 'absurd', .*, found 'colour'"),
    ("tdiuc", TDIUC_TOLD, lambda content: content["annotations"][1].update({"answers": []}), r"annotations\[1\], field 'answers': expected an answer, found \[\]"),
    ("tdiuc", TDIUC_TOLD, lambda content: content["annotations"].append(content["annotations"][0]), r"annotations\[72\], field 'question_id': 420 occurs already in record 0"),
    ("tdiuc", TDIUC_TOLD, lambda content: content["annotations"][1].update({"image_id": 7}), r"question_id 421 has another image_id than in"),
    ("vqa2_pairs", PAIRS, _other_pair(1, 252, 7), r"pairs\.json, pair 1: question_id 7 is not among the questions of .*v2_OpenEnded"),
    ("vqa2_pairs", PAIRS, _other_pair(1, 252, 90), r"pair 1 \(252, 90\): expected the same as question of both, found"),
    ("vqa2_pairs", PAIRS, _other_pair(1, 252), r"pair 1: expected two question ids .*, found \[252\]"),
    ("vqa2_pairs", PAIRS, _other_pair(1, 252, 252), r"pair 1 \(252, 252\) is of one question"),
    ("vqa2_pairs", PAIRS, lambda content: content.append(content[0][::-1]), r"pair 5 \(\d+, \d+\) is listed already as pair 0"),
    ("vqa2_pairs", PAIRS, lambda content: content.clear(), r"expected pairs of question ids, found none"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "file", "spoil", "message"), SPOILT, ids=[f"{s[0]}-{n}" for n, s in enumerate(SPOILT)]
)
def test_malformed_files_are_refused_with_the_location(
    name: str, file: str, spoil: Callable[[Any], None], message: str, tmp_path: Path
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
    kind = "all" if name == "gqa_all" else "balanced"
    file = {"gqa": f"val_{kind}_questions.json", "tdi": TDIUC_TOLD, "vqa": PAIRS}[name[:3]]
    content = (tmp_path / file).read_bytes()
    for share in (0.1, 0.5, 0.999):
        (tmp_path / file).write_bytes(content[: int(len(content) * share)])
        with pytest.raises(InputError, match=rf"{Path(file).name}: the JSON is truncated"):
            _read(name, tmp_path)


def test_counts_that_differ_from_the_published_ones_are_a_warning(tmp_path: Path) -> None:
    write_gqa(tmp_path)
    with pytest.warns(
        CountMismatch, match="gqa_all does not .*: 80 in train where 14,305,356 were expected; 32 in val"
    ):
        _read("gqa_all", tmp_path)
