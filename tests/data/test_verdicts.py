from pathlib import Path

import pytest

from hf_vqa_mc.data.verdicts import WRITTEN, Verdict, read_verdicts, rejected, write_verdicts
from hf_vqa_mc.errors import InputError

MADE = [
    Verdict("1", "cat", "correct", "a"),
    Verdict("1", "cat", "wrong", "b"),
    Verdict("1", 'dog, or "cat"', "wrong", "a"),
    Verdict("2", "", "bad_question", "a"),
    Verdict("007", "two", "unsure"),
]


@pytest.mark.parametrize("form", [*WRITTEN, "csv.gz"])
def test_written_verdicts_are_read_again(tmp_path, form):
    path = tmp_path / f"verdicts.{form}"
    write_verdicts(path, MADE)
    assert read_verdicts(path) == MADE


def test_verdicts_count_by_judges_who_are_not_unsure():
    assert rejected(MADE).choices == {"1": frozenset({"cat"})}
    assert rejected([*MADE, Verdict("1", "cat", "wrong", "c")]).choices == {}
    assert rejected([*MADE, Verdict("1", "cat", "unsure", "c")]).choices == {"1": frozenset({"cat"})}


def test_a_question_is_bad_if_half_of_its_judges_find_it_bad():
    assert rejected(MADE).questions == {"2"}
    assert rejected([*MADE, Verdict("2", "red", "wrong", "b"), Verdict("2", "red", "wrong", "c")]).questions == set()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("question_id,choice\n1,cat\n", "no column 'verdict'"),
        ("question_id,choice,verdict\n1,cat,maybe\n", "row 1: verdict is 'maybe'; expected wrong, correct"),
        ("question_id,choice,verdict\n1,,wrong\n", "row 1: expected a question_id, and a choice unless"),
        ("question_id,choice,verdict\n1,cat,bad_question\n", "row 1: expected a question_id, and a choice unless"),
    ],
)
def test_a_wrong_table_is_one_clear_error(tmp_path, content, reason):
    path = tmp_path / "verdicts.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=reason):
        read_verdicts(path)


def test_other_formats_are_not_written():
    with pytest.raises(InputError, match=r"written as \.parquet, \.csv, \.jsonl"):
        write_verdicts(Path("verdicts.xlsx"), MADE)
