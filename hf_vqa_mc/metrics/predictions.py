"""A model's predictions, one per question: json, json lines, csv or parquet, plain or packed, or Python objects."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import json_lines, list_items, object_items, parsed
from hf_vqa_mc.io.packed import opened, text_lines, unpacked
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.gqa_records import EXACT
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.scheme import Answer

ID_COLUMNS = ("question_id", "questionId", "qa_id")
ANSWER_COLUMNS = ("answer", "prediction", "label")
SCORES_COLUMN = "scores"
"""Optional column: the model's score of each choice, in their order."""
PUBLISHED = frozenset({"answers", "isBalanced", "question"})
"""Fields of published annotations and questions files, which predictions files lack."""
FIRST_FIELD = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.)', re.DOTALL)
"""The name of the first field of a JSON object, and the first character of its value."""
HEADER_FIELDS = frozenset({"info", "license", "data_type", "data_subtype", "task_type", "annotations", "questions"})
"""Header fields of VQA's and TDIUC's annotation and questions files."""
SWAPPED = "is this an annotation or questions file? PREDICTIONS comes first, then DATASET"

_BATCH = 10_000
"""rows"""
_HEAD = 1 << 16
"""bytes"""
_TEXT, _INDEX = frozenset({str}), frozenset({int})
_TYPES = {"answer": _TEXT, "label": _INDEX}
"""Types of a column's answers; columns not listed have both."""
_EXPECTED = {
    _TEXT: "text (an index of the choices goes under 'label' or 'prediction')",
    _INDEX: "the index of a choice, a whole number (text goes under 'answer' or 'prediction')",
    _TEXT | _INDEX: "text, or the index of a choice as a whole number",
}


@dataclass(frozen=True)
class Predictions:
    """Answers by question id."""

    path: Path | None
    """the file; None for Python objects"""
    answers: dict[str, Answer]
    """question id as text to answer; the last one if there are several"""
    repeated: tuple[str, ...]
    """ids that occurred more than once"""
    from_csv: bool
    """whether text may represent a number"""
    scores: dict[str, Any] = field(default_factory=dict)
    """question id to the content of `SCORES_COLUMN`, unchecked; empty if there is no such column"""

    @property
    def location(self) -> str:
        """For messages."""
        return "predictions" if self.path is None else str(self.path)


_Rows = tuple[Literal["mapping", "csv", "records"], Iterable[Records]]
"""Form of the source, and its rows in batches."""


@dataclass(frozen=True)
class _Columns:
    id: str = "question_id"
    answer: str = "answer"
    types: frozenset[type] = _TEXT | _INDEX
    others: frozenset[str] = field(default_factory=frozenset)
    """other known columns, which would be ambiguous"""


def read_predictions(source: Any, id_column: str | None = None, answer_column: str | None = None) -> Predictions:  # noqa: ANN401  a path, rows, a table or a mapping
    """Read a model's answers.

    The source is the path of a json (a list of records, or an object id -> answer), jsonl, csv or parquet file, plain,
    .gz, .xz or .zip; or a mapping id -> answer, a list of records, a data frame, a ``Dataset``. Columns are by default
    one of `ID_COLUMNS` and one of `ANSWER_COLUMNS`.
    """
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    form, batches = _rows_of_objects(source) if path is None else _rows_of_file(path)
    answers: dict[str, Answer] = {}
    scores: dict[str, Any] = {}
    repeated: dict[str, None] = {}
    columns = None
    for records in batches:
        if columns is None:
            columns = _Columns() if form == "mapping" else _columns(records, id_column, answer_column)
        if form == "mapping":
            _check_mapped(records)
        records = _with_whole_ids(records, columns.id)
        read = _cells if form == "csv" else _answers
        for name, answer, record in zip(records.ids(columns.id), read(records, columns), records.rows, strict=True):
            if name in answers:
                repeated[name] = None
            answers[name] = answer
            if SCORES_COLUMN in record:
                scores[name] = record[SCORES_COLUMN]
        for name in sorted(columns.others):
            for row in (row for row, record in enumerate(records.rows) if name in record):
                raise InputError(
                    f"{records.location(row)}: column {name!r} is not in the first record; choose "
                    "the columns with --id-column and --answer-column"
                )
    found = Predictions(path, answers, tuple(repeated), form == "csv", scores)
    if not answers:
        raise InputError(f"{found.location}: found no predictions")
    return found


