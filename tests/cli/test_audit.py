"""``vqa-mc audit``: what it finds, prints and writes, and its exit codes."""

import html
import json
import shlex
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hf_vqa_mc
from hf_vqa_mc.cli import app
from hf_vqa_mc.errors import python_names
from hf_vqa_mc.io.outputs import MANIFEST
from tests.audits.planted import planted


def lines(path: Path, bias: str = "none", strength: float = 0.0, rows: int = 400, seed: int = 0) -> Path:
    """A benchmark as json lines, with one shortcut."""
    table, _, _ = planted(bias, strength, rows, seed)
    kept = table.select(["question_id", "image_id", "question", "choices", "label", "question_type"]).to_pylist()
    path.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    return path


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.models.TREES", 10)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.LEAST_STEPS", 10)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.NETWORKS", 1)
    return lambda *arguments: CliRunner().invoke(app, [str(one) for one in arguments])


def found(result):
    return {one["name"]: one for one in json.loads(result.stdout)["shortcuts"]}


def test_a_planted_shortcut_is_found_and_the_report_written(run, tmp_path):
    result = run("audit", lines(tmp_path / "b.jsonl", "position", 0.4), "--no-probes", "--json")
    assert result.exit_code == 0, result.output
    strongest = json.loads(result.stdout)["shortcuts"][0]
    assert strongest["alarm"]
    assert strongest["name"].startswith("choice ")
    assert strongest["low"] <= 0.4 * 0.75 <= strongest["high"]
    folder = tmp_path / "vqa_mc_audit" / "b.jsonl"
    assert {path.name for path in folder.iterdir()} == {
        "audit.json",
        "report.html",
        "rows.parquet",
        MANIFEST,
    }
    kept = json.loads((folder / "audit.json").read_text("utf-8"))
    assert kept == {name: value for name, value in json.loads(result.stdout).items() if name != "written"}
    scores = pq.read_table(folder / "rows.parquet")
    assert scores.num_rows == 400
    assert scores[strongest["name"]].to_numpy().mean() == pytest.approx(strongest["accuracy"], abs=1e-6)


def test_all_outputs_show_both_figures_if_there_is_a_training_split(run, tmp_path):
    folder = tmp_path / "both"
    folder.mkdir()
    for seed, split in enumerate(("train", "test")):
        lines(folder / f"{split}.jsonl", "question cue", 0.6, seed=seed)
    done = hf_vqa_mc.audit(folder, probes=False)
    table = done.to_pandas().set_index("name")
    share = 100 * table.loc["question and answer prior", "cross_fitted_accuracy"]
    assert table["cross_fitted_accuracy"].isna()["longest choice"]
    assert f">{share:.1f}<" in done._repr_html_()
    result = run("audit", folder, "--no-probes", "--output", tmp_path / "there")
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("│ question and answer")]
    assert f" {share:.1f} │" in line
    assert f"cross-fitted {share:.1f}%" in (tmp_path / "there" / "report.html").read_text("utf-8")
    alone = run("audit", folder / "test.jsonl", "--no-probes", "--output", tmp_path / "alone")
    note = "cross-fitted: on other rows"
    assert [note in " ".join(one.stdout.split()) for one in (result, alone)] == [True, False]


def test_fail_above_ends_with_3_only_where_a_gain_is_certain(run, tmp_path):
    biased = lines(tmp_path / "b.jsonl", "position", 0.4)
    above = run("audit", biased, "--no-probes", "--fail-above", "0.05")
    assert above.exit_code == 3
    assert "above 5 points: choice " in above.stdout
    assert run("audit", biased, "--no-probes", "--fail-above", "0.5").exit_code == 0
    assert run("audit", lines(tmp_path / "n.jsonl"), "--no-probes", "--fail-above", "0").exit_code == 0


