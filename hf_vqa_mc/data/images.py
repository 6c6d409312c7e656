"""The images of a split's rows: file content, base64 text, paths, references to other rows, or lists of these."""

import base64
import contextlib
import hashlib
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import is_image, is_list, is_text, unpacked_lists
from hf_vqa_mc.data.loading import Opened, at_revision
from hf_vqa_mc.data.stored_images import (
    IMAGE_SUFFIXES,
    PROTOCOL,
    ImageFiles,
    StoredImages,
    address_parts,
    hub_repository,
    known_here,
    read_address,
)
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.inside import Inside

NAME_FOLDER = "give the folder of the images with --images DIR"  # remedy, for messages
MOST_NAME = 64
"""A text up to this length is not a base64 image, but a path or a reference to another row (VLMEvalKit's tables)."""
MOST_HOPS = 3
"""References are followed up to this depth: a question repeated with shuffled choices refers to its first occurrence,
which may refer to the first question about the image."""
LOOKED_AT = 1000  # number of images checked; if all are missing, the benchmark counts as one without images

_LONGEST_SHOWN = 80  # characters
_DATA_URI = re.compile(r"data:[^,]{0,100};base64,")
_LONGEST_PATH = 4096
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-\s]*")


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
            return not name.startswith(f"{PROTOCOL}://") or not (folder in known_here or self.allows_folder(folder))
        return self._inside.path(name) is None and (bool(self.folders) or Path(name).is_absolute())

    def has(self, name: str) -> bool:
        """Whether a name is allowed and there is such a file; addresses are not looked up."""
        if "://" in name:
            return not self.refuses(name)
        path = self._inside.path(name)
        return path is not None and os.path.isfile(path)  # noqa: PTH113  False for impossible names

    def read(self, name: str) -> bytes:
        """The content of an image file; raises InputError if it is not allowed or cannot be read."""
        if self.refuses(name):
            where, remedy = refusal(name)
            raise InputError(f"the image {shortened(name)} is {where} and is not read; {remedy}")
        if not self.has(name):
            base = self.folders[0] if self.folders else "the dataset"
            raise InputError(f"no image {shown(name)} in {base}; give its folder with --images DIR")
        try:
            return read_address(name) if "://" in name else Path(str(self._inside.path(name))).read_bytes()
        except (OSError, ValueError, LookupError, RuntimeError) as error:  # also of fsspec and pyarrow
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"the image {shortened(name)} cannot be read ({reason})") from error

    def allows_folder(self, folder: str) -> bool:
        """Whether an images config, a folder or address, belongs to the dataset."""
        if "::" in folder:  # fsspec would open what follows
            return False
        if "://" not in folder:
            return Path(folder).is_absolute() and self._inside.path(folder) is not None
        own = f"hf://datasets/{self.repository}"
        return bool(self.repository) and folder.startswith((f"{own}/", f"{own}@")) and ".." not in folder


def allowed_images(opened: Opened, images: Path | None = None) -> AllowedImages:
    """What a dataset may name: its own folder, repository and cache, and the folder given by the user."""
    base = opened.path if opened.path is None or opened.path.is_dir() else opened.path.parent
    hub = at_revision(opened.location)[0] if base is None and opened.location else None
    folders = [*filter(None, [images, base]), *opened.folders]
    if opened.first is not None:
        from datasets import config
        from huggingface_hub.constants import HF_HUB_CACHE
        from huggingface_hub.file_download import repo_folder_name

        hub = hub if base is not None or hub is not None else hub_repository(opened.first)
        folders += dict.fromkeys(Path(file["filename"]).parent for file in opened.first.cache_files)
        folders += [Path(config.DOWNLOADED_DATASETS_PATH), Path(config.EXTRACTED_DATASETS_PATH)]
        if hub is not None and hub.count("/") == 1:
            folders.append(Path(HF_HUB_CACHE, repo_folder_name(repo_id=hub, repo_type="dataset")))
    return AllowedImages(tuple(path for path in folders if path.is_dir()), hub)


def refusal(name: str) -> tuple[str, str]:
    """Where a refused image is, and what to do."""
    if name[:8].lower().startswith(("http://", "https://")):
        return "on the web", f"download them first, and {NAME_FOLDER}"
    return "outside of the dataset's folder", NAME_FOLDER


