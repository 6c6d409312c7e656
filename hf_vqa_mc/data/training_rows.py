"""The rows of any benchmark in the columns of ``vqa-mc build``, for training and prediction to read."""

from collections.abc import Set
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.data.loading import BUILT, NoChoices
from hf_vqa_mc.data.names import picture_columns
from hf_vqa_mc.data.opening import Opened, open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import read_opened
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import silent
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import DatasetDict

NEEDED = frozenset({"question_id", "image_id", "question", "choices", "label"})
"""Columns of multiple-choice rows that training reads."""
SEVERAL = "rows have several images, but features and the models of vqa-mc train take one image per row"


def training_tables(dataset: str, config: str) -> tuple[str, dict[str, pa.Table]]:
    """The name of a config or file, and its splits with the columns that training reads."""
    opened = open_tables(dataset, config or None, open_ended=True, expected=BUILT)
    benchmark = _benchmark(opened, NEEDED)
    tables = opened.tables if benchmark is None else {name: _table(split) for name, split in benchmark.splits.items()}
    return opened.config or Path(dataset).stem, tables


def rows_with_images(dataset: str, config: str) -> "tuple[str, DatasetDict]":
    """As `training_tables` with the column ``image_id``; rows with several images are an error."""
    opened = open_tables(dataset, config or None, open_ended=True, expected=BUILT)
    from datasets import Dataset, DatasetDict  # after an error about the file

    benchmark = _benchmark(opened, {"image_id"})
    name = opened.config or Path(dataset).stem
    if benchmark is None:
        if len(picture_columns(next(iter(opened.tables.values())).column_names)) > 1:
            raise InputError(f"{dataset}, {name}: {SEVERAL}")
        return name, DatasetDict(opened.splits)
    from datasets.table import InMemoryTable

    for split in benchmark.splits.values():
        if split.images is not None and split.images.has_several:
            raise InputError(f"{split.location}: {SEVERAL}")
    return name, DatasetDict({split: Dataset(InMemoryTable(_table(rows))) for split, rows in benchmark.splits.items()})


def _benchmark(opened: Opened, needed: Set[str]) -> Benchmark | None:
    """The benchmark; None if the tables have the needed columns or open-ended rows, and are read as they are."""
    columns = next(iter(opened.tables.values())).column_names
    if not opened.is_file and (needed <= set(columns) or open_ended_source(columns, opened.config) is not None):
        return None
    try:
        return read_opened(opened, BenchmarkOptions(opened.name, opened.config), silent)
    except NoChoices:
        if opened.is_file:
            raise
        return None


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
