"""Tasks of lm-eval: what is written, and that lm-eval loads and scores them."""

import shutil

import jinja2
import pyarrow.parquet
import pytest
import yaml

import hf_vqa_mc as vm
from tests.exports import small


class Loader(yaml.SafeLoader):
    """As lm-eval reads yaml, functions by name."""


Loader.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))


def exported(folder, **options):
    return small.export(small.benchmark(**options.pop("benchmark", {})), "lm-eval", folder / "tasks", **options)


def test_a_task_asks_the_question_and_another_the_answers_alone(tmp_path):
    export = exported(tmp_path, name="small")
    blind, answers = (yaml.load(export.files[at].read_text(), Loader) for at in (0, 1))
    assert (blind["task"], answers["task"]) == ("small_blind", "small_answers")
    assert blind["doc_to_text"] == "Question: {{question}}\nAnswer:"
    assert answers["doc_to_text"] == "Answer:"
    assert blind["tag"] == answers["tag"] == "small"


def test_a_context_precedes_the_question_but_not_before_the_answers_alone(tmp_path):
    columns = {"context": ["Seen {{ 7 * 7 }} at noon.", None, "", ""]}
    export = exported(tmp_path, name="small", benchmark={"columns": columns})
    blind, answers = (yaml.load(export.files[at].read_text(), Loader) for at in (0, 1))
    prompt = jinja2.Template(blind["doc_to_text"])
    rows = pyarrow.parquet.read_table(export.files[3]).to_pylist()
    assert prompt.render(rows[0]) == "Context: Seen {{ 7 * 7 }} at noon.\nQuestion: What animal is it?\nAnswer:"
    assert prompt.render(rows[1]) == "Question: How many are there?\nAnswer:"
    assert answers["doc_to_text"] == "Answer:"
    assert export.notes == ["column context goes before the question, as Context", small.LEFT_OUT]


@pytest.mark.parametrize("hide_answers", [False, True])
def test_the_data_holds_no_kinds_no_human_answers_and_no_labels_if_hidden(tmp_path, hide_answers):
    export = exported(tmp_path, hide_answers=hide_answers)
    table = pyarrow.parquet.read_table(tmp_path / "tasks" / export.name / "questions.parquet")
    columns = ["question_id", "question", "choices", "question_type"]
    assert table.column_names == (columns if hide_answers else [*columns, "label"])
    for path in (tmp_path / "tasks").rglob("*"):
        assert path.is_dir() or small.SECRETS[2].encode() not in path.read_bytes()


def test_programs_and_yaml_hold_no_text_of_the_data(tmp_path):
    hostile = [('"; import os #', "i", "!!python/object", ["{{ x }}", "'''"], 0, "!function os.system")]
    one = small.export(small.benchmark(), "lm-eval", tmp_path / "one", name="same")
    other = small.export(small.benchmark(hostile), "lm-eval", tmp_path / "other", name="same")
    for left, right in zip(one.files[:3], other.files[:3], strict=True):
        assert left.read_bytes() == right.read_bytes()


@pytest.fixture(scope="module")
def ran(tmp_path_factory, harness):
    """What lm-eval says of an export with answers and one without, in a folder that was moved."""
    folder = tmp_path_factory.mktemp("exports")
    exported(folder, name="small")
    exported(folder, name="hidden", hide_answers=True)
    exported(folder, name="read", benchmark={"columns": {"hint": ["Look left.", None, "", "{{ x }}"]}})
    moved = shutil.move(folder / "tasks", folder / "moved here [1]")
    return {**harness("run_lm_eval.py", moved, "small", "hidden", "read"), "written": folder}


def longest():
    return [max(range(len(row[3])), key=lambda at, row=row: len(row[3][at])) for row in small.QUESTIONS]


@pytest.mark.parametrize("name", ["small", "hidden"])
@pytest.mark.slow
def test_lm_eval_asks_what_was_exported(ran, name):
    prompts = [row["arguments"] for row in ran["samples"][f"{name}_blind"]]
    assert prompts == [[[f"Question: {row[2]}\nAnswer:", f" {text}"] for text in row[3]] for row in small.QUESTIONS]
    assert [row["arguments"][0][0] for row in ran["samples"][f"{name}_answers"]] == ["Answer:"] * 4


@pytest.mark.slow
def test_lm_eval_shows_the_context_where_there_is_one(ran):
    prompts = [row["arguments"][0][0] for row in ran["samples"]["read_blind"]]
    before = ["Context: Look left.\n", "", "", "Context: {{ x }}\n"]
    assert prompts == [
        f"{context}Question: {row[2]}\nAnswer:" for context, row in zip(before, small.QUESTIONS, strict=True)
    ]


@pytest.mark.slow
def test_lm_eval_scores_against_the_labels(ran):
    assert [row["target"] for row in ran["samples"]["small_blind"]] == [row[4] for row in small.QUESTIONS]
    right = [index == row[4] for index, row in zip(longest(), small.QUESTIONS, strict=True)]
    assert ran["results"]["small_blind"]["acc,none"] == sum(right) / 4


@pytest.mark.slow
def test_lm_eval_writes_predictions_down_where_answers_are_hidden(ran):
    assert ran["results"]["hidden_blind"]["prediction,none"] == 4
    assert "acc,none" not in ran["results"]["hidden_blind"]
    samples = ran["samples"]["hidden_blind"]
    assert all("label" not in row["doc"] and row["target"] in (-1, "-1") for row in samples)
    assert [row["prediction"] for row in samples] == longest()
    assert [row["question_id"] for row in samples] == [row[0] for row in small.QUESTIONS]


@pytest.mark.parametrize("name", ["small_blind", "hidden_blind"])
@pytest.mark.slow
def test_the_samples_that_lm_eval_writes_are_scored_by_the_ids_of_the_benchmark(ran, name):
    (path,) = ran["written"].rglob(f"samples_{name}_*.jsonl")
    scored = vm.score(path, small.benchmark(), per_question=True)
    right = [index == row[4] for index, row in zip(longest(), small.QUESTIONS, strict=True)]
    assert scored.per_question.mc_accuracy.tolist() == right
