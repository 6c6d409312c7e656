"""Answers of other datasets as donors."""

import json

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.remedies.donors import Donor, read_donors
from hf_vqa_mc.sources.vqa_files import V1

ROWS = [
    {"question_id": 1, "image_id": 7, "question": "What is it?", "answer": "a cat"},
    {"question_id": 2, "image_id": 8, "question": "Where is it?", "answer": ""},
]


def test_open_ended_questions_give_their_answers(tmp_path):
    file = tmp_path / "open.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    assert read_donors(str(file)) == [Donor("7", "What is it?", "a cat", "question 1 of open.jsonl, test")]


def test_an_annotation_file_of_vqa_is_read_with_its_questions(tmp_path):
    questions = {"questions": [{name: ROWS[0][name] for name in ("question_id", "image_id", "question")}]}
    answers = [{"answer": "cat", "answer_id": number, "answer_confidence": "yes"} for number in range(1, 11)]
    record = {"question_id": 1, "image_id": 7, "multiple_choice_answer": "cat", "answers": answers}
    record |= {"question_type": "what is", "answer_type": "other"}
    file = tmp_path / V1.annotations_name("val2014")
    file.write_text(json.dumps({"annotations": [record]}))
    with pytest.raises(InputError, match=r"OpenEnded_mscoco_val2014_questions\.json"):
        read_donors(str(file))
    (tmp_path / V1.questions_name("val2014")).write_text(json.dumps(questions))
    assert read_donors(str(file)) == [Donor("7", "What is it?", "cat", f"question 1 of {file.name}")]


def test_a_table_without_answers_is_no_pool(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"question": "What?", "text": "cat"}))
    with pytest.raises(InputError, match="no choices recognised"):
        read_donors(str(file))
