"""Which questions of people are imported, and as what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.engines.tdiuc.imported import type_of
from hf_vqa_mc.engines.tdiuc.words import (
    ANSWERS,
    COCO_OBJECTS,
    MAY_MEAN,
    PROVABLE,
    in_words,
    objects_asked_of,
    objects_named,
    tidy_answer,
    tidy_question,
)


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("What color is the man's shirt?", "red", "color"),
        ("What color is the man's shirt?", "plaid", None),
        ("What color horse?", "brown", None),
        ("How many dogs are there?", "sixteen", "counting"),
        ("How many dogs are there?", "seventeen", None),
        ("How many dogs in the yard?", "two", None),
        ("What sport are they playing?", "tennis", "sport_recognition"),
        ("What is the man doing?", "skiing", "sport_recognition"),
        ("What is the man doing?", "eating", "activity_recognition"),
        ("What is the man thinking?", "nothing", None),
        ("What season is this?", "winter", "scene_recognition"),
        ("Is this rainy?", "no", "scene_recognition"),
        ("Is it cloudy?", "yes", "scene_recognition"),
        ("What is the weather like?", "sunny", "scene_recognition"),
        ("What room is this?", "kitchen", "scene_recognition"),
        ("Is the man feeling happy?", "yes", "sentiment_understanding"),
        ("How is the girl feeling?", "sad", "sentiment_understanding"),
        ("What is to the right of the bus?", "car", "positional_reasoning"),
        ("What is behind the bus?", "nothing", None),
        ("What animal is in the image?", "dog", "object_recognition"),
        ("What kind of fruit is this?", "apple", "object_recognition"),
        ("What is the table made of?", "wood", "attribute"),
        ("Is there a dog in the picture?", "yes", "object_presence"),
        ("Are there any dogs?", "no", "object_presence"),
        ("Is there any dogs?", "no", None),
        ("Is there a problem?", "no", None),
        ("Can this be used to cut?", "yes", None),
    ],
)
def test_a_template_gives_the_type(question: str, answer: str, kind: str | None) -> None:
    assert type_of(question, answer) == kind


def test_there_are_nine_sports_and_fifteen_activities_as_in_the_paper() -> None:
    assert (len(ANSWERS["sports"]), len(ANSWERS["activities"])) == (9, 15)
    assert not ANSWERS["sports"] & ANSWERS["activities"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("hot dogs", {"hot dog", "sandwich"}),
        ("two men", {"person"}),
        ("a stop sign", {"stop sign"}),
        ("the mice", {"mouse"}),
        ("a catalogue of busts", set()),
        ("", set()),
    ],
)
def test_words_name_objects(text: str, names: set[str]) -> None:
    assert objects_named(text) == names


@pytest.mark.parametrize(
    "question",
    [
        "What color is the fence?",  # COCO annotates no fences
        "What color is the sign behind the dog?",  # of signs stop signs only
        "What is on the table?",  # of tables dining tables only
        "What color is the dog's collar?",
        "What animal is this?",
        "What color is it?",
        "What is the dog looking at?",
    ],
)
def test_what_annotation_cannot_prove_absent_is_never_also_absurd(question: str) -> None:
    assert objects_asked_of(question) is None


def test_all_words_that_annotation_can_prove_absent_name_objects() -> None:
    assert PROVABLE <= MAY_MEAN.keys()
    assert set().union(*MAY_MEAN.values()) == COCO_OBJECTS.keys()
    for name, one in COCO_OBJECTS.items():
        assert name in objects_named(one.wording)
        assert name in objects_named(one.plural)
        objects = objects_asked_of(f"What color is the {one.wording}?")
        assert objects is not None
        assert name in objects


@given(st.text())
def test_tidying_twice_is_tidying_once(text: str) -> None:
    assert tidy_answer(tidy_answer(text)) == tidy_answer(text)
    once = tidy_question(text)
    assert tidy_question(once) == once
    assert once.endswith("?")


@given(st.integers(0, 999_999))
def test_numbers_in_words_differ(number: int) -> None:
    assert in_words(number) != in_words((number + 1) % 1_000_000)
    assert not set(in_words(number)) & set("0123456789")


@pytest.mark.parametrize(
    ("answer", "tidy"),
    [("2.", "two"), ("10", "ten"), ("4:30", "4:30"), ("3d", "3d"), (" Fire  Hydrant! ", "fire hydrant"), ("$5", "$5")],
)
def test_answers_are_tidied(answer: str, tidy: str) -> None:
    assert tidy_answer(answer) == tidy
