"""``statistics.json``: the content of a built folder and how it was made, for people, programs and the next build.

::

    {"written_by": "hf_vqa_mc", "layout": 1, "default": "cocoqa_iou_qou",
     "sources": {"cocoqa": {"about": {title, description, homepage, licence, citation, image_hint},
                            "made_with": {version, decoys, settings, word_vectors, triplets, embedded_images},
                            "configs": {"cocoqa_iou": {...}, "cocoqa_images": {...}}}}}

A config has ``variant``, ``splits`` (rows and Arrow bytes), ``files`` (with their sha256), ``file_bytes``, and, except
for images, ``statistics`` and ``example`` (a row); a multiple-choice one has ``row_hashes``: those of `RowHashes` by
split. An open-ended config also has ``open_ended`` (description, columns,
features as JSON text, before).

A folder of ``vqa-mc remedy`` has no sources but ``configs``: each with ``splits``, ``files``, ``file_bytes`` and
``row_hashes``, its published ``dataset`` and ``config``, ``features`` as JSON text, ``missing_images`` (why images are
only paths, which prevents a push), ``title`` and ``text`` for the card, and, if it was made from a built folder,
``about`` of its sources by name.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import read_json

HASHED = ("question", "choices", "label")  # the columns of a row's hash
CANARY = uuid.UUID("6f2f1e0c-6f4b-5c55-9a6a-3d7f6f5b8c11")  # namespace of canary strings


@dataclass(frozen=True)
class RowHashes:
    """The hashes of a split, as hexadecimal digits."""

    rows: int
    content: str  # sha256 of the sorted hashes of the rows: the same in any order
    order: str  # sha256 of the hashes of the rows in their order


def row_hashes(table: pa.Table) -> RowHashes:
    """Hash the rows of a split: each as the sha256 of the JSON list [question, choices, label], UTF-8, without spaces.

    >>> rows = pa.table({"question": ["a?", "b?"], "choices": [["c", "d"]] * 2, "label": [0, 1]})
    >>> first, second = row_hashes(rows), row_hashes(rows.take([1, 0]))
    >>> first.content == second.content, first.order == second.order
    (True, False)
    """
    hashes = bytearray()  # 32 bytes per row, where a list would take thrice as many
    for batch in table.select(HASHED).to_batches(10_000):
        for question, choices, label in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            # as json.dumps, which takes 2.5 times as long
            text = f"[{quoted(question)},[{','.join(map(quoted, choices))}],{label}]"
            hashes += hashlib.sha256(text.encode()).digest()
    ordered = np.sort(np.frombuffer(hashes, "S32")).tobytes()
    return RowHashes(table.num_rows, hashlib.sha256(ordered).hexdigest(), hashlib.sha256(hashes).hexdigest())


def canary(hashes: Iterable[str]) -> str:
    """The canary string of a dataset with these hashes, in any order: by it, training corpora can be filtered.

    >>> canary(["b", "a"]) == canary(["a", "b"]), canary(["a"])
    (True, 'hf_vqa_mc:981efccb-9474-5f7a-8cc9-59e41f2ab005')
    """
    return f"hf_vqa_mc:{uuid.uuid5(CANARY, ''.join(sorted(hashes)))}"


INVENTORY = "statistics.json"
WRITTEN_BY = "hf_vqa_mc"
LAYOUT = 1  # version of the format; increased when earlier versions of the package can no longer add to a folder
IMAGES = "images"  # variant of the config <source>_images, which holds the images
PREFERRED = "iou_qou"  # variant of a folder's default config if available; the paper's main one

Inventory = dict[str, Any]


def read_inventory(folder: Path) -> Inventory | None:
    """The inventory of a folder, None if vqa-mc build did not write it; raises InputError for a newer layout."""
    try:
        inventory = read_json(folder / INVENTORY)
    except (OSError, ValueError):
        return None
    if not isinstance(inventory, dict) or inventory.get("written_by") != WRITTEN_BY:
        return None
    if inventory["layout"] > LAYOUT:
        raise InputError(f"{folder}: a newer hf_vqa_mc wrote this folder; upgrade with pip install -U hf_vqa_mc")
    return inventory


def inventory_text(inventory: Inventory) -> str:
    """The content of ``statistics.json``; equal inventories give equal text."""
    return json.dumps(inventory, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def with_source(old: Inventory | None, source: str, entry: dict[str, Any]) -> Inventory:
    """An inventory with a source's entry (about, made_with, configs) replaced; images and other sources are kept."""
    sources = dict(old["sources"]) if old else {}
    before = sources.get(source, {"configs": {}})["configs"]
    kept = {name: config for name, config in before.items() if name == f"{source}_{IMAGES}"}
    sources[source] = {**entry, "configs": {**kept, **entry["configs"]}}
    inventory = {"written_by": WRITTEN_BY, "layout": LAYOUT, "sources": dict(sorted(sources.items()))}
    default = str((old or {}).get("default"))
    if not default.endswith(f"_{PREFERRED}") or default not in configs_of(inventory):
        default = _default(sources[source]["configs"], source)
    return {**inventory, "default": default}


def configs_of(inventory: Inventory) -> dict[str, dict[str, Any]]:
    """All configs, of sources and of remedied benchmarks, sorted by name."""
    found = {name: config for entry in inventory["sources"].values() for name, config in entry["configs"].items()}
    return dict(sorted({**found, **inventory.get("configs", {})}.items()))


def about_sources(inventory: Inventory) -> dict[str, dict[str, str]]:
    """The declarations of the sources by name; of remedied benchmarks as far as they are known."""
    found = {name: entry["about"] for name, entry in inventory["sources"].items()}
    for config in inventory.get("configs", {}).values():
        found |= config.get("about", {})
    return dict(sorted(found.items()))


def canary_of(inventory: Inventory) -> str:
    """The canary string of a folder: it depends on the rows, or where none is multiple-choice on the files."""
    configs = configs_of(inventory).values()
    rows = [split["content"] for config in configs for split in config.get("row_hashes", {}).values()]
    return canary(rows or [sha256 for config in configs for sha256 in config["files"].values()])


def is_open(config: dict[str, Any]) -> bool:
    """Whether a config is open-ended: questions without choices."""
    return "open_ended" in config


def _default(configs: dict[str, dict[str, Any]], source: str) -> str:
    if (preferred := f"{source}_{PREFERRED}") in configs:
        return preferred
    names = [name for name, config in configs.items() if config["variant"] != IMAGES]
    unbalanced = {config["open_ended"]["before"] for config in configs.values() if is_open(config)}
    return min(names or configs, key=lambda name: (is_open(configs[name]), name in unbalanced, name))
