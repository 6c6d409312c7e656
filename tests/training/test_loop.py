"""A run learns, keeps its best checkpoint, goes on exactly where it was killed, and says what went wrong."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import hf_vqa_mc.models  # noqa: F401  registers the models
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.training import loop as training_loop
from hf_vqa_mc.training import run_folder
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predicting import predict
from tests.training import toy_dataset
from tests.training.toy_dataset import CONFIG


def curve(output: Path) -> list[dict]:
    return [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]


def weights(folder: Path) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in load_file(folder / "model.safetensors").items()}


def assert_same_run(one: Path, other: Path):
    assert curve(one) == curve(other)
    first, second = weights(one / "best"), weights(other / "best")
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        np.testing.assert_array_equal(tensor, second[name])
    assert json.loads((one / "predictions.json").read_text()) == json.loads((other / "predictions.json").read_text())


@pytest.mark.slow
def test_a_model_that_sees_the_image_learns_what_one_that_does_not_cannot(settings, toy_features):
    blind = train(settings(epochs=10))
    seeing = train(
        settings(epochs=10, model="mlp-iqa", features=toy_features, output=settings().output.with_name("seeing"))
    )
    blind_test, seeing_test = (done.record["results"]["test"] for done in (blind, seeing))
    assert seeing_test["accuracy"] > 0.95
    assert 0.3 < blind_test["accuracy"] < 0.8  # the second question says its answer, the colour cannot be known
    assert blind_test["chosen_kinds"]["qou"] > 3 * blind_test["chosen_kinds"]["iou"]
    assert seeing_test["questions"] == 2 * toy_dataset.IMAGES["test"]


def test_the_record_says_what_the_checkpoint_is_and_how_it_was_made(settings, toy_features):
    args = settings(model="mlp-iqa", features=toy_features, epochs=3)
    record = train(args).record
    assert record == json.loads((args.output / "best" / "training.json").read_text())
    assert (record["model"], record["config"], record["processes"]) == ("mlp-iqa", CONFIG, 1)
    assert record["rows"]["train"] + record["rows"]["held_out"] == 2 * toy_dataset.IMAGES["train"]
    assert record["image_features"]["backbone"] == "pixels"
    assert record["word_vectors"]["dim"] == toy_dataset.DIM
    assert record["settings"]["learning_rate"] == 0.05
    assert record["command"].startswith(f"vqa-mc train toy {CONFIG} --output run --features toy-{CONFIG} ")
    assert [point["step"] for point in record["curve"]] == [point["step"] for point in curve(args.output)]
    assert len(curve(args.output)) == 3
    best = max(record["curve"], key=lambda point: point["accuracy"])
    assert record["best_step"] == best["step"]
    assert record["results"]["held_out"]["accuracy"] == best["accuracy"]


def test_the_best_checkpoint_answers_as_it_was_tested(settings):
    args = settings()
    done = train(args)
    found = predict(done.model_folder, args.dataset, CONFIG, word_vectors=args.word_vectors)
    assert found.results == done.record["results"]["test"]
    rows = json.loads((args.output / "predictions.json").read_text())
    assert [row["label"] for row in rows] == found.found.labels.tolist()
    assert [np.argmax(row["scores"]) for row in rows] == found.found.labels.tolist()


@pytest.mark.parametrize("model", [pytest.param("attention", marks=pytest.mark.slow), "hiecoatt"])
def test_the_attention_models_train_on_a_grid(settings, toy, tmp_path, model):
    grid = toy_dataset.features(toy, tmp_path / "grid", grid=2)
    sizes = {"attention": {"attention_size": 8}, "hiecoatt": {"level_size": 8, "joint_size": 8}}[model]
    args = settings(
        model=model, features=grid, epochs=2, optimizer="rmsprop", learning_rate=None,
        model_settings={"hidden_size": 16, **sizes},
    )  # fmt: skip
    done = train(args)
    losses = [point["loss"] for point in done.record["curve"]]
    assert losses[-1] < losses[0]
    again = predict(done.model_folder, args.dataset, CONFIG, features=grid, word_vectors=args.word_vectors)
    assert again.results == done.record["results"]["test"]


PROGRAM = """
import sys
from pathlib import Path
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.settings import TrainingSettings
if __name__ == "__main__":
    train(TrainingSettings(sys.argv[1], "toy_iou_qou", output=Path(sys.argv[2]), model="mlp-qa",
          word_vectors=sys.argv[3], model_settings={"hidden_size": 32}, epochs=float(sys.argv[4]), batch_size=20,
          learning_rate=0.05, held_out=0.2))
