"""The independent checker is checked itself: it agrees with published questions and finds wrong answers."""

from collections import Counter
from pathlib import Path

import pytest

from tests.engines.gqa.independent_checker.interpreter import problems_of
from tests.engines.gqa.independent_checker.raw_graph import gqa_graph, read_json
from tests.engines.gqa.independent_checker.relations import same_relation
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


def test_the_checker_takes_nothing_from_the_engine():
    folder = Path(__file__).parent / "independent_checker"
    assert list(folder.glob("*.py"))
    assert [path.name for path in folder.glob("*.py") if "hf_vqa_mc" in path.read_text("utf-8")] == []
