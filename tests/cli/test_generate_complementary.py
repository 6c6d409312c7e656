"""``vqa-mc generate complementary``, from a small dataset with images to the file."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.extraction.extraction import extract_features
from tests.configs import write_configs
from tests.engines.complementary.small_dataset import triplets_of

N_IMAGES = 6


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Path]:
    """A dataset and the features of its images."""
    folder = tmp_path_factory.mktemp("complementary")
    images = folder / "images"
    images.mkdir()
    triplets = triplets_of(*((f"{index}", "what color is the ball", f"c{index % 2}") for index in range(N_IMAGES)))
    (variant,) = build_variants(triplets, ["random_uniform"], None, Settings())
    data = write_configs(folder / "data", {"made": {"train": variant.splits["train"]}})
    for index in range(N_IMAGES):
        Image.new("RGB", (16, 16), (40 * index, 0, 0)).save(images / f"{index}.png")
    done = extract_features(dataset_images(str(data), "made", images), backbone="pixels", output=folder / "features")
    return data, done.folder


def run(*arguments: object):
    return CliRunner().invoke(app, ["generate", "complementary", *map(str, arguments)])


def test_the_file_has_a_line_for_each_question(made, tmp_path):
    data, features = made
    output = tmp_path / "found.jsonl"
    done = run(data, "made", "--features", features, "--output", output)
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert len(rows) == N_IMAGES
    assert rows[0]["candidates"][0] == "1"  # the nearest with another answer
    assert rows[0]["split"] == "train"
    printed = " ".join(done.stdout.split())
    assert f"{N_IMAGES} questions, each with the 5 most similar of {N_IMAGES} images, sorted by" in printed
    assert "The dataset has too few images for the requested 24 candidates." in printed


def test_parquet_holds_the_same_and_json_tells_the_figures(made, tmp_path):
    data, features = made
    for name in ("found.jsonl", "found.parquet"):
        done = run(data, "made", "--features", features, "--output", tmp_path / name, "--json", "--nearest", 2)
        assert done.exit_code == 0, done.stderr
    printed = json.loads(done.stdout)
    assert (printed["questions"], printed["candidates_per_question"]) == (N_IMAGES, 2)
    lines = [json.loads(line) for line in (tmp_path / "found.jsonl").read_text().splitlines()]
    rows = pq.read_table(tmp_path / "found.parquet").to_pylist()
    assert [row["candidates"] for row in rows] == [line["candidates"] for line in lines]
    np.testing.assert_allclose([row["differs"] for row in rows], [line["differs"] for line in lines], atol=1e-6)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--output", "found.txt"], "suffixes .jsonl, .parquet"),
        (["--captions", "none.json"], "none.json: No such file"),
        (["--coco", "none.json"], "COCO file none.json: no such file"),
    ],
)
def test_errors_are_reported_before_anything_is_written(made, tmp_path, monkeypatch, options, complaint):
    monkeypatch.chdir(tmp_path)
    data, features = made
    done = run(data, "made", "--features", features, *options)
    assert done.exit_code == 2
    assert complaint in " ".join(done.stderr.split())
    assert not list(tmp_path.iterdir())
