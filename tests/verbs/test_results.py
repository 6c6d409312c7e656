"""``hf_vqa_mc.results``: one row per run and tested split, in a table, CSV, JSON and Markdown."""

import csv
import json

import pytest
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app
from hf_vqa_mc.errors import InputError
from tests.hub.checkpoints import RECORD, write_record

CONSENSUS = {
    "metric": "consensus accuracy",
    "accuracy": 0.62752,
    "stderr": 0.00233,
    "interval": [0.6229, 0.6321],
    "questions": 40893,
    "answerable": 0.89135,
    "per_answer_type": {"yes/no": 0.79, "number": 0.33, "other": 0.42},
}
OPEN = {
    "config": "vqa_open",
    "source": None,
    "model": "bow-q",
    "answers": {"size": 1000, "questions": 0.9, "human_answers": 0.85},
    "word_vectors": None,
    "settings": {"epochs": 9.0, "optimizer": "rmsprop", "learning_rate": 0.0004, "decoys_per_question": 5,
                 "shuffle_words": True, "without_types": ["absurd", "color"], "also_test": ["vqa2_open"],
                 "model_settings": {"hidden_sizes": [7]}, "momentum": 0.9},
    "rows": {"train": 72710, "held_out": 4223, "validation": 40893, "vqa2_open, validation": 214354},
    "results": {"held_out": CONSENSUS, "validation": CONSENSUS},
    "also_tested": {"vqa2_open": {"validation": {**CONSENSUS, "accuracy": 0.5, "interval": [0.49, 0.51]}}},
}  # fmt: skip


@pytest.fixture
def runs(tmp_path):
    """A multiple-choice run, and an open-ended one that is also tested on another config."""
    write_record(tmp_path / "runs" / "mc" / "best")
    write_record(tmp_path / "runs" / "deep" / "open" / "best", **OPEN)
    return tmp_path / "runs"


def test_each_tested_split_of_each_run_has_a_row(runs):
    open_ended, other, mc = vm.results(runs).rows
    assert [(row.run, row.tested, row.split) for row in (open_ended, other, mc)] == [
        ("runs/deep/open", "vqa_open", "validation"),
        ("runs/deep/open", "vqa2_open", "validation"),
        ("runs/mc", "cocoqa_iou_qou", "test"),
    ]
    assert (open_ended.metric, open_ended.score, open_ended.stderr) == ("consensus accuracy", 0.62752, 0.00233)
    assert open_ended.per_answer_type == CONSENSUS["per_answer_type"]
    assert other.score == 0.5
    assert (mc.metric, mc.score, mc.chance, mc.train_rows) == ("accuracy", 0.5187, 1 / 7, 74800)


def test_settings_that_differ_from_the_default_are_listed(runs):
    rows = vm.results([runs / "deep" / "open", runs / "mc" / "best"]).rows
    assert rows[0].settings == {
        "epochs": 9.0, "optimizer": "rmsprop", "shuffle_words": True, "without_types": ["absurd", "color"],
        "model_settings": {"hidden_sizes": [7]},
    }  # fmt: skip
    assert rows[2].run == "mc"
    assert rows[2].settings == {"word_vectors": "glove.6B.100d.txt", "epochs": 20.0, "seed": 3}


def test_markdown_is_in_percent_and_without_empty_columns(runs):
    assert vm.results(runs / "deep").to_markdown().splitlines() == [
        "| dataset | config | tested | split | model | settings | train rows | metric | % "
        "| in the vocabulary | yes/no | number | other | questions |",
        "| --- | --- | --- | --- | --- | --- | --: | --- | --: | --: | --: | --: | --: | --: |",
        "| `vqa_mc` | `vqa_open` | `vqa_open` | validation | `bow-q` | `epochs=9, optimizer=rmsprop, shuffle_words, "
        "without_types=absurd color, hidden_sizes=7` | 72,710 | consensus accuracy | 62.8 (62.3 to 63.2) | 89.1 "
        "| 79.0 | 33.0 | 42.0 | 40,893 |",
        "| `vqa_mc` | `vqa_open` | `vqa2_open` | validation | `bow-q` | `epochs=9, optimizer=rmsprop, shuffle_words, "
        "without_types=absurd color, hidden_sizes=7` | 72,710 | consensus accuracy | 50.0 (49.0 to 51.0) | 89.1 "
        "| 79.0 | 33.0 | 42.0 | 40,893 |",
    ]


def test_other_metrics_have_columns(runs):
    figures = {"accuracy": 0.7, "stderr": 0.01, "chance": 0.1, "questions": 9, "metric": "consensus accuracy"}
    tested = {**figures, "target_accuracy": {"accuracy": 0.6, "stderr": 0.01, "chance": 0.05}}
    write_record(runs / "vqa" / "best", results={"test": tested})
    of_choices = {"accuracy": 0.4, "chance": 0.2}
    mpt = {"accuracy": 0.3, "metric": "arithmetic mean per type", "plain_accuracy": 0.5, "harmonic_mpt": 0.1}
    write_record(runs / "tdiuc" / "best", results={"test": {**mpt, "multiple_choice": of_choices}})
    table = vm.results([runs / "vqa", runs / "tdiuc"]).to_pandas()
    assert table["picking the target"][0] == 0.6
    names = ("accuracy", "harmonic mean per type", "best of the choices")
    assert [table[name][1] for name in names] == [0.5, 0.1, 0.4]


