"""The image of each row: its id, and its bytes in the rows, in files or in an images config."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_text, is_id, is_list, is_text
from hf_vqa_mc.data.dataset_images import NAME_FOLDER, AllowedImages, ImageSource, shortened
from hf_vqa_mc.data.image_files import find_by_id
from hf_vqa_mc.data.images import LOOKED_AT, MOST_NAME, Images, image_cells, may_hold_images
from hf_vqa_mc.data.names import IMAGE, IMAGE_ID, IMAGE_PATH, QUESTION_ID, VIDEO, named, picture_columns
from hf_vqa_mc.data.opening import Opened
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.stored_images import StoredImages, images_folder
from hf_vqa_mc.errors import InputError

ENOUGH = 20
"""Rows from which one missing image that most rows name is not taken for their image."""


@dataclass(frozen=True, eq=False, repr=False)
class Pictures:
    """The images of a split's rows."""

    ids: pa.Array  # (rows,): text, equal for rows with the same images, "" without image
    source: Images | None  # None if rows only name missing images
    missing: str = ""  # why source is None, and what to do
    columns: tuple[str, ...] = ()  # columns with images or their paths
    id_column: str | None = None  # column of ids
    notes: tuple[str, ...] = ()  # sentences on images that are not allowed
    cells: Images | None = None  # the images in columns, found or not

    def take(self, rows: NDArray[np.int64]) -> "Pictures":
        """The images of some rows."""
        return replace(self, ids=self.ids.take(pa.array(rows)), source=self.source and self.source.take(rows))


def find_pictures(
    opened: Opened, columns: BenchmarkOptions, allowed: AllowedImages, progress: Callable[[int, int], None]
) -> dict[str, Pictures]:
    """The images of each split that has any.

    An image's id comes from an id column (image_id, img_id ...), else is its path (the file name if these are unique),
    else the sha256 of its bytes; without columns of images it is the row's video (video, video_id ...). If a row has
    several images, no id column is used unless the user names it: the id of such a row is the sha256 of the paths, or
    of the sha256 of the bytes, of all its images in order.
    """
    done, total = 0, sum(table.num_rows for table in opened.tables.values())
    found: dict[str, Pictures] = {}
    for name, table in opened.tables.items():
        if table.num_rows and (pictures := _pictures(table, columns, allowed, opened.locations[name])):
            found[name] = pictures
        done += table.num_rows
        progress(done, total)
    found = _with_short_names(found)
    sources = [pictures.source for pictures in found.values()]
    if columns.images is not None and not all(one is not None and all(one.found()) for one in sources):
        return _in_folder(found, columns.images)
    if found and not any(sources) and opened.first is not None:
        return _in_images_config(found, opened, allowed)
    return found


def _pictures(table: pa.Table, columns: BenchmarkOptions, allowed: AllowedImages, location: str) -> Pictures | None:
    kinds = {name: table.schema.field(name).type for name in named(table.column_names, IMAGE_PATH)}
    paths = [name for name, kind in kinds.items() if is_text(kind.value_type if is_list(kind) else kind)][:1]
    paths = [] if columns.image == "" else paths
    cells = {
        tuple(some): Images(
            [image_cells(table[name]) for name in some], f"{location}, {some[0]}", allowed, _references(table, some)
        )
        for some in (_image_columns(table, columns), paths)
        if some
    }
    id_column = _id_column(table, columns)
    if not id_column and not cells:
        videos = named(table.column_names, VIDEO)
        id_column = next((name for name in videos if is_id(table.schema.field(name).type)), None)
    if id_column is None and not cells:
        return None
    present = (pair for pair in cells.items() if any(itertools.islice(pair[1].found(), LOOKED_AT)))
    used, source = next(present, (next(iter(cells), ()), None))
    by = source or next(iter(cells.values()), None)
    if by is not None and by.has_several:
        paths = []
        id_column = columns.columns.get("image_id")
    texts = id_column or next(iter(paths), None)
    is_listed = texts is not None and is_list(table.schema.field(texts).type)
    ids = pa.repeat("", table.num_rows) if texts is None or is_listed else pc.fill_null(as_text(table[texts]), "")
    if by is not None and pc.any(pc.equal(ids, "")).as_py():
        own = [by.identity(row) if not one else one for row, one in enumerate(ids.to_pylist())]
        ids = pa.array(own, pa.string())
    notes = dict.fromkeys(itertools.chain.from_iterable(one.refused() for one in cells.values()))
    counts = pc.value_counts(ids)
    often = counts.filter(pc.greater(pc.multiply(counts.field("counts"), 2), len(ids)))  # ids of most rows
    frequent = often[0]["values"].as_py() if len(often) and len(ids) >= ENOUGH else ""
    if cells and not source and not id_column and frequent:
        ids = pc.if_else(pc.equal(ids, frequent), "", ids)
        notes[
            f"{location}: most rows name the image {shortened(frequent)}, which does not exist; it is not used as the "
            "image of these rows; give the folder with --images, or read no images with --image ''"
        ] = None
    missing = "" if source else next(filter(None, (one.missing() for one in cells.values())), "")
    if source is None and not missing and (known := next(filter(None, pc.unique(ids).to_pylist()), None)):
        missing = f"the rows only name their images, e.g. {shortened(known)}; {NAME_FOLDER}"
    return Pictures(ids, source, missing, used, id_column, tuple(notes), by)


