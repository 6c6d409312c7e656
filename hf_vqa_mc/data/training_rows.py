"""The rows of any benchmark in the columns of ``vqa-mc build``, for training and prediction to read."""

from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.data.loading import NoChoices, load_splits, table_of
from hf_vqa_mc.data.names import picture_columns
from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import DatasetDict

NEEDED = frozenset({"question_id", "image_id", "question", "choices", "label"})
"""Columns of multiple-choice rows that training reads."""
SEVERAL = "rows have several images, but features and the models of vqa-mc train take one image per row"


def training_tables(dataset: str, config: str) -> tuple[str, dict[str, pa.Table]]:
    """The name of a config or file, and its splits with the columns that training reads.

    Args:
        dataset: folder of ``vqa-mc build``, dataset on the Hub, or any benchmark that ``vqa-mc audit`` reads.
        config: "" for the only one.

    Raises:
        InputError: as `load_splits` or `read_benchmark`.
    """
    config, found = _found(dataset, config, NEEDED)
    if isinstance(found, Benchmark):
        return config, {name: _table(split) for name, split in found.splits.items()}
    return config, {str(name): table_of(rows) for name, rows in found.items()}


def rows_with_images(dataset: str, config: str) -> "tuple[str, DatasetDict]":
    """The name of a config or file, and its splits with the column ``image_id``; otherwise as `training_tables`.

    Raises:
        InputError: also if a row has several images.
    """
    config, found = _found(dataset, config, {"image_id"})
    if isinstance(found, Benchmark):
        from datasets import Dataset, DatasetDict
        from datasets.table import InMemoryTable

        for split in found.splits.values():
            if split.images is not None and split.images.has_several:
                raise InputError(f"{split.location}: {SEVERAL}")
        tables = {name: InMemoryTable(_table(split)) for name, split in found.splits.items()}
        return config, DatasetDict({name: Dataset(table) for name, table in tables.items()})
    if len(picture_columns(next(iter(found.values())).column_names)) > 1:
        raise InputError(f"{dataset}, {config}: {SEVERAL}")
    return config, found


def _found(dataset: str, config: str, needed: Set[str]) -> "tuple[str, DatasetDict | Benchmark]":
    """The splits as they are if they have the needed columns or open-ended rows, else the benchmark."""
    splits = None
    if not Path(dataset).is_file():
        config, splits = load_splits(dataset, config or None)
        columns = next(iter(splits.values())).column_names
        if needed <= set(columns) or open_ended_source(columns, config) is not None:
            return config, splits
    try:
        benchmark = read_benchmark(dataset, config or None)
    except NoChoices:
        if splits is None:
            raise
        return config, splits
    return benchmark.config or Path(dataset).stem, benchmark


def _table(split: Split) -> pa.Table:
    """The rows in the columns of ``vqa-mc build``.

    The image of a row without one is that of its unit, so that held-out rows share none with the others.
    """
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
