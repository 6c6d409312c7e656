"""The rows of a predictions file, whatever its format: json, json lines, csv or parquet, plain or packed."""

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import json_lines, list_items, object_items
from hf_vqa_mc.io.packed import text_lines, unpacked
from hf_vqa_mc.io.records import Records

Format = Literal["json", "jsonl", "csv", "parquet"]

FORMATS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
}
PACKED = (".gz", ".gzip", ".xz", ".zip")
MAPPED_ID, MAPPED_ANSWER = "question_id", "answer"
"""The columns of rows that come from one json object, id -> answer."""
FIRST_FIELD = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.)', re.DOTALL)
"""Of a json object: its first field's name, and how the value begins."""
HEADER_FIELDS = frozenset({"info", "license", "data_type", "data_subtype", "task_type", "annotations", "questions"})
"""Of VQA's and TDIUC's annotation and questions files."""
SWAPPED = "is this an annotation or questions file? PREDICTIONS comes first, then DATASET"

_ROWS_AT_A_GO = 10_000
_HEAD = 1 << 16


class PredictionRows:
    """A predictions file that can be read row by row.

    Args:
        path: the file.

    Raises:
        InputError: there is no such file, or its format is unknown.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            found = "is a folder (PREDICTIONS comes before DATASET)" if path.is_dir() else "does not exist"
            raise InputError(f"predictions {path} {found}; expected a json, jsonl, csv or parquet file")
        self.path = path
        self.format = _format(path)
        self.mapped = False
        """whether it is one json object, id -> answer; known once the first rows were read"""

    def __iter__(self) -> Iterator[Records]:
        """The rows, some thousand at a time, each with its place for messages."""
        yield from _READERS[self.format](self)

    def _json(self) -> Iterator[Records]:
        with unpacked(self.path) as stream:
            head = stream.read(_HEAD)
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if not start:
            raise InputError(f"{self.path}: the file is empty; expected predictions")
        first = FIRST_FIELD.match(head.decode("utf-8-sig", errors="replace"))
        if first is not None and first[1] in HEADER_FIELDS and first[2] in "{[":  # before a long list is read in one
            raise InputError(f"{self.path}: expected predictions, found an object with {first[1]!r}; {SWAPPED}")
        if start == b"{" and _is_lines(head):
            yield from self._jsonl()
        elif start == b"{":
            self.mapped = True
            yield from _mapped_rows(self.path)
        else:
            rows = (row for batch in list_items(self.path) for row in batch)
            yield from _numbered_rows(rows, lambda position: f"{self.path}, record {position}")

    def _jsonl(self) -> Iterator[Records]:
        def rows() -> Iterator[Any]:
            for number, value in json_lines(self.path):
                numbers.append(number)
                yield value

        numbers: list[int] = []
        yield from _numbered_rows(rows(), lambda position: f"{self.path}, line {numbers[position]}")

    def _csv(self) -> Iterator[Records]:
        with unpacked(self.path) as stream:
            yield from self._csv_rows(text_lines(stream, str(self.path)))

    def _csv_rows(self, lines: Iterator[str]) -> Iterator[Records]:
        first = next(lines, "")
        separators = [mark for mark in (";", "\t") if mark in first and "," not in first]
        if separators:
            raise InputError(f"{self.path}, line 1: cells are separated by {separators[0]!r}; write it with commas")
        reader = csv.reader(chain([first], lines), strict=True)
        header = next(_cells(reader, self.path), None)
        if header is None:
            raise InputError(f"{self.path}: the file is empty; expected a header and predictions")
        if len(set(header)) < len(header):
            raise InputError(f"{self.path}, line 1: a column's name occurs twice in {shown(header)}")

        def rows() -> Iterator[dict[str, str]]:
            for cells in _cells(reader, self.path):
                if len(cells) != len(header):
                    raise InputError(
                        f"{self.path}, line {reader.line_num}: expected {len(header)} cells, as in the header, found "
                        f"{len(cells)}; text with a comma must stand in double quotes"
                    )
                numbers.append(reader.line_num)
                yield dict(zip(header, cells, strict=True))

        numbers: list[int] = []
        yield from _numbered_rows(rows(), lambda position: f"{self.path}, line {numbers[position]}")

    def _parquet(self) -> Iterator[Records]:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            with unpacked(self.path) as stream, parquet.ParquetFile(pa.BufferReader(stream.read())) as file:
                rows = (row for batch in file.iter_batches(_ROWS_AT_A_GO) for row in batch.to_pylist())
                yield from _numbered_rows(rows, lambda position: f"{self.path}, row {position}")
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = str(error).split("\n")[0]
            raise InputError(f"{self.path}: cannot be read as parquet ({reason}); write it again") from error


_READERS: dict[Format, Callable[[PredictionRows], Iterator[Records]]] = {
    "json": PredictionRows._json,
    "jsonl": PredictionRows._jsonl,
    "csv": PredictionRows._csv,
    "parquet": PredictionRows._parquet,
}


def bare_name(path: Path) -> str:
    """A file's name without the endings that say how it is packed and in which format it is.

    >>> bare_name(Path("model_0.5.json.gz")), bare_name(Path("model_0.5"))
    ('model_0.5', 'model_0.5')
    """
    for endings in (PACKED, tuple(FORMATS)):
        path = path.with_name(path.stem) if path.suffix.lower() in endings else path
    return path.name


def _format(path: Path) -> Format:
    """By the name's ending; without a known one, parquet and json by how they begin."""
    with unpacked(path) as stream:
        name = str(getattr(stream, "name", "")) if isinstance(stream, zipfile.ZipExtFile) else path.name
        head = stream.read(16).lstrip(b"\xef\xbb\xbf \t\r\n")
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


def _is_lines(head: bytes) -> bool:
    """Whether json that begins with an object goes on with another on the next line: json lines under another name."""
    first, _, following = head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    try:
        return following.lstrip()[:1] == b"{" and isinstance(json.loads(first), dict)
    except ValueError:
        return False


def _numbered_rows(rows: Iterable[Any], place: Callable[[int], str]) -> Iterator[Records]:
    """Rows in batches; place: where each stands, for messages."""
    iterator, first = iter(rows), 0
    while batch := list(islice(iterator, _ROWS_AT_A_GO)):
        yield Records(batch, lambda position, first=first: place(first + position))  # type: ignore[misc]
        first += len(batch)


def _mapped_rows(path: Path) -> Iterator[Records]:
    for batch in object_items(path):
        rows = [{MAPPED_ID: name, MAPPED_ANSWER: value} for name, value in batch]
        yield Records(rows, lambda position, batch=batch: f"{path}, {batch[position][0]!r}")  # type: ignore[misc]


def _cells(reader: Any, path: Path) -> Iterator[list[str]]:  # noqa: ANN401  csv's reader has no public type
    """The rows that hold anything."""
    try:
        for cells in reader:
            if cells:
                yield cells
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: not csv: {error}") from None