def shortened(name: str) -> str:
    """A path or id for messages."""
    return name if name.isprintable() and len(name) <= _LONGEST_SHOWN else shown(name)


@dataclass(frozen=True, eq=False, repr=False)
class Images:
    """The images of each row of a split, in order; thread-safe."""

    columns: Sequence[pa.ChunkedArray]  # cells with images; empty if rows only have ids of images stored elsewhere
    location: str  # location of the cells, for messages
    allowed: AllowedImages = field(default_factory=AllowedImages)  # the only way to files that cells name
    references: Mapping[str, int] = field(default_factory=dict)  # row by what a cell may hold instead of an image
    ids: Sequence[str] = ()  # (rows,): the ids of rows with at most one image in stored; "" without
    stored: "ImageFiles | StoredImages | None" = None  # images by id or by name, which are used before the cells
    stored_in: str = ""  # its location, for messages
    rows: NDArray[np.integer] | None = None  # (rows,): index of each row in all of the above; None for all rows

    def take(self, rows: NDArray[np.integer]) -> "Images":
        """The images of some rows."""
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    def count(self, row: int) -> int:
        """The number of a row's images, readable or not."""
        row = row if self.rows is None else int(self.rows[row])
        return len(self._values(row)) or int(bool(self.ids and self.ids[row]))

    def read(self, row: int) -> tuple[bytes, ...]:
        """The content of a row's image files; empty if it has no image, or one that is not allowed."""
        row = row if self.rows is None else int(self.rows[row])
        values, stored = self._values(row), () if self.stored is None else self.stored
        image_id = self.ids[row] if self.ids and len(values) < 2 else ""
        if image_id and image_id in stored:
            return (self.content(image_id),)
        if image_id and self.stored is not None and not values:
            raise InputError(f"{self.stored_in}: no image {image_id!r}")
        if any(is_named(one) and one not in stored and self.allowed.refuses(one) for one in values):
            return ()
        return tuple(self._content(value, row) for value in values)

    def content(self, name: str) -> bytes:
        """The content of the image with this path or id; raises InputError if it cannot be read."""
        if self.stored is None or name not in self.stored:
            return self.allowed.read(name)
        try:
            return self.stored.read(name)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{self.stored_in}: image {shortened(name)} cannot be read ({reason})") from error

    @cached_property
    def has_several(self) -> bool:
        """Whether a row of the cells has more than one image."""
        nested = len(self.columns) > 1 or any(is_list(column.type) for column in self.columns)
        return nested and any(len(self._values(row)) > 1 for row in range(len(self.columns[0])))

    def identity(self, row: int) -> str:
        """Equal for rows with the same images: a path, else the sha256 of the bytes; "" without image.

        Of several images it is the sha256 of these, in order.
        """
        found = []
        for value in self._values(row if self.rows is None else int(self.rows[row])):
            if not is_named(value):
                content = value.encode() if isinstance(value, str) else value
                with contextlib.suppress(ValueError):
                    content = _decoded(value) if isinstance(value, str) else value
                value = hashlib.sha256(content).hexdigest()
            found.append(value)
        return "".join(found) if len(found) < 2 else hashlib.sha256("\n".join(found).encode()).hexdigest()

    def names(self) -> Iterator[str]:
        """The paths and other names in the cells."""
        return (value for _, value in self._every() if is_named(value))

    def missing(self) -> str:
        """Why none of the first images was found, and what to do; "" if no row has one."""
        cells = [cell for cell in itertools.islice(self._every(), LOOKED_AT) if isinstance(cell[1], str)]
        if not cells:
            return ""
        names, first = [name for _, name in cells], f"{shortened(cells[0][1])} in row {cells[0][0] + 1}"
        number = f"the first {LOOKED_AT}" if len(names) == LOOKED_AT else f"{len(set(names))}"
        if self.allowed.refuses(names[0]):
            where, remedy = refusal(names[0])
            return f"the images are {where} and are not read, e.g. {first}; {remedy}"
        return f"none of {number} image paths exists, e.g. {first}; {NAME_FOLDER}"

    def found(self) -> Iterator[bool]:
        """Whether each image in the cells is available."""
        return (not is_named(value) or self.allowed.has(value) for _, value in self._every())

    @cached_property
    def absent(self) -> list[str]:
        """The images that cells and ids name and that are not available."""
        names = itertools.chain((one for one in self.ids if one) if not self.columns else (), self.names())
        stored = () if self.stored is None else self.stored
        return [one for one in dict.fromkeys(names) if one not in stored and not self.allowed.has(one)]

    def refused(self) -> Iterator[str]:
        """Sentences that count the images that are not allowed and name the first, with the remedy."""
        found: dict[tuple[str, str], list[tuple[int, str]]] = {}
        refuses = cache(self.allowed.refuses)
        for row, name in self._every():
            if is_named(name) and refuses(name):
                found.setdefault(refusal(name), []).append((row, name))
        for (where, remedy), cells in sorted(found.items(), reverse=True):  # those on the web last
            row, name = cells[0]
            first = f"{self.location.rpartition('/')[2]}, row {row + 1}: {shortened(name)}"  # no folders of the user
            yield f"{len(cells):,} images are {where} and are not read, e.g. {first}; {remedy}"

    def _every(self) -> Iterator[tuple[int, Any]]:
        """The row and the value of each image in the cells."""
        rows = range(len(self.columns[0])) if self.columns else ()
        return ((row, value) for row in rows for value in self._values(row))

    def _values(self, row: int, hops: int = MOST_HOPS) -> list[Any]:
        """The images of a row: a buffer with content, base64 text or a path each."""
        values: list[Any] = []
        for value in (one for column in self.columns for one in _flat(column[row])):
            if isinstance(value, str) and len(value) <= MOST_NAME and value in self.references and hops:
                target = self.references[value]
                values += self._values(target, hops - 1) if target != row else []
            else:
                values.append(value)
        return values

    def _content(self, value: Any, row: int) -> bytes:  # noqa: ANN401
        if isinstance(value, pa.Buffer):
            return bytes(value)
        where = f"{self.location}, row {row + 1}"
        try:
            return self.content(value) if is_named(value) else _decoded(value)
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        except ValueError as error:
            raise InputError(f"{where}: the image is not base64 text ({error}): {shown(value)}") from error


