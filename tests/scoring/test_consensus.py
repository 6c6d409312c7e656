import gzip
import json
import lzma
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from tests.scoring import literal_vqa
from tests.scoring.test_vqa_normalisation import ANSWER

PROTOCOLS = ("2021", "2017")

RECORD = st.fixed_dictionaries(
    {"answer": ANSWER},
    optional={
        "answer_id": st.one_of(st.integers(1, 4), st.sampled_from([True, 1.0, None, "1"]), st.lists(st.just(1))),
        "answer_confidence": st.sampled_from(["yes", "maybe", float("nan"), ["yes"]]),
    },
)


@st.composite
def questions(draw):
    """A prediction and its answers, which repeat, are alike, and hold the prediction."""
    texts = draw(st.lists(ANSWER, min_size=1, max_size=3))
    variants = [form for text in texts for form in (text, text.upper(), f" {text}.", f"the {text}")]
    text = st.sampled_from(variants) if draw(st.booleans()) else st.just(variants[0])
    answers = draw(st.lists(text, min_size=1, max_size=12))
    if draw(st.booleans()):
        answers = [{**draw(RECORD), "answer": answer} for answer in answers]
    return draw(st.one_of(st.sampled_from(variants), ANSWER)), answers


def scores(predictions, references, **options):
    return vqa_accuracy(predictions, references, per_question=True, **options)["per_question"]


def records(*texts):
    return [{"answer": text, "answer_id": number} for number, text in enumerate(texts, 1)]


@given(st.lists(questions(), min_size=1, max_size=6), st.sampled_from(PROTOCOLS))
def test_equals_counting_by_hand(rows, protocol):
    predictions, references = (list(column) for column in zip(*rows, strict=True))
    types = ["odd" if row % 2 else "even" for row in range(len(rows))]
    given = {"protocol": protocol, "question_types": types, "answer_types": types, "per_question": True}
    result = vqa_accuracy(predictions, references, **given)
    expected = [literal_vqa.score(*question, protocol) for question in rows]
    assert result["per_question"] == pytest.approx(expected, abs=1e-9)
    assert [score == 1 for score in result["per_question"]] == [score == 1 for score in expected]
    assert result["accuracy"] == pytest.approx(np.mean(expected), abs=1e-9)
    by_type = {"even": np.mean(expected[::2]), **({"odd": np.mean(expected[1::2])} if len(rows) > 1 else {})}
    assert result["per_question_type"] == result["per_answer_type"] == pytest.approx(by_type, abs=1e-9)


RED = [{"answer": text} for text in ("red", "Red", "red.", "the red")] + [{"answer": "blue"}] * 6
SURE = [{"answer": "red", "answer_confidence": text} for text in ("yes", "yes", "no", "no")] + [{"answer": "blue"}] * 6


@pytest.mark.parametrize(
    ("prediction", "answers", "expected"),
    [
        ("A Dog!", ["dog."] * 9 + ["cat"], 1),  # both sides are normalised where annotators disagree
        ("A Dog!", ["Dog!"] * 10, 0),  # neither where they agree
        ("dog", ["Dog!"] * 10, 0),
        ("Dog!", ["Dog!"] * 10, 1),
        ("Dog", ["Dog\n"] * 5 + ["\tDog"] * 5, 1),  # who differ in outer white space only
        ("dog", ["Dog\n"] * 5 + ["\tDog"] * 5, 0),
        ("dOG", ["Dog"] * 5 + ["dog"] * 5, 1),  # those who differ in case disagree
        (" hot\tdog\n", ["hot dog"] * 10, 1),  # the prediction is tidied
        ("red", [{"answer": "red"}] * 4 + [{"answer": "blue"}] * 6, 0.6),  # the four see no other "red"
        ("red", ["red"] * 4 + ["blue"] * 6, 1),
        ("red", RED, 0.6),  # records are compared once normalised
        ("red", SURE, (4 * 2 / 3 + 6) / 10),  # in all their fields
        ("red", [{"answer": text, "answer_id": 1} for text in ["red"] * 5 + ["blue"] * 5], 0.5),
        ("red", ["red"], 0),  # fewer than four annotators never make 1
        ("red", ["red"] * 2, 1 / 3),
        ("red", ["red"] * 3, 2 / 3),
        ("", ["the"] * 9 + ["x"], 1),  # which normalises to nothing
    ],
)
def test_what_counts_as_the_same_answer(prediction, answers, expected):
    assert scores([prediction], [answers]) == pytest.approx([expected])


