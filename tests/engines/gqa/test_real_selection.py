"""Real scene graphs to balanced questions: gold answers are consistent, and answers keep their order."""

import json
import lzma
from collections import Counter, defaultdict

import pytest

from hf_vqa_mc.engines.gqa.generate import generate
from hf_vqa_mc.scoring.gqa import gqa_score

N_IMAGES = 25


@pytest.fixture(scope="module")
def made(real_data, tmp_path_factory):
    """A dataset about the first images, and its records by id."""
    folder = tmp_path_factory.mktemp("made")
    graphs = json.load(lzma.open(real_data / "gqa" / "minyus100__train_sceneGraphs.json.xz"))
    file = folder / "train_sceneGraphs.json"
    file.write_text(json.dumps(dict(list(graphs.items())[:N_IMAGES])))
    statistics = generate([file], folder / "made")
    records = {}
    for path in sorted((folder / "made").glob("*_all_questions.json")):
        records |= json.loads(path.read_text())
    return folder / "made", statistics, records


def test_gold_answers_are_consistent(made):
    folder, _, records = made
    told = {name: record["answer"] for name, record in records.items()}
    choices = {}
    for path in folder.glob("*_choices.json"):
        choices |= json.loads(path.read_text())
    score = gqa_score(told, records, choices=choices, consistency=True)
    assert [score[name] for name in ("accuracy", "consistency", "validity", "plausibility")] == [1.0] * 4


def test_a_wrong_answer_to_what_follows_is_seen(made):
    records = made[2]
    told = {name: record["answer"] for name, record in records.items()}
    balanced = [record for record in records.values() if record["isBalanced"] and record["entailed"]]
    follow = next(name for record in balanced for name in record["entailed"] if not records[name]["isBalanced"])
    assert gqa_score(told | {follow: "?"}, records, consistency=True)["consistency"] < 1


@pytest.mark.parametrize("level", ["global", "local"])
def test_answers_keep_their_order_in_every_group(made, level):
    before, after = defaultdict(Counter), defaultdict(Counter)
    for record in made[2].values():
        group = record["groups"][level]
        if group is not None:
            before[group][record["answer"]] += 1
            after[group][record["answer"]] += record["isBalanced"]
    assert len(before) > 10
    for group, counts in before.items():
        kept = [after[group][answer] for answer, _ in counts.most_common()]
        fewer = [count for _, count in counts.most_common()]
        for place in range(len(kept) - 1):
            if fewer[place] > fewer[place + 1]:
                assert min(kept[: place + 1]) > max(kept[place + 1 :]) or max(kept[place + 1 :]) == 0, group


def test_the_entropy_of_no_group_is_lower(made):
    entropy = made[1]["entropy"]
    assert entropy["global_groups"]["lower"] == entropy["local_groups"]["lower"] == 0
    assert entropy["global_groups"]["after"] > entropy["global_groups"]["before"]
    assert entropy["answers"]["after"] > entropy["answers"]["before"]


def test_hardly_two_balanced_questions_of_an_image_have_the_same_program(made):
    """None but those that came back for the order of answers."""
    balanced = [record for record in made[2].values() if record["isBalanced"]]
    programs = Counter((record["imageId"], record["semanticStr"]) for record in balanced)
    assert len(programs) > 0.98 * len(balanced)
