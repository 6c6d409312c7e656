"""Questions generated from real scene graphs with GQA's ontology, judged by an independent checker."""

import json
import re
from collections import Counter

import pytest

from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from tests.engines.gqa.independent_checker.interpreter import problems_of
from tests.engines.gqa.independent_checker.raw_graph import gqa_graph, read_json
from tests.engines.gqa.independent_checker.vocabulary import read_vocabulary

SOME = 8
FILES = (
    "minyus100__train_sceneGraphs.json.xz",
    "minyus100__val_sceneGraphs.json.xz",
    "GraphVQA__debug_sceneGraphs.json",
)


@pytest.fixture(scope="module")
def ontology_files(real_data):
    return real_data / "gqa" / "ontology__objects.txt", real_data / "gqa" / "ontology__attributes.txt"


@pytest.fixture(scope="module")
def made(real_data, tmp_path_factory, ontology_files):
    """A function to the records generated from some graphs or from all, the raw graphs and the checker's words."""
    known = {}

    def make(whole):
        if whole not in known:
            graphs = {key: graph for name in FILES for key, graph in read_json(real_data / "gqa" / name).items()}
            chosen = sorted(graphs) if whole else sorted(graphs)[:: len(graphs) // SOME]
            path = tmp_path_factory.mktemp("graphs") / "some_sceneGraphs.json"
            path.write_text(json.dumps({key: graphs[key] for key in chosen}), "utf-8")
            generate([path], path.parent / "made", ontology=read_ontology(*ontology_files))
            records = {}
            for file in (path.parent / "made").glob("*_all_questions.json"):
                records |= read_json(file)
            known[whole] = records, {key: gqa_graph(graphs[key]) for key in chosen}, read_vocabulary(*ontology_files)
        return known[whole]

    return make


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
def test_the_checker_agrees_with_answers_references_and_objects(made, whole):
    records, graphs, words = made(whole)
    wrong = {}
    for record in records.values():
        if problems := problems_of(record, graphs[record["imageId"]], words):
            wrong[record["question"]] = record["answer"], problems
    assert len(records) > 40 * len(graphs)
    assert wrong == {}


def test_a_wrong_answer_is_found(made):
    records, graphs, words = made(False)
    other = {"yes": "no", "no": "yes", "left": "right", "right": "left"}
    wrong = [record | {"answer": other[record["answer"]]} for record in records.values() if record["answer"] in other]
    assert len(wrong) > 200
    assert [one["question"] for one in wrong if not problems_of(one, graphs[one["imageId"]], words)] == []


def test_a_wrong_object_is_found(made):
    records, graphs, words = made(False)
    n_questions = missed = 0
    for record in records.values():
        graph = graphs[record["imageId"]]
        first, *rest = record["semantic"]
        found = re.search(r"\((\d+)\)", first["argument"])
        other = next((key for key in graph.objects if found and graph.one(key) != graph.one(found[1])), None)
        if other is not None:
            swapped = first | {"argument": first["argument"].replace(found[0], f"({other})")}
            n_questions += 1
            missed += not problems_of(record | {"semantic": [swapped, *rest]}, graph, words)
    assert n_questions > 200
    assert missed <= 0.01 * n_questions  # another dog, where the question is whether there are dogs


def test_both_yes_and_no_are_answers_to_yes_no_questions(made):
    answers = {}
    for record in made(False)[0].values():
        answers.setdefault(record["types"]["structural"], Counter())[record["answer"]] += 1
    assert set(answers) == {"query", "verify", "choose", "logical", "compare"}
    for kind in ("verify", "logical"):
        assert 0.2 < answers[kind]["no"] / answers[kind].total() < 0.8
