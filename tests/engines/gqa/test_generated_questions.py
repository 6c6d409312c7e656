"""Questions generated from real scene graphs with GQA's ontology, before an independent checker of the annotation."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from tests.engines.gqa.independent_checker.check import by_kind, check_dataset
from tests.engines.gqa.independent_checker.dataset import Dataset, read_dataset
from tests.engines.gqa.independent_checker.interpreter import answer_problems
from tests.engines.gqa.independent_checker.raw_graph import RawGraph, gqa_graph, read_json
from tests.engines.gqa.independent_checker.sentence import Lexicon
from tests.engines.gqa.independent_checker.vocabulary import read_vocabulary

SOME = 8
FILES = (
    "minyus100__train_sceneGraphs.json.xz",
    "minyus100__val_sceneGraphs.json.xz",
    "GraphVQA__debug_sceneGraphs.json",
)
TOLERATED = {"entailed: does not follow": 0.001}
"""Of the questions, what the checker's own reasoning does not reach, of some three pairs a question."""
Made = tuple[Dataset, dict[str, RawGraph], Lexicon]


@pytest.fixture(scope="module")
def made(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Made]:
    """A dataset generated from some graphs or from all, its graphs and the checker's words."""
    folder, known = real_data / "gqa", dict[bool, Made]()
    published = folder / "ontology__objects.txt", folder / "ontology__attributes.txt"

    def make(whole: bool) -> Made:
        if whole not in known:
            graphs = {key: graph for name in FILES for key, graph in read_json(folder / name).items()}
            chosen = sorted(graphs) if whole else sorted(graphs)[:: len(graphs) // SOME]
            path = tmp_path_factory.mktemp("graphs") / "some_sceneGraphs.json"
            path.write_text(json.dumps({key: graphs[key] for key in chosen}), "utf-8")
            generate([path], path.parent / "made", ontology=read_ontology(*published))
            raw = {key: gqa_graph(graphs[key]) for key in chosen}
            known[whole] = read_dataset(path.parent / "made"), raw, Lexicon(read_vocabulary(*published))
        return known[whole]

    return make


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
def test_the_checker_agrees_with_answers_references_entailments_and_groups(made, whole):
    data, graphs, lexicon = made(whole)
    violations = check_dataset(data, graphs, lexicon)
    counts = Counter(violation.kind for violation in violations)
    allowed = {kind: max(4, rate * len(data.everything)) for kind, rate in TOLERATED.items()}
    wrong = {kind for kind, count in counts.items() if count > allowed.get(kind, 0)}
    own = {violation.where for violation in violations if not violation.kind.startswith("entailed")}

    assert len(data.everything) > 40 * len(graphs)
    assert not wrong, by_kind([violation for violation in violations if violation.kind in wrong])
    assert not own


def test_an_answer_turned_round_is_found_wrong(made):
    data, graphs, lexicon = made(False)
    turned = {"yes": "no", "no": "yes", "left": "right", "right": "left"}
    asked = [record for record in data.everything.values() if record["answer"] in turned]
    missed = [
        record["question"]
        for record in asked
        if not _wrong(record | {"answer": turned[record["answer"]]}, graphs[record["imageId"]], lexicon)
    ]
    assert len(asked) > 200
    assert missed == []


def test_another_object_instead_of_the_one_asked_about_is_found_wrong(made):
    data, graphs, lexicon = made(False)
    asked = missed = 0
    for record in data.everything.values():
        graph = graphs[record["imageId"]]
        first = record["semantic"][0]
        found = re.search(r"\((\d+)\)", first["argument"])
        other = next((key for key in graph.objects if found and graph.one(key) != graph.one(found[1])), None)
        if other is None:
            continue
        swapped = first | {"argument": first["argument"].replace(found[0], f"({other})")}
        asked += 1
        missed += not _wrong(record | {"semantic": [swapped, *record["semantic"][1:]]}, graph, lexicon)
    assert asked > 200
    assert missed <= 0.01 * asked  # another dog, where the question is whether there are dogs


def _wrong(record: dict[str, Any], graph: RawGraph, lexicon: Lexicon) -> bool:
    problems = answer_problems(record, graph, lexicon.words, lambda _: False)
    return any(kind.startswith(("answer", "ids", "no:", "reference")) for kind, _ in problems)


def test_both_yes_and_no_are_answers_to_what_may_be_either(made):
    answers: dict[str, Counter[str]] = {}
    for record in made(False)[0].everything.values():
        answers.setdefault(record["types"]["structural"], Counter())[record["answer"]] += 1
    assert set(answers) == {"query", "verify", "choose", "logical", "compare"}
    for kind in ("verify", "logical"):
        assert 0.2 < answers[kind]["no"] / answers[kind].total() < 0.8
