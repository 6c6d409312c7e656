"""The rendered cards of the reference checkpoints say what the documentation says."""

import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

ROOT = Path(__file__).parents[2]
CARDS = sorted((ROOT / "model_cards").glob("*.md"))


COLUMNS = {"easyvqa": 2, "vqa": 3}
"""Of the table of models that see images."""


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_card_has_its_figure_in_the_documentation(path):
    (result,) = ModelCard.load(path).data.eval_results
    results = (ROOT / "docs" / "results.md").read_text("utf-8")
    model, source, variant = re.fullmatch(r"(.+)-(\w+?)-(\w+)", path.stem).groups()
    if source == "cocoqa":
        row, column = rf"\| {model.upper()}\b", 2 + ["iou", "qou", "iou_qou"].index(variant)
    else:
        results, row = results.partition("## Models that see images")[2], rf"\| `{model}`"
        column = COLUMNS[source]
    cells = next(line for line in results.splitlines() if re.match(row, line)).split("|")
    cell = cells[column].split("(")[0]  # then the paper's
    assert f"{100 * result.metric_value:.1f}" in re.findall(r"\d+\.\d", cell)
    split = "validation" if source == "vqa" else "test"
    assert (result.dataset_config, result.dataset_split) == (f"{source}_{variant}", split)


def test_there_is_a_card_of_each_reference_checkpoint():
    text = [f"mlp-{model}-cocoqa-{variant}" for model in ("a", "qa") for variant in ("iou", "iou_qou", "qou")]
    seeing = [f"{model}-{source}-iou_qou" for model in ("attention", "hiecoatt", "mlp-iqa") for source in COLUMNS]
    assert [path.stem for path in CARDS] == sorted(text + seeing)


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.stem)
def test_a_card_of_a_model_that_sees_images_has_its_curve_and_limits(path):
    text = path.read_text("utf-8")
    limits = text.partition("## Limits")[2]
    if "Image features:" in text:
        assert "| epoch | training loss | accuracy |" in text
        assert "were left out because their images have no features" in limits
    else:
        assert "- It cannot see the image." in limits
