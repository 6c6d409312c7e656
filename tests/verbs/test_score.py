"""``hf_vqa_mc.score``: what it takes, and what its result gives."""

import json

import numpy as np
import pandas as pd
import pytest
from datasets import Dataset, DatasetDict

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from tests.scoring import files
from tests.scoring.test_join import RIGHT

ANSWERS = {"1": "red", "2": "2", "3": "yes"}
RECORDS = [{"question_id": name, "answer": answer} for name, answer in ANSWERS.items()]
ROWS = {
    "question_id": ["a", "b"],
    "question": ["?", "?"],
    "choices": [["x", "y"], ["x", "y"]],
    "label": [0, 1],
    "question_type": ["what", "how"],
}


@pytest.mark.parametrize(
    "predictions",
    [
        ANSWERS,
        RECORDS,
        pd.DataFrame(RECORDS),
        pd.DataFrame({"question_id": np.array([1, 2, 3]), "answer": list(ANSWERS.values())}),
        Dataset.from_list(RECORDS),
        Dataset.from_list(RECORDS).data.table,
    ],
    ids=["mapping", "records", "frame", "frame of numbers", "dataset", "arrow"],
)
def test_predictions_can_be_python_objects(predictions, tmp_path):
    path = files.vqa_file(tmp_path)
    result = vm.score(predictions, path)
    assert (
        result.to_dict()["results"] == vm.score(files.write(tmp_path / "p.json", ANSWERS), path).to_dict()["results"]
    )
    assert result.to_dict()["predictions"] == "predictions"


def test_a_dataset_in_memory_is_scored():
    rows = Dataset.from_dict(ROWS)
    for dataset in (rows, DatasetDict({"train": rows.select([0]), "test": rows})):
        found = vm.score({"a": 0, "b": "x"}, dataset).to_dict()
        assert found["results"]["mc_accuracy"]["accuracy"] == 0.5
        assert (found["dataset"], found["config"], found["questions"]) == ("dataset", None, 2)


def test_the_rows_of_open_ended_configs_are_scored_by_their_own_schemes():
    tdiuc = {
        "question_id": ["1", "2"],
        "image_id": ["7", "8"],
        "question": ["What color?", "How many?"],
        "question_type": ["color", "counting"],
        "answer": ["red", "2"],
    }
    record = files.gqa_records()["201"]
    gqa = {
        "question_id": ["201"],
        "image_id": ["n1"],
        "question": [record["question"]],
        "answer": ["red"],
        "is_balanced": [True],
        **{name: [record[name]] for name in ("types", "groups", "semantic", "entailed")},
    }
    for rows, name, answers in ((tdiuc, "tdiuc_mpt", {"1": "red", "2": "3"}), (gqa, "gqa_score", {"201": "red"})):
        columns = SOURCES[name.split("_")[0]].open_ended[0].schema.names
        dataset = Dataset.from_dict({column: rows.get(column, [None] * len(answers)) for column in columns})
        result = vm.score(answers, dataset).to_dict()["results"]
        assert result[name]["accuracy"] == 1 / len(answers)


def test_scores_are_a_table_with_one_row_each(tmp_path):
    table = vm.score(ANSWERS, files.vqa_file(tmp_path)).to_pandas()
    assert list(table.columns) == ["metric", "measure", "group", "value", "stderr", "low", "high"]
    overall = table[(table.measure == "accuracy")].iloc[0]
    assert overall.value == pytest.approx(2.6 / 3)
    assert overall.stderr > 0
    assert 0 < overall.low < overall.value < overall.high <= 1
    by_type = table[table.measure == "per_answer_type"].set_index("group")
    assert by_type.value.to_dict() == {"number": 1.0, "other": 1.0, "yes/no": pytest.approx(0.6)}


@pytest.mark.parametrize("kind", RIGHT)
def test_each_questions_score_is_a_table_too(kind, tmp_path):
    path = {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](tmp_path)
    table = vm.score(RIGHT[kind], path, metric=["wups", *vm.score(RIGHT[kind], path).results]).per_question
    assert table.question_id.tolist() == list(RIGHT[kind])
    assert table.drop(columns="question_id").to_numpy().tolist() == [[1.0] * 4] * len(RIGHT[kind])


