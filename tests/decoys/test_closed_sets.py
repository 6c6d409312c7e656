"""Closed answer sets: what they guarantee, on made-up triplets, by counting."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest

from hf_vqa_mc.decoys import propensity_model
from hf_vqa_mc.decoys.propensity_model import answer_propensities
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.embeddings import embedding_families

ANSWERS = ["cat", "train", "pizza", "red", "seven", "kitchen", "umbrella", "yes"]
QUESTIONS = ["what is this", "what is on the table", "what is near the man", "what color is it"]


def triplets(rows, split=None):
    """A triplet table from (image, question, target) and perhaps the human answers."""
    return triplet_table(
        question_id=[f"q{at}" for at in range(len(rows))],
        image_id=[str(row[0]) for row in rows],
        split=split or ["train"] * len(rows),
        question=[row[1] for row in rows],
        target=[row[2] for row in rows],
        answers=pa.array([row[3] if len(row) > 3 else [row[2]] for row in rows], pa.list_(pa.string())),
        image_file=[""] * len(rows),
    )


def built(variant, table, **settings):
    (found,) = build_variants(table, [variant], None, Settings(**settings))
    return found


def rows_of(found):
    return [{**row, "split": split} for split, table in found.splits.items() for row in table.to_pylist()]


def sets_of(rows):
    sets = defaultdict(list)
    for row in rows:
        sets[row["split"], row["set_id"]].append(row)
    return sets


def check_closed(rows):
    """Every set: the same choices in the same order, each the target of exactly one row."""
    for members in sets_of(rows).values():
        assert len({tuple(row["choices"]) for row in members}) == 1
        assert sorted(row["label"] for row in members) == list(range(len(members[0]["choices"])))
        assert len(set(members[0]["choices"])) == len(members) >= 2


@pytest.fixture
def one_fit(monkeypatch):
    """Fits the model of P(answer | question) once, for builds of one table that differ in what follows it."""

    def first(*arguments):
        found = answer_propensities(*arguments)
        monkeypatch.setattr(propensity_model, "answer_propensities", lambda *_: found)
        return found

    monkeypatch.setattr(propensity_model, "answer_propensities", first)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", ["sets_same_question", "sets_same_image"])
def test_rows_of_a_set_share_their_choices_and_what_the_kind_says(variant, seed):
    rng = np.random.default_rng(seed)
    size, n_rows = int(rng.integers(2, 6)), int(rng.integers(50, 300))
    draws = zip(*(rng.integers(most, size=n_rows) for most in (40, len(QUESTIONS), len(ANSWERS))), strict=True)
    rows = [(image, QUESTIONS[question], ANSWERS[answer]) for image, question, answer in draws]
    splits = rng.choice(["train", "test"], n_rows, p=[0.7, 0.3]).tolist()
    found = built(variant, triplets(rows, splits), set_size=size)
    made = rows_of(found)
    check_closed(made)
    shared = "question" if variant == "sets_same_question" else "image_id"
    for members in sets_of(made).values():
        assert len(members) <= size
        assert len({row[shared] for row in members}) == 1
        assert len({(row["image_id"], row["question"]) for row in members}) == len(members)
    for split, counts in found.statistics["closed_sets"].items():
        in_sets = sum(row["split"] == split for row in made)
        assert counts["rows"] == in_sets
        assert in_sets + sum(counts["left_out"].values()) == splits.count(split)


@pytest.mark.slow
def test_similar_questions_form_sets_and_those_that_leak_are_left_out_first(one_fit, monkeypatch):
    rng = np.random.default_rng(1)
    by_question = {
        "what animal is it": ["cat", "horse", "duck", "bee"],
        "what room is it": ["kitchen", "street", "beach", "forest"],
    }
    rows = []
    for image in range(600):
        question = list(by_question)[image % 2]
        rows.append((image, f"{question} in picture {rng.integers(50)}", by_question[question][rng.integers(4)]))
    table = triplets(rows)
    found = built("sets_similar_question", table, coverage=1.0)
    made = rows_of(found)
    check_closed(made)
    animals = by_question["what animal is it"]
    for share, found in ((0.1, made), (0.01, rows_of(built("sets_similar_question", table, coverage=0.85)))):
        mixed = sum(len({choice in animals for choice in row["choices"]}) > 1 for row in found)
        assert mixed < share * len(found)
    few = rows_of(built("sets_similar_question", table, coverage=0.5))
    assert 0.4 * len(rows) < len(few) <= 0.5 * len(rows)
    assert max(row["set_leak"] for row in few) <= np.quantile([row["set_leak"] for row in made], 0.6)
    monkeypatch.undo()  # fitted again, the model is the same
    assert made == rows_of(built("sets_similar_question", table, coverage=1.0))


@pytest.mark.slow
def test_the_curve_of_coverage_and_leak_is_that_of_all_sets_before_some_are_left_out(one_fit):
    rng = np.random.default_rng(1)
    words = [f"{what} {number}" for what in ("animal", "room") for number in range(30)]
    answers = {"animal": ["cat", "horse", "duck"], "room": ["kitchen", "street", "beach"]}
    rows = [
        (image, f"what {word} is it", answers[word.split()[0] if rng.random() < 0.7 else "room"][rng.integers(3)])
        for image, word in enumerate(rng.choice(words, 600))
    ]
    table = triplets(rows)
    curves, gains = [], []
    for coverage in (0.5, 1.0):
        found = built("sets_similar_question", table, coverage=coverage)
        curves.append(found.statistics["closed_sets"]["train"]["leak_curve"])
        gains.append(np.array([row["set_leak"] / len(row["choices"]) for row in rows_of(found)]))
    assert curves[0]["points"] == curves[1]["points"]
    for curve, of_rows in zip(curves, gains, strict=True):
        assert curve["kept"] == pytest.approx({"coverage": len(of_rows) / len(rows), "gain": of_rows.mean()})
    largest = curves[1]["points"][-1]
    assert (largest["coverage"], largest["gain"]) == pytest.approx(tuple(curves[1]["kept"].values()))
    assert largest["gain"] > curves[0]["kept"]["gain"] > 0


def test_an_answer_that_a_person_gave_is_no_decoy():
    rows = [(0, "what is it", "cat", ["cat", "train"]), (1, "what is it", "train"), (2, "what is it", "red")]
    made = rows_of(built("sets_same_question", triplets(rows), set_size=2))
    assert {row["question_id"] for row in made} in ({"q0", "q2"}, {"q1", "q2"})


def test_similar_words_are_no_decoys_of_one_another():
    rows = [
        (0, "who is it", "woman"),
        (1, "who is it", "women"),
        (2, "who is it", "the woman"),
        (3, "who is it", "dog"),
    ]
    (members,) = sets_of(rows_of(built("sets_same_question", triplets(rows)))).values()
    assert len(members) == 2
    assert "dog" in members[0]["choices"]


@pytest.mark.parametrize(
    ("rows", "variant", "words"),
    [
        ([(at, "what is it", "cat") for at in range(9)], "sets_same_question", "9 with no other answer"),
        ([(at, "what is it", ANSWERS[at % 8]) for at in range(9)], "sets_same_image", "9 with no other answer"),
    ],
)
def test_where_no_set_is_possible_the_error_says_why(rows, variant, words):
    with pytest.raises(InputError, match=f"no closed answer set can be formed of 9 rows: {words}"):
        built(variant, triplets(rows))


def test_sets_prefer_the_same_question_and_smaller_sets_take_what_is_left():
    rows = [(at, "what is it", answer) for at, answer in enumerate(ANSWERS[:6])]
    found = built("sets_same_question", triplets(rows), set_size=4)
    assert found.statistics["closed_sets"]["train"]["sets"] == {"same_question": {"2": 1, "4": 1}}
    assert isinstance(found.splits["train"], pa.Table)


@pytest.mark.exhaustive
def test_vectors_of_questions_reveal_answers_of_words_seen_once():
    rows = 600
    questions = pa.array([f"word{row}" for row in range(rows)], pa.large_string())
    keys = np.arange(rows) % 2
    own = np.arange(rows)

    def encode(asked):
        number = np.array([int(text.removeprefix("word")) for text in asked.to_pylist()])
        return np.where(number[:, None] % 2 == [0, 1], 1.0, 0.0).astype(np.float32)

    def likelihood(**more):
        found = answer_propensities(questions, keys, own, 0, lambda fold: None, **more)
        return found.distributions(own)[own, found.classes[keys]].mean()

    assert likelihood(encode=encode) > 0.9
    assert abs(likelihood() - 0.5) < 0.05


def test_questions_of_another_spelling_are_not_the_same_question():
    rows = [(at, "Is it on?" if answer == "no" else "is it on", answer) for at, answer in enumerate(["no", "yes"] * 4)]
    with pytest.raises(InputError, match="no closed answer set can be formed"):
        built("sets_same_question", triplets(rows))


def test_sets_of_one_question_are_kept_at_every_coverage():
    rows = [(at, "what is it", answer) for at, answer in enumerate(ANSWERS[:8])]
    made = built("sets", triplets(rows), coverage=0.1)
    assert len(rows_of(made)) == 8
    assert {row["set_leak"] for row in rows_of(made)} == {0.0}
    assert made.statistics["closed_sets"]["train"]["leak_curve"] is None  # there is nothing to choose


@pytest.mark.parametrize(("variant", "leak"), [("sets_same_question", 0.0), ("sets_same_image", None)])
def test_the_leak_is_0_where_the_question_is_the_same_and_null_where_it_is_not_estimated(variant, leak):
    same_image = variant == "sets_same_image"
    rows = [(0 if same_image else at, f"what is it {at * same_image}", ANSWERS[at]) for at in range(8)]
    assert {row["set_leak"] for row in rows_of(built(variant, triplets(rows)))} == {leak}


@pytest.mark.exhaustive
def test_frequent_answers_find_partners_among_all_questions_where_similar_ones_have_none():
    questions = [("is it on", "yes", "no"), ("is it off", "no", "yes")]
    rows = []
    for at in range(10_000):
        text, usual, other = questions[at % 2]
        rows.append((at, f"{text} {at // 2 % 50}", other if at % 40 < 2 else usual))
    assert len(rows_of(built("sets_similar_question", triplets(rows), set_size=2, coverage=1.0))) > 0.95 * len(rows)


@pytest.mark.slow
def test_rows_without_similar_questions_form_no_small_sets_with_others():
    rows = [(at, f"what color is number {at % 40}", ("red", "blue")[at // 40 % 2]) for at in range(200)]
    rows += [(at, f"how many are there in picture {at % 40}", "two") for at in range(200, 300)]
    found = built("sets_similar_question", triplets(rows), coverage=1.0)
    mixed = [row for row in rows_of(found) if "two" in row["choices"]]
    assert len(mixed) < 30
    assert found.statistics["closed_sets"]["train"]["left_out"]["surplus"] > 70


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
