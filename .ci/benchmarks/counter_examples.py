"""Whether counter-examples are those that people would pick, on made pairs of images: `.ci/bench counter_examples`.

Four cells, each empty or of one of four colors; questions about one cell; the picked image is a random one of the 24
most similar to which the question applies with another answer.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hf_vqa_mc as vm  # noqa: E402
from tests.training import paired_worlds  # noqa: E402

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

IMAGES = {"train": 2_000, "test": 300}
SETTINGS = {"optimizer": "adam", "learning_rate": 0.003, "batch_size": 50, "epochs": 8.0}
SIZES = {
    "ranking_weight": 1.0,
    "joint_size": 256,
    "lstm_size": 16,
    "lstm_layers": 1,
    "word_size": 16,
    "common_size": 64,
    "dropout": 0.0,
}


def rows() -> Iterator[Row]:
    """The figures."""
    with tempfile.TemporaryDirectory() as folder:
        yield from measured(Path(folder))


def measured(folder: Path) -> Iterator[Row]:
    """Train and test on worlds made in a folder."""
    features = paired_worlds.make(folder, IMAGES)
    data, config = str(folder / "data"), paired_worlds.CONFIG
    candidates = folder / "candidates.jsonl"
    vm.generate_complementary(data, config, features=features, output=candidates)
    given = {"features": features, "candidates": candidates}
    run = vm.train(
        data, config, output=folder / "run", model="counter-example", model_settings=SIZES, **SETTINGS, **given
    )
    found = run.record["results"]["test"]
    ranked = found["counterexamples"]
    at_5 = {name: 100 * ranked[name]["recall@5"] for name in ("random", "distance", "vqa_model")}
    yield f"counter-examples, {ranked['questions']:,} questions: answers", 100 * found["accuracy"], "%", ""
    yield "recall@1", 100 * ranked["recall@1"], "%", ""
    needed = max(at_5["random"], at_5["distance"]) + 15
    yield "recall@5", 100 * ranked["recall@5"], "%", f"> {needed:.1f}"
    for name, value in at_5.items():
        yield f"recall@5 of the baseline {name}", value, "%", ""
