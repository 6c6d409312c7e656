"""Write a benchmark with new choices in the format in which it was read: a file of the same type, or a folder."""

import itertools
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.data.cells import is_image, is_list, is_text
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.images import Images, image_cells, is_named, shortened
from hf_vqa_mc.data.inventory import (
    IMAGES,
    INVENTORY,
    LAYOUT,
    WRITTEN_BY,
    Inventory,
    RowHashes,
    configs_of,
    inventory_text,
    read_inventory,
)
from hf_vqa_mc.data.names import IMAGE_PATH, named
from hf_vqa_mc.data.shards import features_of, file_content, measures, readable_by_all, write_split
from hf_vqa_mc.dataset.card import CARD, card_metadata
from hf_vqa_mc.dataset.card_text import remedied_text
from hf_vqa_mc.dataset.croissant import CROISSANT, croissant
from hf_vqa_mc.dataset.folder import downloaded
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import outputs
from hf_vqa_mc.io.atomic import Staged, carry_over, link_or_copy, new_file, new_folder, publish
from hf_vqa_mc.io.inside import check_links
from hf_vqa_mc.io.outputs import FolderKind, check_output_file, check_outside, files_in
from hf_vqa_mc.io.pictures import BrokenImage, picture_size
from hf_vqa_mc.io.redaction import public_name, without_folders

SAMPLE = 100  # rows whose images are read to estimate the size of all
DEFAULT = "default"  # config name of a benchmark without configs
REMEDIED = FolderKind("vqa-mc remedy", unlisted=partial(downloaded, key="configs"))
"""Output of ``vqa-mc remedy``, which is extended by configs."""


def check_config(benchmark: Benchmark, output: Path, config: str | None, overwrite: bool = False) -> str:
    """The name of the config, by default the benchmark's; raises InputError unless it may be written to an output."""
    name, dataset = config or benchmark.config or DEFAULT, _name(benchmark)
    if is_single_file(benchmark.path, output):
        return name
    if not re.fullmatch(r"\w[\w.+ -]*", name):
        raise InputError(f"the config {name!r} cannot be a folder's name; copy the benchmark under another name first")
    before = _inventory(output).get("configs", {}).get(name)
    if before and not overwrite and (before["dataset"], before["config"]) != (dataset, benchmark.config):
        origin = " ".join(filter(None, [before["dataset"], before["config"]]))
        made = f"output {output} has the config {name} made from {origin}"
        raise InputError(f"{made}; replace it with --overwrite, or choose another output")
    return name


def _inventory(folder: Path | None) -> Inventory:
    return (read_inventory(folder) if folder and folder.is_dir() else None) or {}


def _name(benchmark: Benchmark) -> str:
    return benchmark.path.name if benchmark.path else public_name(benchmark.dataset)


def _about(benchmark: Benchmark, config: str, note: str, changed: str) -> dict[str, Any]:
    """What the config is made from and how, for the card; and the built source that the benchmark is a config of."""
    name, (suffix, rest) = _name(benchmark), CHANGES[changed]
    origin = name if benchmark.config is None else f"{name} ({benchmark.config})"
    origin += f" as config {config}" if benchmark.config not in (None, config) else ""
    text = f"From {origin}: {benchmark.spec.description}.{rest}"
    inventory = _inventory(benchmark.path)
    about = inventory.get("configs", {}).get(benchmark.config, {}).get("about")
    if about is None:
        sources = inventory.get("sources", {}).items()
        about = {source: one.get("about") for source, one in sources if benchmark.config in one["configs"]}
    found = {"dataset": name, "config": benchmark.config, "title": f"{name}{suffix}", "text": text, "note": note}
    return {**found, "about": about} if about else found


def _keep_images(source: Path | None, config: str, tree: Path) -> dict[str, Any]:
    """Hard-link or copy the images config of a built folder; its inventory entry by name, empty if there is none."""
    inventory = _inventory(source)
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


