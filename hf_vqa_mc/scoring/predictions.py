"""A model's predictions, one per question: json, json lines, csv, tsv, parquet or xlsx, or Python objects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.gqa_records import EXACT
from hf_vqa_mc.scoring.harness_predictions import ID_COLUMNS, OTHER_ID_COLUMNS, harness_reader
from hf_vqa_mc.scoring.prediction_files import (
    HEADER_FIELDS,
    SWAPPED,
    Form,
    Rows,
    in_batches,
    mapped_rows,
    rows_of_file,
)
from hf_vqa_mc.scoring.scheme import Answer

ANSWER_COLUMNS = ("answer", "prediction", "label")
SCORES_COLUMN = "scores"
"""Optional column: the model's score of each choice, in their order."""
PUBLISHED = frozenset({"answers", "isBalanced", "question"})
"""Fields of published annotations and questions files, which predictions files lack."""
_KEY = "key of the object"
"""Column of the ids of an object id -> record."""
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


@dataclass(frozen=True)
class _Columns:
    id: str = "question_id"
    answer: str = "answer"
    types: frozenset[type] = _TEXT | _INDEX


def read_predictions(source: Any, id_column: str | None = None, answer_column: str | None = None) -> Predictions:  # noqa: ANN401  a path, rows, a table or a mapping
    """Read a model's answers.

    The source is the path of a json (a list of records, or an object id -> answer), jsonl, csv, tsv, parquet or xlsx
    file, plain, .gz, .xz or .zip, also as `harness_predictions`; or a mapping id -> answer, a list of records, a data
    frame, a ``Dataset``. Columns are by default one of `ID_COLUMNS` and one of `ANSWER_COLUMNS`.
    """
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    form, batches = _rows_of_objects(source) if path is None else rows_of_file(path)
    if form == "mapping":
        form, batches, id_column = _records_by_id(batches, id_column, answer_column)
    if form != "mapping" and answer_column is None:
        form, batches, id_column = _without_layout(form, batches, id_column)
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
    found = Predictions(path, answers, tuple(repeated), form == "csv", scores)
    if not answers:
        raise InputError(f"{found.location}: found no predictions")
    return found


def _records_by_id(
    batches: Iterable[Records], id_column: str | None, answer_column: str | None
) -> tuple[Form, Iterable[Records], str | None]:
    """The records of an object id -> record with an answer; other mappings as they are."""
    rest = iter(batches)
    first = list(islice(rest, 1))
    value = first[0].rows[0]["answer"] if first else None
    names = {answer_column} if answer_column else {"prediction", "label"}
    if not isinstance(value, dict) or not names & value.keys():
        return "mapping", chain(first, rest), id_column

    def records(batch: Records) -> Records:
        for row, pair in enumerate(batch.rows):
            if not isinstance(pair["answer"], dict):
                raise batch.unexpected(row, "answer", "a record, as the first one is", pair["answer"])
        return Records([{**pair["answer"], _KEY: pair["question_id"]} for pair in batch.rows], batch.location)

    return "records", map(records, chain(first, rest)), id_column or _KEY


def _without_layout(
    form: Form, batches: Iterable[Records], id_column: str | None
) -> tuple[Form, Iterable[Records], str | None]:
    """The rows of a harness's file as plain ones, and the id column to look for; other rows as they are."""
    rest = iter(batches)
    first = list(islice(rest, 1))
    reader = harness_reader(first[0].rows[0]) if first else None
    every = chain(first, rest)
    if reader is None:
        return form, every, id_column
    return "records", (reader(one, id_column) for one in every), None


def _rows_of_objects(source: Any) -> Rows:  # noqa: ANN401  rows, a table or a mapping
    if isinstance(source, Mapping):
        pairs = [(str(_whole(_plain(name))), _plain(value)) for name, value in source.items()]
        return "mapping", mapped_rows("predictions", [pairs])
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
    return "records", in_batches(rows, "predictions, record {}".format)


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
    return _Columns(name, answer, _TYPES.get(answer, _TEXT | _INDEX))


def _named(
    records: Records, fields: Sequence[str], given: str | None, known: Sequence[str], what: str, option: str
) -> str:
    found = [name for name in ((given,) if given else known) if name in fields]
    if not found and known is ID_COLUMNS and not given:
        found = [name for name in OTHER_ID_COLUMNS if name in fields][:1]
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
