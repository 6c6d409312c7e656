"""What is wrong in a publisher's file is named: the file, the record, the field and what was expected."""

# ruff: noqa: E501 (tables with one case a line)

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.sources import SOURCES, easyvqa
from hf_vqa_mc.sources.source import read_triplets
from tests.sources import fixtures
from tests.sources.spoiling import Spoil, drop, put, repeat

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

TELLING = "dataset_v7w_telling.json"
QUESTIONS = "MultipleChoice_mscoco_val2014_questions.json"
ANNOTATIONS = "mscoco_val2014_annotations.json"
SPOILT_JSON: list[tuple[str, str, Spoil, str]] = [
    ("visual7w", TELLING, drop("images"), r"expected a field 'images', found the fields 'dataset'"),
    ("visual7w", TELLING, put("images", to={}), r"field 'images': expected a list, found '\{"),
    ("visual7w", TELLING, put("images", to=[]), r"expected records in the list 'images', found none"),
    ("visual7w", TELLING, put("images", 2, to=7), r"images\[2\]: expected a JSON object, found 7"),
    ("visual7w", TELLING, drop("images", 2, "qa_pairs"), r"images\[2\], field 'qa_pairs': it is missing"),
    ("visual7w", TELLING, put("images", 1, "split", to="dev"), r"images\[1\], field 'split': expected one of 'train'"),
    ("visual7w", TELLING, put("images", 1, "split", to=["val"]), r"images\[1\], field 'split': expected one of"),
    ("visual7w", TELLING, put("images", 1, "image_id", to=True), r"field 'image_id': expected a whole number .*True"),
    ("visual7w", TELLING, put("images", 1, "image_id", to=None), r"field 'image_id': expected a whole number .*None"),
    ("visual7w", TELLING, put("images", 3, "qa_pairs", 2, "answer", to=5), r"images\[3\].qa_pairs\[2\], field 'answer': expected text, found 5"),
    ("visual7w", TELLING, put("images", 3, "qa_pairs", 2, "answer", to="  "), r"qa_pairs\[2\], field 'answer': expected text, found '  '"),
    ("visual7w", TELLING, put("images", 3, "qa_pairs", 2, "question", to=""), r"qa_pairs\[2\], field 'question': expected text"),
    ("visual7w", TELLING, put("images", 0, "qa_pairs", 1, "multiple_choices", to=["a", "b"]), r"'multiple_choices': expected 3 items, found 2"),
    ("visual7w", TELLING, put("images", 0, "qa_pairs", 1, "multiple_choices", 2, to=1.5), r"qa_pairs\[1\], field 'multiple_choices': expected a list of texts"),
    ("visual7w", TELLING, put("images", 4, "qa_pairs", 1, "qa_id", to=1000), r"question_id '1000'\): question_id occurs already in record"),
    ("vqa", QUESTIONS, repeat("questions"), r"questions\[24\], field 'question_id': 420 occurs already in questions\[0\]"),
    ("vqa", ANNOTATIONS, repeat("annotations"), r"annotations\[24\], field 'question_id': 420 occurs already in annotations\[0\]"),
    ("vqa", QUESTIONS, drop("questions", 5), r"1 of the annotations, such as question_id 732, are not among the questions of"),
    ("vqa", ANNOTATIONS, drop("annotations", 5), r"1 of the questions, such as question_id 732, are not among the annotations of"),
    ("vqa", QUESTIONS, put("questions", 5, "question_id", to=8), r"1 of the questions, such as question_id 8, are not among"),
    ("vqa", ANNOTATIONS, drop("annotations", 0, "answers", 9), r"annotations\[0\], field 'answers': expected 10 items, found 9"),
    ("vqa", ANNOTATIONS, repeat("annotations", 0, "answers"), r"annotations\[0\], field 'answers': expected 10 items, found 11"),
    ("vqa", ANNOTATIONS, put("annotations", 6, "answers", 3, "answer", to=None), r"annotations\[6\].answers\[3\], field 'answer': expected text, found None"),
    ("vqa", ANNOTATIONS, put("annotations", 1, "multiple_choice_answer", to=""), r"annotations\[1\], field 'multiple_choice_answer': expected text, found ''"),
    ("vqa", ANNOTATIONS, put("annotations", 1, "multiple_choice_answer", to="a yak"), r"question_id 421, field 'multiple_choices': expected the correct answer 'a yak' of .* exactly once, found it 0 times"),
    ("vqa", QUESTIONS, put("questions", 1, "multiple_choices", to=["giraffe"] * 18), r"question_id 421, .* found it 18 times"),
    ("vqa", QUESTIONS, drop("questions", 1, "multiple_choices", 17), r"questions\[1\], field 'multiple_choices': expected 18 items, found 17"),
    ("vqa", QUESTIONS, drop("questions", 1, "multiple_choices"), r"questions\[1\], field 'multiple_choices': it is missing"),
    ("vqa", QUESTIONS, put("questions", 1, "image_id", to="42"), r"questions\[1\], field 'image_id': expected a whole number from 0 to 999,999,999,999, found '42'"),
    ("vqa", QUESTIONS, put("questions", 1, "image_id", to=-1), r"field 'image_id': expected a whole number from 0 to 999,999,999,999, found -1"),
    ("vqa", QUESTIONS, put("questions", 1, "image_id", to=10**30), r"field 'image_id': expected a whole number from 0 to 999,999,999,999"),
    ("qavg", "question_answers.json", put(0, "qas", to={}), r"record\[0\], field 'qas': expected a list, found \{\}"),
    ("qavg", "question_answers.json", put(1, "qas", 2, "answer", to=" "), r"record\[1\].qas\[2\], field 'answer': expected text"),
    ("qavg", "question_answers.json", put(1, "qas", 2, "qa_id", to=0), r"question_id '0'\): question_id occurs already"),
    ("qavg", "question_answers.json", lambda content: content.append(content[3]), r"image 6 is listed twice"),
    ("qavg", TELLING, put("images", 0, "split", to="?"), r"images\[0\], field 'split': expected one of 'train', 'val', 'test'"),
    ("easyvqa", "test/questions.json", put(4, to=["what?", "red"]), r"record\[4\]: expected a list of question, answer, image_id"),
    ("easyvqa", "test/questions.json", put(4, to="what?"), r"record\[4\]: expected a list of question, answer, image_id, found 'what\?'"),
    ("easyvqa", "test/questions.json", put(4, 2, to="3"), r"record\[4\], field 'image_id': expected a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "file", "spoil", "message"), SPOILT_JSON, ids=[case[3][:60] for case in SPOILT_JSON])
def test_a_malformed_record_is_named(name: str, file: str, spoil: Spoil, message: str, tmp_path: Path) -> None:
    _write_all(tmp_path)
    content = json.loads((tmp_path / file).read_text())
    spoil(content)
    (tmp_path / file).write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as caught:
        read_triplets(name, tmp_path)
    assert "\n" not in str(caught.value)
    assert file in str(caught.value) or name in str(caught.value)


SPOILT_TEXT = [
    ("train/answers.txt", lambda text: text.rstrip().rsplit("\n", 1)[0], r"expected equal numbers of lines in all four files, found 49 in questions.txt, 48 in answers.txt"),
    ("train/answers.txt", lambda text: text + "cat\n", r"expected equal numbers of lines .* 49 in questions.txt, 50 in answers.txt"),
    ("test/types.txt", lambda text: text.replace("2", "4"), r"test/types.txt, line 3: expected one of 0 \(object\).*, found '4'"),
    ("test/types.txt", lambda text: text.replace("2", "²"), r"test/types.txt, line 3: expected one of 0 \(object\)"),
    ("test/img_ids.txt", lambda text: text.replace("42", "4x2", 1), r"test/img_ids.txt, line 1: expected the number of a COCO image, found '4x2'"),
    ("test/img_ids.txt", lambda text: text.replace("42", "", 1), r"test/img_ids.txt, line 1: .* found ''"),
    ("test/questions.txt", lambda text: "\n" + text.split("\n", 1)[1], r"test/questions.txt, line 1: expected a question, found nothing"),
    ("test/answers.txt", lambda text: " \n" + text.split("\n", 1)[1], r"test/answers.txt, line 1: expected an answer, found nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "spoil", "message"), SPOILT_TEXT, ids=[case[2][:60] for case in SPOILT_TEXT])
def test_a_malformed_line_is_named(file: str, spoil: Callable[[str], str], message: str, tmp_path: Path) -> None:
    fixtures.write_cocoqa(tmp_path)
    (tmp_path / file).write_text(spoil((tmp_path / file).read_text()))
    with pytest.raises(InputError, match=message):
        read_triplets("cocoqa", tmp_path)


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    fixtures.write_cocoqa(tmp_path)
    path = tmp_path / "train" / "questions.txt"
    path.write_bytes(path.read_bytes().replace(b"what color", b"what colo\xff", 1))
    with pytest.raises(InputError, match=r"train/questions\.txt, line 3: expected UTF-8 text, found the byte 0xff"):
        read_triplets("cocoqa", tmp_path)


DecoyRecords = list[dict[str, Any]]
SPOILT_DECOYS: list[tuple[Callable[[DecoyRecords], object], str]] = [
    (lambda records: records.pop(3), r"1 of the questions, such as qa_id 14003, are not among the released decoys"),
    (
        lambda records: records.append(records[0] | {"qa_id": 77}),
        r"1 of the released decoys, such as qa_id 77, are not",
    ),
    (lambda records: records.append(records[0]), r"field 'qa_id': \d+ occurs already in "),
    (lambda records: records[2].update(IoU_decoys=["a", "b"]), r"record\[2\], field 'IoU_decoys': expected 3 items"),
    (lambda records: records[2].pop("QoU_decoys"), r"record\[2\], field 'QoU_decoys': it is missing"),
    (lambda records: records.clear(), r"v7w_test_decoys.json: expected records in the list, found none"),
]


@pytest.mark.parametrize(("spoil", "message"), SPOILT_DECOYS, ids=[case[1][:60] for case in SPOILT_DECOYS])
def test_released_decoys_that_do_not_fit_are_named(
    spoil: Callable[[DecoyRecords], object], message: str, tmp_path: Path
) -> None:
    fixtures.write_visual7w(tmp_path)
    for split, records in fixtures.visual7w_decoys_json().items():
        if split == "test":
            spoil(records)
        (tmp_path / f"v7w_{split}_decoys.json").write_text(json.dumps(records))
    with pytest.raises(InputError, match=message):
        read_triplets("visual7w", tmp_path, released_decoys=True)


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("easyvqa", "triplets")])
def test_a_missing_file_is_named_with_its_download_address(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r": no \S+ in this folder .* Download \S+\.zip from https?://\S+ and put it"):
        read_triplets(name, tmp_path)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere does not exist\. Expected a folder with the publisher's files"):
        read_triplets("vqa", tmp_path / "nowhere")


def test_without_the_package_easy_vqa_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(easyvqa, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'easy-vqa is not installed: pip install "hf_vqa_mc\[demo\]"'):
        read_triplets("easyvqa")


def _write_all(folder: Path) -> None:
    fixtures.write_vqa(folder)
    fixtures.write_visual_genome(folder)
    fixtures.write_easyvqa(folder)
