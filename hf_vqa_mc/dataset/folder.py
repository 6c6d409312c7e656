"""The dataset folder, which ``load_dataset`` reads from disk and which can be uploaded to the Hub unchanged."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow.parquet import ParquetFile

from hf_vqa_mc.data.inventory import (
    IMAGES,
    INVENTORY,
    Inventory,
    configs_of,
    inventory_text,
    read_inventory,
    row_hashes,
    with_source,
)
from hf_vqa_mc.data.shards import WrittenSplit, measures, write_split, write_stream
from hf_vqa_mc.data.stored_images import ROWS_PER_GROUP, ImageFiles
from hf_vqa_mc.dataset.card import CARD, card, config_features
from hf_vqa_mc.dataset.croissant import CROISSANT, croissant
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import carry_over, new_folder
from hf_vqa_mc.io.outputs import Entry, FolderKind, sha256_of
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.open_ended import Reading

if TYPE_CHECKING:
    from hf_vqa_mc.decoys.variants import BuiltVariant


def downloaded(folder: Path, key: str) -> dict[str, Entry] | None:
    """The files of a folder from the Hub, which has no manifest; None without ``key`` in its inventory."""
    inventory = read_inventory(folder)
    if inventory is None or not inventory.get(key):
        return None
    listed = {name: sha256 for config in configs_of(inventory).values() for name, sha256 in config["files"].items()}
    names = (*listed, CARD, CROISSANT, INVENTORY)
    found = {name: folder / name for name in names if (folder / name).is_file()}
    return {name: (path.stat().st_size, listed.get(name) or sha256_of(path)) for name, path in found.items()}


BUILT = FolderKind("vqa-mc build", unlisted=partial(downloaded, key="sources"))  # output of vqa-mc build


def write_folder(
    output: Path,
    source: str,
    variants: "Iterable[BuiltVariant]",
    *,
    about: Mapping[str, Any],
    made_with: Mapping[str, Any],
    part_configs: Mapping[str, Mapping[str, Any]] | None = None,
    copy_parts: Callable[[Path], None] = lambda tree: None,
    open_ended: Iterable[Reading] = (),
    images: ImageFiles | None = None,
    embed_images: bool = False,
    overwrite: bool = False,
    progress: Progress = silent,
) -> Inventory:
    """Write a source's configs, called ``<source>_<variant>``, into the dataset folder atomically; return its content.

    In an existing folder the source's configs are replaced; its images and other sources' configs are kept. Equal rows
    give equal bytes. Each variant is written before the next is requested. ``part_configs`` are entries of the
    inventory by variant, whose files ``copy_parts`` puts into the new folder. ``images`` add the config
    ``<source>_images``, or with ``embed_images`` the column ``image``. With ``overwrite``, changed files are replaced
    and files that no command wrote are kept; otherwise they raise InputError.
    """
    inventory: Inventory = {}
    with new_folder(output, BUILT, overwrite) as new:
        configs = {f"{source}_{name}": dict(entry) for name, entry in (part_configs or {}).items()}
        copy_parts(new.tree)
        for variant in variants:
            name = f"{source}_{variant.name}"
            configs[name] = write_variant(new.tree, name, variant, images if embed_images else None, progress)
        for reading in open_ended:
            configs[reading.config.name] = _write_open_ended(new.tree, reading, progress)
        if images and not embed_images:
            configs[f"{source}_{IMAGES}"] = _write_images(new.tree, f"{source}_{IMAGES}", images, progress)
        entry = {"about": dict(about), "made_with": dict(made_with), "configs": configs}

        def keep(old: Path | None, names: list[str]) -> None:
            before = read_inventory(old) if old else None
            inventory.update(with_source(before, source, entry))
            if before and old:
                removed = set(configs_of(before)) - set(configs_of(inventory))
                carry_over(old, new.tree, names, leave_out={CARD, CROISSANT, INVENTORY, *removed})
            (new.tree / INVENTORY).write_text(inventory_text(inventory), "utf-8")
            (new.tree / CARD).write_text(card(inventory), "utf-8")
            (new.tree / CROISSANT).write_text(croissant(inventory), "utf-8")

        new.keep = keep
        new.publish()
    return inventory


def copy_source(folder: Path, source: str, output: Path, overwrite: bool = False) -> Inventory:
    """Copy a source's configs from one dataset folder into another, as if built there."""
    inventory = read_inventory(folder)
    if inventory is None or source not in inventory["sources"]:
        raise InputError(f"{folder}: vqa-mc build did not write this folder, or it does not hold {source}")
    about, made_with, configs = (inventory["sources"][source][key] for key in ("about", "made_with", "configs"))

    def copy(tree: Path) -> None:
        for name in configs:
            shutil.copytree(folder / name, tree / name)

    found = {name.removeprefix(f"{source}_"): config for name, config in configs.items()}
    return write_folder(
        output, source, (), about=about, made_with=made_with, part_configs=found, copy_parts=copy, overwrite=overwrite
    )