def _image_columns(table: pa.Table, columns: BenchmarkOptions) -> list[str]:
    """The columns of images: one, or image_1, image_2 and so on; raises InputError if ``--image`` is not one."""
    if columns.image == "":
        return []
    if columns.image is not None:
        kind = table.schema.field(columns.image).type
        if not may_hold_images(kind):
            raise InputError(f"--image {columns.image}: holds {kind}, expected images, base64 text or paths")
        return [columns.image]
    held = {name for name in table.column_names if may_hold_images(table.schema.field(name).type)}
    run = [name for name in picture_columns(table.column_names) if name in held]
    return run or [name for name in named(table.column_names, IMAGE) if name in held][:1]


def _id_column(table: pa.Table, columns: BenchmarkOptions) -> str | None:
    given = columns.columns.get("image_id")
    for name in [given] if given else named(table.column_names, IMAGE_ID):
        kind = table.schema.field(name).type
        if is_id(kind):
            return name
        if given:
            raise InputError(f"--columns image_id={name}: holds {kind}, expected text or integers")
    return None


def _references(table: pa.Table, names: list[str]) -> dict[str, int]:
    """Row by the name that may be in a cell instead of an image: a row's index, as in VLMEvalKit's tables."""
    if not all(is_text(table.schema.field(name).type) for name in names):
        return {}
    lengths = (pc.utf8_length(table[name].cast(pa.large_string())) for name in names)
    if not any(pc.any(pc.greater(some, MOST_NAME)).as_py() for some in lengths):
        return {}  # no cell holds an image
    for name in named(table.column_names, ("index", *(one for one in QUESTION_ID if one != "index"))):
        if is_id(table.schema.field(name).type):
            return {text: row for row, text in enumerate(as_text(table[name]).to_pylist()) if text}
    return {}


def _with_short_names(found: dict[str, Pictures]) -> dict[str, Pictures]:
    """Replace paths in ids by file names if these are unique."""
    distinct = _all_ids(found)
    short = {one: PurePosixPath(one).name if "/" in one else one for one in distinct}
    if len({*short.values()}) < len(distinct) or not all(short.values()):
        return found
    return {
        name: replace(pictures, ids=pa.array([one and short[one] for one in pictures.ids.to_pylist()], pa.string()))
        for name, pictures in found.items()
    }


def _in_folder(found: dict[str, Pictures], images: Path) -> dict[str, Pictures]:
    ids = _all_ids(found)
    names = [name for one in found.values() if one.cells and one.cells.has_several for name in one.cells.names()]
    folder = find_by_id(images, list(dict.fromkeys([*ids, *names])))
    if not any(name in folder for name in (*ids, *names)) and not any(one.source for one in found.values()):
        some = f"such as {(names or ids)[0]!r}" if names or ids else "and the rows name none"
        raise InputError(f"--images {images}: holds no image of the benchmark, {some}; give their folder")
    return _stored_in(folder, str(images), found)


def _in_images_config(found: dict[str, Pictures], opened: Opened, allowed: AllowedImages) -> dict[str, Pictures]:
    """Images in the config ``<source>_images`` of the same folder, if there is one."""
    folder = ""
    try:
        folder = images_folder(opened.first, opened.location)
        if opened.location is not None:
            allowed.check_config(folder)
        stored = StoredImages(folder)
    except FileNotFoundError:
        return found
    except InputError as error:
        if not folder:  # no such config
            return found
        return {name: one if one.source else replace(one, missing=str(error)) for name, one in found.items()}
    if opened.location is None and not all(one in stored for one in _all_ids(found)):
        return found  # the origin of rows in memory is not certain
    return _stored_in(stored, folder, found)


def _all_ids(found: dict[str, Pictures]) -> list[str]:
    ids = dict.fromkeys(one for pictures in found.values() for one in pc.unique(pictures.ids).to_pylist())
    return list(filter(None, ids))


def _stored_in(source: ImageSource, where: str, found: dict[str, Pictures]) -> dict[str, Pictures]:
    """The images of a source by id; those in the rows' own files remain available."""
    stored = {}
    for name, one in found.items():
        cells = one.source or (one.cells if one.cells and one.cells.has_several else Images((), where))
        images = replace(cells, ids=one.ids.to_pylist(), stored=source, stored_in=where)
        stored[name] = replace(one, source=images, missing="")
    return stored