def test_an_audit_never_replaces_what_it_reads(run, tmp_path):
    import shutil

    folder = tmp_path / "data"
    folder.mkdir()
    lines(tmp_path / "b.jsonl", rows=40)
    shutil.copy(tmp_path / "b.jsonl", folder / "rows.jsonl")
    (folder / "audit.json").write_text("{}", "utf-8")
    for dataset in (folder / "rows.jsonl", folder):
        refused = run("audit", dataset, "--no-probes", "--output", folder)
        assert refused.exit_code == 2
        assert "would replace or change an input" in refused.stderr
    (folder / "rows.jsonl").unlink()
    assert "vqa-mc audit did not write" in run("audit", "b.jsonl", "--no-probes", "--output", folder).stderr
    assert (folder / "audit.json").read_text("utf-8") == "{}"
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing" / "here")
    nowhere = run("audit", "b.jsonl", "--no-probes", "--output", "nowhere")
    assert nowhere.exit_code == 2
    assert "there is no folder" in nowhere.stderr
    for _ in range(2):  # its own it does replace
        assert run("audit", "b.jsonl", "--no-probes", "--output", "there").exit_code == 0
    (tmp_path / "there" / "notes.txt").write_text("mine")
    assert "did not write: notes.txt" in run("audit", "b.jsonl", "--no-probes", "--output", "there").stderr
    assert run("audit", "b.jsonl", "--no-probes", "--output", "there", "--overwrite").exit_code == 0
    assert (tmp_path / "there" / "notes.txt").read_text() == "mine"


