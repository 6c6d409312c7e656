"""Questions generated from real scene graphs with GQA's ontology, judged by an independent checker."""

import json
import re
from collections import Counter
from itertools import islice
from random import Random

import pytest

from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.executor import Executor
from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.question_types import questions_about
from hf_vqa_mc.engines.gqa.scene_graph import read_gqa_graphs
from hf_vqa_mc.sources.files import PublishedFile
from tests.engines.gqa.entailment_worlds import agrees, changed_image, says
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


@pytest.mark.parametrize("images", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_entailed_questions_keep_their_answers_in_changed_images(real_data, ontology_files, images):
    ontology, random = read_ontology(*ontology_files), Random(7)
    file = PublishedFile(FILES[1], real_data / "gqa" / FILES[1])
    raw = islice(read_gqa_graphs(file), images)
    graphs = [graph for one in raw if (graph := normalise(one, ontology, Counter())) is not None]
    decoys, compared = Distractors(graphs, ontology), 0
    for graph in graphs:
        questions = list(questions_about(graph, ontology, decoys))
        entailed = entailments(questions, graph, ontology).entailed
        expected = [says(one, Executor(graph, ontology)) for one in questions]
        for changes in (1, 2, 4, 8) * 3:
            executor = Executor(changed_image(graph, graphs, ontology, random, changes), ontology)
            answers = [says(one, executor) for one in questions]
            for first, follow in enumerate(entailed):
                if answers[first] == expected[first]:
                    for second in follow:
                        compared += answers[second] is not None
                        assert agrees(answers[second], expected[second], ontology), (
                            questions[first].question.text,
                            questions[second].question.text,
                        )
    assert compared > 1000 * len(graphs)
