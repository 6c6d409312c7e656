"""Open-ended configs: their files and inventory entries, written while they are read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from datasets import Features

from hf_vqa_mc.dataset.shards import WrittenSplit, measures, write_stream
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.sources.open_ended import Reading


def write_open_ended(tree: Path, reading: Reading, progress: Progress) -> dict[str, Any]:
    """Write a config's files below a folder.

    Returns:
        Its inventory entry; features and example row are JSON text, as the inventory sorts its own keys.

    Raises:
        InputError: a file is malformed, or the config is empty.
    """
    config = reading.config
    features = Features.from_arrow_schema(config.schema)
    step, done = f"writing {config.name}", 0
    expected = sum(config.expected_counts.values())

    def wrote(rows: int) -> None:
        nonlocal done
        done += rows
        progress(step, done, max(expected, done + 1))  # the total is not known in advance

    written: dict[str, WrittenSplit] = {}
    example: dict[str, Any] = {}
    for split in reading.splits:
        first: list[pa.Table] = []
        rows = write_stream(
            tree / config.name, split, features, _keep_first(reading.tables(split), first), wrote=wrote
        )
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
        **measures(config.name, written),
        "statistics": statistics,
        "example": example,
    }


def _keep_first(tables: Iterator[pa.Table], first: list[pa.Table]) -> Iterator[pa.Table]:
    """The tables unchanged; the first row of all is appended to ``first``."""
    for table in tables:
        if not first and table.num_rows:
            first.append(table.slice(0, 1))
        yield table
