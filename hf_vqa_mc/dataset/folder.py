"""The artefact: a folder that ``load_dataset`` reads from the disk and that goes to the Hub as it is."""

import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from hf_vqa_mc.dataset.card import CARD, card
from hf_vqa_mc.dataset.features import embedded_features, image_features, multiple_choice_features
from hf_vqa_mc.dataset.image_files import ImageFiles
from hf_vqa_mc.dataset.inventory import (
    IMAGES,
    INVENTORY,
    PREVIEW,
    Inventory,
    pictured,
    read_inventory,
    with_source,
    write_inventory,
)
from hf_vqa_mc.dataset.open_ended import write_open_ended
from hf_vqa_mc.dataset.shards import WrittenSplit, write_split
from hf_vqa_mc.dataset.stored_images import ROWS_PER_GROUP
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import atomic_folder
from hf_vqa_mc.io.atomic_folder import FolderKind, Place, carry_over
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.open_ended import Reading

BUILT = FolderKind("vqa-mc build", INVENTORY, lambda folder: read_inventory(folder) is not None)
"""What ``vqa-mc build`` and ``vqa-mc remedy`` write, and the only folders that they replace."""


class BuiltVariant(Protocol):
    """What ``variants.build_variants`` yields."""

    @property
    def name(self) -> str:
        """Such as ``iou_qou``."""

    @property
    def splits(self) -> Mapping[str, pa.Table]:
        """Split name to rows, ``schema.MULTIPLE_CHOICE``."""

    @property
    def statistics(self) -> Mapping[str, Any]:
        """JSON-ready."""


def write_folder(
    output: Path,
    source: str,
    variants: Iterable[BuiltVariant],
    *,
    about: Mapping[str, Any],
    made_with: Mapping[str, Any],
    open_ended: Iterable[Reading] = (),
    images: ImageFiles | None = None,
    embed_images: bool = False,
    progress: Progress = silent,
) -> Inventory:
    """Write a source's configs into the dataset folder, all of them or nothing.

    Where the folder exists the source's configs in it are replaced, and other sources' configs and the source's images
    are kept. The same rows give the same bytes.

    Args:
        output: the dataset folder, such as ``vqa_mc``.
        source: name of the source; configs are called ``<source>_<variant>``.
        variants: the rows, each written before the next is asked for.
        about: what the card says of the source (title, description, homepage, licence, citation, image_hint).
        made_with: settings and versions, for the card.
        open_ended: the open-ended configs, each read as it is written.
        images: the image files; adds the config ``<source>_images``, or the column ``image`` with ``embed_images``.
        embed_images: write the images into every row instead.
        progress: told (step, done, total) as rows are written.

    Returns:
        What the folder now holds, as in its ``statistics.json``.

    Raises:
        InputError: the output is not a folder of ours, and is left alone; or an open-ended config cannot be read.
        OSError: it cannot be written (disk full, no permission); nothing is left behind.
    """

    def fill(tree: Path) -> dict[str, Any]:
        configs = {}
        for variant in variants:
            name = f"{source}_{variant.name}"
            configs[name] = _write_variant(tree, name, variant, images if embed_images else None, progress)
        for reading in open_ended:
            configs[reading.config.name] = write_open_ended(tree, reading, progress)
        if images and not embed_images:
            configs[f"{source}_{IMAGES}"] = _write_images(tree, f"{source}_{IMAGES}", images, progress)
        return {"about": dict(about), "made_with": dict(made_with), "configs": configs}

    return _publish_source(output, source, fill)


def copy_source(folder: Path, source: str, output: Path) -> Inventory:
    """Copy a source's configs from one dataset folder into another, as if it were built there."""
    inventory = read_inventory(folder)
    if inventory is None or source not in inventory["sources"]:
        raise InputError(f"{folder}: vqa-mc build did not write this folder, or it does not hold {source}")
    entry: dict[str, Any] = inventory["sources"][source]

    def fill(tree: Path) -> dict[str, Any]:
        for name in entry["configs"]:
            shutil.copytree(folder / name, tree / name)
        return entry

    return _publish_source(output, source, fill)


def check_output(output: Path) -> None:
    """Raise InputError unless nothing is there yet (in an existing folder), an empty folder, or one of ours."""
    atomic_folder.check_output(output, BUILT)


