"""A benchmark with other choices, written as the one that was read: a file of the same kind, or a folder."""

import csv
import gzip
import hashlib
import io
import json
import lzma
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.benchmarks.files import JSON_TEXT, file_form, json_content
from hf_vqa_mc.benchmarks.folder_card import folder_card
from hf_vqa_mc.dataset.folder import BUILT
from hf_vqa_mc.dataset.inventory import IMAGES, LAYOUT, WRITTEN_BY, configs_of, read_inventory, write_inventory
from hf_vqa_mc.dataset.shards import GROUP_BYTES, SHARD_BYTES, readable_by_all
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io import atomic_folder
from hf_vqa_mc.io.atomic_file import check_output_file, write_bytes
from hf_vqa_mc.io.atomic_folder import carry_over, new_folder

if TYPE_CHECKING:
    from datasets import Features

MARK = b"hf_vqa_mc"
"""The key in a parquet file's metadata that says that we wrote it."""
DEFAULT = "default"
"""The config of a benchmark without configs."""


def check_output(dataset: object, output: Path) -> None:
    """Raise InputError unless a benchmark can be written there; it need not be read yet.

    Args:
        dataset: as `read_benchmark` takes it.
        output: as `write_benchmark` has it.

    Raises:
        InputError: it is of another kind or is what is read, or something is there that we did not write.
    """
    source = Path(dataset) if isinstance(dataset, str | Path) else None
    if source is None or not source.is_file():
        if source is not None:
            _check_apart(source, output)
        _check_no_build(output)
        atomic_folder.check_output(output.absolute().resolve(), BUILT)
        return
    form = file_form(source)
    if file_form(output) != form:
        raise InputError(f"output {output}: {source} is a .{form} file; name one too")
    check_output_file(output, "output", [source])
    if output.exists() and not (form == "parquet" and _is_ours(output)):
        raise InputError(f"output {output} is there already, and not known to be written by us; name another file")


def write_benchmark(benchmark: Benchmark, tables: Mapping[str, pa.Table], output: Path, note: str = "") -> list[Path]:
    """Writes splits of a benchmark, which ``load_dataset`` and ``read_benchmark`` read as they read the original.

    Whoever is killed meanwhile leaves what was there before, or the new one, whole.

    Args:
        benchmark: as it was read.
        tables: split name to its columns, such as ``Layout.written`` gives them.
        output: a file of the same kind where the benchmark is one file; else a folder, in which the config is a
            folder of parquet files of about 500 MB, beside a README.md.
        note: a paragraph that the README.md says too, such as what was done; a file has no place for it.

    Returns:
        The files.

    Raises:
        InputError: a split is none of the benchmark's, the output is of another kind or is what is read, or something
            is there that we did not write.
        OSError: it cannot be written (disk full, no permission); what was there before still is.
    """
    if not tables:
        raise InputError(f"{benchmark.dataset}: there are no splits to write")
    for name in tables:
        if name not in benchmark.splits:
            raise unknown_name(f"split of {benchmark.dataset}", name, benchmark.splits)
    source = benchmark.path
    check_output(source, output)
    if source is not None and source.is_file():
        (table,) = tables.values()  # a file is one split
        return [_write_file(source, table, output)]
    return _write_folder(benchmark, tables, output, note)


def _write_file(source: Path, table: pa.Table, output: Path) -> Path:
    form = file_form(source)
    if form == "parquet":
        content = _parquet(table)
    elif form in ("csv", "tsv"):
        content = _csv(table, "\t" if form == "tsv" else ",")
    else:
        content = _json_lines(table) if form == "jsonl" else _json(table, source)
    if output.name.lower().endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    elif output.name.lower().endswith(".xz"):
        content = lzma.compress(content)
    write_bytes(output, content)
    return output


def _is_ours(output: Path) -> bool:
    try:
        return MARK in (pq.read_schema(output).metadata or {})
    except (pa.ArrowInvalid, OSError):
        return False


def _parquet(table: pa.Table) -> bytes:
    metadata = table.schema.metadata or {}
    described = _description(table) if b"huggingface" in metadata else {}
    table = table.replace_schema_metadata({**metadata, **described, MARK: b"benchmark"})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", row_group_size=_rows_per_group(table))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _description(table: pa.Table) -> dict[bytes, bytes]:
    """The metadata by which ``datasets`` knows the columns' types, so that images and classes come back as such."""
    metadata: dict[bytes, bytes] = readable_by_all(features_of(table).arrow_schema).metadata
    return metadata


def features_of(table: pa.Table) -> "Features":
    """The types of its columns as ``datasets`` has them."""
    from datasets import Features

    return Features.from_arrow_schema(table.schema)


