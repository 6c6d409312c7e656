"""One pretrained model is tested on targets as it is and fine-tuned on each; stopped anywhere, it goes on."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from filelock import FileLock

import hf_vqa_mc.models  # noqa: F401  registers the models
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.training import loop as training_loop
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.predicting import predict
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.transfer import overlap, transfer
from tests.training import toy_dataset, transfer_world

TARGETS = ("visual7w_orig", "visual7w_all", "vqa_orig")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A dataset, and its images' features."""
    import datasets

    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        dataset = transfer_world.make(folder / "vqa_mc")
        return dataset, transfer_world.features(dataset, folder / "vqa_mc_features")


def settings_of(world, vectors, output, **changes):
    dataset, features = world
    defaults = {
        "dataset": str(dataset),
        "config": "qavg_iou_qou",
        "output": output,
        "features": features,
        "word_vectors": str(vectors),
        "model_settings": {"hidden_size": 16},
        "epochs": 2,
        "batch_size": 20,
        "held_out": 0.2,
    }
    return TrainingSettings(**{**defaults, **changes})


@pytest.fixture
def recipe(world, vectors, tmp_path):
    return partial(settings_of, world, vectors, tmp_path / "transfer")


@pytest.fixture
def fine_tuning(recipe):
    return replace(recipe(), epochs=1, features=None)


def figures(output: Path) -> dict:
    """What came out, without the path of the checkpoint."""
    written = json.loads((output / "transfer.json").read_text())
    del written["checkpoint"]
    return written


@pytest.mark.slow
def test_each_target_is_tested_before_and_after_fine_tuning(recipe, fine_tuning, tmp_path):
    args = recipe()
    done = transfer(args, fine_tuning, targets=TARGETS)
    assert [row["config"] for row in done["rows"]] == list(TARGETS)
    assert [row["split"] for row in done["rows"]] == ["test", "test", "validation"]
    assert done["rows"][0]["paper"] == {"alone": 65.7, "as_is": 60.5, "fine_tuned": 69.1}
    assert done["rows"][2]["paper"] == {"alone": 64.6, "as_is": 42.2, "fine_tuned": 65.6}
    public = {**json.loads(json.dumps(done)), "checkpoint": "best"}  # without folders of the user
    assert public == json.loads((args.output / "transfer.json").read_text())
    for row in done["rows"]:
        features = args.features / f"vqa_mc-{row['config'].replace('_all', '_orig')}"
        given = {"features": features, "word_vectors": args.word_vectors}
        as_is = predict(args.output / "pretrained" / "best", args.dataset, row["config"], **given)
        tuned = predict(args.output / "fine_tuned" / row["config"] / "best", args.dataset, row["config"], **given)
        assert (as_is.results, tuned.results) == (row["as_is"], row["fine_tuned"])
        record = json.loads((args.output / "fine_tuned" / row["config"] / "best" / "training.json").read_text())
        assert (record["settings"]["learning_rate"], record["settings"]["epochs"]) == (0.001, 1)
        assert record["init_from"] == {"name": "best", "config": "qavg_iou_qou"}
    assert any(row["as_is"]["accuracy"] != row["fine_tuned"]["accuracy"] for row in done["rows"])
    assert [row["as_is"]["metric"] for row in done["rows"]] == ["accuracy", "accuracy", "consensus accuracy"]
    alone = train(replace(args, output=tmp_path / "alone", features=args.features / "vqa_mc-qavg_iou_qou"))
    assert done["pretrained"] == alone.record["results"]["test"]


@pytest.mark.slow
def test_finished_runs_are_not_repeated_and_targets_can_be_added(recipe, fine_tuning, monkeypatch):
    args = recipe()
    first = transfer(args, fine_tuning, targets=TARGETS[:1])
    more = transfer(args, fine_tuning, targets=TARGETS[:2], from_scratch=True)
    for step in ("as_is", "fine_tuned"):
        assert more["rows"][0][step] == first["rows"][0][step]
    monkeypatch.setattr(training_loop._Run, "_step", None)
    assert transfer(args, fine_tuning, targets=TARGETS[:2], from_scratch=True) == more


@pytest.mark.slow
def test_a_checkpoint_replaces_pretraining(recipe, fine_tuning, tmp_path):
    args = recipe()
    whole = transfer(args, fine_tuning, targets=TARGETS[:1], from_scratch=True)
    other = replace(args, output=tmp_path / "other", init_from=whole["checkpoint"], model_settings={})
    done = transfer(other, fine_tuning, targets=TARGETS[:1], from_scratch=True)
    assert done["pretrained"] is None
    assert done["rows"] == whole["rows"]  # the model trained alone has the checkpoint's shape, and the recipe's rate
    assert not (other.output / "pretrained").exists()
    with pytest.raises(InputError, match=r"--pretrain vqa_orig: --init-from .* was trained on qavg_iou_qou"):
        transfer(replace(other, config="vqa_orig"), fine_tuning, targets=TARGETS[:1])
    with pytest.raises(InputError, match=r"model setting hidden_size: --init-from .* has its own"):
        transfer(replace(other, model_settings={"hidden_size": 9}), fine_tuning, targets=TARGETS[:1])
    weights = Path(whole["checkpoint"]) / "model.safetensors"
    shutil.copy(args.output / "fine_tuned" / "visual7w_orig" / "best" / "model.safetensors", weights)
    with pytest.raises(InputError, match="is a run whose init_from_sha256 is"):
        transfer(other, fine_tuning, targets=TARGETS[:1], from_scratch=True)


