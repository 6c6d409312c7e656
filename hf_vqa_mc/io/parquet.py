"""Limits on what Parquet files decode to: a dictionary lets some bytes stand for any number of long texts."""

import contextlib
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.io.packed import bomb, check_unpacked, most_unpacked

FREE_DECODED = 10**9
"""Decoded bytes at any ratio: columns with the same text in every row are common."""
_INDEX_BYTES = 4
"""Minimum size of a decoded value."""
_DICTIONARIES = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
_PACKED = (".gz", ".bz2", ".xz")


def check_parquet(source: Any, location: str, size: int) -> None:  # noqa: ANN401  as for ParquetFile
    """Raise InputError if a Parquet file of ``size`` bytes decodes to more than `most_unpacked`.

    Texts in dictionaries are not decoded for this, only their indices.

    Raises:
        pyarrow.ArrowInvalid: it is not a Parquet file.
        OSError: it cannot be read, or is damaged.
    """
    most = most_unpacked(size, FREE_DECODED)
    with pq.ParquetFile(source) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        if sum(group.total_byte_size for group in groups) > most:
            raise bomb(location, size, most)
        for number in range(len(groups)):  # raises an exception for metadata whose columns would abort the process
            next(file.iter_batches(1, [number]), None)
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    decoded = sum(max(one.total_uncompressed_size, _INDEX_BYTES * one.num_values) for one in chunks)
    texts = [one for one in chunks if one.physical_type == "BYTE_ARRAY" and _DICTIONARIES & {*one.encodings}]
    columns = sorted({one.path_in_schema for one in texts if one.num_values * one.total_uncompressed_size > most})
    if decoded > most:
        raise bomb(location, size, most)
    with pq.ParquetFile(source, read_dictionary=columns) as file:
        for number in range(len(groups) if columns else 0):
            for column in columns:
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


def check_folder(folder: Path) -> None:
    """Raise InputError if a packed or Parquet file below a folder holds more than it may.

    ``datasets`` would unpack it without a limit. Damaged files are left to ``datasets``.
    """
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".parquet" and path.is_file():
            with contextlib.suppress(pa.ArrowException, OSError, UnicodeDecodeError):
                check_parquet(path, str(path), path.stat().st_size)
        elif path.suffix == ".zip" and zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                most = most_unpacked(path.stat().st_size)
                if sum(one.file_size for one in archive.infolist()) > most:
                    raise bomb(str(path), path.stat().st_size, most)
        elif path.suffix in _PACKED and path.is_file():
            check_unpacked(path)
