"""Limits on what Parquet files decode to: a dictionary lets some bytes stand for any number of long texts."""

import contextlib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.io.packed import DAMAGE, bomb, check_unpacked, is_packed, most_unpacked

FREE_DECODED = 10**9
"""Decoded bytes at any ratio: columns with the same text in every row are common."""
_INDEX_BYTES = 4
"""Minimum size of a decoded value."""
_ROW_BYTES = 250
"""Size that a row at least counts as: that of a question in memory, even where the file needs no bytes for it."""
_DICTIONARIES = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}


def check_parquet(
    source: Any,  # noqa: ANN401  as for ParquetFile
    location: str,
    size: int,
    columns: list[str] | None = None,
) -> None:
    """Raise InputError if a Parquet file of ``size`` bytes decodes to more than `most_unpacked`.

    Texts in dictionaries are not decoded for this, only their indices. A row of each group is read, by default with
    all columns: damaged metadata would abort the process later.

    Raises:
        pyarrow.ArrowInvalid: it is not a Parquet file.
        OSError: it cannot be read, or is damaged.
    """
    most = most_unpacked(size, FREE_DECODED)
    with pq.ParquetFile(source) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        rows = file.metadata.num_rows
        if max(sum(group.total_byte_size for group in groups), _ROW_BYTES * rows) > most:
            raise bomb(location, size, most)
        for number in range(len(groups)):
            next(file.iter_batches(1, [number], columns), None)
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    decoded = sum(max(one.total_uncompressed_size, _INDEX_BYTES * one.num_values) for one in chunks)
    texts = [one for one in chunks if one.physical_type == "BYTE_ARRAY" and _DICTIONARIES & {*one.encodings}]
    repetitive = sorted({one.path_in_schema for one in texts if one.num_values * one.total_uncompressed_size > most})
    if decoded > most:
        raise bomb(location, size, most)
    with pq.ParquetFile(source, read_dictionary=repetitive) as file:
        for number in range(len(groups) if repetitive else 0):
            for column in repetitive:
                decoded += sum(map(_text_bytes, file.read_row_group(number, [column]).itercolumns()))
                if decoded > most:
                    raise bomb(location, size, most)


def _text_bytes(column: pa.Array | pa.ChunkedArray) -> int:
    """Bytes of the texts of a column whose texts are in dictionaries."""
    if isinstance(column, pa.ChunkedArray):
        return sum(map(_text_bytes, column.chunks))
    if pa.types.is_dictionary(column.type):
        return int(pc.sum(pc.binary_length(column.dictionary).take(column.indices)).as_py() or 0)
    if pa.types.is_struct(column.type):
        return sum(map(_text_bytes, column.flatten()))
    if pa.types.is_map(column.type):
        return _text_bytes(column.keys) + _text_bytes(column.items)
    return _text_bytes(column.flatten()) if pa.types.is_nested(column.type) else 0


def check_files(paths: Iterable[Path]) -> None:
    """Raise InputError if a packed or Parquet file holds more than it may; its content counts, not its name.

    ``datasets`` would unpack it without a limit. Damaged files are left to ``datasets``.
    """
    for path in paths:
        with contextlib.suppress(OSError):
            with path.open("rb") as file:
                start = file.read(6)
            size = path.stat().st_size
            if start.startswith(b"PAR1"):
                with contextlib.suppress(pa.ArrowException, UnicodeDecodeError):
                    check_parquet(path, str(path), size)
            if is_packed(start):
                check_unpacked(path)
            if zipfile.is_zipfile(path):
                with contextlib.suppress(*DAMAGE), zipfile.ZipFile(path) as archive:
                    most = most_unpacked(size)
                    if sum(one.file_size for one in archive.infolist()) > most:
                        raise bomb(str(path), size, most)
