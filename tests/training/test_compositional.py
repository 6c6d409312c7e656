"""Models that compose: layouts of modules, recurrent units, programs as questions, and what their recipes do."""

import shutil
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.recipe import OPEN_ENDED
from hf_vqa_mc.training.loop import averaged_weights, change_gradients, train
from hf_vqa_mc.training.settings import TrainingSettings
from tests.training import toy_dataset

SMALL = {
    "nmn": {"size": 32, "word_size": 16, "lstm_size": 16, "dropout": 0.0},
    "rau": {"size": 32, "word_size": 16, "lstm_size": 16, "attention_size": 16, "steps": 3, "dropout": 0.0},
    "mac": {"size": 32, "word_size": 16, "steps": 2},
}
PROGRAMS = {
    "What colour is it?": "select: picture (17,4)->query: color [0]",
    "What kind is this one?": "select: picture (-)->query: kind [0]",
}


@pytest.fixture(scope="session")
def grid(toy, tmp_path_factory):
    return toy_dataset.features(toy, tmp_path_factory.mktemp("grid") / "vqa_mc_features", grid=2)


@pytest.fixture(scope="session")
def with_programs(toy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs") / "toy"
    shutil.copytree(toy, folder)
    for path in (folder / toy_dataset.CONFIG).glob("*.parquet"):
        table = pq.read_table(path)
        programs = [PROGRAMS[text] for text in table["question"].to_pylist()]
        pq.write_table(table.append_column("semantic_str", [programs]), path)
    return folder


def run(dataset, output, model, progress=silent, **changes):
    given = {"model_settings": SMALL.get(model, {}), "epochs": 6, "batch_size": 20, "optimizer": "adam", **changes}
    given = {"learning_rate": 3e-3, **given}
    return train(TrainingSettings(str(dataset), toy_dataset.CONFIG, output=output, model=model, **given), progress)


@pytest.mark.parametrize("model", ["nmn", pytest.param("rau", marks=pytest.mark.slow)])
def test_a_model_learns_and_its_checkpoint_answers_and_attends(toy, grid, tmp_path, model):
    result = run(toy, tmp_path / "run", model, features=grid)
    assert result.record["results"]["test"]["accuracy"] > 0.9
    maps = tmp_path / "maps.json"
    found = vm.predict(
        result.model_folder, str(toy), toy_dataset.CONFIG, features=grid, attentions=maps
    )  # fmt: skip
    assert found.results == result.record["results"]["test"]
    assert maps.exists()


def stop(step, done, total):
    """Interrupts a run between two validations."""
    if step == "training" and done > total * 3 // 4:
        raise KeyboardInterrupt


@pytest.mark.slow
def test_the_average_of_the_weights_is_saved_and_survives_an_interruption(toy, grid, tmp_path):
    given = {"features": grid, "epochs": 2, "model_settings": {**SMALL["mac"], "dropout": 0.5}}
    whole = run(toy, tmp_path / "whole", "mac", **given)
    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        run(toy, parts, "mac", progress=stop, **given)
    again = run(toy, parts, "mac", **given)
    assert again.record["results"] == whole.record["results"]
    one, other = (load_file(folder / "last" / "state.safetensors") for folder in (parts, whole.settings.output))
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert {name for name in one if name.startswith("average.")}
    best, last = load_file(whole.model_folder / "model.safetensors"), one
    assert not any(torch.equal(best[name], last[f"model.{name}"]) for name in best)
    if whole.record["best_step"] == whole.record["steps"]:
        assert all(torch.equal(best[name], last[f"average.module.{name}"]) for name in best)


def test_averages_are_those_of_a_plain_formulation():
    model, rng = torch.nn.Linear(3, 2), torch.Generator().manual_seed(0)
    averages, expected = averaged_weights(model, 0.3), model.weight.detach().clone().double()
    for step in range(9):
        with torch.no_grad():
            model.weight.copy_(torch.randn(2, 3, generator=rng))
        averages.update_parameters(model)
        decay = min(0.3, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * model.weight.detach()
    torch.testing.assert_close(averages.module.weight.double(), expected, atol=1e-6, rtol=1e-5)


def changed(step=3, seed=0, **recipe):
    weight = torch.nn.Parameter(torch.zeros(1000))
    weight.grad = torch.full((1000,), 2.0)
    accelerator = SimpleNamespace(device="cpu", unscale_gradients=lambda _: None)
    change_gradients(accelerator, torch.optim.SGD([weight], 0.1), OPEN_ENDED._replace(**recipe), seed, step)
    return weight.grad


def test_gradients_are_clipped_by_norm_and_by_value_and_left_alone_by_default():
    assert (changed() == 2).all()
    assert changed(clip_norm=0.5).norm() == pytest.approx(0.5)
    assert (changed(clip_value=0.3) == 0.3).all()
    assert TrainingSettings("", "", output="", model="mac").effective.clip_norm == 8


def test_noise_depends_on_seed_and_step_only_and_falls():
    first = changed(gradient_noise=1.0)
    assert (first == changed(gradient_noise=1.0)).all()
    assert (first != changed(gradient_noise=1.0, seed=1)).any()
    assert float((first - 2).std()) == pytest.approx(4**-0.275, rel=0.1)
    assert float((changed(99, gradient_noise=1.0) - 2).std()) == pytest.approx(100**-0.275, rel=0.1)


@pytest.mark.parametrize("model", ["lstm-q", "nmn"])
def test_programs_are_read_instead_of_questions(with_programs, grid, tmp_path, model):
    given = {"questions": "programs", "epochs": 1, **({"features": grid} if model == "nmn" else {})}
    result = run(with_programs, tmp_path / "run", model, **given)
    _, processor = load_checkpoint(result.model_folder)
    assert processor.texts.form == "programs"
    assert {"select", "picture", "query", "color"} <= set(processor.texts.words.words)
    assert not {"seventeen", "17"} & set(processor.texts.words.words)  # ids of objects
    features = {"features": grid} if model == "nmn" else {}
    found = vm.predict(result.model_folder, str(with_programs), toy_dataset.CONFIG, **features)
    assert found.results == result.record["results"]["test"]
    if model == "nmn":
        assert set(processor.texts.layout_words) == {"picture", "color", "kind"}
        assert result.record["layouts"] == {"rules": 1, "words": 3}
    with pytest.raises(InputError, match="reads programs: give --questions programs"):
        run(with_programs, tmp_path / "other", model, init_from=str(result.model_folder), **features,
            model_settings={})  # fmt: skip


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ("lstm-q", {"questions": "programs"}, "no column 'semantic_str' with programs; build gqa_balanced"),
        ("mlp-qa", {"questions": "programs"}, "--questions: mlp-qa does not use it; remove it"),
        ("lstm-q", {"questions": "programs", "first_words": 2}, "--first-words and --shuffle-words change the text"),
    ],
)
def test_programs_that_are_missing_or_not_used_are_named(toy, tmp_path, model, changes, message):
    with pytest.raises(InputError, match=message):
        run(toy, tmp_path / "run", model, model_settings={}, **changes)


def test_an_empty_program_is_named(with_programs, tmp_path):
    folder = tmp_path / "toy"
    shutil.copytree(with_programs, folder)
    path = next((folder / toy_dataset.CONFIG).glob("train*.parquet"))
    table = pq.read_table(path)
    programs = ["select: a->query: b [0]", "", *table["semantic_str"].to_pylist()[2:]]
    pq.write_table(table.drop_columns("semantic_str").append_column("semantic_str", [programs]), path)
    with pytest.raises(InputError, match="train, row 2: the program is empty"):
        run(folder, tmp_path / "run", "lstm-q", questions="programs")
