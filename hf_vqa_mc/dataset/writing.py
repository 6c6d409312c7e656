"""Write a benchmark with new choices in the format in which it was read: a file of the same type, or a folder."""

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.cells import is_image, is_list
from hf_vqa_mc.data.dataset_images import AllowedImages, RefusedImage, shortened
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.inventory import (
    IMAGES,
    LAYOUT,
    WRITTEN_BY,
    Inventory,
    RowHashes,
    about_sources,
    configs_of,
    inventory_text,
    read_inventory,
    write_inventory,
)
from hf_vqa_mc.data.shards import description, features_of, file_content, measures, write_split
from hf_vqa_mc.dataset.card import CARD, CROISSANT, card_metadata, croissant
from hf_vqa_mc.dataset.card_text import hashes_text, title
from hf_vqa_mc.dataset.folder import downloaded
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io import outputs
from hf_vqa_mc.io.atomic import Staged, carry_over, link_or_copy, new_file, new_folder, published
from hf_vqa_mc.io.inside import check_links
from hf_vqa_mc.io.outputs import FolderKind, check_output_file, check_outside, files_in
from hf_vqa_mc.io.pictures import is_picture
from hf_vqa_mc.io.redaction import public_name, without_folders
from hf_vqa_mc.text.markdown import block, plain

AT_ONCE = 1000
"""Rows whose images are read at a time."""
DEFAULT = "default"
"""Config name of a benchmark without configs."""
REMEDIED = FolderKind("vqa-mc remedy", unlisted=partial(downloaded, key="configs"))
"""Output of ``vqa-mc remedy``, which is extended by configs."""


def check_folder_config(benchmark: Benchmark, output: Path, config: str | None, overwrite: bool) -> str:
    """The name of the config in the folder, by default the benchmark's; raises InputError unless it may be written."""
    name, about = config or benchmark.config or DEFAULT, _origin(benchmark)
    if not re.fullmatch(r"\w[\w.+ -]*", name):
        raise InputError(f"the config {name!r} cannot be a folder's name; copy the benchmark under another name first")
    before = _inventory(output).get("configs", {}).get(name)
    if before and not overwrite and any(before[key] != about[key] for key in about):
        origin = " ".join(filter(None, [before["dataset"], before["config"]]))
        made = f"output {output} has the config {name} made from {origin}"
        raise InputError(f"{made}; replace it with --overwrite, or choose another output")
    return name


def _inventory(output: Path) -> Inventory:
    return (read_inventory(output) if output.is_dir() else None) or {}


def _origin(benchmark: Benchmark) -> dict[str, str | None]:
    return {"dataset": _name(benchmark), "config": benchmark.config}


def _about(benchmark: Benchmark) -> dict[str, Any]:
    """The declaration of the built source that the benchmark is a config of, for card and licence."""
    inventory = (read_inventory(benchmark.path) if benchmark.path else None) or {"sources": {}}
    found = inventory.get("configs", {}).get(benchmark.config, {}).get("about")
    if found is None:
        sources = inventory["sources"].items()
        found = {name: one.get("about") for name, one in sources if benchmark.config in one["configs"]}
    return {"about": found} if found else {}


def _name(benchmark: Benchmark) -> str:
    return benchmark.path.name if benchmark.path else public_name(benchmark.dataset)


def _keep_images(source: Path | None, config: str, tree: Path) -> dict[str, Any]:
    """Hard-link or copy the images config of a built folder; its inventory entry by name, empty if there is none."""
    inventory = read_inventory(source) if source else None
    configs = configs_of(inventory) if inventory else {}
    stored = (name for name, entry in configs.items() if entry.get("variant") == IMAGES)
    name = max((one for one in stored if config.startswith(one[: -len(IMAGES)])), key=len, default="")
    files = [file for file in files_in(source) if file.startswith(f"{name}/")] if source and name else []
    if source is None or not files:
        return {}
    check_links(source, (str(source / file) for file in files))
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy((source / file).resolve(), tree / file)
    return {name: configs[name]}


def _with_files(table: pa.Table, allowed: AllowedImages) -> tuple[pa.Table, list[str]]:
    """The table with the content of images that are paths or addresses, and why others remain as they are."""
    unread: list[str] = []
    for index, field in enumerate(table.schema):
        kind = field.type
        while is_list(kind):
            kind = kind.value_type
        if is_image(kind) and kind.num_fields == 2:
            chunks = [one.slice(at, AT_ONCE) for one in table[index].chunks for at in range(0, len(one), AT_ONCE)]
            embedded = [_embedded(chunk, allowed, unread) for chunk in chunks]
            if any(new is not old for new, old in zip(embedded, chunks, strict=True)):
                table = table.set_column(index, field, pa.chunked_array(embedded, field.type))
    return table, unread


def _embedded(array: pa.Array, allowed: AllowedImages, unread: list[str]) -> pa.Array:
    """An array of images, or of lists of images, with the content of those that are paths."""
    inner = array
    while is_list(inner.type):
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


def _described(benchmark: Benchmark, config: str, note: str, pruned: bool) -> dict[str, str]:
    name = _name(benchmark)
    rest = "The remaining rows are unchanged." if pruned else "All columns except choices and labels are unchanged."
    origin = f"{name} ({benchmark.config or config})" + (f" as config {config}" if config != benchmark.config else "")
    title = f"{name}, {'pruned' if pruned else 'choices replaced'}"
    return {"title": title, "text": f"From {origin}: {benchmark.spec.description}. {rest}", "note": note}


