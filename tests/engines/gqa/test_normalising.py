"""Normalised scene graphs: inconsistent annotations are left out and counted."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology import Ontology, own_ontology
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT, SceneGraph, is_left_of, position, read_gqa_graphs
from hf_vqa_mc.engines.visual_genome import RawGraph, RawObject, read_visual_genome
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import Folder, PublishedFile

SIZE = (400, 300)


def _thing(name: str, box: tuple[int, int, int, int] = (10, 10, 50, 50), **more: Any) -> dict[str, Any]:
    x, y, w, h = box
    return {"name": name, "x": x, "y": y, "w": w, "h": h, "attributes": [], "relations": [], **more}


def _to(name: str, target: str) -> dict[str, str]:
    return {"name": name, "object": target}


def _read(tmp_path: Path, graph: Any, name: str = "train_sceneGraphs.json") -> list[RawGraph]:
    path = tmp_path / name
    path.write_text(json.dumps(graph), encoding="utf-8")
    return list(read_gqa_graphs(PublishedFile(name, path)))


def _made(
    tmp_path: Path, objects: dict[str, Any], ontology: Ontology | None = None, **more: Any
) -> tuple[SceneGraph, Counter[str]]:
    (raw,) = _read(tmp_path, {"7": {"width": SIZE[0], "height": SIZE[1], "objects": objects, **more}})
    problems: Counter[str] = Counter()
    graph = normalise(raw, ontology or own_ontology(), problems)
    assert graph is not None
    return graph, +problems


def test_names_values_and_relations_are_mapped_to_the_ontology(tmp_path: Path) -> None:
    objects = {
        "1": _thing("White Horse", attributes=["Standing", "grey "], relations=[_to("near", "2")]),
        "2": _thing("sea gulls", (200, 10, 50, 50), attributes=["wooden"]),
        "3": _thing("the man", (100, 10, 50, 90), relations=[_to("wears", "4"), _to("ON", "1")]),
        "4": _thing("hats", (100, 10, 50, 20)),
    }
    graph, problems = _made(tmp_path, objects)
    assert [thing.name for thing in graph.objects.values()] == ["horse", "seagulls", "man", "hats"]
    assert graph.objects["1"].values["color"] == ("white", "gray")
    assert graph.objects["1"].values["pose"] == ("standing",)
    assert graph.objects["2"].values["material"] == ("wood",)
    assert graph.related("3", "wearing", "4") and graph.related("3", "on", "1")
    assert graph.related("2", "near", "1"), "the inverse"
    assert problems == {"name: values in the name": 1}


def test_sides_follow_from_boxes_that_are_near_and_level() -> None:
    assert is_left_of((0, 0, 50, 50), (60, 10, 50, 50), 400)
    assert not is_left_of((0, 0, 50, 50), (260, 10, 50, 50), 400), "too far"
    assert not is_left_of((0, 0, 50, 50), (60, 60, 50, 50), 400), "not level"
    assert not is_left_of((0, 0, 50, 50), (10, 10, 50, 50), 400), "too much in common"
    assert not is_left_of((0, 0, 200, 50), (60, 0, 50, 50), 400), "inside"


BOXES = st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(1, 300), st.integers(1, 300))


@given(BOXES, BOXES)
def test_at_most_one_of_two_objects_is_on_the_left(one: Any, other: Any) -> None:
    assert not (is_left_of(one, other, 400) and is_left_of(other, one, 400))
    assert not is_left_of(one, one, 400)


@given(st.integers(0, 300), st.integers(1, 300))
def test_a_position_is_the_mirrored_one_of_the_mirrored_box(start: int, length: int) -> None:
    whole = start + length + 40
    here, there = position(start, length, whole), position(whole - start - length, length, whole)
    assert (here is None) == (there is None)
    if here is not None and there is not None:
        assert here + there == 2


def test_unambiguous_positions_in_the_image_are_values(tmp_path: Path) -> None:
    graph, _ = _made(tmp_path, {"1": _thing("cup", (5, 250, 40, 40)), "2": _thing("table", (0, 0, 400, 300))})
    assert graph.objects["1"].values == {"hposition": ("left",), "vposition": ("bottom",)}
    assert graph.objects["2"].values == {}


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ({"2": _thing("  ")}, "object: no name"),
        ({"2": _thing("zzyzx")}, "object: unknown name"),
        ({"2": _thing("thing")}, "object: vague name"),
        ({"2": _thing("cup", (5, 5, 0, 10))}, "object: empty box"),
        ({"2": _thing("cup", (5, 5, -3, 10))}, "object: empty box"),
        ({"2": _thing("cup", (500, 5, 10, 10))}, "object: box outside the image"),
        ({"2": _thing("cup", (390, 5, 30, 10))}, "object: box cut at the image's edge"),
        ({"2": _thing("dog", (10, 10, 50, 49))}, "object: the same one twice"),
        ({"2": _thing("cup", attributes=["qwertyish"])}, "value: unknown"),
        ({"2": _thing("door", attributes=["open", "closed"])}, "value: contradicted by another"),
        ({"2": _thing("shirt", attributes=["red", "striped"])}, "value: color of something patterned"),
        ({"2": _thing("cup", relations=[_to("on", "99")])}, "relation: to an object that is not there"),
        ({"2": _thing("cup", relations=[_to("on", "2")])}, "relation: to itself"),
        ({"2": _thing("cup", relations=[_to("frobbed", "1")])}, "relation: unknown"),
        ({"2": _thing("cup", relations=[_to("of", "1")])}, "relation: says nothing"),
        ({"2": _thing("tail", relations=[_to("attached to", "1")])}, "relation: sounds unnatural"),
        ({"2": _thing("shirt"), "3": _thing("woman", relations=[_to("in", "2")])}, "relation: sounds unnatural"),
        ({"2": _thing("hand", relations=[_to("hugging", "3")]), "3": _thing("doll")}, "relation: sounds unnatural"),
    ],
)
def test_what_is_imperfect_is_left_out_and_counted(tmp_path: Path, objects: dict[str, Any], reason: str) -> None:
    _, problems = _made(tmp_path, {"1": _thing("dog"), **objects})
    assert problems[reason] == (2 if "contradicted" in reason else 1), problems


def test_values_are_typed_by_what_they_are_of(tmp_path: Path) -> None:
    objects = {
        "1": _thing("man", attributes=["short", "thin", "old", "sitting", "drinking"]),
        "2": _thing("hair", (90, 10, 50, 50), attributes=["short", "wavy"]),
        "3": _thing("sky", (0, 0, 400, 50), attributes=["clear"]),
        "4": _thing("glass", (200, 10, 50, 50), attributes=["clear", "sitting"]),
        "5": _thing("phone", (300, 10, 50, 50), attributes=["old", "on", "short"]),
        "6": _thing("shirt", (10, 90, 50, 50), attributes=["on"]),
    }
    graph, problems = _made(tmp_path, objects)
    types = {
        key: {value: kind for kind, values in thing.values.items() for value in values if "position" not in kind}
        for key, thing in graph.objects.items()
    }
    assert types["1"] == {
        "short": "height",
        "thin": "fatness",
        "old": "age",
        "sitting": "pose",
        "drinking": "activity",
    }
    assert types["2"] == {"short": "length", "wavy": ""}
    assert types["3"] == {"clear": "weather"} and types["4"] == {"clear": "", "sitting": ""}
    assert types["5"] == {"old": "newness", "on": "power", "short": ""}
    assert types["6"] == {} and problems["value: not of such a thing"] == 1


def test_relations_of_objects_that_are_left_out_are_counted(tmp_path: Path) -> None:
    objects = {"1": _thing("dog", relations=[_to("near", "2")]), "2": _thing("zzyzx", relations=[_to("near", "1")])}
    graph, problems = _made(tmp_path, objects)
    assert problems["relation: of an object that was left out"] == 2
    assert graph.objects["1"].relations == frozenset()


def test_kinds_that_names_of_dropped_objects_mention_are_recorded(tmp_path: Path) -> None:
    graph, _ = _made(tmp_path, {"1": _thing("dog"), "2": _thing("man riding a horse")})
    assert {"man", "horse"} <= graph.unclear


@pytest.mark.parametrize(
    "relations",
    [
        ([LEFT, "2"], [LEFT, "1"]),
        (["on", "2"], ["on", "1"]),
        (["behind", "2"], ["behind", "1"]),
        (["above", "2"], ["above", "1"]),
    ],
)
def test_contradicting_relations_are_both_dropped(tmp_path: Path, relations: tuple[list[str], list[str]]) -> None:
    (one, to_two), (other, to_one) = relations
    box = (10, 10, 50, 50)
    objects = {
        "1": _thing("cup", box, relations=[_to(one, to_two)]),
        "2": _thing("plate", box, relations=[_to(other, to_one)]),
    }
    graph, problems = _made(tmp_path, objects)
    assert problems["relation: contradicted by another"] >= 2
    assert all(not thing.relations for thing in graph.objects.values())


def test_a_side_that_contradicts_the_boxes_is_left_out(tmp_path: Path) -> None:
    objects = {
        "1": _thing("cup", (10, 10, 50, 50), relations=[_to(RIGHT, "2")]),
        "2": _thing("plate", (300, 10, 50, 50)),
    }
    graph, problems = _made(tmp_path, objects)
    assert problems["relation: contradicted by another"] == 2
    assert not graph.related("1", RIGHT, "2") and not graph.related("2", LEFT, "1")


def test_duplicates_are_merged_with_their_values_and_relations(tmp_path: Path) -> None:
    objects = {
        "1": _thing("person", attributes=["young"]),
        "2": _thing("man", (11, 11, 50, 50), attributes=["tall"], relations=[_to("holding", "4")]),
        "3": _thing("man", (200, 10, 50, 50)),
        "4": _thing("cup", (60, 60, 10, 10), relations=[_to("near", "1")]),
    }
    graph, _ = _made(tmp_path, objects)
    assert list(graph.objects) == ["2", "3", "4"]
    assert graph.objects["2"].values["age"] == ("young",) and graph.objects["2"].values["height"] == ("tall",)
    assert graph.related("4", "near", "2")


def test_an_image_without_objects_gives_no_graph(tmp_path: Path) -> None:
    (raw,) = _read(tmp_path, {"7": {"width": 10, "height": 10, "objects": {}}})
    problems: Counter[str] = Counter()
    assert normalise(raw, own_ontology(), problems) is None
    assert problems["image: no objects"] == 1


def test_the_scene_is_derived_from_the_file_and_the_objects(tmp_path: Path) -> None:
    sky = _thing("sky", (0, 0, 400, 100), attributes=["cloudy"])
    graph, _ = _made(tmp_path, {"1": sky, "2": _thing("street", (0, 150, 400, 150))})
    assert graph.scene == {"weather": "cloudy", "location": "outdoors", "place": "street"}
    graph, _ = _made(tmp_path, {"1": _thing("stove"), "2": _thing("refrigerator", (90, 9, 90, 90))})
    assert graph.scene == {"location": "indoors", "place": "kitchen"}
    graph, problems = _made(tmp_path, {"1": _thing("dog")}, weather="stormy", location="moonbase")
    assert graph.scene == {"weather": "stormy"} and problems == {"image: unknown location": 1}
    graph, _ = _made(tmp_path, {"1": _thing("bed"), "2": _thing("sky"), "3": _thing("couch", (90, 9, 90, 90))})
    assert graph.scene == {}, "neither is clear"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g: g.pop("width"), "image '7', field 'width': it is missing"),
        (lambda g: g.update(objects=[]), "field 'objects': expected a JSON object"),
        (lambda g: g["objects"]["1"].pop("name"), "object '1', field 'name': it is missing"),
        (lambda g: g["objects"]["1"].update(x="4"), "field 'x': expected a number of pixels"),
        (lambda g: g["objects"]["1"].update(attributes=[None]), "field 'attributes': expected a list of texts"),
        (lambda g: g["objects"]["1"].update(relations=[{"name": "on"}]), r"relations\[0\], field 'object': it is"),
    ],
)
def test_errors_in_a_file_name_the_location(tmp_path: Path, spoil: Any, message: str) -> None:
    graph = {"width": 9, "height": 9, "objects": {"1": _thing("dog")}}
    spoil(graph)
    with pytest.raises(InputError, match=message):
        _read(tmp_path, {"7": graph})


def _genome(folder: Path, objects: list[Any], relationships: list[Any]) -> None:
    (folder / "image_data.json").write_text('[{"image_id": 1, "width": 400, "height": 300}]')
    record = {"image_id": 1, "objects": objects, "relationships": relationships}
    (folder / "scene_graphs.json").write_text(json.dumps([record]))


def _part(key: int, name: str, **more: Any) -> dict[str, Any]:
    return {"object_id": key, "names": [name], "x": 1, "y": 1, "w": 9, "h": 9, **more}


def test_visual_genomes_merged_objects_are_one(tmp_path: Path) -> None:
    objects = [_part(1, "man", merged_object_ids=[8]), _part(2, "hat", attributes=["red"])]
    relationships = [
        {"predicate": "wears", "subject_id": 8, "object_id": 2},
        {"predicate": "near", "subject_id": 5, "object_id": 2},
    ]
    _genome(tmp_path, objects, relationships)
    (raw,) = read_visual_genome(Folder(tmp_path), Counter())
    assert raw.objects["1"].relations == [("wears", "2")] and list(raw.objects) == ["1", "2"]
    assert raw.lost == 1


@pytest.mark.parametrize(
    ("objects", "relationships", "message"),
    [
        ([{"object_id": 1}], [], r"objects\[0\], field 'names'"),
        ([_part(1, "man", attributes=["red", 3])], [], "field 'attributes': expected a list of texts"),
        ([], [{"predicate": "on", "subject_id": 1}], r"relationships\[0\], field 'object_id'"),
    ],
)
def test_errors_in_visual_genome_name_the_location(
    tmp_path: Path, objects: list[Any], relationships: list[Any], message: str
) -> None:
    _genome(tmp_path, objects, relationships)
    with pytest.raises(InputError, match=f"image '1', {message}|image '1'.*{message}"):
        list(read_visual_genome(Folder(tmp_path), Counter()))


def test_an_image_without_a_size_is_named(tmp_path: Path) -> None:
    _genome(tmp_path, [], [])
    (tmp_path / "image_data.json").write_text('[{"image_id": 2, "width": 400, "height": 300}]')
    with pytest.raises(InputError, match=r"image '1': image_data\.json lacks this image"):
        list(read_visual_genome(Folder(tmp_path), Counter()))


WORDS = st.one_of(
    st.sampled_from(
        ["dog", "white horse", "man", "person", "tail", "shirt", "thing", "sky", "toy car", "", "two cups"]
    ),
    st.text(max_size=8),
)
RELATIONS = st.one_of(
    st.sampled_from(["on", "wearing", LEFT, RIGHT, "near", "has", "under", "behind", "sitting on"]),
    st.text(max_size=6),
)
VALUES = st.one_of(
    st.sampled_from(["red", "striped", "open", "closed", "little", "light", "clear"]), st.text(max_size=6)
)
NUMBERS = st.integers(-50, 450)
KEYS = st.sampled_from("123456")


@st.composite
def _raw_graphs(draw: st.DrawFn) -> RawGraph:
    objects = {}
    for key in draw(st.lists(KEYS, unique=True)):
        box = draw(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS))
        relations = draw(st.lists(st.tuples(RELATIONS, KEYS), max_size=4))
        objects[key] = RawObject(key, draw(WORDS), box, draw(st.lists(VALUES, max_size=4)), relations)
    return RawGraph("7", draw(st.integers(1, 400)), draw(st.integers(1, 400)), objects)


@pytest.mark.slow
@given(_raw_graphs())
@settings(max_examples=150, deadline=None)
def test_any_graph_gives_one_of_known_things_or_none(raw: RawGraph) -> None:
    ontology, problems = own_ontology(), Counter[str]()
    graph = normalise(raw, ontology, problems)
    if graph is None:
        assert problems["image: no objects"] == 1
        return
    left_out = sum(
        count
        for reason, count in problems.items()
        if reason.startswith("object: ") and reason != "object: box cut at the image's edge"
    )
    assert len(graph.objects) + left_out == len(raw.objects), "every object stays or is counted"
    assert graph.unclear <= ontology.nouns.keys()
    for key, thing in graph.objects.items():
        assert thing.object_id == key and thing.name in ontology.nouns
        x, y, width, height = thing.box
        assert 0 <= x < x + width <= raw.width and 0 <= y < y + height <= raw.height
        for kind, values in thing.values.items():
            assert values and len(set(values)) == len(values)
            assert all(not kind or kind in ontology.attributes[value].types for value in values)
        for relation, target in thing.relations:
            assert relation in ontology.relations and target in graph.objects and target != key
            words = ontology.relations[relation]
            assert not words.inverse or graph.related(target, words.inverse, key)
            assert not any(graph.related(key, other, target) for other in words.excludes)
            assert relation not in (LEFT, RIGHT, "on", "behind") or not graph.related(target, relation, key)


@pytest.fixture(scope="module")
def real_graphs(real_data: Path) -> list[RawGraph]:
    names = [f"minyus100__{split}_sceneGraphs.json.xz" for split in ("train", "val")]
    names.append("GraphVQA__debug_sceneGraphs.json")
    return [raw for name in names for raw in read_gqa_graphs(PublishedFile(name, real_data / "gqa" / name))]


def test_gqas_published_sides_agree_with_our_rule(real_graphs: list[RawGraph]) -> None:
    annotated, ours = set(), set()
    for raw in real_graphs[:200]:
        for key, thing in raw.objects.items():
            annotated |= {(raw.image_id, key, target) for name, target in thing.relations if name == LEFT}
            ours |= {
                (raw.image_id, key, other)
                for other, there in raw.objects.items()
                if is_left_of(thing.box, there.box, raw.width)
            }
    assert len(annotated) > 4_000
    assert len(annotated & ours) / len(annotated) > 0.999 and len(annotated & ours) / len(ours) > 0.99


def test_real_graphs_lose_next_to_nothing_with_their_own_ontology(
    real_data: Path, real_graphs: list[RawGraph]
) -> None:
    folder = real_data / "gqa"
    ontology = read_ontology(folder / "ontology__objects.txt", folder / "ontology__attributes.txt")
    problems: Counter[str] = Counter()
    graphs = [graph for raw in real_graphs if (graph := normalise(raw, ontology, problems))]
    objects = sum(len(raw.objects) for raw in real_graphs)
    assert sum(len(graph.objects) for graph in graphs) > 0.99 * objects
    assert problems["object: unknown name"] == problems["value: unknown"] == 0
    values = {value for graph in graphs for value in graph.scene.values()}
    assert {"outdoors", "indoors", "street"} <= values


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["whole", "joined"])
def test_real_visual_genome_is_read_in_both_layouts(real_data: Path, tmp_path: Path, layout: str) -> None:
    names = ["scene_graphs"] if layout == "whole" else ["objects", "attributes", "relationships"]
    for name in [f"{name}.json.xz" for name in names] + ["image_data.json"]:
        (tmp_path / name).symlink_to(real_data / "visual_genome" / f"minyus100__{name}")
    raws = list(read_visual_genome(Folder(tmp_path), Counter()))
    assert len(raws) == 100
    problems: Counter[str] = Counter()
    graphs = [graph for raw in raws if (graph := normalise(raw, own_ontology(), problems))]
    assert sum(len(graph.objects) for graph in graphs) > 0.8 * sum(len(raw.objects) for raw in raws)
