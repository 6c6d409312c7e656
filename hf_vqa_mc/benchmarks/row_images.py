"""The image of each row: its id, and its bytes in the rows, in files or in an images config."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.benchmark import Images, SomeImages
from hf_vqa_mc.benchmarks.cells import as_text, is_list, is_text
from hf_vqa_mc.benchmarks.names import IMAGE, IMAGE_ID, IMAGE_PATH, QUESTION_ID, named, picture_columns
from hf_vqa_mc.benchmarks.opening import Opened
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.benchmarks.picture_cells import LOOKED_AT, MOST_NAME, PictureCells
from hf_vqa_mc.dataset.allowed_images import NAME_FOLDER, AllowedImages, shortened
from hf_vqa_mc.dataset.stored_images import StoredImages, images_folder
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.dataset_images import FolderImages, ImageSource

_INDEX_FIRST = tuple(dict.fromkeys(("index", *QUESTION_ID)))
"""Columns whose values a cell may refer to; ``index`` is first, since question_id may be a different number."""


@dataclass(frozen=True, eq=False, repr=False)
class Pictures:
    """The images of a split's rows."""

    ids: pa.Array
    """(rows,): text, equal for rows with the same image, "" without image"""
    source: Images | None
    """None if rows only name missing images"""
    missing: str = ""
    """why ``source`` is None, and what to do"""
    columns: tuple[str, ...] = ()
    """columns with images or their paths"""
    id_column: str | None = None
    """column of ``ids``"""
    notes: tuple[str, ...] = ()
    """sentences on images that are not allowed"""

    def take(self, rows: NDArray[np.int64]) -> "Pictures":
        """The images of some rows."""
        source = self.source and SomeImages(self.source, rows)
        return replace(self, ids=self.ids.take(pa.array(rows)), source=source)


@dataclass(frozen=True, eq=False, repr=False)
class NamedPictures:
    """Images stored elsewhere by id."""

    ids: list[str]
    source: ImageSource
    location: str
    rest: Images | None = None
    """images that are not stored there"""

    def read(self, row: int) -> bytes | None:
        """See `Images`."""
        image_id = self.ids[row]
        if not image_id:
            return None
        if image_id in self.source:
            try:
                return self.source.read(image_id)
            except OSError as error:
                reason = error.strerror or error
                raise InputError(f"{self.location}: image {shortened(image_id)} cannot be read ({reason})") from error
        if self.rest is None:
            raise InputError(f"{self.location}: no image {image_id!r}")
        return self.rest.read(row)


def find_pictures(
    opened: Opened, columns: BenchmarkOptions, allowed: AllowedImages, progress: Callable[[int, int], None]
) -> dict[str, Pictures]:
    """The images of each split that has any.

    An image's id comes from an id column (image_id, img_id ...), else is its path (the file name if these are unique),
    else the sha256 of its bytes, of all images if a row has several.

    Raises:
        InputError: the column named by the user holds no images, or the folder has none of them.
    """
    images = columns.images
    done, total = 0, sum(table.num_rows for table in opened.tables.values())
    found: dict[str, Pictures] = {}
    for name, table in opened.tables.items():
        pictures = _pictures(table, columns, allowed, opened.locations[name])
        if pictures is not None and table.num_rows:
            found[name] = pictures
        done += table.num_rows
        progress(done, total)
    found = _with_short_names(found)
    sources = [pictures.source for pictures in found.values()]
    if images is not None and not all(isinstance(one, PictureCells) and all(one.found()) for one in sources):
        return _in_folder(found, images)
    if found and not any(sources) and opened.rows is not None:
        return _in_images_config(found, opened, allowed)
    return found


def _pictures(table: pa.Table, columns: BenchmarkOptions, allowed: AllowedImages, location: str) -> Pictures | None:
    """The images of one split; None without images."""
    names = _image_columns(table, columns)
    paths = [name for name in named(table.column_names, IMAGE_PATH) if is_text(table.schema.field(name).type)][:1]
    cells = {
        tuple(some): PictureCells(
            [table[name] for name in some], allowed, f"{location}, {some[0]}", _references(table, some)
        )
        for some in (names, paths)
        if some
    }
    id_column = _id_column(table, columns)
    if id_column is None and not cells:
        return None
    present = (pair for pair in cells.items() if any(itertools.islice(pair[1].found(), LOOKED_AT)))
    used, source = next(present, (next(iter(cells), ()), None))
    texts = id_column or next(iter(paths), None)
    ids = pa.repeat("", table.num_rows) if texts is None else pc.fill_null(as_text(table[texts]), "")
    if cells and pc.any(pc.equal(ids, "")).as_py():
        by = source or next(iter(cells.values()))
        own = [by.identity(row) if not one else one for row, one in enumerate(ids.to_pylist())]
        ids = pa.array(own, pa.string())
    missing = "" if source else next(filter(None, (one.missing() for one in cells.values())), "")
    if source is None and not missing and (known := next(filter(None, pc.unique(ids).to_pylist()), None)):
        missing = f"the rows only name their images, e.g. {shortened(known)}; {NAME_FOLDER}"
    notes = dict.fromkeys(itertools.chain.from_iterable(one.refused() for one in cells.values()))
    return Pictures(ids, source, missing, used, id_column, tuple(notes))


