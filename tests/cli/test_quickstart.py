"""``vqa-mc quickstart``: what it prints is what it built, without a network, and what it says to type works."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.builder.card_text import percent
from hf_vqa_mc.cli import app, main
from tests.builder import raw_files
from tests.cli import small_easy_vqa

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

VARIANTS = ("iou", "qou", "iou_qou", "random_uniform", "random_frequency")
CONFIGS = [f"easyvqa_{variant}" for variant in VARIANTS]

NO_NETWORK = """\
import pathlib, socket
def refuse(*address):
    with (pathlib.Path(__file__).parent / "asked").open("a") as asked:
        asked.write(f"{address}\\n")
    raise OSError("no network")
socket.getaddrinfo = socket.socket.connect = refuse
"""
"""A sitecustomize.py: processes that find it cannot reach any network, and leave a note if they try."""


@pytest.fixture
def quickstart(monkeypatch, capsys, tmp_path):
    """Runs it on a small easy-VQA; exit code, stdout and stderr."""
    import datasets

    small_easy_vqa.make(tmp_path / "packages")
    (tmp_path / "here").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path / "here")

    def quickstart(*options):
        monkeypatch.setattr(sys, "argv", ["vqa-mc", "quickstart", *map(str, options)])
        with pytest.raises(SystemExit) as end:
            main()
        return (end.value.code or 0, *capsys.readouterr())

    return quickstart


def prior_rules(folder):
    """What statistics.json says that the prior rule reaches on each config's test split."""
    configs = json.loads((folder / "statistics.json").read_text())["sources"]["easyvqa"]["configs"]
    return {name: configs[name]["statistics"]["prior_rule"]["test"] for name in CONFIGS}


@pytest.mark.skipif(find_spec("easy_vqa") is None, reason="the package easy-vqa is not installed")
def test_on_the_real_easy_vqa_it_ends_with_the_table_and_asks_no_network(tmp_path):
    here = tmp_path / "a folder"
    here.mkdir()
    (tmp_path / "sitecustomize.py").write_text(NO_NETWORK)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    environment |= {
        "HF_HOME": str(tmp_path / "home"),
        "PYTHONPATH": ":".join([str(tmp_path), *filter(None, sys.path)]),
        "PATH": f"{Path(sys.executable).parent}:{environment['PATH']}",
        "COLUMNS": "100",
    }
    guard = [sys.executable, "-c", "import socket; print(socket.getaddrinfo.__name__)"]
    assert subprocess.run(guard, env=environment, capture_output=True, text=True).stdout == "refuse\n"
    command = [sys.executable, "-m", "hf_vqa_mc", "quickstart"]
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "counting what shortcuts reach (5)" in done.stderr
    assert [path.name for path in here.iterdir()] == ["vqa_mc"]

    lines = [line.replace("│", " ").split() for line in done.stdout.splitlines()]
    table = {line[0]: [float(cell.rstrip("%")) for cell in line[1:]] for line in lines if line and line[0] in CONFIGS}
    assert list(table) == CONFIGS
    for name, told in prior_rules(here / "vqa_mc").items():
        assert table[name][1:3] == [float(percent(told[key])[:-1]) for key in ("chance", "accuracy")]
    read = {name: line[4] for name, line in table.items()}  # question and answers, without yes and no
    assert read["easyvqa_iou"] > 90
    assert read["easyvqa_qou"] < read["easyvqa_iou"] - 40
    assert read["easyvqa_iou_qou"] <= read["easyvqa_qou"] + 5

    assert f"Everything lies in {here}/vqa_mc" in done.stdout
    assert "From elsewhere it asks the Hugging Face Hub" in done.stdout
    assert "vqa-mc build cocoqa" in done.stdout
    typed = [line.strip() for line in done.stdout.splitlines() if line.startswith(("  cd ", "  python -c "))]
    assert len(typed) == 3
    tried = subprocess.run(["sh", "-ec", "\n".join(typed)], cwd="/", env=environment, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stderr
    assert "num_rows: 9673" in tried.stdout
    assert "'image': <PIL" in tried.stdout
    assert not (tmp_path / "asked").exists(), (tmp_path / "asked").read_text()


def test_its_prior_rule_is_that_of_the_statistics(quickstart):
    code, out, err = quickstart("--json", "--output", "easy", "--workers", 1)
    assert code == 0, err
    told = json.loads(out)
    assert told["output"] == str(Path("easy").absolute())
    assert told["load_from"] == str(Path.cwd())
    assert list(told["configs"]) == CONFIGS
    for name, rule in prior_rules(Path("easy")).items():
        found = told["configs"][name]
        assert (found["answer_prior"], found["chance"]) == (rule["accuracy"], rule["chance"])
        assert found["rows"] == found["yes_no"]["rows"] + found["other"]["rows"] == 120
        assert found["choices"] == ([4] if name in CONFIGS[:2] else [7])
        parts = [found[part]["rows"] * found[part]["question_answer_prior"] for part in ("yes_no", "other")]
        assert sum(parts) / 120 == pytest.approx(found["question_answer_prior"])


def test_a_second_run_tells_of_the_new_rows(quickstart):
    first, again, other = (json.loads(quickstart("--json", *seed)[1]) for seed in ((), (), ("--seed", 7)))
    assert first == again
    assert other != first
    for name, rule in prior_rules(Path("vqa_mc")).items():
        assert other["configs"][name]["answer_prior"] == rule["accuracy"]
    assert [path.name for path in Path.cwd().iterdir()] == ["vqa_mc"]


def test_another_source_in_the_folder_stays(quickstart, tmp_path):
    from hf_vqa_mc.builder import build_dataset

    build_dataset("cocoqa", data_dir=raw_files.cocoqa(tmp_path / "cocoqa"), output="vqa_mc", variants=["iou"])
    code, out, err = quickstart()
    assert code == 0, err
    assert {path.name for path in Path("vqa_mc").iterdir()} > {"cocoqa_iou", "easyvqa_iou_qou", "easyvqa_images"}
    assert 'load_dataset("vqa_mc", "easyvqa_iou_qou")' in out


def test_a_missing_package_is_the_pip_line_to_type(quickstart, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.sources.easyvqa.find_spec", lambda name: None)
    code, out, err = quickstart()
    assert (code, out) == (2, "")
    assert err == 'vqa-mc: easy-vqa is not installed: pip install "hf_vqa_mc[demo]"\n'
    assert list(Path.cwd().iterdir()) == []


def test_a_folder_of_someone_else_is_refused(quickstart):
    Path("vqa_mc").mkdir()
    Path("vqa_mc/mine").write_text("")
    code, out, err = quickstart()
    assert (code, out) == (2, "")
    assert "is a folder that vqa-mc build did not write" in err
    assert [path.name for path in Path("vqa_mc").iterdir()] == ["mine"]


@pytest.mark.parametrize("options", [("--seed", "one"), ("--workers", "0"), ("--output", "no/such/folder")])
def test_a_wrong_option_is_exit_code_2(quickstart, options):
    code, out, _ = quickstart(*options)
    assert (code, out) == (2, "")
    assert list(Path.cwd().iterdir()) == []


def test_help_has_an_example():
    done = CliRunner().invoke(app, ["quickstart", "-h"], env={"COLUMNS": "200", "TERM": "dumb"})
    assert done.exit_code == 0
    assert "Example: vqa-mc quickstart" in done.output