def may_hold_images(kind: pa.DataType) -> bool:
    """Whether a column of this type may hold images, their paths, or lists of them."""
    if is_list(kind):
        return may_hold_images(kind.value_type)
    binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    return bool(is_image(kind) or is_text(kind) or binary or pa.types.is_null(kind))


def image_cells(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of images; as lists of text if a text is a list in Python or JSON syntax."""
    if not is_text(column.type) or not pc.any(pc.starts_with(column.cast(pa.large_string()), "[")).as_py():
        return column
    texts = column.to_pylist()
    lists = [[text] if one is None else one for text, one in zip(texts, unpacked_lists(texts), strict=True)]
    return pa.chunked_array([pa.array(lists, pa.list_(pa.string()))])


def _flat(cell: pa.Scalar) -> Iterator[Any]:
    """The images in a cell, in order, without empty ones; content is not copied."""
    if not cell.is_valid:
        return
    if is_list(cell.type):
        for one in cell.values:
            yield from _flat(one)
    elif pa.types.is_struct(cell.type):
        yield from list(_flat(cell["bytes"])) or _flat(cell["path"])
    elif is_text(cell.type):
        yield from filter(None, [cell.as_py()])
    elif not pa.types.is_null(cell.type) and (content := cell.as_buffer()).size:
        yield content


def is_named(value: Any) -> bool:  # noqa: ANN401
    """Whether an image in a cell is a path or another name instead of its content or base64 text."""
    if not isinstance(value, str) or _DATA_URI.match(value):
        return False
    if len(value) <= MOST_NAME or value[-8:].lower().endswith(tuple(IMAGE_SUFFIXES)):
        return True
    return len(value) < _LONGEST_PATH and not _BASE64.fullmatch(value)


def _decoded(text: str) -> bytes:
    start = _DATA_URI.match(text)
    packed = "".join(text[start.end() if start else 0 :].split())
    return base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True)
