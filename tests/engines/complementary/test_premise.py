"""Which objects questions take for granted, and whether an image is known to show them."""

import pytest

from hf_vqa_mc.engines.complementary.premise import (
    FAILS,
    HOLDS,
    NONE,
    PREMISES,
    UNKNOWN,
    ImageFacts,
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
    return Premises(["i"], [(*other, 0) for other in others], ImageFacts(**known)).judge(question, [0])[0]


DOGS = {"instances": {"i": {"dog", "fire hydrant"}}, "categories": frozenset(["dog", "person", "fire hydrant"])}
PEOPLE = {"instances": {"i": {"person"}}, "categories": frozenset(["person", "clock", "umbrella"])}


@pytest.mark.parametrize(
    ("question", "others", "known", "state"),
    [
        ("what color is the dog", [("is the dog asleep", "yes")], {}, HOLDS),
        ("what color is the dog", [("what is on the sofa", "a puppy")], {}, HOLDS),
        ("what color is the puppy", [("what is on the sofa", "a dog")], {}, UNKNOWN),
        ("what color is the dog", [("is there a dog", "no")], {}, UNKNOWN),  # a negative answer proves nothing
        ("what color is the dog", [("how many dogs are there", "0")], {}, UNKNOWN),
        ("what color is the cat", [("is this a dog or a cat", "cat")], {}, HOLDS),
        ("what color is the dog", [("is this a dog or a cat", "cat")], {}, UNKNOWN),
        ("is it raining", [("is it raining", "yes")], {}, UNKNOWN),  # names no object
        ("what is the woman holding", [], {"captions": [("i", "A lady waits."), ("i", "A woman with a dog.")]}, HOLDS),
        ("what is the woman holding", [], {"captions": [("j", "A woman.")]}, UNKNOWN),
        ("what color is the fire hydrant", [], DOGS, HOLDS),
        ("what is the animal doing", [], DOGS, HOLDS),
        ("what is the man doing", [], DOGS, FAILS),
        ("what color is the umbrella", [], DOGS, UNKNOWN),
        ("what color is the dog", [], DOGS | {"instances": {}}, UNKNOWN),  # the image is not annotated
        ("what color is the dog", [], DOGS | {"instances": {"i": set()}}, FAILS),
        ("is there a tree behind the clock", [], PEOPLE, FAILS),
        ("is there a clock behind the person", [], PEOPLE, HOLDS),
        ("is the person holding an umbrella", [], PEOPLE, HOLDS),
        ("is this umbrella open", [], PEOPLE, FAILS),
    ],
)
def test_questions_captions_and_instances_show_whether_a_premise_holds(question, others, known, state):
    assert judged(question, others, **known) == state


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
