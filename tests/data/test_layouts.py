"""Every usual layout is recognised, and other choices are written in the same one."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.data.text_choices import TextForm
from hf_vqa_mc.errors import InputError
from tests.data.shapes import CHOICES, FROM_1, LABELS, QUESTIONS, SHAPES, WITHOUT_ORDER, table

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
    if shape in FROM_1:
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
    benchmark = read(tmp_path, table("columns A to D (MMBench)"))
    choices = [["a", "b", "c", "d", "e", "f"], *CHOICES[1:3], ["a", "b"]]
    written = benchmark.with_choices(benchmark.test, choices, [5, *LABELS[1:3], 0])
    assert written.column_names == ["index", "question", "hint", *"ABCDEF", "answer", "category", "l2-category"]
    assert written["answer"].to_pylist() == ["F", "D", "A", "A"]
    assert written["C"].to_pylist() == ["c", "glass", "none of these", ""]
    assert read(tmp_path, written).test.rows["choices"].to_pylist() == choices


def test_contradicting_readings_are_not_guessed(tmp_path):
    numbers = {"question": ["a", "b"], "choices": [["1", "2", "0"], ["0", "1", "2"]], "label": ["0", "1"]}
    assert "two interpretations differ, as in row 1" in refused(tmp_path, numbers)
    two = {"question": ["a"], "choices": [["x", "y"]], "label": [0], "answer": ["y"]}
    assert "choose one with label" in refused(tmp_path, two)
    assert read(tmp_path, two, label="answer").test.rows["label"].to_pylist() == [1]
    agreeing = {"question": ["a"], "choices": [["A", "B"]], "label": ["B"]}
    assert read(tmp_path, agreeing).test.rows["label"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no choices recognised among the columns 'frage', 'eins'"),
        ({"question": "frag"}, "did you mean 'frage'"),
        ({"choices": ()}, "expected one column, or several distinct columns"),
        ({"columns": {"picture_id": "bild"}}, "image_id"),
        ({"columns": {"question_id": "numer"}}, "did you mean 'nummer'"),
    ],
)
def test_columns_of_other_names_must_exist(options, message, tmp_path):
    rows = {"frage": ["a"], "eins": ["x"], "zwei": ["y"], "richtig": ["B"], "bild": [b"123"], "nummer": [5]}
    assert message in refused(tmp_path, rows, **options)


GOOD = {"question": ["a", "b"], "choices": [["x", "y"], ["x", "y"]], "label": [0, 1]}
WRONG = {
    "a label out of range": (
        {**GOOD, "label": [0, 5]},
        "rows.parquet, row 2: label is 5, expected the index of a choice",
    ),
    "hidden labels": ({**GOOD, "label": [-1, -1]}, "the labels are hidden (label is -1 in row 1)"),
    "no questions": ({"choices": GOOD["choices"], "label": [0, 1]}, "no question column, expected text; columns:"),
    "questions of numbers": ({**GOOD, "question": [1, 2]}, "question holds int64, expected text"),
    "no labels": ({"question": ["a", "b"], "choices": GOOD["choices"]}, "give it with label"),
    "a text that is no choice": ({**GOOD, "label": ["x", "w"]}, "row 2: label is 'w', expected the text of a choice"),
    "lists of lists": ({**GOOD, "choices": [[["x"]], [["y"]]]}, "no choices recognised"),
    "no rows": (pa.table(GOOD).slice(2), "no rows"),
}


@pytest.mark.parametrize(("rows", "message"), WRONG.values(), ids=WRONG)
def test_unreadable_content_is_named(rows, message, tmp_path):
    assert message in refused(tmp_path, rows)


def test_kinds_that_no_longer_fit_are_emptied(tmp_path):
    kinds = [[0, 2], [2, 0]]
    benchmark = read(tmp_path, {**GOOD, "choice_kinds": kinds})
    assert benchmark.test.rows["choice_kinds"].to_pylist() == [["target", "iou"], ["iou", "target"]]
    written = benchmark.with_choices(benchmark.test, [["y", "x"], ["x", "y"]], [1, 1])
    assert written["choice_kinds"].to_pylist() == [[], [2, 0]]
    assert read(tmp_path, written).test.rows["choice_kinds"].to_pylist() == [[], ["iou", "target"]]
