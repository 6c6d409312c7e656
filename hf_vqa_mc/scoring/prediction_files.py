"""Predictions files as batches of rows: json, json lines, csv, tsv, parquet or xlsx, plain or packed."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import json_lines, list_items, object_items
from hf_vqa_mc.io.packed import opened, text_lines, unpacked
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.io.xlsx import read_xlsx
from hf_vqa_mc.scoring.official import FORMATS, PACKED

FIRST_FIELD = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.)', re.DOTALL)
"""The name of the first field of a JSON object, and the first character of its value."""
HEADER_FIELDS = frozenset({"info", "license", "data_type", "data_subtype", "task_type", "annotations", "questions"})
"""Header fields of VQA's and TDIUC's annotation and questions files."""
SWAPPED = "is this an annotation or questions file? PREDICTIONS comes first, then DATASET"

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
    if kind == "json":
        return _json_rows(path)
    form, what, read = _READERS[kind]
    return form, in_batches(read(path), lambda number: f"{path}, {what} {number}")


def _json_rows(path: Path) -> Rows:
    """The rows of a list, of an object id -> answer, or of an object on each line."""
    with unpacked(path) as stream:
        head = stream.read(_HEAD).decode("utf-8-sig", errors="replace").lstrip()
    first = FIRST_FIELD.match(head)
    if not head:
        raise InputError(f"{path}: the file is empty; expected predictions")
    if first is not None and first[1] in HEADER_FIELDS and first[2] in "{[":
        raise InputError(f"{path}: expected predictions, found an object with {first[1]!r}; {SWAPPED}")
    if head[0] != "{":
        records = enumerate(chain.from_iterable(list_items(path)))
        return "records", in_batches(records, lambda number: f"{path}, record {number}")
    if _is_lines(head):
        return "records", in_batches(json_lines(path), lambda number: f"{path}, line {number}")
    pairs = chain.from_iterable(object_items(path))
    return "mapping", in_batches(mapped(pairs), lambda name: f"{path}, {name!r}")


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


def in_batches(rows: Iterable[tuple[Any, Any]], location: Callable[[Any], str]) -> Iterator[Records]:
    """Rows with their numbers or names, in batches; location: number or name of a row to its location."""
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH)):
        yield Records([row for _, row in batch], lambda row, batch=batch: location(batch[row][0]))  # type: ignore[misc]


def mapped(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pairs of an object id -> answer as rows."""
    return ((name, {"question_id": name, "answer": value}) for name, value in pairs)


def _xlsx_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    return enumerate(read_xlsx(path).to_dict("records"), 2)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a csv or tsv file with their line numbers; the delimiter is that of most columns in the header."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    with opened(path) as (stream, location):
        lines = text_lines(stream, location)
        first = next(lines, "")
        reader = csv.reader(chain([first], lines), strict=True, delimiter=max(",;\t", key=first.count))
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
                        f"{len(cells)}; put text with {reader.dialect.delimiter!r} in double quotes"
                    )
                else:
                    yield reader.line_num, dict(zip(header, cells, strict=True))
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.line_num}: not CSV: {error}") from None
        if header is None:
            raise InputError(f"{path}: the file is empty; expected a header and predictions")


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    from pyarrow import parquet

    from hf_vqa_mc.io.parquet import check_parquet

    try:
        with unpacked(path) as stream:
            content = pa.py_buffer(stream.read())
        check_parquet(content, str(path), path.stat().st_size)
        with parquet.ParquetFile(pa.BufferReader(content)) as file:
            yield from enumerate(row for batch in file.iter_batches(_BATCH) for row in batch.to_pylist())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}); write it again") from error


_READERS: dict[str, tuple[Form, str, Callable[[Path], Iterable[tuple[int, Any]]]]] = {
    "csv": ("csv", "line", _csv_rows),
    "tsv": ("csv", "line", _csv_rows),
    "xlsx": ("csv", "row", _xlsx_rows),
    "parquet": ("records", "row", _parquet_rows),
    "jsonl": ("records", "line", json_lines),
}
"""By format: the form, what the numbers of its rows count, and the reader."""
