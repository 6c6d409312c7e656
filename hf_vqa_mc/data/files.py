"""Files and data frames as tables that can be written back unchanged."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from hf_vqa_mc.data.cells import JSON_TEXT, MOST_NAMES, as_text, is_text
from hf_vqa_mc.data.names import CHOICES, QUESTION, named
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.packed import check_unpacked, unpacked
from hf_vqa_mc.io.xlsx import read_xlsx

if TYPE_CHECKING:
    import pandas as pd

PACKINGS = (".gz", ".xz")

_UNTYPED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
"""Exceptions of pyarrow for values of different types."""
_SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test", "testing")
_SPLIT = re.compile(r"\w*(train|val|dev|test)\w*", re.ASCII)
_LARGEST_BLOCK = (1 << 31) - 1  # bytes of CSV per block, into which each row must fit
_Column = tuple[pa.Array, dict[bytes, bytes] | None]  # a column and its metadata


def file_form(path: Path) -> str | None:
    """The key of READERS for a file name; None if there is none.

    >>> file_form(Path("MMBench.TSV.gz")), file_form(Path("photo.png"))
    ('tsv', None)
    """
    name = path.name.lower()
    for packing in PACKINGS:
        name = name.removesuffix(packing)
    form = name.rpartition(".")[2]
    return {"jsonlines": "jsonl", "ndjson": "jsonl", "pq": "parquet"}.get(form, form if form in READERS else None)


def split_of(name: str) -> str:
    """The split named in a file name, else test.

    >>> split_of("aokvqa_v1p0_val.json"), split_of("MMBench_DEV_EN.tsv"), split_of("rows.csv")
    ('val', 'dev', 'test')
    """
    found = {word for word in re.split(r"[-_.]", name.lower()) if word in _SPLITS}
    return found.pop() if len(found) == 1 else "test"


def splits_of(table: pa.Table, location: str, default: str) -> tuple[dict[str, pa.Table], dict[str, str]]:
    """Tables and locations by split: by a column ``split`` with names such as val; else one split, the default."""
    for column in named(table.column_names, ("split",)):
        values = table[column]
        values = pc.utf8_lower(as_text(values)) if is_text(values.type) else pa.nulls(0)
        names = [name for name in values.unique().to_pylist() if name]
        if names and all(map(_SPLIT.fullmatch, names)):
            empty = pc.index(pc.equal(pc.fill_null(values, ""), ""), True).as_py()
            if empty >= 0:
                raise InputError(f"{location}, row {empty + 1}: {column} is empty; fill it, or remove the column")
            tables = {name: table.filter(pc.equal(values, name)) for name in names} if names[1:] else {}
            return tables or {names[0]: table}, {name: f"{location}, {name}" if tables else location for name in names}
    return {default: table}, {default: location}


def read_file(path: Path) -> pa.Table:
    """Read a file as a table; CSV columns are text."""
    form = file_form(path)
    if form is None:
        remedy = "unpack it; " if path.suffix.lower() in (".zip", ".tar", ".tgz", ".bz2", ".7z") else ""
        raise InputError(f"{path}: unknown kind of file; {remedy}expected {EXPECTED}")
    try:
        table = READERS[form](path)
        table.validate(full=True)  # also that texts are UTF-8
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        raise InputError(f"{path}: cannot be read as {form} ({reason(error)})") from error
    except UnicodeDecodeError as error:
        line, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
        raise InputError(
            f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8"
        ) from error
    except UnicodeError as error:  # half a character, which JSON may escape
        raise InputError(f"{path}: expected UTF-8 text ({error}); save the file as UTF-8") from error
    except OSError as error:  # also of damaged pages
        remedy = "check its permissions" if error.errno else "it is damaged: download or write it again"
        remedy = "give an existing file" if isinstance(error, FileNotFoundError) else remedy
        raise InputError(f"{path}: cannot be read as {form} ({reason(error)}); {remedy}") from error
    for name, times in Counter(table.column_names).items():
        if times > 1:
            raise InputError(
                f"{path}: the column {name!r} occurs {times} times; expected unique names in the first line: if that "
                "is a row, add a header such as question,A,B,C,D,answer"
            )
    return table


def reason(error: Exception) -> str:
    """An exception of pyarrow on one line."""
    return " ".join(str(error).split())[:300]


Records = list[dict[str, Any]]


def lines_text(records: Records) -> str:
    """A JSON record per line."""
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records)


def json_file(path: Path) -> tuple[Records, Callable[[Records], str]]:
    """The records of a JSON file, also with one per line, and a writer like it."""
    content = _content(path)
    try:
        found = _records_in(json.loads(content))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error}); save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        if "Extra data" in str(error):
            return _line_records(path), lines_text
        raise InputError(f"{path}: not JSON ({error})") from error
    if found is None:
        raise InputError(
            f"{path}: expected a list of records, one under a key, an object with a record under each id, or one "
            "record, also per line; save each of several lists, such as one per split, as a file of its own"
        )
    records, value_of = found
    return records, lambda new: json.dumps(value_of(new), ensure_ascii=False) + "\n"


def _records_in(value: Any) -> tuple[Records, Callable[[Records], object]] | None:  # noqa: ANN401  any JSON
    """The records of a list (also under a key), of id -> record, or one alone, and the value for new ones."""
    if isinstance(value, list) and {*map(type, value)} <= {dict}:
        return value, lambda new: new
    inner: dict[str, Any] = value if isinstance(value, dict) else {}
    lists = [key for key, one in inner.items() if isinstance(one, list) and {*map(type, one)} == {dict}]
    lists = [key for key in lists if any(named(one, QUESTION) for one in inner[key])] or lists
    rows_of = {tuple(one) if isinstance(one, dict) else () for one in inner.values()}  # of pandas: objects by row
    if len(rows_of) == 1 and named(inner, QUESTION) and any(rows_of) and all(map(str.isdigit, max(rows_of))):
        rows = [{name: one[key] for name, one in inner.items()} for key in max(rows_of)]
        return rows, lambda new: {name: {str(at): one[name] for at, one in enumerate(new)} for name in inner}
    if {*map(type, inner.values())} == {dict}:
        name = "record_id" if any("id" in one for one in inner.values()) else "id"
        return [{name: key, **one} for key, one in inner.items()], lambda new: {one.pop(name): one for one in new}
    turns = [key for key in lists if {"from", "role"} & inner[key][0].keys()]
    texts = [name for name in named(inner, QUESTION) if isinstance(inner[name], str)]
    within = [name for name, one in inner.items() if isinstance(one, dict) and named(one, QUESTION)]
    if (turns or texts or within) and {*lists} <= {*turns, *named(lists, CHOICES)}:
        return [inner], itemgetter(0)
    return (inner[lists[0]], lambda new: {**inner, lists[0]: new}) if len(lists) == 1 else None


def _parquet(path: Path) -> pa.Table:
    packed = path.name.lower().endswith(PACKINGS)
    return pq.read_table(pa.BufferReader(_content(path)) if packed else path, partitioning=None)


def _csv(path: Path) -> pa.Table:
    content = _content(path)
    content.decode()  # raises UnicodeDecodeError
    with pa.BufferOutputStream() as stream:  # a copy of Arrow's own: its threads may free it when Python has ended
        stream.write(content)
        owned = stream.getvalue()
    comma = delimiter(path)
    options = {
        "read_options": pc_csv.ReadOptions(block_size=min(_LARGEST_BLOCK, len(content) + 1)),
        "parse_options": pc_csv.ParseOptions(delimiter=comma, newlines_in_values=True),
    }
    if re.search(rb'(?:^|[\t\n,;|])"[^"\n]*(?:\n|$|"[^"\t\r\n,;|])', content):  # a quoted line break, or no quoting
        columns = {line.count(comma.encode()) for line in content.splitlines() if line.strip()}
        if len(columns) == 1 and columns != {0}:
            options["parse_options"] = pc_csv.ParseOptions(delimiter=comma, quote_char=False, newlines_in_values=False)
    with pc_csv.open_csv(pa.BufferReader(owned), **options) as header:
        types = dict.fromkeys(header.schema.names, pa.string())
    as_text = pc_csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[])
    return pc_csv.read_csv(pa.BufferReader(owned), **options, convert_options=as_text)


def delimiter(path: Path) -> str:
    """The delimiter of a csv or tsv file, existing or new: that of most columns in the header."""
    is_tsv = file_form(path) == "tsv"
    if not path.exists():
        return "\t" if is_tsv else ","
    with unpacked(path) as stream:
        header = re.sub(rb'"[^"]*"', b"", stream.readline())
    if is_tsv and b"\t" in header:
        return "\t"
    return max((",", ";", "\t", "|"), key=lambda one: header.count(one.encode()))


def _line_records(path: Path) -> Records:
    if path.name.lower().endswith(PACKINGS):
        check_unpacked(path)  # before records take the memory
    records = []
    for number, record in json_lines(path):
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: expected a record ({{...}}), found a {type(record).__name__}; "
                             "the name of a file with one list of records ends with .json")  # fmt: skip
        records.append(record)
    return records


READERS: dict[str, Callable[[Path], pa.Table]] = {
    "parquet": _parquet, "jsonl": lambda path: _table_of(_line_records(path)),
    "json": lambda path: _table_of(json_file(path)[0]), "csv": _csv, "tsv": _csv,
    "xlsx": lambda path: pa.table(read_xlsx(path).rename(columns=str)).replace_schema_metadata(None),
}  # fmt: skip
"""By file type."""
EXPECTED = (
    f"a file (.{', .'.join(READERS)}; plain, {' or '.join(PACKINGS)}), a folder that load_dataset reads, "
    "or a dataset on the Hub"
)


def _table_of(records: Sequence[dict[str, Any]]) -> pa.Table:
    """Records as a table; columns of mixed types become JSON text."""
    names = dict.fromkeys(name for record in records for name in record)
    return _table({name: _column([record.get(name) for record in records], name) for name in names})


def frame_table(frame: "pd.DataFrame") -> pa.Table:
    """A data frame as a table; PIL images become bytes, mixed values JSON text."""
    columns: dict[str, _Column] = {}
    for position, name in enumerate(map(str, frame.columns)):
        if name in columns:
            raise InputError(f"the data frame: the column {name!r} occurs more than once; expected unique names")
        values = frame.iloc[:, position]
        if any(isinstance(value, set | frozenset) for value in (values if values.dtype == object else ())):
            raise InputError(f"the data frame: the column {name!r} has sets, which have no order; give lists")
        try:
            columns[name] = pa.array(values, from_pandas=True), None
        except _UNTYPED:
            columns[name] = _column([_plain_cell(value) for value in values], name)
    return _table(columns)


def _plain_cell(value: object) -> object:
    """A cell of a data frame for Arrow or JSON: a PIL image as in ``datasets``, NaN as None."""
    from datasets import Image
    from PIL.Image import Image as Picture

    if isinstance(value, Picture):
        return Image().encode_example(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def _table(columns: Mapping[str, _Column]) -> pa.Table:
    fields = [pa.field(name, column.type, metadata=metadata) for name, (column, metadata) in columns.items()]
    return pa.Table.from_arrays([column for column, _ in columns.values()], schema=pa.schema(fields))


def _column(values: list[Any], name: str) -> _Column:
    """Values as a column; mixed types become JSON text, marked with JSON_TEXT."""
    names = {name for value in values if isinstance(value, dict) for name in value}
    try:
        column = pa.array(values if len(names) <= MOST_NAMES else [])
        if len(column) == len(values) and _lossless(column, values):
            return column, None
    except _UNTYPED:
        pass
    try:
        return pa.array([json.dumps(value, ensure_ascii=False) for value in values]), JSON_TEXT
    except TypeError as error:
        raise InputError(f"column {name!r}: {error}; expected text, numbers, lists, records or images") from error


def _lossless(column: pa.Array, values: list[Any]) -> bool:
    """Whether the values are unchanged: no key added to a record, no integer turned into 1.0."""
    if pa.types.is_floating(column.type):
        return not any(type(value) is int for value in values)
    if pa.types.is_nested(column.type) and not is_text(getattr(column.type, "value_type", column.type)):
        return repr(column.to_pylist()) == repr(values)
    return True


def _content(path: Path) -> bytes:
    with unpacked(path) as stream:
        return stream.read().removeprefix(b"\xef\xbb\xbf")
