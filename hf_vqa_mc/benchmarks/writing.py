"""Write a benchmark with new choices in the format in which it was read: a file of the same type, or a folder."""

import csv
import gzip
import io
import json
import lzma
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hf_vqa_mc.benchmarks.benchmark import Benchmark
from hf_vqa_mc.benchmarks.cells import is_list
from hf_vqa_mc.benchmarks.files import JSON_TEXT, file_form, json_content
from hf_vqa_mc.dataset.allowed_images import AllowedImages, RefusedImage, shortened
from hf_vqa_mc.dataset.card import CARD, dataset_info, loading
from hf_vqa_mc.dataset.inventory import IMAGES, LAYOUT, WRITTEN_BY, configs_of, read_inventory, write_inventory
from hf_vqa_mc.dataset.shards import GROUP_BYTES, measures, readable_by_all, write_split
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io import atomic_folder
from hf_vqa_mc.io.atomic_file import Staged, check_output_file, check_outside, new_file, publish_together
from hf_vqa_mc.io.json_stream import parsed
from hf_vqa_mc.io.manifest import files_in
from hf_vqa_mc.io.pictures import is_picture
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.text.markdown import plain

if TYPE_CHECKING:
    from datasets import Features

MARK = b"hf_vqa_mc"
"""Key in the metadata of parquet files written by this package."""
AT_ONCE = 1000
"""Rows whose images are read at a time."""
DEFAULT = "default"
"""Config name of a benchmark without configs."""
REMEDIED = atomic_folder.FolderKind("vqa-mc remedy")
"""Output of ``vqa-mc remedy``, which is extended by configs."""


