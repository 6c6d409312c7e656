"""A dataset generated from real scene graphs: gold answers, choices, entropy."""

import json
import lzma
from collections import Counter

import pytest

from hf_vqa_mc.engines.gqa.executor import SHORT
from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.scoring.gqa import gqa_score

N_IMAGES = 25


@pytest.fixture(scope="module")
def made(real_data, tmp_path_factory):
    """The statistics, and the records and choices of the first images by question id."""
    folder = tmp_path_factory.mktemp("made")
    graphs = json.load(lzma.open(real_data / "gqa" / "minyus100__train_sceneGraphs.json.xz"))
    file = folder / "train_sceneGraphs.json"
    file.write_text(json.dumps(dict(list(graphs.items())[:N_IMAGES])))
    statistics = generate([file], folder / "made")
    found = {"all_questions": {}, "choices": {}}
    for name, content in found.items():
        for path in sorted((folder / "made").glob(f"*_{name}.json")):
            content |= json.loads(path.read_text())
    return statistics, *found.values()


def test_gold_answers_are_consistent_valid_and_plausible(made):
    _, records, choices = made
    gold = {name: record["answer"] for name, record in records.items()}
    score = gqa_score(gold, records, choices=choices, consistency=True)
    assert [score[name] for name in ("accuracy", "consistency", "validity", "plausibility")] == [1.0] * 4


def test_a_wrong_answer_to_an_entailed_question_lowers_the_consistency(made):
    records = made[1]
    gold = {name: record["answer"] for name, record in records.items()}
    balanced = [record for record in records.values() if record["isBalanced"] and record["entailed"]]
    entailed = next(name for record in balanced for name in record["entailed"] if not records[name]["isBalanced"])
    assert gqa_score(gold | {entailed: "?"}, records, consistency=True)["consistency"] < 1


def test_choices_are_distinct_and_those_of_a_choice_question_are_its_options(made):
    _, records, choices = made
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
    balanced = [record for record in made[1].values() if record["isBalanced"]]
    programs = Counter((record["imageId"], record["semanticStr"]) for record in balanced)
    assert len(programs) > 0.98 * len(balanced)


def test_the_mean_entropy_of_answers_rises(made):
    entropy = made[0]["entropy"]
    assert entropy["global_groups"]["lower"] == entropy["local_groups"]["lower"] == 0
    assert all(entropy[level]["after"] > entropy[level]["before"] for level in ("global_groups", "answers"))
