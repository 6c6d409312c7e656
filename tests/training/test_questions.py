"""Rows become numbers that say the same, and the same images are held out in every config."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.training.questions import NONE, read_questions
from hf_vqa_mc.training.run_inputs import held_out
from tests.configs import write_configs
from tests.training.toy_dataset import CONFIG


def test_numbers_say_what_the_rows_say(toy):
    data = read_questions(str(toy), CONFIG)
    for split, questions in data.splits.items():
        rows = pq.read_table(toy / CONFIG / f"{split}-00000.parquet").to_pylist()
        assert len(questions) == len(rows)
        for number, row in enumerate(rows):
            valid = questions.choices[number] != NONE
            assert data.texts[questions.texts[number]] == row["question"]
            assert [data.texts[text] for text in questions.choices[number][valid]] == row["choices"]
            assert questions.kinds[number][valid].tolist() == row["choice_kinds"]
            assert questions.labels[number] == row["label"]
            assert (questions.question_ids[number], questions.image_ids[number]) == (
                row["question_id"],
                row["image_id"],
            )


def test_some_of_the_questions_are_those_rows(toy):
    questions = read_questions(str(toy), CONFIG).splits["train"]
    rows = np.array([5, 3, 7])
    some = questions.take(rows)
    assert some.question_ids == [questions.question_ids[row] for row in rows]
    np.testing.assert_array_equal(some.choices, questions.choices[rows])
    assert set(some.used_texts()) == {*some.texts, *some.choices[some.choices != NONE]}


ROWS = {
    "question_id": [1, 2],
    "image_id": [7, 8],
    "question": ["what?", "who?"],
    "choices": [["a", "b"], ["b", "c"]],
    "label": [0, 1],
}


def test_a_dataset_of_others_has_one_kind_of_decoys_and_may_number_its_questions(tmp_path):
    questions = read_questions(str(write_configs(tmp_path, {"own": {"train": pa.table(ROWS)}})), "own").splits["train"]
    assert questions.kinds.tolist() == [[0, 0], [0, 0]]
    assert (questions.question_ids, questions.image_ids) == (["1", "2"], ["7", "8"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"image_id": None}, "no column 'image_id'"),
        ({"choices": None}, "no column 'choices'"),
        ({"label": [0, 2]}, "row 2: label is 2"),
        ({"label": ["a", "b"]}, "label"),
        ({"question": ["what?", None]}, "row 2: question is empty"),
    ],
)
def test_invalid_rows_are_located(tmp_path, changed, message):
    rows = {name: column for name, column in (ROWS | changed).items() if column is not None}
    with pytest.raises(InputError, match="own, train") as error:
        read_questions(str(write_configs(tmp_path, {"own": {"train": pa.table(rows)}})), "own")
    assert message in str(error.value)


@given(st.lists(st.text(max_size=5), min_size=1), st.floats(0, 0.99))
def test_an_image_is_held_out_or_not_whatever_else_there_is(image_ids, part):
    together = held_out(image_ids, part)
    assert together.tolist() == [bool(held_out([image_id], part)[0]) for image_id in image_ids]


def test_about_that_part_of_the_images_is_held_out_and_a_larger_part_adds_some():
    image_ids = [str(number) for number in range(20_000)]
    some, more = held_out(image_ids, 0.05), held_out(image_ids, 0.2)
    assert abs(some.mean() - 0.05) < 0.005
    assert abs(more.mean() - 0.2) < 0.01
    assert not (some & ~more).any()
