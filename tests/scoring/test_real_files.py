"""Real files, from predictions to scores."""

import json
import lzma
from random import Random

import pytest

from hf_vqa_mc.errors import CountMismatch
from hf_vqa_mc.scoring.inputs import SCENE_GRAPHS
from hf_vqa_mc.scoring.scheme import GQA, Annotations
from hf_vqa_mc.verbs.score import score
from tests.scoring import files


def load(path):
    content = path.read_bytes()
    return json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)


@pytest.mark.parametrize(
    "name",
    [
        "vqa_v1/abstract_v002_train2015_annotations.json_samples.json",
        "vqa_v1/abstract_v002_val2015_annotations.json_samples.json",
        "vqa_v2/abstract_v002_val2017_annotations.json_samples.json",
        "vqa_v2/v2_mscoco_val2014_annotations.json_samples.json",
    ],
)
def test_vqa_samples_are_answered_best_by_their_most_frequent_answer(real_data, tmp_path, name):
    path = real_data / name
    annotations = load(path)["annotations"]
    best = {str(one["question_id"]): one["multiple_choice_answer"] for one in annotations}
    odd = {str(one["question_id"]): "no such answer" for one in annotations}
    reached = [
        score(files.write(tmp_path / "p.json", answers), path).results["vqa_accuracy"]["accuracy"]
        for answers in (best, odd)
    ]
    assert reached[0] > 0.8
    assert reached[1] == 0.0


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


@pytest.mark.slow
def test_some_of_cocoqa_is_built_and_scored(real_cocoqa, tmp_path, monkeypatch):
    import datasets

    from hf_vqa_mc.verbs.build import build

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for path in real_cocoqa.glob("*/*.txt"):
        part = tmp_path / "cocoqa" / path.parent.name / path.name
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_text("".join(path.read_text("utf-8").splitlines(keepends=True)[:1000]), "utf-8")
    with pytest.warns(CountMismatch):
        build("cocoqa", data_dir=tmp_path / "cocoqa", output=tmp_path / "vqa_mc", variants=["iou"])
    rows = datasets.load_dataset(str(tmp_path / "vqa_mc"), "cocoqa_iou", split="test")
    picked = {row["question_id"]: number % 4 for number, row in enumerate(rows)}
    path = files.write(tmp_path / "p.json", picked)
    result = score(path, tmp_path / "vqa_mc").results["mc_accuracy"]  # the only config
    right = [picked[row["question_id"]] == row["label"] for row in rows]
    assert len(right) == 1000
    assert result["accuracy"] == sum(right) / 1000
    assert (result["chance"], result["offered_kinds"]) == (0.25, {"target": 0.25, "iou": 0.75})
    assert set(result["per_question_type"]) == {"object", "number", "color", "location"}
