"""The rows of any benchmark in the columns of ``vqa-mc build``, for training and prediction to read."""

from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.benchmarks.reading import read_benchmark
from hf_vqa_mc.dataset.loading import NoChoices, given_splits, load_splits
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.open_ended import open_ended_source

if TYPE_CHECKING:
    from datasets import DatasetDict

NEEDED = frozenset({"question_id", "image_id", "question", "choices", "label"})
"""Columns of multiple-choice rows that training reads."""


@contextmanager
def readable_rows(dataset: str, config: str, needed: Set[str] = NEEDED) -> Iterator[str]:
    """Let `load_splits` read a benchmark of any layout within the block; yields the name of its config or file.

    Args:
        dataset: folder of ``vqa-mc build``, dataset on the Hub, or any benchmark that ``vqa-mc audit`` reads.
        config: "" for the only one.
        needed: columns with which rows are read as they are.

    Raises:
        InputError: as `read_benchmark`.
    """
    is_file = Path(dataset).is_file()
    if not is_file and (found := _name_if_built(dataset, config, needed)):
        yield found
        return
    try:
        benchmark = read_benchmark(dataset, config or None)
    except NoChoices:
        if is_file:
            raise
        yield load_splits(dataset, config or None)[0]  # open-ended rows
        return
    name = benchmark.config or Path(dataset).stem
    with given_splits(dataset, name, built_rows(benchmark)):
        yield name


def _name_if_built(dataset: str, config: str, needed: Set[str]) -> str | None:
    """The name of the config if its rows have the needed columns, or cannot be read; None otherwise."""
    try:
        config, splits = load_splits(dataset, config or None)
    except (InputError, ConnectionError):  # reported by what reads the rows, after it has checked its options
        if not config:
            raise
        return config
    columns = next(iter(splits.values())).column_names
    return config if needed <= set(columns) or open_ended_source(columns, config) is not None else None


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
