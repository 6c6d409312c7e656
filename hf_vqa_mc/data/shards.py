"""Rows to parquet files; equal rows give equal bytes."""

import csv
import gzip
import io
import json
import lzma
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.data.cells import is_image, is_json
from hf_vqa_mc.data.files import delimiter, file_form, json_file, lines_text
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import sha256_of
from hf_vqa_mc.io.xlsx import write_xlsx
from hf_vqa_mc.sources.table import ROWS, regrouped

if TYPE_CHECKING:
    from datasets import Features


SHARD_BYTES = 500_000_000  # approximate size of a file in bytes of Arrow data, as in push_to_hub
GROUP_BYTES = 30_000_000  # largest row group, approximately; the Hub's viewer reads groups of at most 300 MB
Wrote = Callable[[int], None]  # called with the number of rows of each row group written
FOR_HUB: dict[str, Any] = {"use_content_defined_chunking": True, "write_page_index": True}
"""Options of parquet: a changed file shares most chunks with the old one, and the viewer reads single pages."""


@dataclass
class WrittenSplit:
    """Sizes and checksums of a split."""

    rows: int = 0
    num_bytes: int = 0  # size of the Arrow tables
    files: dict[str, str] = field(default_factory=dict)  # file name to sha256
    file_bytes: int = 0


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
    group_rows: int = ROWS,
    wrote: Wrote = lambda n: None,
) -> WrittenSplit:
    """Write a split as files ``<split>-00000-of-0000N.parquet`` of about SHARD_BYTES.

    ``total_bytes`` is the approximate size as Arrow data; ``rows(start, stop)`` gives rows and is called in order;
    ``group_rows`` limits a row group, the unit that streaming readers fetch.
    """
    shards = max(1, math.ceil(total_bytes / SHARD_BYTES))
    per_shard = max(1, math.ceil(n_rows / shards))
    per_group = max(1, min(group_rows, GROUP_BYTES * n_rows // max(total_bytes, 1)))

    def groups(start: int) -> Iterator[pa.Table]:
        stop = min(start + per_shard, n_rows)
        return (rows(first, min(first + per_group, stop)) for first in range(start, stop, per_group))

    return _write(folder, split, features, map(groups, range(0, max(n_rows, 1), per_shard)), wrote)


def write_stream(
    folder: Path, split: str, features: "Features", tables: Iterable[pa.Table], *, wrote: Wrote = lambda n: None
) -> WrittenSplit:
    """Write a split of unknown size as `write_split` does, however it is divided into tables; no file without rows."""
    groups = regrouped(tables)

    def shard(group: pa.Table) -> Iterator[pa.Table]:
        yield group
        num_bytes = group.nbytes
        while num_bytes < SHARD_BYTES and (following := next(groups, None)):
            yield following
            num_bytes += following.nbytes

    return _write(folder, split, features, map(shard, groups), wrote)


def _write(
    folder: Path, split: str, features: "Features", shards: Iterable[Iterable[pa.Table]], wrote: Callable[[int], None]
) -> WrittenSplit:
    schema = readable_by_all(features.arrow_schema)
    folder.mkdir(parents=True, exist_ok=True)
    written = WrittenSplit()
    unnamed: list[Path] = []
    for tables in shards:
        unnamed.append(folder / f"{split}-{len(unnamed):05d}.unnamed")
        with unnamed[-1].open("wb") as file, pq.ParquetWriter(file, schema, **_options(schema)) as writer:
            for table in tables:
                table = table.cast(schema)
                writer.write_table(table, row_group_size=table.num_rows)
                written.num_bytes += table.nbytes
                written.rows += table.num_rows
                wrote(table.num_rows)
    for number, path in enumerate(unnamed):
        path = path.replace(folder / f"{split}-{number:05d}-of-{len(unnamed):05d}.parquet")
        written.files[path.name] = sha256_of(path)
        written.file_bytes += path.stat().st_size
    return written


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
    images = [f.name for f in schema if is_image(f.type)]
    text = [leaf for f in schema if f.name not in images for leaf in _leaves(f.name, f.type)]
    files = [f"{name}.{leaf}" for name in images for leaf in ("bytes", "path")]
    compression = dict.fromkeys(text, "ZSTD") | dict.fromkeys(files, "NONE")
    return {"compression": compression, "use_dictionary": text, **FOR_HUB}


def _leaves(path: str, kind: pa.DataType) -> list[str]:
    """The parquet columns that a column is stored in."""
    if pa.types.is_list(kind):
        return _leaves(f"{path}.list.element", kind.value_type)
    if pa.types.is_struct(kind):
        return [leaf for field in kind for leaf in _leaves(f"{path}.{field.name}", field.type)]
    return [path]


MARK = b"hf_vqa_mc"  # key in the metadata of parquet files written by this package


def file_content(source: Path, table: pa.Table, output: Path) -> bytes:
    """The rows in the format of the source, packed as the name of the output says."""
    form, content = file_form(source), io.BytesIO()
    if form == "parquet":
        metadata = table.schema.metadata or {}
        about = readable_by_all(features_of(table).arrow_schema).metadata if b"huggingface" in metadata else {}
        rows = max(1, min(10_000, GROUP_BYTES * table.num_rows // max(table.nbytes, 1)))
        table = table.replace_schema_metadata({**metadata, **about, MARK: b"benchmark"})
        pq.write_table(table, content, compression="zstd", row_group_size=rows, **FOR_HUB)
    elif form == "xlsx":
        write_xlsx(
            content, dict(zip(table.column_names, map(_csv_cells, table.combine_chunks().columns), strict=True))
        )
    elif form in ("csv", "tsv"):
        text = io.TextIOWrapper(content, "utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter(source), lineterminator="\n")
        writer.writerow(table.column_names)
        for batch in table.to_batches(max_chunksize=10_000):
            writer.writerows(zip(*map(_csv_cells, batch.columns), strict=True))
        text.detach()
    else:
        written = lines_text if form == "jsonl" else json_file(source)[1]
        content.write(written(list(_records(table))).encode())
    if output.name.lower().endswith(".gz"):
        return gzip.compress(content.getvalue(), mtime=0)
    return lzma.compress(content.getvalue()) if output.name.lower().endswith(".xz") else content.getvalue()


def features_of(table: pa.Table) -> "Features":
    """The types of a table's columns for ``datasets``."""
    from datasets import Features

    return Features.from_arrow_schema(table.schema)


def _csv_cells(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Cells of a CSV column; lists and records, which occur only in new columns, as JSON text."""
    values: list[Any] = column.to_pylist()
    is_nested = pa.types.is_nested(column.type)
    return [json.dumps(one, ensure_ascii=False) if is_nested and one is not None else one for one in values]


def _records(table: pa.Table) -> Iterable[dict[str, Any]]:
    packed = [field.name for field in table.schema if is_json(field)]
    for batch in table.to_batches(max_chunksize=10_000):
        for record in batch.to_pylist():
            for name in packed:
                try:
                    record[name] = json.loads(record[name])
                except ValueError as error:  # new text, which is not JSON
                    wrong = f"column {name!r} has values of different types, in which new choices cannot be written"
                    raise InputError(f"{wrong}; convert it to text") from error
            yield record
