"""Words of questions."""

import pytest

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import sentence
from hf_vqa_mc.engines.gqa.references import Pattern, Wording, relation_form, spelled
from hf_vqa_mc.engines.vocabulary import with_article
from tests.engines.gqa.question_worlds import ONTOLOGY

WORDING = Wording(ONTOLOGY)


@pytest.mark.parametrize(
    "words",
    "a cat|an apple|an hour|a unicorn|a uniform|an umbrella|a utensil|an uncle|a used car|a one-way sign|an onion|"
    "an SUV|a TV|a European car|an egg|a ukulele|an unusual hat|a user|an urn|an 'x-ray'".replace("'", "").split("|"),
)
def test_the_article_follows_the_sound_not_the_letter(words: str) -> None:
    assert with_article(words.split(" ", 1)[1]) == words


def test_names_have_their_capitals_in_texts() -> None:
    assert spelled("wii controller on the tv stand") == "Wii controller on the TV stand"


@pytest.mark.parametrize(
    ("name", "some", "verb", "one", "several"),
    [
        ("apple", "an apple", "is", "apple", "apples"),
        ("apples", "apples", "are", "apple", "apples"),
        ("man", "a man", "is", "man", "men"),
        ("pants", "pants", "are", None, "pants"),
        ("grass", "grass", "is", None, "grass"),
        ("sky", "the sky", "is", None, "sky"),
    ],
)
def test_articles_verbs_and_numbers_are_those_of_the_noun(
    name: str, some: str, verb: str, one: str | None, several: str
) -> None:
    phrase, single = WORDING.called(name), WORDING.one(name)
    assert (phrase.some, phrase.be, single and single.text) == (some, verb, one)
    assert WORDING.several(name).text == several


def test_a_category_without_number_is_counted_in_pieces() -> None:
    furniture, clothing = WORDING.as_category("furniture", False), WORDING.as_category("clothing", True)
    assert furniture is not None and furniture.some == "a piece of furniture"
    assert clothing is not None and (clothing.text, clothing.be) == ("clothing", "is")
    assert WORDING.as_category("thing", False) is None


def test_values_precede_or_follow_their_noun() -> None:
    chance = SeededRng(0, "test")
    apple = WORDING.called("apples")
    assert WORDING.stands_before("color", "red") == "red"
    assert WORDING.stands_before("material", "wood") == "wooden"
    assert WORDING.stands_before("pose", "sitting") is None
    assert WORDING.stands_before("hposition", "left") is None
    assert WORDING.stands_behind("pose", "sitting", apple, False, chance) == "that are sitting"
    assert WORDING.stands_behind("color", "red", apple, True, chance) == "that are not red"
    assert WORDING.predicate("material", "wood") == "made of wood"


@pytest.mark.parametrize(
    ("relation", "form"),
    [
        ("wearing", "verb"),
        ("to the left of", "place"),
        ("parked near", "state"),
        ("covered by", "state"),
        ("of", None),
        ("with", None),
        ("has", None),
    ],
)
def test_only_relations_that_can_follow_is_are_said(relation: str, form: str | None) -> None:
    assert relation_form(relation) == form


def test_a_pattern_has_all_forms_of_its_phrases() -> None:
    phrases = {"WHAT": ("What", "Which"), "THINK": ("", "do you think")}
    made = Pattern("{WHAT} color {THINK} is {the}, {a} or {b}?", phrases)
    slots = {"the": "the hat", "a": "red", "b": "blue"}
    assert {sentence(made.fill(SeededRng(seed, "test"), slots), "?").text for seed in range(200)} == {
        "What color is the hat, red or blue?",
        "Which color is the hat, red or blue?",
        "What color do you think is the hat, red or blue?",
        "Which color do you think is the hat, red or blue?",
    }
