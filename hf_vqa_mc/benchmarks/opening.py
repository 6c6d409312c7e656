"""A benchmark's splits as tables: from a file, a folder, the Hub or memory."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq

from hf_vqa_mc.benchmarks.cells import is_text
from hf_vqa_mc.dataset.loading import check_has_choices, load_splits
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.packed import unpacked

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset

FORMS = ("parquet", "jsonl", "json", "csv", "tsv")
PACKINGS = (".gz", ".xz")
UNTYPED = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError)
"""What pyarrow raises of values that have no one type."""
EXPECTED = f"a file (.{', .'.join(FORMS)}; plain or .gz), a folder that load_dataset reads, or a dataset on the Hub"
JSON_TEXT = {b"hf_vqa_mc": b"json"}
"""Metadata of a text column that holds json values which have no one type."""

_SPLITS = {"train": "train", "training": "train", "validation": "validation", "valid": "validation",
           "val": "validation", "dev": "validation", "test": "test", "testing": "test"}  # fmt: skip
_BLOCK = 1 << 26  # bytes of csv read at once; a row has to fit into one
_LARGEST_BLOCK = (1 << 31) - 1


@dataclass(frozen=True)
class Opened:
    """All splits, nothing interpreted."""

    name: str
    """the dataset as the user named it; of an object in memory its own name"""
    config: str | None
    tables: dict[str, pa.Table]
    """split name to all its columns"""
    places: dict[str, str]
    """split name to its location, for messages"""
    path: Path | None = None
    """the file or folder; None on the Hub or in memory"""
    rows: "Dataset | None" = None
    """the first split as ``datasets`` has it; None of a file or a data frame"""
    location: str | None = None
    """what ``load_dataset`` read; None in memory and of files"""

    @property
    def base(self) -> Path | None:
        """The folder that paths in the rows start from."""
        return self.path if self.path is None or self.path.is_dir() else self.path.parent


def file_form(path: Path) -> str | None:
    """Which of FORMS a file has by its name, None if none.

    >>> file_form(Path("MMBench.TSV.gz")), file_form(Path("photo.png"))
    ('tsv', None)
    """
    name = path.name.lower()
    for packing in PACKINGS:
        name = name.removesuffix(packing)
    form = name.rpartition(".")[2]
    return {"jsonlines": "jsonl", "ndjson": "jsonl", "pq": "parquet"}.get(form, form if form in FORMS else None)


def open_tables(dataset: object, config: str | None) -> Opened:
    """The splits of a benchmark.

    Args:
        dataset: a file, a folder, a dataset's name on the Hub, a `datasets.Dataset`, several by split, or a data
            frame.
        config: needed where there are several.

    Raises:
        InputError: there is none, it cannot be read, or it is an open-ended config of vqa-mc build.
        ConnectionError: it lies on the Hub, which cannot be reached.
    """
    if not isinstance(dataset, str | Path):
        return _in_memory(dataset, config)
    path, dataset = Path(dataset), str(dataset)
    if path.is_file():
        if config is not None:
            raise InputError(f"{dataset} is a file, which has no configs; leave out {config!r}")
        name = split_of(path)
        return Opened(dataset, None, {name: read_file(path)}, {name: dataset}, path.absolute())
    if not path.is_dir() and (path.is_absolute() or file_form(path) is not None or dataset.startswith(".")):
        raise InputError(f"there is no file or folder {dataset}; expected {EXPECTED}")
    config, splits = load_splits(dataset, config, EXPECTED)
    for rows in splits.values():
        check_has_choices(rows.column_names, dataset, config)
    tables = {str(name): _table(rows) for name, rows in splits.items()}
    places = {name: f"{dataset}, {config}, {name}" for name in tables}
    folder = path.absolute() if path.is_dir() else None
    return Opened(dataset, config, tables, places, folder, next(iter(splits.values())), dataset)


def _in_memory(dataset: object, config: str | None) -> Opened:
    """The splits of an object."""
    import pandas as pd
    from datasets import Dataset

    if config is not None:
        raise InputError(f"a dataset in memory has no configs; leave out {config!r}")
    if isinstance(dataset, pd.DataFrame):
        return Opened("dataset", None, {"test": _of_frame(dataset)}, {"test": "the data frame"})
    splits: Mapping[Any, Any] = dataset if isinstance(dataset, Mapping) else {_split_name(dataset): dataset}
    for rows in splits.values():
        if not isinstance(rows, Dataset):
            raise InputError(
                f"found a {type(rows).__name__}; expected a Dataset, a DatasetDict, a data frame, {EXPECTED}"
            )
    if not splits:
        raise InputError("the DatasetDict has no splits")
    first: Dataset = next(iter(splits.values()))
    name, config = first.info.dataset_name or "dataset", first.info.config_name
    for rows in splits.values():
        check_has_choices(rows.column_names, name, config)
    tables = {str(split): _table(rows) for split, rows in splits.items()}
    config = None if config == "default" else config
    return Opened(name, config, tables, {split: f"{name}, {split}" for split in tables}, rows=first)


def _split_name(rows: object) -> str:
    """``train`` for ``train[:100]``; test where the rows have no name."""
    return re.split(r"\W", str(getattr(rows, "split", None) or "test"))[0] or "test"


def _of_frame(frame: "pd.DataFrame") -> pa.Table:
    """A data frame as a table; pictures as PIL has them become bytes, mixed values json text.

    Raises:
        InputError: a column cannot be read.
    """
    columns: dict[str, tuple[pa.Array, dict[bytes, bytes] | None]] = {}
    for position, name in enumerate(map(str, frame.columns)):
        if name in columns:
            raise InputError(f"the data frame: the column {name!r} is there more than once; expected each once")
        values = frame.iloc[:, position]
        try:
            columns[name] = pa.array(values, from_pandas=True), None
        except UNTYPED:
            columns[name] = _column([_plain_cell(value) for value in values], name)
    return _table_from(columns)


def _plain_cell(value: object) -> object:
    """A cell of a data frame for Arrow or json: a PIL image as ``datasets`` stores it, NaN as None."""
    from datasets import Image
    from PIL.Image import Image as Picture

    if isinstance(value, Picture):
        return Image().encode_example(value)
    return None if isinstance(value, float) and math.isnan(value) else value


def split_of(path: Path) -> str:
    """The split that a file's name says it is: test where it says none.

    >>> split_of(Path("aokvqa_v1p0_val.json")), split_of(Path("MMBench_DEV_EN.tsv")), split_of(Path("rows.csv"))
    ('validation', 'validation', 'test')
    """
    words = path.name.lower().replace("-", "_").replace(".", "_").split("_")
    found = {_SPLITS[word] for word in words if word in _SPLITS}
    return found.pop() if len(found) == 1 else "test"


def read_file(path: Path) -> pa.Table:
    """A file's rows, in the types that it has: of csv all text.

    Raises:
        InputError: it cannot be read.
    """
    form = file_form(path)
    readers = {"parquet": _parquet, "jsonl": _json_lines, "json": _json, "csv": _csv, "tsv": _csv}
    if form is None:
        raise InputError(f"{path}: unknown kind of file; expected {EXPECTED}")
    try:
        table = readers[form](path)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, pa.ArrowTypeError) as error:
        raise InputError(f"{path}: cannot be read as {form} ({str(error).strip()[:300]})") from error
    except UnicodeError as error:
        raise InputError(f"{path}: expected UTF-8 text ({error}); save the file as UTF-8") from error
    except OSError as error:  # pyarrow's word for damaged pages too
        remedy = "see whether it may be read" if error.errno else "it is damaged: download or write it again"
        raise InputError(f"{path}: cannot be read as {form} ({str(error).strip()[:300]}); {remedy}") from error
    names = table.column_names
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the column {name!r} is there {names.count(name)} times; expected each once")
    return table


def json_content(path: Path) -> tuple[Any, str | None]:
    """The value of a json file, and the key that its records lie under where they are not the whole of it.

    Raises:
        InputError: it holds no list of records.
    """
    try:
        content = _content(path)
        value = json.loads(content.decode(json.detect_encoding(content)))
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: no UTF-8 text ({error}); save the file as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no json ({error}); of one value a line name the file .jsonl") from error
    if isinstance(value, dict):
        lists = [key for key, inner in value.items() if isinstance(inner, list) and inner and _records(inner)]
        if len(lists) == 1:
            return value, lists[0]
    if isinstance(value, list) and _records(value):
        return value, None
    raise InputError(f"{path}: expected a list of records, or one under a key")


def _records(values: list[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _parquet(path: Path) -> pa.Table:
    if path.name.lower().endswith(PACKINGS):
        with unpacked(path) as stream:
            return pq.read_table(pa.BufferReader(stream.read()))
    return pq.read_table(path, partitioning=None)


def _csv(path: Path) -> pa.Table:
    """All columns as text, so that they can be written as they were."""
    delimiter = "\t" if file_form(path) == "tsv" else ","
    content = _content(path)
    parse = pc_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    block = _BLOCK
    while True:
        try:
            read = pc_csv.ReadOptions(block_size=min(block, max(len(content), 1) + 1))
            with pc_csv.open_csv(pa.BufferReader(content), read_options=read, parse_options=parse) as header:
                names = header.schema.names
            convert = pc_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
            )
            return pc_csv.read_csv(
                pa.BufferReader(content), read_options=read, parse_options=parse, convert_options=convert
            )
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            _as_utf8(content, path)
            if "straddling" not in str(error) or block >= min(len(content), _LARGEST_BLOCK):
                raise
            block = _LARGEST_BLOCK


def _json_lines(path: Path) -> pa.Table:
    records, numbers = [], []
    for number, line in enumerate(_content(path).split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(_as_utf8(line, path, number))
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: no json ({error})") from error
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: expected a record ({{...}}), found a {type(record).__name__}")
        records.append(record)
        numbers.append(number)
    return _table_of(records, path, "line", numbers)


def _json(path: Path) -> pa.Table:
    value, key = json_content(path)
    records = value if key is None else value[key]
    return _table_of(records, path, "record", range(len(records)))


def _table_of(records: list[dict[str, Any]], path: Path, what: str, numbers: Sequence[int]) -> pa.Table:
    """Records as a table.

    Raises:
        InputError: a text in them is none, such as half a surrogate pair; names the first record.
    """
    try:
        return table_of(records)
    except UnicodeEncodeError as error:
        for number, record in zip(numbers, records, strict=True):
            try:
                json.dumps(record, ensure_ascii=False).encode()
            except UnicodeEncodeError as inner:
                half = shown(inner.object[inner.start])
                raise InputError(
                    f"{path}, {what} {number}: {half} is half of a character (a surrogate), not UTF-8 text; mend the "
                    "text and write it again"
                ) from error
        raise


def _as_utf8(content: bytes, path: Path, first: int = 1) -> str:
    """The text of a file, or of its lines from ``first`` on.

    Raises:
        InputError: it is not UTF-8; names the first line that is not.
    """
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + first
        raise InputError(
            f"{path}, line {line}: the byte 0x{content[error.start]:02x} is not UTF-8 text; save the file as UTF-8"
        ) from error


def check_text(table: pa.Table, place: str) -> None:
    """Nothing, if all texts of a table are UTF-8, as a parquet file says they are.

    Raises:
        InputError: naming the first row and column in which one is not.
    """
    for name in table.column_names:
        try:
            table[name].validate(full=True)
        except pa.ArrowInvalid as error:
            row = next((row for row, cell in enumerate(table[name]) if not _readable(cell)), None)
            where = place if row is None else f"{place}, row {row}"
            raise InputError(f"{where}: {name} is no UTF-8 text ({error}); write the file again") from error


def _readable(cell: pa.Scalar) -> bool:
    try:
        cell.as_py()
    except UnicodeDecodeError:
        return False
    return True


def table_of(records: list[dict[str, Any]]) -> pa.Table:
    """Records as a table; columns of mixed types as json text."""
    names = dict.fromkeys(name for record in records for name in record)
    return _table_from({name: _column([record.get(name) for record in records], name) for name in names})


def _table_from(columns: Mapping[str, tuple[pa.Array, dict[bytes, bytes] | None]]) -> pa.Table:
    """Columns with their metadata as a table."""
    fields = [pa.field(name, column.type, metadata=metadata) for name, (column, metadata) in columns.items()]
    return pa.Table.from_arrays([column for column, _ in columns.values()], schema=pa.schema(fields))


def _column(values: list[Any], name: str) -> tuple[pa.Array, dict[bytes, bytes] | None]:
    """Values as a column; those of mixed types as json text, marked with JSON_TEXT."""
    try:
        column = pa.array(values)
        if _kept(column, values):
            return column, None
    except UNTYPED:
        pass
    try:
        return pa.array([json.dumps(value, ensure_ascii=False) for value in values]), JSON_TEXT
    except TypeError as error:
        raise InputError(f"column {name!r}: {error}; expected text, numbers, lists, records or images") from error


def _kept(column: pa.Array, values: list[Any]) -> bool:
    """Whether the values come back as they were: no key is added to a record, no whole number becomes 1.0."""
    if pa.types.is_floating(column.type):
        return not any(type(value) is int for value in values)
    if pa.types.is_nested(column.type) and not is_text(getattr(column.type, "value_type", column.type)):
        return repr(column.to_pylist()) == repr(values)
    return True


def _content(path: Path) -> bytes:
    with unpacked(path) as stream:
        return stream.read().removeprefix(b"\xef\xbb\xbf")


def _table(rows: Any) -> pa.Table:  # noqa: ANN401  a Dataset
    """The rows where they are on the disk, images undecoded."""
    table = rows.data.table if rows._indices is None else rows.with_format("arrow")[:]
    return table.replace_schema_metadata(rows.features.arrow_schema.metadata)