def _image_columns(table: pa.Table, columns: BenchmarkOptions) -> list[str]:
    """The columns of images: one, or image_1, image_2 and so on; raises InputError if ``--image`` is not one."""
    if columns.image is not None:
        if not _may_hold(table.schema.field(columns.image).type):
            kind = table.schema.field(columns.image).type
            raise InputError(f"--image {columns.image}: holds {kind}, expected images, base64 text or paths")
        return [columns.image]
    run = [name for name in picture_columns(table.column_names) if _may_hold(table.schema.field(name).type)]
    return run or [name for name in named(table.column_names, IMAGE) if _may_hold(table.schema.field(name).type)][:1]


def _may_hold(kind: pa.DataType) -> bool:
    if is_list(kind):
        return _may_hold(kind.value_type)
    if pa.types.is_struct(kind):
        return {"bytes", "path"} <= {field.name for field in kind}
    return bool(is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_null(kind))


def _id_column(table: pa.Table, columns: BenchmarkOptions) -> str | None:
    """The column of image ids, or None."""
    given = columns.columns.get("image_id")
    for name in [given] if given else named(table.column_names, IMAGE_ID):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            return name
        if given:
            raise InputError(f"--columns image_id={name}: holds {kind}, expected text or integers")
    return None


def _references(table: pa.Table, names: list[str]) -> dict[str, int]:
    """Row by the name that may be in a cell instead of an image: a row's index, as in VLMEvalKit's tables."""
    if not all(is_text(table.schema.field(name).type) for name in names):
        return {}
    if not any(
        pc.any(pc.greater(pc.utf8_length(table[name].cast(pa.large_string())), MOST_NAME)).as_py() for name in names
    ):
        return {}  # no cell holds an image
    for name in named(table.column_names, _INDEX_FIRST):
        kind = table.schema.field(name).type
        if is_text(kind) or pa.types.is_integer(kind):
            return {text: row for row, text in enumerate(as_text(table[name]).to_pylist()) if text}
    return {}


def _with_short_names(found: dict[str, Pictures]) -> dict[str, Pictures]:
    """Replace paths in ids by file names if these are unique."""
    distinct = set(_all_ids(found))
    paths = {image_id for image_id in distinct if "/" in image_id}
    if not paths:
        return found
    short = {path: PurePosixPath(path).name for path in paths}
    if len({*short.values(), *(distinct - paths)}) < len(distinct) or not all(short.values()):
        return found
    return {
        name: replace(pictures, ids=pa.array([short.get(one, one) for one in pictures.ids.to_pylist()], pa.string()))
        for name, pictures in found.items()
    }


def _in_folder(found: dict[str, Pictures], images: Path) -> dict[str, Pictures]:
    """Images in a folder by id."""
    wanted = _all_ids(found)
    folder = FolderImages(images, wanted)
    if not any(image_id in folder for image_id in wanted) and not any(pictures.source for pictures in found.values()):
        some = f"such as {wanted[0]!r}" if wanted else "and the rows name none"
        raise InputError(
            f"--images {images}: holds no image of the benchmark, {some}; give the folder with its images"
        )
    return _stored_in(folder, str(images), found)


def _in_images_config(found: dict[str, Pictures], opened: Opened, allowed: AllowedImages) -> dict[str, Pictures]:
    """Images in the config ``<source>_images`` of the same folder, if there is one."""
    try:
        folder = images_folder(opened.rows, opened.location)
    except InputError:
        return found
    try:
        if opened.location is not None:
            allowed.check_config(folder)
        stored = StoredImages(folder)
    except FileNotFoundError:
        return found
    except InputError as error:
        return {name: one if one.source else replace(one, missing=str(error)) for name, one in found.items()}
    if opened.location is None and not all(one in stored for one in _all_ids(found)):
        return found  # the origin of rows in memory is not certain
    return _stored_in(stored, folder, found)


def _all_ids(found: dict[str, Pictures]) -> list[str]:
    """The distinct ids of images."""
    ids = dict.fromkeys(one for pictures in found.values() for one in pc.unique(pictures.ids).to_pylist())
    return list(filter(None, ids))


def _stored_in(source: ImageSource, location: str, found: dict[str, Pictures]) -> dict[str, Pictures]:
    """The images of a source by id; those in the rows' own files remain available."""
    return {
        name: replace(one, source=NamedPictures(one.ids.to_pylist(), source, location, one.source), missing="")
        for name, one in found.items()
    }
