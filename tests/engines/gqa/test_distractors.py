"""Decoys are plausible and certainly wrong."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import Executor
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, SceneGraph, SceneObject
from hf_vqa_mc.engines.gqa.scene_graph_files import read_gqa_graphs
from hf_vqa_mc.engines.rng import SeededRng
from hf_vqa_mc.sources.files import PublishedFile

ONTOLOGY = own_ontology()
NAMES = [
    "dog",
    "cat",
    "apple",
    "banana",
    "apples",
    "man",
    "woman",
    "girl",
    "cup",
    "mug",
    "car",
    "bus",
    "table",
    "couch",
]
NAMES += [
    "sofa",
    "leaf",
    "wheel",
    "wall",
    "hand",
    "helmet",
    "shirt",
    "cake",
    "donut",
    "bananas",
    "oranges",
    "milk",
    "tea",
]
COLORS = ["red", "blue", "white", "cream", "black", "green"]
EDGES = ["eating", "riding", "on", "holding", "behind"]


def _graph(things: list[tuple[str, str]], edges: list[tuple[int, str, int]]) -> SceneGraph:
    objects = {}
    for place, (name, color) in enumerate(things):
        relations = frozenset(
            (relation, str(target % len(things)))
            for subject, relation, target in edges
            if subject % len(things) == place != target % len(things)
        )
        objects[str(place)] = SceneObject(str(place), name, (0, 0, 9, 9), {"color": (color,)}, relations)
    return SceneGraph("1", 400, 300, objects)


GRAPHS = st.builds(
    _graph,
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(COLORS)), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 5), st.sampled_from(EDGES), st.integers(0, 5)), max_size=5),
)
LEARNED = Distractors.learn(
    [
        _graph([(one, COLORS[place % 6]), (other, COLORS[place // 6 % 6])], [(0, EDGES[place % 5], 1)])
        for place, (one, other) in enumerate((one, other) for one in NAMES for other in NAMES if one != other)
    ],
    ONTOLOGY,
)


def _is_not_there(graph: SceneGraph, name: str) -> bool:
    return not any(
        ONTOLOGY.may_be(thing.name, name) or ONTOLOGY.may_be(name, thing.name) for thing in graph.objects.values()
    )


@given(GRAPHS, st.integers(0, 99))
def test_a_decoy_value_is_none_that_the_thing_might_have(graph: SceneGraph, seed: int) -> None:
    for key, thing in graph.objects.items():
        decoy = LEARNED.attribute(graph, key, "color", SeededRng(seed))
        if decoy is not None:
            assert decoy in ONTOLOGY.values["color"]
            assert not any(ONTOLOGY.alike(decoy, value) for value in thing.values["color"])


@given(GRAPHS, st.integers(0, 99))
def test_what_is_said_to_be_absent_is_not_there_by_any_name(graph: SceneGraph, seed: int) -> None:
    for decoy in (
        LEARNED.absent(graph, SeededRng(seed)),
        LEARNED.absent(graph, SeededRng(seed), near="0"),
        LEARNED.absent(graph, SeededRng(seed), category="fruit"),
        LEARNED.related(graph, "0", "eating", "o", SeededRng(seed)),
        LEARNED.related(graph, "0", "on", "s", SeededRng(seed)),
    ):
        assert decoy is None or _is_not_there(graph, decoy)
    fruit = LEARNED.absent(graph, SeededRng(seed), category="fruit")
    assert fruit is None or ONTOLOGY.isa(fruit, "fruit")


@given(st.sampled_from(["apple", "apples", "cake", "milk", "dog"]), st.integers(0, 99))
def test_a_sibling_is_of_the_category_and_number_and_nothing_alike(name: str, seed: int) -> None:
    noun = ONTOLOGY.nouns[name]
    for category in noun.parents:
        sibling = LEARNED.sibling(name, category, SeededRng(seed))
        if sibling is not None:
            other = ONTOLOGY.nouns[sibling]
            assert (other.plural, other.mass) == (noun.plural, noun.mass)
            assert ONTOLOGY.isa(sibling, category) and other.kind != category
            assert not ONTOLOGY.may_be(name, sibling) and not ONTOLOGY.may_be(sibling, name)


@given(GRAPHS, st.integers(0, 99))
def test_another_relation_certainly_does_not_hold(graph: SceneGraph, seed: int) -> None:
    for key, thing in graph.objects.items():
        for relation, target in thing.relations:
            decoy = LEARNED.relation(graph, key, relation, target, SeededRng(seed))
            told = {name for name, other in thing.relations if other == target}
            assert decoy is None or decoy not in told
            if decoy is not None:
                assert Executor(graph, ONTOLOGY).holds(key, decoy, target) == "no"


def test_siblings_and_sides_are_found() -> None:
    assert {LEARNED.sibling("apple", "fruit", SeededRng(seed)) for seed in range(20)} >= {"banana"}
    assert {LEARNED.sibling("apples", "fruit", SeededRng(seed)) for seed in range(20)} == {"bananas", "oranges"}
    assert LEARNED.sibling("milk", "drink", SeededRng(0)) in ("tea", None)
    graph = _graph([("man", "red"), ("car", "blue")], [])
    assert LEARNED.relation(graph, "0", LEFT, "1", SeededRng(0)) == RIGHT


def test_nothing_is_absent_that_parts_speak_for() -> None:
    dog = _graph([("hand", "red"), ("shirt", "red"), ("wheel", "black")], [])
    for name in ("man", "woman", "car", "bus", "wall", "leg"):
        assert not LEARNED.certainly_absent(dog, name)
    assert LEARNED.certainly_absent(dog, "banana")
    man = _graph([("man", "red")], [])
    assert not LEARNED.certainly_absent(man, "shirt") and LEARNED.certainly_absent(man, "helmet")


def test_nothing_is_absent_that_a_name_left_out_speaks_of() -> None:
    graph = SceneGraph("1", 9, 9, _graph([("dog", "red")], []).objects, {}, frozenset({"banana"}))
    assert not LEARNED.certainly_absent(graph, "banana") and LEARNED.certainly_absent(graph, "car")


def test_a_value_of_no_exclusive_type_has_no_decoy() -> None:
    thing = SceneObject("0", "man", (0, 0, 9, 9), {"activity": ("reading",), "": ("smiling",)}, frozenset())
    graph = SceneGraph("1", 9, 9, {"0": thing})
    learned = Distractors.learn([graph, graph], ONTOLOGY)
    assert learned.attribute(graph, "0", "activity", SeededRng(0)) is None
    assert learned.attribute(graph, "0", "", SeededRng(0)) is None
    assert learned.attribute(graph, "0", "color", SeededRng(0)) is None


def test_decoys_of_the_scene_are_those_of_other_images() -> None:
    kitchen = SceneGraph("1", 9, 9, {}, {"place": "kitchen", "weather": "sunny"})
    others = [SceneGraph(str(n), 9, 9, {}, {"place": place}) for n, place in enumerate(("beach", "living room"))]
    learned = Distractors.learn([kitchen, *others], ONTOLOGY)
    assert learned.attribute(kitchen, "scene", "place", SeededRng(0)) == "beach", "a living room is too near a kitchen"
    assert learned.attribute(kitchen, "scene", "location", SeededRng(0)) is None


def test_the_order_of_graphs_does_not_matter() -> None:
    graphs = [_graph([(one, "red"), ("dog", "blue")], [(0, "eating", 1)]) for one in NAMES]
    image = graphs[0]
    picked = [
        [learned.absent(image, SeededRng(seed)) for seed in range(30)]
        for learned in (Distractors.learn(graphs, ONTOLOGY), Distractors.learn(graphs[::-1], ONTOLOGY))
    ]
    assert picked[0] == picked[1]


@pytest.fixture(scope="module")
def real(real_data: Path) -> list[SceneGraph]:
    path = real_data / "gqa" / "minyus100__train_sceneGraphs.json.xz"
    raws = read_gqa_graphs(PublishedFile(path.name, path))
    return [graph for raw in raws if (graph := normalise(raw, ONTOLOGY, Counter()))]


def test_real_graphs_have_decoys_that_are_certainly_wrong(real: list[SceneGraph]) -> None:
    learned = Distractors.learn(real, ONTOLOGY)
    absent = [(graph, learned.absent(graph, SeededRng(1, graph.image_id))) for graph in real]
    assert sum(name is not None for _, name in absent) > 0.95 * len(absent)
    assert all(name is None or _is_not_there(graph, name) for graph, name in absent)
    colors = [
        (learned.attribute(graph, key, "color", SeededRng(1, key)), thing.values["color"])
        for graph in real
        for key, thing in graph.objects.items()
        if "color" in thing.values
    ]
    assert sum(decoy is not None for decoy, _ in colors) > 0.7 * len(colors)
    assert not any(decoy and ONTOLOGY.alike(decoy, value) for decoy, values in colors for value in values)
