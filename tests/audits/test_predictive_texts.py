"""The words that give the target away are reported, with the accuracy of chance; others are not."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.audits.findings import predictive_texts
from hf_vqa_mc.audits.rows import number_rows
from tests.audits.planted import planted


def rows_of(choices, labels):
    table = pa.table({"question": ["what"] * len(choices), "choices": choices, "label": labels})
    return number_rows({"test": table})["test"]


def with_words(n_rows):
    """Of four choices one has "certainly", which is right, and one "never", which is wrong."""
    choices, labels = [], []
    for row in range(n_rows):
        texts = [f"certainly {row}", f"never {row}", f"perhaps {row}", f"perhaps {-row}"]
        order = np.random.default_rng(row).permutation(4)
        choices.append([texts[index] for index in order])
        labels.append(int(np.flatnonzero(order == (0 if row % 4 else 2))[0]))
    return rows_of(choices, labels)


def test_words_that_predict_the_target_or_a_decoy_are_found():
    words = {one["text"]: one for one in predictive_texts(with_words(80))["words"]}
    assert {text: one["predicts"] for text, one in words.items()} == {
        "certainly": "target",
        "never": "decoy",
        "perhaps": "decoy",
    }
    right = words["certainly"]
    assert (right["target"], right["presented"], right["expected"]) == (60, 80, 20.0)
    assert right["z"] == pytest.approx(40 / np.sqrt(80 * 0.25 * 0.75), rel=0.01)


def test_choices_are_compared_without_case_and_rows_with_one_choice_are_ignored():
    choices = [["Yes.", "no"], ["No", "yes"], ["sure"]] * 30
    found = predictive_texts(rows_of(choices, [0, 1, 0] * 30))
    assert {one["text"]: (one["target"], one["presented"]) for one in found["choices"]} == {
        "Yes.": (60, 60),
        "no": (0, 60),
    }


@pytest.mark.parametrize(("texts", "written"), [(["4", "5"], "4"), (["four", "5"], "four")])
def test_numbers_are_reported_as_they_are_written(texts, written):
    found = predictive_texts(rows_of([texts, ["a", "b"]] * 40, [0, 1] * 40))
    for what in ("words", "choices"):
        assert {written, "5"} <= {one["text"] for one in found[what]}


def test_texts_with_few_rows_or_few_images_are_ignored():
    assert predictive_texts(with_words(12)) == {"words": [], "choices": []}
    one_image = predictive_texts(with_words(80), clusters=np.zeros(80, np.int64))
    assert one_image["words"] == []


def test_unbiased_data_has_hardly_any_predictive_texts():
    words = 0
    for seed in range(20):
        table, _, _ = planted("none", 0.0, 600, seed)
        found = predictive_texts(number_rows({"test": table})["test"])
        words += bool(found["words"] or found["choices"])
    assert words <= 2
