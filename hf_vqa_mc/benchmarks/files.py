"""Files and data frames as tables that can be written back unchanged."""

import json
import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from hf_vqa_mc.benchmarks.cells import as_text, is_text
from hf_vqa_mc.benchmarks.names import named
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.io.parquet import check_parquet

if TYPE_CHECKING:
    import pandas as pd

PACKINGS = (".gz", ".xz")
JSON_TEXT = {b"hf_vqa_mc": b"json"}
"""Metadata of a text column with JSON values of different types."""

_UNTYPED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
"""Exceptions of pyarrow for values of different types."""
_SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test", "testing")
_SPLIT = re.compile(r"\w*(train|val|dev|test)\w*", re.ASCII)
_BLOCK = 1 << 26  # bytes of CSV per block, into which each row must fit
_LARGEST_BLOCK = (1 << 31) - 1
_Column = tuple[pa.Array, dict[bytes, bytes] | None]
"""A column and its metadata."""


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
        values = as_text(table[column]) if is_text(table.schema.field(column).type) else pa.array([], pa.string())
        names = values.unique().to_pylist()
        if names and all(name and _SPLIT.fullmatch(name.lower()) for name in names):
            tables = {name: table.filter(pc.equal(values, name)) for name in names} if names[1:] else {}
            return tables or {names[0]: table}, {name: f"{location}, {name}" if tables else location for name in names}
    return {default: table}, {default: location}


def read_file(path: Path) -> pa.Table:
    """Read a file as a table; CSV columns are text.

    Raises:
        InputError: it cannot be read.
    """
    form = file_form(path)
    if form is None:
        raise InputError(f"{path}: unknown kind of file; expected {EXPECTED}")
    try:
        table = READERS[form](path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        raise InputError(f"{path}: cannot be read as {form} ({reason(error)})") from error
    except UnicodeError as error:
        raise InputError(f"{path}: expected UTF-8 text ({error}); save the file as UTF-8") from error
    except OSError as error:  # also of damaged pages
        remedy = "check its permissions" if error.errno else "it is damaged: download or write it again"
        raise InputError(f"{path}: cannot be read as {form} ({reason(error)}); {remedy}") from error
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} occurs {names.count(name)} times; expected unique names")
    return table


def reason(error: Exception) -> str:
    """An exception of pyarrow on one line."""
    return " ".join(str(error).split())[:300]


def json_content(path: Path) -> tuple[Any, str | None]:
    """The value of a JSON file, and the key of its records if it is an object.

    Raises:
        InputError: it holds no list of records.
    """
    try:
        content = _content(path)
        value = json.loads(content)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error}); save the file as UTF-8") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error}); if it has one value per line, name it .jsonl") from error
    lists = {None: value, **(value if isinstance(value, dict) else {})}
    keys = [
        key
        for key, inner in lists.items()
        if isinstance(inner, list) and (inner or key is None) and all(isinstance(one, dict) for one in inner)
    ]
    if len(keys) != 1:
        raise InputError(f"{path}: expected a list of records, or one under a key")
    return value, keys[0]


def _parquet(path: Path) -> pa.Table:
    packed = path.name.lower().endswith(PACKINGS)
    source = pa.py_buffer(_content(path)) if packed else path
    check_parquet(source, str(path), path.stat().st_size)
    return pq.read_table(pa.BufferReader(source) if packed else source, partitioning=None)


def _csv(path: Path) -> pa.Table:
    parse = pc_csv.ParseOptions(delimiter="\t" if file_form(path) == "tsv" else ",", newlines_in_values=True)
    content = _content(path)
    block = min(_BLOCK, len(content) + 1)
    with pa.BufferOutputStream() as stream:  # a copy of Arrow's own: its threads may free it when Python has ended
        stream.write(content)
        owned = stream.getvalue()
    while True:
        options = {"read_options": pc_csv.ReadOptions(block_size=block), "parse_options": parse}
        try:
            with pc_csv.open_csv(pa.BufferReader(owned), **options) as header:
                types = dict.fromkeys(header.schema.names, pa.string())
            as_text = pc_csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[])
            return pc_csv.read_csv(pa.BufferReader(owned), **options, convert_options=as_text)
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            _check_utf8(content, path)
            if "straddling" not in str(error) or block >= min(len(content), _LARGEST_BLOCK):
                raise
            block = min(_LARGEST_BLOCK, len(content) + 1)


def _check_utf8(content: bytes, path: Path) -> None:
    """Raise InputError unless the content is UTF-8; names the first invalid line."""
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line, byte = content.count(b"\n", 0, error.start) + 1, content[error.start]
        raise InputError(
            f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8"
        ) from error


def _json_lines(path: Path) -> pa.Table:
    records, numbers = [], array("q")
    for number, record in json_lines(path):
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: expected a record ({{...}}), found a {type(record).__name__}")
        records.append(record)
        numbers.append(number)
    return _table_of(path, records, lambda row: f"line {numbers[row]}")


def _json(path: Path) -> pa.Table:
    value, key = json_content(path)
    records = value if key is None else value[key]
    return _table_of(path, records, "record {}".format)


READERS = {"parquet": _parquet, "jsonl": _json_lines, "json": _json, "csv": _csv, "tsv": _csv}
"""By file type."""
EXPECTED = (
    f"a file (.{', .'.join(READERS)}; plain, {' or '.join(PACKINGS)}), a folder that load_dataset reads, "
    "or a dataset on the Hub"
)


def _table_of(path: Path, records: Sequence[dict[str, Any]], location: Callable[[int], str]) -> pa.Table:
    """Records as a table; columns of mixed types become JSON text. ``location`` gives a record's, for messages."""
    names = dict.fromkeys(name for record in records for name in record)
    return _table({name: _column([record.get(name) for record in records], name) for name in names})


def frame_table(frame: "pd.DataFrame") -> pa.Table:
    """A data frame as a table; PIL images become bytes, mixed values JSON text."""
    columns: dict[str, _Column] = {}
    for position, name in enumerate(map(str, frame.columns)):
        if name in columns:
            raise InputError(f"the data frame: the column {name!r} occurs more than once; expected unique names")
        values = frame.iloc[:, position]
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
    try:
        column = pa.array(values)
        if _lossless(column, values):
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
