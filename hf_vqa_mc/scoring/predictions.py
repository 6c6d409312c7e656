"""A model's predictions, one per question: json, json lines, csv, tsv, parquet or xlsx, or Python objects.

Files of evaluation harnesses are read, too. Samples of lm-eval (``--log_samples``): ``doc``, and in ``filtered_resps``
a log-likelihood per choice, or a text. Samples of lmms-eval: the same without ``doc``, so that only tasks of ``vqa-mc
export``, whose figures hold it, have the question's id; others have the number of the row, ``doc_id``. Tables of
VLMEvalKit: the dataset's columns (index, question, A, B, ..., answer) and ``prediction``.
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from string import ascii_uppercase as LETTERS
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import json_lines, list_items, object_items
from hf_vqa_mc.io.packed import opened, text_lines, unpacked
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.io.xlsx import read_xlsx
from hf_vqa_mc.scoring.official import FORMATS, PACKED
from hf_vqa_mc.scoring.questions import EXACT
from hf_vqa_mc.scoring.scheme import Answer
from hf_vqa_mc.scoring.written_answers import written_choice

ID_COLUMNS = ("question_id", "questionId", "qa_id")
OTHER_ID_COLUMNS = ("index", "custom_id", "id")  # read where there is none of `ID_COLUMNS`
ANSWER_COLUMNS = ("answer", "prediction", "label")
_WRITTEN = "pred(icted|iction)?|response|output|reply|completion|generat(ed|ion)|guess|chosen|selected|picked"
OTHER_ANSWERS = re.compile(
    rf"text|(\w+_)?({_WRITTEN})s?|"
    rf"(\w+_)?({_WRITTEN}|model|llm|parsed|extracted)_?(answer|text|label|index|idx|letter|choice|option|raw|{_WRITTEN})s?",
    re.IGNORECASE,
)
"""Names of columns that hold what a model wrote; "answer" and "label" next to one may be the correct answers."""
NESTED_ANSWERS = ("response.body.choices.0.message.content", "output.completion")  # OpenAI's batches, Inspect
SCORES_COLUMN = "scores"  # optional column: the model's score of each choice, in their order
PUBLISHED = frozenset({"answers", "isBalanced", "question"})
"""Fields of published annotations and questions files, which predictions files lack."""
HEADER_FIELDS = frozenset({"info", "license", "data_type", "data_subtype", "task_type", "annotations", "questions"})
"""Header fields of VQA's and TDIUC's annotation and questions files."""
FIRST_FIELD = re.compile(r'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:\s*(.)', re.DOTALL)
"""The name of the first field of a JSON object, and the first character of its value."""
GUARD = "\N{NO-BREAK SPACE}"
"""End of cells in files of ``vqa-mc export vlmevalkit`` that pandas would change otherwise."""
LONGEST_CELL = 1 << 26  # characters; files of VLMEvalKit hold images in cells

_SWAPPED = "is this an annotation or questions file? PREDICTIONS comes first, then DATASET"
_KEY = "key of the object"  # column of the ids of an object id -> record
_RESPONSES, _FILTER, _ROW_NUMBER = "filtered_resps", "filter", "doc_id"
_CSV_INDEX = re.compile(r"[0-9]{1,9}(\.0)?")  # also of a column that pandas took for floating-point numbers
_EXPORTED = {"question_id", "answer", "score", "image"}
"""Fields of figures of ``vqa-mc export lmms-eval``; the "answer" in those of other tasks is the correct one."""
_HEAD = 1 << 16  # bytes
_TEXT, _INDEX = frozenset({str}), frozenset({int})
_EXPECTED = {
    _TEXT: "text (an index of the choices goes under 'label' or 'prediction')",
    _INDEX: "the index of a choice, a whole number (text goes under 'answer' or 'prediction')",
    _TEXT | _INDEX: "text, or the index of a choice as a whole number",
}

_Rows = Iterable[tuple[int | str, Any]]  # rows with their numbers or names


@dataclass(frozen=True)
class Predictions:
    """Answers by question id."""

    location: str  # the file, for messages
    answers: dict[str, Answer]  # question id as text to answer; the last one if there are several
    repeated: tuple[str, ...]  # ids that occurred more than once
    scores: dict[str, Any] = field(default_factory=dict)
    """question id to the content of `SCORES_COLUMN`, unchecked; empty if there is no such column"""
    in_order: bool = False  # whether the ids are numbers of rows, as there are answers only


def read_predictions(source: Any, id_column: str | None = None, answer_column: str | None = None) -> Predictions:  # noqa: ANN401  a path, rows, a table or a mapping
    """Read a model's answers.

    The source is the path of a json (a list of records, or an object id -> answer), jsonl, csv, tsv, parquet or xlsx
    file, plain, .gz, .xz or .zip, also as harnesses write them; or a mapping id -> answer, a list of records, a data
    frame, a ``Dataset``, or a list, array or Series of answers in the order of the rows. Columns are by default one of
    `ID_COLUMNS` and one of `ANSWER_COLUMNS`; ``a.0.b`` is a field in the first entry of the list in column a.
    """
    if isinstance(source, str | Path):
        location = str(Path(source).expanduser())
        form, records = _of_file(Path(location))
    else:
        location, (form, records) = "predictions", _of_objects(source)
    if not len(records):
        raise InputError(f"{location}: found no predictions")
    if form == "mapping":
        records, id_column = _of_mapping(records, id_column, answer_column)
    record = records.rows[0]
    if not isinstance(record, dict):
        raise InputError(f"{records.location(0)}: expected a record such as a JSON object, found {shown(record)}")
    harness = next((read for fields, read in _HARNESSES if not answer_column and record.keys() >= fields), None)
    if harness is not None:
        records, id_column, answer_column = harness(records, id_column), "question_id", "prediction"
    else:
        records = _with_nested(records, id_column, answer_column)
        id_column = _column(records, id_column, ID_COLUMNS, "question ids", "--id-column")
        given, answer_column = (
            answer_column,
            _column(records, answer_column, ANSWER_COLUMNS, "answers", "--answer-column"),
        )
        has_choices = {"choices", "options"} & record.keys() or {"A", "B"} <= record.keys()
        if has_choices and not given and answer_column in ("answer", "label"):
            remedy = f"if they are predictions, add --answer-column {answer_column}; {_SWAPPED.partition('? ')[2]}"
            found = f"next to choices, {answer_column!r} may hold the correct answers"
            raise InputError(f"{records.location(0)}: {found}; {remedy}")
    ids = Records([{id_column: _whole(one)} for one in records.column(id_column)], records.location).ids(id_column)
    found_answers = _answers(records, answer_column, form in ("csv", "tsv", "xlsx") and harness is None)
    answers = dict(zip(ids, found_answers, strict=True))
    repeated = tuple(name for name, count in Counter(ids).items() if count > 1) if len(answers) < len(ids) else ()
    rows = zip(ids, records.rows, strict=True)
    scores = {name: record[SCORES_COLUMN] for name, record in rows if SCORES_COLUMN in record}
    return Predictions(location, answers, repeated, scores, form == "answers")


def _of_mapping(records: Records, id_column: str | None, answer_column: str | None) -> tuple[Records, str | None]:
    """The records of an object id -> record, or of id -> answer as they are, and the column of ids."""
    value = records.rows[0]["prediction"]
    fields = set(value) if isinstance(value, dict) else set()
    written = answer_column or "prediction" in fields or any(map(OTHER_ANSWERS.fullmatch, map(str, fields)))
    if fields and (written or (fields & {*ANSWER_COLUMNS} and not PUBLISHED & fields)):
        pairs = zip(records.inner("prediction").rows, records.rows, strict=True)
        rows = [{**answer, _KEY: pair["question_id"]} for answer, pair in pairs]
        return Records(rows, records.location), id_column or _KEY
    for row in (row for row, pair in enumerate(records.rows) if isinstance(pair["prediction"], dict | list)):
        expected = f"expected an object question id -> answer, found {shown(records.rows[row]['prediction'])}"
        remedy = 'give a list of records (pandas: orient="records") or only the answers'
        raise InputError(f"{records.location(row)}: {expected}; {remedy}; {_SWAPPED}")
    return records, id_column


def _with_nested(records: Records, *columns: str | None) -> Records:
    """The records with columns such as ``a.0.b``, for a field within another one."""
    record = records.rows[0]
    nested = [name for name in columns if name and "." in name and name not in record]
    nested += [name for name in NESTED_ANSWERS if not columns[-1] and isinstance(_inner(record, name), str)]
    if not nested:
        return records
    rows = [
        row | {name: _inner(row, name) for name in nested} if isinstance(row, dict) else row for row in records.rows
    ]
    return Records(rows, records.location)


def _inner(value: Any, name: str) -> Any:  # noqa: ANN401  any JSON value
    for part in name.split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _column(records: Records, given: str | None, known: Sequence[str], what: str, option: str) -> str:
    """The column of ids or answers; raises InputError if there is none, or several."""
    fields, location = list(records.rows[0]), records.location(0)
    found = [name for name in ((given,) if given else known) if name in fields]
    if known is ID_COLUMNS and not given:
        found = found or [name for name in OTHER_ID_COLUMNS if name in fields][:1]
    elif not given and found != ["prediction"]:
        others = [name for name in fields if name not in found and OTHER_ANSWERS.fullmatch(str(name))]
        found += [name for name in others if not isinstance(records.rows[0][name], dict | list)]
        found += [name for name in NESTED_ANSWERS if name in fields]
    if len(found) == 1:
        return found[0]
    if found:
        several = " and ".join(map(repr, found))
        raise InputError(f"{location}: both {several} may hold {what}; choose one with {option}")
    remedy = f"give it with {option}, such as {option} a.0.b for a field within another one"
    remedy += f"; {_SWAPPED}" if PUBLISHED & set(fields) else ""
    if known is ID_COLUMNS and location.startswith("predictions,"):
        remedy += ", or give the answers alone, in the order of the rows, as a list"
    expected = repr(given) if given else ", ".join(known)
    found_fields = ", ".join(map(repr, fields[:20])) or "none"
    raise InputError(f"{location}: no column of {what}: expected {expected}, found {found_fields}; {remedy}")


def _answers(records: Records, column: str, from_csv: bool) -> list[Answer]:
    """The answers; in CSV, which has only text, those of a column of indices are converted to integers."""
    values, types = records.column(column), {"answer": _TEXT, "label": _INDEX}.get(column, _TEXT | _INDEX)
    if from_csv and "" in values:
        expected = "an answer (CSV cannot distinguish a missing answer from empty text; JSON can)"
        raise records.unexpected(values.index(""), column, expected, "")
    if from_csv and "nan" in values and all(one == "nan" or _CSV_INDEX.fullmatch(one) for one in values):
        raise records.unexpected(values.index("nan"), column, "an index (pandas writes nan for a missing one)", "nan")
    if from_csv and types == _INDEX:
        values = [int(one.removesuffix(".0")) if _CSV_INDEX.fullmatch(one) else one for one in values]
    if int in types and float in map(type, values):
        values = [_whole(one) for one in values]
        records = Records([{column: one} for one in values], records.location)
    if not set(map(type, values)) <= types:
        records.checked(column, lambda value: type(value) in types, _EXPECTED[types])
    return values


def _whole(value: Any) -> Any:  # noqa: ANN401  any value
    """A floating-point number as a whole one if it is exactly that."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) <= EXACT else value


