"""Which columns are exported with the question, and which are left out and named."""

import pytest

from hf_vqa_mc.data.labels import BY_TEXT
from hf_vqa_mc.data.questions import other_columns
from tests.exports import small

TEXTS = ["a", "b", None, ""]


def test_of_several_contexts_the_hint_goes_out_and_the_others_are_named():
    found = other_columns(small.benchmark(columns={"Passage": TEXTS, "Hint": TEXTS}))
    assert (found.context_column, found.contexts) == ("Hint", ["a", "b", "", ""])
    assert found.left_out == ["answers", "choice_kinds", "Passage"]


@pytest.mark.parametrize(
    "column",
    [
        [None, "", " ", "nan"],  # nothing to read
        [1, 2, 3, 4],
        [["a"], [], None, ["b"]],
        [{"label": "a"}] * 4,
    ],
)
def test_what_is_no_text_is_no_context(column):
    found = other_columns(small.benchmark(columns={"context": column}))
    assert (found.context_column, set(found.contexts)) == ("", {""})
    assert "context" in found.left_out


def test_the_question_and_the_label_are_no_context_whatever_they_are_called():
    from dataclasses import replace

    assert (
        other_columns(small.benchmark(columns={"context": [row[2] for row in small.QUESTIONS]})).context_column == ""
    )
    benchmark = small.benchmark(columns={"hint": [row[3][row[4]] for row in small.QUESTIONS]})
    benchmark = replace(benchmark, spec=replace(benchmark.spec, labels=(("hint", BY_TEXT),)))
    assert other_columns(benchmark).context_column == ""


def test_pictures_and_ids_are_not_reported_as_left_out():
    rows = [row[0] for row in small.QUESTIONS]
    columns = {"pid": rows, "image": [{"bytes": b"x", "path": ""}] * 4, "photo": [b"x"] * 4, "image_path": rows}
    assert other_columns(small.benchmark(columns=columns)).left_out == ["answers", "choice_kinds"]


def test_the_larger_category_is_left_out_where_no_harness_takes_it():
    found = other_columns(small.benchmark(columns={"l2-category": TEXTS}))
    assert found.groups == ["a", "b", "", ""]
    assert "l2-category" not in " ".join(found.notes(as_hint=True))
    assert found.notes(as_hint=False) == [f"{small.LEFT_OUT}, l2-category"]
