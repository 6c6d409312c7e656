"""References to objects."""

import re

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import Executor, sentence
from hf_vqa_mc.engines.gqa.references import Fact, Reference, References
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, SceneGraph
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
