"""Questions generated from real scene graphs with GQA's ontology: an independent checker, scores, choices, entropy."""

import json
import re
from collections import Counter

import pytest

from hf_vqa_mc.engines.gqa.executor import SHORT
from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.scoring.gqa import gqa_score
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
    """A function to the records of some graphs or all, raw graphs, the checker's words, choices and statistics."""
    known = {}

    def make(whole):
        if whole not in known:
            graphs = {key: graph for name in FILES for key, graph in read_json(real_data / "gqa" / name).items()}
            chosen = sorted(graphs) if whole else sorted(graphs)[:: len(graphs) // SOME]
            path = tmp_path_factory.mktemp("graphs") / "some_sceneGraphs.json"
            path.write_text(json.dumps({key: graphs[key] for key in chosen}), "utf-8")
            statistics = generate([path], path.parent / "made", ontology=read_ontology(*ontology_files))
            records, choices = (
                {key: one for file in (path.parent / "made").glob(name) for key, one in read_json(file).items()}
                for name in ("*_all_questions.json", "*_choices.json")
            )
            raw, words = {key: gqa_graph(graphs[key]) for key in chosen}, read_vocabulary(*ontology_files)
            known[whole] = records, raw, words, choices, statistics
        return known[whole]

    return make


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
def test_the_checker_agrees_with_answers_references_and_objects(made, whole):
    records, graphs, words, *_ = made(whole)
    wrong = {}
    for record in records.values():
        if problems := problems_of(record, graphs[record["imageId"]], words):
            wrong[record["question"]] = record["answer"], problems
    assert len(records) > 40 * len(graphs)
    assert wrong == {}


def test_a_wrong_answer_is_found(made):
    records, graphs, words, *_ = made(False)
    other = {"yes": "no", "no": "yes", "left": "right", "right": "left"}
    wrong = [record | {"answer": other[record["answer"]]} for record in records.values() if record["answer"] in other]
    assert len(wrong) > 200
    assert [one["question"] for one in wrong if not problems_of(one, graphs[one["imageId"]], words)] == []


def test_a_wrong_object_is_found(made):
    records, graphs, words, *_ = made(False)
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


def test_gold_answers_are_consistent_valid_and_plausible(made):
    records, _, _, choices, _ = made(False)
    gold = {name: record["answer"] for name, record in records.items()}
    score = gqa_score(gold, records, choices=choices, consistency=True)
    assert [score[name] for name in ("accuracy", "consistency", "validity", "plausibility")] == [1.0] * 4


def test_a_wrong_answer_to_an_entailed_question_lowers_the_consistency(made):
    records = made(False)[0]
    gold = {name: record["answer"] for name, record in records.items()}
    balanced = [record for record in records.values() if record["isBalanced"] and record["entailed"]]
    entailed = next(name for record in balanced for name in record["entailed"] if not records[name]["isBalanced"])
    assert gqa_score(gold | {entailed: "?"}, records, consistency=True)["consistency"] < 1


def test_choices_are_distinct_and_those_of_a_choice_question_are_its_options(made):
    records, _, _, choices, _ = made(False)
    kinds = set()
    assert set(choices) == {name for name, record in records.items() if record["isBalanced"]}
    for name, chosen in choices.items():
        text, last = records[name]["question"], records[name]["semantic"][-1]
        assert set(chosen["plausible"]) <= set(chosen["valid"])
        assert all(len(set(listed)) == len(listed) for listed in chosen.values())
        if last["operation"] == "choose rel":
            assert all(option in text for option in chosen["valid"]) and not set(chosen["valid"]) & set(SHORT)
        elif last["operation"].startswith("choose") and last["argument"]:
            assert chosen["valid"] == last["argument"].split("|")
        else:
            continue
        kinds.add(last["operation"].partition(" ")[2])
    assert {"rel", "name", "color"} <= kinds


def test_balanced_questions_of_an_image_rarely_have_the_same_program(made):
    """Except for questions restored for the order of answers."""
    balanced = [record for record in made(False)[0].values() if record["isBalanced"]]
    programs = Counter((record["imageId"], record["semanticStr"]) for record in balanced)
    assert len(programs) > 0.98 * len(balanced)
