"""What a model answered: one answer a question, found by the question's id."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.metrics.prediction_files import HEADER_FIELDS, MAPPED_ANSWER, MAPPED_ID, SWAPPED, PredictionRows

ID_COLUMNS = ("question_id", "questionId", "qa_id")
ANSWER_COLUMNS = ("answer", "prediction", "label")
PLACE_COLUMN = "label"
"""holds the place of the picked choice, from 0 on"""
PUBLISHED = frozenset({"answers", "isBalanced", "question"})
"""Fields of publishers' annotations and questions, of which predictions need none."""

Answer = str | int
"""Text, or the place of the picked choice."""

_EXPECTED: dict[frozenset[type], str] = {
    frozenset({str}): "text (a place among the choices goes under 'label' or 'prediction')",
    frozenset({int}): "the place of a choice, a whole number (text goes under 'answer' or 'prediction')",
    frozenset({str, int}): "text, or the place of a choice as a whole number",
}


@dataclass(frozen=True)
class Predictions:
    """A predictions file as it was read."""

    path: Path
    answers: dict[str, Answer]
    """by the question's id as text; of several the last"""
    repeated: tuple[str, ...]
    """ids that came more than once"""
    from_csv: bool
    """so that a number may have been meant where text stands"""


@dataclass(frozen=True)
class _Columns:
    id: str
    answer: str
    types: frozenset[type]
    """of the answers"""
    others: frozenset[str] = frozenset()
    """known columns that must not be there besides, as it would be a guess which one is meant"""


def read_predictions(path: Path, id_column: str | None = None, answer_column: str | None = None) -> Predictions:
    """Read what a model answered.

    Args:
        path: json (a list of records, or an object id -> answer), jsonl, csv or parquet; plain, .gz, .xz or .zip.
        id_column: the column of ids; else one of ``ID_COLUMNS``.
        answer_column: the column of answers; else one of ``ANSWER_COLUMNS``.

    Raises:
        InputError: names file, record, field and what was expected.
    """
    rows = PredictionRows(path)
    from_csv = rows.format == "csv"
    answers: dict[str, Answer] = {}
    repeated: dict[str, None] = {}
    columns = None
    for records in rows:
        if columns is None:
            columns = _mapped() if rows.mapped else _columns(records, id_column, answer_column)
        if rows.mapped:
            _check_mapped(records)
        for identifier, answer in zip(records.ids(columns.id), _answers(records, columns, from_csv), strict=True):
            if identifier in answers:
                repeated[identifier] = None
            answers[identifier] = answer
        _check_others(records, columns)
    if not answers:
        raise InputError(f"{path}: there is no prediction in it")
    return Predictions(path, answers, tuple(repeated), from_csv)


def _mapped() -> _Columns:
    return _Columns(MAPPED_ID, MAPPED_ANSWER, frozenset({str, int}))


def _check_mapped(records: Records) -> None:
    """Nothing, if json's object maps ids to answers; else what it looks like instead."""
    for position, row in enumerate(records.rows):
        name, value = row[MAPPED_ID], row[MAPPED_ANSWER]
        if not isinstance(value, dict | list):
            continue
        expected = f"{records.place(position)}: expected an object question id -> answer, found {shown(value)}"
        if name in (*ID_COLUMNS, *ANSWER_COLUMNS):
            raise InputError(f'{expected}; this is a table by columns: write it by rows (pandas: orient="records")')
        if name in HEADER_FIELDS or (isinstance(value, dict) and PUBLISHED & value.keys()):
            raise InputError(f"{expected}; {SWAPPED}")
        if isinstance(value, dict):
            raise InputError(f"{expected}; give the answer alone")
        raise InputError(f"{expected}; where that is the list of predictions, give the list itself")


def _check_others(records: Records, columns: _Columns) -> None:
    """Nothing, if every row has the columns of the first: another one may hold answers or ids just as well."""
    for name in sorted(columns.others):
        for position, row in enumerate(records.rows):
            if name in row:
                raise InputError(
                    f"{records.place(position)}: there is {name!r}, too, which the first record does not have; say "
                    "with --id-column and --answer-column which columns to read"
                )


def _columns(records: Records, id_column: str | None, answer_column: str | None) -> _Columns:
    """The columns to read, by the first record."""
    first = records.rows[0]
    if not isinstance(first, dict):
        raise InputError(f"{records.place(0)}: expected a record such as a json object, found {shown(first)}")
    fields = list(first)
    identifier = id_column or _named(records, fields, ID_COLUMNS, "question ids", "--id-column")
    answer = answer_column or _named(records, fields, ANSWER_COLUMNS, "answers", "--answer-column")
    for name, option in ((identifier, "--id-column"), (answer, "--answer-column")):
        if name not in fields:
            raise InputError(
                f"{records.place(0)}: no column {name!r} ({option}); there is {', '.join(map(repr, fields))}"
            )
    types: dict[str, frozenset[type]] = {"answer": frozenset({str}), PLACE_COLUMN: frozenset({int})}
    others = {name for name in ID_COLUMNS if not id_column} | {name for name in ANSWER_COLUMNS if not answer_column}
    return _Columns(
        identifier, answer, types.get(answer, frozenset({str, int})), frozenset(others - {identifier, answer})
    )


def _named(records: Records, fields: Sequence[str], known: Sequence[str], what: str, option: str) -> str:
    found = [name for name in known if name in fields]
    if len(found) == 1:
        return found[0]
    if found:
        several = " and ".join(map(repr, found))
        raise InputError(f"{records.place(0)}: both {several} may hold {what}; say which with {option}")
    listed = ", ".join(map(repr, fields[:20])) or "none"
    swapped = f"; {SWAPPED}" if PUBLISHED & set(fields) else ""
    raise InputError(
        f"{records.place(0)}: no column of {what}: expected {', '.join(known)}, found {listed}; name it with "
        f"{option}{swapped}"
    )


def _answers(records: Records, columns: _Columns, from_csv: bool) -> list[Answer]:
    values = records.column(columns.answer)
    if from_csv:
        return _cells(records, columns, values)
    types = set(map(type, values))
    if not types <= columns.types:
        position = next(at for at, value in enumerate(values) if type(value) not in columns.types)
        raise records.unexpected(position, columns.answer, _EXPECTED[columns.types], values[position])
    texts = [position for position, value in enumerate(values) if type(value) is str]
    Records([records.rows[at] for at in texts], lambda row: records.place(texts[row])).texts(
        columns.answer
    )  # Unicode?
    return list(values)


def _cells(records: Records, columns: _Columns, values: list[str]) -> list[Answer]:
    """Answers in csv, which knows only text: a place where the column is for places."""
    for position, value in enumerate(values):
        if not value:
            expected = "an answer (csv cannot tell none from empty text; json can)"
            raise records.unexpected(position, columns.answer, expected, value)
        if columns.types == {int} and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise records.unexpected(position, columns.answer, _EXPECTED[columns.types], value)
    return [int(value) for value in values] if columns.types == {int} else list(values)
