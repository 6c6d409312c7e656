"""COCO-QA as a whole: the figures of the paper, of the design and of the last time that they were looked at."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.dataset.cocoqa_figures import GOLDEN, NAMES, figures

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def found(real_cocoqa: Path, real_glove: Path) -> dict[str, Any]:
    """Half a minute on one core, hence one module: its tests share what one worker has made."""
    return figures(real_cocoqa, real_glove)


def leaves(figure: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if not isinstance(figure, dict):
        yield path, figure
        return
    for key, value in figure.items():
        yield from leaves(value, f"{path}/{key}")


@pytest.mark.parametrize(("pool", "tolerance"), [("split", 1.0), ("dataset", 2.0)])
def test_the_prior_rule_does_as_well_as_the_papers_mlp_a(found: dict[str, Any], pool: str, tolerance: float) -> None:
    """Table 8, MLP-A; the paper's pool is said to be the whole dataset, its figures are those of the same split."""
    accuracies = [100 * found[pool][name]["prior_rule"]["test"]["accuracy"] for name in NAMES]
    assert accuracies == pytest.approx([70.3, 31.7, 26.6], abs=tolerance)
    chances = [found[pool][name]["prior_rule"]["test"]["chance"] for name in NAMES]
    assert chances == pytest.approx([1 / 4, 1 / 4, 1 / 7])


@pytest.mark.parametrize("pool", ["split", "dataset"])
def test_every_row_has_all_its_choices(found: dict[str, Any], pool: str) -> None:
    for name, size in zip(NAMES, ("4", "4", "7"), strict=True):
        assert found[pool][name]["rows"] == {"train": 78_736, "test": 38_948}
        assert found[pool][name]["choices_per_row"] == {"train": {size: 78_736}, "test": {size: 38_948}}


@pytest.mark.parametrize("pool", ["split", "dataset"])
def test_four_fifths_of_the_iou_decoys_are_fall_backs_and_no_qou_decoy_is(found: dict[str, Any], pool: str) -> None:
    for name in ("iou", "iou_qou"):
        fallbacks = found[pool][name]["fallbacks"]["iou"]
        assert fallbacks["fallback"] / fallbacks["choices"] == pytest.approx(0.798, abs=0.0005)
    assert [found[pool][name]["fallbacks"]["qou"]["fallback"] for name in ("qou", "iou_qou")] == [0, 0]


def test_figures_are_those_of_the_golden_file(found: dict[str, Any]) -> None:
    """After a change that is meant to move them: ``python -m tests.dataset.cocoqa_figures``."""
    golden = dict(leaves(json.loads(GOLDEN.read_text())))
    assert dict(leaves(found)) == pytest.approx(golden, abs=1e-8)
