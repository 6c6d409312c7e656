"""What questions take for granted, and where it is known to be."""

import pytest

from hf_vqa_mc.engines.complementary.premise import FAILS, HOLDS, UNKNOWN, Known, Premises, objects_in


@pytest.mark.parametrize(
    ("question", "objects"),
    [
        ("What color are the women's umbrellas?", ["woman", "umbrella"]),
        ("What is he doing?", ["man"]),
        ("How many people are there?", ["person"]),
        ("Is there a fire hydrant in the picture?", ["fire_hydrant"]),
        ("What time is it?", []),
        ("Does this look as if it can?", []),
    ],
)
def test_objects_are_found_and_words_that_only_look_like_nouns_are_not(question, objects):
    assert objects_in(question) == objects


def judged(question, told=(), **known):
    """What is known of question's premise on an image of which others told (question, answer)."""
    questions, answers = [one for one, _ in told], [answer for _, answer in told]
    return Premises(["i"], questions, answers, [0] * len(told), Known(**known)).of(question).on(0)


def test_another_question_on_the_image_says_what_is_there():
    assert judged("what color is the dog", [("is the dog asleep", "yes")]) == HOLDS
    assert judged("what color is the dog", [("what is on the sofa", "a puppy")]) == HOLDS
    assert judged("what color is the puppy", [("what is on the sofa", "a dog")]) == UNKNOWN


def test_an_answer_that_denies_says_nothing():
    assert judged("what color is the dog", [("is there a dog", "no")]) == UNKNOWN
    assert judged("what color is the dog", [("how many dogs are there", "0")]) == UNKNOWN


def test_captions_say_what_is_there():
    assert judged("what is the woman holding", captions={"i": ["A lady waits.", "A woman with a dog."]}) == HOLDS
    assert judged("what is the woman holding", captions={"j": ["A woman."]}) == UNKNOWN


def test_instances_say_what_is_there_and_what_of_their_categories_is_not():
    known = {"instances": {"i": {"dog", "fire hydrant"}}, "categories": frozenset(["dog", "person", "fire hydrant"])}
    assert judged("what color is the fire hydrant", **known) == HOLDS
    assert judged("what is the animal doing", **known) == HOLDS
    assert judged("what is the man doing", **known) == FAILS
    assert judged("what color is the umbrella", **known) == UNKNOWN


def test_an_image_without_annotations_is_unknown_and_one_with_none_of_them_is_empty():
    categories = frozenset(["dog"])
    assert judged("what color is the dog", instances={}, categories=categories) == UNKNOWN
    assert judged("what color is the dog", instances={"i": set()}, categories=categories) == FAILS


def test_a_question_whether_something_is_there_takes_nothing_for_granted():
    known = {"instances": {"i": set()}, "categories": frozenset(["dog"])}
    assert judged("is there a dog", **known) == HOLDS


def test_a_question_that_names_no_object_stays_unknown():
    assert judged("is it raining", [("is it raining", "yes")]) == UNKNOWN
