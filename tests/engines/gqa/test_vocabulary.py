"""Confusions and unnatural questions that were found by reading real questions."""

from collections import Counter
from pathlib import Path

import pytest

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import NO, YES, Executor, then
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology import Ontology, RelationTable, own_ontology
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.question_types import questions_about
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, SceneObject
from hf_vqa_mc.engines.visual_genome import RawGraph, RawObject

OWN = own_ontology()
RELATIONS = RelationTable()


def _graph(*objects: tuple[str, tuple[int, int, int, int], list[str]], ontology: Ontology = OWN) -> SceneGraph:
    raw = {str(n): RawObject(str(n), name, box, values) for n, (name, box, values) in enumerate(objects)}
    graph = normalise(RawGraph("1", 400, 300, raw), ontology, Counter())
    assert graph is not None
    return graph


def _texts(graph: SceneGraph, row: str, ontology: Ontology = OWN) -> set[str]:
    decoys = Distractors([graph], ontology)
    return {
        question.question.text
        for seed in range(20)
        for question in questions_about(graph, ontology, decoys, seed=seed, most={row: 1_000})
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("on", "below"),  # a lamp on the ceiling
        ("hanging on", "under"),
        ("inside", "above"),  # flowers in a vase
        ("riding", "touching"),
        ("riding", "holding"),
        ("riding", "wearing"),  # skis
        ("eating", "pulling"),
        ("sitting on", "swimming on"),
        ("jumping on", "riding on"),
    ],
)
def test_relations_that_may_hold_together_do_not_exclude_one_another(one: str, other: str) -> None:
    assert other not in RELATIONS[one].excludes and one not in RELATIONS[other].excludes


@pytest.mark.parametrize(
    ("one", "other"),
    [("on", "under"), ("sitting on", "under"), ("above", "below"), ("behind", "in front of"), ("pulling", "pushing")],
)
def test_incompatible_relations_exclude_each_other(one: str, other: str) -> None:
    assert other in RELATIONS[one].excludes or one in RELATIONS[other].excludes


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("street light", "lamp"),
        ("computer mouse", "mouse"),
        ("bald eagle", "eagle"),
        ("mouse", "animal"),
        ("chicken", "bird"),
        ("trunks", "trunk"),
    ],
)
def test_what_might_be_the_other_is_not_certainly_it(one: str, other: str) -> None:
    assert OWN.may_be(one, other) and not OWN.isa(one, other)


def test_things_are_of_no_category_by_a_word_alone() -> None:
    assert not OWN.may_be("hot dog", "dog")
    assert not OWN.isa("bottle cap", "clothing") and not OWN.isa("bird feeder", "animal")
    assert OWN.isa("frosting", "food") and not OWN.isa("icing", "dessert")


def test_gqas_bowls_and_dishes_may_be_tableware(real_data: Path) -> None:
    folder = real_data / "gqa"
    ontology = read_ontology(folder / "ontology__objects.txt", folder / "ontology__attributes.txt")
    for name, category in (("bowl", "tableware"), ("scarf", "clothing"), ("bench", "furniture"), ("icing", "food")):
        assert ontology.may_be(name, category), name
    assert not ontology.isa("sidewalk", "road") and ontology.may_be("sidewalk", "road")
    graph = _graph(("plate", (0, 0, 90, 90), ["white"]), ("bowl", (200, 0, 90, 90), []), ontology=ontology)
    assert not any("tableware" in text for text in _texts(graph, "query attribute", ontology))


def test_values_of_two_types_that_contradict_one_another_are_both_left_out() -> None:
    graph = _graph(("refrigerator", (0, 0, 90, 90), ["dark", "bright", "large"]))
    assert set(graph.objects["0"].values) >= {"size"} and not {"tone", "brightness"} & set(graph.objects["0"].values)
    graph = _graph(("refrigerator", (0, 0, 90, 90), ["bright", "large"]))
    assert graph.objects["0"].values["brightness"] == ("bright",)


def test_a_toilet_next_to_a_bed_makes_no_bathroom() -> None:
    box = (0, 0, 90, 90)
    signs: list[tuple[str, tuple[int, int, int, int], list[str]]] = [
        ("toilet", box, []),
        ("shower", (100, 0, 90, 90), []),
        ("bathtub", (200, 0, 90, 90), []),
    ]
    assert _graph(*signs).scene.get("place") == "bathroom"
    assert "place" not in _graph(*signs, ("bed", (0, 200, 90, 90), [])).scene


def test_the_leg_of_a_chair_suggests_a_chair() -> None:
    graph = _graph(("leg of a chair", (0, 0, 9, 9), []), ("dog", (50, 50, 90, 90), []))
    assert Executor(graph, OWN).run(then(then((), "select", "chair"), "exist")).answer is None
    assert Executor(graph, OWN).run(then(then((), "select", "dog"), "exist")).answer == YES
    assert Executor(graph, OWN).run(then(then((), "select", "umbrella"), "exist")).answer == NO


def test_colors_of_people_and_wearers_of_collars_are_not_asked() -> None:
    graph = _graph(("man", (0, 0, 90, 200), ["black", "sitting"]), ("dog", (200, 100, 90, 90), ["brown"]))
    texts = _texts(graph, "query attribute") | _texts(graph, "verify attribute")
    assert any("dog" in text for text in texts)
    assert not any("color" in text and "man" in text for text in texts)
    man = SceneObject("0", "man", (0, 0, 90, 200), {}, frozenset())
    collar = SceneObject("2", "collar", (210, 100, 30, 30), {}, frozenset())
    dog = SceneObject("1", "dog", (200, 100, 90, 90), {}, frozenset({("wearing", "2")}))
    texts = _texts(SceneGraph("1", 400, 300, {"0": man, "1": dog, "2": collar}), "query relation")
    assert texts and not any(text.startswith("What is wearing") for text in texts)


def test_a_long_answer_denies_only_what_is_settled() -> None:
    """Whether the pillow is white is unknown: no answer says that there are no white pillows."""
    graph = _graph(
        ("pillow", (0, 0, 90, 90), ["blue"]), ("pillow", (200, 0, 90, 90), []), ("clock", (0, 200, 40, 40), [])
    )
    other = _graph(("pillow", (0, 0, 90, 90), ["white"]), ("clock", (0, 200, 40, 40), []), ("dog", (9, 9, 9, 9), []))
    decoys = Distractors([graph, other], OWN)
    most = {"exist and": 100, "exist or": 100}
    found = [
        question.full_answer.text
        for seed in range(60)
        for question in questions_about(graph, OWN, decoys, seed=seed, most=most)
    ]
    assert any("pillow" in text for text in found)
    assert not any("white pillow" in text for text in found)


def test_decoys_cached_for_one_image_are_not_used_for_the_next() -> None:
    one = _graph(("dog", (0, 0, 90, 90), ["brown"]), ("ball", (200, 0, 40, 40), ["red"]))
    other = _graph(("dog", (0, 0, 90, 90), ["brown"]), ("clock", (200, 0, 40, 40), ["red"]))
    both = Distractors([one, other], OWN)
    for graph, absent in ((one, "clock"), (other, "ball"), (one, "clock")):
        assert both.absent(graph, "0", SeededRng(0)) == absent
        assert both.certainly_absent(graph, absent) and not both.certainly_absent(graph, "dog")
