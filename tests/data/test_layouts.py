"""Every usual layout is recognised, and other choices are written in the same one."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.text_choices import TextForm
from hf_vqa_mc.errors import InputError
from tests.data.shapes import CHOICES, DECOYS, LABELS, QUESTIONS, SHAPES, TARGETS, WITHOUT_ORDER, table

ALL = [*SHAPES, *WITHOUT_ORDER]


def read(folder, rows, **options):
    """The rows through a parquet file."""
    path = folder / "rows.parquet"
    pq.write_table(rows if isinstance(rows, pa.Table) else pa.table(rows), path)
    return read_benchmark(str(path), **options)


def refused(folder, rows, **options):
    with pytest.raises(InputError) as error:
        read(folder, rows, **options)
    return str(error.value)


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_questions(shape, tmp_path):
    split = read(tmp_path, table(shape)).test
    assert split.rows["question"].to_pylist() == QUESTIONS
    assert split.rows["choices"].to_pylist() == CHOICES
    assert split.rows["label"].to_pylist() == LABELS
    assert split.ordered
    assert split.original.equals(table(shape))


@pytest.mark.parametrize("shape", WITHOUT_ORDER)
def test_a_target_separate_from_its_decoys_comes_first(shape, tmp_path):
    split = read(tmp_path, table(shape)).test
    assert split.rows["choices"].to_pylist() == [[t, *d] for t, d in zip(TARGETS, DECOYS, strict=True)]
    assert split.rows["label"].to_pylist() == [0] * 4
    assert not split.ordered


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8).map(lambda t: f"{t}.")


@st.composite
def other_rows(draw, most):
    """Choices and labels for four rows; no text twice in a row."""
    choices = [draw(st.lists(texts, min_size=2, max_size=most, unique=True)) for _ in QUESTIONS]
    choices = [draw(st.sampled_from([new, old])) for new, old in zip(choices, CHOICES, strict=True)]
    return choices, [draw(st.integers(0, len(some) - 1)) for some in choices]


@pytest.mark.parametrize("shape", ALL)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_written_benchmarks_can_be_read(shape, tmp_path, data):
    benchmark = read(tmp_path, table(shape))
    choices, labels = data.draw(other_rows(7))
    if shape in WITHOUT_ORDER:
        choices = [
            [some[label], *some[:label], *some[label + 1 :]] for some, label in zip(choices, labels, strict=True)
        ]
        labels = [0] * 4
    if "1" in shape or shape == "ARC":
        labels[0] = len(choices[0]) - 1  # else labels from 1 are possible
        labels = [max(label, 0) for label in labels]
    try:
        written = benchmark.with_choices(benchmark.test, choices, labels)
    except InputError as error:
        assert "cannot be written so that they are read back" in str(error)  # a line break within a text, for example
        assert isinstance(benchmark.spec.choices, TextForm)
        reject()
    again = read(tmp_path, written).test.rows
    expected = benchmark.test.rows.set_column(3, "choices", pa.array(choices, pa.list_(pa.string())))
    assert again.equals(expected.set_column(4, "label", pa.array(labels)))
    for name in set(table(shape).column_names) - {column.partition(".")[0] for column in benchmark.spec.columns}:
        assert written[name].equals(table(shape)[name])
    names = [name for name in written.column_names if name in table(shape).column_names]
    assert names == table(shape).column_names


@pytest.mark.parametrize("shape", ALL)
def test_the_same_choices_give_the_same_table(shape, tmp_path):
    benchmark = read(tmp_path, table(shape))
    rows = benchmark.test.rows
    same = benchmark.with_choices(benchmark.test, rows["choices"], rows["label"].to_pylist())
    assert same.equals(benchmark.test.original, check_metadata=True)


def test_more_choices_get_adjacent_columns(tmp_path):
    benchmark = read(tmp_path, table("MMBench"))
    choices = [["a", "b", "c", "d", "e", "f"], *CHOICES[1:3], ["a", "b"]]
    written = benchmark.with_choices(benchmark.test, choices, [5, *LABELS[1:3], 0])
    assert written.column_names == ["index", "question", "hint", *"ABCDEF", "answer", "category", "l2-category"]
    assert written["answer"].to_pylist() == ["F", "D", "A", "A"]
    assert written["C"].to_pylist() == ["c", "glass", "none of these", ""]
    assert read(tmp_path, written).test.rows["choices"].to_pylist() == choices


def test_an_empty_cell_keeps_its_letter_before_other_choices(tmp_path):
    rows = {
        "question": ["a", "b", "c"],
        "A": ["x", "x", "x"],
        "B": [None, "", "y"],
        "C": ["z", "z", "z"],
        "D": [None] * 3,
        "answer": ["C", "A", "B"],
    }
    split = read(tmp_path, rows).test
    assert split.rows["choices"].to_pylist() == [["x", "", "z"], ["x", "", "z"], ["x", "y", "z"]]
    assert split.rows["label"].to_pylist() == [2, 0, 1]
    numbers = {"question": ["a", "b"], "A": [1.5, 2.0], "B": [2.5, 3.0], "C": [np.nan, 4.0], "answer": ["B", "C"]}
    assert read(tmp_path, numbers).test.rows["choices"].to_pylist() == [["1.5", "2.5"], ["2", "3", "4"]]


def test_indices_start_from_1_only_if_unambiguous(tmp_path):
    rows = {"question": ["a", "b"], "choices": [["x", "y", "z"]] * 2}
    assert read(tmp_path, {**rows, "label": [1, 2]}).test.rows["label"].to_pylist() == [1, 2]
    assert read(tmp_path, {**rows, "label": [1, 3]}).test.rows["label"].to_pylist() == [0, 2]
    assert "row 2: label is 3" in refused(tmp_path, {**rows, "label": [0, 3]})


def test_contradicting_readings_are_not_guessed(tmp_path):
    numbers = {"question": ["a", "b"], "choices": [["1", "2", "0"], ["0", "1", "2"]], "label": ["0", "1"]}
    assert "two interpretations differ, as in row 1" in refused(tmp_path, numbers)
    two = {"question": ["a"], "choices": [["x", "y"]], "label": [0], "answer": ["y"]}
    assert "choose one with label" in refused(tmp_path, two)
    assert read(tmp_path, two, label="answer").test.rows["label"].to_pylist() == [1]
    agreeing = {"question": ["a"], "choices": [["A", "B"]], "label": ["B"]}
    assert read(tmp_path, agreeing).test.rows["label"].to_pylist() == [1]


def test_the_user_names_the_columns(tmp_path):
    rows = {
        "frage": ["a"],
        "eins": ["x"],
        "zwei": ["y"],
        "richtig": ["B"],
        "bild": [b"123"],
        "nummer": [5],
        "art": ["w"],
    }
    assert "no choices recognised among the columns 'frage', 'eins'" in refused(tmp_path, rows)
    columns = {"question": "frage", "choices": ("eins", "zwei"), "label": "richtig", "image": "bild"}
    columns["columns"] = {"question_id": "nummer", "question_type": "art"}
    split = read(tmp_path, rows, **columns).test
    (row,) = split.rows.drop_columns(["image_id"]).to_pylist()
    assert (row["question_id"], row["question"], row["choices"], row["label"]) == ("5", "a", ["x", "y"], 1)
    assert row["question_type"] == "w"
    assert split.images.read(0) == (b"123",)
    assert "did you mean 'frage'" in refused(tmp_path, rows, question="frag")
    assert "expected one column, or several distinct columns" in refused(tmp_path, rows, choices=())
    assert "image_id" in refused(tmp_path, rows, columns={"picture_id": "bild"})
    assert "did you mean 'nummer'" in refused(tmp_path, rows, columns={"question_id": "numer"})


GOOD = {"question": ["a", "b"], "choices": [["x", "y"], ["x", "y"]], "label": [0, 1]}
WRONG = {
    "a label out of range": (
        {**GOOD, "label": [0, 5]},
        "rows.parquet, row 2: label is 5, expected the index of a choice",
    ),
    "a label null": ({**GOOD, "label": [0, None]}, "rows.parquet, row 2: label is None"),
    "hidden labels": ({**GOOD, "label": [-1, -1]}, "the labels are hidden (label is -1 in row 1)"),
    "one choice": ({**GOOD, "choices": [["x"], ["x", "y"]]}, "row 1: 1 choice, expected two or more"),
    "a question null": ({**GOOD, "question": ["a", None]}, "row 2: question is empty (null)"),
    "no questions": ({"choices": GOOD["choices"], "label": [0, 1]}, "no question column, expected text; columns:"),
    "questions of numbers": ({**GOOD, "question": [1, 2]}, "question holds int64, expected text"),
    "no labels": ({"question": ["a", "b"], "choices": GOOD["choices"]}, "give it with label"),
    "a text that is no choice": ({**GOOD, "label": ["x", "w"]}, "row 2: label is 'w', expected the text of a choice"),
    "a label of an empty cell": (
        {"question": ["a", "b"], "A": ["x", "x"], "B": ["y", ""], "C": ["z", "z"], "answer": ["B", "B"]},
        "row 2: answer is 'B', but this choice is empty",
    ),
    "a list that is none": ({**GOOD, "choices": ["['x', 'y']", "['x', open('/')]"]}, "row 2: choices is"),
    "lists of lists": ({**GOOD, "choices": [[["x"]], [["y"]]]}, "no choices recognised"),
    "no rows": (pa.table(GOOD).slice(2), "no rows"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG.values(), ids=WRONG)
def test_unreadable_content_is_named(rows, message, tmp_path):
    assert message in refused(tmp_path, rows)


def test_open_questions_are_left_out_and_reported(tmp_path):
    rows = {
        "question": ["a", "b", "c"],
        "options": ["['x', 'y']", "[]", "['u', 'v']"],
        "answer": ["B", "17", "A"],
        "question_type": ["multiple-choice", "open", "multiple-choice"],
    }
    benchmark = read(tmp_path, rows)
    assert benchmark.test.rows["question"].to_pylist() == ["a", "c"]
    assert benchmark.left_out == {"test (rows without choices)": "1 of 3 rows"}
    assert benchmark.test.original.num_rows == 2


def test_kinds_that_no_longer_fit_are_emptied(tmp_path):
    kinds = [[0, 2], [2, 0]]
    benchmark = read(tmp_path, {**GOOD, "choice_kinds": kinds})
    assert benchmark.test.rows["choice_kinds"].to_pylist() == [["target", "iou"], ["iou", "target"]]
    written = benchmark.with_choices(benchmark.test, [["y", "x"], ["x", "y"]], [1, 1])
    assert written["choice_kinds"].to_pylist() == [[], [2, 0]]
    assert read(tmp_path, written).test.rows["choice_kinds"].to_pylist() == [[], ["iou", "target"]]