def _samples(records: Records, id_column: str | None) -> Records:
    """The predictions in samples of lm-eval and lmms-eval; raises InputError if they have several filters."""
    records.column(_RESPONSES)
    names, rows = {str(record.get(_FILTER)) for record in records.rows}, []
    if len(names) > 1:
        filters = ", ".join(sorted(names))
        raise InputError(f"{records.location(0)}: the samples have the filters {filters}; keep the lines of one")
    for row, record in enumerate(records.rows):
        doc = record["doc"] if isinstance(record.get("doc"), dict) else {}
        figures = (value for name, value in record.items() if name != "doc" and isinstance(value, dict))
        ours: Mapping[str, Any] = next((one for one in figures if "question_id" in one), {})
        names_of_id = (id_column,) if id_column else (*ID_COLUMNS, _ROW_NUMBER)
        found = [of[name] for name in names_of_id for of in (doc, ours, record) if name in of]
        if not found:
            raise InputError(f"{records.location(row)}: no field {id_column!r} (--id-column) in the sample or its doc")
        is_export = ours in (record.get("accuracy"), record.get("submission")) and ours.keys() <= _EXPORTED
        answer = ours["answer"] if is_export and "answer" in ours else _response(record[_RESPONSES], doc)
        if answer is None:
            expected = "one text, or the log-likelihood of each choice"
            raise records.unexpected(row, _RESPONSES, expected, record[_RESPONSES])
        rows.append({"question_id": found[0], "prediction": answer})
    return Records(rows, records.location)


