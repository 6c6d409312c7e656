"""The images of a dataset's questions: ids and file contents."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hf_vqa_mc.data.allowed_images import AllowedImages, allowed_images
from hf_vqa_mc.data.image_files import find_by_id
from hf_vqa_mc.data.loading import load_splits
from hf_vqa_mc.data.stored_images import StoredImages, images_folder
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.vqa2 import OTHER

if TYPE_CHECKING:
    from datasets import DatasetDict


class ImageSource(Protocol):
    """A source of image files; thread-safe."""

    def __contains__(self, image_id: str) -> bool:
        """Whether the image exists."""

    def read(self, image_id: str) -> bytes:
        """The content of the image file."""


@dataclass(frozen=True)
class DatasetImages:
    """The images of a dataset."""

    location: str
    """where images are searched, for messages"""
    source: ImageSource
    image_ids: list[str]
    """distinct image ids, in the order of the questions"""

    @cached_property
    def missing(self) -> list[str]:
        """Ids of the images that the source does not have."""
        return [image_id for image_id in self.image_ids if image_id not in self.source]


def find_images(
    dataset: str, config: str, directory: Path | None = None, rows: "DatasetDict | None" = None
) -> DatasetImages:
    """The images of all splits of a dataset: from files in a folder, searched recursively, or its own.

    The dataset's own images are in the column ``image``, or in the config ``<source>_images``. ``rows`` are its splits
    if they were read already.
    """
    location, splits, image_ids = dataset_image_ids(dataset, config, rows)
    if directory is not None:
        return DatasetImages(str(directory), find_by_id(directory, image_ids), image_ids)
    first = next(iter(splits.values()))
    base = Path(dataset).absolute() if Path(dataset).is_dir() else None
    allowed = allowed_images(first, base, None if base else dataset)
    if "image" in first.column_names:
        return DatasetImages(location, RowImages(splits, allowed), image_ids)
    try:
        folder = images_folder(first, dataset)
        allowed.check_config(folder)
        return DatasetImages(folder, StoredImages(folder), image_ids)
    except (InputError, FileNotFoundError) as error:
        reason = str(error).removeprefix("with_images: ")
        raise InputError(f"{reason}; or give the folder with the image files: --images DIR") from error


def dataset_image_ids(
    dataset: str, config: str, rows: "DatasetDict | None" = None
) -> tuple[str, "DatasetDict", list[str]]:
    """The name of a dataset for messages, its splits, and its distinct image ids; raises InputError without rows.

    Of balanced pairs these are the images of both questions.
    """
    splits = rows or load_splits(dataset, config)[1]
    location = f"{dataset}, {config}"
    image_ids = list(
        dict.fromkeys(
            one
            for name, of_split in splits.items()
            for column in ("image_id", *{f"{OTHER}image_id"}.intersection(of_split.column_names))
            for one in image_ids_of(of_split, f"{location}, {name}", column)
        )
    )
    if not image_ids:
        raise InputError(f"{location} has no rows")
    return location, splits, image_ids


class RowImages:
    """Images embedded in the rows, in columns ``image_id`` and ``image``, as by ``vqa-mc build --embed-images``."""

    def __init__(self, splits: "DatasetDict", allowed: AllowedImages) -> None:
        from datasets import Image

        self._allowed = allowed
        self._splits = {name: rows.cast_column("image", Image(decode=False)) for name, rows in splits.items()}
        self._rows: dict[str, tuple[str, int]] = {}
        for name, rows in self._splits.items():
            images = rows.with_format("arrow").select_columns(["image"])[:]["image"].is_valid().to_pylist()
            for row, image_id in enumerate(rows["image_id"]):
                if images[row]:
                    self._rows.setdefault(str(image_id), (name, row))

    def __contains__(self, image_id: str) -> bool:
        return image_id in self._rows

    def read(self, image_id: str) -> bytes:
        """The content of the image file; raises InputError if the row names one that is not allowed or not there."""
        split, row = self._rows[image_id]
        stored = self._splits[split][row]["image"]
        return self._allowed.read(stored["path"] or "") if stored["bytes"] is None else bytes(stored["bytes"])


def image_ids_of(rows: Any, location: str, name: str = "image_id") -> list[str]:  # noqa: ANN401  a Dataset
    """The image_id of each row, or another column; raises InputError unless all are strings or integers."""
    if name not in rows.column_names:
        raise InputError(f"{location}: no column {name}; expected rows as written by vqa-mc build")
    column = rows.with_format("arrow").select_columns([name])[:][name]
    if column.null_count:
        raise InputError(f"{location}, row {column.is_null().to_pylist().index(True)}: {name} is null")
    if not any(is_one(column.type) for is_one in (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string)):
        raise InputError(f"{location}: {name} is {column.type}; expected string")
    image_ids: list[str] = column.cast(pa.string()).to_pylist()
    return image_ids
