"""Images by id: files below a folder, each found before any work, and those of a ``<source>_images`` config.

``with_images`` adds an image column to rows, which holds the address ``vqamc://<folder>/<image_id>``. It is an
ordinary column: ``datasets.Image`` opens the addresses through fsspec, which finds this file system in any process
(entry point ``fsspec.specs``); ``push_to_hub`` embeds the images, ``save_to_disk`` and ``to_parquet`` keep addresses.
"""

import io
import itertools
import os
import re
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, unquote

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.spec import AbstractFileSystem

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.io.inside import check_links
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture
from hf_vqa_mc.io.progress import Progress, silent

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict

Rows = TypeVar("Rows", "Dataset", "DatasetDict", "IterableDataset", "IterableDatasetDict")

PROTOCOL = "vqamc"
IMAGES_SUFFIX = "_images"
ROWS_PER_GROUP = 16  # images in a row group of an images config, the unit that is read from disk or network
KEPT_GROUPS = 8
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


def image_address(folder: str, image_id: str) -> str:
    """The address of an image of the images config in a folder (a path or an fsspec address)."""
    return f"{PROTOCOL}://{quote(folder, safe='')}/{quote(image_id, safe='')}"


def address_parts(address: str) -> tuple[str, str]:
    """The folder and the image id of an address, as `image_address` was called."""
    folder, _, image_id = address.removeprefix(f"{PROTOCOL}://").partition("/")
    return unquote(folder), unquote(image_id)


class StoredImages:
    """The parquet files of an images config in a folder or at an fsspec address; FileNotFoundError without files."""

    def __init__(self, folder: str) -> None:
        file_system, root = fsspec.url_to_fs(folder)
        names = sorted(file_system.glob(f"{root}/*.parquet"))
        if not names:
            raise FileNotFoundError(f"no images in {folder}")
        local = "file" in file_system.protocol
        if local:
            check_links(Path(root).resolve().parent, names)
        self._folder = folder
        self._positions: dict[str, tuple[int, int, int]] = {}
        try:
            opened = names if local else map(file_system.open, names)
            self._files = [pq.ParquetFile(name, memory_map=local) for name in opened]
        except pa.ArrowException as error:
            raise InputError(f"{folder}: the images are damaged; download or build them again") from error
        for number, file in enumerate(self._files):
            image_ids = iter(file.read(columns=["image_id"])["image_id"].to_pylist())
            for group in range(file.num_row_groups):
                for row in range(file.metadata.row_group(group).num_rows):
                    self._positions[next(image_ids)] = number, group, row
        self._group = lru_cache(KEPT_GROUPS)(
            lambda number, group: self._files[number].read_row_group(group, ["image.bytes"])
        )
        self._lock = threading.Lock()

    def __contains__(self, image_id: str) -> bool:
        """Whether the image is stored."""
        return image_id in self._positions

    def read(self, image_id: str) -> bytes:
        """The bytes of the image's file; raises FileNotFoundError if there is none."""
        stored: bytes | None = None
        if image_id in self._positions:
            number, group, row = self._positions[image_id]
            with self._lock:
                stored = self._group(number, group)["image"][row]["bytes"].as_py()
        if stored is None:
            raise FileNotFoundError(f"no image with image_id {image_id!r}")
        return stored


known_here: set[str] = set()  # folders of which with_images of this process wrote addresses
stored_images = lru_cache(maxsize=8)(StoredImages)
if hasattr(os, "register_at_fork"):  # a fork must not share open files with its parent
    os.register_at_fork(after_in_child=stored_images.cache_clear)


class StoredImageFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Read-only fsspec file system for ``vqamc://`` addresses."""

    protocol = PROTOCOL

    def info(self, path: str, **options: Any) -> dict[str, Any]:  # noqa: ANN401  fsspec's signature
        """An image as a file."""
        return {"name": self._strip_protocol(path), "size": len(read_address(path)), "type": "file"}

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.BytesIO:  # noqa: ANN401  fsspec's signature
        return io.BytesIO(read_address(path))


def read_address(address: str) -> bytes:
    """The content of the image at an address."""
    folder, image_id = address_parts(address)
    return stored_images(folder).read(image_id)


fsspec.register_implementation(PROTOCOL, StoredImageFileSystem, clobber=True)


