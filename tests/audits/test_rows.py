"""Rows of any multiple-choice dataset become numbers, and what cannot is refused by name."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.errors import InputError


def table(*rows, **types):
    questions, choices, labels = zip(*rows, strict=True)
    types = {"question": pa.string(), "choices": pa.list_(pa.string()), "label": pa.int64(), **types}
    columns = zip(types.items(), (questions, choices, labels), strict=True)
    return pa.table({name: pa.array(column, kind) for (name, kind), column in columns})


def test_the_target_comes_first_and_positions_without_a_choice_are_missing():
    rows = number_rows({"test": table(("Why?", ["a", "b", "c"], 2), ("Why?", ["b"], 0))})["test"]
    assert rows.keys[0, 0] == 2
    assert sorted(rows.keys[0]) == [0, 1, 2]
    assert rows.keys[1].tolist() == [1, MISSING, MISSING]


def test_texts_that_count_as_the_same_share_a_number_across_splits():
    splits = {"train": table(("Is it 2?", ["Two.", "no"], 0)), "test": table(("is it two", ["no", "2"], 1))}
    rows = number_rows(splits)
    assert rows["train"].keys.tolist() == rows["test"].keys.tolist()
    assert rows["train"].beginning(2).tolist() == rows["test"].beginning(2).tolist()


def test_questions_share_the_numbers_of_the_words_that_they_begin_with():
    benchmark = table(("what color is it", ["a"], 0), ("What color?", ["a"], 0), ("is it", ["a"], 0), ("?", ["a"], 0))
    rows = number_rows({"test": benchmark})["test"]
    one, two, three = (rows.beginning(length).tolist() for length in (1, 2, 3))
    assert one[0] == one[1] != one[2]
    assert two[0] == two[1] != two[2]
    assert three[0] not in (one + two)
    assert three[1:] == [MISSING] * 3
    assert one[3] == MISSING


def test_the_layout_of_the_table_does_not_matter():
    plain = table(*[(f"what {i % 3}", ["x", f"y{i}", "z"][: 1 + i % 3], i % 3 % (1 + i % 3)) for i in range(20)])
    large = {"question": pa.large_string(), "choices": pa.large_list(pa.large_string()), "label": pa.int8()}
    wide = plain.cast(pa.schema(large.items()))
    parts = pa.concat_tables([plain.slice(0, 7), plain.slice(7, 2), plain.slice(9)])
    expected = number_rows({"test": plain})["test"]
    for same in (wide, parts, parts.append_column("more", pa.array(range(20)))):
        rows = number_rows({"test": same})["test"]
        np.testing.assert_array_equal(rows.keys, expected.keys)
        np.testing.assert_array_equal(rows.beginning(2), expected.beginning(2))
    part = number_rows({"test": plain.slice(3, 4)})["test"]
    assert len(part.keys) == len(part.questions) == 4


GOOD = ("Why?", ["a", "b"], 0)
WRONG = {
    "a column is missing": (table(GOOD).drop_columns(["label"]), "test: no column 'label'"),
    "choices are one text": (table(("Why?", "a", 0), choices=pa.string()), "column 'choices' holds string"),
    "a question is null": (table(GOOD, (None, ["a"], 0)), "test, row 2: question"),
    "a choice is null": (table(GOOD, ("Why?", ["a", None], 0)), "test, row 2: a choice"),
    "a label is none of its choices": (table(GOOD, ("Why?", ["a"], 1)), "test, row 2: label is 1"),
    "there are no rows": (table(GOOD).slice(1), "test: no rows"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_read_is_named(rows, message):
    with pytest.raises(InputError, match=message):
        number_rows({"train": table(GOOD), "test": rows})
