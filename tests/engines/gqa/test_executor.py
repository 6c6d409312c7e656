"""Answers of programs on a small graph; none if the graph does not settle the question."""

import pytest

from hf_vqa_mc.engines.gqa.executor import IN_COMMON, Executor, Step, joined, published, semantic_text, then
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, SceneGraph, SceneObject
from hf_vqa_mc.scoring.gqa import COMMON_ANSWERS
from tests.engines.gqa.question_worlds import ONTOLOGY


def thing(key, name, *relations, **values):
    return SceneObject(
        key, name, (0, 0, 10, 10), {k: tuple(v.split()) for k, v in values.items()}, frozenset(relations)
    )


GRAPH = SceneGraph(
    "7",
    100,
    100,
    {
        one.object_id: one
        for one in (
            thing("1", "apple", ("on", "3"), color="red"),
            thing("2", "apple", ("on", "3")),
            thing("3", "table", material="wood", color="green", surface="shiny"),
            thing("4", "man", ("wearing", "6"), (LEFT, "5"), age="old"),
            thing("5", "boy", (RIGHT, "4"), age="young"),
            thing("6", "hat", color="red green"),
            thing("8", "couch", color="green"),
        )
    },
    {"weather": "cloudy"},
)


def select(name):
    return (Step("select", (name,)),)


def answer(program, graph=GRAPH):
    return Executor(graph, ONTOLOGY).run(program).answer


def image(*things, **more):
    return SceneGraph("1", 9, 9, {one.object_id: one for one in things}, **more)


def test_a_name_means_its_kind_and_all_that_is_of_the_category():
    assert Executor(GRAPH, ONTOLOGY).run(select("fruit")).found == (("1", "2"),)
    assert Executor(GRAPH, ONTOLOGY).run(select("apples")).found == (("1", "2"),)
    assert Executor(GRAPH, ONTOLOGY).run(select("_")).found[0] == tuple(GRAPH.objects)


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (then(select("table"), "query", "color"), "green"),
        (then(select("apple"), "query", "color"), None),  # which apple?
        (then(select("hat"), "query", "color"), None),  # it has two
        (then(select("banana"), "query", "color"), None),  # there is none
        (then(select("table"), "verify", "color", "green"), "yes"),
        (then(select("table"), "verify", "color", "red"), "no"),
        (then(select("man"), "verify", "color", "red"), None),  # nobody says what color he has
        (then(select("table"), "verify", "surface", "red"), None),  # of this type there may be several
        (then(select("table"), "choose", "color", "red", "green"), "green"),
        (then(select("hat"), "choose", "color", "red", "green"), None),  # both
        (then(select("couch"), "choose", "name", "couch", "table"), "couch"),
        (then(select("furniture"), "choose", "name", "couch", "table"), None),
        (then(select("couch"), "choose", "name", "couch", "sofa"), None),  # the same by two names
    ],
)
def test_values_are_answers_if_one_object_has_one_value(program, expected):
    assert answer(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (then(select("apple"), "exist"), "yes"),
        (then(select("banana"), "exist"), "no"),
        (then(select("sofa"), "exist"), None),  # the couch may be one
        (then(then(select("apple"), "filter", "color", "red", ""), "exist"), "yes"),
        (then(then(select("apple"), "filter", "color", "green", ""), "exist"), None),  # the other apple may be
        (then(then(select("table"), "filter", "color", "red", ""), "exist"), "no"),
        (then(then(select("table"), "filter", "color", "red", "not"), "exist"), "yes"),
        (then(then(select("table"), "relate", "apple", "on", "s"), "exist"), "yes"),
        (then(then(select("table"), "relate", "dog", "on", "s"), "exist"), "no"),
        (then(then(select("table"), "relate", "couch", "on", "s"), "exist"), None),  # nobody says it is not
        (then(then(select("boy"), "relate", "man", RIGHT, "s"), "exist"), "no"),  # he is to the left
        (then(then(select("apple"), "relate", "table", "on", "o"), "exist"), None),  # which apple?
        (then(select("hat"), "verify rel", "boy", "wearing", "s"), "no"),  # the man wears it
        (then(select("hat"), "verify rel", "person", "wearing", "s"), "yes"),
        (then(select("man"), "choose rel", "boy", LEFT, RIGHT, "o"), "left"),
        (then(select("boy"), "choose rel", "man", LEFT, RIGHT, "s"), "left"),
    ],
)
def test_existence_has_an_answer_only_if_the_graph_settles_it(program, expected):
    assert answer(program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (joined(select("table"), select("couch"), "same", "color"), "yes"),
        (joined(select("table"), select("couch"), "different", "color"), "no"),
        (joined(select("table"), select("hat"), "same", "color"), None),
        (joined(select("table"), select("table"), "same", "color"), None),
        (joined(select("table"), select("couch"), "common"), "color"),
        (joined(select("man"), select("boy"), "compare", "older"), "man"),
        (joined(select("boy"), select("man"), "compare", "younger"), "boy"),
        (joined(select("boy"), select("man"), "compare", "taller"), None),
        (then(select("fruit"), "same", "name"), "yes"),
        (then(select("furniture"), "different", "name"), "yes"),
        (then(select("person"), "same", "age"), "no"),
        (then(select("fruit"), "same", "color"), None),  # one apple's color is not annotated
    ],
)
def test_objects_are_compared_if_both_values_are_known(program, expected):
    assert answer(program) == expected


