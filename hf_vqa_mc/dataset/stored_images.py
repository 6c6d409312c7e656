"""Lazy access to single images of a ``<source>_images`` config.

A row's ``image`` holds the address ``vqamc://<folder>/<image_id>``, which ``datasets.Image`` opens through fsspec. So
the column is an ordinary image column: it survives ``map``, ``filter``, ``shuffle`` and workers; ``push_to_hub``
embeds the images, ``save_to_disk`` and ``to_parquet`` keep their addresses. fsspec finds this file system in any
process (entry point ``fsspec.specs``).
"""

import io
import os
import threading
from collections import OrderedDict
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

import fsspec
import pyarrow.parquet as pq
from fsspec.spec import AbstractFileSystem

PROTOCOL = "vqamc"
ROWS_PER_GROUP = 16
"""Images in a row group of an images config, the unit that is read from disk or network."""
KEPT_GROUPS = 8


def image_address(folder: str, image_id: str) -> str:
    """The address of an image of the images config in a folder (a path or an fsspec address)."""
    return f"{PROTOCOL}://{quote(folder, safe='')}/{quote(image_id, safe='')}"


class StoredImages:
    """The parquet files of an images config, with an index in memory.

    Args:
        folder: a folder, or an fsspec address of one such as ``hf://datasets/NAMESPACE/vqa_mc/cocoqa_images``.

    Raises:
        FileNotFoundError: there are no parquet files in it.
    """

    def __init__(self, folder: str) -> None:
        file_system, root = fsspec.url_to_fs(folder)
        names = sorted(file_system.glob(f"{root}/*.parquet"))
        if not names:
            raise FileNotFoundError(f"no images in {folder}")
        local = "file" in file_system.protocol
        self._files = [pq.ParquetFile(name if local else file_system.open(name), memory_map=local) for name in names]
        self._positions: dict[str, tuple[int, int, int]] = {}
        for number, file in enumerate(self._files):
            image_ids = iter(file.read(columns=["image_id"])["image_id"].to_pylist())
            for group in range(file.num_row_groups):
                for row in range(file.metadata.row_group(group).num_rows):
                    self._positions[next(image_ids)] = number, group, row
        self._groups: OrderedDict[tuple[int, int], Any] = OrderedDict()
        self._lock = threading.Lock()

    def __contains__(self, image_id: str) -> bool:
        """Whether the image is stored."""
        return image_id in self._positions

    def read(self, image_id: str) -> bytes:
        """The bytes of the image's file.

        Raises:
            FileNotFoundError: there is no such image.
        """
        if image_id not in self._positions:
            raise FileNotFoundError(f"no image with image_id {image_id!r}")
        number, group, row = self._positions[image_id]
        with self._lock:
            images = self._groups.pop((number, group), None)
            if images is None:
                images = self._files[number].read_row_group(group, columns=["image.bytes"])["image"]
            self._groups[number, group] = images
            while len(self._groups) > KEPT_GROUPS:
                self._groups.popitem(last=False)
        stored: bytes = images[row]["bytes"].as_py()
        return stored


def stored_images(folder: str) -> StoredImages:
    """The images of a folder, opened once per process (a fork must not share open files with its parent)."""
    return _opened(folder, os.getpid())


@lru_cache(maxsize=8)
def _opened(folder: str, process: int) -> StoredImages:
    return StoredImages(folder)


class StoredImageFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Read-only fsspec file system for ``vqamc://`` addresses."""

    protocol = PROTOCOL

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{PROTOCOL}://")

    def info(self, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401  fsspec's signature
        """An image as a file."""
        return {"name": self._strip_protocol(path), "size": len(_read(path)), "type": "file"}

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.BytesIO:  # noqa: ANN401  fsspec's signature
        return io.BytesIO(_read(path))


def _read(path: str) -> bytes:
    folder, _, image_id = path.removeprefix(f"{PROTOCOL}://").partition("/")
    return stored_images(unquote(folder)).read(unquote(image_id))


fsspec.register_implementation(PROTOCOL, StoredImageFileSystem, clobber=True)