def test_probes_are_held_to_their_time_and_what_was_not_run_is_reported(run, tmp_path):
    result = run("audit", lines(tmp_path / "b.jsonl"), "--time-limit", "1e-9", "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert not any(one["trained"] for one in printed["shortcuts"])
    why = {one["name"]: one["reason"] for one in printed["not_run"]}
    assert "give the folder of the images with --images" in why["probes that see images"]
    assert "the time limit was reached" in why["logistic regression: choices alone"]


@pytest.mark.slow
def test_probes_find_what_no_heuristic_finds(run, tmp_path):
    result = run("audit", lines(tmp_path / "b.jsonl", "question cue", 0.6), "--json")
    assert result.exit_code == 0, result.output
    shortcuts = found(result)
    assert shortcuts["logistic regression: question and choices"]["alarm"]
    assert not shortcuts["longest choice"]["alarm"]
    printed = json.loads(result.stdout)
    assert printed["train_source"] == "5 folds of test"
    assert 0 < printed["bias"]["mean"] < 1
    assert sum(one["rows"] for one in printed["bias"]["histogram"]) == 400


@pytest.mark.slow
def test_the_output_and_the_report_end_with_a_remedy_command_that_runs(run, tmp_path, untrained_report_probes):
    rows = [
        json.loads(line)
        for line in lines(tmp_path / "b.jsonl", "length", 0.6, rows=120).read_text("utf-8").splitlines()
    ]
    renamed = [{"the question": row.pop("question"), **row} for row in rows]
    (tmp_path / "my rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed), "utf-8")
    result = run("audit", "my rows.jsonl", "--question", "the question", "--no-probes", "--output", "audit")
    assert result.exit_code == 0, result.output
    command = result.stdout.splitlines()[-1]
    assert f"<code>{command}</code>" in html.unescape((tmp_path / "audit" / "report.html").read_text("utf-8"))
    name, *arguments = shlex.split(command)
    assert (name, arguments[:2]) == ("vqa-mc", ["remedy", "my rows.jsonl"])
    remedied = run(*arguments)
    assert remedied.exit_code in (0, 3), remedied.output
    assert Path(arguments[-1]).is_file() == (remedied.exit_code == 0)


def test_the_remedy_command_without_images_is_a_repair_and_names_no_folder(tmp_path):
    rows = [
        {"question": f"q {number}", "choices": ["a", "b"], "kind": "k", "answer": int(number % 9 == 0)}
        for number in range(40)
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = hf_vqa_mc.audit(tmp_path / "b.jsonl", probes=False, output=tmp_path / "audit")
    *_, step = result.report()
    assert step.why == (
        "No images, 20.0 rows per distinct answer, a leak of 38 points, of which a repair leaves a large part: change "
        "the fewest decoys"  # one answer is correct in most rows, so few of them fit into closed sets
    )
    assert step.command.endswith("b.jsonl --output b-remedied.jsonl")
    given = {"label_from": 0, "columns": {"question_type": "kind"}, "seed": 2}
    *_, other = hf_vqa_mc.audit(tmp_path / "b.jsonl", probes=False, **given).report()
    assert "b.jsonl --label-from 0 --columns question_type=kind --seed 2" in other.command
    assert str(tmp_path) not in (tmp_path / "audit" / "report.html").read_text("utf-8")
    assert "hf_vqa_mc.remedy(dataset, output='dataset-remedied')" in repr(hf_vqa_mc.audit(rows, probes=False))


def test_the_next_step_fits_the_result(tmp_path):
    clean = lines(tmp_path / "clean.jsonl")
    evaluate, push = list(hf_vqa_mc.audit(clean, probes=False).report())[-2:]
    assert evaluate.command == f"vqa-mc evaluate {clean} --model MODEL --inputs no-image,choices-only"
    assert push.command == f"vqa-mc push dataset NAMESPACE/clean --folder {clean}"
    leaky = lines(tmp_path / "leaky.jsonl", "length", 0.6)
    *_, remedy = hf_vqa_mc.audit(leaky, probes=False).report()
    assert remedy.verb == "remedy"
    if "guarantee" in remedy.options:
        assert remedy.why.endswith("% of the rows now, and then as often as random guessing")
    rows = [{**json.loads(line), "choice_origins": ["target"]} for line in leaky.read_text("utf-8").splitlines()]
    remedied = tmp_path / "leaky-remedied.jsonl"
    remedied.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    *_, again = hf_vqa_mc.audit(remedied, probes=False).report()
    assert again.command == "vqa-mc remedy PUBLISHED --strategy best --output leaky-best.jsonl"


def test_in_a_notebook_the_table_the_verdict_and_the_next_step_are_shown(tmp_path):
    result = hf_vqa_mc.audit(lines(tmp_path / "b.jsonl", "length", 0.6), probes=False)
    assert result.verdict == result.to_dict()["verdict"]
    assert result.shortcuts["name"][0] == "longest choice" and result.shortcuts["alarm"].all()
    assert len(result.shortcuts) < len(result.to_pandas())
    page = result._repr_html_()
    assert f"<p>{html.escape(python_names(result.verdict))}</p>" in page
    assert page.count("<tr") == 2 + len(result.to_pandas()) and "<td>longest choice</td>" in page
    assert "<code>hf_vqa_mc.remedy(" in page and " --" not in page
    assert " --guarantee" not in repr(result)


@pytest.mark.slow
def test_against_an_earlier_release_it_shows_what_changed_and_fails_on_regressions(run, tmp_path):
    old, new = (lines(tmp_path / f"{name}.jsonl", "length", share) for name, share in (("old", 0.1), ("new", 0.6)))
    assert run("audit", old, "--no-probes", "--output", "old").exit_code == 0
    given = ("--no-probes", "--against", "old/audit.json", "--fail-on-regression", "0")
    result = run("audit", new, *given, "--output", "new")
    assert result.exit_code == 3, result.output
    assert "changed       rows of test: 400 rows" in result.stdout
    assert "changed       longest choice: gain +" in result.stdout
    assert "regressions since old/audit.json: longest choice" in " ".join(result.stdout.split())
    page = (tmp_path / "new" / "report.html").read_text("utf-8")
    assert "changes since the earlier release" in page
    assert run("verify", "new/audit.json", new).exit_code == 0
    assert run("audit", old, "--no-probes", "--against", "new/audit.json", "--fail-on-regression", "0").exit_code == 0
    same = json.loads(run("audit", old, *given, "--json").stdout)
    assert same["changes"] == []