def _image_rows(table: pa.Table, split: Split, kept: bool) -> pa.Table:
    """The table with its image paths, or the ids of images that are not ``kept`` in a config, as `datasets.Image`."""
    from datasets import Features, Image, List

    def cell(value: Any) -> Any:  # noqa: ANN401
        return list(map(cell, value)) if isinstance(value, list) else {"bytes": None, "path": value} if value else None

    images, ids, columns = split.images, split.rows["image_id"], dict[str, pa.ChunkedArray]()
    stored = None if images is None else images.stored
    if images is not None and not images.references:
        own = {name: image_cells(table[name]) for name in split.image_columns}
        columns = own if images.columns else {} if kept else {next(iter(own), "image"): ids}
    features: dict[str, Any] = dict(features_of(table))
    for name, cells in columns.items():
        listed, values = is_list(cells.type), cells.to_pylist()
        if not is_text(cells.type.value_type if listed else cells.type):
            continue
        if stored is not None and not listed:
            values = [one if one in stored else value for one, value in zip(ids.to_pylist(), values, strict=True)]
        flat = itertools.chain.from_iterable(filter(None, values)) if listed else values
        if not all(map(is_named, filter(None, flat))):
            continue  # base64 text
        target = "image" if named([name], IMAGE_PATH) and "image" not in features else name
        features[target] = List(Image()) if listed else Image()
        column = pa.array(map(cell, values), pa.list_(Image().pa_type) if listed else Image().pa_type)
        index = table.schema.get_field_index(target)
        table = table.append_column(target, column) if index < 0 else table.set_column(index, target, column)
    return table.replace_schema_metadata(readable_by_all(Features(features).arrow_schema).metadata)


def _with_files(
    table: pa.Table, content: Callable[[str], bytes], unread: dict[str, str], start: int, stop: int
) -> pa.Table:
    """Some rows with the ``content`` of images that are paths or addresses; adds to ``unread`` why others remain."""

    def filled(value: Any, row: int) -> Any:  # noqa: ANN401  a cell
        if isinstance(value, list):
            return [filled(one, row) for one in value]
        if value is None or value["bytes"] is not None or not isinstance(value["path"], str):
            return value
        try:
            found = content(value["path"])
            picture_size(found)
        except (InputError, BrokenImage) as error:
            name = f"{shortened(value['path'])} is " if isinstance(error, BrokenImage) else ""
            unread.setdefault(value["path"], f"row {row}: {name}{error}")
            return value
        return {"bytes": found, "path": PurePosixPath(value["path"]).name}

    table = table.slice(start, stop - start)
    for index, field in enumerate(table.schema):
        inner = table[index]
        while is_list(inner.type):
            inner = pc.list_flatten(inner)
        if is_image(inner.type) and inner.type.num_fields == 2:
            contents, paths = (pc.struct_field(inner, part) for part in ("bytes", "path"))
            if pc.any(pc.and_(contents.is_null(), paths.is_valid())).as_py():
                table = table.set_column(
                    index,
                    field,
                    pa.array(map(filled, table[index].to_pylist(), itertools.count(start + 1)), field.type),
                )
    return table


CHANGES = {
    "choices": (", choices replaced", " All columns except choices and labels are unchanged."),
    "rows": (", pruned", " The remaining rows are unchanged."),
    "": ("", ""),
}
"""What a written benchmark differs in from the published one, with its words for title and text."""


def _folder_card(inventory: Inventory) -> str:
    return f"---\n{card_metadata(inventory)}\n---\n\n{remedied_text(inventory)}"


def check_output(dataset: object, output: Path, overwrite: bool = False) -> None:
    """Raise InputError unless the benchmark ``dataset``, as for `read_benchmark`, can be written to an output."""
    source = Path(dataset) if isinstance(dataset, str | Path) else None
    form, wanted = file_form(source) if source and source.is_file() else None, file_form(output)
    if is_single_file(source, output):
        if wanted != form:
            folder = "or a folder, without a suffix, for load_dataset and vqa-mc push"
            raise InputError(f"output {output}: expected a .{form} file, as {source}, {folder}; rename the output")
        check_output_file(output, "output", filter(None, [source]), overwrite)
        return
    if wanted is not None:
        raise InputError(f"output {output}: {dataset} is written as a folder; leave out .{wanted}")
    check_outside(output, "output", filter(None, [source]))
    outputs.check_output(output, REMEDIED, overwrite)


def is_single_file(source: Path | None, output: Path) -> bool:
    """Whether a benchmark is written as a file: it was one, and the output has a suffix."""
    return source is not None and source.is_file() and bool(output.suffix) and not output.is_dir()


