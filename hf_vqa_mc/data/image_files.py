"""The image files of a dataset: all found and readable before any work, each written once."""

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture
from hf_vqa_mc.io.progress import Progress, silent

IMAGE_SUFFIXES = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff"}
NAMED = 5
"""Number of files that an error names."""

_LAST_NUMBER = re.compile(r"(\d+)$")
_STORED = pa.struct([("bytes", pa.binary()), ("path", pa.string())])  # datasets.Image


@dataclass(frozen=True)
class ImageFiles:
    """The file of each image, in the order of the dataset."""

    paths: dict[str, Path]
    """image_id to file"""
    sizes: dict[str, int]
    """image_id to bytes"""

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

    Raises:
        InputError: images are missing, unreadable or ambiguous; names the first few and their number.
    """
    by_name, by_number = listed_files(directory)
    names = dict(zip(triplets["image_id"].to_pylist(), triplets["image_file"].to_pylist(), strict=True))
    found = {
        image_id: candidate_files(image_id, name, directory, by_name, by_number) for image_id, name in names.items()
    }
    called = {image_id: f"{name or 'a file'} (image_id {image_id!r})" for image_id, name in names.items()}
    missing = [called[i] for i, files in found.items() if not files]
    _refuse("missing", directory, missing, len(found))
    twice = [f"{called[i]}: {files[0]} and {files[1]}" for i, files in found.items() if len(files) > 1]
    _refuse("found twice", directory, twice, len(found))
    paths = {image_id: files[0] for image_id, files in found.items()}
    _refuse("unreadable", directory, _unreadable(list(paths.values()), progress), len(found))
    return ImageFiles(paths, {image_id: path.stat().st_size for image_id, path in paths.items()})


def listed_files(directory: Path) -> tuple[dict[str, list[Path]], dict[int, list[Path]]]:
    """The image files below a folder by name, and by the number at the end of the name; links are followed."""
    by_name, by_number, seen = defaultdict(list), defaultdict(list), set()
    for folder, folders, files in os.walk(directory, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        for path in (Path(folder, name) for name in sorted(files)):
            if path.suffix.lower() in IMAGE_SUFFIXES:
                by_name[path.name].append(path)
                if number := _LAST_NUMBER.search(path.stem):
                    by_number[int(number[1])].append(path)
    return by_name, by_number


def candidate_files(
    image_id: str, name: str, directory: Path, by_name: dict[str, list[Path]], by_number: dict[int, list[Path]]
) -> list[Path]:
    """Files that match an image; more than one is ambiguous."""
    parts = Path(name).parts
    named = [path for path in by_name.get(Path(name).name, []) if path.parts[-len(parts) :] == parts]
    if directory / name in named:
        return [directory / name]
    if named:
        return named
    # Ids that are not plain numbers (easy-VQA's train-5) do not match by number: test-5 would find the same file.
    return by_number.get(int(image_id), []) if image_id.isdecimal() else []


def _unreadable(paths: list[Path], progress: Progress) -> list[str]:
    """Files that cannot be decoded; JPEGs are decoded at an eighth of their size, which reads them completely."""
    wrong: list[str] = []
    with ThreadPoolExecutor() as threads:
        for done, error in enumerate(threads.map(_reading_error, paths), 1):
            wrong += [error] if error else []
            progress("images", done, len(paths))
    return wrong


def _reading_error(path: Path) -> str:
    try:
        with opened_picture(path, side=1):
            return ""
    except BrokenImage as error:
        return f"{path} ({error})"


def _refuse(what: str, directory: Path, wrong: list[str], total: int) -> None:
    if wrong:
        raise InputError(
            f"images {directory}: {len(wrong)} of {total} {what}: {listed(wrong, NAMED, '; ')}. Expected the "
            f"publisher's image files under their own names, each once, in that folder or below it"
        )