@pytest.mark.slow
def test_fine_tuning_changes_words_as_the_pretraining_did(recipe, fine_tuning, tmp_path):
    args = recipe(first_words=2, epochs=0.1)
    done = transfer(args, fine_tuning, targets=["vqa_orig"])
    assert done["rows"][0]["fine_tuned"]["questions"]
    again = replace(args, init_from=done["checkpoint"], first_words=None, model_settings={}, output=tmp_path / "again")
    assert transfer(again, fine_tuning, targets=["vqa_orig"])["rows"] == done["rows"]
    path = tmp_path / "again" / "fine_tuned" / "vqa_orig" / "best" / "training.json"
    assert json.loads(path.read_text())["settings"]["first_words"] == 2


@pytest.mark.slow
def test_the_same_word_vectors_are_required(recipe, fine_tuning, tmp_path):
    args = recipe()
    done = transfer(args, fine_tuning, targets=TARGETS[:1])
    other = replace(args, init_from=done["checkpoint"], output=tmp_path / "other", model_settings={})
    another = str(toy_dataset.vectors_file(tmp_path, seed=1))
    with pytest.raises(InputError, match=r"vectors1.txt .* are not those that the model was trained with, vectors0"):
        transfer(replace(other, word_vectors=another), fine_tuning, targets=TARGETS)
    with pytest.raises(InputError, match=r"was trained with the word vectors vectors0.txt .* add --word-vectors"):
        transfer(replace(other, word_vectors=None), fine_tuning, targets=TARGETS)
    assert not other.output.exists()
    with pytest.raises(InputError, match="is a run whose word_vectors is"):
        transfer(replace(args, word_vectors=another), fine_tuning, targets=TARGETS)


@pytest.mark.parametrize(
    ("trained_on", "tested_on", "shared"),
    [
        ("qavg_iou_qou", "visual7w_orig", (1, 2)),
        ("own", "own", (1, 2)),
        ("qavg_iou_qou", "vqa_orig", None),
        ("own", "other", None),
    ],
)
def test_images_that_are_trained_and_tested_on_are_counted(trained_on, tested_on, shared):
    counts, reason = overlap(trained_on, ["1", "1", "2", "3"], tested_on, ["2", "2", "9"])
    if shared is None:
        assert counts is None and reason.startswith(f"the image ids of {trained_on} and {tested_on} are not known")
    else:
        assert (counts["images"], counts["questions"], reason) == (2, 3, "")
        assert (counts["shared_images"], counts["shared_questions"]) == shared


@pytest.mark.slow
def test_without_the_pretraining_config_the_overlap_with_a_checkpoints_images_is_unknown(
    recipe, fine_tuning, tmp_path
):
    args = recipe()
    done = transfer(args, fine_tuning, targets=["visual7w_orig"])
    assert done["rows"][0]["overlap"]["shared_images"] == 0
    less = shutil.copytree(args.dataset, tmp_path / "vqa_mc")
    shutil.rmtree(less / "qavg_iou_qou")
    rest = (less / "README.md").read_text().partition("- config_name: visual7w_orig")[2]
    (less / "README.md").write_text(f"---\nconfigs:\n- config_name: visual7w_orig{rest}")
    other = replace(
        args, dataset=str(less), init_from=done["checkpoint"], output=tmp_path / "other", model_settings={}
    )
    row = transfer(other, fine_tuning, targets=["visual7w_orig"])["rows"][0]
    assert (row["overlap"], row["overlap_unknown"]) == (None, "the dataset has no split train of qavg_iou_qou")
    assert row["fine_tuned"] == done["rows"][0]["fine_tuned"]


@pytest.mark.slow
def test_questions_without_features_are_skipped_and_counted(recipe, fine_tuning, world, tmp_path):
    features = world[1]
    fewer = shutil.copytree(features, tmp_path / features.name)
    index = fewer / "vqa_mc-vqa_orig" / "index.json"
    written = json.loads(index.read_text())
    for image in ("5002", "5063", "5064"):
        del written["images"][image]
    index.write_text(json.dumps(written))
    with pytest.raises(InputError, match=r"lacks features of vqa_orig \(3 of 100 images\).*--skip-missing"):
        transfer(recipe(features=fewer), fine_tuning, targets=TARGETS)
    done = transfer(recipe(features=fewer, skip_missing=True), fine_tuning, targets=["vqa_orig"])
    assert done["rows"][0]["skipped"] == 4


