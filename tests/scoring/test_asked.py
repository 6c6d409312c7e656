"""Annotations: the format of a publisher's file is detected from its content, and its records come out unchanged."""

import json
import lzma
import shutil
import zipfile

import pytest

from hf_vqa_mc.data.annotations import read_annotations
from hf_vqa_mc.errors import InputError
from tests.scoring import files
from tests.sources import fixtures


def test_vqa_annotations_with_and_without_the_header(tmp_path):
    path = files.vqa_file(tmp_path)
    annotations = read_annotations(str(path))
    assert (annotations.kind.name, annotations.ids, annotations.names) == ("vqa", [1, 2, 3], ["1", "2", "3"])
    assert annotations.image_ids == ["7", "7", "8"]
    assert annotations.answers[1] == ["2"] * 5 + ["two"] * 5
    assert annotations.gold == ["red", "2", "no"]
    assert annotations.answer_types == ["other", "number", "yes/no"]
    assert annotations.about == {"data_type": "mscoco", "data_subtype": "val2014"}
    bare = read_annotations(str(files.write(tmp_path / "bare.json", files.vqa_annotations())))
    assert (bare.ids, bare.answers, bare.about) == (annotations.ids, annotations.answers, {})


def test_records_that_no_id_tells_apart_stay_records(tmp_path):
    annotations = files.vqa_annotations()
    for answer in annotations[0]["answers"]:
        del answer["answer_id"]
    annotations[2]["answers"][0]["answer_id"] = 2
    found = read_annotations(str(files.write(tmp_path / "a.json", annotations)))
    assert found.answers[0] == [{"answer": "red", "answer_confidence": "yes"}] * 10
    assert found.answers[1] == ["2"] * 5 + ["two"] * 5
    assert found.answers[2][1] == {"answer": "yes", "answer_confidence": "yes", "answer_id": 2}


def test_tdiuc_is_told_from_vqa_by_its_types_or_its_source_of_answers(tmp_path):
    path = files.tdiuc_file(tmp_path)
    annotations = read_annotations(str(path))
    assert (annotations.kind.name, annotations.ids) == ("tdiuc", [1, 2, 3, 4])
    assert annotations.gold == ["black", "white", "two", "doesnotapply"]
    assert annotations.question_types == ["color", "color", "counting", "absurd"]
    content = json.loads(path.read_text())
    for annotation in content["annotations"]:
        del annotation["ans_source"]
    assert read_annotations(str(files.write(path, content))).kind.name == "tdiuc"


def test_gqa_keeps_what_is_needed(tmp_path):
    path = files.gqa_file(tmp_path)
    annotations = read_annotations(str(path))
    assert (annotations.kind.name, annotations.ids) == ("gqa", ["201", "202", "203", "204"])
    assert annotations.records["203"] == {"answer": "yes", "isBalanced": False}
    assert set(annotations.records["201"]) == {
        "answer", "isBalanced", "imageId", "question", "types", "groups", "semantic", "entailed"
    }  # fmt: skip
    assert "annotations" in read_annotations(str(path), grounding=True).records["201"]


def test_parts_of_gqa_lie_in_a_folder(tmp_path):
    records = list(files.gqa_records().items())
    folder = tmp_path / "all"
    files.write(folder / "val_0.json", dict(records[:2]))
    (folder / "val_1.json.xz").write_bytes(lzma.compress(json.dumps(dict(records[2:])).encode()))
    (folder / "readme.txt").write_text("")
    annotations = read_annotations(str(folder))
    assert annotations.ids == ["201", "202", "203", "204"]
    files.write(folder / "val_2.json", dict(records[:1]))
    with pytest.raises(InputError, match=r"val_2.json: question '201' occurs twice"):
        read_annotations(str(folder))
    files.write(folder / "val_2.json", files.vqa_annotations())
    with pytest.raises(InputError, match="expected a folder with GQA questions only"):
        read_annotations(str(folder))