@contextmanager
def staged_benchmark(
    benchmark: Benchmark,
    tables: Mapping[str, pa.Table],
    output: Path,
    note: str = "",
    config: str | None = None,
    overwrite: bool = False,
    changed: str = "choices",
    hashes: Mapping[str, RowHashes] | None = None,
    measured: str = "",
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write splits, for `publish_together`; ``load_dataset`` and ``read_benchmark`` read them as the original.

    A benchmark of one file is written as a file of the same type if the output has a suffix. Others are written as a
    folder with README.md and, in a folder named ``config`` (by default the benchmark's), parquet files with images;
    other configs there are kept. ``tables`` are columns by split, such as those of ``Benchmark.with_choices``, of the
    rows of ``benchmark``; ``overwrite`` replaces an existing file, changed files in the folder, and the same config of
    another benchmark. README.md shows the paragraphs ``note`` and ``measured`` (shortcuts before and after), the
    ``hashes`` of the rows by split, and what ``changed``, a key of CHANGES.

    Yields:
        The new file or folder, and the paths of its files.
    """
    check_output(benchmark.path, output, overwrite)
    if benchmark.path is not None and is_single_file(benchmark.path, output):
        content = file_content(benchmark.path, pa.concat_tables(tables.values(), promote_options="default"), output)
        with new_file(output, content, overwrite) as new:
            yield new, [output]
        return
    config = check_config(benchmark, output, config, overwrite)
    with new_folder(output, REMEDIED, overwrite) as new:
        splits, features, missing = {}, {}, []
        kept = _keep_images(benchmark.path, config, new.tree)
        for split, table in tables.items():
            of_split, unread = benchmark.splits[split], dict[str, str]()
            rows = _image_rows(table, of_split, bool(kept))
            features[split] = features_of(rows)
            images = of_split.images or Images((), split, benchmark.allowed)
            fill = partial(_with_files, rows, images.content, unread)
            sample = fill(0, SAMPLE)
            size = rows.nbytes + sample.nbytes * rows.num_rows // max(sample.num_rows, 1)
            splits[split] = write_split(new.tree / config, split, features[split], rows.num_rows, size, fill)
            if unread:
                some = f"{len(unread):,} images of {split} could not be read and remain paths"
                missing.append(f"{some}, e.g. {next(iter(unread.values()))}")
                warnings.warn(missing[-1], stacklevel=3)
            elif of_split.images is None and of_split.image_columns:
                missing.append(of_split.images_missing)
        missing = without_folders(missing, *map(str, benchmark.allowed.folders))
        note = " ".join([note, *(f"{one}." for one in missing)]).strip()
        entry = {
            **_about(benchmark, config, note, changed),
            **measures(config, splits),
            "row_hashes": {split: asdict(found) for split, found in (hashes or {}).items()},
            "features": json.dumps(next(iter(features.values())).to_dict()),
            "missing_images": missing,
            **({"measured": measured} if measured else {}),
        }
        made = {config: entry, **kept}

        def keep(old: Path | None, names: list[str]) -> None:
            check_config(benchmark, output, config, overwrite)
            before = _inventory(old)
            configs, default = {**before.get("configs", {}), **made}, before.get("default", config)
            inventory = {"written_by": WRITTEN_BY, "layout": LAYOUT, "sources": {}, "default": default}
            inventory["configs"] = dict(sorted(configs.items()))
            text = inventory_text(inventory)
            (new.tree / INVENTORY).write_text(text, "utf-8")
            (new.tree / CARD).write_text(_folder_card(json.loads(text)), "utf-8")
            (new.tree / CROISSANT).write_text(croissant(inventory), "utf-8")
            if old:
                carry_over(old, new.tree, names, leave_out=made.keys())

        new.keep = keep
        files = (name for one in made.values() for name in one["files"])
        yield new, [output / name for name in (CARD, INVENTORY, CROISSANT, *files)]


def write_benchmark(*arguments: Any, **options: Any) -> list[Path]:  # noqa: ANN401
    """Write a benchmark as `staged_benchmark` does, publish it, and return its files."""
    return publish(staged_benchmark(*arguments, **options))
