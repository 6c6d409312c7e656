"""What is a valid and what a plausible answer, of questions about real scene graphs."""

import json
import lzma

import pytest

from hf_vqa_mc.engines.gqa.balancing import QuestionColumns
from hf_vqa_mc.engines.gqa.dataset_files import Choices, graph_record, question_record
from hf_vqa_mc.engines.gqa.entailment import Entailments
from hf_vqa_mc.engines.gqa.executor import SHORT, Executor
from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.engines.gqa.program import Question, Step, joined, sentence
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, SceneObject
from tests.engines.gqa.entailment_worlds import ONTOLOGY

N_IMAGES = 20


@pytest.fixture(scope="module")
def asked(real_data, tmp_path_factory):
    """Every balanced question's record with its choices and its image's scene graph."""
    folder = tmp_path_factory.mktemp("choices")
    graphs = json.load(lzma.open(real_data / "gqa" / "minyus100__val_sceneGraphs.json.xz"))
    file = folder / "train_sceneGraphs.json"
    file.write_text(json.dumps(dict(list(graphs.items())[:N_IMAGES])))
    made = folder / "made"
    generate([file], made)
    found = []
    for path in made.glob("*_balanced_questions.json"):
        split = path.name.partition("_")[0]
        choices, graphs = (
            json.loads((made / f"{split}_{name}.json").read_text()) for name in ("choices", "sceneGraphs")
        )
        records = json.loads(path.read_text())
        assert set(choices) == set(records)
        found += [(record, choices[name], graphs[record["imageId"]]) for name, record in records.items()]
    return found


def test_the_answer_is_plausible_and_what_is_plausible_is_valid(asked):
    assert len(asked) > 200
    for record, choices, _ in asked:
        assert record["answer"] in choices["plausible"], record["question"]
        assert set(choices["plausible"]) <= set(choices["valid"]), record["question"]
        assert all(len(set(listed)) == len(listed) for listed in choices.values())


def test_only_what_is_offered_is_valid(asked):
    kinds = set()
    for record, choices, _ in asked:
        operation, argument = record["semantic"][-1]["operation"], record["semantic"][-1]["argument"]
        if operation == "choose rel":
            assert all(option in record["question"] for option in choices["valid"]), record["question"]
            assert not set(choices["valid"]) & set(SHORT)
        elif operation.startswith("choose") and argument:
            assert choices["valid"] == argument.split("|")
        else:
            continue
        kinds.add(operation.partition(" ")[2])
        assert len(choices["valid"]) == 2
    assert {"rel", "name", "color"} <= kinds


def test_of_two_that_are_compared_one_is_the_answer():
    """Which is larger, the food or the table? It is an apple: that or the table."""
    sizes = {"apple": "small", "table": "large"}
    graph = SceneGraph(
        "1",
        9,
        9,
        {name: SceneObject(name, name, (0, 0, 1, 1), {"size": (size,)}, frozenset()) for name, size in sizes.items()},
    )
    program = joined((Step("select", ("food",)),), (Step("select", ("table",)),), "compare", "smaller")
    answer, found = Executor(graph, ONTOLOGY).run(program)
    full = sentence([("the", ""), ("apple", "apple"), ("is smaller than the", ""), ("table", "table")], ".")
    asked = sentence([("which is smaller, the food or the table", "")], "?")
    question = Question("compare", "comparativeChoose", program, found, asked, answer, full, "food", "09smaller-a_t")
    columns = QuestionColumns()
    columns.add("1", [question], Entailments([[]], [[0]], [0]))
    record = question_record(question, "1")
    line = Choices(columns.table()).line(0, record, graph_record(graph))
    assert json.loads(line) == {"valid": ["apple", "table"], "plausible": ["apple"]}
