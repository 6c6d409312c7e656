"""The wheel is whole, and load_dataset, evaluate.load and from_pretrained do what the README says they do."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.hub.repositories import Account, Hub
from tests.hub.server import serving
from tests.sources import fixtures

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

LOAD_DATASET = """
import json
from datasets import load_dataset
ds = load_dataset("vqa_mc", "cocoqa_iou_qou")
features = {name: str(feature) for name, feature in ds["train"].features.items()}
kinds = ds["train"].features["choice_kinds"].feature.names
print(json.dumps({"features": features, "kinds": kinds, "rows": {split: ds[split].to_list() for split in ds}}))
"""
FEATURES = {
    "question_id": "Value('string')",
    "image_id": "Value('string')",
    "question": "Value('string')",
    "choices": "List(Value('string'))",
    "label": "Value('int64')",
    "choice_kinds": "List(ClassLabel(names=['target', 'orig', 'iou', 'qou', 'random', 'set']))",
    "choice_fallback": "List(Value('bool'))",
    "answers": "List(Value('string'))",
    "question_type": "Value('string')",
    "answer_type": "Value('string')",
    "set_id": "Value('string')",
    "set_kind": "Value('string')",
    "set_leak": "Value('float32')",
}

EVALUATE_LOAD = """
import json, sys
from pathlib import Path
import evaluate
import hf_vqa_mc
package, inputs = Path(hf_vqa_mc.__file__).parent, json.loads(sys.argv[1])
folders = [card.parent for card in package.rglob("README.md") if (card.parent / f"{card.parent.name}.py").exists()]
print(json.dumps({path.name: evaluate.load(str(path)).compute(**inputs.get(path.name, {})) for path in folders}))
"""
GQA_QUESTION = {
    "question_id": "1", "imageId": "7", "isBalanced": True, "question": "Is it?", "answer": "yes", "entailed": [],
    "types": {"structural": "verify", "semantic": "obj", "detailed": "exist"}, "groups": {"global": "a"},
    "semantic": [],
}  # fmt: skip
METRICS = {
    "mc_accuracy": ({"predictions": [1, 0], "references": [1, 1]}, "accuracy", 0.5),
    "vqa_accuracy": ({"predictions": ["sofa"], "references": [["sofa"] * 2 + ["couch"] * 8]}, "accuracy", 0.6),
    "vqa_pair_accuracy": (
        {"predictions": ["2", "red"], "references": [["2"] * 10, ["blue"] * 10], "question_ids": [1, 2],
         "pairs": [[1, 2]]}, "all", 0.0),
    "wups": ({"predictions": ["cat", "dog"], "references": ["dog", "dog"]}, "wups@0.9", 0.543),
    "tdiuc_mpt": (
        {"predictions": ["yes", "yes", "red"], "references": ["yes", "no", "red"],
         "question_types": ["object_presence", "object_presence", "color"]}, "harmonic_mpt", 0.667),
    "gqa_score": (
        {"predictions": [{"questionId": "1", "prediction": "yes"}], "references": [GQA_QUESTION]}, "binary", 1.0),
    "set_accuracy": (
        {"predictions": ["a", "a"], "references": [0, 1], "choices": [["a", "b"], ["a", "b"]], "set_ids": ["s", "s"]},
        "row_accuracy", 0.5),
    "counterexample_recall": (
        {"predictions": [[0.1, 0.9, 0.5], [0.3, 0.2, 0.1]], "references": [1, 1], "ks": [1]}, "recall@1", 0.5),
}  # fmt: skip
"""Arguments, a result's name and its value, of each metric."""

FROM_PRETRAINED = """
import json, sys
import hf_vqa_mc.models
from transformers import AutoModelForMultipleChoice, AutoProcessor
name = sys.argv[1]
model = AutoModelForMultipleChoice.from_pretrained(name)
processor = AutoProcessor.from_pretrained(name)
inputs = processor(text=["what color is the dog"], choices=[["red", "green", "two", "zebra"]])
print(json.dumps(model(**inputs).logits.tolist()))
"""


def test_the_wheel_holds_the_files_of_the_package_and_no_others(wheel):
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "hf_vqa_mc").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    metadata = f"{'-'.join(wheel.name.split('-')[:2])}.dist-info"
    assert {name for name in packed if not name.startswith(metadata)} == source
    assert {Path(name).name for name in packed if "/licenses/" in name} == {"LICENSE", "LICENSE.wordnet"}


def test_load_dataset_reads_what_vqa_mc_build_made(run, built):
    made = json.loads(run("python", "-c", LOAD_DATASET, cwd=built))
    assert made["features"] == FEATURES
    kinds = made["kinds"]
    texts = {name: text.splitlines() for name, text in fixtures.cocoqa_texts().items()}
    for split, rows in made["rows"].items():
        columns = [texts[f"{split}/{name}.txt"] for name in ("img_ids", "questions", "answers")]
        assert [(row["image_id"], row["question"], row["choices"][row["label"]]) for row in rows] == list(
            zip(*columns, strict=True)
        )
        for row in rows:
            named = [kinds[kind] for kind in row["choice_kinds"]]
            assert sorted(named) == ["iou"] * 3 + ["qou"] * 3 + ["target"]
            assert named[row["label"]] == "target"
            assert len(set(row["choices"])) == 7
    assert set(made["rows"]) == {"train", "test"}


def test_evaluate_loads_every_metric_folder_of_the_package(run, tmp_path):
    inputs = json.dumps({name: arguments for name, (arguments, _, _) in METRICS.items()})
    results = json.loads(run("python", "-c", EVALUATE_LOAD, inputs, cwd=tmp_path, HF_EVALUATE_OFFLINE="1"))
    assert {name: round(results[name][key], 3) for name, (_, key, _) in METRICS.items()} == {
        name: expected for name, (_, _, expected) in METRICS.items()
    }
    assert set(results) == set(METRICS)


def test_a_pushed_model_comes_back_from_the_hub_with_the_same_scores(run, built, raw, tmp_path):
    small = ("--epochs", "1", "--held-out", "0.3", "--model-settings", "hidden_size=8")
    trained = ("vqa_mc", "cocoqa_iou_qou", "--model", "mlp-qa", "--word-vectors", raw / "vectors.txt")
    run("vqa-mc", "train", *trained, *small, "--output", tmp_path / "run", cwd=built)
    best = tmp_path / "run" / "best"
    here = json.loads(run("python", "-c", FROM_PRETRAINED, best, cwd=tmp_path))
    with serving(Hub({"hf_token": Account("ada")})) as hub:
        online = {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "*"}
        run("vqa-mc", "push", "model", "ada/mlp-qa", "--folder", best, cwd=tmp_path, HF_TOKEN="hf_token", **online)
        there = json.loads(run("python", "-c", FROM_PRETRAINED, "ada/mlp-qa", cwd=tmp_path, **online))
    assert len(set(here[0])) == 4
    assert there == here
