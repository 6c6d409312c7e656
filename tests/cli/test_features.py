"""``vqa-mc features``: what it prints and writes, and how it ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.extraction.store import ImageFeatures
from tests.extraction import made_dataset


@pytest.fixture
def features(monkeypatch, tmp_path):
    """Runs a command line in an empty folder next to the dataset and its images; exit code, stdout and stderr."""
    from hf_vqa_mc.cli import app

    monkeypatch.chdir(tmp_path)
    made_dataset.make(Path("questions"), 12)
    made_dataset.draw(Path("pictures"), 12)

    def features(*arguments):
        done = CliRunner().invoke(app, ["features", *arguments], catch_exceptions=False)
        return done.exit_code, done.stdout, done.stderr

    return features


PIXELS = ("questions", "made", "--images", "pictures", "--backbone", "pixels")


def test_it_says_what_was_done_and_where_it_lies(features):
    code, out, err = features(*PIXELS)
    assert code == 0
    assert out.splitlines() == [
        "12 images, 12 of them encoded now: 768 dimensions each (float32), pixels at revision 1.",
        "features: vqa_mc_features/pixels-1/questions-made",
    ]
    assert "features (pixels): 12 of 12" in err
    assert ImageFeatures("vqa_mc_features/pixels-1/questions-made").take(["11"]).shape == (1, 768)


def test_missing_and_broken_images_end_it_unless_they_are_to_be_skipped(features):
    Path("pictures/000000000003.png").unlink()
    Path("pictures/000000000004.png").write_bytes(b"")
    code, out, err = features(*PIXELS)
    assert (code, out) == (2, "")
    assert "vqa-mc: images in pictures: 1 of 12 missing, with image_id 3; skip them with --skip-missing" in err
    code, out, _ = features(*PIXELS, "--skip-missing")
    assert code == 0
    assert "Skipped (missing): 1 images, image_id 3" in out
    assert "Skipped (broken): 1 images, image_id 4 (not a readable image)" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nowhere", "made"), "nowhere"),
        (("questions", "other", *PIXELS[2:]), "unknown config 'other'"),
        (("questions", "made", "--images", "nowhere"), "--images nowhere: expected an existing folder"),
        ((*PIXELS, "--grid", "0"), "--grid 0: expected 1 or more"),
        (("questions", "made", "--images", "pictures", "--backbone", "questions"), "has no config.json"),
    ],
)
def test_what_cannot_be_used_is_one_line(features, monkeypatch, arguments, said):
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    code, out, err = features(*arguments)
    assert code in (1, 2)
    assert out == ""
    assert said in err
    assert "Traceback" not in err
