"""``vqa-mc remedy`` and ``hf_vqa_mc.remedy``: what they change, report and write, and their exit codes."""

import html
import json

import pytest
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app
from hf_vqa_mc.remedies.remedied import in_words
from tests.cli.test_audit import lines


@pytest.fixture
def run(tmp_path, monkeypatch, untrained_report_probes):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["remedy", *map(str, arguments)])


@pytest.mark.slow
def test_a_remedy_shuts_the_shortcut_out_and_its_report_shows_both_sides(run, tmp_path):
    rows = [
        {
            "image_id": str(n // 4),
            "question": f"what is {'abcd'[n % 4]}",
            "choices": [f"a rather long answer numbered {n:03d}", f"no {n}"],
            "answer": 0,
        }
        for n in range(400)
    ]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = run("b.jsonl", "--variant", "iou", "--output", "remedied.jsonl", "--force", "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    probes = {one["name"]: one for one in printed["report_probes"]["probes"]}
    longest = probes["longest choice: choices alone"]
    assert (longest["before"], longest["after"]) == (1, 0.5)  # all new choices are as long
    assert longest["harmed"] is False
    assert printed["remedy"]["decoys"]["iou"]["fallbacks"] == 0
    remedied = [json.loads(line) for line in (tmp_path / "remedied.jsonl").read_text("utf-8").splitlines()]
    assert [row["choices"][row["answer"]] for row in remedied] == [row["choices"][0] for row in rows]
    report = tmp_path / "vqa_mc_remedy" / "remedied.jsonl-iou"
    stored = json.loads((report / "report.json").read_text("utf-8"))
    assert stored == {name: value for name, value in printed.items() if name != "written"}
    page = (report / "report.html").read_text("utf-8")
    assert html.escape(printed["judgement"], quote=False) in html.unescape(page)
    assert all(one["name"].partition(":")[0] in page for one in printed["report_probes"]["probes"])
    assert "<code>vqa-mc audit remedied.jsonl</code>" in page
    assert "<code>vqa-mc evaluate remedied.jsonl --model MODEL --inputs no-image,choices-only</code>" in page


@pytest.mark.slow
def test_pruning_leaves_rows_out_and_changes_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.models.TREES", 10)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.LEAST_STEPS", 10)
    monkeypatch.setattr("hf_vqa_mc.audits.probes.set_network.NETWORKS", 1)
    path = lines(tmp_path / "b.jsonl", "question cue", 0.5, rows=600)
    result = CliRunner().invoke(app, ["remedy", str(path), "--prune", "0.2", "--output", "fewer.jsonl", "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)["remedy"]
    rounds = [one["rows"] for one in printed["rounds"]]
    assert rounds == sorted(rounds, reverse=True)
    assert printed["rounds"][-1]["gain"] < printed["rounds"][0]["gain"]
    kept = (tmp_path / "fewer.jsonl").read_text("utf-8").splitlines()
    assert len(kept) == printed["rows"] < 600
    published = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert all(json.loads(line) in published for line in kept)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategy", "iou_qou"], "QoU decoys need word vectors"),
        (["--variant", "iou"], "IoU decoys need images"),
        (["--guarantee", "choices"], "a remedy would replace the column set_id; rename it"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_remedy_that_cannot_be_is_one_line(run, tmp_path, arguments, message):
    rows = [{"question": f"what {n}", "choices": ["a", "b"], "answer": n % 2, "set_id": "mine"} for n in range(300)]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    result = run("b.jsonl", "--output", "remedied.jsonl", *arguments)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not (tmp_path / "remedied.jsonl").exists()
    assert not (tmp_path / "vqa_mc_remedy").exists()


@pytest.mark.slow
def test_in_memory_the_remedied_rows_come_in_the_same_columns_and_nothing_is_written(
    tmp_path, monkeypatch, untrained_report_probes
):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    rows = {
        "image_id": [str(number // 4) for number in range(80)],
        "question": [f"what is {'abcd'[number % 4]}" for number in range(80)],
        "choices": [[f"a long answer numbered {number}", f"no {number}"] for number in range(80)],
        "answer": [0] * 80,
    }
    result = vm.remedy(pd.DataFrame(rows), variant="iou")
    (split,) = result.dataset.values()
    assert split["question"][:] == rows["question"]
    assert {"choice_kinds", "choice_origins"} < set(split.column_names)
    table = result.to_pandas().set_index("name")
    assert table.loc["longest choice: choices alone", "before"] == 1
    assert list(table["harmed"]) == [one.harmed for one in result.comparison.probes]
    page = result._repr_html_()
    for name, before, after in (one.cells for one in result._table):
        assert name.split()[0] in repr(result)
        assert "\n".join(f"      <td>{cell}</td>" for cell in (name, before, after)) in page
    assert all(f"<p>{html.escape(line)}</p>" in page for line in in_words(result.statistics))
    assert list(tmp_path.iterdir()) == []
    assert vm.audit(result.dataset, probes=False).to_dict()["rows"] == 80
    files = result.save(tmp_path / "remedied")
    biases = json.loads((tmp_path / "remedied" / "croissant.json").read_text())["rai:dataBiases"]
    for name, before, after in (one.cells for one in result._table if "probe" in one.name and "rows" not in one.name):
        assert f"{name}, before {before}, after {after}" in biases
    assert vm.read_benchmark(tmp_path / "remedied").test.rows.num_rows == 80
    assert files


@pytest.mark.slow
def test_a_remedied_config_is_named_after_its_new_decoys(run, tmp_path):
    from datasets import load_dataset

    folder = tmp_path / "data" / "shapes_random_uniform"
    folder.mkdir(parents=True)
    lines(folder / "test.jsonl", rows=60)
    config = "configs:\n- config_name: shapes_random_uniform\n  data_files: shapes_random_uniform/test.jsonl\n"
    (tmp_path / "data" / "README.md").write_text(f"---\n{config}---\n", "utf-8")
    result = run("data", "shapes_random_uniform", "--variant", "iou", "--output", "remedied", "--force")
    assert result.exit_code == 0, result.output
    assert "config: shapes_iou_remedied (was shapes_random_uniform)" in result.stdout
    assert r"From data (shapes\_random\_uniform) as config shapes\_iou\_remedied" in (
        tmp_path / "remedied" / "README.md"
    ).read_text("utf-8")
    loaded = load_dataset(str(tmp_path / "remedied"), "shapes_iou_remedied", cache_dir=str(tmp_path / "cache"))
    assert loaded["train"].num_rows == 60


@pytest.mark.slow
def test_a_config_of_another_benchmark_is_reported_before_the_work(run, tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        lines(tmp_path / name / "test.jsonl", rows=60)
    options = ("--variant", "iou", "--output", "remedied", "--force")
    assert run("one", *options).exit_code == 0
    monkeypatch.setattr("hf_vqa_mc.remedies.new_decoys.give_new_decoys", None)
    result = run("two", *options)
    assert result.exit_code == 2, result.output
    assert "output remedied has the config default_iou_remedied made from one default" in result.stderr
