"""A dataset of own triplets that is built in several parts."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.text.normalisation import words
from tests.decoys.small_worlds import random_vectors
from tests.sources.fixtures import write_triplets

IMAGES = 1_500
"""4,500 triplets, so that parts of 1,000 are five."""


def write_inputs(folder: Path, images: int = IMAGES) -> dict[str, Any]:
    """The triplets and vectors of their words; the options of a build of them."""
    write_triplets(folder / "triplets", images)
    questions = pa.concat_tables(pq.read_table(path) for path in (folder / "triplets").iterdir())["question"]
    vocabulary = sorted({word for question in questions.to_pylist() for word in words(question)})
    lines = [f"{word} {' '.join(map(str, vector))}\n" for word, vector in random_vectors(vocabulary, dim=10).items()]
    (folder / "vectors.txt").write_text("".join(lines))
    return {
        "data_dir": folder / "triplets",
        "word_vectors": str(folder / "vectors.txt"),
        "variants": "iou,qou,iou_qou",
        "largest_part": 1_000,
    }


def rows_of(folder: Path, config: str = "triplets_iou_qou") -> dict[str, list[dict[str, Any]]]:
    """The rows of each split, in the order of the files."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((folder / config).glob("*.parquet")):
        found.setdefault(path.name.split("-")[0], []).extend(pq.read_table(path).to_pylist())
    return found


def statistics_of(folder: Path, config: str = "triplets_iou_qou") -> dict[str, Any]:
    """The statistics of a config."""
    inventory = json.loads((folder / "statistics.json").read_text())
    found: dict[str, Any] = inventory["sources"]["triplets"]["configs"][config]["statistics"]
    return found
