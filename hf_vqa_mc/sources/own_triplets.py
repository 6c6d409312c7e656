"""Your own triplets of image, question and answer, in Parquet files of any total size."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import SPLITS, TRIPLETS, check_triplets
from hf_vqa_mc.sources.files import Files, Folder
from hf_vqa_mc.sources.source import Source, Stream
from hf_vqa_mc.sources.table import ROWS, in_split_order, triplet_table

REQUIRED = ("question_id", "image_id", "question", "target")
_LISTS = ("answers", "orig_decoys")


def stream(files: Files) -> Stream:
    """The triplets of all Parquet files of a folder, in the order of their names."""
    found = files.path.rglob("*.parquet") if isinstance(files, Folder) else ()
    paths = sorted(path for path in found if not path.is_dir())  # other programs write folders of that name
    if not paths:
        where = f"{files.path}: no Parquet file" if isinstance(files, Folder) else "triplets: no data folder"
        columns = f"{', '.join(REQUIRED)} and split"
        raise InputError(f"{where}; give --data-dir, a folder with .parquet files with the columns {columns}")
    for path in paths:
        _check_file(path)
    rows = sum(pq.read_metadata(path).num_rows for path in paths)
    return Stream(rows, (table for path in paths for table in _tables(path)))


def read(files: Files) -> pa.Table:
    """The triplets as one table: train, validation, test, each in the order of the files."""
    tables = list(stream(files).tables)
    if not tables:
        raise InputError("triplets: the Parquet files have no rows")
    return in_split_order(tables)


def _check_file(path: Path) -> None:
    try:
        names = pq.read_schema(path).names
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error
    repeated = [name for name in TRIPLETS.names if names.count(name) > 1]
    if repeated:
        raise InputError(f"{path}: more than one column {', '.join(repeated)}; remove the others")
    missing = [name for name in (*REQUIRED, "split") if name not in names]
    if missing and (missing != ["split"] or not _split_of(path)):
        hint = f"; add it, or name the file {', '.join(f'{split}-*.parquet' for split in SPLITS)}"
        hint = hint if missing == ["split"] else ""
        raise InputError(f"{path}: no column {', '.join(missing)}; columns: {', '.join(names)}{hint}")


def _split_of(path: Path) -> str | None:
    """The split that a file's name begins with, such as ``train-00000-of-00010.parquet``."""
    return next((split for split in SPLITS if path.stem == split or path.name.startswith(f"{split}-")), None)


def _tables(path: Path) -> Iterator[pa.Table]:
    try:
        with pq.ParquetFile(path) as file:
            wanted = [name for name in file.schema_arrow.names if name in TRIPLETS.names]
            row = 0
            for batch in file.iter_batches(10 * ROWS, columns=wanted):
                location = f"{path}, rows from {row + 1}"
                table = pa.Table.from_batches([batch])
                columns = {name: _column(table[name], name, location) for name in wanted}
                columns.setdefault("split", pa.repeat(_split_of(path) or "", table.num_rows))
                columns.setdefault("image_file", pa.repeat("", table.num_rows))
                yield check_triplets(triplet_table(**columns), location)
                row += table.num_rows
    except OSError as error:  # pages after a readable footer
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error


def _column(column: pa.ChunkedArray, name: str, location: str) -> pa.Array:
    """A column with the type of ``schema.TRIPLETS``; whole numbers as ids become text."""
    if column.null_count:
        at = pc.index(pc.is_null(column), True).as_py()
        raise InputError(f"{location}, record {at + 1}: {name} is empty (null), expected a value")
    try:
        if pa.types.is_floating(column.type):
            raise pa.ArrowTypeError("numbers with fractions are no text")
        found = column.cast(TRIPLETS.field(name).type).combine_chunks()
    except pa.ArrowException:
        expected = "lists of text" if name in _LISTS else "text"
        raise InputError(f"{location}: column {name!r} holds {column.type}, expected {expected}") from None
    try:
        found.validate(full=True)
    except pa.ArrowException as error:
        raise InputError(f"{location}: {name} holds text that is not UTF-8 ({str(error).splitlines()[0]})") from None
    if name in _LISTS and pc.list_flatten(found).null_count:
        raise InputError(f"{location}: a text of {name} is empty (null), expected text")
    return found


TRIPLETS_SOURCE = Source(
    name="triplets",
    title="Own triplets",
    description="Triplets of image, question and answer from Parquet files.",
    homepage="",
    licence="that of the triplets",
    citation="",
    read=read,
    stream=stream,
    has_orig_decoys=True,
    image_hint="those that the triplets are about.",
)