def with_images(ds: Rows, images: str | Path | None = None) -> Rows:
    """Add a column ``image`` of type `datasets.Image`; an image is read when its row is.

    Args:
        ds: rows of any ``<source>_<variant>`` config, streamed or not.
        images: the folder or Hub repository with the ``<source>_images`` config (``"vqa_mc"``,
            ``"NAMESPACE/vqa_mc"``), or that config's folder. By default that of ``ds``: its Hub repository, else
            ``./vqa_mc``.

    Raises:
        InputError: there is no images config, or it lacks some of the rows' images.
    """
    if isinstance(ds, dict):
        return type(ds)({split: with_images(rows, images) for split, rows in ds.items()})
    if "image" in (ds.column_names or ()):
        return ds
    from datasets import Dataset, Features, Image

    rows: Any = ds  # mypy cannot narrow Rows
    folder = images_folder(ds, images)
    try:
        stored = stored_images(folder)
    except FileNotFoundError as error:
        raise InputError(f"with_images: {error}; build them with vqa-mc build ... --images DIR") from None
    known_here.add(folder)
    if not isinstance(rows, Dataset):
        features = None if rows.features is None else Features({**rows.features, "image": Image()})
        # map(features=...) would not decode the column, and images would stay addresses
        rows = rows.map(lambda row: {"image": {"bytes": None, "path": image_address(folder, row["image_id"])}})
        return rows.cast(features) if features else rows.cast_column("image", Image())
    image_ids = list(rows.with_format(None)["image_id"])
    if missing := sorted({image_id for image_id in image_ids if image_id not in stored}):
        raise InputError(
            f"with_images: {len(missing)} of the images are not in {folder}: image_id {listed(missing, NAMED)}; build "
            "both from the same source"
        )
    addresses = [image_address(folder, image_id) for image_id in image_ids]
    return rows.add_column("image", addresses).cast_column("image", Image())


def images_folder(ds: Any, images: str | Path | None) -> str:  # noqa: ANN401  any of Rows
    """The folder, or fsspec address, of the images config of these rows."""
    config = ds.info.config_name or ""
    where = origin(ds) if images is None else str(images)
    if where is None:
        raise InputError(
            f"with_images: the rows do not record their origin and {Path.cwd()} has no built folder "
            f'{ds.info.dataset_name or "vqa_mc"}; give it: with_images(ds, images="path/to/vqa_mc")'
        )
    if Path(where).is_dir():
        where = str(Path(where).absolute())
    elif "://" not in where and where.count("/") == 1:
        where = f"hf://datasets/{where}"
    if Path(where).name.endswith(IMAGES_SUFFIX):
        return where
    return f"{where}/{_images_config(config, where)}"


def _images_config(config: str, where: str) -> str:
    """The longest matching images config, such as ``vqa_minus_images`` for ``vqa_minus_iou_qou``."""
    file_system, root = fsspec.url_to_fs(where)
    names = [Path(path).name for path in (file_system.ls(root, detail=False) if file_system.isdir(root) else [])]
    found = sorted((name for name in names if name.endswith(IMAGES_SUFFIX)), key=len)
    fitting = [name for name in found if f"{config}_".startswith(name.removesuffix("images"))]
    if not fitting and (config or len(found) != 1):
        of, has = config or "these rows", f" (it has {', '.join(found)})" if found else ""
        raise InputError(
            f"with_images: {where} has no images for {of}{has}; build them with vqa-mc build SOURCE --images DIR"
        )
    return (fitting or found)[-1]


def origin(ds: Any) -> str | None:  # noqa: ANN401  any of Rows
    """The Hub repository from which rows were loaded, else the built folder of that name in the current directory."""
    if (repository := hub_repository(ds)) is not None:
        return repository
    name = Path(ds.info.dataset_name or "vqa_mc")
    is_here = name.parent == Path() and read_inventory(name)  # a name from others must not lead elsewhere
    return str(name.absolute()) if is_here else None


def hub_repository(ds: Any) -> str | None:  # noqa: ANN401  any of Rows
    """The Hub repository from which rows were loaded, if any."""
    for repository in getattr(ds, "_token_per_repo_id", None) or ():  # set by datasets for streamed rows
        return str(repository)
    name = ds.info.dataset_name or "vqa_mc"
    for file in getattr(ds, "cache_files", ()):  # .../<namespace>___<name>/<config>/<version>/<hash>/<file>
        for part in Path(file["filename"]).parts:
            if part.endswith(f"___{name}"):
                return part.replace("___", "/")
    return None
