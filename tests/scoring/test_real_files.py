"""Real files, from predictions to scores."""

import json
import lzma
from random import Random

import pytest

from hf_vqa_mc.scoring.inputs import SCENE_GRAPHS
from hf_vqa_mc.scoring.scheme import GQA, Annotations
from hf_vqa_mc.verbs.score import score
from tests.scoring import files


def load(path):
    content = path.read_bytes()
    return json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)


@pytest.mark.parametrize("name", ["GQAOOD__ood_testdev_head", "GQAOOD__ood_testdev_tail", "GQAOOD__val_bal_tail_-0.7"])
def test_gqa_ood_is_scored_as_counted_by_hand(real_data, tmp_path, name):
    path = real_data / "gqa" / f"{name}.json.xz"
    questions = {one: record for one, record in load(path).items() if record["isBalanced"]}
    rng, golds = Random(0), [record["answer"] for record in questions.values()]
    answers = {one: rng.choice([record["answer"], rng.choice(golds)]) for one, record in questions.items()}
    predictions = [{"questionId": one, "prediction": answer} for one, answer in answers.items()]
    result = score(files.write(tmp_path / "p.json", predictions), path).results["gqa_score"]
    right = {one: answers[one] == record["answer"] for one, record in questions.items()}
    assert result["accuracy"] == pytest.approx(sum(right.values()) / len(right))
    for kind, accuracy in result["per_structural_type"].items():
        of_kind = [right[one] for one, record in questions.items() if record["types"]["structural"] == kind]
        assert accuracy == pytest.approx(sum(of_kind) / len(of_kind))


def test_scene_graphs_are_read_for_the_images_of_the_questions(real_data):
    path = real_data / "gqa" / "minyus100__val_sceneGraphs.json.xz"
    everything = load(path)
    some = list(everything)[::7]
    records = {str(n): {"isBalanced": True, "imageId": image} for n, image in enumerate(some)}
    annotations = Annotations(GQA, "questions", list(records), records=records)
    assert SCENE_GRAPHS.read(path, annotations) == {image: everything[image] for image in some}