def _response(responses: Any, doc: Mapping[str, Any]) -> Answer | None:  # noqa: ANN401  any JSON value
    """The text, or the choice of the largest log-likelihood, each paired with whether it is the greedy answer."""
    texts = responses if isinstance(responses, list) else [responses]
    if len(texts) == 1 and isinstance(texts[0], str):
        return texts[0]
    try:
        likelihoods = [float(pair[0]) if isinstance(pair, list) and len(pair) == 2 else math.nan for pair in texts]
    except (TypeError, ValueError):
        return None
    if len(likelihoods) < 2 or any(map(math.isnan, likelihoods)):
        return None
    likeliest, choices = likelihoods.index(max(likelihoods)), doc.get("choices")
    choices = choices.get("text") if isinstance(choices, dict) else choices
    if isinstance(choices, list) and [type(one) for one in choices] == [str] * len(likelihoods):
        return choices[likeliest]  # type: ignore[no-any-return]
    return likeliest


def _vlmevalkit(records: Records, id_column: str | None) -> Records:
    """The choices named in a table of VLMEvalKit, "" for none; the texts if it has no columns of choices."""
    name = id_column or next((one for one in ID_COLUMNS if one in records.rows[0]), "index")
    rows = []
    for one, given, record in zip(records.column(name), records.column("prediction"), records.rows, strict=True):
        value = _whole(given)
        text: Answer = value if type(value) is int else _text(value)
        if {"A", "B"} <= record.keys():
            cells = [_text(record.get(letter)) for letter in LETTERS]
            choices = cells[: max((at + 1 for at, cell in enumerate(cells) if cell), default=0)]
            index = written_choice(str(text), choices)
            text = "" if index is None else choices[index]
        rows.append({"question_id": one, "prediction": text})
    return Records(rows, records.location)


