"""Rows to parquet files; equal rows give equal bytes."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from datasets import Features

SHARD_BYTES = 500_000_000
"""Approximate size of a file in bytes of Arrow data, as in ``push_to_hub``."""
GROUP_BYTES = 30_000_000
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # datasets.Image
GROUP_ROWS = 10_000
"""Most rows of a row group, the unit that streaming readers fetch and shuffle."""


@dataclass
class WrittenSplit:
    """Sizes and checksums of a split."""

    rows: int
    num_bytes: int = 0
    """of the Arrow tables"""
    files: dict[str, str] = field(default_factory=dict)
    """file name to sha256"""
    file_bytes: int = 0

    def __iadd__(self, file: Path) -> "WrittenSplit":
        """Add a file."""
        with file.open("rb") as content:
            self.files[file.name] = hashlib.file_digest(content, "sha256").hexdigest()
        self.file_bytes += file.stat().st_size
        return self


def measures(config: str, splits: Mapping[str, WrittenSplit]) -> dict[str, Any]:
    """Sizes and checksums of a config's splits, as in the inventory."""
    return {
        "splits": {split: {"rows": s.rows, "num_bytes": s.num_bytes} for split, s in splits.items()},
        "files": {f"{config}/{file}": sha256 for s in splits.values() for file, sha256 in s.files.items()},
        "file_bytes": sum(s.file_bytes for s in splits.values()),
    }


def write_split(
    folder: Path,
    split: str,
    features: "Features",
    n_rows: int,
    total_bytes: int,
    rows: Callable[[int, int], pa.Table],
    *,
    group_rows: int = GROUP_ROWS,
    wrote: Callable[[int], None] = lambda n: None,
) -> WrittenSplit:
    """Write a split as files ``<split>-00000-of-0000N.parquet`` of about SHARD_BYTES.

    Args:
        folder: created if missing.
        split: its name.
        features: the columns; stored in each file.
        n_rows: number of rows.
        total_bytes: approximate size of the rows as Arrow data.
        rows: function of start and stop to these rows; called in order.
        group_rows: most rows in a row group.
        wrote: called with the number of rows of each row group written.
    """
    schema = readable_by_all(features.arrow_schema)
    shards = max(1, math.ceil(total_bytes / SHARD_BYTES))
    per_shard = max(1, math.ceil(n_rows / shards))
    per_group = max(1, min(group_rows, GROUP_BYTES * n_rows // max(total_bytes, 1)))
    written = WrittenSplit(n_rows)
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, max(n_rows, 1), per_shard)
    for number, start in enumerate(starts):
        path = folder / f"{split}-{number:05d}-of-{len(starts):05d}.parquet"
        stop = min(start + per_shard, n_rows)
        with path.open("wb") as file, pq.ParquetWriter(file, schema, **_options(schema)) as writer:
            for position in range(start, stop, per_group):
                table = rows(position, min(position + per_group, stop)).cast(schema)
                writer.write_table(table, row_group_size=per_group)
                written.num_bytes += table.nbytes
                wrote(table.num_rows)
        written += path
    return written


def write_stream(
    folder: Path,
    split: str,
    features: "Features",
    tables: Iterable[pa.Table],
    *,
    wrote: Callable[[int], None] = lambda n: None,
) -> WrittenSplit:
    """Write a split of unknown size as `write_split` does; no file if it has no rows.

    The files do not depend on how the rows are divided into ``tables``.
    """
    schema = readable_by_all(features.arrow_schema)
    written = WrittenSplit(0)
    folder.mkdir(parents=True, exist_ok=True)
    groups = _row_groups(table.cast(schema) for table in tables)
    unnamed: list[Path] = []
    group = next(groups, None)
    while group is not None:
        unnamed.append(folder / f"{split}-{len(unnamed):05d}.unnamed")
        begun = written.num_bytes
        with unnamed[-1].open("wb") as file, pq.ParquetWriter(file, schema, **_options(schema)) as writer:
            while group is not None and written.num_bytes - begun < SHARD_BYTES:
                writer.write_table(group, row_group_size=group.num_rows)
                written.num_bytes += group.nbytes
                written.rows += group.num_rows
                wrote(group.num_rows)
                group = next(groups, None)
    for number, path in enumerate(unnamed):
        written += path.rename(folder / f"{split}-{number:05d}-of-{len(unnamed):05d}.parquet")
    return written


def _row_groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The rows in tables of ``GROUP_ROWS``; the last may be smaller."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        while rows >= GROUP_ROWS:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, GROUP_ROWS).combine_chunks()
            waiting, rows = [whole.slice(GROUP_ROWS)], rows - GROUP_ROWS
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def readable_by_all(schema: pa.Schema) -> pa.Schema:
    """The schema with lists under their older name, Sequence, which datasets 2 to 5 can read."""
    stored = json.loads(schema.metadata[b"huggingface"])
    return schema.with_metadata({"huggingface": json.dumps(_with_sequences(stored))})


def _with_sequences(stored: Any) -> Any:  # noqa: ANN401  any JSON
    if not isinstance(stored, dict):
        return stored
    if stored.get("_type") == "List" and "_type" not in stored["feature"]:
        return [_with_sequences(stored["feature"])]  # a Sequence of structs would be a struct of lists
    return {
        key: "Sequence" if (key, value) == ("_type", "List") else _with_sequences(value)
        for key, value in stored.items()
    }


def _options(schema: pa.Schema) -> dict[str, Any]:
    """Zstandard for text; no compression and no dictionary for images, which are compressed already."""
    images = [f.name for f in schema if f.type == _IMAGE]
    text = [leaf for f in schema if f.name not in images for leaf in _leaves(f.name, f.type)]
    files = [f"{name}.{leaf}" for name in images for leaf in ("bytes", "path")]
    return {
        "compression": dict.fromkeys(text, "ZSTD") | dict.fromkeys(files, "NONE"),
        "use_dictionary": text,
        "use_content_defined_chunking": True,  # on the Hub a changed dataset shares most chunks with the old one
        "write_page_index": True,
    }


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """The parquet columns that a column is stored in."""
    if pa.types.is_list(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [path]
