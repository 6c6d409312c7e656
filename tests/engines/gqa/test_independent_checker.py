"""The independent checker is checked itself: it agrees with published questions and finds wrong answers."""

from collections import Counter
from pathlib import Path

import pytest

from tests.engines.gqa.independent_checker.interpreter import problems_of
from tests.engines.gqa.independent_checker.raw_graph import gqa_graph, read_json
from tests.engines.gqa.independent_checker.relations import same_relation
from tests.engines.gqa.independent_checker.small_world import GRAPH, step, world
from tests.engines.gqa.independent_checker.vocabulary import MAYBE, NO, SURE, read_vocabulary

PUBLISHED = (
    "GQAOOD__ood_testdev_head.json.xz",
    "GQAOOD__ood_testdev_tail.json.xz",
    "GQAOOD__val_bal_tail_-0.7.json.xz",
    "allennlp__gqa__question_dir__questions0.json",
    "allennlp__gqa__question_dir__questions1.json",
)
GRAPHS = (
    "minyus100__train_sceneGraphs.json.xz",
    "minyus100__val_sceneGraphs.json.xz",
    "GraphVQA__debug_sceneGraphs.json",
)


@pytest.fixture(scope="module")
def words(real_data):
    return read_vocabulary(real_data / "gqa" / "ontology__objects.txt", real_data / "gqa" / "ontology__attributes.txt")


def test_it_confirms_published_answers_and_rejects_other_ones(real_data, words):
    graphs = {key: graph for name in GRAPHS for key, graph in read_json(real_data / "gqa" / name).items()}
    records = [record for name in PUBLISHED for record in read_json(real_data / "gqa" / name).values()]
    kinds, wanted = Counter(), [record for record in records if record["imageId"] in graphs]
    for record in wanted:
        graph = gqa_graph(graphs[record["imageId"]])
        kinds.update({kind for kind, _ in problems_of(record, graph, words)})
        wrong = record | {"answer": "pineapple" if record["answer"] != "pineapple" else "apple"}
        assert any(kind.startswith("answer: ") for kind, _ in problems_of(wrong, graph, words)), record["question"]
    assert len(wanted) == 17
    assert kinds == {"reference: unique only jointly": 7}  # the shorts of "the man", of two; "a man"


@pytest.mark.parametrize(
    ("name", "wanted", "fit"),
    [
        ("apple", "apples", SURE),
        ("people", "person", SURE),
        ("apple", "fruit", SURE),
        ("trash can", "garbage can", SURE),
        ("polo shirt", "shirt", SURE),
        ("poodle", "dog", MAYBE),
        ("dog", "poodle", NO),
        ("chair", "table", NO),
    ],
)
def test_a_name_fits_a_kind_or_category(words, name, wanted, fit):
    assert words.fits(name, wanted) == fit


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("wears", "wearing", True), ("ON", "on", True), ("is sitting on", "sitting on", True), ("on", "under", False)],
)
def test_relations_in_other_words_are_the_same(one, other, same):
    assert same_relation(one, other) is same


def test_values_exclude_dissimilar_values_of_their_type(words):
    assert words.excludes("red", "green")
    assert not words.excludes("red", "orange")
    assert not words.excludes("red", "large")
    assert words.includes("steel", "metal")
    assert not words.includes("metal", "steel")


@pytest.mark.parametrize(
    ("semantic", "answer"),
    [
        ([step("select", "woman (4)"), step("query", "pose", 0)], "sitting"),
        ([step("select", "woman (4)"), step("verify age", "old", 0)], "no"),
        ([step("select", "apple (1)"), step("filter color", "red", 0), step("query", "hposition", 1)], "left"),
        ([step("select", "apple (2)"), step("filter color", "not(red)", 0), step("query", "color", 1)], "green"),
        ([step("select", "chair (6)"), step("filter color", "green", 0), step("exist", "?", 1)], "no"),
        ([step("select", "table (3)"), step("verify rel", "woman,to the left of,s (4)", 0)], "no"),
        ([step("select", "woman (4)"), step("verify rel", "pants,wearing,o (5)", 0)], "yes"),
        ([step("select", "woman (4)"), step("verify rel", "banana,holding,o (-)", 0)], "no"),
        (
            [
                step("select", "couch (-)"),
                step("exist", "?", 0),
                step("select", "chair (6)"),
                step("exist", "?", 2),
                step("or", "", 1, 3),
            ],
            "yes",
        ),
        ([step("select", "table (3)"), step("select", "chair (6)"), step("different material", "", 0, 1)], "yes"),
        ([step("select", "pants (5)"), step("select", "chair (6)"), step("common", "", 0, 1)], "color"),
        ([step("select", "fruit (1,2)"), step("same type", "", 0)], "yes"),
        ([step("select", "animal (7)"), step("choose name", "poodle|cat", 0)], "poodle"),
    ],
)
def test_the_interpreter_confirms_the_answer_and_rejects_another(semantic, answer):
    wrong = {"yes": "no", "no": "yes"}.get(answer, "metal")
    assert _found(semantic, answer) == []
    assert any(kind.startswith("answer: ") for kind in _found(semantic, wrong))


@pytest.mark.parametrize(
    ("semantic", "answer", "kind"),
    [
        ([step("select", "apple (1)"), step("query", "color", 0)], "red", "reference: ambiguous"),
        ([step("select", "pear (-)"), step("query", "color", 0)], "red", "reference: none"),
        ([step("select", "dog (7)"), step("query", "color", 0)], "white", "reference: by a wide reading only"),
        ([step("select", "dog (-)"), step("exist", "?", 0)], "no", "no: not excluded"),
        ([step("select", "woman (4)"), step("verify rel", "apple,holding,o (-)", 0)], "no", "no: not excluded"),
        ([step("select", "chair (6)"), step("verify shape", "round", 0)], "no", "answer: unknown"),
        ([step("select", "chair (3)"), step("query", "color", 0)], "black", "ids: another object"),
        ([step("select", "chair (99)"), step("query", "color", 0)], "black", "ids: no such object"),
        ([step("select", "chair (6)"), step("choose color", "black|black", 0)], "black", "program: choose"),
        ([step("select", "chair (6)"), step("query", "color", 1)], "black", "program: dependencies"),
        ([step("find", "chair (6)"), step("query", "color", 0)], "black", "program: unreadable"),
    ],
)
def test_the_interpreter_reports_what_is_wrong(semantic, answer, kind):
    assert kind in _found(semantic, answer)


def _found(semantic, answer):
    graph, words = world()
    return [kind for kind, _ in problems_of({"semantic": semantic, "answer": answer, "question": ""}, graph, words)]


def test_the_checker_takes_nothing_from_the_engine():
    folder = Path(__file__).parent / "independent_checker"
    assert list(folder.glob("*.py"))
    assert [path.name for path in folder.glob("*.py") if "hf_vqa_mc" in path.read_text("utf-8")] == []


def test_left_and_right_are_read_from_either_side_and_from_boxes():
    graph = gqa_graph(GRAPH)
    assert graph.related("1", "to the left of", "3") is True
    assert graph.related("3", "to the right of", "1") is True
    assert graph.related("3", "to the left of", "1") is False
    assert graph.related("1", "to the left of", "4") is True  # by their boxes
    assert graph.related("4", "to the right of", "5") is None  # the boxes overlap
    assert graph.related("4", "holding", "1") is None
