"""Files of answers given without the image."""

import gzip
import json

import pytest

from hf_vqa_mc.engines.vqa_candidates import read_plausible
from hf_vqa_mc.errors import InputError

READ = {"1": ["yes", "no"], "2": ["cat"]}


@pytest.mark.parametrize(
    "value",
    [
        READ,
        [{"question_id": 1, "answers": ["yes", "no"]}, {"question_id": "2", "answers": ["cat"]}],
        [{"question_id": 1, "answers": [{"answer": "yes"}, {"answer": "no"}]}, {"question_id": 2, "answers": ["cat"]}],
    ],
)
def test_both_forms_are_read(tmp_path, value):
    path = tmp_path / "plausible.json"
    path.write_text(json.dumps(value))
    assert read_plausible(path) == READ


def test_answers_are_read_without_the_spaces_around_them(tmp_path):
    path = tmp_path / "plausible.json"
    path.write_text(json.dumps({"1": [" yes\n", "a\u00a0 cat "]}))
    assert read_plausible(path) == {"1": ["yes", "a\u00a0 cat"]}


def test_packed_files_are_read(tmp_path):
    path = tmp_path / "plausible.json.gz"
    path.write_bytes(gzip.compress(json.dumps(READ).encode()))
    assert read_plausible(path) == READ


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"1": "yes"}', "'1', field 'answers': expected a list of text, found 'yes'"),
        ('{"1": ["yes", 2]}', "an answer is empty or not text"),
        ('{"1": [" "]}', "an answer is empty"),
        ('[{"answers": ["a"]}]', r"record\[0\], field 'question_id': it is missing"),
        (
            '[{"question_id": 1.5, "answers": ["a"]}]',
            "field 'question_id': expected a whole number .or text., found 1.5",
        ),
        ("[]", "expected records in the list"),
        ('"yes"', "expected a JSON object"),
        ("", "expected a JSON object"),
        ('{"1": ["yes"', "truncated"),
    ],
)
def test_malformed_files_are_refused_with_the_location(tmp_path, content, complaint):
    path = tmp_path / "plausible.json"
    path.write_text(content)
    with pytest.raises(InputError, match=complaint) as error:
        read_plausible(path)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read_plausible(tmp_path / "none.json")
