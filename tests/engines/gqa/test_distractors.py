"""Decoys are plausible and certainly wrong."""

from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import Executor
from hf_vqa_mc.engines.gqa.ontology import own_ontology
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, SceneGraph, SceneObject

ONTOLOGY = own_ontology()
NAMES = "dog cat apple banana apples man woman girl cup mug car bus table couch sofa leaf wheel wall hand".split()
NAMES += "helmet shirt cake donut bananas oranges milk tea".split()
COLORS = ["red", "blue", "white", "cream", "black", "green"]
EMPTY = SceneGraph("2", 400, 300, {})
EDGES = ["eating", "riding", "on", "holding", "behind"]


def _graph(things: list[tuple[str, str]], edges: list[tuple[int, str, int]]) -> SceneGraph:
    objects = {}
    for index, (name, color) in enumerate(things):
        relations = frozenset(
            (relation, str(target % len(things)))
            for subject, relation, target in edges
            if subject % len(things) == index != target % len(things)
        )
        objects[str(index)] = SceneObject(str(index), name, (0, 0, 9, 9), {"color": (color,)}, relations)
    return SceneGraph("1", 400, 300, objects)


GRAPHS = st.builds(
    _graph,
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(COLORS)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(EDGES), st.integers(0, 5)), max_size=5),
)
DECOYS = Distractors(
    [
        _graph([(one, COLORS[index % 6]), (other, COLORS[index // 6 % 6])], [(0, EDGES[index % 5], 1)])
        for index, (one, other) in enumerate((one, other) for one in NAMES for other in NAMES if one != other)
    ],
    ONTOLOGY,
)


def _is_not_there(graph: SceneGraph, name: str) -> bool:
    return not any(
        ONTOLOGY.may_be(thing.name, name) or ONTOLOGY.may_be(name, thing.name) for thing in graph.objects.values()
    )


@given(GRAPHS, st.integers(0, 99))
def test_a_decoy_value_cannot_be_a_value_of_the_object(graph: SceneGraph, seed: int) -> None:
    for key, thing in graph.objects.items():
        decoy = DECOYS.attribute(graph, key, "color", SeededRng(seed))
        if decoy is not None:
            assert decoy in ONTOLOGY.values["color"]
            assert not any(ONTOLOGY.alike(decoy, value) for value in thing.values["color"])


@given(GRAPHS, st.integers(0, 99))
def test_an_absent_name_fits_nothing_in_the_image(graph: SceneGraph, seed: int) -> None:
    for decoy in (
        DECOYS.absent(graph, "0", SeededRng(seed)),
        DECOYS.related(graph, "0", "eating", "o", SeededRng(seed)),
        DECOYS.related(graph, "0", "on", "s", SeededRng(seed)),
    ):
        assert decoy is None or _is_not_there(graph, decoy)


@given(st.sampled_from(["apple", "apples", "cake", "milk", "dog"]), st.integers(0, 99))
def test_a_sibling_has_the_category_and_number_and_cannot_be_confused(name: str, seed: int) -> None:
    noun = ONTOLOGY.nouns[name]
    for category in noun.parents:
        sibling = DECOYS.sibling(name, category, SeededRng(seed), EMPTY)
        if sibling is not None:
            other = ONTOLOGY.nouns[sibling]
            assert (other.plural, other.mass) == (noun.plural, noun.mass)
            assert ONTOLOGY.isa(sibling, category) and other.kind != category
            assert not ONTOLOGY.may_be(name, sibling) and not ONTOLOGY.may_be(sibling, name)


@given(GRAPHS, st.integers(0, 99))
def test_another_relation_certainly_does_not_hold(graph: SceneGraph, seed: int) -> None:
    for key, thing in graph.objects.items():
        for relation, target in thing.relations:
            decoy = DECOYS.relation(graph, key, relation, target, SeededRng(seed))
            if decoy is not None:
                assert Executor(graph, ONTOLOGY).holds(key, decoy, target) == "no"


def test_siblings_and_sides_are_found() -> None:
    assert {DECOYS.sibling("apple", "fruit", SeededRng(seed), EMPTY) for seed in range(20)} >= {"banana"}
    assert {DECOYS.sibling("apples", "fruit", SeededRng(seed), EMPTY) for seed in range(20)} == {"bananas", "oranges"}
    assert DECOYS.sibling("milk", "drink", SeededRng(0), EMPTY) in ("tea", None)
    graph = _graph([("man", "red"), ("car", "blue")], [])
    assert DECOYS.relation(graph, "0", LEFT, "1", SeededRng(0)) == RIGHT


def test_parts_and_clothes_suggest_their_owners() -> None:
    dog = _graph([("hand", "red"), ("shirt", "red"), ("wheel", "black")], [])
    for name in ("man", "woman", "car", "bus", "wall", "leg"):
        assert not DECOYS.certainly_absent(dog, name)
    assert DECOYS.certainly_absent(dog, "banana")
    man = _graph([("man", "red")], [])
    assert not DECOYS.certainly_absent(man, "shirt") and DECOYS.certainly_absent(man, "helmet")


def test_what_the_name_of_a_dropped_object_mentions_is_not_absent() -> None:
    graph = SceneGraph("1", 9, 9, _graph([("dog", "red")], []).objects, {}, frozenset({"banana"}))
    assert not DECOYS.certainly_absent(graph, "banana") and DECOYS.certainly_absent(graph, "car")


def test_decoys_of_the_scene_are_those_of_other_images() -> None:
    kitchen = SceneGraph("1", 9, 9, {}, {"place": "kitchen", "weather": "sunny"})
    others = [SceneGraph(str(n), 9, 9, {}, {"place": place}) for n, place in enumerate(("beach", "living room"))]
    decoys = Distractors([kitchen, *others], ONTOLOGY)
    assert decoys.attribute(kitchen, "scene", "place", SeededRng(0)) == "beach", "a living room is too near a kitchen"
    assert decoys.attribute(kitchen, "scene", "location", SeededRng(0)) is None


def test_the_order_of_graphs_does_not_matter() -> None:
    graphs = [_graph([(one, "red"), ("dog", "blue")], [(0, "eating", 1)]) for one in NAMES]
    image = graphs[0]
    picked = [
        [decoys.absent(image, "0", SeededRng(seed)) for seed in range(30)]
        for decoys in (Distractors(graphs, ONTOLOGY), Distractors(graphs[::-1], ONTOLOGY))
    ]
    assert picked[0] == picked[1]
