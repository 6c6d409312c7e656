"""A source whose files ``vqa-mc generate`` wrote: in the publisher's layout, but not the publisher's questions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.sources.source import Source

STATISTICS = "statistics.json"
"""The file by which a generated folder is known."""
BY_HASH = "by hash"
"""How a generated TDIUC says of images that no file told their subset, and a hash chose it."""


def generated_by(folder: Path) -> dict[str, Any] | None:
    """What a generated folder tells of itself, with ``engine`` and ``version``; None if no engine of ours wrote it."""
    try:
        told = json.loads((folder / STATISTICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get("engine"), str) else None


def tells_subsets(folder: Path) -> bool:
    """Whether COCO's images are all in the subset of 2014 that they are of, as in what is published."""
    told = generated_by(folder)
    if told is None:
        return True
    counts = told.get("images_by_split")
    return isinstance(counts, dict) and not any(f", {BY_HASH}, " in one and "genome" not in one for one in counts)


def as_found(source: Source, data_dir: Path | None) -> Source:
    """The source itself, or what it is where its files were generated: of another title, licence and size."""
    told = generated_by(data_dir.expanduser()) if data_dir is not None else None
    if told is None or told["engine"] != source.name:
        return source
    return replace(
        source,
        title=f"{source.title.split(' (')[0]}-style questions, generated",
        description=f"Questions in the manner of {source.title}, but not its own: vqa-mc generate {source.name} "
        f"(version {told.get('version', 'unknown')}) made them from image annotations, by the procedure of the paper "
        f"cited below. They are scored as {source.title} is; what is published of that dataset is not true of them. "
        "The dataset itself:",
        licence="that of the annotations they were made from",
        image_hint="those that were annotated.",
        expected_counts={},
        expected_total=None,
        downloads=(),
        open_ended=tuple(replace(config, expected_counts={}) for config in source.open_ended),
    )