def test_nothing_is_written_unless_asked_for(tmp_path, monkeypatch):
    path = files.vqa_file(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    result = vm.score(ANSWERS, path)
    assert list((tmp_path / "here").iterdir()) == []
    assert result.save("scores.json")[0].name == "scores.json"
    assert json.loads((tmp_path / "here" / "scores.json").read_text()) == result.to_dict()
    assert len(result.official_files()) == 5
    with pytest.raises(InputError, match="would replace or change an input"):
        result.save(path)


def test_a_result_shows_itself(tmp_path):
    result = vm.score(ANSWERS, files.vqa_file(tmp_path))
    assert "86.7" in repr(result)
    assert "by answer type" in repr(result)
    assert "<table" in result._repr_html_()


BENCHMARK = pd.DataFrame(
    {
        "question": ["what?", "which?", "who?", "where?"],
        "A": ["red", "one", "Ann", "here"],
        "B": ["blue", "two", "Bob", "there"],
        "C": ["green", "three", "Cid", "far"],
        "answer": ["A", "B", "C", "A"],
        "category": ["what", "what", "who", "who"],
    }
)
TEXTS = ["(A) red", "The answer is two.", "I do not know.", "B"]


@pytest.mark.parametrize("form", ["frame", "csv", "json", "jsonl", "parquet", "benchmark", "dataset"])
def test_any_benchmark_can_be_scored(form, tmp_path):
    path = tmp_path / f"mine.{form}"
    if form in ("csv", "parquet"):
        getattr(BENCHMARK, f"to_{form}")(path, index=False)
    elif form in ("json", "jsonl"):
        BENCHMARK.to_json(path, orient="records", lines=form == "jsonl")
    dataset = {"frame": BENCHMARK, "dataset": Dataset.from_pandas(BENCHMARK)}.get(form, path)
    if form == "benchmark":
        dataset = vm.read_benchmark(BENCHMARK)
    result = vm.score({str(row): text for row, text in enumerate("red one Cid here".split())}, dataset)
    assert result.to_dict()["results"]["mc_accuracy"]["accuracy"] == 0.75
    assert result.to_dict()["results"]["mc_accuracy"]["per_question_type"] == {"what": 0.5, "who": 1.0}


def test_texts_that_a_model_wrote_count_as_the_choices_that_they_name():
    predictions = {str(row): text for row, text in enumerate(TEXTS)}
    with pytest.raises(InputError, match="For text that a model wrote add free_text"):
        vm.score(predictions, BENCHMARK)
    result = vm.score(predictions, BENCHMARK, free_text=True, per_question=True)
    figures = result.to_dict()
    assert figures["unparsed"] == 1
    assert list(figures["results"]["mc_accuracy"]["per_question"].values()) == [1, 1, 0, 0]
    assert "texts that name no choice, or several, and count as wrong: 1" in repr(result)


def test_texts_of_consensus_rows_are_read_too(tmp_path):
    rows = pd.DataFrame(
        {
            "question_id": ["a", "b"],
            "question": ["what color?", "what shape?"],
            "choices": [["red", "blue"], ["round", "flat"]],
            "label": [0, 1],
            "answers": [["red"] * 10, ["flat"] * 10],
        }
    )
    result = vm.score({"a": "A", "b": "no idea"}, Dataset.from_pandas(rows), free_text=True)
    assert result.to_dict()["results"]["vqa_accuracy"]["accuracy"] == 0.5


def test_a_part_of_the_questions_is_scored_and_the_rest_counted():
    predictions = {"0": "red", "2": "Bob"}
    with pytest.raises(InputError, match=r"2 of 4 questions of .* have no prediction: '1', '3'; partial"):
        vm.score(predictions, BENCHMARK)
    result = vm.score(predictions, BENCHMARK, partial=True)
    assert result.to_dict()["results"]["mc_accuracy"]["accuracy"] == 0.5
    assert (result.to_dict()["questions"], result.to_dict()["left_out"]) == (2, 2)
    assert "left out, since they have no prediction: 2 questions" in repr(result)
    with pytest.raises(InputError, match="none of its ids is a question of"):
        vm.score({"nobody": "red"}, BENCHMARK, partial=True)
