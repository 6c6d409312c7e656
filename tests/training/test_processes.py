"""Several processes predict the same as one, bit by bit, and train to the same weights."""

import json
import os
import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from hf_vqa_mc.training.loop import train
from tests.training import toy_dataset
from tests.training.toy_dataset import CONFIG

TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")


@pytest.fixture
def run(preloaded):
    """Runs a task of ``tests.training.processes`` in one process or two; the result of each."""
    python = str(preloaded / "python")

    def run(task, given, result, processes, cache):
        ours = {"PYTHONPATH": str(Path.cwd()), "HF_DATASETS_CACHE": str(cache), "PYTHON_EXEC": python}
        launcher = TORCHRUN if processes == 2 else ()
        words = [python, *launcher, "-m", "tests.training.processes", task, json.dumps(given), str(result)]
        done = subprocess.run(words, env={**os.environ, **ours}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(Path(f"{result}.{rank}.json").read_text()) for rank in range(processes)]

    return run


@pytest.mark.slow
@pytest.mark.parametrize("model", ["mlp-iqa", pytest.param("attention", marks=pytest.mark.exhaustive)])
def test_two_processes_pick_as_one_does_bit_by_bit(settings, toy, toy_features, run, tmp_path, model):
    grid = toy_dataset.features(toy, tmp_path / "grid", grid=2) if model == "attention" else toy_features
    sizes = {"hidden_size": 300} if model == "mlp-iqa" else {"hidden_size": 64, "attention_size": 8}
    args = settings(model=model, features=grid, model_settings=sizes, epochs=2)
    checkpoint = train(args).model_folder
    # more questions than a process scores at a time, in blocks of which one process gets more than the other
    many = toy_dataset.make(tmp_path / "many", seed=3, splits=("train", "test"), test=4700)
    features = None
    if model == "mlp-iqa":
        features = toy_dataset.features(many, tmp_path / "more", count=4900)
    else:
        features = toy_dataset.features(many, tmp_path / "more", grid=2, count=4900)
    given = {
        "checkpoint": str(checkpoint),
        "dataset": str(many),
        "config": CONFIG,
        "features": str(features),
        "word_vectors": args.word_vectors,
    }
    (alone,) = run("predict", given, tmp_path / "one", 1, tmp_path / "cache")
    both = run("predict", given, tmp_path / "two", 2, tmp_path / "cache")
    assert both == [alone, alone]
    logits = [np.load(path) for path in sorted(tmp_path.glob("*.logits.*.npy"))]
    assert len(logits) == 3
    for one in logits[1:]:
        np.testing.assert_array_equal(one, logits[0])


OPEN_ENDED = {"word_vectors": None, "optimizer": "adam", "learning_rate": 0.003, "batch_size": 10}
NMN = {"size": 16, "word_size": 16, "lstm_size": 16, "dropout": 0.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {**OPEN_ENDED, "model": "lstm-q", "model_settings": {"lstm_size": 32, "dropout": 0.0}},
        {**OPEN_ENDED, "model": "bow-q-i", "model_settings": {"hidden_sizes": [64]}, "targets": "annotator"},
        {**OPEN_ENDED, "model": "nmn", "model_settings": NMN, "epochs": 3},
    ],
    ids=["mlp-qa", "lstm-q", "bow-q-i", "nmn"],
)
def test_two_processes_train_to_where_one_does(settings, toy, toy_features, run, tmp_path, changes):
    features = toy_features if changes.get("model") == "bow-q-i" else None
    if changes.get("model") == "nmn":
        features = toy_dataset.features(toy, tmp_path / "grid", grid=2)
    args = settings(**{"epochs": 12, "features": features, **changes})
    known = {one.name for one in fields(args)}
    given = {name: value for name, value in args.as_json().items() if name in known}
    alone = train(args).record
    both = run("train", {**given, "output": str(tmp_path / "two")}, tmp_path / "result", 2, tmp_path / "cache")
    assert both[0] == both[1]
    test = alone["results"]["test"]
    assert abs(both[0]["test"]["accuracy"] - test["accuracy"]) <= 2 * test["stderr"]
    record = json.loads((tmp_path / "two" / "best" / "training.json").read_text())
    assert record["processes"] == 2
    if args.model_settings.get("dropout") == 0.0:  # else each process draws its own
        losses = [[point["loss"] for point in one["curve"]] for one in (record, alone)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    again = run("train", {**given, "output": str(tmp_path / "two")}, tmp_path / "again", 2, tmp_path / "cache")
    assert again == both