def written_beside(output: Path) -> AbstractContextManager[Place]:
    """A hidden folder in which to write a new tree for ``output``; what is not published by the end is removed.

    Raises:
        InputError: as ``check_output``.
        OSError: the disk is full or not writable; the output is as it was.
    """
    return atomic_folder.written_beside(output, BUILT)


def _publish_source(output: Path, source: str, fill: Callable[[Path], dict[str, Any]]) -> Inventory:
    """Write a source's configs into a new tree; replace the output by it, with what it keeps of the old one.

    Args:
        output: the dataset folder.
        source: its name.
        fill: writes the configs into a folder; gives the source's entry in the inventory.
    """
    with written_beside(output) as place:
        entry = fill(place.tree)
        inventory: Inventory = {}

        def complete(old: Path | None) -> None:
            before = read_inventory(old) if old else None
            inventory.update(with_source(before, source, entry))
            if before and old:
                gone = before["sources"].get(source, {"configs": {}})["configs"].keys()
                kept = inventory["sources"][source]["configs"].keys()
                outdated = {PREVIEW} if pictured(before) and not pictured(inventory) else set()
                carry_over(old, place.tree, leave_out={CARD, INVENTORY, *outdated, *(gone - kept)})
            write_inventory(place.tree, inventory)
            (place.tree / CARD).write_text(card(inventory), "utf-8")

        place.publish(complete)
    return inventory


def _write_variant(
    tree: Path, name: str, variant: BuiltVariant, embedded: ImageFiles | None, progress: Progress
) -> dict[str, Any]:
    features = embedded_features() if embedded else multiple_choice_features()
    total = sum(table.num_rows for table in variant.splits.values())
    splits: dict[str, WrittenSplit] = {}
    for split in SPLITS:
        if split in variant.splits:
            table = variant.splits[split]
            before = sum(written.rows for written in splits.values())
            splits[split] = write_split(
                tree / name,
                split,
                features,
                table.num_rows,
                table.nbytes + (_image_bytes(table, embedded) if embedded else 0),
                _slices(table, embedded),
                wrote=_counter(progress, f"writing {name}", before, total),
            )
    config = {"variant": variant.name, "embedded_images": embedded is not None, **_measures(name, splits)}
    return {**config, "statistics": dict(variant.statistics), "example": _example(variant.splits)}


def _write_images(tree: Path, name: str, images: ImageFiles, progress: Progress) -> dict[str, Any]:
    """One split for all: an image asked about in several splits is there once and found from each of them."""
    written = write_split(
        tree / name,
        IMAGES,
        image_features(),
        len(images.paths),
        images.total_bytes,
        images.rows,
        group_rows=ROWS_PER_GROUP,
        wrote=_counter(progress, f"writing {name}", 0, len(images.paths)),
    )
    return {"variant": IMAGES, **_measures(name, {IMAGES: written})}


def _slices(table: pa.Table, embedded: ImageFiles | None) -> Callable[[int, int], pa.Table]:
    def rows(start: int, stop: int) -> pa.Table:
        part = table.slice(start, stop - start)
        return embedded.beside(part) if embedded else part

    return rows


def _image_bytes(table: pa.Table, embedded: ImageFiles) -> int:
    sizes = {image_id: path.stat().st_size for image_id, path in embedded.paths.items()}
    return sum(sizes[image_id] for image_id in table["image_id"].to_pylist())


def _counter(progress: Progress, step: str, before: int, total: int) -> Callable[[int], None]:
    done = before

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        progress(step, done, total)

    return wrote


def _measures(name: str, splits: Mapping[str, WrittenSplit]) -> dict[str, Any]:
    return {
        "splits": {split: {"rows": s.rows, "num_bytes": s.num_bytes} for split, s in splits.items()},
        "files": {f"{name}/{file}": sha256 for s in splits.values() for file, sha256 in s.files.items()},
        "file_bytes": sum(s.file_bytes for s in splits.values()),
    }


def _example(splits: Mapping[str, pa.Table]) -> dict[str, Any]:
    """A row for the card: the last split's first without fall-backs among the first thousand, else its first."""
    split = [split for split in SPLITS if split in splits][-1]
    rows = splits[split].slice(0, 1000)
    fallbacks = rows["choice_fallback"].to_pylist()
    chosen = next((position for position, marks in enumerate(fallbacks) if not any(marks)), 0)
    row: dict[str, Any] = rows.slice(chosen, 1).to_pylist()[0]
    return {"split": split, **row}
