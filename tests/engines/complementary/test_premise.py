"""Which objects questions take for granted, and whether an image is known to show them."""

import pytest

from hf_vqa_mc.engines.complementary.premise import (
    FAILS,
    HOLDS,
    NONE,
    PREMISES,
    UNKNOWN,
    Known,
    Premises,
    objects_in,
    presupposed,
)


@pytest.mark.parametrize(
    ("question", "objects"),
    [
        ("What color are the women's umbrellas?", ["woman", "umbrella"]),
        ("What is he doing?", ["man"]),
        ("How many people are there?", ["person"]),
        ("Is there a fire hydrant in the picture?", ["fire_hydrant"]),
        ("What time is it?", []),
        ("Does this look as if it can?", []),
        ("What color is the sky?", ["sky"]),
        ("What food is on the table?", ["food", "table"]),
        ("What is in his hand?", ["man", "hand"]),
        ("Is the white dog on the left open to the outside?", ["dog"]),
    ],
)
def test_objects_are_found_and_words_that_only_look_like_nouns_are_not(question, objects):
    assert list(objects_in(question)) == objects


def judged(question, others=(), **known):
    """Whether a question's premise holds on an image with other questions (question, answer)."""
    return Premises(["i"], [(*other, 0) for other in others], Known(**known)).judge(question, [0])[0]


def test_another_question_shows_what_is_on_the_image():
    assert judged("what color is the dog", [("is the dog asleep", "yes")]) == HOLDS
    assert judged("what color is the dog", [("what is on the sofa", "a puppy")]) == HOLDS
    assert judged("what color is the puppy", [("what is on the sofa", "a dog")]) == UNKNOWN


def test_a_negative_answer_proves_nothing():
    assert judged("what color is the dog", [("is there a dog", "no")]) == UNKNOWN
    assert judged("what color is the dog", [("how many dogs are there", "0")]) == UNKNOWN


def test_captions_show_what_is_on_the_image():
    assert judged("what is the woman holding", captions={"i": ["A lady waits.", "A woman with a dog."]}) == HOLDS
    assert judged("what is the woman holding", captions={"j": ["A woman."]}) == UNKNOWN


def test_instances_show_which_objects_of_their_categories_are_on_the_image():
    known = {"instances": {"i": {"dog", "fire hydrant"}}, "categories": frozenset(["dog", "person", "fire hydrant"])}
    assert judged("what color is the fire hydrant", **known) == HOLDS
    assert judged("what is the animal doing", **known) == HOLDS
    assert judged("what is the man doing", **known) == FAILS
    assert judged("what color is the umbrella", **known) == UNKNOWN


def test_an_image_without_annotations_is_unknown_and_one_with_none_of_them_is_empty():
    categories = frozenset(["dog"])
    assert judged("what color is the dog", instances={}, categories=categories) == UNKNOWN
    assert judged("what color is the dog", instances={"i": set()}, categories=categories) == FAILS


@pytest.mark.parametrize(
    "question",
    [
        "Is there a dog?",
        "Are there any dogs in the picture?",
        "Isn't there a dog?",
        "Do you see the dog?",
        "Can you see three small dogs?",
        "Does the picture show a dog?",
        "Is there a dog or a cat?",
        "Is it a dog?",
        "Are these dogs?",
        "Is a dog asleep?",
    ],
)
def test_a_question_whether_something_is_there_takes_nothing_for_granted(question):
    known = {"instances": {"i": set()}, "categories": frozenset(["dog"])}
    assert presupposed(question) is None
    assert judged(question, **known) == NONE
    assert judged(question, [("what color is the dog", "red")]) == NONE
    assert PREMISES[NONE] == "none"


@pytest.mark.parametrize(
    ("question", "needed"),
    [
        ("Is there a big tree behind the clock?", ["clock"]),
        ("Are there dogs and cats on the sofa?", ["sofa"]),
        ("Do you see the dog on the sofa?", ["sofa"]),
        ("Is there a light on in the room?", ["room"]),
        ("Is the man holding an umbrella?", ["man"]),
        ("Is the man wearing glasses?", ["man"]),
        ("Is he wearing glasses?", ["man"]),
        ("Are the three small dogs asleep?", ["dog"]),
        ("Is this dog on a sofa?", ["dog"]),
        ("Is the red train engine old?", ["train", "engine"]),
        ("Does the woman's dog sleep?", ["woman", "dog"]),
        ("Has any of the pizza been eaten?", ["pizza"]),
        ("What is the man holding on a sofa?", ["man", "sofa"]),
        ("Is this a dog or a cat?", []),
        ("Is it raining?", []),
        ("Why?", []),
        ("?", []),
    ],
)
def test_what_a_question_refers_to_as_known_is_presupposed(question, needed):
    assert presupposed(question) == tuple(needed)


def test_what_is_asked_about_may_be_absent_and_what_is_known_may_not():
    known = {"instances": {"i": {"person"}}, "categories": frozenset(["person", "clock", "umbrella"])}
    assert judged("is there a tree behind the clock", **known) == FAILS
    assert judged("is there a clock behind the person", **known) == HOLDS
    assert judged("is the person holding an umbrella", **known) == HOLDS
    assert judged("is this umbrella open", **known) == FAILS


def test_of_two_things_to_choose_from_only_the_answer_is_there():
    others = [("is this a dog or a cat", "cat")]
    assert judged("what color is the cat", others) == HOLDS
    assert judged("what color is the dog", others) == UNKNOWN


def test_a_question_that_names_no_object_stays_unknown():
    assert judged("is it raining", [("is it raining", "yes")]) == UNKNOWN
