import csv
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.tdiuc import also_absurd, tdiuc_mpt
from tests.scoring.literal_tdiuc import literal_tdiuc

TEXT = st.sampled_from(["yes", "Yes", "no", "two", "a\0", "a", "", "None"]) | st.text(max_size=2)
ROW = st.tuples(TEXT, TEXT, st.sampled_from(["color", "counting", "absurd"]), st.booleans())
MEANS = ("accuracy", "arithmetic_mpt", "harmonic_mpt", "arithmetic_nmpt", "harmonic_nmpt")


@given(st.lists(ROW, min_size=1, max_size=30), st.booleans(), st.sampled_from(["merge", "keep"]))
def test_equals_looping_by_hand(rows, with_vocabulary, unknown_gold):
    references, types = [row[1] for row in rows], [row[2] for row in rows]
    predictions = [reference if right else prediction for prediction, reference, _, right in rows]
    vocabulary = predictions if with_vocabulary else None
    result = tdiuc_mpt(predictions, references, types, answer_vocabulary=vocabulary, unknown_gold=unknown_gold)
    expected = literal_tdiuc(predictions, references, types, vocabulary, unknown_gold)
    for name in MEANS:
        assert result[name] == pytest.approx(expected[name], abs=1e-12), name


@pytest.mark.parametrize("count", [200, pytest.param(3_000, marks=pytest.mark.slow)])
def test_equals_looping_by_hand_over_tdiucs_answer_key(real_data, count):
    with (real_data / "tdiuc" / "sample_answerkey.csv").open(encoding="utf-8", newline="") as file:
        answers = [row[0] for row in csv.reader(file)]
    draw = Random(0)
    references = draw.choices([*answers[:200], "no such answer", "nor this"], k=count)
    types = draw.choices(["absurd", "color", "counting", "sport_recognition"], [8, 4, 2, 1], k=count)
    predictions = [gold if gold in answers and draw.random() < 0.5 else draw.choice(answers) for gold in references]
    for unknown_gold in ("merge", "keep"):
        result = tdiuc_mpt(predictions, references, types, answer_vocabulary=answers, unknown_gold=unknown_gold)
        expected = literal_tdiuc(predictions, references, types, answers, unknown_gold)
        assert {name: result[name] for name in MEANS} == pytest.approx(expected, abs=1e-12)


def test_real_questions_also_absurd_elsewhere_have_an_accuracy_of_their_own():
    questions = ["What color is the cat?", "What color is the cat?", "what color is the cat?", "Is it day?"]
    types = ["color", "absurd", "color", "scene_recognition"]
    flags = also_absurd(questions, types)
    assert flags == [True, False, False, False]
    result = tdiuc_mpt(["red", "no", "red", "yes"], ["red", "none", "blue", "no"], types, absurd_questions=flags)
    assert result["accuracy_also_absurd"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], [], []), {}, "no questions to score"),
        (([1], ["a"], ["x"]), {}, "row 1: predictions is 1, expected text"),
        ((["a"], [None], ["x"]), {"question_ids": [7]}, "question 7: references is None, expected text"),
        ((["b"], ["a"], ["x"]), {"answer_vocabulary": ["a"]}, "predictions is 'b', expected one of the 1 answers"),
        ((["a"], ["a"], ["x"]), {"answer_vocabulary": ["a", 1]}, "answer_vocabulary has values that are not text"),
        ((["a"], ["a"], ["x"]), {"unknown_gold": "megre"}, "unknown unknown_gold 'megre': did you mean 'merge'"),
        ((["a"], ["a"], ["x"]), {"absurd_questions": [1]}, "absurd_questions is 1, expected True or False"),
        ((["a"], ["a"], ["absurd"]), {"absurd_questions": [True]}, "only real questions"),
    ],
)
def test_errors_name_question_and_field(arguments, options, message):
    with pytest.raises(InputError, match=message):
        tdiuc_mpt(*arguments, **options)


def test_presence_is_scored_by_the_right_answer():
    kinds = ["object_presence"] * 4 + ["color", "scene_recognition"]
    found = tdiuc_mpt(["yes", "yes", "yes", "no", "red", "yes"], ["yes", "yes", "no", "no", "red", "no"], kinds)
    assert found["presence"] == {"yes": 1.0, "no": 0.5}
    assert tdiuc_mpt(["yes", "red"], ["yes", "red"], ["object_presence", "color"])["presence"] == {"yes": 1.0}
    assert tdiuc_mpt(["yes"], ["yes"], ["scene_recognition"])["presence"] == {}
