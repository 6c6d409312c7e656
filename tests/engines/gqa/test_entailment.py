"""Entailments: examples by hand, and that no entailed question can have another answer in another image."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.executor import Executor, GroundedText, Question, Step, joined, then
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, SceneObject
from tests.engines.gqa.entailment_worlds import (
    LEFT,
    ONTOLOGY,
    RIGHT,
    about_objects,
    agrees,
    changed,
    graph_of,
    grown,
    questions_about,
    random_facts,
    says,
)

WORDS = GroundedText("", {})
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
    answer, found = Executor(graph, ONTOLOGY).run(program)
    assert answer is not None, program
    return Question("", "", program, found, WORDS, answer, WORDS, "", "")


def followed(first):
    """The names of the questions that follow from one."""
    names = list(QUESTIONS)
    found = entailments([question(program) for program in QUESTIONS.values()], GRAPH, ONTOLOGY)
    return {names[index] for index in found.entailed[names.index(first)]}


@pytest.mark.parametrize(
    ("first", "follows", "does_not"),
    [
        (
            "what color is the apple",
            {
                "what color is the fruit",
                "is the apple red",
                "is the apple green",
                "is the apple red or green",
                "is there a red apple",
                "is there a green apple",
                "is there an apple",
                "is there a fruit",
                "is there an apple or a banana",
            },
            {
                "what color is the apple on the table",
                "is there an apple on the table",
                "is the apple small",
                "is there a green fruit",
                "is there a banana",
            },
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
def test_a_question_entails_some_questions_and_not_others(first, follows, does_not):
    found = followed(first)
    assert follows <= found
    assert not (does_not - follows) & found


def test_questions_with_the_same_content_and_references_are_equivalent_and_entail_each_other():
    there = then(then(TABLE, "relate", "apple", "on", "s"), "exist")
    from_apple = then(APPLE, "verify rel", "table", "on", "o")
    from_table = then(TABLE, "verify rel", "apple", "on", "s")
    found = entailments([question(program) for program in (there, from_apple, from_table)], GRAPH, ONTOLOGY)
    assert found.equivalent == [[0, 2], [1], [0, 2]]
    assert 2 in found.entailed[0] and 0 in found.entailed[2] and 0 in found.entailed[1]


def test_no_question_entails_itself_and_each_is_equivalent_to_itself():
    questions = [question(program) for program in QUESTIONS.values()]
    found = entailments(questions, GRAPH, ONTOLOGY)
    assert all(index not in entailed for index, entailed in enumerate(found.entailed))
    assert all(index in alike for index, alike in enumerate(found.equivalent))
    assert all(
        set(alike) - {index} <= set(entailed)
        for index, (alike, entailed) in enumerate(zip(found.equivalent, found.entailed, strict=True))
    )


RED, SMALL = (then(FRUIT, "filter", *value, "") for value in (("color", "red"), ("size", "small")))
FOOD, FURNITURE = ((Step("select", (name,)),) for name in ("food", "furniture"))
FRUIT_LEFT, APPLE_LEFT, ANY_LEFT = (then(MAN, "relate", name, LEFT, "s") for name in ("fruit", "apple", "_"))
IS_THE_SMALL_ONE_RED = then(SMALL, "verify", "color", "red")


@pytest.mark.parametrize(
    ("programs", "entailed"),
    [
        pytest.param(
            [then(fruit, "query", "name") for fruit in (FRUIT, RED, then(RED, "filter", "size", "small", ""))],
            [[], [0], [0, 1]],
            id="what the fruit is named does not settle what the red fruit is named",
        ),
        pytest.param(
            [then(FRUIT, "query", "color"), *(then(fruit, "verify", "color", "green") for fruit in (RED, SMALL))],
            [[1]],
            id="the fruit is red, so it is the red fruit, perhaps not the small one",
        ),
        pytest.param(
            [
                then(then(table, "relate", "apple", "on", "s"), "query", "color")
                for table in (TABLE, then(FURNITURE, "filter", "color", "green", ""), FURNITURE)
            ],
            [[2], [2], []],
            id="the apple on the table may not be on the green piece of furniture",
        ),
        pytest.param(
            [
                then(fruit, "query", "name")
                for fruit in (FRUIT_LEFT, APPLE_LEFT, then(FRUIT_LEFT, "filter", "size", "small", ""))
            ],
            [[1]],
            id="a name as answer identifies the object by that name",
        ),
        pytest.param(
            [
                then(then(APPLE_LEFT, "filter", "color", "red", ""), "exist"),
                then(APPLE_LEFT, "verify", "color", "red"),
                then(ANY_LEFT, "query", "color"),
                then(then(ANY_LEFT, "filter", "size", "small", ""), "query", "color"),
            ],
            [[1, 2]],
            id="there is a red apple to the left of the man, so the apple there is red, and what is there",
        ),
        pytest.param(
            [
                joined(then(SMALL, "exist"), then(then(FOOD, "filter", "color", "red", ""), "exist"), "and"),
                IS_THE_SMALL_ONE_RED,
            ],
            [[]],
            id="there is a small fruit, and red food: perhaps two things",
        ),
        pytest.param(
            [
                joined(
                    then(then(FOOD, "filter", "surface", "shiny", ""), "verify", "color", "red"),
                    then(SMALL, "exist"),
                    "and",
                ),
                IS_THE_SMALL_ONE_RED,
            ],
            [[]],
            id="the shiny food is red, and there is a small fruit: perhaps two things",
        ),
    ],
)
def test_objects_of_two_descriptions_are_one_only_if_that_is_certain(programs, entailed):
    found = entailments([question(program) for program in programs], GRAPH, ONTOLOGY).entailed
    assert found[: len(entailed)] == entailed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("fruit", "size", "small"), ("food", "surface", "shiny"), False),
        (("food", "size", "small"), ("fruit",), False),
        (("fruit", "size", "small"), ("food",), True),
    ],
)
def test_two_references_to_one_object_are_identified_only_if_one_implies_the_other(one, other, same):
    """The man is to the right of the small fruit and of the shiny food: these may be two things."""
    references = [
        then((Step("select", (name,)),), "filter", *value, "") if value else (Step("select", (name,)),)
        for name, *value in (one, other)
    ]
    sides = [then(then(reference, "relate", "man", LEFT, "o"), "exist") for reference in references]
    both = joined(*sides, "and")
    follow_up = then(references[1], "verify", "size", "small")
    found = entailments([question(both), question(follow_up)], GRAPH, ONTOLOGY).entailed
    assert found == [[1] if same else [], []]


def test_the_winner_of_a_comparison_does_not_give_the_name_of_the_loser():
    """Which is larger, the table or the fruit? The table: that does not tell that the smaller one is an apple."""
    graph = SceneGraph("1", 9, 9, {"1": thing("1", "apple", size="small"), "2": thing("2", "table", size="large")}, {})
    larger, smaller, apple = (
        joined(one, TABLE, "compare", more)
        for one, more in ((FRUIT, "larger"), (FRUIT, "smaller"), (APPLE, "smaller"))
    )
    programs = [larger, smaller, joined(APPLE, TABLE, "compare", "larger"), apple]
    found = entailments([question(program, graph) for program in programs], graph, ONTOLOGY)
    assert found.entailed == [[], [0, 2, 3], [0, 3], [0, 1, 2]]  # one apple, or several


@pytest.mark.parametrize("objects_only", [False, pytest.param(True, marks=pytest.mark.slow)])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_entailed_questions_keep_their_answers_in_every_world_with_the_same_first_answer(objects_only, seed):
    """Whatever the questions speak of there, if that is clear: other objects change and more take part.

    ``objects_only``: the second question's references are clear among all objects, the first one's among fewer.
    """
    random = Random(seed)
    facts = random_facts(random, random.choice((2, 3) if objects_only else (3, 4)))
    graph = graph_of(facts)
    questions = questions_about(graph, random, 120 if objects_only else 80)
    questions = [one for one in questions if about_objects(one) or not objects_only]
    entailed = entailments(questions, graph, ONTOLOGY).entailed
    expected = [says(one, Executor(graph, ONTOLOGY)) for one in questions]
    for _ in range(12):
        few = changed(facts, random, random.choice((0, 1, 2, 3) if objects_only else (1, 2, 3, 6, 9)))
        more = grown(few, random, random.choice((1, 2, 3) if objects_only else (0, 0, 1, 2)))
        worlds = [Executor(graph_of(world), ONTOLOGY) for world in (few if objects_only else more, more)]
        firsts, seconds = ([says(one, executor) for one in questions] for executor in worlds)
        for first, follow in enumerate(entailed):
            if firsts[first] == expected[first]:
                for second in follow:
                    assert agrees(seconds[second], expected[second]), (questions[first], questions[second])