def _rows_of_objects(source: Any) -> _Rows:  # noqa: ANN401  rows, a table or a mapping
    if isinstance(source, Mapping):
        pairs = [(str(_whole(_plain(name))), _plain(value)) for name, value in source.items()]
        return "mapping", _mapped_rows("predictions", [pairs])
    if hasattr(source, "to_dict") and hasattr(source, "columns"):  # pandas
        source = source.to_dict("records")
    for method in ("to_list", "to_pylist"):  # datasets, pyarrow
        source = getattr(source, method)() if hasattr(source, method) else source
    if not isinstance(source, Sequence):
        raise InputError(
            f"predictions is {type(source).__name__}; expected a path, a mapping id -> answer, or rows with columns "
            f"such as question_id and answer"
        )
    rows = [
        {name: _plain(value) for name, value in row.items()} if isinstance(row, Mapping) else row for row in source
    ]
    return "records", _batches(rows, "predictions, record {}".format)


def _with_whole_ids(records: Records, name: str) -> Records:
    """The records with ids that are whole numbers as such where they are floating point, as in data frames."""
    if not any(type(row) is dict and type(row.get(name)) is float for row in records.rows):
        return records
    rows = [{**row, name: _whole(row[name])} if type(row) is dict and name in row else row for row in records.rows]
    return Records(rows, records.location)


