"""Reading an open-ended config in pieces: rows, checks and counts, with never all rows in memory."""

from array import array
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.answer_counts import count
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, warn_about_counts

BATCH = 5_000
"""Minimum number of rows that are counted together."""


def open_ended_source(columns: Collection[str]) -> Source | None:
    """The source with an open-ended config of exactly these columns, None if there is none."""
    for source in SOURCES.values():
        if any(set(config.schema.names) == set(columns) for config in source.open_ended):
            return source
    return None


class Reading:
    """One reading of a config: its rows split by split, and their statistics.

    Args:
        config: the open-ended config.
        files: of its source.

    Raises:
        InputError: the files do not hold it.
    """

    def __init__(self, config: OpenEnded, files: Files) -> None:
        self.config = config
        self.not_read: dict[str, str] = {}
        self._files = files
        self.splits = config.splits(files, self.not_read)
        if not self.splits:
            for name, reason in self.not_read.items():
                raise InputError(f"{config.name}: {name} cannot be read: {reason}; and no other file of it was found")
            files.find(config.needs)  # raises, and says where to get it
            raise InputError(f"{config.name}: there is no {config.needs}")
        self.rows = dict.fromkeys(self.splits, 0)
        self._counts: Counts = {names: Counter() for names in config.together}
        self._left_out: Counter[str] = Counter()
        self._ids = UniqueIds()

    def tables(self, split: str) -> Iterator[pa.Table]:
        """The rows of a split, in the columns of the config's schema.

        Raises:
            InputError: a file is malformed, or an id occurs twice in the rows read so far.
        """
        for table in _merged(self.config.read(self._files, split, self._left_out)):
            if self.config.unique:
                self._ids.add(table[self.config.unique].to_pylist())
            count(self._counts, self.config.counted(table))
            self.rows[split] += table.num_rows
            yield table
        if self.config.unique:
            self._check_unique(self.config.unique)

    def statistics(self) -> dict[str, Any]:
        """Counts and statistics of all splits for JSON, after all were read.

        Raises:
            InputError: there are no rows.

        Warns:
            CountMismatch: the number of rows differs from the publisher's or the paper's.
        """
        name, expected = self.config.name, self.config.expected_counts
        if not any(self.rows.values()):
            left = "; ".join(f"{n:,} {reason}" for reason, n in self._left_out.items() if n)
            raise InputError(f"{name}: nothing is left of it ({left or 'the files are empty'}); leave it out")
        warn_about_counts(name, {split: n for split, n in expected.items() if split in self.rows}, self.rows)
        return {
            "rows": {split: rows for split, rows in self.rows.items() if rows},
            **self.config.statistics(self._counts),
            "left_out": dict(sorted(self._left_out.items())),
            "not_read": dict(sorted(self.not_read.items())),
        }

    def _check_unique(self, column: str) -> None:
        """Read the ids of repeated hashes again, since two ids may have one hash."""
        suspects = self._ids.suspects()
        seen: set[str] = set()
        for split in self.splits if suspects else ():
            for table in self.config.read(self._files, split, Counter()):
                for text in (text for text in table[column].to_pylist() if hash(text) in suspects):
                    if text in seen:
                        raise InputError(
                            f"{self.config.name}: {column} {text} occurs twice, the second time in {split}; it must "
                            "be unique"
                        )
                    seen.add(text)


def _merged(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The same rows in tables of at least BATCH rows, as counting a table has a fixed cost."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        if rows >= BATCH:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting, rows = [], 0
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


class UniqueIds:
    """Finds repeated ids by their 64-bit hashes: 8 bytes per id."""

    def __init__(self) -> None:
        self._hashes = array("q")

    def add(self, ids: Sequence[str]) -> None:
        """Add ids."""
        self._hashes.extend(map(hash, ids))

    def suspects(self) -> set[int]:
        """The values of ``hash`` that occur more than once: of equal ids, rarely of different ones."""
        hashes = np.sort(np.frombuffer(self._hashes, np.int64))
        return set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())


def distinct_images(config: OpenEnded, files: Files) -> pa.Table:
    """Each image of a config with its file, (image_id, image_file), in the order of the rows; reads the files once."""
    found: dict[str, str] = {}
    for split in Reading(config, files).splits:
        for table in config.read(files, split, Counter()):
            images = config.images(table)
            found.update(zip(images["image_id"].to_pylist(), images["image_file"].to_pylist(), strict=True))
    return pa.table({"image_id": pa.array(found.keys(), pa.string()), "image_file": pa.array(found.values())})
