"""Sources whose files are written by ``vqa-mc generate``: in the publisher's layout, but with other questions."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.sources.source import Source

STATISTICS = "statistics.json"
"""The file that identifies a generated folder."""
BY_HASH = "by hash"
"""Marks the images of a generated TDIUC whose subset no file gives, so that a hash chose it."""


def generated_by(folder: Path) -> dict[str, Any] | None:
    """The statistics of a generated folder, with ``engine`` and ``version``; None if no engine of ours wrote it."""
    try:
        found = json.loads((folder / STATISTICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("engine"), str) else None


def has_true_subsets(folder: Path) -> bool:
    """Whether all of COCO's images are in their own subset of 2014, as in the published dataset."""
    found = generated_by(folder)
    if found is None:
        return True
    counts = found.get("images_by_split")
    return isinstance(counts, dict) and not any(f", {BY_HASH}, " in one and "genome" not in one for one in counts)


def as_found(source: Source, data_dir: Path | None) -> Source:
    """The source itself; if its files were generated, with another title, licence and size."""
    found = generated_by(data_dir.expanduser()) if data_dir is not None else None
    if found is None or found["engine"] != source.name:
        return source
    return replace(
        source,
        title=f"{source.title.split(' (')[0]}-style questions, generated",
        description=f"Questions in the manner of {source.title}, but not its own: vqa-mc generate {source.name} "
        f"(version {found.get('version', 'unknown')}) made them from image annotations, by the procedure of the paper "
        f"cited below. They are scored as {source.title} is; what is published of that dataset is not true of them. "
        "The dataset itself:",
        licence="that of the annotations they were made from",
        image_hint="those that were annotated.",
        expected_counts={},
        expected_total=None,
        downloads=(),
        open_ended=tuple(replace(config, expected_counts={}) for config in source.open_ended),
    )
