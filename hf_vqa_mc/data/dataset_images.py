"""The images of a dataset's questions: ids and file contents."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from hf_vqa_mc.data.cells import is_id
from hf_vqa_mc.data.image_files import find_by_id
from hf_vqa_mc.data.loading import load_splits
from hf_vqa_mc.data.stored_images import (
    PROTOCOL,
    StoredImages,
    address_parts,
    hub_repository,
    images_folder,
    known_here,
    read_address,
)
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.inside import Inside
from hf_vqa_mc.sources.vqa2 import OTHER

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict

    from hf_vqa_mc.data.benchmark import Benchmark

NAME_FOLDER = "give the folder that holds them with --images DIR"
"""Remedy, for messages."""

_LONGEST_SHOWN = 80  # characters


class RefusedImage(InputError):
    """An image that the dataset may not name: outside of its folder, or on the web."""


@dataclass(frozen=True, eq=False)
class AllowedImages:
    """The images that a dataset may name.

    A dataset comes from anyone, so it does not decide which files of the user are read or which hosts are asked.
    Allowed are files inside its own folder or that of ``--images`` (links resolved, no hidden files), and addresses of
    ``with_images`` if this process wrote them, or if they lead into these folders or into the dataset on the Hub.
    """

    folders: tuple[Path, ...] = ()  # relative paths start from each of them
    repository: str | None = None  # the dataset's name on the Hub

    @cached_property
    def _inside(self) -> Inside:
        return Inside(*self.folders, hidden=False)

    def refuses(self, name: str) -> bool:
        """Whether a name is not allowed, whatever is there."""
        if "://" in name:
            folder = address_parts(name)[0]
            return not name.startswith(f"{PROTOCOL}://") or not (folder in known_here or self._allows_folder(folder))
        return self._inside.path(name) is None and (bool(self.folders) or Path(name).is_absolute())

    def has(self, name: str) -> bool:
        """Whether a name is allowed and there is such a file; addresses are not looked up."""
        if "://" in name:
            return not self.refuses(name)
        path = self._inside.path(name)
        return path is not None and os.path.isfile(path)  # noqa: PTH113  False for impossible names, too

    def read(self, name: str) -> bytes:
        """The content of an image file; raises RefusedImage if it is not allowed, InputError if it cannot be read."""
        if self.refuses(name):
            where, remedy = refusal(name)
            raise RefusedImage(f"the image {shortened(name)} is {where} and is not read; {remedy}")
        try:
            if "://" in name:
                return read_address(name)
            path = self._inside.path(name)
            if path is None or not os.path.isfile(path):  # noqa: PTH113  false for names that are too long
                base = self.folders[0] if self.folders else "the dataset"
                raise InputError(f"no image {shown(name)} in {base}; give its folder with --images DIR")
            return Path(path).read_bytes()
        except InputError:
            raise
        except (OSError, ValueError, LookupError, RuntimeError) as error:  # also of fsspec and pyarrow
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"the image {shortened(name)} cannot be read ({reason})") from error

    def check_config(self, folder: str) -> None:
        """Raise InputError unless an images config, a folder or address, belongs to the dataset."""
        if not self._allows_folder(folder):
            raise InputError(f"{folder}: leads out of the dataset's folder; copy the images config into it")

    def _allows_folder(self, folder: str) -> bool:
        if "::" in folder:  # fsspec would open what follows
            return False
        if "://" not in folder:
            return Path(folder).is_absolute() and self._inside.path(folder) is not None
        own = f"hf://datasets/{self.repository}"
        return bool(self.repository) and folder.startswith((f"{own}/", f"{own}@")) and ".." not in folder


def is_web_address(name: str) -> bool:
    """Whether a name is an http or https address."""
    return name[:8].lower().startswith(("http://", "https://"))


def refusal(name: str) -> tuple[str, str]:
    """Where a refused image is, and what to do."""
    if is_web_address(name):
        return "on the web", f"download them first, and {NAME_FOLDER}"
    return "outside of the dataset's folder", NAME_FOLDER


def shortened(name: str) -> str:
    """A path or id for messages."""
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)


def allowed_images(rows: "Dataset | None", base: Path | None, hub: str | None, *images: Path | None) -> AllowedImages:
    """What a dataset may name: its own folder, repository and cache, and the folder given by the user."""
    folders = [*filter(None, [*images, base])]
    if rows is not None:
        from datasets import config
        from huggingface_hub.constants import HF_HUB_CACHE
        from huggingface_hub.file_download import repo_folder_name

        hub = hub if base is not None or hub is not None else hub_repository(rows)
        folders += dict.fromkeys(Path(file["filename"]).parent for file in getattr(rows, "cache_files", ()))
        folders += [Path(config.DOWNLOADED_DATASETS_PATH), Path(config.EXTRACTED_DATASETS_PATH)]
        if hub is not None and hub.count("/") == 1:
            folders.append(Path(HF_HUB_CACHE, repo_folder_name(repo_id=hub, repo_type="dataset")))
    return AllowedImages(tuple(path for path in folders if path.is_dir()), hub)


class ImageSource(Protocol):
    """A source of image files; thread-safe."""

    def __contains__(self, image_id: str) -> bool:
        """Whether the image exists."""

    def read(self, image_id: str) -> bytes:
        """The content of the image file."""


@dataclass(frozen=True)
class DatasetImages:
    """The images of a dataset."""

    location: str  # where images are searched, for messages
    source: ImageSource
    image_ids: list[str]  # distinct image ids, in the order of the questions

    @cached_property
    def missing(self) -> list[str]:
        """Ids of the images that the source does not have."""
        return [image_id for image_id in self.image_ids if image_id not in self.source]


def find_images(
    dataset: str,
    config: str,
    directory: Path | None = None,
    rows: "DatasetDict | None" = None,
    benchmark: "Benchmark | None" = None,
) -> DatasetImages:
    """The images of all splits of a dataset: from files in a folder, searched recursively, or its own.

    The dataset's own images are in the column ``image``, or in the config ``<source>_images``; or those of a
    ``benchmark``, whose rows are ``rows``, the splits if they were read already.
    """
    location, splits, image_ids = dataset_image_ids(dataset, config, rows)
    if directory is not None:
        return DatasetImages(str(directory), find_by_id(directory, image_ids), image_ids)
    if benchmark is not None:
        return DatasetImages(location, BenchmarkImages(benchmark), image_ids)
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
    splits, location = rows or load_splits(dataset, config)[1], f"{dataset}, {config}"
    image_ids: dict[str, None] = {}
    for name, of_split in splits.items():
        for column in ("image_id", *{f"{OTHER}image_id"}.intersection(of_split.column_names)):
            image_ids |= dict.fromkeys(image_ids_of(of_split, f"{location}, {name}", column))
    if not image_ids:
        raise InputError(f"{location} has no rows")
    return location, splits, list(image_ids)


class BenchmarkImages:
    """The images of a benchmark's rows by image id; raises InputError if there are none."""

    def __init__(self, benchmark: "Benchmark") -> None:
        splits = benchmark.splits.values()
        found = [(one.images, one.rows["image_id"].to_pylist()) for one in splits if one.images is not None]
        if not found:
            missing = benchmark.test.images_missing or f"it has no column of images; name it image, or {NAME_FOLDER}"
            raise InputError(f"{benchmark.test.location}: {missing}")
        self._rows = {one: (images, row) for images, ids in found for row, one in enumerate(ids) if one}

    def __contains__(self, image_id: str) -> bool:
        return image_id in self._rows

    def read(self, image_id: str) -> bytes:
        """The content of the image file; raises InputError if it is not allowed or cannot be read."""
        images, row = self._rows[image_id]
        for found in images.read(row):
            return found
        raise InputError(next(images.refused(), "the row has no image"))


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
    if not is_id(column.type):
        raise InputError(f"{location}: {name} is {column.type}; expected string")
    image_ids: list[str] = column.cast(pa.string()).to_pylist()
    return image_ids
