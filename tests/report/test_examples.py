"""A benchmark's rows as examples, and where a model's answers stand among the choices."""

import json

import pyarrow as pa
import pytest

from hf_vqa_mc.data.benchmark import ROWS, Split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.report.examples import FALLBACK, UNREADABLE, examples_of, picks_of
from hf_vqa_mc.report.thumbnails import BROKEN, picture_values

CHOICES = ["Red", "blue", "blue", "green"]


class Images:
    def read(self, row):
        if row == 1:
            raise InputError("the file is broken")
        return (b"image",) if row == 0 else ()


def split(rows=3, images=None):
    table = pa.table(
        {
            "question_id": [f"q{row}" for row in range(rows)],
            "image_id": [""] * rows,
            "question": ["What color?"] * rows,
            "choices": [CHOICES] * rows,
            "label": [2] * rows,
            "question_type": ["what"] * rows,
            "answers": [[]] * rows,
            "choice_kinds": [[]] * rows,
        },
        schema=ROWS,
    )
    return Split("test", "here, test", table, table, images)


@pytest.fixture
def predictions(tmp_path):
    def predictions(answers):
        path = tmp_path / "predictions.json"
        path.write_text(json.dumps(answers))
        return path

    return predictions


def test_a_row_keeps_its_text_and_gets_its_image():
    (found,) = examples_of(split(images=Images()), [0], picked={0: 1}, bias={0: 0.5}, notes={0: "why"})
    assert (found.question_id, found.choices, found.label, found.picked) == ("q0", CHOICES, 2, 1)
    assert (found.images, found.bias, found.note, found.origins, found.kinds) == ((b"image",), 0.5, "why", [], [])


def with_columns(**columns):
    table = split().rows
    for name, column in columns.items():
        table = table.append_column(name, pa.array(column))
    return Split("test", "here, test", split().rows, table, None)


def test_fallbacks_have_that_origin():
    ours = with_columns(choice_fallback=[[False, True, False, True], [False] * 4, None])
    assert [one.origins for one in examples_of(ours, [0, 1, 2])] == [["", FALLBACK, "", FALLBACK], [], []]


def test_origins_are_read_from_a_remedied_benchmark():
    origins = [["asked of another", "fallback", "target", None], ["too few"], None]
    found = examples_of(with_columns(choice_origins=origins), [0, 1, 2])
    assert [one.origins for one in found] == [["asked of another", FALLBACK, "target", ""], [], []]
    assert [found[0].kind(index) for index in range(4)] == ["", "fallback", "target", ""]
    assert [found[0].origin(index) for index in range(4)] == ["asked of another", "fallback", "", ""]


def test_unreadable_images_are_marked_but_missing_ones_are_not():
    assert [one.images for one in examples_of(split(images=Images()), [2, 1])] == [(), (UNREADABLE,)]
    assert picture_values([UNREADABLE])["missing"].startswith(f"{BROKEN}: ")
    assert examples_of(split(), [1])[0].images == ()
    assert examples_of(split(), []) == []


def test_picks_are_indices_for_predicted_texts_and_indices(predictions):
    assert picks_of(split(), predictions({"q0": "green", "q1": 0, "q2": "red"})) == {0: 3, 1: 0, 2: 0}


def test_invalid_predictions_are_rejected(predictions):
    with pytest.raises(InputError, match="not one of its choices"):
        picks_of(split(1), predictions({"q0": "purple"}))
    with pytest.raises(InputError, match="have no prediction: 'q1'"):
        picks_of(split(2), predictions({"q0": "blue"}))