THERE, ABSENT, OPEN = (then(select(name), "exist") for name in ("apple", "banana", "sofa"))
ORANGE_TABLE = image(thing("1", "table", color="orange"))
UNCLEAR = image(thing("1", "apple", color="red"), unclear=frozenset({"banana"}))


@pytest.mark.parametrize(
    ("graph", "program", "expected"),
    [
        (ORANGE_TABLE, then(select("table"), "verify", "color", "red"), None),  # a similar value
        (ORANGE_TABLE, then(select("table"), "verify", "color", "green"), "no"),
        (image(thing("1", "person")), then(select("woman"), "exist"), None),
        (GRAPH, then(select("woman"), "exist"), "no"),  # a man and a boy are none
        # an object that was left out may be the selected one:
        (UNCLEAR, then(select("banana"), "exist"), None),
        (UNCLEAR, then(select("fruit"), "exist"), "yes"),
        (UNCLEAR, then(select("apple"), "exist"), "yes"),
        (UNCLEAR, then(select("dog"), "exist"), "no"),
        (UNCLEAR, then(select("fruit"), "query", "color"), None),
        (UNCLEAR, then(then(select("banana"), "filter", "color", "red", ""), "exist"), None),
        (UNCLEAR, then(then(select("apple"), "relate", "banana", "on", "s"), "exist"), None),
        (UNCLEAR, then(then(select("apple"), "relate", "dog", "on", "s"), "exist"), "no"),
        # one side can settle "and" and "or":
        (GRAPH, joined(THERE, ABSENT, "and"), "no"),
        (GRAPH, joined(THERE, ABSENT, "or"), "yes"),
        (GRAPH, joined(OPEN, ABSENT, "and"), "no"),
        (GRAPH, joined(OPEN, THERE, "or"), "yes"),
        (GRAPH, joined(OPEN, THERE, "and"), None),
        (GRAPH, joined(ABSENT, ABSENT, "or"), "no"),
        # the scene:
        (GRAPH, then(select("scene"), "query", "weather"), "cloudy"),
        (GRAPH, then(select("scene"), "verify", "weather", "sunny"), "no"),
        (GRAPH, then(select("scene"), "verify", "weather", "overcast"), None),
        (GRAPH, then(select("scene"), "choose", "weather", "sunny", "cloudy"), "cloudy"),
        (GRAPH, then(select("scene"), "query", "place"), None),
    ],
)
def test_what_may_be_is_neither_affirmed_nor_denied(graph, program, expected):
    assert answer(program, graph) == expected


def test_common_is_a_type_valid_in_the_scores_and_the_only_one():
    common = joined(select("table"), select("couch"), "common")
    values = [{"size": ("large",)}, {"material": ("wood",)}, {"material": ("wood",), "size": ("large",)}]
    expected = [None, "material", None]
    for shared, expected_answer in zip(values, expected, strict=True):
        graph = SceneGraph(
            "1", 9, 9, {key: SceneObject(key, key, (0, 0, 1, 1), shared, frozenset()) for key in ("table", "couch")}
        )
        assert Executor(graph, ONTOLOGY).run(common).answer == expected_answer
    assert frozenset(COMMON_ANSWERS) == IN_COMMON


def test_programs_are_published_as_gqa_does():
    program = then(
        then(then(select("table"), "relate", "apple", "on", "s"), "filter", "color", "red", ""), "query", "color"
    )
    steps = published(program, Executor(GRAPH, ONTOLOGY).run(program).found)
    assert semantic_text(steps) == (
        "select: table (3)->relate: apple,on,s (1,2) [0]->filter color: red [1]->query: color [2]"
    )
    either = joined(then(select("apple"), "exist"), then(select("dog"), "exist"), "or")
    assert semantic_text(published(either, Executor(GRAPH, ONTOLOGY).run(either).found)) == (
        "select: apple (1,2)->exist: ? [0]->select: dog (-)->exist: ? [2]->or:  [1, 3]"
    )
    scene = then(select("scene"), "choose", "weather", "sunny", "cloudy")
    assert semantic_text(published(scene, Executor(GRAPH, ONTOLOGY).run(scene).found)) == (
        "select: scene->choose weather: sunny|cloudy [0]"
    )