"""


def started(args, output):
    """A run in a process of its own; what it says goes into a file next to its output."""
    program, said = output.parent / "program.py", output.with_suffix(".stderr")
    program.write_text(PROGRAM)
    words = [sys.executable, str(program), args.dataset, str(output), args.word_vectors, str(args.epochs)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path.cwd())}
    environment["HF_DATASETS_CACHE"] = str(output.parent / "cache")
    with said.open("a") as file:
        return subprocess.Popen(words, stderr=file, env=environment)


@pytest.mark.slow
def test_a_run_that_was_killed_ends_as_one_that_was_not(settings, tmp_path):
    args = settings(epochs=25.0, output=tmp_path / "whole")
    killed = tmp_path / "killed"
    for validations in (1, 6):
        run = started(args, killed)
        while run.poll() is None and (not (killed / "log.jsonl").is_file() or len(curve(killed)) < validations):
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        assert run.wait() == -signal.SIGKILL, killed.with_suffix(".stderr").read_text()
        assert validations <= len(curve(killed)) < 25
        load_checkpoint(killed / "best")  # what is there is whole at any time
    run = started(args, killed)
    assert run.wait() == 0, killed.with_suffix(".stderr").read_text()
    run = started(args, args.output)
    assert run.wait() == 0, args.output.with_suffix(".stderr").read_text()
    assert_same_run(killed, args.output)


@pytest.mark.parametrize("optimizer", ["rmsprop", pytest.param("adam", marks=pytest.mark.slow)])
def test_every_optimizer_goes_on_where_it_was(settings, tmp_path, monkeypatch, optimizer):
    changes = {"optimizer": optimizer, "learning_rate": 0.003, "epochs": 6}
    stopped, whole = settings(output=tmp_path / "stopped", **changes), settings(output=tmp_path / "whole", **changes)
    real = training_loop._Run._step
    with monkeypatch.context() as patched:
        patched.setattr(
            training_loop._Run, "_step", lambda self, number, made: real(self, number, made) if number < 70 else 1 / 0
        )
        with pytest.raises(ZeroDivisionError):
            train(stopped)
    assert 1 < len(curve(stopped.output)) < 6
    train(stopped)
    train(whole)
    assert_same_run(stopped.output, whole.output)


@pytest.mark.parametrize(("name", "content"), [("state.safetensors", b"broken"), ("state.json", b"[1, 2]")])
def test_a_damaged_state_is_named_with_the_remedy(settings, name, content):
    args = settings()
    train(args)
    (args.output / "last" / name).write_bytes(content)
    with pytest.raises(InputError, match=r"last: the state of the run is damaged .*; remove .* to train anew"):
        train(args)


def test_a_finished_run_is_not_run_again(settings, monkeypatch):
    args = settings()
    first = train(args)
    before = {
        path: path.stat().st_mtime_ns for path in args.output.rglob("*") if path.is_file() and path.name != ".lock"
    }
    monkeypatch.setattr(training_loop._Run, "_step", lambda *_: 1 / 0)
    assert train(args).record == first.record
    assert {path: path.stat().st_mtime_ns for path in before} == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "whose seed is 0, not 1"),
        ({"epochs": 5.0}, "epochs"),
        ({"model": "mlp-a"}, "whose model is mlp-qa"),
    ],
)
def test_a_run_with_other_settings_is_not_resumed(settings, changes, message):
    train(settings())
    with pytest.raises(InputError, match=message):
        train(settings(**changes))


def test_a_loss_that_is_no_number_ends_the_run_and_the_best_checkpoint_stays(settings, monkeypatch):
    args = settings(epochs=8.0)
    real = training_loop._Run._step

    def spoilt(self, number, made):
        loss = real(self, number, made)
        return loss * float("nan") if number == 50 else loss

    monkeypatch.setattr(training_loop._Run, "_step", spoilt)
    with pytest.raises(InputError, match=r"the loss is nan at step \d+ with a learning rate of 0.05; train"):
        train(args)
    assert len(curve(args.output)) >= 2
    load_checkpoint(args.output / "best")


def test_a_full_disk_leaves_the_last_good_checkpoint(settings, monkeypatch):
    args = settings(epochs=6.0)
    real = training_loop.replace_folder
    written = []

    def full_later(path, fill):
        if written.count(path.name):
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
        try:
            real(path, fill)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        written.append(path.name)
        saved.append(weights(args.output / "best"))

    saved = []
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    monkeypatch.setattr(training_loop, "replace_folder", full_later)
    monkeypatch.setattr(run_folder, "replace_folder", full_later)
    try:
        with pytest.raises(OSError, match="File too large"):
            train(args)
    finally:
        signal.signal(signal.SIGXFSZ, before)
    assert written == ["best", "last"]
    left = weights(args.output / "best")
    assert all(np.array_equal(left[name], tensor) for name, tensor in saved[-1].items())
    assert not [path for path in args.output.iterdir() if path.name.endswith(".partial")]
    monkeypatch.undo()
    train(args)  # goes on
    assert len(curve(args.output)) == 6


def test_two_runs_do_not_write_to_one_folder(settings):
    args = settings()
    with (
        run_folder.lock_folder(args.output, "training"),
        pytest.raises(InputError, match="another training writes there"),
    ):
        train(args)
    train(args)


def test_a_folder_with_something_else_is_left_alone(settings, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("words")
    with pytest.raises(InputError, match=r"is not the folder of a run: it has chapter1\.txt"):
        train(settings(output=tmp_path / "thesis"))
    (tmp_path / "mine" / "best").mkdir(parents=True)
    (tmp_path / "mine" / "best" / "thesis.txt").write_text("words")
    with pytest.raises(InputError, match="is not the folder of a run: it has best"):
        train(settings(output=tmp_path / "mine"))
    assert (tmp_path / "mine" / "best" / "thesis.txt").read_text() == "words"
    assert [path.name for path in (tmp_path / "thesis").iterdir()] == ["chapter1.txt"]


@pytest.mark.slow
def test_fine_tuning_begins_where_the_checkpoint_ended(settings, tmp_path):
    first = train(settings(epochs=10))
    again = settings(
        init_from=str(first.model_folder), output=tmp_path / "tuned", model_settings={}, epochs=1, learning_rate=1e-9
    )
    record = train(again).record
    for name, tensor in weights(again.output / "best").items():
        if "running" not in name and "tracked" not in name:
            np.testing.assert_allclose(tensor, weights(first.model_folder)[name], atol=1e-6)
    assert record["results"]["held_out"]["accuracy"] >= 0.9 * first.record["results"]["held_out"]["accuracy"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "mlp-iqa"}, "mlp-iqa sees images: add --features"),
        ({"model": "attention"}, "--grid 7"),
        ({"features": Path("somewhere")}, "mlp-qa sees no images"),
        ({"word_vectors": None}, "the model needs word vectors"),
        ({"word_vectors": "none.txt"}, "none.txt: expected an existing"),
        ({"config": "toy_iou_qau"}, "did you mean 'toy_iou_qou'"),
        ({"model_settings": {"hidden": 8}}, "did you mean 'hidden_size'"),
        ({"model_settings": {"hidden_size": "many"}}, "hidden_size"),
        ({"held_out": 0.0}, "--held-out 0.0 gives"),
        ({"init_from": "no/such/folder/anywhere"}, "checkpoint no/such/folder/anywhere"),
        ({"model_settings": {"inputs": ["answer"]}}, "setting of mlp-qa"),
        ({"model_settings": {"hidden_size": 0}}, "hidden_size is 0"),
        ({"model_settings": {"dropout": 1.0}}, "dropout is 1.0"),
    ],
)
def test_invalid_settings_are_rejected_before_anything_is_written(settings, changes, message):
    args = settings(**changes)
    with pytest.raises(InputError) as error:
        train(args)
    assert message in str(error.value)
    assert not (args.output / "last").exists()


def test_another_models_checkpoint_or_vectors_are_refused(settings, tmp_path):
    first = train(settings())
    args = settings(init_from=str(first.model_folder), model_settings={}, output=tmp_path / "tuned")
    with pytest.raises(InputError, match="is not a checkpoint of mlp-a"):
        train(replace(args, model="mlp-a"))
    with pytest.raises(InputError, match="has its own"):
        train(replace(args, model_settings={"hidden_size": 8}))
    other = toy_dataset.vectors_file(tmp_path, seed=1)
    with pytest.raises(InputError, match="are not those that the model was trained with"):
        train(replace(args, word_vectors=str(other)))


def test_questions_without_features_are_refused_or_counted(settings, toy, tmp_path):
    from hf_vqa_mc.data.dataset_images import dataset_images
    from hf_vqa_mc.extraction.extraction import extract_features

    pictures = toy_dataset.draw(tmp_path / "pictures", sum(toy_dataset.IMAGES.values()))
    for lost in ("0003.png", "0250.png"):
        (pictures / lost).unlink()
    features = extract_features(
        dataset_images(str(toy), CONFIG, pictures), backbone="pixels", output=tmp_path / "features", skip_missing=True
    ).folder
    args = settings(model="mlp-ia", features=features, epochs=1)
    with pytest.raises(InputError, match="2 of 400 questions have no image features"):
        train(args)
    record = train(replace(args, skip_missing=True)).record
    assert record["skipped"] == 4
    assert record["rows"]["test"] == 2 * toy_dataset.IMAGES["test"] - 2


@pytest.mark.slow
def test_the_datasets_own_validation_split_is_used(settings, tmp_path):
    dataset = toy_dataset.make(tmp_path / "three", splits=("train", "validation", "test"))
    record = train(settings(dataset=str(dataset), epochs=1)).record
    assert record["rows"] == {"train": 400, "validation": 80, "test": 120}


def test_a_dataset_without_a_test_split_is_trained_on(settings, tmp_path):
    dataset = toy_dataset.make(tmp_path / "one", splits=("train",))
    done = train(settings(dataset=str(dataset), epochs=1))
    assert not (done.settings.output / "predictions.json").exists()
    assert list(done.record["results"]) == ["held_out"]


def test_a_model_with_scores_that_are_not_finite_is_rejected(settings, monkeypatch):
    args = settings()
    done = train(args)
    weights_file = done.model_folder / "model.safetensors"
    spoilt = {
        name: tensor * float("nan") if tensor.is_floating_point() else tensor
        for name, tensor in load_file(weights_file).items()
    }
    save_file(spoilt, weights_file, {"format": "pt"})
    with pytest.raises(InputError, match="scores are not all finite"):
        predict(done.model_folder, args.dataset, CONFIG, word_vectors=args.word_vectors)


def test_features_of_other_images_are_not_gone_on_with(settings, toy_features, tmp_path):
    args = settings(model="mlp-ia", features=toy_features, epochs=1)
    train(args)
    other = toy_features.with_name("other")
    other.mkdir()
    index = json.loads((toy_features / "index.json").read_text())
    names = list(index["images"])
    index["images"] = dict(
        zip(names, [*list(index["images"].values())[7:], *list(index["images"].values())[:7]], strict=True)
    )
    (other / "index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="whose images_sha256 is"):
        train(replace(args, features=other))


def test_the_only_other_split_is_reported_and_chooses_nothing(settings, tmp_path):
    dataset = toy_dataset.make(tmp_path / "two", splits=("train", "validation"))
    args = settings(dataset=str(dataset), epochs=1)
    done = train(args)
    assert (done.validated_on, done.reported_on) == ("held_out", "validation")
    assert done.record["rows"]["validation"] == done.record["results"]["validation"]["questions"] == 80
    found = predict(done.model_folder, args.dataset, CONFIG, word_vectors=args.word_vectors)
    assert (found.split, found.results) == ("validation", done.record["results"]["validation"])


def test_a_dataset_that_was_built_anew_is_not_mixed_with_an_old_run(settings, tmp_path, monkeypatch):
    args = settings(dataset=str(toy_dataset.make(tmp_path / "toy", seed=1)), epochs=1)
    train(args)
    toy_dataset.make(tmp_path / "toy", seed=2)
    monkeypatch.setattr(
        "datasets.config.HF_DATASETS_CACHE", tmp_path / "new"
    )  # which does not look at what files hold
    with pytest.raises(InputError, match="whose questions_sha256 is"):
        train(args)


def test_the_record_contains_no_paths_of_the_machine(settings, tmp_path):
    args = settings(epochs=1)
    text = json.dumps(train(args).record)
    assert str(tmp_path) not in text
    assert "--output run " in text
    first = args.output / "best"
    record = train(settings(init_from=str(first), output=tmp_path / "tuned", model_settings={}, epochs=1)).record
    assert str(tmp_path) not in json.dumps(record)
    assert record["init_from"] == {"name": "best", "config": CONFIG}


def test_corpus_vectors_are_trained_on_the_training_questions_only(settings, toy):
    args = settings(word_vectors="corpus", epochs=1)
    done = train(args)
    _, processor = load_checkpoint(done.model_folder)
    assert processor.text.name == "corpus"
    assert {"colour", "red", "picture"} <= set(processor.text.words)
    assert predict(done.model_folder, args.dataset, CONFIG).results == done.record["results"]["test"]