def _text(cell: Any) -> str:  # noqa: ANN401  a cell of a table
    """A cell as text, "" where it is empty."""
    return "" if cell is None or (isinstance(cell, float) and math.isnan(cell)) else str(cell).removesuffix(GUARD)


_HARNESSES = (({_ROW_NUMBER, _RESPONSES}, _samples), ({"index", "prediction"}, _vlmevalkit))
"""Fields by which the files of harnesses are recognised, and their readers."""


def _of_objects(source: Any) -> tuple[str, Records]:  # noqa: ANN401  rows, a table, a mapping or answers
    """The form, a key of `_READERS`, "answers" or "records", and the rows."""
    is_frame = hasattr(source, "index") and hasattr(source, "to_dict")  # of pandas, or a Series
    is_series = is_frame and not hasattr(source, "columns")
    if isinstance(source, Mapping) or (is_series and source.index.tolist() != [*range(len(source))]):
        pairs = ((str(_whole(_plain(name))), _plain(value)) for name, value in source.items())
        return "mapping", _records(_mapped(pairs), "predictions,")
    if is_frame and not is_series:
        named = source.index.name in (*ID_COLUMNS, *OTHER_ID_COLUMNS)
        source = (source.reset_index() if named else source).to_dict("records")
    for method in ("to_dicts", "to_list", "to_pylist", "tolist"):  # polars, datasets, pyarrow, numpy and torch
        source = getattr(source, method)() if hasattr(source, method) else source
    if not isinstance(source, Sequence) or isinstance(source, bytes):
        expected = "a path, a mapping id -> answer, rows with columns such as question_id and answer, or a list"
        raise InputError(f"predictions is {type(source).__name__}; expected {expected}")
    if source and (isinstance(source[0], str) or not isinstance(source[0], Mapping | Sequence)):
        return "answers", _records(_mapped((str(at), _plain(one)) for at, one in enumerate(source)), "predictions,")
    rows = ({name: _plain(one) for name, one in row.items()} if isinstance(row, Mapping) else row for row in source)
    return "records", _records(enumerate(rows, 1), "predictions, record")


