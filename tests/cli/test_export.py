"""``vqa-mc export``: what it prints and writes, and that nothing in it reveals the target of a built dataset."""

import json

import pandas
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.exports import HARNESSES
from tests.exports import small


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Runs a command line in an empty folder; gives the result."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    def run(*arguments):
        return CliRunner().invoke(app, ["export", *map(str, arguments)])

    return run


@pytest.fixture
def question_file(tmp_path):
    """A benchmark in another's layout: jsonl with an index."""
    path = tmp_path / "blind.jsonl"
    rows = [{"id": row[0], "question": row[2], "choices": row[3], "label": row[4]} for row in small.QUESTIONS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_becomes_tasks_and_the_command_to_run_them_is_reported(run, question_file):
    result = run("lm-eval", question_file, "--output", "tasks")
    assert result.exit_code == 0, result.output
    assert "blind_test: 4 questions" in result.stdout or "4 questions" in result.stdout
    assert "lm-eval run" in result.stdout
    assert "--include_path" in result.stdout


def test_no_folder_of_the_benchmark_is_written_to(run, question_file):
    for harness in HARNESSES:
        result = run(harness, question_file.parent, "--output", question_file.parent / "tasks")
        assert result.exit_code == 2
        assert "would replace or change an input" in result.stderr
    assert not (question_file.parent / "tasks").exists()


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
@pytest.mark.parametrize("config", ["cocoqa_iou", "cocoqa_random_uniform"])
def test_a_built_dataset_goes_out_without_kinds_or_human_answers(run, built, config):
    for harness in ("lm-eval", "lmms-eval", "vlmevalkit"):
        result = run(harness, built, config, "--output", harness, "--hide-answers", "--name", "mine")
        assert result.exit_code == 0, result.output
    allowed = {"question_id", "question", "choices", "question_type", "image_files"}
    for folder in ("lm-eval", "lmms-eval"):
        assert set(pyarrow.parquet.read_table(f"{folder}/mine/questions.parquet").column_names) <= allowed
    table = pandas.read_csv("vlmevalkit/mine/mine_TEXT.tsv", sep="\t")
    assert {column for column in table if len(column) > 1} <= {"index", "question", "category", "question_id"}


def test_columns_that_are_not_recognised_can_be_named(run, tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("frage,rot,blau,loesung\nWelche?,rouge,bleu,1\nUnd?,oui,non,0\n")
    named = "--question frage --choices rot --choices blau --label loesung".split()
    result = run("lm-eval", path, *named, "--output", "tasks", "--name", "odd")
    assert result.exit_code == 0, result.output
    table = pyarrow.parquet.read_table("tasks/odd/questions.parquet")
    assert table["choices"].to_pylist() == [["rouge", "bleu"], ["oui", "non"]]
    assert table["label"].to_pylist() == [1, 0]