@pytest.mark.parametrize(
    ("changes", "targets", "message"),
    [
        ({}, ["visual7w_orig", "visual7w_iou", "vqa_all"], r"unknown config 'visual7w_iou'"),
        ({"config": "qavg_iou"}, TARGETS, r"unknown config 'qavg_iou'"),
        ({"word_vectors": None}, TARGETS, r"the model needs word vectors: add --word-vectors FILE"),
        ({"word_vectors": "none.txt"}, TARGETS, r"none.txt: expected an existing"),
        ({"features": None}, TARGETS, r"mlp-iqa sees images: add --features"),
        ({"features": Path("none")}, TARGETS, r"--features none lacks features of qavg_iou_qou, visual7w_orig, v"),
        ({"model": "mlp-qa"}, TARGETS, r"mlp-qa sees no images; remove --features"),
        ({"model": "attention"}, TARGETS, r"has one vector per image, attention takes a grid"),
        ({"init_from": "nothing/here/at/all"}, TARGETS, r"nothing/here"),
        ({}, [], r"--targets : expected configs"),
        ({}, ["vqa_orig", "vqa_orig"], r"--targets vqa_orig,vqa_orig: expected configs, each once"),
    ],
)  # fmt: skip
def test_missing_inputs_are_named_first(recipe, fine_tuning, monkeypatch, changes, targets, message):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    args = recipe(**changes)
    with pytest.raises((InputError, ConnectionError), match=message):
        transfer(args, fine_tuning, targets=targets)
    assert not args.output.exists()


def test_features_of_one_config_or_of_several_kinds_are_rejected(recipe, fine_tuning):
    features = recipe().features
    for wrong in (features.parent, features / "vqa_mc-vqa_orig"):
        with pytest.raises(
            InputError, match=rf"--features {wrong} lacks features of .*; expected a folder of one kind"
        ):
            transfer(recipe(features=wrong), fine_tuning, targets=TARGETS)


@pytest.mark.slow
def test_a_model_that_sees_no_image_needs_no_features(recipe, fine_tuning):
    done = transfer(recipe(model="mlp-qa", features=None), fine_tuning, targets=["vqa_orig"])
    assert (done["model"], done["rows"][0]["skipped"]) == ("mlp-qa", 0)


@pytest.mark.slow
def test_other_folders_and_a_second_process_are_rejected(recipe, fine_tuning, monkeypatch):
    args = recipe()
    args.output.mkdir()
    (args.output / "holiday.jpg").touch()
    with pytest.raises(InputError, match=r"is not the folder of a transfer: it has holiday.jpg"):
        transfer(args, fine_tuning, targets=TARGETS[:1])
    (args.output / "holiday.jpg").unlink()
    with FileLock(args.output / ".lock"), pytest.raises(InputError, match="another transfer writes there"):
        transfer(args, fine_tuning, targets=TARGETS[:1])
    done = transfer(args, fine_tuning, targets=TARGETS[:1])
    assert transfer(args, fine_tuning, targets=TARGETS[:1]) == done
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="a transfer runs in one process"):
        transfer(args, fine_tuning, targets=TARGETS[:1])


class Stop(Exception):
    pass


@pytest.mark.slow
def test_nothing_is_chosen_on_the_split_that_is_reported(recipe, fine_tuning):
    args = recipe()
    done = transfer(args, fine_tuning, targets=["vqa_orig"])
    record = json.loads((args.output / "fine_tuned" / "vqa_orig" / "best" / "training.json").read_text())
    rows = pq.read_metadata(Path(args.dataset) / "vqa_orig" / "train-00000.parquet").num_rows
    assert record["rows"]["train"] + record["rows"]["held_out"] == rows
    assert done["rows"][0]["fine_tuned"]["questions"] != record["rows"]["held_out"]


@pytest.mark.slow
def test_a_transfer_stopped_during_training_is_resumed(recipe, fine_tuning, tmp_path):
    args = recipe(epochs=3)
    steps = []

    def progress(step, done, total):
        if step == "training":
            steps.append(done)
            if len(steps) == int(0.9 * total):
                raise Stop

    with pytest.raises(Stop):
        transfer(args, fine_tuning, targets=TARGETS[:1], progress=progress)
    before = len(steps)
    transfer(args, fine_tuning, targets=TARGETS[:1], progress=progress)
    assert 1 < steps[before] < steps[before - 1]  # from the last validation
    whole = replace(args, output=tmp_path / "whole")
    transfer(whole, fine_tuning, targets=TARGETS[:1])
    assert figures(args.output) == figures(whole.output)
