"""References to objects, and the words of questions."""

import re

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import Executor, sentence
from hf_vqa_mc.engines.gqa.references import Fact, Pattern, Reference, References, relation_form, spelled
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, SceneGraph
from hf_vqa_mc.engines.vocabulary import with_article
from tests.engines.gqa.question_worlds import KITCHEN, ONTOLOGY, graph_of, graphs, thing


def references(graph: SceneGraph, depth: int = 2) -> References:
    return References(graph, ONTOLOGY, depth)


def texts(found: list[Reference]) -> set[str]:
    return {" ".join(text for text, _ in one.the if text) for one in found}


def picked(graph: SceneGraph, key: str, hidden: set[Fact] = frozenset(), depth: int = 2) -> list[Reference]:  # type: ignore[assignment]
    """What is picked with many seeds."""
    by = references(graph, depth)
    found = (by.pick(key, SeededRng(seed, "test"), hidden) for seed in range(300))
    return [reference for reference in found if reference is not None]


@pytest.mark.parametrize(("by_category", "expected"), [(0.0, "the dog"), (1.0, "the animal")])
def test_the_only_one_of_its_name_or_category_is_referred_to_by_it(
    by_category: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hf_vqa_mc.engines.gqa.references.INDIRECT", 0.0)
    monkeypatch.setattr("hf_vqa_mc.engines.gqa.references.BY_CATEGORY", by_category)
    assert texts(picked(KITCHEN, "9")) == {expected}


def test_one_of_two_objects_is_identified_by_what_only_it_has() -> None:
    found = texts(picked(KITCHEN, "2", depth=1))
    assert {"the black hat", "the hat that is not red", "the hat that the man is wearing"} <= found
    assert not any(text in found for text in ("the hat", "the hat on the left"))  # both are on the left


def test_references_are_nested() -> None:
    found = texts(picked(KITCHEN, "1"))
    assert found & {"the man wearing the black hat", "the man that is wearing the black hat"}


def test_indistinguishable_objects_have_no_reference() -> None:
    twins = graph_of(thing("1", "apple", (0, 0, 600, 9), "red"), thing("2", "apple", (0, 9, 600, 9), "red"))
    assert picked(twins, "1") == []


def test_an_apple_among_apples_and_a_man_among_people_are_ambiguous() -> None:
    found = graph_of(
        thing("1", "apple", (0, 0, 600, 9)),
        thing("2", "apples", (0, 9, 600, 9)),
        thing("3", "man", (0, 0, 600, 9)),
        thing("4", "people", (0, 9, 600, 9)),
    )
    assert [picked(found, key) for key in found.objects] == [[]] * 4


def test_a_value_that_another_object_might_have_identifies_nothing() -> None:
    """The second apple has no annotated color."""
    found = graph_of(thing("1", "apple", (0, 0, 600, 9), "red"), thing("2", "apple", (0, 9, 600, 9)))
    assert picked(found, "1") == []
    similar = graph_of(thing("1", "apple", (0, 0, 600, 9), "red"), thing("2", "apple", (0, 9, 600, 9), "crimson"))
    assert picked(similar, "1") == []


def test_hidden_facts_are_never_mentioned() -> None:
    found = texts(picked(KITCHEN, "2", {("2", "color")}))
    assert found
    assert not any("black hat" in text or "not red" in text for text in found)
    assert "the hat that the man is wearing" not in texts(picked(KITCHEN, "2", {("1",)}))
    where = re.compile(r"the (apple|fruit|food)( that is)? on the left")
    assert any(where.match(text) for text in texts(picked(KITCHEN, "6")))
    assert not any(where.match(text) for text in texts(picked(KITCHEN, "6", {("6", HORIZONTAL)})))


def test_the_depth_is_kept() -> None:
    assert {reference.depth for reference in picked(KITCHEN, "2", depth=0)} == set()
    assert max(reference.depth for reference in picked(KITCHEN, "2", depth=1)) == 1
    assert max(reference.depth for reference in picked(KITCHEN, "6", depth=2)) == 2


def test_one_ear_and_a_vague_thing_have_no_reference() -> None:
    assert picked(KITCHEN, "12") == []
    assert picked(graph_of(thing("1", "thing", (0, 0, 9, 9), "red")), "1") == []


@examples(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 99))
def test_every_reference_finds_its_object_and_no_other_possible_one_and_mentions_none_twice(
    graph: SceneGraph, seed: int
) -> None:
    by = references(graph)
    for key in graph.objects:
        reference = by.pick(key, SeededRng(seed, key))
        if reference is not None:
            found = Executor(graph, ONTOLOGY).find(reference.program)
            assert found is not None and found.certain == found.possible == (key,)
            assert set(sentence(reference.the, "").objects.values()) <= set(graph.objects)
            mentioned = [object_id for _, object_id in reference.words if object_id]
            assert len(mentioned) == len(set(mentioned))


WORDING = references(KITCHEN)


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
