"""Rows with several human answers are measured by consensus accuracy, next to the accuracy of picking the target."""

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.hub.model_card import model_card, read_record
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.questions import metric_of
from tests.training import toy_dataset
from tests.training.toy_dataset import CONFIG


@pytest.fixture
def dataset(tmp_path):
    return str(toy_dataset.annotated(toy_dataset.make(tmp_path / "annotated")))


def assert_scored_alike(found, predictions, dataset):
    """The figures are those of `vqa-mc score`."""
    scored = vm.score(predictions, dataset, CONFIG, metric=("vqa_accuracy", "mc_accuracy")).results
    assert found["accuracy"] == pytest.approx(scored["vqa_accuracy"]["accuracy"])
    assert found["stderr"] == pytest.approx(scored["vqa_accuracy"]["stderr"])
    assert found["chance"] == pytest.approx(scored["vqa_accuracy"]["chance"])
    of_target = {name: scored["mc_accuracy"][name] for name in ("accuracy", "stderr", "interval", "chance")}
    assert found["target_accuracy"].pop("interval") == pytest.approx(of_target.pop("interval"))
    assert found["target_accuracy"] == pytest.approx(of_target)
    assert found["accuracy"] > found["target_accuracy"]["accuracy"]
    assert found["chance"] > found["target_accuracy"]["chance"]
    return scored


def test_picked_choices_are_measured_by_consensus_accuracy(settings, dataset, tmp_path):
    run = train(settings(dataset=dataset))
    found = run.record["results"]["test"]
    scored = assert_scored_alike(found, tmp_path / "run" / "predictions.json", dataset)
    assert found["metric"] == "consensus accuracy"
    assert found["per_answer_type"] == pytest.approx(scored["vqa_accuracy"]["per_answer_type"])
    assert found["chosen_kinds"] == pytest.approx(scored["mc_accuracy"]["chosen_kinds"])


def test_the_best_checkpoint_has_the_highest_consensus_accuracy(settings, dataset):
    record = train(settings(dataset=dataset)).record
    held_out = record["results"]["held_out"]
    assert max(point["accuracy"] for point in record["curve"]) == pytest.approx(held_out["accuracy"])
    assert held_out["accuracy"] > held_out["target_accuracy"]["accuracy"]


def test_reports_and_card_show_both_accuracies(settings, dataset):
    args = settings(dataset=dataset, epochs=1)
    run = train(args)
    found = run.record["results"]["test"]
    accuracy, chance = (f"{100 * found[name]:.1f}" for name in ("accuracy", "chance"))
    target, target_chance = (f"{100 * found['target_accuracy'][name]:.1f}" for name in ("accuracy", "chance"))
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in repr(run).splitlines()]
    table = {line[0]: line[1:] for line in cells if line}
    assert table["consensus accuracy"] == [
        accuracy,
        " to ".join(f"{100 * bound:.1f}" for bound in found["interval"]),
        chance,
        "120",
    ]
    assert (table["picking the target"][0], table["picking the target"][2]) == (target, target_chance)
    again = vm.predict(run.model_folder, dataset, CONFIG, word_vectors=args.word_vectors)
    assert again.results == found
    assert list(again.report()) == [
        f"consensus accuracy {accuracy}% on 120 questions of {CONFIG}, test (chance {chance}%)",
        f"picking the target: {target}% (chance {target_chance}%)",
    ]
    card = model_card(read_record(run.model_folder), "ada/toy")
    assert "| split | consensus accuracy | standard error | chance | picking the target | questions |" in card
    assert f"| {chance}% | {target}% | 120 |" in card
    assert "name: consensus accuracy" in card
    assert "Accuracy is the dataset's own metric, consensus accuracy of the highest-scoring choice." in card
    assert "### By answer type" in card


@pytest.mark.slow
def test_the_best_choice_of_an_open_ended_model_is_measured_alike(settings, dataset, tmp_path):
    run = train(settings(dataset=dataset, model="bow-q", word_vectors=None, model_settings={}))
    found = run.record["results"]["test"]
    assert found["metric"] == "consensus accuracy"
    assert set(found["per_answer_type"]) == {"colour", "other"}
    assert_scored_alike(found["multiple_choice"], tmp_path / "run" / "predictions.json", dataset)
    assert f"picking the target: {found['multiple_choice']['target_accuracy']['accuracy']:.1%}" in repr(run)
    card = model_card(read_record(run.model_folder), "ada/toy")
    assert "| with choices | chance | picking the target | in the vocabulary | questions |" in card


def test_one_answer_per_question_is_measured_by_accuracy(settings, toy):
    run = train(settings(epochs=1))
    found = run.record["results"]["test"]
    assert (found["metric"], "target_accuracy" in found) == ("accuracy", False)
    assert "picking the target" not in repr(run)


def test_any_row_with_several_answers_makes_it_consensus_accuracy():
    assert metric_of(["answer", "answers"], [["a"], ["a", "b"]]) == "consensus accuracy"
    assert metric_of(["answer", "answers"], [["a"], []]) == metric_of(["answer"], [[]]) == "accuracy"