def write_variant(
    tree: Path, name: str, variant: "BuiltVariant", embedded: ImageFiles | None = None, progress: Progress = silent
) -> dict[str, Any]:
    """Write a variant's rows into the folder of its config; returns the config's entry in the inventory."""
    about = {"variant": variant.name, "embedded_images": embedded is not None}
    features = config_features(about)
    wrote = _counter(progress, f"writing {name}", sum(table.num_rows for table in variant.splits.values()))
    splits: dict[str, WrittenSplit] = {}
    for split, table in variant.splits.items():
        images = table["image_id"].to_pylist() if embedded else []
        size = table.nbytes + sum(embedded.sizes[image_id] for image_id in images if embedded)
        rows = partial(_slice, table, embedded)
        splits[split] = write_split(tree / name, split, features, table.num_rows, size, rows, wrote=wrote)
    hashes = {split: asdict(row_hashes(table)) for split, table in variant.splits.items()}
    found = {"row_hashes": hashes, "statistics": dict(variant.statistics), "example": _example(variant.splits)}
    return {**about, **measures(name, splits), **found}


def _write_images(tree: Path, name: str, images: ImageFiles, progress: Progress) -> dict[str, Any]:
    """Write the images as one split, so that an image with questions in several splits is stored once."""
    about, sizes = {"variant": IMAGES}, (len(images.paths), sum(images.sizes.values()))
    wrote, features = _counter(progress, f"writing {name}", len(images.paths)), config_features(about)
    written = write_split(tree / name, IMAGES, features, *sizes, images.rows, group_rows=ROWS_PER_GROUP, wrote=wrote)
    return {**about, **measures(name, {IMAGES: written})}


def _write_open_ended(tree: Path, reading: Reading, progress: Progress) -> dict[str, Any]:
    """Write a config; features and example row are JSON text in its entry, as the inventory sorts its own keys."""
    from datasets import Features

    config = reading.config
    features = Features.from_arrow_schema(config.schema)
    wrote = _counter(progress, f"writing {config.name}", sum(config.expected_counts.values()), is_known=False)
    written: dict[str, WrittenSplit] = {}
    example: dict[str, Any] = {}
    for split in reading.splits:
        rows = write_stream(tree / config.name, split, features, reading.tables(split), wrote=wrote)
        if rows.files:
            written[split] = rows
            (first,) = next(ParquetFile(tree / config.name / min(rows.files)).iter_batches(1)).to_pylist()
            if not example or first.get("answer"):  # the last split with answers
                example = {"split": split, "row": json.dumps(first, ensure_ascii=False)}
    statistics = reading.statistics()
    rows_written = sum(one.rows for one in written.values())
    progress(f"writing {config.name}", rows_written, rows_written)
    return {
        "variant": config.word,
        "embedded_images": False,
        "open_ended": {
            "description": config.description,
            "columns": list(map(list, config.columns.items())),
            "features": json.dumps(features.to_dict()),
            "before": config.before,
        },
        **measures(config.name, written),
        "statistics": statistics,
        "example": example,
    }


def _slice(table: pa.Table, embedded: ImageFiles | None, start: int, stop: int) -> pa.Table:
    part = table.slice(start, stop - start)
    return part.append_column("image", embedded.stored(part["image_id"].to_pylist())) if embedded else part


def _counter(progress: Progress, step: str, total: int, is_known: bool = True) -> Callable[[int], None]:
    done = 0

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        progress(step, done, total if is_known else max(total, done + 1))

    return wrote


def _example(splits: Mapping[str, pa.Table]) -> dict[str, Any]:
    """A row for the card: the first without fallbacks among the last split's first 1,000, else the first."""
    split = [split for split in SPLITS if split in splits][-1]
    rows = splits[split].slice(0, 1000)
    fallbacks = rows["choice_fallback"].to_pylist()
    chosen = next((position for position, marks in enumerate(fallbacks) if not any(marks)), 0)
    row: dict[str, Any] = rows.slice(chosen, 1).to_pylist()[0]
    return {"split": split, **row}