def test_gives_types_and_clusters_by_image():
    references = [["a"] * 10, ["a"] * 10, ["b"] * 10, ["b"] * 10]
    result = vqa_accuracy(["a"] * 4, references, answer_types=["x", "y", "x", "x"], image_ids=[1, 1, 2, 2])
    assert result["accuracy"] == 0.5
    assert result["stderr"] == pytest.approx(0.5)
    assert result["per_answer_type"] == pytest.approx({"x": 1 / 3, "y": 1})
    assert result["per_question_type"] is None
    assert result["per_question"] is None


def test_a_prediction_must_be_among_the_choices_as_given():
    options = {"choices": [["Red", "blue"]]}
    assert scores(["Red"], [["red"] * 9 + ["x"]], **options) == [1]
    with pytest.raises(
        InputError, match=r"row 1: predictions is 'red', expected one of its choices \['Red', 'blue'\]"
    ):
        scores(["red"], [["red"] * 10], **options)


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([], [], {}, "no questions to score"),
        ([1], [["a"]], {}, "row 1: predictions is 1, expected text"),
        ([None], [["a"]], {"question_ids": [7]}, "question 7: predictions is None, expected text"),
        (["a"], [["a", 1]], {}, r"row 1: references is \['a', 1\], expected a list of text, or of records"),
        (["a"], [[None]], {"question_ids": ["q"]}, "question 'q': references is"),
        (["a"], [[]], {}, r"references is \[\], expected a list of answers, at least one"),
        (["a"], [[{"answer": "a"}, "a"]], {}, "row 1: references is .*expected a list of text, or of records"),
        (["a", "a"], [[{"answer": "a"}], [{"answer": 3}]], {}, "row 2: references is .*records with text in answer"),
        (["a"], [[{"answer": "a", "box": np.zeros(n)} for n in (2, 2)]], {}, "expected records of plain values"),
        (["a"], [["a"]], {"choices": ["ab"]}, "choices is 'ab', expected a list of text"),
        (["a"], [["a"]], {"answer_types": [True]}, "answer_types is True"),
        (["a"], [["a"]], {"protocol": "2019"}, "protocol is '2019', expected '2021' or '2017'"),
    ],
)
def test_errors_name_question_and_field(predictions, references, options, message):
    with pytest.raises(InputError, match=message):
        vqa_accuracy(predictions, references, **options)


@pytest.fixture(scope="module")
def vqa_v1(real_data):
    with lzma.open(real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz") as file:
        return json.load(file)


@pytest.fixture(scope="module")
def vqa_v2(real_data):
    with gzip.open(real_data / "vqa_v2" / "vqa_annotatons_valid.gzip") as file:
        return json.load(file)["annotations"]


@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_real_answers_score_as_counted_by_hand(vqa_v1, vqa_v2, protocol, count):
    draw = Random(0)
    references = [row["answer"] for row in draw.sample(vqa_v1, count)]
    references += [row["answers"] for row in draw.sample(vqa_v2, count)]
    predictions = []
    for answers in references:
        text = draw.choice([answer if isinstance(answer, str) else answer["answer"] for answer in answers])
        predictions.append(draw.choice([text, f"The {text}.", text.upper(), text.replace(" ", "-"), "yes"]))
    expected = [literal_vqa.score(*question, protocol) for question in zip(predictions, references, strict=True)]
    assert scores(predictions, references, protocol=protocol) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("protocol", "most_common", "first"),
    [
        ("2021", 0.9745615015082085, 0.891356911438702),
        pytest.param("2017", 0.9733820642545894, 0.8898694479469895, marks=pytest.mark.slow),
    ],
)
def test_equals_the_official_program_on_125314_questions_of_vqa_v1(vqa_v1, protocol, most_common, first):
    references = [row["answer"] for row in vqa_v1]
    predictions = [row["multiple_choice_answer"] for row in vqa_v1]
    assert vqa_accuracy(predictions, references, protocol=protocol)["accuracy"] == pytest.approx(most_common, abs=1e-9)
    predictions = [answers[0] for answers in references]
    assert vqa_accuracy(predictions, references, protocol=protocol)["accuracy"] == pytest.approx(first, abs=1e-9)


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("2021", {"other": 0.7780012978585328, "yes/no": 0.9699694604682745, "number": 0.8730325644504761}),
        ("2017", {"other": 0.7743348475016213, "yes/no": 0.9699694604682745, "number": 0.8719131614654012}),
    ],
)
def test_equals_the_official_program_on_records_of_vqa_v2_by_answer_type(vqa_v2, protocol, expected):
    result = vqa_accuracy(
        [row["answers"][0]["answer"] for row in vqa_v2],
        [row["answers"] for row in vqa_v2],
        answer_types=[row["answer_type"] for row in vqa_v2],
        protocol=protocol,
    )
    assert result["per_answer_type"] == pytest.approx(expected, abs=1e-9)
