"""Limits on what Parquet files, and the files that ``datasets`` unpacks, hold."""

import contextlib
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hf_vqa_mc.io.packed import DAMAGE, check_size, check_unpacked, is_packed

FREE_DECODED = 10**9  # decoded bytes at any ratio: columns with the same text in every row are common
_ROW_BYTES = 250
"""Size that a row at least counts as: that of a question in memory, even where the file needs no bytes for it."""


def check_parquet(source: Any, location: str, size: int) -> None:  # noqa: ANN401  as for ParquetFile
    """Raise InputError if a Parquet file of ``size`` bytes decodes to more than `check_size` allows."""
    with pq.ParquetFile(source) as file:
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
        decoded = max(sum(group.total_byte_size for group in groups), _ROW_BYTES * file.metadata.num_rows)
        check_size(location, size, decoded, FREE_DECODED)


def check_files(paths: Iterable[Path]) -> None:
    """Raise InputError if a packed or Parquet file holds too much for ``datasets``, which unpacks without a limit."""
    for path in paths:
        with path.open("rb") as file:
            start = file.read(6)
        size = path.stat().st_size
        if start.startswith(b"PAR1"):
            with contextlib.suppress(pa.ArrowException, OSError):
                check_parquet(path, str(path), size)
        elif is_packed(start):
            check_unpacked(path)
        elif zipfile.is_zipfile(path):
            with contextlib.suppress(*DAMAGE), zipfile.ZipFile(path) as archive:
                check_size(str(path), size, sum(one.file_size for one in archive.infolist()))
