"""Preset plausible: decoys fit the question, and no relation between choices that a person would notice is left."""

import numpy as np
import pytest

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.decoys.candidates import contains, too_similar, without_fillers
from hf_vqa_mc.decoys.plausible_answers import CATEGORIES, answer_types
from hf_vqa_mc.decoys.settings import Settings
from tests.decoys.small_worlds import build, candidates_of, random_vectors, triplet

COLORS = ("red", "blue", "green", "orange", "white")
NUMBERS = ("two", "three", "four", "seven", "nine")
PLAUSIBLE = Settings(preset="plausible")


def world(size: int = 240) -> list[dict]:
    """Questions on color, number and presence; two questions an image, on different things."""
    rng = np.random.default_rng(0)
    rows = []
    for n in range(size):
        question, answers = [
            (f"what color is the thing {n}", COLORS),
            (f"how many things are there {n}", NUMBERS),
            (f"is there a thing {n}", ("yes", "no")),
        ][n % 3]
        rows.append(triplet(n, question, str(rng.choice(answers)), image_id=f"image {n // 2}"))
    return rows


def rows_of(triplets: list[dict], variant: str, settings: Settings) -> list[dict]:
    words = sorted({word for one in triplets for word in one["question"].split()})
    made = build(triplets, [variant], random_vectors(words, 8), settings)[variant]
    return [row for table in made.splits.values() for row in table.to_pylist()]


def types_of(texts: list[str], rows: list[tuple[str, str]]) -> dict[str, str]:
    beginnings = list(dict.fromkeys(question for question, _ in rows))
    found = answer_types(
        texts,
        np.array([texts.index(answer) for _, answer in rows]),
        np.array([beginnings.index(question) for question, _ in rows]),
    )
    names = [*CATEGORIES, "adjective", "yes or no"]
    return {text: names[number] for text, number in zip(texts, found, strict=True)}


def test_the_questions_decide_which_sense_of_an_answer_is_meant():
    texts = ["orange", "red", "blue", "green", "apple", "banana", "pear"]
    colors = [("what color is", answer) for answer in ("red", "blue", "green", "green")]
    fruits = [("what fruit is", answer) for answer in ("apple", "banana", "pear", "apple")]
    as_color = types_of(texts, [*colors, *fruits, ("what color is", "orange")])
    as_fruit = types_of(texts, [*colors, *fruits, ("what fruit is", "orange")])
    assert as_color["orange"] == as_color["blue"] == "attribute"
    assert as_fruit["orange"] == as_fruit["apple"] != "attribute"


def test_numbers_share_a_type_as_do_yes_and_no_alone():
    texts = ["two", "seven", "12", "yes", "no", "cat", "zxqv"]
    types = types_of(texts, [("how many", "two"), ("how many", "12"), ("is there", "yes"), ("is there", "zxqv")])
    assert types["two"] == types["seven"] == types["12"] == "measure"
    assert {text for text, name in types.items() if name == "yes or no"} == {"yes", "no"}
    assert types["cat"] == "animal"


def test_fallbacks_answer_questions_with_the_same_beginning():
    fallbacks = {"what": set(), "how": set()}
    for row in rows_of(world(), "iou", PLAUSIBLE):
        for text, fallback in zip(row["choices"], row["choice_fallback"], strict=True):
            if fallback and row["question"].split()[0] in fallbacks:
                fallbacks[row["question"].split()[0]].add(text)
    assert fallbacks["what"] == set(COLORS)
    assert set(NUMBERS) >= fallbacks["how"] > set()


@pytest.mark.parametrize("variant", ["iou", "qou", "iou_qou"])
def test_yes_and_no_are_offered_together(variant):
    rows = [row for row in rows_of(world(), variant, PLAUSIBLE) if row["question"].startswith("is")]
    assert len(rows) == 80
    assert all({"yes", "no"} <= set(row["choices"]) for row in rows)
    assert all(len(set(row["choices"])) == len(row["choices"]) for row in rows)


