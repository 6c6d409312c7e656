"""The image files of a dataset: all found and readable before any work, each written once."""

import itertools
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path, PurePosixPath

import pyarrow as pa

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture
from hf_vqa_mc.io.progress import Progress, silent

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
NAMED = 5  # number of files that an error names

_LAST_NUMBER = re.compile(r"(\d+)$")
_STORED = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # datasets.Image


class ImageFiles:
    """The file of each image (image_id to path), in the order of the dataset."""

    def __init__(self, paths: dict[str, Path]) -> None:
        self.paths = paths

    def __contains__(self, image_id: str) -> bool:
        return image_id in self.paths

    def read(self, image_id: str) -> bytes:
        """The content of the image file."""
        return self.paths[image_id].read_bytes()

    @cached_property
    def sizes(self) -> dict[str, int]:
        """image_id to bytes."""
        return {image_id: path.stat().st_size for image_id, path in self.paths.items()}

    def stored(self, image_ids: Sequence[str]) -> pa.StructArray:
        """Bytes and names of files, as ``datasets.Image`` stores them."""
        files = [self.paths[image_id] for image_id in image_ids]
        return pa.array([{"bytes": file.read_bytes(), "path": file.name} for file in files], _STORED)

    def rows(self, start: int, stop: int) -> pa.Table:
        """Rows (image_id, image) of the images config."""
        image_ids = list(self.paths)[start:stop]
        return pa.table({"image_id": pa.array(image_ids, pa.string()), "image": self.stored(image_ids)})


def find_images(triplets: pa.Table, directory: Path, progress: Progress = silent) -> ImageFiles:
    """The file of every image of some triplets, in a folder or below it; each is decoded once to check it.

    A file belongs to an image if it has the publisher's file name (``image_file``), else if the image's id is a number
    and the file's name ends with it, as in ``123.jpg``, ``v7w_123.jpg`` or ``COCO_val2014_000000000123.jpg``.
    """
    listing = _FolderListing(directory)
    names = dict(zip(triplets["image_id"].to_pylist(), triplets["image_file"].to_pylist(), strict=True))
    found = {image_id: listing.candidates(image_id, name) for image_id, name in names.items()}
    called = {image_id: f"{name or 'a file'} (image_id {image_id!r})" for image_id, name in names.items()}
    paths = {image_id: files[0] for image_id, files in found.items() if files}
    for what, wrong in (
        ("missing", (called[i] for i, files in found.items() if not files)),
        ("found twice", (f"{called[i]}: {files[0]} and {files[1]}" for i, files in found.items() if len(files) > 1)),
        ("unreadable", _unreadable(list(paths.values()), progress)),
    ):
        if some := [*wrong]:
            raise InputError(
                f"images {directory}: {len(some)} of {len(found)} {what}: {listed(some, NAMED, '; ')}. Expected the "
                "publisher's image files under their own names, each once, in that folder or below it"
            )
    return ImageFiles(paths)


def find_by_id(directory: Path, image_ids: Sequence[str]) -> ImageFiles:
    """The files of those of the images that are in a folder or below it; raises InputError if an id has several.

    The image id is the file's name or path (with or without suffix), or the number at its end, as in
    ``COCO_val2014_000000000123.jpg``; ``train-5`` is ``5.png`` anywhere in a folder ``train``.
    """
    listing = _FolderListing(directory)
    by_stem: dict[str, list[Path]] = defaultdict(list)
    for path in itertools.chain.from_iterable(listing.by_name.values()):
        by_stem[path.stem].append(path)
    paths: dict[str, Path] = {}
    twice = []
    names = {image_id: PurePosixPath(image_id).name for image_id in image_ids}
    names = names if len({*names.values()}) == len(names) else {}  # without folders if they are unique
    for image_id in image_ids:
        name = names.get(image_id, image_id)
        found = listing.candidates(image_id, image_id) or listing.candidates(name, name) or by_stem.get(name, [])
        folder, dash, number = image_id.rpartition("-")
        if not found and dash and number.isdecimal():
            found = [path for path in by_stem.get(number, []) if folder in path.relative_to(directory).parts[:-1]]
        if len(found) > 1:
            twice.append(f"{image_id!r}: {found[0]} and {found[1]}")
        elif found:
            paths[image_id] = found[0]
    if twice:
        several, files = f"{len(twice)} of {len(image_ids)}", listed(twice, separator="; ")
        raise InputError(f"images {directory}: {several} have several files: {files}; remove all but one of each")
    return ImageFiles(paths)


class _FolderListing:
    """The image files below a folder by name, and by the number at the end of the name; links are followed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.by_name: dict[str, list[Path]] = defaultdict(list)
        self._by_number: dict[int, list[Path]] = defaultdict(list)
        seen: set[str] = set()
        for folder, folders, files in os.walk(directory, followlinks=True):
            if (real := os.path.realpath(folder)) in seen:
                folders.clear()
                continue
            seen.add(real)
            folders.sort()
            for path in (Path(folder, name) for name in sorted(files)):
                if path.suffix.lower() in IMAGE_SUFFIXES:
                    self.by_name[path.name].append(path)
                    if number := _LAST_NUMBER.search(path.stem):
                        self._by_number[int(number[1])].append(path)

    def candidates(self, image_id: str, name: str) -> list[Path]:
        """Files that match an image; more than one is ambiguous."""
        parts = Path(name).parts
        named = [path for path in self.by_name.get(Path(name).name, []) if path.parts[-len(parts) :] == parts]
        if self._directory / name in named:
            return [self._directory / name]
        # Ids that are not plain numbers (easy-VQA's train-5) do not match by number: test-5 would find the same file.
        return named or (self._by_number.get(int(image_id), []) if image_id.isdecimal() else [])


def _unreadable(paths: list[Path], progress: Progress) -> Iterator[str]:
    """Files that cannot be decoded; JPEGs are decoded at an eighth of their size, which reads them completely."""

    def reading_error(path: Path) -> str:
        try:
            with opened_picture(path, side=1):
                return ""
        except BrokenImage as error:
            return f"{path} ({error})"

    with ThreadPoolExecutor() as threads:
        for done, error in enumerate(threads.map(reading_error, paths), 1):
            progress("images", done, len(paths))
            yield from [error] if error else []
