"""What follows from what: examples by hand, and that nothing follows that could be otherwise in another image."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, run
from hf_vqa_mc.engines.gqa.program import Step, joined, then
from hf_vqa_mc.engines.gqa.question import Pointed, Question
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, SceneObject
from tests.engines.gqa.entailment_worlds import (
    LEFT,
    ONTOLOGY,
    RIGHT,
    asked,
    changed,
    facts_by_chance,
    graph_of,
    references,
)

WORDS = Pointed("", {})
APPLE = (Step("select", ("apple",)),)
FRUIT = (Step("select", ("fruit",)),)
TABLE = (Step("select", ("table",)),)
MAN = (Step("select", ("man",)),)
SCENE = (Step("select", ("scene",)),)
ON_TABLE = then(TABLE, "relate", "apple", "on", "s")


def thing(key, name, *relations, **values):
    return SceneObject(
        key, name, (0, 0, 1, 1), {kind: tuple(v.split()) for kind, v in values.items()}, frozenset(relations)
    )


GRAPH = SceneGraph(
    "1",
    9,
    9,
    {
        "1": thing("1", "apple", ("on", "2"), (LEFT, "3"), color="red", size="small", surface="shiny"),
        "2": thing("2", "table", color="green"),
        "3": thing("3", "man", (RIGHT, "1")),
    },
    {"weather": "sunny"},
)

QUESTIONS = {
    "what color is the apple": then(APPLE, "query", "color"),
    "what color is the fruit": then(FRUIT, "query", "color"),
    "what color is the apple on the table": then(ON_TABLE, "query", "color"),
    "is the apple red": then(APPLE, "verify", "color", "red"),
    "is the apple green": then(APPLE, "verify", "color", "green"),
    "is the apple red or green": then(APPLE, "choose", "color", "red", "green"),
    "is there a red apple": then(then(APPLE, "filter", "color", "red", ""), "exist"),
    "is there a green apple": then(then(APPLE, "filter", "color", "green", ""), "exist"),
    "is there a green fruit": then(then(FRUIT, "filter", "color", "green", ""), "exist"),
    "is there an apple": then(APPLE, "exist"),
    "is there an apple that is not red": then(then(APPLE, "filter", "color", "red", "not"), "exist"),
    "is the fruit an apple or a banana": then(FRUIT, "choose", "name", "apple", "banana"),
    "is there a fruit": then(FRUIT, "exist"),
    "is there a banana": then((Step("select", ("banana",)),), "exist"),
    "is there a red banana": then(then((Step("select", ("banana",)),), "filter", "color", "red", ""), "exist"),
    "is there an apple on the table": then(ON_TABLE, "exist"),
    "what fruit is on the table": then(then(TABLE, "relate", "fruit", "on", "s"), "query", "name"),
    "is the apple left of the man": then(APPLE, "verify rel", "man", LEFT, "o"),
    "is the apple right of the man": then(APPLE, "verify rel", "man", RIGHT, "o"),
    "is the man right of the apple": then(MAN, "verify rel", "apple", RIGHT, "o"),
    "is the man left or right of the apple": then(APPLE, "choose rel", "man", LEFT, RIGHT, "s"),
    "is the apple red and small": (
        *APPLE,
        Step("verify", ("color", "red"), (0,)),
        Step("verify", ("size", "small"), (0,)),
        Step("and", (), (1, 2)),
    ),
    "is the apple small": then(APPLE, "verify", "size", "small"),
    "is there an apple or a banana": joined(then(APPLE, "exist"), then((Step("select", ("banana",)),), "exist"), "or"),
    "do apple and table have the same color": joined(APPLE, TABLE, "same", "color"),
    "do apple and table have different colors": joined(APPLE, TABLE, "different", "color"),
    "how is the weather": then(SCENE, "query", "weather"),
    "is it rainy": then(SCENE, "verify", "weather", "rainy"),
    "is it sunny or rainy": then(SCENE, "choose", "weather", "sunny", "rainy"),
}


def question(program, graph=GRAPH):
    answer, found = run(program, graph, ONTOLOGY)
    assert answer is not None, program
    return Question("", "", program, found, WORDS, answer, WORDS, "", "")


def followed(first):
    """The names of the questions that follow from one."""
    names = list(QUESTIONS)
    found = entailments([question(program) for program in QUESTIONS.values()], GRAPH, ONTOLOGY)
    return {names[place] for place in found.entailed[names.index(first)]}


@pytest.mark.parametrize(
    ("first", "follows", "does_not"),
    [
        (
            "what color is the apple",
            {
                "what color is the fruit",
                "what color is the apple on the table",
                "is the apple red",
                "is the apple green",
                "is the apple red or green",
                "is there a red apple",
                "is there a green apple",
                "is there an apple",
                "is there a fruit",
                "is there an apple or a banana",
            },
            {"is there an apple on the table", "is the apple small", "is there a green fruit", "is there a banana"},
        ),
        ("what color is the fruit", {"is there a green fruit"}, {"is there a banana", "is there an apple"}),
        ("is the apple red", {"what color is the apple", "is there a red apple"}, {"is the apple green"}),
        ("is the apple green", {"is there a green apple", "is the apple red or green"}, {"is the apple red"}),
        ("is there a red apple", {"is the apple red", "is there an apple"}, {"is there an apple on the table"}),
        ("is there an apple", {"is there a fruit"}, {"is there a red apple", "is there a banana"}),
        ("is there an apple that is not red", {"is the apple red"}, {"is there an apple"}),
        (
            "is there a banana",
            {"is there a red banana", "is the fruit an apple or a banana"},
            {"is there a fruit", "is there an apple or a banana"},
        ),
        ("is there a fruit", set(), set(QUESTIONS)),
        ("what fruit is on the table", {"is there an apple on the table", "is there an apple"}, {"is there a banana"}),
        (
            "is the apple left of the man",
            {"is the man right of the apple", "is the man left or right of the apple"},
            {"is the apple right of the man"},  # there may be another man
        ),
        ("is the man right of the apple", {"is the apple right of the man"}, set()),
        ("is the apple right of the man", {"is the man left or right of the apple"}, {"is the apple left of the man"}),
        ("is the apple red and small", {"is the apple red", "is the apple small", "is there a red apple"}, set()),
        (
            "do apple and table have the same color",
            {"do apple and table have different colors"},
            {"what color is the apple"},
        ),
        ("how is the weather", {"is it rainy", "is it sunny or rainy"}, {"is there an apple"}),
        ("is it rainy", {"is it sunny or rainy"}, {"how is the weather"}),
    ],
)
def test_what_follows_from_a_question_and_what_does_not(first, follows, does_not):
    found = followed(first)
    assert follows <= found
    assert not (does_not - follows) & found


def test_a_question_of_the_same_content_and_references_is_equivalent_and_follows():
    there = then(then(TABLE, "relate", "apple", "on", "s"), "exist")
    from_apple = then(APPLE, "verify rel", "table", "on", "o")
    from_table = then(TABLE, "verify rel", "apple", "on", "s")
    found = entailments([question(program) for program in (there, from_apple, from_table)], GRAPH, ONTOLOGY)
    assert found.equivalent == [[0, 2], [1], [0, 2]]
    assert 2 in found.entailed[0] and 0 in found.entailed[2] and 0 in found.entailed[1]


def test_the_same_question_by_another_reference_has_the_same_content_but_is_not_equivalent():
    programs = [QUESTIONS[name] for name in ("what color is the apple", "what color is the fruit", "is the apple red")]
    found = entailments([question(program) for program in programs], GRAPH, ONTOLOGY)
    assert found.content[0] == found.content[1] != found.content[2]
    assert found.equivalent == [[0], [1], [2]]


def test_no_question_entails_itself_and_each_is_equivalent_to_itself():
    questions = [question(program) for program in QUESTIONS.values()]
    found = entailments(questions, GRAPH, ONTOLOGY)
    assert all(place not in entailed for place, entailed in enumerate(found.entailed))
    assert all(place in alike for place, alike in enumerate(found.equivalent))
    assert all(
        set(alike) - {place} <= set(entailed)
        for place, (alike, entailed) in enumerate(zip(found.equivalent, found.entailed, strict=True))
    )


def test_no_questions_have_no_entailments():
    assert entailments([], GRAPH, ONTOLOGY) == ([], [], [])


def answer_as_object(asked_question, found, answer, graph):
    """Comparisons are answered by a name, which stands for an object."""
    last = asked_question.program[-1]
    if last.operation != "compare":
        return answer
    kind, more, _ = COMPARATIVES[last.argument[0]]
    return [key for key in found[-1] if graph.objects[key].values[kind] == (more,)]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_what_follows_is_so_in_every_world_where_the_first_question_has_its_answer(seed):
    random = Random(seed)
    facts = facts_by_chance(random, random.choice((3, 4)))
    graph = graph_of(facts)
    questions = asked(graph, random, 80)
    entailed = entailments(questions, graph, ONTOLOGY).entailed
    told = [answer_as_object(one, one.found, one.answer, graph) for one in questions]
    spoken_of = [references(one.program, one.found) for one in questions]
    for _ in range(12):
        other = graph_of(changed(facts, random, random.choice((1, 2, 3, 6))))
        known = {}
        runs = [run(one.program, other, ONTOLOGY, known) for one in questions]
        fits = [
            of.answer is not None and references(one.program, of.found) == spoken
            for one, of, spoken in zip(questions, runs, spoken_of, strict=True)
        ]
        says = [
            answer_as_object(one, of.found, of.answer, other) if fit else None
            for one, of, fit in zip(questions, runs, fits, strict=True)
        ]
        for first, follow in enumerate(entailed):
            if fits[first] and says[first] == told[first]:
                for second in follow:
                    if fits[second]:
                        assert says[second] == told[second], (questions[first], questions[second], other)
