"""The files of a generated dataset: scorers and readers take them as they take published ones."""

import json
import lzma
from collections import Counter
from io import StringIO
from itertools import product

import numpy as np
import pytest

from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.executor import Executor, Question, Step, joined, sentence, then
from hf_vqa_mc.engines.gqa.generate import (
    QuestionStore,
    dataset_statistics,
    graph_record,
    question_record,
    split_of,
    write_dataset,
)
from hf_vqa_mc.engines.gqa.selection import select_balanced
from hf_vqa_mc.engines.settings import SPLITS
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.scoring.gqa import gqa_score
from tests.engines.gqa.entailment_worlds import ONTOLOGY, SceneGraph, SceneObject

COLORS = ("red", "crimson", "green")


def graph_of(image, name, color, other="table"):
    objects = {
        "7": SceneObject(
            "7", name, (10, 20, 30, 40), {"color": (color,), "hposition": ("left",)}, frozenset({("on", "9")})
        ),
        "9": SceneObject("9", other, (0, 0, 50, 50), {}, frozenset()),
    }
    return SceneGraph(image, 100, 90, objects, {"weather": "sunny"})


def questions_about(graph):
    """The color of the fruit, asked for in several ways, and its name."""
    name, color = graph.objects["7"].name, graph.objects["7"].values["color"][0]
    there = (Step("select", (name,)),)
    programs = [
        ("query attribute", "directOf", then(there, "query", "color"), "color", f"10q-{name}_color"),
        (
            "choose attribute",
            "chooseAttr",
            then(there, "choose", "color", "red", "green"),
            "color",
            f"10c-{name}_color",
        ),
        ("query category", "category", then((Step("select", ("fruit",)),), "query", "name"), "fruit", "11q-fruit"),
        *(
            ("verify attribute", "verifyAttr", then(there, "verify", "color", one), "", f"06-{name}_{one}")
            for one in COLORS
        ),
    ]
    found = []
    for row, detailed, program, group, local in programs:
        answer, ids = Executor(graph, ONTOLOGY).run(program)
        if answer is not None:
            text = sentence([(f"{row} the", ""), (name, "7"), (str(program[-1].argument), "")], "?")
            full = sentence([("It is", ""), (answer, "7"), (color, "")], ".")
            found.append(Question(row, detailed, program, ids, text, answer, full, group, local))
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of files about 40 images, and what it was made from."""
    folder = tmp_path_factory.mktemp("made")
    names = [name for name, weight in (("apple", 3), ("banana", 1)) for _ in range(weight)]
    colors = [color for color, weight in (("red", 5), ("green", 2)) for _ in range(weight)]
    store = QuestionStore(StringIO())
    for number, (name, color, _) in enumerate(product(names, colors, range(2))):
        graph = graph_of(str(1000 + number), name, color)
        questions = questions_about(graph)
        store.add(graph, questions, entailments(questions, graph, ONTOLOGY))
    table = store.table()
    selected = select_balanced(table, shares={})
    splits = [split_of(image, 0, {"train": 0.6, "val": 0.4}) for image in table.names["image"]]
    write_dataset(folder, store, table, selected.kept, splits, silent)
    return folder, table, selected, splits


def read(folder, name):
    return {split: json.loads((folder / f"{split}_{name}.json").read_text()) for split in ("train", "val")}


def test_attention_on_the_referenced_objects_is_grounded(made):
    folder = made[0]
    records, graphs = read(folder, "balanced_questions")["train"], read(folder, "sceneGraphs")["train"]
    gold = {name: record["answer"] for name, record in records.items()}
    attentions = dict.fromkeys(records, np.full((9, 9), 1 / 81))
    score = gqa_score(gold, records, attentions=attentions, scene_graphs=graphs, consistency=False)
    # 30 x 40 of 100 x 90 pixels, pointed to by question and full answer
    assert score["grounding"] == pytest.approx(100 * 2 * 1200 / 9000)


def test_balanced_questions_are_those_of_all_that_are_marked(made):
    folder, table, selected, _ = made
    every, balanced = read(folder, "all_questions"), read(folder, "balanced_questions")
    for split in every:
        marked = {name: record for name, record in every[split].items() if record["isBalanced"]}
        assert balanced[split] == marked
    assert sum(map(len, every.values())) == len(table.rows)
    assert sum(map(len, balanced.values())) == selected.kept.sum() < len(table.rows)


def test_all_questions_about_an_image_and_its_graph_are_in_one_split(made):
    folder, table, _, splits = made
    of_image = dict(zip(table.names["image"], splits, strict=True))
    for name in ("all_questions", "balanced_questions"):
        for split, records in read(folder, name).items():
            assert {of_image[record["imageId"]] for record in records.values()} == {split}
    for split, graphs in read(folder, "sceneGraphs").items():
        assert set(graphs) == {image for image, of in of_image.items() if of == split}


def test_records_have_the_published_fields_and_types(made, real_data):
    published = json.load(lzma.open(real_data / "gqa" / "GQAOOD__val_bal_tail_-0.7.json.xz"))
    example = next(record for record in published.values() if record["types"]["detailed"] == "directWhich")
    for record in read(made[0], "all_questions")["train"].values():
        assert set(record) == {*example, "isBalanced"}
        for name in ("types", "groups", "annotations"):
            assert set(record[name]) == set(example[name])
        assert [set(step) for step in record["semantic"]] == [set(step) for step in example["semantic"]][-1:] * len(
            record["semantic"]
        )


def test_valid_answers_are_those_of_the_group_and_plausible_ones_those_of_the_subject(made):
    folder = made[0]
    for split, choices in read(folder, "choices").items():
        records = read(folder, "balanced_questions")[split]
        assert set(choices) == set(records)
        for name, record in records.items():
            chosen, detailed = choices[name], record["types"]["detailed"]
            assert set(chosen["plausible"]) <= set(chosen["valid"])
            if detailed == "directOf":
                assert chosen["valid"] == ["green", "red"]
            if detailed == "chooseAttr":
                assert sorted(chosen["valid"]) == ["green", "red"]
            if detailed == "verifyAttr":
                assert chosen == {"valid": ["yes", "no"], "plausible": ["yes", "no"]}
            if detailed == "category":
                assert chosen["valid"] == ["apple", "banana"]


def test_the_choices_of_a_comparison_are_the_compared_objects(tmp_path):
    """Which is larger, the food or the table? An apple, or the table."""
    sizes = {"apple": "small", "table": "large"}
    things = {
        name: SceneObject(name, name, (0, 0, 1, 1), {"size": (size,)}, frozenset()) for name, size in sizes.items()
    }
    graph = SceneGraph("1", 9, 9, things)
    program = joined((Step("select", ("food",)),), (Step("select", ("table",)),), "compare", "smaller")
    answer, found = Executor(graph, ONTOLOGY).run(program)
    full = sentence([("the", ""), ("apple", "apple"), ("is smaller than the", ""), ("table", "table")], ".")
    text = sentence([("which is smaller, the food or the table", "")], "?")
    question = Question("compare", "comparativeChoose", program, found, text, answer, full, "food", "09smaller-a_t")
    store = QuestionStore(StringIO())
    store.add(graph, [question], entailments([question], graph, ONTOLOGY))
    write_dataset(tmp_path, store, store.table(), np.ones(1, np.bool_), ["val"], silent)
    choices = json.loads((tmp_path / "val_choices.json").read_text())
    assert choices == {"10000": {"valid": ["apple", "table"], "plausible": ["apple"]}}


def test_statistics_add_up(made):
    _, table, selected, splits = made
    statistics = dataset_statistics(table, selected, splits, {"left out": 3})
    assert statistics["all"]["questions"] == len(table.rows)
    for part in (statistics["all"], statistics["balanced"]):
        for name in ("per_split", "per_structural_type", "per_semantic_type", "per_detailed_type"):
            assert sum(part[name].values()) == part["questions"]
        for name in ("words", "steps", "entailed"):
            assert sum(part[name]["questions"].values()) == part["questions"]
    assert (
        sum(statistics["selection"]["removed"].values())
        == statistics["all"]["questions"] - statistics["balanced"]["questions"]
    )
    assert statistics["problems"] == {"left out": 3}
    assert statistics["images"] == Counter(splits)
    change = statistics["entropy"]["global_groups"]
    assert change["after"] > change["before"]


def test_a_split_without_balanced_questions_is_an_empty_file(tmp_path):
    graph = graph_of("5", "apple", "red")
    store = QuestionStore(StringIO())
    store.add(graph, [], entailments([], graph, ONTOLOGY))
    write_dataset(tmp_path, store, store.table(), np.zeros(0, np.bool_), ["val"], silent)
    assert json.loads((tmp_path / "val_balanced_questions.json").read_text()) == {}
    assert set(json.loads((tmp_path / "val_sceneGraphs.json").read_text())) == {"5"}


def test_a_graph_is_written_with_boxes_and_without_positions():
    record = graph_record(graph_of("5", "apple", "red"))
    assert record["objects"]["7"] == {
        "name": "apple",
        "x": 10,
        "y": 20,
        "w": 30,
        "h": 40,
        "attributes": ["red"],
        "relations": [{"name": "on", "object": "9"}],
    }
    assert (record["width"], record["height"], record["weather"]) == (100, 90, "sunny")


def test_an_answer_that_is_a_name_refers_to_its_object():
    by_row = {question.row: question for question in questions_about(graph_of("5", "apple", "red"))}
    pointed = {row: question_record(question, "5", [], [])["annotations"] for row, question in by_row.items()}
    assert pointed["query category"]["answer"] == {"0": "7"}
    assert pointed["query attribute"]["answer"] == {}


def test_images_are_split_in_their_proportions():
    counts = Counter(split_of(str(image), 4) for image in range(20_000))
    assert {name: round(counts[name] / 20_000, 2) for name in SPLITS} == pytest.approx(dict(SPLITS), abs=0.011)
    assert [split_of("12", seed) for seed in range(30)] != [split_of("13", seed) for seed in range(30)]
