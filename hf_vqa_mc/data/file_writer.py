"""The content of a benchmark's file with new rows: parquet, csv, tsv, json or json lines, plain or packed."""

import csv
import gzip
import io
import json
import lzma
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.data.files import delimiter, file_form, json_file
from hf_vqa_mc.data.nested import is_json
from hf_vqa_mc.data.shards import FOR_HUB, GROUP_BYTES, readable_by_all
from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from datasets import Features

MARK = b"hf_vqa_mc"
"""Key in the metadata of parquet files written by this package."""


def file_content(source: Path, table: pa.Table, output: Path) -> bytes:
    """The rows in the format of the source, packed as the name of the output says."""
    content = {
        "parquet": lambda: _parquet(table),
        "csv": lambda: _csv(table, delimiter(source)),
        "tsv": lambda: _csv(table, "\t"),
        "xlsx": lambda: _excel(table),
        "jsonl": lambda: b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in _records(table)),
        "json": lambda: json_file(source).written(_records(table)).encode(),
    }[file_form(source) or ""]()
    if output.name.lower().endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if output.name.lower().endswith(".xz"):
        return lzma.compress(content)
    return content


def _parquet(table: pa.Table) -> bytes:
    metadata = table.schema.metadata or {}
    about = description(table) if b"huggingface" in metadata else {}
    table = table.replace_schema_metadata({**metadata, **about, MARK: b"benchmark"})
    sink = pa.BufferOutputStream()
    rows = max(1, min(10_000, GROUP_BYTES * table.num_rows // max(table.nbytes, 1)))
    pq.write_table(table, sink, compression="zstd", row_group_size=rows, **FOR_HUB)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def description(table: pa.Table) -> dict[bytes, bytes]:
    """Metadata with the columns' types for ``datasets``, which preserves images and class labels."""
    metadata: dict[bytes, bytes] = readable_by_all(features_of(table).arrow_schema).metadata
    return metadata


def features_of(table: pa.Table) -> "Features":
    """The types of a table's columns for ``datasets``."""
    from datasets import Features

    return Features.from_arrow_schema(table.schema)


def _csv(table: pa.Table, delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=10_000):
        writer.writerows(zip(*map(_csv_cells, batch.columns), strict=True))
    return text.getvalue().encode()


def _csv_cells(column: pa.Array) -> list[Any]:
    """Cells of a CSV column; lists and records, which occur only in new columns, as JSON text."""
    values: list[Any] = column.to_pylist()
    if not pa.types.is_nested(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]


def _excel(table: pa.Table) -> bytes:
    content = io.BytesIO()
    table.to_pandas().to_excel(content, index=False)
    return content.getvalue()


def _records(table: pa.Table) -> Iterable[dict[str, Any]]:
    packed = [field.name for field in table.schema if is_json(field)]
    for batch in table.to_batches(max_chunksize=10_000):
        for record in batch.to_pylist():
            for name in packed:
                try:
                    record[name] = json.loads(record[name])
                except ValueError as error:  # new text, which is not JSON
                    raise InputError(
                        f"column {name!r} has values of different types, in which new choices cannot be written; "
                        "convert it to text"
                    ) from error
            yield record