@pytest.mark.parametrize("changes", [{"finished": False}, {"results": {"held_out": RECORD["results"]["held_out"]}}])
def test_an_unfinished_run_has_a_row_without_a_score(runs, changes):
    write_record(runs / "mc" / "best", **changes)
    found = vm.results(runs / "mc")
    (row,) = found.rows
    assert (row.status, row.score, row.split) == ("unfinished", None, "test")
    assert "without a result, since the run is not finished: 1 of 1 rows" in list(found.report())
    assert found.to_markdown().startswith("| run | ")  # which names it
    assert "unfinished" in found.to_markdown()


def test_a_run_without_a_test_split_has_a_row_of_its_validation(runs):
    write_record(runs / "mc" / "best", rows={"train": 5, "held_out": 3})
    (row,) = vm.results(runs / "mc").rows
    assert (row.split, row.score) == ("held_out", 0.53125)


def test_files_are_written_by_suffix(runs, tmp_path):
    found = vm.results(runs, output=tmp_path / "table.json")
    assert json.loads((tmp_path / "table.json").read_text()) == json.loads(json.dumps(found.to_dict()))
    found.save(tmp_path / "table.csv")
    rows = list(csv.DictReader((tmp_path / "table.csv").read_text().splitlines()))
    assert [row["score"] for row in rows] == ["0.62752", "0.5", "0.5187"]
    assert rows[0]["yes/no"] == "0.79"
    found.save(tmp_path / "table.md")
    assert (tmp_path / "table.md").read_text() == found.to_markdown()
    with pytest.raises(InputError, match="exists"):
        found.save(tmp_path / "table.md")
    with pytest.raises(InputError, match=r"--output table.txt: expected a file with one of .* \.csv, \.json"):
        vm.results(runs, output="table.txt")


def test_names_of_answer_types_replace_no_column_and_are_no_formulas(runs, tmp_path):
    results = {**CONSENSUS, "per_answer_type": {"score": 0.25, "=1+1": 0.5}}
    write_record(runs / "deep" / "open" / "best", **{**OPEN, "results": {"validation": results}})
    vm.results(runs / "deep").save(tmp_path / "results.csv")
    first, _ = csv.DictReader((tmp_path / "results.csv").read_text().splitlines())
    assert (first["score"], first["score (answer type)"], first["'=1+1"]) == ("0.62752", "0.25", "0.5")


def test_what_all_rows_share_is_printed_once(runs):
    done = CliRunner().invoke(app, ["results", str(runs / "deep"), str(runs / "deep" / "open")])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "config: vqa_open" in lines and "metric: consensus accuracy" in lines
    cells = {cell.strip() for line in lines for cell in line.split("│")}
    assert {"62.8 (62.3 to 63.2)", "50.0 (49.0 to 51.0)"} <= cells
    rows = json.loads(CliRunner().invoke(app, ["results", str(runs), "--json"]).stdout)["rows"]
    assert [row["score"] for row in rows] == [0.62752, 0.5, 0.5187]


@pytest.mark.parametrize("width", [40, 80, 140, 400])
def test_a_narrow_terminal_shows_every_column_with_the_runs(runs, width):
    lines = CliRunner().invoke(app, ["results", str(runs)], env={"COLUMNS": str(width)}).stdout.splitlines()
    assert max(map(len, lines)) <= width
    tables = "\n".join(lines).split("┏")[1:]
    assert (len(tables) == 1) == (width == 400)
    assert all("runs/mc" in table for table in tables)
    cells = {cell.split(" (")[0].strip() for line in lines for cell in line.split("│")}
    assert {"62.8", "51.9", "50.0", "14.3", "89.1", "79.0", "72,710", "40,893"} <= cells


def test_an_unfinished_run_is_named_in_the_column_of_scores(runs):
    write_record(runs / "mc" / "best", finished=False)
    lines = vm.results(runs).to_markdown().splitlines()
    heads, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    row = dict(zip(heads, rows[-1], strict=True))
    assert (row["metric"], row["%"]) == ("", "unfinished")


def test_damaged_runs_and_folders_without_runs_are_refused(runs, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: found no runs"):
        vm.results([runs, tmp_path / "empty"])
    with pytest.raises(InputError, match="no such folder"):
        vm.results(tmp_path / "none")
    with pytest.raises(InputError, match="RUNS: expected one or more"):
        vm.results([])
    (runs / "mc" / "best" / "training.json").write_text("{")
    with pytest.raises(InputError, match=r"training\.json is not valid JSON"):
        vm.results(runs)
    (runs / "mc" / "best" / "training.json").unlink()
    (runs / "mc" / "last").mkdir()
    (runs / "mc" / "last" / "state.json").write_text("{}")
    with pytest.raises(InputError, match=r"mc/best: training\.json is missing"):
        vm.results(runs)
    write_record(runs / "mc" / "best", rows=None)
    with pytest.raises(InputError, match="has no numbers of rows"):
        vm.results(runs)
