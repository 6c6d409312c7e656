"""Open-ended configs: which a build makes, and their files and entries in the folder, written as they are read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Features

from hf_vqa_mc.dataset.shards import WrittenSplit, write_stream
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.sources.open_ended import Reading


def write_open_ended(tree: Path, reading: Reading, progress: Progress) -> dict[str, Any]:
    """Write a config's files below a folder.

    Returns:
        Its entry in the inventory; features and example row are JSON as text, as the inventory sorts its own keys.

    Raises:
        InputError: a file is malformed, or nothing is left of the config.
    """
    config = reading.config
    features = Features.from_arrow_schema(config.schema)
    step, done = f"writing {config.name}", 0
    expected = sum(config.expected_counts.values())

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        progress(step, done, max(expected, done + 1))  # how many there will be is not known

    written: dict[str, WrittenSplit] = {}
    example: dict[str, Any] = {}
    for split in reading.splits:
        first: list[pa.Table] = []
        tables = _remembering(reading.tables(split), first)
        rows = write_stream(tree / config.name, split, features, tables, wrote=wrote)
        if first:
            written[split] = rows
            example = {"split": split, "row": json.dumps(first[0].to_pylist()[0], ensure_ascii=False)}
    statistics = reading.statistics()
    progress(step, done, done)
    return {
        "variant": config.word,
        "embedded_images": False,
        "open_ended": {
            "description": config.description,
            "columns": [list(column) for column in config.columns.items()],
            "features": json.dumps(features.to_dict()),
            "before": config.before,
        },
        "splits": {split: {"rows": s.rows, "num_bytes": s.num_bytes} for split, s in written.items()},
        "files": {f"{config.name}/{file}": sha256 for s in written.values() for file, sha256 in s.files.items()},
        "file_bytes": sum(s.file_bytes for s in written.values()),
        "statistics": statistics,
        "example": example,
    }


def _remembering(tables: Iterator[pa.Table], first: list[pa.Table]) -> Iterator[pa.Table]:
    """The tables; the first row of the first that has one is kept."""
    for table in tables:
        if not first and table.num_rows:
            first.append(table.slice(0, 1))
        yield table
