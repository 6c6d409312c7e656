"""Settings of a run: options, a file, defaults; an invalid one is rejected by name before anything is read."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import read_settings_file
from hf_vqa_mc.training.settings import TrainingSettings

GIVEN = {"dataset": "vqa_mc", "config": "toy_qou", "output": Path("run")}


@pytest.fixture
def started(monkeypatch):
    """The settings of the runs that a command line starts; nothing is trained."""
    settings = []
    monkeypatch.setattr("hf_vqa_mc.data.reading.training_tables", lambda dataset, config: (config, None))
    monkeypatch.setattr("hf_vqa_mc.training.loop.train", lambda given, *_: settings.append(given) or 1 / 0)
    return settings


def vqa_mc(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_options_come_before_the_file_and_the_file_before_defaults(tmp_path, started):
    file = tmp_path / "run.yaml"
    file.write_text(
        "model: mlp-qa\nepochs: 3\nfirst_layers: [x]\nmodel_settings:\n  hidden_size: 64\nlearning_rate: 1e-3\n"
    )
    vqa_mc("train", "vqa_mc", "toy_qou", "--output", "run", "--settings", file, "--epochs", 5)
    (read,) = started
    assert (read.model, read.epochs, read.first_layers, read.seed) == ("mlp-qa", 5.0, ("x",), 0)
    assert read.model_settings == {"hidden_size": 64}
    assert read.learning_rate == 0.001  # which YAML takes for text
    assert read.effective.batch_size == TrainingSettings(**GIVEN).effective.batch_size == 100


def test_a_file_can_hold_all_settings(tmp_path, started):
    file = tmp_path / "run.yaml"
    file.write_text("dataset: vqa_mc\nconfig: toy_qou\noutput: run\nfeatures: null\n")
    vqa_mc("train", "--settings", file)
    assert started == [TrainingSettings(**GIVEN)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epoch: 3", "did you mean 'epochs'"),
        ("epochs: many", "expected a number"),
        ("batch_size: 1.5", "expected an integer"),
        ("batch_size: true", "expected an integer"),
        ("model_settings: [1]", "expected names and values"),
        ("- model", "expected settings"),
        ("model: [", "not YAML"),
        ("!!python/object/apply:os.system ['echo']", "not YAML"),
    ],
)
def test_an_invalid_settings_file_is_named(tmp_path, text, message):
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"run\.yaml") as error:
        read_settings_file(file, TrainingSettings)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("model", "mpl-qa", "did you mean 'mlp-qa'"),
        ("optimizer", "sgdm", "did you mean 'sgd'"),
        ("epochs", 0, "--epochs 0.0: expected more than 0"),
        ("epochs", float("inf"), "more than 0"),
        ("learning_rate", float("nan"), "more than 0"),
        ("batch_size", 0, "1 or more"),
        ("held_out", 1.0, "less than 1"),
        ("seed", 2**70, "less than 2**63"),
    ],
)
def test_an_invalid_setting_is_named(name, value, message):
    with pytest.raises(InputError, match=re.escape(message)):
        TrainingSettings(**GIVEN, **{name: value})


def test_fine_tuning_begins_at_the_papers_rate():
    new = TrainingSettings(**GIVEN)
    assert new.effective.learning_rate == 0.1
    assert replace(new, optimizer="rmsprop").effective.learning_rate == 4e-4
    assert replace(new, init_from="run/best").effective.learning_rate == 0.001
    assert replace(new, init_from="run/best", learning_rate=0.01).effective.learning_rate == 0.01


def test_the_papers_recipe_counts_steps_and_divides_the_rate_after_each_third():
    paper = TrainingSettings(**GIVEN, recipe="paper")
    assert (paper.effective.learning_rate, paper.effective.optimizer, paper.steps_of(7)) == (0.01, "sgd", 600_000)
    rates = [paper.rate_at(step, 9) for step in range(9)]
    assert rates == pytest.approx([0.01] * 3 + [0.001] * 3 + [0.0001] * 3)
    assert replace(paper, init_from="run/best").effective.learning_rate == 0.001
    assert replace(paper, steps=50).steps_of(10**6) == 50
    assert replace(paper, epochs=2).steps_of(1000) == 20
    assert TrainingSettings(**GIVEN, steps=50).as_json()["epochs"] is None
    with pytest.raises(InputError, match="--steps 50: --epochs 2 is given, too; remove one of them"):
        TrainingSettings(**GIVEN, steps=50, epochs=2)


def test_the_rate_falls_by_ten_after_each_part_of_the_steps():
    settings = TrainingSettings(**GIVEN, learning_rate=1.0)
    rates = [settings.rate_at(step, 10) for step in range(10)]
    assert rates == pytest.approx([1] * 7 + [0.1] * 2 + [0.01])


def test_the_command_in_the_record_starts_the_same_run(started, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("features of mine").mkdir()
    Path("glove.txt").touch()
    settings = TrainingSettings(
        **GIVEN,
        model="mlp-iqa",
        features=Path("features of mine"),
        word_vectors="glove.txt",
        model_settings={"hidden_size": 64, "dropout": 0.25},
        train_splits=("train", "validation"),
        learning_rate=0.03,
    )
    program, verb, *words = shlex.split(settings.command())
    result = vqa_mc(verb, *words)
    assert (program, result.exit_code) == ("vqa-mc", 1)
    assert "unexpected ZeroDivisionError" in result.stderr
    assert started == [settings]


def test_a_model_setting_without_a_value_is_refused():
    result = vqa_mc("train", "vqa_mc", "toy", "--output", "run", "--model-settings", "hidden_size")
    assert result.exit_code == 2
    assert "NAME=VALUE" in result.stderr
