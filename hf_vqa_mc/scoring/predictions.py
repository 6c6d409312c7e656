"""A model's predictions, one per question: json, json lines, csv, tsv, parquet or xlsx, or Python objects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    mapped,
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


def read_predictions(source: Any, id_column: str | None = None, answer_column: str | None = None) -> Predictions:  # noqa: ANN401  a path, rows, a table or a mapping
    """Read a model's answers.

    The source is the path of a json (a list of records, or an object id -> answer), jsonl, csv, tsv, parquet or xlsx
    file, plain, .gz, .xz or .zip, also as `harness_predictions`; or a mapping id -> answer, a list of records, a data
    frame, a ``Dataset``. Columns are by default one of `ID_COLUMNS` and one of `ANSWER_COLUMNS`.
    """
    path = Path(source).expanduser() if isinstance(source, str | Path) else None
    form, batches = _rows_of_objects(source) if path is None else rows_of_file(path)
    answers: dict[str, Answer] = {}
    scores: dict[str, Any] = {}
    repeated: dict[str, None] = {}
    layout = None
    for batch in batches:
        if layout is None:
            layout = _Layout.of(form, batch, id_column, answer_column)
        records = layout.records(batch)
        given = layout.answers(records, form == "csv")
        for name, answer, record in zip(records.ids(layout.id), given, records.rows, strict=True):
            if name in answers:
                repeated[name] = None
            answers[name] = answer
            if SCORES_COLUMN in record:
                scores[name] = record[SCORES_COLUMN]
    from_csv = form == "csv" and layout is not None and not layout.is_harness
    found = Predictions(path, answers, tuple(repeated), from_csv, scores)
    if not answers:
        raise InputError(f"{found.location}: found no predictions")
    return found


@dataclass(frozen=True)
class _Layout:
    """How the rows of a source become records with columns of ids and answers."""

    convert: Callable[[Records], Records]
    id: str = "question_id"
    answer: str = "answer"
    types: frozenset[type] = _TEXT | _INDEX
    """types of answers"""
    is_harness: bool = False

    @classmethod
    def of(cls, form: Form, first: Records, id_column: str | None, answer_column: str | None) -> "_Layout":
        """The layout by the first rows; raises InputError if ids or answers are not found."""
        convert: Callable[[Records], Records] = lambda batch: batch  # noqa: E731
        if form == "mapping":
            value, names = first.rows[0]["answer"], {answer_column} if answer_column else set(ANSWER_COLUMNS)
            is_record = isinstance(value, dict) and bool(names & value.keys())
            if not is_record or (answer_column is None and PUBLISHED & value.keys()):
                return cls(_checked_mapping)
            convert, id_column = _records_by_id, id_column or _KEY
        reader = harness_reader(convert(first).rows[0]) if answer_column is None else None
        if reader is not None:
            return cls(lambda batch: reader(convert(batch), id_column), answer="prediction", is_harness=True)
        records = convert(first)
        if not isinstance(records.rows[0], dict):
            location = records.location(0)
            raise InputError(f"{location}: expected a record such as a JSON object, found {shown(records.rows[0])}")
        name = _named(records, id_column, ID_COLUMNS, "question ids", "--id-column")
        answer = _named(records, answer_column, ANSWER_COLUMNS, "answers", "--answer-column")
        return cls(convert, name, answer, _TYPES.get(answer, _TEXT | _INDEX))

    def records(self, batch: Records) -> Records:
        """The records, with ids that are whole numbers as such where they are floating point, as in data frames."""
        records = self.convert(batch)
        if not any(type(row) is dict and type(row.get(self.id)) is float for row in records.rows):
            return records
        rows = records.rows
        ids = ({self.id: _whole(one[self.id])} if type(one) is dict and self.id in one else {} for one in rows)
        return Records(
            [{**one, **of_one} if of_one else one for one, of_one in zip(rows, ids, strict=True)], records.location
        )

    def answers(self, records: Records, from_csv: bool) -> list[Answer]:
        """The answers; in CSV, which has only text, those of a column of indices are converted to integers."""
        values = records.column(self.answer)
        if from_csv and not self.is_harness:
            if "" in values:
                expected = "an answer (CSV cannot distinguish a missing answer from empty text; JSON can)"
                raise records.unexpected(values.index(""), self.answer, expected, "")
            if self.types == _INDEX:
                values = [int(one) if one.isascii() and one.isdigit() and len(one) < 10 else one for one in values]
        for row, value in enumerate(values):
            if type(value) not in self.types:
                raise records.unexpected(row, self.answer, _EXPECTED[self.types], value)
        return values


def _records_by_id(batch: Records) -> Records:
    """The records of an object id -> record with an answer."""
    for row, pair in enumerate(batch.rows):
        if not isinstance(pair["answer"], dict):
            raise batch.unexpected(row, "answer", "a record, as the first one is", pair["answer"])
    return Records([{**pair["answer"], _KEY: pair["question_id"]} for pair in batch.rows], batch.location)


def _rows_of_objects(source: Any) -> Rows:  # noqa: ANN401  rows, a table or a mapping
    if isinstance(source, Mapping):
        pairs = ((str(_whole(_plain(name))), _plain(value)) for name, value in source.items())
        return "mapping", in_batches(mapped(pairs), "predictions, {!r}".format)
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
    return "records", in_batches(enumerate(rows), "predictions, record {}".format)


def _whole(value: Any) -> Any:  # noqa: ANN401  any value
    """A floating-point number as a whole one if it is exactly that."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= EXACT else value


def _plain(value: Any) -> Any:  # noqa: ANN401  any value
    return value.tolist() if hasattr(value, "tolist") else value


def _checked_mapping(records: Records) -> Records:
    """The rows of an object id -> answer; raises InputError if it is something else."""
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
    return records


def _named(records: Records, given: str | None, known: Sequence[str], what: str, option: str) -> str:
    """The column of ids or answers; raises InputError if there is none, or several."""
    fields = list(records.rows[0])
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
