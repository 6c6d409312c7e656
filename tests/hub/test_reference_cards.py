"""The rendered cards of the reference checkpoints say what the documentation says."""

import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

ROOT = Path(__file__).parents[2]
CARDS = sorted((ROOT / "model_cards").glob("*.md"))


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_card_has_its_figure_in_the_documentation(path):
    (result,) = ModelCard.load(path).data.eval_results
    results = (ROOT / "docs" / "method.md").read_text("utf-8")
    _, model, _, variant = path.stem.split("-")
    row = next(line for line in results.splitlines() if re.match(rf"\| MLP-{model.upper()}\b", line))
    cell = row.split("|")[2 + ["iou", "qou", "iou_qou"].index(variant)].split("(")[0]  # then the paper's
    assert f"{100 * result.metric_value:.1f}" in re.findall(r"\d+\.\d", cell)
    assert (result.dataset_config, result.dataset_split) == (f"cocoqa_{variant}", "test")


def test_there_is_a_card_of_each_reference_checkpoint():
    assert [path.stem for path in CARDS] == [
        f"mlp-{model}-cocoqa-{variant}" for model in ("a", "qa") for variant in ("iou", "iou_qou", "qou")
    ]