def _folder_card(inventory: Inventory) -> str:
    """README.md: YAML metadata for ``load_dataset`` and the Hub, and a short text on each config except images."""
    described = {name: one for name, one in inventory["configs"].items() if "text" in one}
    parts = [f"---\n{card_metadata(inventory)}\n---", f"# {plain(title(inventory))}"]
    for name, one in described.items():
        parts += [f"## {plain(name)}"] if len(described) > 1 else []
        parts += filter(None, ["Written by hf_vqa_mc. " + plain(one["text"]), plain(one.get("note", ""))])
    if about := about_sources(inventory):
        licences = [f"- {plain(one['title'])}: {plain(one['licence'])}" for one in about.values()]
        parts += ["## Licence and citation", "\n".join(licences)]
        parts += [block(one["citation"], "bibtex") for one in about.values()]
    return "\n\n".join([*parts, hashes_text(inventory)]).rstrip("\n") + "\n"


def check_output(dataset: object, output: Path, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark ``dataset``, as for `read_benchmark`, can be written to an output."""
    source = Path(dataset) if isinstance(dataset, str | Path) else None
    if source is None or not source.is_file():
        if source is not None:
            check_outside(output, "output", [source])
        outputs.check_output(output, REMEDIED, overwrite)
        return
    form = file_form(source)
    if file_form(output) != form:
        raise InputError(f"output {output}: expected a .{form} file, as {source}; rename the output")
    check_output_file(output, "output", [source], overwrite)


def check_config(benchmark: Benchmark, output: Path, config: str | None, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark can be written to an output as a config of this name."""
    if not _is_file(benchmark):
        check_folder_config(benchmark, output, config, overwrite)


@contextmanager
def staged_benchmark(
    benchmark: Benchmark,
    tables: Mapping[str, pa.Table],
    output: Path,
    note: str = "",
    config: str | None = None,
    overwrite: bool = False,
    pruned: bool = False,
    hashes: Mapping[str, RowHashes] | None = None,
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write splits, for `publish_together`; ``load_dataset`` and ``read_benchmark`` read them as the original.

    A benchmark of one file is written as a file of the same type. Others are written as a folder with README.md and,
    in a folder named ``config`` (by default the benchmark's), parquet files; other configs there are kept. ``tables``
    are columns by split, such as those of ``Benchmark.with_choices``; ``overwrite`` replaces an existing file, changed
    files in the folder, and the same config of another benchmark. README.md shows the paragraph ``note``, the
    ``hashes`` of the rows by split, and whether rows were removed and the choices kept (``pruned``).

    Yields:
        The new file or folder, and the paths of its files.
    """
    if not tables:
        raise InputError(f"{benchmark.dataset}: there are no splits to write")
    for name in tables:
        if name not in benchmark.splits:
            raise unknown_name(f"split of {benchmark.dataset}", name, benchmark.splits)
    check_output(benchmark.path, output, overwrite)
    if benchmark.path is not None and _is_file(benchmark):
        content = file_content(benchmark.path, pa.concat_tables(tables.values(), promote_options="default"), output)
        with new_file(output, content, overwrite) as new:
            yield new, [output]
        return
    config = check_folder_config(benchmark, output, config, overwrite)
    with new_folder(output, REMEDIED, overwrite) as new:
        splits = {}
        for split, table in tables.items():
            rows, unread = _with_files(table.replace_schema_metadata(description(table)), benchmark.allowed)
            if unread:
                kept = f"{len(unread):,} images of {split} could not be read and remain paths, e.g. {unread[0]}"
                warnings.warn(kept, stacklevel=3)
                note = f"{note} {without_folders(kept, *map(str, benchmark.allowed.folders))}."
            part = partial(lambda rows, start, stop: rows.slice(start, stop - start), rows)
            sizes = rows.num_rows, rows.nbytes
            splits[split] = write_split(new.tree / config, split, features_of(rows), *sizes, part)
        entry = {
            **_origin(benchmark),
            **_about(benchmark),
            **measures(config, splits),
            "row_hashes": {split: asdict(found) for split, found in (hashes or {}).items()},
            "features": json.dumps(features_of(next(iter(tables.values()))).to_dict()),
            **_described(benchmark, config, note, pruned),
        }
        made = {config: entry, **_keep_images(benchmark.path, config, new.tree)}

        def keep(old: Path | None, names: list[str]) -> None:
            check_folder_config(benchmark, output, config, overwrite)
            before = _inventory(old) if old else {}
            configs, default = {**before.get("configs", {}), **made}, before.get("default", config)
            inventory = {"written_by": WRITTEN_BY, "layout": LAYOUT, "sources": {}, "default": default}
            inventory["configs"] = dict(sorted(configs.items()))
            write_inventory(new.tree, inventory)
            (new.tree / CARD).write_text(_folder_card(json.loads(inventory_text(inventory))), "utf-8")
            (new.tree / CROISSANT).write_text(croissant(inventory), "utf-8")
            if old:
                carry_over(old, new.tree, names, leave_out=made.keys())

        new.keep = keep
        yield new, [output / CARD, *(output / name for name in entry["files"])]


write_benchmark = published(staged_benchmark)
"""Write a benchmark as `staged_benchmark` does, publish it, and return its files."""


def _is_file(benchmark: Benchmark) -> bool:
    return benchmark.path is not None and benchmark.path.is_file()
