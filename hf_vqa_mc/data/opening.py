"""Open a benchmark's splits as tables from a file, a folder, the Hub or memory."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hf_vqa_mc.data.files import EXPECTED, file_form, frame_table, read_file, split_of, splits_of
from hf_vqa_mc.data.loading import check_has_choices, load_splits, revision_of
from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True)
class Opened:
    """All splits as raw tables, with all columns, and their locations for messages."""

    name: str  # name given by the user; for an object in memory its own name
    config: str | None
    tables: dict[str, pa.Table]
    locations: dict[str, str]
    path: Path | None = None  # the file or folder; None on the Hub or in memory
    splits: "Mapping[str, Dataset]" = field(default_factory=dict)  # empty for a file or a data frame
    location: str | None = None  # argument of load_dataset; None for files and objects in memory
    revision: str | None = None  # commit of a dataset on the Hub

    @property
    def first(self) -> "Dataset | None":
        """The first split; None for a file or a data frame."""
        return next(iter(self.splits.values()), None)

    @property
    def base(self) -> Path | None:
        """The folder to which paths in the rows are relative."""
        return self.path if self.path is None or self.path.is_dir() else self.path.parent


def open_tables(dataset: object, config: str | None, *, open_ended: bool = False, expected: str = EXPECTED) -> Opened:
    """Open a file, folder, Hub dataset, `datasets.Dataset`, DatasetDict, data frame, records or remedy's result."""
    if not isinstance(dataset, str | Path):
        return _in_memory(dataset, config, open_ended)
    path, dataset = Path(dataset), str(dataset)
    if path.is_file():
        if config is not None:
            raise InputError(f"{dataset} is a file, which has no configs; remove {config!r}")
        return Opened(dataset, None, *splits_of(read_file(path), dataset, split_of(path.name)), path.absolute())
    config, splits = load_splits(dataset, config, expected)
    folder = path.absolute() if path.is_dir() else None
    if folder and {name for rows in splits.values() for name in rows.column_names} <= {"image", "label"}:
        for file in sorted(one for one in folder.iterdir() if file_form(one)):
            raise InputError(f"{dataset} was read as a folder of images without questions; give {path / file.name}")
    opened = _opened(dataset, config, f"{dataset}, {config}", splits, open_ended)
    return replace(opened, path=folder, location=dataset, revision=None if folder else revision_of(splits))


def _in_memory(dataset: object, config: str | None, open_ended: bool) -> Opened:
    import pandas as pd
    from datasets import Dataset

    if config is not None:
        raise InputError(f"a dataset in memory has no configs; remove {config!r}")
    if not isinstance(dataset, pd.DataFrame):
        dataset = getattr(dataset, "dataset", dataset)  # of a remedy
    if isinstance(dataset, list) and all(isinstance(row, Mapping) for row in dataset):
        dataset = pd.DataFrame(dataset, dtype=object)
    if isinstance(dataset, pd.DataFrame):
        return Opened("dataset", None, *splits_of(frame_table(dataset), "the data frame", "test"))
    if not isinstance(dataset, Mapping):  # "train" for "train[:100]"; "test" if unnamed
        split = re.split(r"\W", str(getattr(dataset, "split", None) or "test"))[0]
        dataset = {split or "test": dataset}
    if dataset and all(isinstance(rows, pd.DataFrame) for rows in dataset.values()):
        tables = {str(name): frame_table(frame) for name, frame in dataset.items()}
        return Opened("dataset", None, tables, {name: f"the data frame, {name}" for name in tables})
    for rows in dataset.values():
        if not isinstance(rows, Dataset):
            kind = type(rows).__name__
            raise InputError(f"found a {kind}; expected a Dataset, a DatasetDict, a data frame, records, {EXPECTED}")
    if not dataset:
        raise InputError("the DatasetDict has no splits")
    info = next(iter(dataset.values())).info
    name, config = info.dataset_name or "dataset", info.config_name
    return _opened(name, None if config == "default" else config, name, dataset, open_ended)


def _opened(name: str, config: str | None, prefix: str, found: Mapping[Any, Any], open_ended: bool) -> Opened:
    tables, splits = {}, {str(split): rows for split, rows in found.items()}
    for split, rows in splits.items():
        if not open_ended:
            check_has_choices(rows.column_names, name, config)
        table = rows.data.table if rows._indices is None else rows.with_format("arrow")[:]  # images undecoded
        tables[split] = table.replace_schema_metadata(rows.features.arrow_schema.metadata)
    return Opened(name, config, tables, {split: f"{prefix}, {split}" for split in tables}, splits=splits)


def check_text(table: pa.Table, location: str) -> None:
    """Raise InputError unless all texts of a table are UTF-8; names the first invalid row and column."""
    for name in table.column_names:
        try:
            table[name].validate(full=True)
        except pa.ArrowInvalid as error:
            row = 0
            with contextlib.suppress(UnicodeDecodeError):
                for cell in table[name]:
                    cell.as_py()
                    row += 1
            where = location if row == table.num_rows else f"{location}, row {row}"
            raise InputError(f"{where}: {name} is not UTF-8 text ({error}); write the file again") from error