def _plain(value: Any) -> Any:  # noqa: ANN401  any value
    return value.tolist() if hasattr(value, "tolist") else value


def _of_file(path: Path) -> tuple[str, Records]:
    if not path.is_file():
        found = "is a folder (PREDICTIONS comes before DATASET)" if path.is_dir() else "does not exist"
        raise InputError(f"predictions {path} {found}; expected a json, jsonl, csv, tsv, parquet or xlsx file")
    form = _format(path)
    what, read = _READERS[form]
    return form, _records(read(path), f"{path},{what}")


def _mapped(pairs: Iterable[tuple[str, Any]]) -> _Rows:
    """The pairs of an object id -> answer as rows."""
    return ((repr(name), {"question_id": name, "prediction": value}) for name, value in pairs)


def _records(rows: _Rows, location: str) -> Records:
    read = list(rows)
    return Records([row for _, row in read], lambda row: f"{location} {read[row][0]}")


def _format(path: Path) -> str:
    """The format by the file extension; if that is unknown, Parquet and JSON are recognised by their first bytes."""
    if path.suffix.lower() == ".xlsx":  # itself a zip
        return "xlsx"
    with unpacked(path) as stream:
        name, head = stream.name, stream.read(_HEAD)
    text = head.decode("utf-8-sig", errors="replace").lstrip()
    suffixes = [suffix for suffix in (found.lower() for found in Path(name).suffixes) if suffix not in PACKED]
    by_content = "parquet" if head.startswith(b"PAR1") else "json" if text.startswith(("[", "{")) else None
    found = FORMATS.get(suffixes[-1] if suffixes else "", by_content)
    if found is None:
        expected = f"a name ending in {', '.join(FORMATS)} (packed: .gz)"
        raise InputError(f"predictions {path}: unknown format; expected {expected}")
    if found != "json":
        return found
    if not text:
        raise InputError(f"{path}: the file is empty; expected predictions")
    is_lines = text.partition("\n")[2].lstrip()[:1] == "{"
    return "json" if text[0] != "{" else "jsonl" if is_lines else "mapping"


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a csv or tsv file with their line numbers; the delimiter is that of most columns in the header."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    with opened(path) as stream:
        lines = text_lines(stream, str(path))
        first = next(lines, "")
        delimiter = max(",;\t|", key=first.count)
        reader = csv.DictReader(chain([first], lines), strict=True, delimiter=delimiter)
        try:
            header = list(reader.fieldnames or ())
            if not header or len(set(header)) < len(header):
                found = f"duplicate column names in {shown(header)}" if header else "the file is empty"
                raise InputError(f"{path}, line 1: {found}; expected a header and predictions")
            for row in reader:
                if None in row or None in row.values():
                    expected = f"{len(header)} cells, as in the header; put text with {delimiter!r} in double quotes"
                    raise InputError(f"{path}, line {reader.reader.line_num}: expected {expected}")
                yield reader.reader.line_num, row
        except csv.Error as error:
            raise InputError(f"{path}, line {reader.reader.line_num}: not CSV: {error}") from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with unpacked(path) as stream:
            table = parquet.read_table(pa.BufferReader(stream.read()))
        yield from enumerate((row for batch in table.to_batches() for row in batch.to_pylist()), 1)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = str(error).split("\n")[0]
        raise InputError(f"{path}: cannot be read as parquet ({reason}); write it again") from error


_READERS: dict[str, tuple[str, Callable[[Path], _Rows]]] = {
    "csv": (" line", _csv_rows),
    "tsv": (" line", _csv_rows),
    "xlsx": (" row", lambda path: enumerate(read_xlsx(path).to_dict("records"), 2)),
    "parquet": (" row", _parquet_rows),
    "jsonl": (" line", json_lines),
    "json": (" record", lambda path: enumerate(chain.from_iterable(list_items(path)), 1)),
    "mapping": ("", lambda path: _mapped(chain.from_iterable(object_items(path)))),
}
"""By format: what the numbers of its rows count, and the reader."""
