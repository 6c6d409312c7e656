"""Files of answers given without the image."""

import gzip
import json

import pytest

from hf_vqa_mc.engines.vqa_candidates import read_plausible
from hf_vqa_mc.engines.vqa_candidates.plausible_file import LONGEST_ANSWER
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


def test_the_longest_answer_is_read(tmp_path):
    path = tmp_path / "plausible.json"
    path.write_text(json.dumps({"1": ["x" * LONGEST_ANSWER]}))
    assert read_plausible(path) == {"1": ["x" * LONGEST_ANSWER]}


def test_packed_files_are_read(tmp_path):
    path = tmp_path / "plausible.json.gz"
    path.write_bytes(gzip.compress(json.dumps(READ).encode()))
    assert read_plausible(path) == READ


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"1": ["yes"], "1": ["no"]}', "'1' occurs twice"),
        (
            '[{"question_id": 1, "answers": ["a"]}, {"question_id": "1", "answers": ["b"]}]',
            r"record\[1\]: .*occurs twice",
        ),
        ('{"1": "yes"}', "'1', field 'answers': expected a list of text, found 'yes'"),
        ('{"1": ["yes", 2]}', "expected text, found 2"),
        ('{"1": [" "]}', "expected text that is not empty"),
        ('{"1": ["\\ud800"]}', "expected Unicode text"),
        ('{"1": ["yes", "a\\nb"]}', "'1', field 'answers': expected one line of text"),
        ('{"1": ["a\\u2028b"]}', "expected one line of text"),
        ('{"1": ["a\\u001bb"]}', "expected one line of text"),
        (json.dumps({"1": ["x" * (LONGEST_ANSWER + 1)]}), "expected 200 characters at most, found 'xx"),
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
    with pytest.raises(InputError, match="No such file"):
        read_plausible(tmp_path / "none.json")