def without(field, at=1):
    annotations = files.vqa_annotations()
    del annotations[at][field]
    return annotations


def changed(**fields):
    return [{**files.vqa_annotations()[0], **fields}]


GQA = files.gqa_records()["201"]
BAD = {
    "empty": ("", "expected a dataset folder of vqa-mc build, .*; found an empty file"),
    "no list": ({"annotations": []}, "expected records in the list 'annotations', found none"),
    "a questions file": ({"questions": [{"question_id": 1}]}, "expected a field 'annotations', found .*'questions'"),
    "no answers": (without("answers"), r"record\[1\], field 'answers': it is missing"),
    "none given": (changed(answers=[]), r"record\[0\], field 'answers': expected at least one answer"),
    "no answer of GQA": ({"1": {**GQA, "answer": None}}, r"'1', field 'answer': expected text, found None"),
    "GQA's test": ({"1": {"question": "Is it?", "isBalanced": True}}, "field 'answer': .*test splits are published"),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_is_no_annotation_file_is_named(tmp_path, content, message):
    path = tmp_path / "a.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        read_annotations(str(path))
    assert str(path) in str(error.value)


def test_what_is_not_there_says_what_is_accepted(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.json does not exist; expected a dataset folder"):
        read_annotations(str(tmp_path / "nowhere.json"))
    with pytest.raises(InputError, match=r"question_answers.json does not exist"):  # of a source, were it there
        read_annotations(str(tmp_path / "question_answers.json"))
    with pytest.raises(InputError, match=r"a.json.gz does not exist"):
        read_annotations("a.json.gz")
    with pytest.raises(InputError, match=r"CONFIG x: .* is an annotation file, which has none"):
        read_annotations(str(files.vqa_file(tmp_path)), "x")
    with pytest.raises(InputError, match=r"--split test: .* is an annotation file, which has none"):
        read_annotations(str(files.vqa_file(tmp_path)), split="test")


def test_files_of_which_questions_have_to_be_built_say_so(tmp_path):
    fixtures.write_cocoqa(tmp_path / "raw")
    packed = tmp_path / "zipped" / "any name.zip"
    packed.parent.mkdir()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("train/questions.txt", "train/answers.txt"):
            archive.writestr(f"cocoqa/{name}", "")
    published = files.write(tmp_path / "v7w" / "dataset_v7w_telling.json", {"dataset": "visual7w", "images": []})
    for path, name, folder in (
        (tmp_path / "raw", "cocoqa", tmp_path / "raw"),
        (packed, "cocoqa", packed.parent),
        (published, "visual7w", published.parent),
        (published.parent, "visual7w", published.parent),
    ):
        with pytest.raises(InputError, match=rf"build it first \(vqa-mc build {name} --data-dir {folder}\)"):
            read_annotations(str(path))


@pytest.mark.slow
def test_real_files_are_read(real_data, tmp_path):
    read = {}
    for name, n in (("train", 48_061), ("valid", 8_977), ("test", 2_962)):
        read[name] = read_annotations(str(real_data / "vqa_v2" / f"vqa_annotatons_{name}.gzip"))
        assert (read[name].kind.name, len(read[name]), len(set(read[name].names))) == ("vqa", n, n)
        assert set(map(len, read[name].answers)) == {10}
    for path in [*real_data.glob("vqa_v?/*samples.json"), real_data / "vqa_v2" / "allennlp__vqav2__annotations.json"]:
        assert read_annotations(str(path)).about.get("data_type") in ("mscoco", "abstract_v002")
    head = read_annotations(str(real_data / "gqa" / "GQAOOD__ood_testdev_head.json.xz"))
    assert (head.kind.name, len(head)) == ("gqa", 1_733)
    for part in ("questions0", "questions1"):
        shutil.copy(real_data / "gqa" / f"allennlp__gqa__question_dir__{part}.json", tmp_path)
    assert read_annotations(str(tmp_path)).kind.name == "gqa"
