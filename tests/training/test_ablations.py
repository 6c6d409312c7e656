"""Ablations: fewer training questions, types left out, changed words, tests on other configs of the dataset."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import pipeline

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.model_card import model_card, read_record
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.training.loop import train
from hf_vqa_mc.training.questions import questions_of_pairs, read_questions
from hf_vqa_mc.training.run_inputs import sampled
from hf_vqa_mc.training.settings import TrainingSettings
from tests.configs import write_configs
from tests.training import toy_dataset
from tests.training.toy_dataset import CONFIG

TYPES = {"What colour is it?": "colour", "What kind is this one?": "kind"}
OTHER = "toy_other"


@pytest.fixture
def dataset(tmp_path):
    """The toy with question types, and a second config: its test questions, and one split whose answers are hidden."""
    folder = toy_dataset.make(tmp_path / "types")
    for path in (folder / CONFIG).glob("*.parquet"):
        rows = pq.read_table(path).to_pylist()
        pq.write_table(pa.Table.from_pylist([row | {"question_type": TYPES[row["question"]]} for row in rows]), path)
    return str(folder)


@pytest.fixture
def opened(tmp_path):
    """Open-ended configs: `all`, `kinds` (questions of one type, answers of the test split hidden) and `hidden`."""
    folder = tmp_path / "open"
    source = toy_dataset.make(tmp_path / "toy")
    configs = {}
    for config, splits in {"all": ("train", "test"), "kinds": ("validation", "test"), "hidden": ("test",)}.items():
        for split in splits:
            name = "train" if split == "train" else "test"
            rows = pq.read_table(source / CONFIG / f"{name}-00000.parquet").to_pylist()
            hidden = config != "all" and split == "test"
            configs.setdefault(config, {})[split] = [
                {
                    **{name: row[name] for name in ("question_id", "image_id", "question")},
                    "question_type": "" if hidden else TYPES[row["question"]],
                    "answer": "" if hidden else row["choices"][row["label"]],
                }
                for row in rows
                if config != "kinds" or TYPES[row["question"]] == "kind"
            ]
    return str(write_configs(folder, configs))


def open_settings(dataset, output, **changes):
    defaults = {"model": "lstm-q", "model_settings": {"lstm_size": 8}, "epochs": 2, "batch_size": 20, "held_out": 0.2}
    return TrainingSettings(dataset, "all", output=output, **{**defaults, "optimizer": "adam", **changes})


def test_a_sample_of_the_training_questions_is_trained_on(settings, toy):
    record = train(settings(train_rows=100, epochs=1)).record
    assert record["rows"]["train"] == 100
    assert record["rows"]["test"] == 2 * toy_dataset.IMAGES["test"]
    assert "--train-rows 100" in record["command"]
    with pytest.raises(InputError, match="whose train_rows is 100, not 99"):
        train(settings(train_rows=99, epochs=1))


def test_the_sample_depends_on_the_seed_alone_and_keeps_the_order(toy):
    questions = read_questions(str(toy), CONFIG).splits["train"]
    ids = [sampled(questions, 50, seed).question_ids for seed in (0, 0, 1)]
    assert ids[0] == ids[1] != ids[2]
    assert [one for one in questions.question_ids if one in set(ids[0])] == ids[0]
    with pytest.raises(InputError, match=r"--train-rows 401: .* has 400 questions to train on"):
        sampled(questions, 401, 0)


def test_questions_that_belong_together_stay_together(toy):
    questions = read_questions(str(toy), CONFIG).splits["train"]
    groups = [str(row // 3) if row < 390 else "" for row in range(len(questions))]
    questions = replace(questions, group_ids=groups)
    for count in (2, 50, 51, 400):
        found = sampled(questions, count, 0)
        assert len(found) == count  # single questions fill it
        sizes = dict(zip(*np.unique(found.group_ids, return_counts=True), strict=True))
        assert all(size == 3 for name, size in sizes.items() if name)


def pairs(*numbers):
    """Rows of balanced pairs of the questions with these numbers."""
    columns = {"question": ["what ?"] * (len(numbers) // 2)}
    for at, prefix in enumerate(("", "complementary_")):
        names = [str(number) for number in numbers[at::2]]
        columns |= {f"{prefix}question_id": names, f"{prefix}image_id": names}
        columns[f"{prefix}answer"] = [f"answer {name}" for name in names]
    return pa.table(columns)


def test_both_questions_of_a_pair_are_read_each_once():
    rows = questions_of_pairs(pairs(1, 2, 3, 4, 5, 2))
    assert rows["question_id"].to_pylist() == ["1", "3", "5", "2", "4"]
    assert rows["answer"].to_pylist() == ["answer 1", "answer 3", "answer 5", "answer 2", "answer 4"]
    one, two, three, again, other = rows["pair"].to_pylist()
    assert one == three == again  # questions 1 and 5 both form a pair with 2
    assert two == other != one


def test_pairs_are_trained_on_whole(tmp_path):
    folder = write_configs(tmp_path / "p", {"own": {"train": pairs(*range(40))}})
    train_questions = read_questions(str(folder), "own", open_ended=True).splits["train"]
    assert len(train_questions) == 40
    found = sampled(train_questions, 11, 0)
    assert len(found) == 10  # no half pair fills it
    assert np.unique(found.group_ids, return_counts=True)[1].tolist() == [2] * 5


def test_questions_of_a_type_are_left_out_of_all_splits(settings, dataset):
    run = train(settings(dataset=dataset, without_types=("kind",), epochs=1))
    assert list(run.record["results"]["test"]["per_question_type"]) == ["colour"]
    assert run.record["rows"]["test"] == toy_dataset.IMAGES["test"]
    assert run.record["rows"]["train"] + run.record["rows"]["held_out"] == toy_dataset.IMAGES["train"]
    card = model_card(read_record(run.model_folder), "ada/toy")
    assert "Questions of these types are left out: kind." in card
    assert '| `without_types` | `["kind"]` |' in card


@pytest.mark.parametrize(
    ("has_types", "types", "message"),
    [
        (True, ("kinds",), "unknown question type of .*types, toy_iou_qou 'kinds': did you mean 'kind'"),
        (True, ("kind", "colour"), "--without-types kind colour leaves no questions"),
        (False, ("kind",), "--without-types kind: .* has no question types"),
    ],
)
def test_unknown_types_are_named_with_those_of_the_dataset(settings, toy, dataset, has_types, types, message):
    with pytest.raises(InputError, match=message):
        train(settings(dataset=dataset if has_types else str(toy), without_types=types))


def test_words_are_cut_and_shuffled_by_seed_and_question():
    question = "What colour, exactly, is the man's T-shirt?"
    assert WordChanges(first_words=3).text(question) == "What colour exactly"
    assert WordChanges(first_words=99).text(question) == "What colour exactly is the man's T-shirt"
    first, again, other = (WordChanges(shuffle_words=True, seed=seed).text(question) for seed in (0, 0, 1))
    assert first == again != other
    assert sorted(first.split()) == sorted("What colour exactly is the man's T-shirt".split())
    assert WordChanges().text(question) == question
    assert WordChanges(first_words=1).text("?!") == ""


def test_a_checkpoint_reads_words_as_in_its_training_wherever_it_is_used(settings, dataset, tmp_path):
    args = settings(dataset=dataset, first_words=2, shuffle_words=True, seed=3)
    run = train(args)
    found = vm.predict(run.model_folder, dataset, CONFIG, word_vectors=args.word_vectors)
    assert found.results == run.record["results"]["test"]
    assert "words of each question, as in training: the first 2, in random order" in list(found.report())
    assert found.to_dict()["word_changes"] == {"first_words": 2, "shuffle_words": True, "seed": 3}
    answer = pipeline("multiple-choice-vqa", model=str(run.model_folder), new_words="skip")
    questions = ("What colour is it?", "What colour?")
    one, other = (answer({"question": text, "choices": ["red", "square"]}) for text in questions)
    assert one["scores"] == pytest.approx(other["scores"])
    assert "Of the words of each question it reads the first 2, in random order." in model_card(
        read_record(run.model_folder), "ada/toy"
    )
    tuned = settings(dataset=dataset, init_from=str(run.model_folder), model_settings={}, output=tmp_path / "tuned")
    with pytest.raises(InputError, match=r"\(the first 2, in random order; not all, in order\)"):
        train(tuned)
    train(replace(tuned, first_words=2, shuffle_words=True, epochs=0.1))


def test_open_ended_models_read_changed_words_too(opened, tmp_path):
    run = train(open_settings(opened, tmp_path / "run", first_words=1, epochs=6))
    assert run.record["rows"]["test"] == 120
    found = vm.predict(run.model_folder, opened, "all")
    assert found.results == run.record["results"]["test"]
    assert len(set(found.to_pandas()["answer"])) == 1  # all questions begin with What
    answer = pipeline("open-ended-vqa", model=str(run.model_folder))
    one, other = (answer({"question": text}) for text in ("What colour is it?", "What kind is this one?"))
    assert one == other


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"train_rows": 0}, "--train-rows 0: expected 1 or more"),
        ({"first_words": 0}, "--first-words 0: expected 1 or more"),
    ],
)
def test_invalid_ablations_are_rejected(opened, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        train(open_settings(opened, tmp_path / "run", **changes))
