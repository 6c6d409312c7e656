"""``vqa-mc quickstart``: what it prints is what it built, without a network, and the commands that it prints work."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from hf_vqa_mc.text.counted import percent
from hf_vqa_mc.verbs.audit import AuditSettings
from tests.cli import small_easy_vqa
from tests.sources import fixtures

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

OPEN = [f"easyvqa_{variant}" for variant in ("random_uniform", "random_frequency", "iou", "qou", "iou_qou")]
CLOSED = "easyvqa_sets_same_question"
CONFIGS = [*OPEN, CLOSED]


@pytest.fixture
def quickstart(vqa_mc, monkeypatch, tmp_path):
    """Runs it on a small easy-VQA, with an audit that counts only; exit code, stdout and stderr."""
    small_easy_vqa.make(tmp_path / "packages")
    (tmp_path / "here").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "packages")
    monkeypatch.delitem(sys.modules, "easy_vqa", raising=False)  # another test may have imported the real one
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("hf_vqa_mc.verbs.quickstart.AuditSettings", partial(AuditSettings, probes=False))
    return partial(vqa_mc, "quickstart")


def printed_commands(out):
    """The commands that it prints, without builds and training."""
    lines = [line.strip() for line in out.splitlines()]
    return [line for line in lines if line.startswith(("cd ", "python -c ", "vqa-mc push "))]


def typed(commands, environment, preloaded):
    """What a shell in another directory does with these commands."""
    there = {**environment, "PATH": f"{preloaded}:{environment['PATH']}"}
    return subprocess.run(["sh", "-ec", "\n".join(commands)], cwd="/", env=there, capture_output=True, text=True)


def prior_rules(folder):
    """The prior rule's accuracy on each config's test split, as in statistics.json."""
    configs = json.loads((folder / "statistics.json").read_text())["sources"]["easyvqa"]["configs"]
    return {name: configs[name]["statistics"]["prior_rule"]["test"] for name in CONFIGS}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("easy_vqa") is None, reason="the package easy-vqa is not installed")
def test_on_the_real_easy_vqa_it_prints_the_table_without_a_network(quickstart_run, preloaded):
    here, environment, done = quickstart_run
    assert done.returncode == 0, done.stderr
    assert "scoring blind heuristics" in done.stderr
    assert {path.name for path in here.iterdir()} == {"vqa_mc", "vqa_mc_audit"}
    assert done.stdout.splitlines()[-1] == "  vqa-mc remedy FILE --guarantee question --output closed.csv"
    page = next(Path(line.strip()) for line in done.stdout.splitlines() if line.endswith("report.html"))
    assert page == here / "vqa_mc_audit" / "vqa_mc-easyvqa_random_uniform" / "report.html"
    assert "easyvqa_random_uniform" in page.read_text("utf-8")

    lines = [line.replace("│", " ").split() for line in done.stdout.splitlines() if line.startswith("│")]
    table = {
        line[0]: [float(cell) for cell in line[1:] if cell[0] != "("] for line in lines if line and line[0] in CONFIGS
    }
    assert set(table) == set(CONFIGS)
    for name, rule in prior_rules(here / "vqa_mc").items():
        assert table[name][:2] == [float(percent(rule[key])[:-1]) for key in ("chance", "accuracy")]
    color, shape, yes_no = ({name: line[column] for name, line in table.items()} for column in (2, 3, 4))
    assert color["easyvqa_iou"] > 90 and shape["easyvqa_iou"] > 90  # the question rules its decoys out
    assert color["easyvqa_iou_qou"] < color["easyvqa_random_frequency"] - 5
    assert shape["easyvqa_iou_qou"] < shape["easyvqa_random_frequency"] - 5
    assert min(yes_no[name] for name in OPEN) > 80  # what the question reveals, whatever the decoys
    assert yes_no[CLOSED] == 50 and table[CLOSED][0] == table[CLOSED][1]  # the guarantee

    assert f"Output: {here}/vqa_mc" in done.stdout
    assert "on the Hugging Face Hub (offline: in its cache)" in done.stdout
    assert "vqa-mc build cocoqa" in done.stdout
    steps = printed_commands(done.stdout)
    assert len(steps) == 3
    tried = typed(steps, environment, preloaded)
    assert tried.returncode == 0, tried.stderr
    assert "num_rows: 9673" in tried.stdout
    assert "'image': <PIL" in tried.stdout
    requests = here.parent / "requests"
    assert not requests.exists(), requests.read_text()


@pytest.mark.slow
def test_its_prior_rule_is_that_of_the_statistics(quickstart):
    code, out, err = quickstart("--json", "--output", "easy")
    assert code == 0, err
    printed = json.loads(out)
    assert printed["output"] == str(Path("easy").absolute())
    assert printed["load_from"] == str(Path.cwd())
    assert list(printed["configs"]) == CONFIGS
    for name, rule in prior_rules(Path("easy")).items():
        found = printed["configs"][name]
        assert (found["answer_prior"], found["chance"]) == pytest.approx((rule["accuracy"], rule["chance"]))
        if name == CLOSED:
            assert found["question_answer_prior"] == pytest.approx(found["chance"])
        else:
            assert (found["rows"], found["choices"]) == (120, "4" if name in ("easyvqa_iou", "easyvqa_qou") else "7")
        assert 0 <= found["question_answer_prior"] <= 1 and all(0 <= share <= 1 for share in found["by_type"].values())


@pytest.mark.slow
def test_another_source_in_the_folder_stays(quickstart, tmp_path):
    from hf_vqa_mc.verbs.build import build

    build("cocoqa", data_dir=fixtures.write_cocoqa(tmp_path / "cocoqa"), output="vqa_mc", variants=["iou"])
    code, out, err = quickstart()
    assert code == 0, err
    assert {path.name for path in Path("vqa_mc").iterdir()} > {"cocoqa_iou", "easyvqa_iou_qou", "easyvqa_images"}
    assert 'load_dataset("vqa_mc", "easyvqa_iou_qou")' in out
