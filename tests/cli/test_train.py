"""vqa-mc train and predict: a run from the shell, what it says, writes and refuses."""

import json

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from tests.training import toy_dataset
from tests.training.toy_dataset import CONFIG


def enter(folder, monkeypatch):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
    monkeypatch.chdir(folder)
    return folder


def with_toy_dataset(folder):
    toy_dataset.make(folder / "toy")
    toy_dataset.vectors_file(folder)
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the toy dataset and its word vectors, in which the commands run."""
    return with_toy_dataset(enter(tmp_path, monkeypatch))


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """Such a folder with one finished run, and the result of its command."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as monkeypatch:
        with_toy_dataset(enter(folder, monkeypatch))
        return folder, trained("--held-out", 0.2)


@pytest.fixture
def run_folder(first_run, monkeypatch):
    return enter(first_run[0], monkeypatch)


def vqa_mc(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def trained(*words):
    options = ("--model", "mlp-qa", "--word-vectors", "vectors0.txt", "--model-settings", "hidden_size=32")
    return vqa_mc("train", "toy", CONFIG, "--output", "run", "--epochs", 3, "--batch-size", 20, *options, *words)


def test_a_run_reports_its_progress_and_results(first_run):
    folder, done = first_run
    assert done.exit_code == 0, done.output
    assert "step 47 of 47: loss" in done.stderr
    assert "of it waiting for input" in done.stderr
    record = json.loads((folder / "run" / "best" / "training.json").read_text())
    accuracy = record["results"]["test"]["accuracy"]
    assert f"{100 * accuracy:.1f}" in done.stdout  # the table of vqa-mc score
    assert "chosen, by kind of choice" in done.stdout
    assert "--folder run/best --dry-run" in done.stdout


def test_settings_in_a_file_give_the_same_run_as_options(run_folder):
    (run_folder / "run.yaml").write_text(
        f"dataset: toy\nconfig: {CONFIG}\noutput: other\nmodel: mlp-qa\nword_vectors: vectors0.txt\nepochs: 3\n"
        "batch_size: 20\nmodel_settings: {hidden_size: 32}\nheld_out: 0.2\n"
    )
    done = vqa_mc("train", "--settings", "run.yaml", "--json")
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    assert printed == json.loads((run_folder / "other" / "best" / "training.json").read_text())
    first = json.loads((run_folder / "run" / "best" / "training.json").read_text())
    assert printed["results"] == first["results"]
    assert printed["curve"] == first["curve"]


def test_predictions_are_what_score_takes(run_folder):
    done = vqa_mc("predict", "run/best", "toy", CONFIG, "--output", "picks.json")
    assert done.exit_code == 0, done.output
    accuracy = json.loads((run_folder / "run" / "best" / "training.json").read_text())["results"]["test"]["accuracy"]
    assert done.stdout.startswith(f"{accuracy:.1%} of 120 questions of {CONFIG}, test")
    scored = vqa_mc("score", "picks.json", "toy", CONFIG, "--json")
    assert json.loads(scored.stdout)["results"]["mc_accuracy"]["accuracy"] == accuracy
    of_training = vqa_mc("predict", "run/best", "toy", CONFIG, "--split", "train", "--json")
    assert json.loads(of_training.stdout)["results"]["questions"] == 400


def test_questions_left_out_are_counted_in_what_came_out(folder):
    from hf_vqa_mc.data.dataset_images import dataset_images
    from hf_vqa_mc.extraction.extraction import extract_features

    pictures = toy_dataset.draw(folder / "pictures", sum(toy_dataset.IMAGES.values()))
    (pictures / "0250.png").unlink()
    features = extract_features(dataset_images("toy", CONFIG, pictures), backbone="pixels", skip_missing=True).folder
    done = trained("--held-out", 0.2, "--model", "mlp-ia", "--features", features, "--skip-missing")
    assert done.exit_code == 0, done.output
    assert "2 questions of all splits" in done.stdout
    assert "118" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "toy", CONFIG], "missing: --output (Folder of the run"),
        (["train", "toy", CONFIG, "--output", "run"], "mlp-iqa sees images: add --features"),
        (["train", "toy", "toy_iou", "--output", "run", "--model", "mlp-a"], "did you mean 'toy_iou_qou'"),
        (["train", "no/where/toy", CONFIG, "--output", "run", "--model", "mlp-a"], "no/where/toy"),
        (["train", "--settings", "none.yaml"], "no such file"),
        (["predict", "no/best/at/all", "toy", CONFIG], "no/best/at/all"),
        (["predict", "toy", "toy", CONFIG, "--output", "toy"], "is a folder"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(folder, words, message):
    done = vqa_mc(*words)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.output
