"""Dataset folders with configs, as ``load_dataset`` reads them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml


def write_configs(folder: Path, configs: Mapping[str, Mapping[str, pa.Table | Iterable[dict[str, Any]]]]) -> Path:
    """Write the rows of each split of each config, and a card that names them."""
    for config, splits in configs.items():
        (folder / config).mkdir(parents=True, exist_ok=True)
        for split, rows in splits.items():
            table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(list(rows))
            pq.write_table(table, folder / config / f"{split}-00000.parquet")
    listed = [
        {"config_name": config, "data_files": [{"split": one, "path": f"{config}/{one}-*.parquet"} for one in splits]}
        for config, splits in configs.items()
    ]
    (folder / "README.md").write_text(f"---\n{yaml.safe_dump({'configs': listed}, sort_keys=False)}---\n")
    return folder


def write_vectors(path: Path, words: Sequence[str], dim: int, seed: int = 0) -> Path:
    """Write a GloVe file of random vectors."""
    rows = np.random.default_rng(seed).normal(size=(len(words), dim)).round(3).tolist()
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, rows, strict=True)))
    return path
