"""``vqa-mc build``: what it prints, how it ends, and that nothing is left when it fails."""

import errno
import json
import os
import subprocess
import warnings
from functools import partial

import pytest
from datasets import load_dataset

from hf_vqa_mc.errors import MissingExtra
from tests.dataset.fixtures import glove
from tests.sources import fixtures
from tests.sources.open_ended_files import write_gqa

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glove(folder / "glove.txt", fixtures.write_cocoqa(folder / "cocoqa"))
    return folder


@pytest.fixture
def build(vqa_mc, inputs):
    return partial(vqa_mc, "build", "cocoqa", "--data-dir", inputs / "cocoqa", "--word-vectors", inputs / "glove.txt")


@pytest.mark.slow
def test_orig_decoys_can_be_made_and_change_no_other_variant(build, inputs, tmp_path):
    assert build("--variants", "qou,iou_qou", "--output", "plain")[0] == 0
    assert build("--variants", "qou,iou_qou,orig,all", "--orig", "made", "--output", "made")[0] == 0
    for name in ("cocoqa_qou", "cocoqa_iou_qou"):
        for file in (tmp_path / "plain" / name).iterdir():
            assert (tmp_path / "made" / name / file.name).read_bytes() == file.read_bytes()
    rows = load_dataset(str(tmp_path / "made"), "cocoqa_orig", cache_dir=str(tmp_path / "cache"), split="train")
    assert all(row["choice_kinds"][row["label"]] == 0 for row in rows)
    assert {kind for row in rows for kind in row["choice_kinds"]} == {0, 1}
    assert "generated like those of VQA" in (tmp_path / "made" / "README.md").read_text("utf-8")
    (tmp_path / "blind.json").write_text(json.dumps({str(rows[0]["question_id"]): ["a guess"]}))
    code, _, err = build("--plausible", tmp_path / "blind.json", "--output", "other")
    assert (code, "with --orig made; add it" in err) == (2, True)
    code = build("--variants", "orig", "--orig", "made", "--plausible", tmp_path / "blind.json", "--output", "other")[
        0
    ]
    assert code == 0
    guessed = load_dataset(str(tmp_path / "other"), "cocoqa_orig", cache_dir=str(tmp_path / "cache"), split="train")[0]
    assert "a guess" in guessed["choices"]
    assert build("--orig", "invented")[0] == 2


def test_it_tells_what_was_built_and_what_to_type_next(build, tmp_path):
    code, out, err = build("--variants", "iou, iou_qou")
    assert code == 0, err
    assert "cocoqa_iou_qou" in out
    assert "chance" in out
    assert f"Output: {tmp_path}/vqa_mc" in out
    assert f"cd {tmp_path}" in out
    assert 'load_dataset("vqa_mc", "cocoqa_iou_qou")' in out
    assert "on the Hugging Face Hub (offline: in its cache)" in out
    assert "writing cocoqa_iou_qou" in err


def test_what_it_says_to_type_next_works(build, preloaded, tmp_path):
    _, out, _ = build("--variants", "iou")
    commands = [line.strip() for line in out.splitlines() if line.startswith("  ")]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    environment["PATH"] = f"{preloaded}:{environment['PATH']}"
    done = subprocess.run(["sh", "-ec", "\n".join(commands)], env=environment, capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stderr
    assert "num_rows" in done.stdout


@pytest.mark.slow
def test_open_ended_configs_alone_are_told_without_choices(vqa_mc, tmp_path):
    write_gqa(tmp_path / "gqa")
    code, out, err = vqa_mc("build", "gqa", "--data-dir", "gqa", "--variants", "balanced,all")
    assert code == 0, err
    assert "gqa_all" in out
    assert "gqa_balanced: challenge_balanced_questions.json was not read: its questions have no answers." in out
    assert 'load_dataset("vqa_mc", "gqa_balanced")' in out
    assert "writing gqa_all: 144 of 144" in err
    code, out, err = vqa_mc("build", "gqa", "--data-dir", "gqa", "--variants", "gqa_all,random_uniform", "--json")
    assert code == 0, err
    printed = json.loads(out)
    assert set(printed["configs"]) == {"gqa_all", "gqa_random_uniform"}
    assert printed["default"] == "gqa_random_uniform"
    assert printed["removed"] == ["gqa_balanced"]


def test_a_wrong_name_is_one_line_and_exit_code_2(vqa_mc, build, tmp_path):
    code, out, err = vqa_mc("build", "coco")
    assert (code, out) == (2, "")
    assert err.splitlines() == [line for line in err.splitlines() if line.startswith("vqa-mc: unknown source 'coco'")]
    code, _, err = build("--variants", "iou,qoo")
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "unknown variant 'qoo': did you mean 'qou'?" in err
    code, _, err = build("--decoys-from", "datasets")
    assert code == 2
    assert err.startswith("vqa-mc: ")
    assert list(tmp_path.iterdir()) == []


ENDINGS = {
    "a full disk": (OSError(errno.ENOSPC, "cannot write x: no space left"), 1, "cannot write x: no space left"),
    "no network": (ConnectionError("cannot reach example.org"), 1, "cannot reach example.org"),
    "no such file": (FileNotFoundError(errno.ENOENT, "No such file", "x.txt"), 2, "x.txt: No such file"),
    "a missing extra": (
        MissingExtra("easy-vqa", "demo"),
        2,
        'easy-vqa is not installed: pip install "hf_vqa_mc[demo]"',
    ),
    "Ctrl-C": (KeyboardInterrupt(), 130, "interrupted"),
}


@pytest.mark.parametrize(("error", "code", "message"), ENDINGS.values(), ids=ENDINGS)
def test_each_ending_has_its_exit_code_and_line(build, monkeypatch, error, code, message):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr("hf_vqa_mc.dataset.build.build_folder", failing)
    ended, out, err = build()
    assert (ended, out) == (code, "")
    assert err == f"vqa-mc: {message}\n"