def check_output(dataset: object, output: Path, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark ``dataset``, as for `read_benchmark`, can be written to an output."""
    source = Path(dataset) if isinstance(dataset, str | Path) else None
    if source is None or not source.is_file():
        if source is not None:
            check_outside(output, "output", [source])
        atomic_folder.check_output(output, REMEDIED, overwrite)
        return
    form = file_form(source)
    if file_form(output) != form:
        raise InputError(f"output {output}: expected a .{form} file, as {source}; rename the output")
    check_output_file(output, "output", [source], overwrite)


def write_benchmark(
    benchmark: Benchmark,
    tables: Mapping[str, pa.Table],
    output: Path,
    note: str = "",
    config: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Write splits atomically; ``load_dataset`` and ``read_benchmark`` read them as they read the original.

    Args:
        benchmark: as read.
        tables: columns by split name, such as those of ``Benchmark.with_choices``.
        output: a file of the same type if the benchmark is one file; else a folder with README.md and, in a folder of
            the config's name, parquet files of about 500 MB. Other configs that were written there are kept.
        note: paragraph for README.md; not written to single files.
        config: name of the written config; by default the benchmark's.
        overwrite: replace an existing file, changed files in the folder, and the same config of another benchmark.

    Returns:
        The files.

    Raises:
        InputError: a split is not the benchmark's, or the output has another type, is an input, or was not written by
            this package.
        OSError: it cannot be written (disk full, no permission); the output is unchanged.
    """
    with staged_benchmark(benchmark, tables, output, note, config, overwrite) as (staged, files):
        publish_together(staged)
    return files


@contextmanager
def staged_benchmark(
    benchmark: Benchmark,
    tables: Mapping[str, pa.Table],
    output: Path,
    note: str = "",
    config: str | None = None,
    overwrite: bool = False,
) -> Iterator[tuple[Staged, list[Path]]]:
    """As `write_benchmark`, except that the output appears only when the caller publishes it; it and its files."""
    if not tables:
        raise InputError(f"{benchmark.dataset}: there are no splits to write")
    for name in tables:
        if name not in benchmark.splits:
            raise unknown_name(f"split of {benchmark.dataset}", name, benchmark.splits)
    source = benchmark.path
    check_output(source, output, overwrite)
    if source is not None and source.is_file():
        content = _file_content(source, pa.concat_tables(tables.values(), promote_options="default"), output)
        with new_file(output, content) as new:
            yield new, [output]
    else:
        name = config or benchmark.config or DEFAULT
        with _staged_folder(benchmark, tables, output, note, name, overwrite) as found:
            yield found


def _file_content(source: Path, table: pa.Table, output: Path) -> bytes:
    content = {
        "parquet": lambda: _parquet(table),
        "csv": lambda: _csv(table, ","),
        "tsv": lambda: _csv(table, "\t"),
        "jsonl": lambda: b"".join(json.dumps(one, ensure_ascii=False).encode() + b"\n" for one in _records(table)),
        "json": lambda: _json(table, source),
    }[file_form(source) or ""]()
    if output.name.lower().endswith(".gz"):
        return gzip.compress(content, mtime=0)
    if output.name.lower().endswith(".xz"):
        return lzma.compress(content)
    return content


def _parquet(table: pa.Table) -> bytes:
    metadata = table.schema.metadata or {}
    described = _description(table) if b"huggingface" in metadata else {}
    table = table.replace_schema_metadata({**metadata, **described, MARK: b"benchmark"})
    sink = pa.BufferOutputStream()
    rows = max(1, min(10_000, GROUP_BYTES * table.num_rows // max(table.nbytes, 1)))
    pq.write_table(table, sink, compression="zstd", row_group_size=rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _description(table: pa.Table) -> dict[bytes, bytes]:
    """Metadata with the columns' types for ``datasets``, which preserves images and class labels."""
    metadata: dict[bytes, bytes] = readable_by_all(features_of(table).arrow_schema).metadata
    return metadata


def features_of(table: pa.Table) -> "Features":
    """The types of a table's columns for ``datasets``."""
    from datasets import Features

    return Features.from_arrow_schema(table.schema)


def _csv(table: pa.Table, delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in table.to_batches(max_chunksize=10_000):
        writer.writerows(zip(*map(_csv_cells, batch.columns), strict=True))
    return text.getvalue().encode()


def _csv_cells(column: pa.Array) -> list[Any]:
    """Cells of a CSV column; lists and records, which occur only in new columns, as JSON text."""
    values: list[Any] = column.to_pylist()
    if not pa.types.is_nested(column.type):
        return values
    return [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]


def _json(table: pa.Table, source: Path) -> bytes:
    """A list of records, under a key if the source has one."""
    value, key = json_content(source)
    records = list(_records(table))
    return (json.dumps(records if key is None else {**value, key: records}, ensure_ascii=False) + "\n").encode()


def _records(table: pa.Table) -> Iterable[dict[str, Any]]:
    packed = [field.name for field in table.schema if (field.metadata or {}).items() >= JSON_TEXT.items()]
    for batch in table.to_batches(max_chunksize=10_000):
        for record in batch.to_pylist():
            for name in packed:
                try:
                    record[name] = parsed(record[name])
                except ValueError as error:  # new text, which is not JSON
                    raise InputError(
                        f"column {name!r} has values of different types, in which new choices cannot be written; "
                        "convert it to text"
                    ) from error
            yield record


@contextmanager
def _staged_folder(
    benchmark: Benchmark, tables: Mapping[str, pa.Table], output: Path, note: str, config: str, overwrite: bool
) -> Iterator[tuple[Staged, list[Path]]]:
    if not re.fullmatch(r"\w[\w.+ -]*", config):
        raise InputError(
            f"the config {config!r} cannot be a folder's name; copy the benchmark under another name first"
        )
    about = {"dataset": _name(benchmark), "config": benchmark.config}
    _configs_before(output, config, about, overwrite)
    with atomic_folder.new_folder(output, REMEDIED, overwrite) as new:
        splits = {}
        for split, table in tables.items():
            rows, unread = _with_files(table.replace_schema_metadata(_description(table)), benchmark.allowed)
            if unread:
                kept = f"{len(unread):,} images of {split} could not be read and remain paths, e.g. {unread[0]}"
                warnings.warn(kept, stacklevel=4)
                note = f"{note} {kept}."
            sizes = rows.num_rows, rows.nbytes
            splits[split] = write_split(new.tree / config, split, features_of(rows), *sizes, _slice_of(rows))
        entry = {
            **about,
            **measures(config, splits),
            "features": json.dumps(features_of(next(iter(tables.values()))).to_dict()),
            **_described(benchmark, config, tables, note),
        }
        made = {config: entry, **_keep_images(benchmark.path, config, new.tree)}

        def keep(old: Path | None, names: list[str]) -> None:
            before, default = _configs_before(output, config, about, overwrite) if old else ({}, config)
            configs = {**before, **made}
            inventory = {"written_by": WRITTEN_BY, "layout": LAYOUT, "sources": {}, "default": default}
            write_inventory(new.tree, {**inventory, "configs": configs})
            (new.tree / CARD).write_text(_folder_card(dict(sorted(configs.items())), default), "utf-8")
            if old:
                atomic_folder.carry_over(old, new.tree, names, leave_out=made.keys())

        new.keep = keep
        yield new, [output / CARD, *(output / name for name in entry["files"])]


def _name(benchmark: Benchmark) -> str:
    """The benchmark's name without folders of the user."""
    return benchmark.path.name if benchmark.path else public_name(benchmark.dataset)


def _configs_before(
    output: Path, config: str, about: Mapping[str, Any], overwrite: bool
) -> tuple[dict[str, dict[str, Any]], str]:
    """The configs written before into a folder, and the default one.

    Raises InputError if one of this name is of another benchmark, unless it may be overwritten.
    """
    inventory = (read_inventory(output) if output.is_dir() else None) or {}
    found = inventory.get("configs", {})
    before = found.get(config)
    if before and not overwrite and any(before[name] != about[name] for name in about):
        origin = " ".join(filter(None, [before["dataset"], before["config"]]))
        raise InputError(
            f"output {output} has the config {config} made from {origin}; replace it with --overwrite, or choose "
            "another output"
        )
    return found, inventory.get("default", config)


def _keep_images(source: Path | None, config: str, tree: Path) -> dict[str, Any]:
    """Hard-link or copy the images config of a built folder; its inventory entry by name, empty if there is none."""
    inventory = read_inventory(source) if source else None
    if source is None or inventory is None:
        return {}
    configs = {**configs_of(inventory), **inventory.get("configs", {})}
    fitting = [
        name for name in configs if configs[name].get("variant") == IMAGES and config.startswith(name[: -len(IMAGES)])
    ]
    if not fitting:
        return {}
    name = max(fitting, key=len)
    atomic_folder.carry_over(source, tree, [file for file in files_in(source) if file.startswith(f"{name}/")])
    return {name: configs[name]}


def _with_files(table: pa.Table, allowed: AllowedImages) -> tuple[pa.Table, list[str]]:
    """The table with the content of images that are paths or addresses, and why others remain as they are.

    What the dataset may not name remains a path; reading it has counted and named it (`Benchmark.notes`).
    """
    unread: list[str] = []
    for index, field in enumerate(table.schema):
        kind = _nested(field.type)[-1]
        if pa.types.is_struct(kind) and {"bytes", "path"} == {part.name for part in kind}:
            chunks = [one.slice(at, AT_ONCE) for one in table[index].chunks for at in range(0, len(one), AT_ONCE)]
            embedded = [_embedded(chunk, allowed, unread) for chunk in chunks]
            if any(new is not old for new, old in zip(embedded, chunks, strict=True)):
                table = table.set_column(index, field, pa.chunked_array(embedded, field.type))
    return table, unread


def _embedded(array: pa.Array, allowed: AllowedImages, unread: list[str]) -> pa.Array:
    """An array of images, or of lists of images, with the content of those that are paths."""
    inner = array
    for _ in _nested(array.type)[1:]:
        inner = pc.list_flatten(inner)
    contents, paths = (pc.struct_field(inner, part) for part in ("bytes", "path"))
    if not pc.any(pc.and_(contents.is_null(), paths.is_valid())).as_py():
        return array

    def filled(value: Any) -> Any:  # noqa: ANN401  a cell
        if isinstance(value, list):
            return [filled(one) for one in value]
        if value is None or value["bytes"] is not None or not isinstance(value["path"], str):
            return value
        try:
            content = allowed.read(value["path"])
        except RefusedImage:
            return value
        except InputError as error:
            unread.append(str(error))
            return value
        if not is_picture(content):
            unread.append(f"{shortened(value['path'])} is not an image")
            return value
        return {"bytes": content, "path": PurePosixPath(value["path"]).name}

    return pa.array([filled(value) for value in array.to_pylist()], array.type)


def _nested(kind: pa.DataType) -> list[pa.DataType]:
    """A type, and the types of its elements down to what is no list."""
    return [kind, *_nested(kind.value_type)] if is_list(kind) else [kind]


def _slice_of(table: pa.Table) -> Callable[[int, int], pa.Table]:
    return lambda start, stop: table.slice(start, stop - start)


def _described(benchmark: Benchmark, config: str, tables: Mapping[str, pa.Table], note: str) -> dict[str, str]:
    """What was changed, as title, sentence and note; plain text, escaped on the card."""
    name, layout = _name(benchmark), benchmark.layout.description
    pairs = [(table, benchmark.splits[split].original) for split, table in tables.items()]
    fewer = any(table.num_rows < original.num_rows for table, original in pairs)
    pruned = fewer or all(table is original for table, original in pairs)
    rest = "The remaining rows are unchanged." if pruned else "All columns except choices and labels are unchanged."
    origin = f"{name} ({benchmark.config or config})" + (f" as config {config}" if config != benchmark.config else "")
    title = f"{name}, {'pruned' if pruned else 'choices replaced'}"
    return {"title": title, "text": f"From {origin}: {layout}. {rest}", "note": note}


def _folder_card(configs: Mapping[str, dict[str, Any]], default: str) -> str:
    """README.md: YAML metadata for ``load_dataset``, and a short text on each config that is not of images."""
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    data = DatasetCardData()
    DatasetInfosDict({name: dataset_info(name, one) for name, one in configs.items()}).to_dataset_card_data(data)
    MetadataConfigs({name: loading(name, one, default) for name, one in configs.items()}).to_dataset_card_data(data)
    described = {name: one for name, one in configs.items() if "text" in one}
    titles = "; ".join(dict.fromkeys(one["title"] for one in described.values()))
    parts = [f"---\n{data}\n---", f"# {plain(titles)}"]
    for name, one in described.items():
        parts += [f"## {plain(name)}"] if len(described) > 1 else []
        parts += filter(None, ["Written by hf_vqa_mc. " + plain(one["text"]), plain(one.get("note", ""))])
    return "\n\n".join(parts) + "\n"
