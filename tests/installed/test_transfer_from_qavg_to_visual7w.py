"""From the publishers' files to Table 6 by the installed commands alone."""

import json

import pytest
from PIL import Image

from tests.sources import fixtures

pytestmark = pytest.mark.slow


def test_a_model_of_qavg_is_tested_and_fine_tuned_on_visual7w(run, raw, tmp_path):
    vectors = ("--word-vectors", raw / "vectors.txt")
    (tmp_path / "images").mkdir()
    for image in fixtures.VISUAL_GENOME_IMAGES:
        Image.new("RGB", (8, 8), (image % 256, image // 7 % 256, 90)).save(tmp_path / "images" / f"{image}.jpg")
    for source, variant in (("qavg", "iou_qou"), ("visual7w", "orig")):
        files = ("--data-dir", raw / "visual_genome")
        run("vqa-mc", "build", source, *files, *vectors, "--variants", variant, cwd=tmp_path)
        config = f"{source}_{variant}"
        run("vqa-mc", "features", "vqa_mc", config, "--backbone", "pixels", "--images", "images", cwd=tmp_path)
    (features,) = (tmp_path / "vqa_mc_features").iterdir()
    (tmp_path / "small.yaml").write_text(
        "model_settings:\n  hidden_size: 16\nbatch_size: 8\nheld_out: 0.3\nepochs: 2\n"
    )
    (tmp_path / "tuning.yaml").write_text("epochs: 2\n")
    done = run(
        "vqa-mc", "transfer", "vqa_mc", "--features", features, *vectors, "--targets", "visual7w_orig",
        "--recipe", "small.yaml", "--fine-tuning-recipe", "tuning.yaml", "--output", "table6", cwd=tmp_path,
    )  # fmt: skip
    assert "mlp-iqa trained on qavg_iou_qou" in done
    (row,) = json.loads((tmp_path / "table6" / "transfer.json").read_text())["rows"]
    assert (row["config"], row["split"], row["skipped"]) == ("visual7w_orig", "test", 0)
    for step in ("as_is", "fine_tuned"):
        assert (row[step]["questions"], row[step]["chance"]) == (24, 0.25)
        assert 0 <= row[step]["accuracy"] <= 1
    assert row["paper"] == {"alone": 65.7, "as_is": 60.5, "fine_tuned": 69.1}
    tuned = json.loads((tmp_path / "table6" / "fine_tuned" / "visual7w_orig" / "best" / "training.json").read_text())
    assert (tuned["config"], tuned["init_from"]["config"]) == ("visual7w_orig", "qavg_iou_qou")
