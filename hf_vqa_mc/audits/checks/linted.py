"""A benchmark as checks see it: the rows that can be read, those that cannot, all columns, and the images."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data, of_benchmark
from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.benchmarks.columns import question_ids
from hf_vqa_mc.benchmarks.opening import open_tables
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.benchmarks.reading import Faulty, read_readable
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture
from hf_vqa_mc.io.progress import Progress

ROW = "(row number)"
"""Added column with the number of each row in all splits; messages may list it among the columns."""
THREADS = 4


@dataclass(frozen=True, eq=False)
class Image:
    """What was found out about an image."""

    digest: str = ""
    """of its content; "" if it could not be read"""
    problem: str = ""
    is_missing: bool = False


@dataclass(frozen=True, eq=False)
class Linted:
    """A benchmark for checks."""

    benchmark: Benchmark
    data: Data
    """the rows that could be read, of all splits"""
    tables: dict[str, pa.Table]
    """all columns of all rows by split, and ROW"""
    faulty: list[Faulty]
    """with numbers of rows of all splits"""
    progress: Progress
    skip_images: bool = False

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(rows of data,): number of each among the rows of all splits."""
        return np.concatenate([split.original[ROW].to_numpy() for split in self.splits])

    @property
    def splits(self) -> list[Split]:
        """The splits of `data`, in its order."""
        return list(self.benchmark.splits.values())

    @cached_property
    def own_columns(self) -> list[str]:
        """The columns that all splits have, without those of choices and labels."""
        names = [name for name in self.splits[0].original.column_names if name != ROW]
        return [
            name
            for name in names
            if name not in self.benchmark.layout.columns
            and all(name in split.original.column_names for split in self.splits)
        ]

    def locations(self, rows: NDArray[np.int64], ids: dict[str, pa.Array]) -> dict[str, pa.Array]:
        """Split, row in the split and question id of rows of all splits; null for `WHOLE`.

        Args:
            rows: numbers of rows.
            ids: question ids of each split.
        """
        names = list(self.tables)
        starts = np.cumsum([0, *(table.num_rows for table in self.tables.values())])
        split = np.searchsorted(starts, rows, side="right") - 1
        missing = rows < 0
        known = pa.concat_arrays([ids[name] for name in names])
        return {
            "split": pa.array(names).take(pa.array(np.where(missing, 0, split), mask=missing)),
            "row": pa.array(rows - starts[split], mask=missing),
            "question_id": known.take(pa.array(np.where(missing, 0, rows), mask=missing)),
        }

    @cached_property
    def images(self) -> dict[int, Image]:
        """Each image of `data`, by its number in ``data.images``, read once."""
        codes = self.data.images.codes
        used, first = np.unique(codes[self.data.images.valid], return_index=True)
        rows = np.flatnonzero(self.data.images.valid)[first]
        ends = np.cumsum([split.rows.num_rows for split in self.splits])
        found: dict[int, Image] = {}
        if self.skip_images or not any(split.images for split in self.splits):
            return found

        def read(row: int) -> Image:
            at = int(np.searchsorted(ends, row, side="right"))
            split = self.splits[at]
            return _image(split, row - (int(ends[at]) - split.rows.num_rows))

        with ThreadPoolExecutor(THREADS) as pool:
            for done, (code, image) in enumerate(zip(used.tolist(), pool.map(read, rows.tolist()), strict=True), 1):
                found[code] = image
                self.progress("images", done, len(rows))
        return found


def _image(split: Split, row: int) -> Image:
    """Read and decode an image."""
    try:
        content = split.images.read(row) if split.images else None
    except (InputError, OSError) as error:
        return Image(problem=str(error), is_missing=True)
    if content is None:
        return Image(problem="not found, or not allowed", is_missing=True)
    digest = blake2b(content, digest_size=16).hexdigest()
    try:
        with opened_picture(content, side=1):
            return Image(digest)
    except BrokenImage as error:
        return Image(digest, str(error))


def read_linted(
    options: BenchmarkOptions, progress: Progress, skip_images: bool
) -> tuple[Linted, dict[str, pa.Array]]:
    """Read a benchmark and set aside the rows that cannot be read.

    Returns:
        The benchmark, and the question ids of all rows by split; row numbers if it has none.

    Raises:
        InputError: it is no benchmark, or most rows of a split cannot be read.
    """
    progress("opening", 0, 1)
    opened = open_tables(options.dataset, options.config)
    numbers = np.cumsum([0, *(table.num_rows for table in opened.tables.values())])
    tables = {
        name: table.append_column(ROW, pa.array(np.arange(start, start + table.num_rows)))
        for start, (name, table) in zip(numbers.tolist(), opened.tables.items(), strict=False)
    }
    benchmark, faulty = read_readable(replace(opened, tables=tables), options, progress)
    firsts = dict(zip(tables, numbers.tolist(), strict=False))
    faulty = [one._replace(row=firsts[one.split] + one.row) for one in faulty]
    ids = {}
    notes: tuple[str, ...] = ()
    for name, table in tables.items():
        ids[name], _, problem = question_ids(table, options, opened.locations[name], np.arange(table.num_rows))
        notes += problem
    benchmark = replace(benchmark, notes=tuple(dict.fromkeys((*notes, *benchmark.notes))))
    return Linted(benchmark, of_benchmark(benchmark), tables, faulty, progress, skip_images), ids


def in_split(linted: Linted) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Each split's name and its rows of `Linted.data`."""
    start = 0
    for split in linted.splits:
        yield split.name, np.arange(start, start + split.rows.num_rows)
        start += split.rows.num_rows