def _rows_per_group(table: pa.Table) -> int:
    rows: int = max(1, min(10_000, GROUP_BYTES * table.num_rows // max(table.nbytes, 1)))
    return rows


def _csv(table: pa.Table, delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=10_000):
        writer.writerows(zip(*map(_cells, batch.columns), strict=True))
    return text.getvalue().encode()


def _cells(column: pa.Array) -> list[Any]:
    """The cells of a csv column; lists and records, which only new columns hold, as json text."""
    values: list[Any] = column.to_pylist()
    if not pa.types.is_nested(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]


def _json_lines(table: pa.Table) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in _records(table))


def _json(table: pa.Table, source: Path) -> bytes:
    """As the source: a list of records, alone or under its key."""
    value, key = json_content(source)
    records = list(_records(table))
    whole = records if key is None else {**value, key: records}
    return (json.dumps(whole, ensure_ascii=False) + "\n").encode()


def _records(table: pa.Table) -> Iterable[dict[str, Any]]:
    packed = [field.name for field in table.schema if (field.metadata or {}).items() >= JSON_TEXT.items()]
    for batch in table.to_batches(max_chunksize=10_000):
        for record in batch.to_pylist():
            yield {**record, **{name: json.loads(record[name]) for name in packed}}


def _write_folder(benchmark: Benchmark, tables: Mapping[str, pa.Table], output: Path, note: str) -> list[Path]:
    config = benchmark.config or DEFAULT
    if not re.fullmatch(r"\w[\w.+ -]*", config):
        raise InputError(
            f"the config {config!r} cannot be a folder's name; copy the benchmark under another name first"
        )
    with new_folder(output, BUILT) as place:
        folder = place.tree / config
        folder.mkdir()
        files, infos = [], {}
        for split, table in tables.items():
            table = _with_files(table.replace_schema_metadata(_description(table)))
            written = _write_split(folder, split, table)
            files += written
            infos[split] = table.num_rows, table.nbytes
        hashes = {f"{config}/{path.name}": _sha256(path) for path in files}
        features = features_of(next(iter(tables.values())))
        images = _keep_images(benchmark.path, config, place.tree)
        size = sum(path.stat().st_size for path in files)
        card = folder_card(benchmark, config, features, infos, hashes, size, images, note)
        (place.tree / "README.md").write_text(card, "utf-8")
        about = {"dataset": benchmark.dataset, "config": benchmark.config, "files": hashes}
        write_inventory(place.tree, {"written_by": WRITTEN_BY, "layout": LAYOUT, "sources": {}, "benchmark": about})

        place.publish(lambda old: _check_no_build(output))  # again, once nobody else writes there
    return [output / "README.md", *(output / config / path.name for path in files)]


def _keep_images(source: Path | None, config: str, tree: Path) -> dict[str, Any]:
    """Hard links or copies of the images config of a built folder; its name to its inventory, empty if none."""
    if source is None:
        return {}
    inventory = read_inventory(source)
    configs = configs_of(inventory) if inventory else {}
    fitting = [
        name for name in configs if configs[name]["variant"] == IMAGES and config.startswith(name[: -len(IMAGES)])
    ]
    if not fitting:
        return {}
    name = max(fitting, key=len)
    carry_over(source, tree, leave_out={path.name for path in source.iterdir()} - {name})
    return {name: configs[name]}


def _check_apart(source: Path, output: Path) -> None:
    """Raise InputError if the input is the output, lies in it, or contains it."""
    if source.exists():
        there, here = source.resolve(), output.absolute().resolve()
        if there.is_relative_to(here) or here.is_relative_to(there):
            raise InputError(f"output {output} would replace or change an input, {source}; name another path")


def _check_no_build(output: Path) -> None:
    """Raise InputError if a build wrote the folder."""
    if output.is_dir() and (read_inventory(output) or {}).get("sources"):
        raise InputError(f"output {output} is a folder that vqa-mc build wrote; name another")


def _with_files(table: pa.Table) -> pa.Table:
    """The table with images embedded that are paths; raises InputError if such a file is gone."""
    for field in table.schema:
        if pa.types.is_struct(field.type) and {"bytes", "path"} == {part.name for part in field.type}:
            contents, paths = (pc.struct_field(table[field.name], part) for part in ("bytes", "path"))
            if pc.any(pc.and_(contents.is_null(), paths.is_valid())).as_py():
                from datasets.table import embed_table_storage

                try:
                    return embed_table_storage(table)
                except OSError as error:
                    raise InputError(
                        f"column {field.name!r}: an image cannot be read ({error}); load it again"
                    ) from error
    return table


def _write_split(folder: Path, split: str, table: pa.Table) -> list[Path]:
    shards = max(1, math.ceil(table.nbytes / SHARD_BYTES))
    per_shard = max(1, math.ceil(table.num_rows / shards))
    starts = range(0, max(table.num_rows, 1), per_shard)
    paths = []
    for number, start in enumerate(starts):
        path = folder / f"{split}-{number:05d}-of-{len(starts):05d}.parquet"
        part = table.slice(start, per_shard)
        pq.write_table(part, path, compression="zstd", row_group_size=_rows_per_group(table))
        paths.append(path)
    return paths


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
