"""``vqa-mc transfer``: what it prints, and how it ends."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.scoring.table import with_interval
from hf_vqa_mc.verbs.transfer import TransferSettings, result_of
from tests.training import toy_dataset, transfer_world

FEATURES = "vqa_mc_features/pixels-1"
TARGETS = ("--targets", "visual7w_all, vqa_orig")
PAPERS = ("vqa_mc", "--features", FEATURES, "--word-vectors", "vectors0.txt", "--output", "table6", *TARGETS)
SMALL = ("--recipe", "small.yaml", "--fine-tuning-recipe", "fine.yaml")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A folder with a dataset, its features and what else a command names."""
    import datasets

    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", folder / "cache")
        transfer_world.features(transfer_world.make(folder / "vqa_mc"), folder / "vqa_mc_features")
    toy_dataset.vectors_file(folder)
    (folder / "small.yaml").write_text("model_settings:\n  hidden_size: 16\nbatch_size: 20\nepochs: 2\n")
    (folder / "fine.yaml").write_text("epochs: 1\n")
    return folder


@pytest.fixture
def transfer(world, monkeypatch, tmp_path):
    """Runs a command line in a copy of the folder; exit code, stdout and stderr."""
    from hf_vqa_mc.cli import app

    shutil.copytree(world, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("COLUMNS", "120")

    def transfer(*arguments):
        done = CliRunner().invoke(app, ["transfer", *arguments], catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return transfer


def cells(out: str, name: str) -> list[list[str]]:
    """The lines of tables that begin with a name."""
    lines = [[cell.strip() for cell in line.split("│")] for line in out.splitlines()]
    return [line[1:-1] for line in lines if len(line) > 2 and line[1] == name]


@pytest.mark.slow
def test_the_rows_of_table_6_beside_the_papers_and_the_images_in_common(transfer):
    code, out, err = transfer(*PAPERS, *SMALL, "--from-scratch")
    assert code == 0
    written = {row["config"]: row for row in json.loads(Path("table6/transfer.json").read_text())["rows"]}
    for config in ("visual7w_all", "vqa_orig"):
        row = written[config]
        shown = [
            with_interval(row[step]["accuracy"], row[step]["interval"])
            for step in ("from_scratch", "as_is", "fine_tuned")
        ]
        lines = [[config, f"{100 * row['as_is']['chance']:.1f}", *shown]]
        if seen := row["overlap"]:
            shared = [f"{seen[f'shared_{what}']} of {seen[what]}" for what in ("images", "questions")]
            lines.append([config, row["split"], *shared])
        assert cells(out, config) == lines
    of_target = [written["vqa_orig"][step]["target_accuracy"] for step in ("from_scratch", "as_is", "fine_tuned")]
    shown = [with_interval(one["accuracy"], one["interval"]) for one in of_target]
    assert cells(out, "target") == [["target", "33.3", *shown]]
    assert "vqa_orig: consensus accuracy; target: accuracy of picking the target" in out
    assert cells(out, "paper") == [["paper", "", "45.1", "48.9", "51.0"], ["paper", "", "64.6", "42.2", "65.6"]]
    assert written["visual7w_all"]["overlap"]["shared_images"] == 0 and written["vqa_orig"]["overlap"] is None
    assert "images of vqa_orig that were trained on: unknown; the image ids of qavg_iou_qou" in out
    assert "mlp-iqa trained on qavg_iou_qou" in out
    assert "table6/pretrained/best" in out
    begun = [
        "training on qavg_iou_qou: pretrained",
        "testing the pretrained model on vqa_orig as it is",
        "training on vqa_orig: fine_tuned/vqa_orig",
    ]
    assert [line for line in err.splitlines() if line in begun] == begun
    assert "loss" in err


@pytest.mark.slow
def test_as_json_and_from_a_checkpoint_whose_dataset_it_knows(transfer):
    code, out, _ = transfer(*PAPERS, *SMALL, "--json")
    assert code == 0
    first = json.loads(out)
    assert first == json.loads(Path("table6/transfer.json").read_text())
    checkpoint = ("--init-from", first["checkpoint"], "--fine-tuning-recipe", "fine.yaml")
    given = ["again" if word == "table6" else word for word in PAPERS]
    code, out, _ = transfer(*given, *checkpoint, "--json")
    assert code == 0
    again = json.loads(out)
    assert (again["pretrained_on"], again["pretrained"]) == ("qavg_iou_qou", None)
    assert again["rows"] == first["rows"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--targets", "visual7w_orig,vqa_all"], "unknown config 'vqa_all'"),
        (["--word-vectors", "none.txt"], "--word-vectors none.txt: expected an existing"),
        (["--features", "vqa_mc_features"], "lacks features of "),
        (["--recipe", "none.yaml"], "--recipe none.yaml: no such file"),
        (["--fine-tuning-recipe", "vectors0.txt"], "--fine-tuning-recipe vectors0.txt: "),
        (["--init-from", "nothing/here", "--recipe", "small.yaml"], "small.yaml has no effect with --init-from"),
        (["--output", "vqa_mc"], "--output vqa_mc is not the folder of a transfer: it has README.md"),
        (["--output", "no/where"], "there is no folder"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_line_before_any_work(transfer, options, message):
    before = sorted(Path().iterdir())
    code, out, err = transfer(*PAPERS, *options)
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("vqa-mc: ")
    assert sorted(Path().iterdir()) == before


def test_saved_figures_have_no_folders_of_the_user(tmp_path):
    settings = TransferSettings(str(tmp_path / "vqa_mc"), output=tmp_path / "t")
    row = dict.fromkeys(["config", "split", "overlap", "skipped", "paper", "from_scratch", "fine_tuned"])
    row |= {"as_is": {"accuracy": 0.5}, "overlap_unknown": f"needs a in {tmp_path / 'vqa_mc'}"}
    names = ("pretrained", "pretrained_on", "model")
    record = {**dict.fromkeys(names), "checkpoint": str(tmp_path / "t" / "best"), "rows": [row | {"config": "a"}]}
    (file,) = result_of(settings, record).save(tmp_path / "figures.json")
    figures = json.loads(file.read_text())
    assert (figures["checkpoint"], figures["rows"][0]["overlap_unknown"]) == ("best", "needs a in vqa_mc")
