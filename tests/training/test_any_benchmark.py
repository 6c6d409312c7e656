"""Models train and predict on any benchmark that `vqa-mc audit` reads, and the predictions are scored on it."""

import json

import pandas as pd
import pytest
from datasets import load_dataset

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from tests.training import toy_dataset

LETTERS = "ABCDEFGH"


@pytest.fixture
def table(toy):
    """The toy dataset with a column for each choice and the letter of the correct one, as people keep such rows."""
    rows = []
    for split, of_split in load_dataset(str(toy), toy_dataset.CONFIG).items():
        for row in of_split:
            choices = dict(zip(LETTERS, row["choices"], strict=False))
            rows.append({"id": row["question_id"], "question": row["question"], **choices,
                         "answer": LETTERS[row["label"]], "split": split})  # fmt: skip
    return pd.DataFrame(rows)


def given(settings, **changes):
    found = vars(settings(**changes))
    return {name: found[name] for name in ("output", "model", "word_vectors", "model_settings", "epochs",
                                           "batch_size", "learning_rate", "held_out")}  # fmt: skip


def test_a_csv_with_a_column_for_each_choice(settings, table, tmp_path):
    table.to_csv(tmp_path / "mine.csv", index=False)
    options = given(settings)
    run = vm.train(str(tmp_path / "mine.csv"), **options)
    assert run.record["config"] == "mine"
    assert run.record["results"]["test"]["chosen_kinds"] is None
    found = vm.predict(run.model_folder, str(tmp_path / "mine.csv"), word_vectors=options["word_vectors"],
                       output=tmp_path / "p.json")  # fmt: skip
    assert found.results == run.record["results"]["test"]
    (hint,) = [line for line in found.report() if "vqa-mc score" in line]
    assert hint.endswith(f"vqa-mc score {tmp_path / 'p.json'} {tmp_path / 'mine.csv'} --split test")
    scored = vm.score(tmp_path / "p.json", tmp_path / "mine.csv", split="test")
    assert scored.results["mc_accuracy"]["accuracy"] == found.results["accuracy"]
    assert found.results["accuracy"] > found.results["chance"]


@pytest.mark.slow
def test_a_benchmark_that_remedy_wrote(settings, toy, table, tmp_path, untrained_report_probes):
    options = {"word_vectors": given(settings)["word_vectors"], "force": True}
    vm.remedy(str(toy), toy_dataset.CONFIG, output=tmp_path / "folder", variant="iou_qou", **options)
    table.to_csv(tmp_path / "mine.csv", index=False)
    vm.remedy(str(tmp_path / "mine.csv"), output=tmp_path / "file.csv", variant="qou", **options)
    for name in ("folder", "file.csv"):
        run = vm.train(str(tmp_path / name), **given(settings, output=tmp_path / f"run of {name}", epochs=1))
        found = vm.predict(run.model_folder, str(tmp_path / name), word_vectors=options["word_vectors"])
        found.save(tmp_path / f"{name}.json")
        scored = vm.score(tmp_path / f"{name}.json", tmp_path / name)
        assert scored.results["mc_accuracy"]["accuracy"] == found.results["accuracy"], name


def test_rows_without_images_are_held_out_by_their_question(settings, table, tmp_path):
    table[table.split == "train"].drop(columns="split").to_csv(tmp_path / "train.csv", index=False)
    run = vm.train(str(tmp_path / "train.csv"), **given(settings, epochs=1))
    assert set(run.record["results"]) == {"held_out"}
    rows = json.loads((run.model_folder / "training.json").read_text())["rows"]
    assert sum(rows.values()) == (table.split == "train").sum()


@pytest.mark.parametrize(
    ("name", "message"),
    [("test.csv", "test.csv, test has no split train, but test"), ("no.csv", "no.csv"), ("words.csv", "words.csv")],
)
def test_what_cannot_be_trained_on_is_one_line(settings, table, tmp_path, name, message):
    table[table.split == "test"].to_csv(tmp_path / "test.csv", index=False)
    pd.DataFrame({"text": ["a", "b"]}).to_csv(tmp_path / "words.csv", index=False)
    with pytest.raises(InputError, match=message):
        vm.train(str(tmp_path / name), **given(settings))
