"""Reading an open-ended config piece by piece: rows, checks and counts on the way, never all rows at once."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import CountMismatch, InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.answer_counts import count
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source
from hf_vqa_mc.sources.unique_ids import UniqueIds

AT_ONCE = 5_000
"""Rows, a few more."""


def open_ended_source(columns: Collection[str]) -> Source | None:
    """The source whose open-ended configs have just these columns, None if they are of no such config."""
    for source in SOURCES.values():
        if any(set(config.schema.names) == set(columns) for config in source.open_ended):
            return source
    return None


class Reading:
    """One reading of a config: its rows split by split, and what they were."""

    def __init__(self, config: OpenEnded, files: Files) -> None:
        """Raises: InputError: the files do not hold it."""
        self.config = config
        self.not_read: dict[str, str] = {}
        self._files = files
        self.splits = config.splits(files, self.not_read)
        if not self.splits:
            for name, reason in self.not_read.items():
                raise InputError(f"{config.name}: {name} cannot be read: {reason}; and no other file of it is there")
            files.find(config.needs)  # whose message says where to get it
            raise InputError(f"{config.name}: there is no {config.needs}")
        self.rows = dict.fromkeys(self.splits, 0)
        self._counts: Counts = {names: Counter() for names in config.together}
        self._left_out: Counter[str] = Counter()
        self._ids = UniqueIds()

    def tables(self, split: str) -> Iterator[pa.Table]:
        """The rows of a split, in the columns of the config's schema.

        Raises:
            InputError: a file is malformed, or an id occurs twice in what was read so far.
        """
        for table in _larger(self.config.read(self._files, split, self._left_out)):
            if self.config.unique:
                self._ids.add(table[self.config.unique].to_pylist())
            count(self._counts, self.config.counted(table))
            self.rows[split] += table.num_rows
            yield table
        if self.config.unique:
            self._check_unique(self.config.unique)

    def statistics(self) -> dict[str, Any]:
        """What was read, ready for JSON, once all splits were.

        Raises:
            InputError: there was not one row.

        Warns:
            CountMismatch: there are more or fewer rows than the publisher or the paper says.
        """
        if not any(self.rows.values()):
            left = "; ".join(f"{n:,} {reason}" for reason, n in self._left_out.items() if n)
            raise InputError(
                f"{self.config.name}: nothing is left of it ({left or 'the files are empty'}); leave it out"
            )
        expected = self.config.expected_counts
        differing = [
            f"{n:,} in {split} where {expected[split]:,} were expected"
            for split, n in self.rows.items()
            if n != expected.get(split, n)
        ]
        if differing:
            told = f"{self.config.name} does not have the published number of questions: {'; '.join(differing)}"
            warnings.warn(CountMismatch(told), stacklevel=2)
        return {
            "rows": {split: rows for split, rows in self.rows.items() if rows},
            **self.config.statistics(self._counts),
            "left_out": dict(sorted(self._left_out.items())),
            "not_read": dict(sorted(self.not_read.items())),
        }

    def _check_unique(self, column: str) -> None:
        """Looks the suspects' texts up in the files again, as two ids may have one hash."""
        suspects = self._ids.suspects()
        if not suspects:
            return
        seen: set[str] = set()
        for split in self.splits:
            for table in self.config.read(self._files, split, Counter()):
                for text in table[column].to_pylist():
                    if hash(text) in suspects and text in seen:
                        raise InputError(
                            f"{self.config.name}: {column} {text} occurs twice, the second time in {split}; it must "
                            "be unique"
                        )
                    if hash(text) in suspects:
                        seen.add(text)


def _larger(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of some thousand, as counting takes its time for each."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= AT_ONCE:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def distinct_images(config: OpenEnded, files: Files) -> pa.Table:
    """Each image of a config with its file, (image_id, image_file), in the order of the rows; reads the files once."""
    reading = Reading(config, files)
    found: dict[str, str] = {}
    for split in reading.splits:
        for table in config.read(files, split, Counter()):
            images = config.images(table)
            found.update(zip(images["image_id"].to_pylist(), images["image_file"].to_pylist(), strict=True))
    return pa.table({"image_id": pa.array(found.keys(), pa.string()), "image_file": pa.array(found.values())})


def column_of(table: pa.Table, path: str) -> pa.ChunkedArray:
    """A column, or a field of a column of structs (``types.structural``)."""
    name, *fields = path.split(".")
    return pc.struct_field(table[name], fields) if fields else table[name]
