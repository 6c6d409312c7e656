"""Closed sets of answers that hardly repeat: what untrained cosines of text embeddings find in them."""

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.decoys.set_rows import RowDistances
from hf_vqa_mc.text.embeddings import embedding_families
from tests.decoys.test_closed_sets import built, check_closed, rows_of, sets_of, triplets

TOPICS = {
    "animal": "cat horse duck bee tiger cow rabbit whale spider eagle".split(),
    "food": "pizza bread soup cheese salad noodles rice sausage pancake omelette".split(),
    "vehicle": "truck bicycle tram airplane canoe scooter tractor helicopter ambulance submarine".split(),
    "clothing": "hat scarf trousers shirt glove sock coat skirt belt jacket".split(),
}


def rare_answers(images=40):
    """Each answer once; the question names what it is, in one of four ways."""
    given = [(topic, answer) for topic, answers in TOPICS.items() for answer in answers]
    ways = ["what {} is this", "which {} can be seen", "what kind of {} is it", "what {} is in the middle"]
    return [
        (at % images, ways[at % 4].format(topic), answer)
        for at, (topic, answer) in enumerate(np.random.default_rng(0).permutation(given).tolist())
    ]


def cosine_accuracy(rows):
    """Of the choice whose embedding is nearest to the question's."""
    (family,) = embedding_families()
    questions = family.embed([row["question"] for row in rows])
    right = 0
    for row, question in zip(rows, questions, strict=False):
        right += int(np.argmax(family.embed(row["choices"])[:-1] @ question)) == row["label"]
    return right / len(rows)


def test_questions_that_name_the_kind_of_answer_share_sets_with_their_like():
    made = built("sets_similar_question", triplets(rare_answers()), coverage=1.0)
    rows = rows_of(made)
    check_closed(rows)
    assert len(rows) >= 38
    assert {row["set_leak"] for row in rows} <= {None, 0.0}  # it is not estimated unless all questions are the same
    topics = [{topic for topic in TOPICS for row in one if topic in row["question"]} for one in sets_of(rows).values()]
    assert sum(len(one) == 1 for one in topics) > 0.7 * len(topics)
    rng = np.random.default_rng(1)
    answers = [answer for of_topic in TOPICS.values() for answer in of_topic]
    random = [{**row, "choices": [row["choices"][row["label"]], *rng.choice(answers, 3)], "label": 0} for row in rows]
    assert cosine_accuracy(random) > 0.6
    assert cosine_accuracy(rows) < 0.4


def test_sets_that_are_left_out_have_the_most_distant_rows():
    strange = [(100 + at, question, answer) for at, (question, answer) in enumerate([
        ("who wrote the book on the shelf", "a poet"), ("when was the photo taken", "at noon"),
        ("why is the street wet", "rain"), ("where does the path lead", "mountains"),
    ])]  # fmt: skip
    found = rows_of(built("sets_similar_question", triplets([*rare_answers(), *strange]), coverage=0.9))
    assert len(found) in range(36, 41)
    assert {row["image_id"] for row in found}.isdisjoint({"100", "101", "102", "103"})


def test_no_image_is_twice_in_a_set_unless_sets_are_about_one_image():
    for one in sets_of(rows_of(built("sets", triplets(rare_answers(images=5)), coverage=1.0))).values():
        assert len({row["image_id"] for row in one}) == len(one)


@pytest.fixture
def distances():
    questions = ["what animal is it", "what animal is it", "what animal is this", "how many hats are there"]
    answers = ["cat", "horse", "duck", "twelve"]
    keys = np.arange(4, dtype=np.int32)
    given = pa.array(questions, pa.large_string()), keys, answers
    return -RowDistances(*given, [one.embed for one in embedding_families()]).of_sets(keys[None].astype(int), keys)[0]


def test_distances_are_symmetric_and_0_where_nothing_differs(distances):
    assert distances == pytest.approx(distances.T, abs=1e-4)
    assert distances.diagonal() == pytest.approx(0, abs=1e-4)
    assert distances[0, 1] == pytest.approx(0, abs=1e-4)  # the same question
    assert distances[0, 1] < distances[0, 2] < distances[0, 3]
