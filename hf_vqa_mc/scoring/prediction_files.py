"""Predictions files as batches of rows: json, json lines, csv, tsv, parquet or xlsx, plain or packed."""

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, MissingExtra, shown
from hf_vqa_mc.io.json_stream import json_lines, list_items, object_items
from hf_vqa_mc.io.packed import check_size, opened, text_lines, unpacked
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.official import FORMATS, PACKED

FIRST_FIELD = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.)', re.DOTALL)
"""The name of the first field of a JSON object, and the first character of its value."""
HEADER_FIELDS = frozenset({"info", "license", "data_type", "data_subtype", "task_type", "annotations", "questions"})
"""Header fields of VQA's and TDIUC's annotation and questions files."""
SWAPPED = "is this an annotation or questions file? PREDICTIONS comes first, then DATASET"

DELIMITERS = {"csv": ",", "tsv": "\t"}
LONGEST_CELL = 1 << 26
"""Characters; files of VLMEvalKit hold images in cells."""

_BATCH = 10_000
"""rows"""
_HEAD = 1 << 16
"""bytes"""
Form = Literal["mapping", "csv", "records"]
Rows = tuple[Form, Iterable[Records]]
"""Form of the source, and its rows in batches."""


def rows_of_file(path: Path) -> Rows:
    """The rows of a file; raises InputError if it cannot be read."""
    if not path.is_file():
        found = "is a folder (PREDICTIONS comes before DATASET)" if path.is_dir() else "does not exist"
        raise InputError(f"predictions {path} {found}; expected a json, jsonl, csv, tsv, parquet or xlsx file")
    kind = _format(path)
    if kind in DELIMITERS:
        return "csv", _csv_rows(path, DELIMITERS[kind])
    if kind == "xlsx":
        return "csv", _xlsx_rows(path)
    if kind == "parquet":
        return "records", _parquet_rows(path)
    if kind == "jsonl":
        return "records", _numbered(path, json_lines(path))
    with unpacked(path) as stream:
        head = stream.read(_HEAD).decode("utf-8-sig", errors="replace").lstrip()
    first = FIRST_FIELD.match(head)
    if not head:
        raise InputError(f"{path}: the file is empty; expected predictions")
    if first is not None and first[1] in HEADER_FIELDS and first[2] in "{[":
        raise InputError(f"{path}: expected predictions, found an object with {first[1]!r}; {SWAPPED}")
    if head[0] != "{":
        return "records", in_batches(chain.from_iterable(list_items(path)), lambda row: f"{path}, record {row}")
    if _is_lines(head):
        return "records", _numbered(path, json_lines(path))
    return "mapping", mapped_rows(str(path), object_items(path))


def _format(path: Path) -> str:
    """The format by the file extension; if that is unknown, Parquet and JSON are recognised by their first bytes."""
    if path.suffix.lower() == ".xlsx":  # itself a zip
        return "xlsx"
    with unpacked(path) as stream:
        name, head = stream.name, stream.read(16).lstrip(b"\xef\xbb\xbf \t\r\n")
    suffixes = [suffix for suffix in (found.lower() for found in Path(name).suffixes) if suffix not in PACKED]
    if suffixes and suffixes[-1] in FORMATS:
        return FORMATS[suffixes[-1]]
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"[", b"{")):
        return "json"
    raise InputError(
        f"predictions {path}: unknown format; expected a name ending in {', '.join(FORMATS)} (packed: .gz)"
    )


def _is_lines(head: str) -> bool:
    """Whether another object follows on the next line: JSON lines without their file extension."""
    first, _, following = head.partition("\n")
    try:
        return following.lstrip()[:1] == "{" and isinstance(json.loads(first), dict)
    except ValueError:
        return False


def in_batches(rows: Iterable[Any], location: Callable[[int], str]) -> Iterator[Records]:
    """Rows in batches; location: number of a row to its location."""
    iterator, first = iter(rows), 0
    while batch := list(islice(iterator, _BATCH)):
        yield Records(batch, lambda row, first=first: location(first + row))  # type: ignore[misc]
        first += len(batch)


def mapped_rows(location: str, batches: Iterable[list[tuple[str, Any]]]) -> Iterator[Records]:
    """The rows of an object id -> answer."""
    for batch in batches:
        rows = [{"question_id": name, "answer": value} for name, value in batch]
        yield Records(rows, lambda row, batch=batch: f"{location}, {batch[row][0]!r}")  # type: ignore[misc]


def _csv_rows(path: Path, delimiter: str) -> Iterator[Records]:
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    with opened(path) as (stream, location):
        yield from _numbered(path, _csv_lines(path, text_lines(stream, location), delimiter))


def _xlsx_rows(path: Path) -> Iterator[Records]:
    """The rows of the first sheet, cells as text; raises InputError if it is no such file or unpacks to too much."""
    import pandas as pd

    if find_spec("openpyxl") is None:
        raise MissingExtra("openpyxl", "evaluate")
    try:
        with zipfile.ZipFile(path) as archive:
            check_size(str(path), path.stat().st_size, sum(one.file_size for one in archive.infolist()))
        frame = pd.read_excel(path, dtype=str, keep_default_na=False, na_filter=False, engine="openpyxl")
    except InputError:
        raise
    except Exception as error:  # openpyxl raises whatever damaged XML leads to
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as xlsx ({reason}); save it again, or as csv") from error
    yield from in_batches(frame.to_dict("records"), lambda row: f"{path}, row {row + 2}")


def _numbered(path: Path, rows: Iterable[tuple[int, Any]]) -> Iterator[Records]:
    numbers: list[int] = []

    def values() -> Iterator[Any]:
        for number, row in rows:
            numbers.append(number)
            yield row

    return in_batches(values(), lambda row: f"{path}, line {numbers[row]}")


def _csv_lines(path: Path, lines: Iterator[str], delimiter: str = ",") -> Iterator[tuple[int, dict[str, str]]]:
    first = next(lines, "")
    separators = [mark for mark in (";", "\t") if delimiter == "," and mark in first and "," not in first]
    if separators:
        raise InputError(f"{path}, line 1: cells are separated by {separators[0]!r}; use commas")
    reader = csv.reader(chain([first], lines), strict=True, delimiter=delimiter)
    header = None
    try:
        for cells in filter(None, reader):
            if header is None:
                header = cells
                if len(set(header)) < len(header):
                    raise InputError(f"{path}, line 1: duplicate column names in {shown(header)}")
            elif len(cells) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: expected {len(header)} cells, as in the header, found "
                    f"{len(cells)}; put text with commas in double quotes"
                )
            else:
                yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not CSV: {error}") from None
    if header is None:
        raise InputError(f"{path}: the file is empty; expected a header and predictions")


def _parquet_rows(path: Path) -> Iterator[Records]:
    import pyarrow as pa
    from pyarrow import parquet

    from hf_vqa_mc.io.parquet import check_parquet

    try:
        with unpacked(path) as stream:
            content = pa.py_buffer(stream.read())
        check_parquet(content, str(path), path.stat().st_size)
        with parquet.ParquetFile(pa.BufferReader(content)) as file:
            rows = (row for batch in file.iter_batches(_BATCH) for row in batch.to_pylist())
            yield from in_batches(rows, lambda row: f"{path}, row {row}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}); write it again") from error
