"""The rows of any benchmark in the columns of ``vqa-mc build``, for training and prediction to read."""

from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.benchmarks.names import picture_columns
from hf_vqa_mc.benchmarks.reading import read_benchmark
from hf_vqa_mc.dataset.loading import NoChoices, load_splits
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import DatasetDict

NEEDED = frozenset({"question_id", "image_id", "question", "choices", "label"})
"""Columns of multiple-choice rows that training reads."""
SEVERAL = "rows have several images, but features and the models of vqa-mc train take one image per row"


def readable_rows(
    dataset: str, config: str, needed: Set[str] = NEEDED, one_image: bool = False
) -> "tuple[str, DatasetDict]":
    """The name of a config or file, and its splits with the needed columns, also of a benchmark in another layout.

    Args:
        dataset: folder of ``vqa-mc build``, dataset on the Hub, or any benchmark that ``vqa-mc audit`` reads.
        config: "" for the only one.
        needed: columns with which rows are read as they are.
        one_image: whether rows with several images are an error.

    Raises:
        InputError: as `load_splits` or `read_benchmark`.
    """
    splits = None
    if not Path(dataset).is_file():
        config, splits = load_splits(dataset, config or None)
        columns = next(iter(splits.values())).column_names
        if one_image and len(picture_columns(columns)) > 1:
            raise InputError(f"{dataset}, {config}: {SEVERAL}")
        if needed <= set(columns) or open_ended_source(columns, config) is not None:
            return config, splits
    try:
        benchmark = read_benchmark(dataset, config or None)
    except NoChoices:
        if splits is None:
            raise
        return config, splits  # open-ended rows
    for split in benchmark.splits.values():
        if one_image and split.images is not None and split.images.has_several:
            raise InputError(f"{split.location}: {SEVERAL}")
    return benchmark.config or Path(dataset).stem, built_rows(benchmark)


def built_rows(benchmark: Benchmark) -> "DatasetDict":
    """The splits with the columns that training reads.

    The image of a row without one is that of its unit, so that held-out rows share none with the others.
    """
    from datasets import Dataset, DatasetDict
    from datasets.table import InMemoryTable

    return DatasetDict({name: Dataset(InMemoryTable(_table(split))) for name, split in benchmark.splits.items()})


def _table(split: Split) -> pa.Table:
    rows = split.rows
    images = zip(rows["image_id"].to_pylist(), split.units, strict=True)
    columns = {name: rows[name] for name in ("question_id", "question", "choices", "label", "question_type")}
    columns["image_id"] = pa.array([image or unit for image, unit in images], pa.string())
    kinds = rows["choice_kinds"].to_pylist()
    if all(kinds):
        names = {name: number for number, name in enumerate(CHOICE_KINDS)}
        columns["choice_kinds"] = pa.array([[names[kind] for kind in of_row] for of_row in kinds])
    if any(answers := rows["answers"].to_pylist()):
        columns["answers"] = pa.array(answers, pa.list_(pa.string()))
    if "set_id" in split.original.column_names:
        columns["set_id"] = split.original["set_id"]
    return pa.table(columns)