def test_iou_decoys_of_the_targets_type_come_first():
    others = ["dog", "cat", "horse", "zebra", "cow", "giraffe"]
    rows = [triplet(n, "what animal is this", answer, image_id="one") for n, answer in enumerate(others)]
    rows += [
        triplet(9, "how many are there", "two", image_id="one"),
        triplet(10, "how many now", "nine", image_id="one"),
    ]
    rows += [triplet(20 + n, "how many are there", answer) for n, answer in enumerate(NUMBERS * 4)]
    (row,) = (row for row in rows_of(rows, "iou", PLAUSIBLE) if row["question_id"] == "q9")
    found = [
        text
        for text, kind, fallback in zip(row["choices"], row["choice_kinds"], row["choice_fallback"], strict=True)
        if list(CHOICE_KINDS)[kind] == "iou" and not fallback
    ]
    assert "nine" in found
    (plain,) = (row for row in rows_of(rows, "iou", Settings(decoys_per_set=1, seed=3)) if row["question_id"] == "q9")
    (first,) = (
        row
        for row in rows_of(rows, "iou", Settings(preset="plausible", decoys_per_set=1, seed=3))
        if row["question_id"] == "q9"
    )
    assert "nine" not in plain["choices"]  # with this seed, so that the next line can fail
    assert "nine" in first["choices"]


def test_fillers_do_not_make_an_answer_another_one():
    texts = ["duck as shown", "duck mostly", "on left", "on right", "on", "zxqv shoe", "zxqv", "as"]
    assert without_fillers(texts[:6]) == ["duck", "duck", "on left", "on right", "on", "shoe"]
    assert without_fillers(texts)[5] == "zxqv shoe"
    rows = [
        triplet(n, f"what animal is it {n}", answer)
        for n, answer in enumerate(["duck as shown", "duck mostly", "zebra", "goat", "parrot"] * 6)
    ]
    for row in rows_of(rows, "qou", PLAUSIBLE):
        assert sum("duck" in text for text in row["choices"]) <= 1
    assert any(sum("duck" in text for text in row["choices"]) > 1 for row in rows_of(rows, "qou", Settings()))


def test_all_choices_of_a_row_pass_the_filters_with_one_another():
    texts = ["cat", "kitty", "black cat", "dog", "puppy", "sofa", "couch", "car", "auto", "red car", "table"]
    rows = [triplet(n, f"what is on the {n % 7}", texts[n * n % len(texts)], image_id=str(n // 3)) for n in range(200)]
    candidates, numbers = candidates_of(texts, 0.9, reject=False)
    key = dict(zip(texts, candidates.keys[numbers].tolist(), strict=True))

    def clashes(settings: Settings) -> int:
        found = 0
        for row in rows_of(rows, "iou_qou", settings):
            for n, text in enumerate(row["choices"]):
                for other in row["choices"][:n]:
                    pair = key[text], key[other], candidates.tables
                    found += contains(*pair) or too_similar(*pair)
        return found

    assert clashes(PLAUSIBLE) == 0
    assert clashes(Settings(wup_boundary="accept")) > 0


@pytest.mark.parametrize(
    ("target", "decoy", "excluded"),
    [
        ("motorcycle", "vehicle", True), ("mice", "mouse", True), ("gray", "grey", True), ("clear", "cloudless", True),
        ("café", "cafe", True), ("two dogs", "2 dogs", True), ("12", "twelve", True), ("hat", "cap", True),
        ("two", "three", False), ("five", "six", False), ("white", "black", False), ("horse", "zebra", False),
        ("red", "green", False), ("cat", "table", False),
    ],
)  # fmt: skip
def test_related_texts_are_no_decoys_of_one_another_but_texts_that_exclude_one_another_are(target, decoy, excluded):
    rows = [triplet(n, f"what is it {n}", [target, decoy][n % 2]) for n in range(4)]
    (row, *_) = rows_of(rows, "qou", PLAUSIBLE)
    assert (decoy in row["choices"]) is not excluded


def test_answers_of_annotators_are_no_decoys_but_the_opposite_of_yes_is():
    rows = [triplet(n, f"is it on {n}", "yes", answers=["yes", "no", "maybe"]) for n in range(2)]
    rows += [triplet(n, f"is it on {n}", text) for n, text in enumerate(["maybe", "no", "red", "green"], 2)]
    for row in rows_of(rows, "qou", PLAUSIBLE)[:2]:
        assert {"yes", "no"} <= set(row["choices"])
        assert "maybe" not in row["choices"]
    assert any("maybe" in row["choices"] for row in rows_of(rows, "qou", Settings())[:2])


def test_a_dataset_of_one_answer_or_without_words_has_no_plausible_decoys_but_no_error():
    rows = [triplet(n, "what is it", "cat") for n in range(5)]
    assert all(row["choices"] == ["cat"] for row in rows_of(rows, "iou", PLAUSIBLE))
    wordless = [triplet(n, "?", answer) for n, answer in enumerate(["?!", "...", "yes", "cat"])]
    found = build(wordless, ["iou"], None, PLAUSIBLE)["iou"]
    assert all("cat" in row["choices"] for table in found.splits.values() for row in table.to_pylist())
