"""Training open-ended models on any rows with answers: vocabulary, targets, metrics, resumption, predictions."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.question_texts import most_frequent
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.training import loop as training_loop
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.questions import read_questions
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.tasks import soft_scores
from tests.configs import write_configs
from tests.training import toy_dataset

COLOURS = ["red", "green", "blue", "white"]


@pytest.fixture
def answered(tmp_path):
    """Ten annotators answer questions whose words determine the answer; the last split has no answers."""
    rng = np.random.default_rng(0)
    tables = {}
    for split, count in {"train": 240, "validation": 60, "test": 20}.items():
        rows = []
        for number in range(count):
            colour = COLOURS[number % 4]
            texts = [colour] * 6 + [COLOURS[(number + 1) % 4]] * 2 + [f"rare {rng.integers(10**6)}"] * 2
            records = [{"answer": text, "answer_id": at} for at, text in enumerate(texts)]
            rows.append(
                {
                    "question_id": f"{split}{number}",
                    "image_id": f"{split}{number // 2}",
                    "question": f"which colour has thing {colour[::-1]} ?",
                    "question_type": "which",
                    "answer": "" if split == "test" else colour,
                    "answers": [] if split == "test" else records,
                }
            )  # fmt: skip
        answers = ("answers", pa.list_(pa.struct([("answer", pa.string()), ("answer_id", pa.int64())])))
        columns = [(name, pa.string()) for name in rows[0] if name != "answers"]
        tables[split] = pa.Table.from_pylist(rows, pa.schema([*columns, answers]))
    return write_configs(tmp_path / "answered", {"hidden": {"test": tables.pop("test")}, "open": tables})


def settings_of(folder, config, output, **changes):
    defaults = {"model": "bow-q", "epochs": 6, "batch_size": 20, "optimizer": "adam", "held_out": 0.2}
    return TrainingSettings(str(folder), config, output=output, **{**defaults, **changes})


@pytest.mark.parametrize(
    "targets", ["soft", *(pytest.param(one, marks=pytest.mark.slow) for one in ("answer", "annotator"))]
)
def test_a_model_learns_answers_and_is_measured_by_consensus_accuracy(answered, tmp_path, targets):
    result = train(settings_of(answered, "open", tmp_path / "run", targets=targets, epochs=12))
    (found,) = [one for key, one in result.record["results"].items() if key == "validation"]
    assert found["metric"] == "consensus accuracy"
    assert found["accuracy"] == 1.0
    assert result.record["answers"]["size"] == 4
    assert result.record["answers"]["questions"] == 1.0
    assert result.record["answers"]["human_answers"] == pytest.approx(0.8)
    predictions = json.loads((tmp_path / "run" / "predictions.json").read_text())
    assert {one["answer"] for one in predictions} == set(COLOURS)


def test_splits_can_be_trained_on_together(answered, tmp_path):
    given = {"train_splits": ("train", "validation"), "epochs": 1}
    record = train(settings_of(answered, "open", tmp_path / "run", **given)).record
    assert record["rows"]["train"] + record["rows"]["held_out"] == 300
    assert list(record["results"]) == ["held_out"]
    assert "--train-splits train --train-splits validation" in record["command"]
    with pytest.raises(InputError, match=r"--train-splits: unknown split of .*'val'. Known: train, validation"):
        train(settings_of(answered, "open", tmp_path / "other", train_splits=("train", "val")))


def test_a_baseline_that_always_answers_yes_needs_that_answer(answered, tmp_path):
    with pytest.raises(InputError, match="no training answer is 'yes', which this baseline always gives"):
        train(settings_of(answered, "open", tmp_path / "run", model="always-yes"))


def test_a_model_that_is_fitted_has_no_best_step(answered, tmp_path):
    run = train(settings_of(answered, "open", tmp_path / "run", model="popular-answer"))
    score = run.record["results"]["held_out"]["accuracy"]
    assert f"fitted in one pass: {score:.1%} on held-out training images" in list(run.report())
    found = vm.predict(run.model_folder, str(answered), "open", output=tmp_path / "answers.json")
    command = f"vqa-mc score {tmp_path / 'answers.json'} {answered} open --split validation"
    assert list(found.report())[-1] == f"to see the score in detail: {command}"


def test_questions_whose_answers_are_not_published_are_predicted(answered, tmp_path):
    run = train(settings_of(answered, "open", tmp_path / "run"))
    found = vm.predict(run.model_folder, str(answered), "hidden", output=tmp_path / "submission.json")
    assert found.results == {"questions": 20}
    assert "their correct answers are not published" in "\n".join(found.report())
    assert len(json.loads((tmp_path / "submission.json").read_text())) == 20


def test_answers_outside_the_vocabulary_are_not_trained_on(answered, tmp_path):
    record = train(settings_of(answered, "open", tmp_path / "run", answers=2)).record
    assert record["answers"]["size"] == 2
    assert record["answers"]["questions"] == pytest.approx(0.5, abs=0.05)
    assert record["answers"]["human_answers"] == pytest.approx(0.4, abs=0.05)
    assert record["rows"]["train"] < 110
    assert record["results"]["validation"]["answerable"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lstm-q-i", "bow-q-i"])
def test_models_that_see_images_answer_multiple_choice_rows(toy, toy_features, tmp_path, name):
    run = train(settings_of(toy, toy_dataset.CONFIG, tmp_path / "run", model=name, features=toy_features, epochs=12))
    found = run.record["results"]["test"]
    assert found["metric"] == "accuracy"
    assert found["accuracy"] > 0.85
    assert found["multiple_choice"]["accuracy"] >= found["accuracy"]
    again = vm.predict(
        run.model_folder, str(toy), toy_dataset.CONFIG, features=toy_features, output=tmp_path / "answers.json"
    )
    assert "to see which decoys were chosen: vqa-mc score" in "\n".join(again.report())
    assert again.results == found
    frame = again.to_pandas()
    assert (frame["answer"] == frame["target"]).mean() == pytest.approx(found["accuracy"])
    # the predictions file holds the picked choices, which vqa-mc score reads
    scored = vm.score(tmp_path / "run" / "predictions.json", str(toy), toy_dataset.CONFIG).to_dict()
    assert found["multiple_choice"]["accuracy"] == pytest.approx(scored["results"]["mc_accuracy"]["accuracy"])


@pytest.mark.slow
def test_an_interrupted_run_ends_as_one_that_was_not(answered, tmp_path, monkeypatch):
    given = {"model": "lstm-q", "model_settings": {"lstm_size": 8}, "targets": "annotator"}
    whole = train(settings_of(answered, "open", tmp_path / "whole", **given)).record
    real = training_loop._Run._step

    def failing(run, number, made):
        return real(run, number, made) if number < 40 else 1 / 0

    monkeypatch.setattr(training_loop._Run, "_step", failing)
    with pytest.raises(ZeroDivisionError):
        train(settings_of(answered, "open", tmp_path / "cut", **given))
    monkeypatch.setattr(training_loop._Run, "_step", real)
    resumed = train(settings_of(answered, "open", tmp_path / "cut", **given)).record
    assert resumed["curve"] == whole["curve"]
    assert resumed["results"] == whole["results"]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bow-q", "lstm-q"])
def test_a_checkpoint_is_trained_further_with_the_new_answers_and_words_after_its_own(answered, tmp_path, model):
    first = train(settings_of(answered, "open", tmp_path / "first", answers=3, model=model))
    edited(answered, lambda row: {**row, "question": f"{row['question']} novel"} if row["question_id"] else row)
    given = {"init_from": str(first.model_folder), "epochs": 1, "learning_rate": 1e-12, "model": model}
    second = train(settings_of(answered, "open", tmp_path / "second", **given))
    assert second.record["answers"]["size"] > 3 and second.record["answers"]["questions"] == 1
    (before, old), (after, new) = (load_checkpoint(one.model_folder) for one in (first, second))
    assert list(after.config.id2label.values())[:3] == list(before.config.id2label.values())
    assert new.texts.words.words[: len(old.texts.words.words)] == old.texts.words.words
    assert ("novel" in new.texts.words.words) == (model == "lstm-q")
    state = after.state_dict()
    for name, weights in before.state_dict().items():
        kept = state[name][tuple(map(slice, weights.shape))]
        assert torch.allclose(kept.float(), weights.float(), atol=1e-6), name


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"word_vectors": "corpus"}, "--word-vectors: bow-q does not use it; remove it"),
        ({"recipe": "paper"}, "--recipe: bow-q does not use it"),
        ({"model": "mlp-qa", "targets": "soft"}, "--targets: mlp-qa does not use it"),
        ({"model": "image"}, "image sees images: add --features DIR"),
        ({"model_settings": {"bag_size": 3}}, "bag_size"),
    ],
)
def test_settings_that_do_not_fit_the_model_are_refused(answered, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        train(settings_of(answered, "open", tmp_path / "run", **changes))


def test_rows_without_answers_cannot_be_trained_on(answered, tmp_path):
    with pytest.raises(InputError, match="has no split train"):
        train(settings_of(answered, "hidden", tmp_path / "run"))


def edited(folder, change):
    for split in ("train", "validation"):
        path = folder / "open" / f"{split}-00000.parquet"
        pq.write_table(pa.Table.from_pylist([change(row) for row in pq.read_table(path).to_pylist()]), path)
    return folder


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("bow-q", lambda row: row | {"answer": ""}, "has no answers to train on"),
        ("popular-per-type", lambda row: row | {"question_type": ["a"]}, "holds list.*expected a text or number"),
    ],
)
def test_rows_that_a_model_cannot_be_trained_on_are_refused(answered, tmp_path, model, change, message):
    with pytest.raises(InputError, match=message):
        train(settings_of(edited(answered, change), "open", tmp_path / "run", model=model))


def test_a_checkpoint_in_half_precision_predicts(answered, tmp_path):
    run = train(settings_of(answered, "open", tmp_path / "run", epochs=1))
    load_checkpoint(run.model_folder)[0].half().save_pretrained(run.model_folder)
    assert vm.predict(run.model_folder, str(answered), "open", split="validation").results["questions"] == 60


@pytest.mark.slow
def test_an_open_ended_model_is_transferred(answered, tmp_path):
    recipe = {"model": "bow-q", "epochs": 2, "batch_size": 20, "optimizer": "adam"}
    tuning = {"epochs": 1, "batch_size": 20, "optimizer": "adam"}
    given = {"targets": ["open"], "fine_tuning_recipe": tuning}
    done = vm.transfer(str(answered), pretrain="open", recipe=recipe, output=tmp_path / "one", **given)
    (row,) = done.figures["rows"]
    assert row["as_is"] == done.figures["pretrained"]
    assert row["as_is"]["metric"] == row["fine_tuned"]["metric"] == "consensus accuracy"
    again = vm.transfer(
        str(answered), init_from=str(tmp_path / "one/pretrained/best"), output=tmp_path / "two", **given
    )
    assert again.figures["rows"] == done.figures["rows"]
    assert list(done.to_pandas()["chance"]) == [None]
    assert list(done.report())


def test_types_and_metric_follow_the_dataset(answered):
    splits = read_questions(str(answered), "open", open_ended=True).splits
    assert splits["train"].metric == "consensus accuracy"
    assert splits["train"].types == ["which"] * 240
    assert not read_questions(str(answered), "hidden", open_ended=True).splits["test"].has_answers


def test_the_vocabulary_has_the_most_frequent_answers_ties_by_text():
    assert most_frequent(Counter(["b", "a", "c", "c", "b", "d"]))[:3] == ("b", "c", "a")


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_soft_scores_are_the_consensus_accuracy_of_each_answer(annotators):
    answers, counts = np.unique(annotators, return_counts=True)
    records = [{"answer": f"word{one}", "answer_id": at} for at, one in enumerate(annotators)]
    found = soft_scores(counts, len(annotators))
    for answer, score in zip(answers, found, strict=True):
        expected = vqa_accuracy([f"word{answer}"], [records])["accuracy"] if len(annotators) > 1 else 1.0
        assert score == pytest.approx(expected)


def test_soft_scores_of_ten_annotators():
    assert soft_scores(np.array([1, 2, 3, 4, 10]), 10) == pytest.approx([0.3, 0.6, 0.9, 1.0, 1.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "^--model-settings: steps is 0, expected 1 to 100$"),
        ({"size": "a"}, "^--model-settings: Field 'size' expected int, got str"),
    ],
)
def test_the_error_of_a_model_setting_has_the_reason_alone(settings, message):
    with pytest.raises(InputError, match=message):
        MODELS.find("mac").config(settings)