def _whole(value: Any) -> Any:  # noqa: ANN401  any value
    """A floating-point number as a whole one if it is exactly that."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= EXACT else value


def _plain(value: Any) -> Any:  # noqa: ANN401  any value
    return value.tolist() if hasattr(value, "tolist") else value


def _rows_of_file(path: Path) -> _Rows:
    if not path.is_file():
        found = "is a folder (PREDICTIONS comes before DATASET)" if path.is_dir() else "does not exist"
        raise InputError(f"predictions {path} {found}; expected a json, jsonl, csv or parquet file")
    kind = _format(path)
    if kind == "csv":
        return "csv", _csv_rows(path)
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
        return "records", _batches(chain.from_iterable(list_items(path)), lambda row: f"{path}, record {row}")
    if _is_lines(head):
        return "records", _numbered(path, json_lines(path))
    return "mapping", _mapped_rows(str(path), object_items(path))


def _format(path: Path) -> str:
    """The format by the file extension; if that is unknown, Parquet and JSON are recognised by their first bytes."""
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
        return following.lstrip()[:1] == "{" and isinstance(parsed(first), dict)
    except ValueError:
        return False


def _batches(rows: Iterable[Any], location: Callable[[int], str]) -> Iterator[Records]:
    iterator, first = iter(rows), 0
    while batch := list(islice(iterator, _BATCH)):
        yield Records(batch, lambda row, first=first: location(first + row))  # type: ignore[misc]
        first += len(batch)


def _mapped_rows(location: str, batches: Iterable[list[tuple[str, Any]]]) -> Iterator[Records]:
    for batch in batches:
        rows = [{"question_id": name, "answer": value} for name, value in batch]
        yield Records(rows, lambda row, batch=batch: f"{location}, {batch[row][0]!r}")  # type: ignore[misc]


def _csv_rows(path: Path) -> Iterator[Records]:
    with opened(path) as (stream, location):
        yield from _numbered(path, _csv_lines(path, text_lines(stream, location)))


def _numbered(path: Path, rows: Iterable[tuple[int, Any]]) -> Iterator[Records]:
    numbers: list[int] = []

    def values() -> Iterator[Any]:
        for number, row in rows:
            numbers.append(number)
            yield row

    return _batches(values(), lambda row: f"{path}, line {numbers[row]}")


def _csv_lines(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, str]]]:
    first = next(lines, "")
    separators = [mark for mark in (";", "\t") if mark in first and "," not in first]
    if separators:
        raise InputError(f"{path}, line 1: cells are separated by {separators[0]!r}; use commas")
    reader = csv.reader(chain([first], lines), strict=True)
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
            yield from _batches(rows, lambda row: f"{path}, row {row}")
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}); write it again") from error


def _check_mapped(records: Records) -> None:
    for row, pair in enumerate(records.rows):
        name, value = pair["question_id"], pair["answer"]
        if not isinstance(value, dict | list):
            continue
        expected = f"{records.location(row)}: expected an object question id -> answer, found {shown(value)}"
        if name in (*ID_COLUMNS, *ANSWER_COLUMNS):
            raise InputError(f'{expected}; this is a table by columns: write it by rows (pandas: orient="records")')
        if name in HEADER_FIELDS or (isinstance(value, dict) and PUBLISHED & value.keys()):
            raise InputError(f"{expected}; {SWAPPED}")
        if isinstance(value, dict):
            raise InputError(f"{expected}; give only the answer")
        raise InputError(f"{expected}; if that is the list of predictions, make it the whole file")


def _columns(records: Records, id_column: str | None, answer_column: str | None) -> _Columns:
    first = records.rows[0]
    if not isinstance(first, dict):
        raise InputError(f"{records.location(0)}: expected a record such as a JSON object, found {shown(first)}")
    named = partial(_named, records, list(first))
    name = named(id_column, ID_COLUMNS, "question ids", "--id-column")
    answer = named(answer_column, ANSWER_COLUMNS, "answers", "--answer-column")
    others = {*(ID_COLUMNS if not id_column else ()), *(ANSWER_COLUMNS if not answer_column else ())}
    return _Columns(name, answer, _TYPES.get(answer, _TEXT | _INDEX), frozenset(others - {name, answer}))


def _named(
    records: Records, fields: Sequence[str], given: str | None, known: Sequence[str], what: str, option: str
) -> str:
    found = [name for name in ((given,) if given else known) if name in fields]
    if len(found) == 1:
        return found[0]
    if given:
        raise InputError(
            f"{records.location(0)}: no column {given!r} ({option}); found {', '.join(map(repr, fields))}"
        )
    if found:
        several = " and ".join(map(repr, found))
        raise InputError(f"{records.location(0)}: both {several} may hold {what}; choose one with {option}")
    listed = ", ".join(map(repr, fields[:20])) or "none"
    swapped = f"; {SWAPPED}" if PUBLISHED & set(fields) else ""
    raise InputError(
        f"{records.location(0)}: no column of {what}: expected {', '.join(known)}, found {listed}; give it with "
        f"{option}{swapped}"
    )


def _answers(records: Records, columns: _Columns) -> list[Answer]:
    values = records.column(columns.answer)
    if not set(map(type, values)) <= columns.types:
        row = next(row for row, value in enumerate(values) if type(value) not in columns.types)
        raise records.unexpected(row, columns.answer, _EXPECTED[columns.types], values[row])
    texts = [row for row, value in enumerate(values) if type(value) is str]
    check = Records([records.rows[row] for row in texts], lambda row: records.location(texts[row]))
    check.texts(columns.answer)  # JSON can encode text that is not valid Unicode
    return list(values)


def _cells(records: Records, columns: _Columns) -> list[Answer]:
    """Answers in a CSV file, which has only text; converted to integers if the column has indices."""
    values: list[str] = records.column(columns.answer)
    indices = columns.types == _INDEX
    for row, value in enumerate(values):
        if not value:
            expected = "an answer (CSV cannot distinguish a missing answer from empty text; JSON can)"
            raise records.unexpected(row, columns.answer, expected, value)
        if indices and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise records.unexpected(row, columns.answer, _EXPECTED[columns.types], value)
    return [int(value) for value in values] if indices else list(values)
