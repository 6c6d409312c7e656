"""Where the images of a dataset are: in its rows, in files, or in an images config; and the image of each row."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_array, as_text, is_id, is_list, is_text
from hf_vqa_mc.data.images import (
    LOOKED_AT,
    NAME_FOLDER,
    AllowedImages,
    Images,
    allowed_images,
    image_cells,
    is_named,
    may_hold_images,
    shortened,
)
from hf_vqa_mc.data.loading import BUILT, Opened, open_tables
from hf_vqa_mc.data.names import IMAGE, IMAGE_ID, IMAGE_PATH, QUESTION_ID, VIDEO, named, picture_columns
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.stored_images import ImageFiles, StoredImages, find_by_id, images_folder
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.sources.vqa2 import OTHER

VIDEO_SUFFIXES = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg")  # other names are ids
SEVERAL = "rows have several images, but features and the models of vqa-mc train take one image per row"
ENOUGH = 20  # rows from which a missing image that most of them name is not taken for their image


@dataclass(frozen=True)
class DatasetImages:
    """The images of all splits of a dataset by id."""

    dataset: str
    config: str  # its name, or that of the file
    location: str  # where images are searched, for messages
    image_ids: list[str]  # distinct ids, in the order of the rows
    find: Callable[[], "ImageFiles | StoredImages | _ImagesOfRows"]

    @cached_property
    def source(self) -> "ImageFiles | StoredImages | _ImagesOfRows":
        """The images; raises InputError if the dataset has none."""
        return self.find()

    @cached_property
    def missing(self) -> list[str]:
        """Ids of the images that the source does not have."""
        return [image_id for image_id in self.image_ids if image_id not in self.source]


def dataset_images(dataset: str, config: str | None, directory: Path | None = None) -> DatasetImages:
    """The images of a dataset, of pairs those of both questions: from files below a folder, or the dataset's own.

    Raises InputError if a row has several images, or none has any.
    """
    opened = open_tables(dataset, config or None, open_ended=True, expected=BUILT)
    allowed = allowed_images(opened)
    found = _images_in_rows(opened, BenchmarkOptions(dataset), allowed, silent)
    ids: dict[str, None] = {}
    for split, table in opened.tables.items():
        of_rows = found.get(split)
        if of_rows and of_rows.cells and of_rows.cells.has_several:
            raise InputError(f"{opened.locations[split]}: {SEVERAL}")
        columns = [of_rows.ids] if of_rows else []
        columns += [table[name] for name in (f"{OTHER}image_id",) if name in table.column_names]
        ids |= dict.fromkeys(one for column in columns for one in pc.unique(as_text(column)).to_pylist() if one)
    location, image_ids = ", ".join(filter(None, [dataset, opened.config])), list(ids)
    if not ids:
        raise InputError(f"{location}: no column of images; {NAME_FOLDER}")

    def find() -> "ImageFiles | StoredImages | _ImagesOfRows":
        if directory is not None:
            return find_by_id(directory, image_ids)
        _in_images_config(found, opened, allowed)
        own = [(one.source, one.ids.to_pylist()) for one in found.values() if one.source is not None]
        if not own:
            raise InputError(f"{location}: {next(filter(None, (one.missing for one in found.values())), NAME_FOLDER)}")
        return next((images.stored for images, _ in own if not images.columns), None) or _ImagesOfRows(own)

    return DatasetImages(dataset, opened.config or Path(dataset).stem, str(directory or location), image_ids, find)


class _ImagesOfRows:
    """The images of rows by image id, given as the images of each split and the ids of its rows."""

    def __init__(self, splits: Iterable[tuple[Images, Sequence[str]]]) -> None:
        self._rows: dict[str, tuple[Images, int]] = {}
        for images, ids in splits:
            for row, image_id in enumerate(ids):
                if image_id and images.count(row):
                    self._rows.setdefault(image_id, (images, row))

    def __contains__(self, image_id: str) -> bool:
        return image_id in self._rows

    def read(self, image_id: str) -> bytes:
        """The content of the image file; raises InputError if it is not allowed or cannot be read."""
        images, row = self._rows[image_id]
        found = images.read(row)
        return found[0] if found else images.content(images.identity(row))  # raises why it is not read


@dataclass(eq=False, repr=False)
class RowImages:
    """The images of a split's rows."""

    ids: pa.Array  # (rows,): text, equal for rows with the same images, "" without image
    source: Images | None = None  # None if rows only name missing images
    missing: str = ""  # why source is None, and what to do
    columns: tuple[str, ...] = ()  # columns with images or their paths
    id_column: str | None = None  # column of ids
    notes: tuple[str, ...] = ()  # sentences on images that are not allowed
    cells: Images | None = None  # the images in columns, found or not

    def take(self, rows: NDArray[np.int64]) -> "RowImages":
        """The images of some rows."""
        return replace(self, ids=self.ids.take(pa.array(rows)), source=self.source and self.source.take(rows))


def find_row_images(
    opened: Opened, columns: BenchmarkOptions, allowed: AllowedImages, progress: Progress
) -> dict[str, RowImages]:
    """The images of each split that has any.

    An image's id comes from an id column (image_id, img_id ...), else is its path (the file name if these are unique),
    else the sha256 of its bytes; without columns of images it is the row's video (video, video_id ...). If a row has
    several images, no id column is used unless the user names it: the id of such a row is the sha256 of the paths, or
    of the sha256 of the bytes, of all its images in order.
    """
    found = _images_in_rows(opened, columns, allowed, progress)
    sources = [pictures.source for pictures in found.values()]
    if columns.images is not None and not all(one is not None and all(one.found()) for one in sources):
        _in_folder(found, columns.images)
    else:
        _in_images_config(found, opened, allowed)
    return found


def _images_in_rows(
    opened: Opened, columns: BenchmarkOptions, allowed: AllowedImages, progress: Progress
) -> dict[str, RowImages]:
    """The images of each split that has any, with those in its own columns."""
    done, total = 0, sum(table.num_rows for table in opened.tables.values())
    found: dict[str, RowImages] = {}
    for name, table in opened.tables.items():
        if table.num_rows and (pictures := _pictures(table, columns, allowed, opened.locations[name])):
            if pictures.cells and not (pictures.source or pc.any(pc.not_equal(pictures.ids, "")).as_py()):
                videos = _pictures(table, replace(columns, image=""), allowed, opened.locations[name])
                pictures = replace(videos, notes=(*pictures.notes, *videos.notes)) if videos else pictures
            found[name] = pictures
        done += table.num_rows
        progress("images", done, total)
    paths = {split: one for split, one in found.items() if one.id_column is None}
    distinct = _all_ids(paths)
    short = {one: PurePosixPath(one).name if "/" in one else one for one in distinct}
    if len({*short.values()}) == len(distinct) and all(short.values()):
        for pictures in paths.values():
            pictures.ids = pa.array([one and short[one] for one in pictures.ids.to_pylist()], pa.string())
    return found


def _pictures(table: pa.Table, columns: BenchmarkOptions, allowed: AllowedImages, location: str) -> RowImages | None:
    paths = [name for name in named(table.column_names, IMAGE_PATH) if is_text(_inner(table[name].type))][:1]
    paths = [] if columns.image == "" else paths
    cells = {
        tuple(some): Images(
            [image_cells(table[name]) for name in some], f"{location}, {some[0]}", allowed, _references(table, some)
        )
        for some in (_image_columns(table, columns), paths)
        if some
    }
    id_column = _id_column(table, columns)
    found = {some: list(itertools.islice(one.found(), LOOKED_AT)) for some, one in cells.items()}
    video = None
    if not id_column and not any(found.values()):
        video = next((name for name in named(table.column_names, VIDEO) if is_id(_inner(table[name].type))), None)
        cells, id_column = ({}, video) if video else (cells, None)
    if id_column is None and not cells:
        return None
    used = next((some for some in cells if any(found[some])), next(iter(cells), ()))
    source = cells[used] if any(found.get(used, ())) else None
    by = cells.get(used)
    if by is not None and by.has_several:
        paths = []
        id_column = columns.columns.get("image_id")
    texts = id_column or next(iter(paths), None)
    ids = _named_ids(table[texts], texts == video) if texts else pa.repeat("", table.num_rows)
    if by is not None and pc.any(pc.equal(ids, "")).as_py():
        own = [by.identity(row) if not one else one for row, one in enumerate(ids.to_pylist())]
        ids = pa.array(own, pa.string())
    notes = dict.fromkeys(itertools.chain.from_iterable(one.refused() for one in cells.values()))
    first = pc.index(pc.not_equal(ids, ""), True).as_py()  # the first row that names an image; -1 for none
    known = ids[first].as_py() if first >= 0 else ""
    if not source and (video or not id_column):
        ids, frequent = _without_frequent(ids)
        if frequent:
            what, why = ("video", "is not read") if video else ("image", "does not exist")
            notes[
                f"{location}: most rows name the {what} {frequent}, which {why}; it is not used as the {what} of "
                "these rows; give the folder with --images, or read no images with --image ''"
            ] = None
    missing = "" if source else next(filter(None, (one.missing() for one in cells.values())), "")
    if source is None and not missing and known:
        missing = f"the rows only name their images, e.g. {shortened(known)}; {NAME_FOLDER}"
        if video:
            where = f"{shortened(known)} in row {first + 1}"
            missing = f"the rows name videos, e.g. {where}, which are not read"
            used = (video,) if columns.image != "" and known.lower().endswith(VIDEO_SUFFIXES) else ()
    return RowImages(ids, source, missing, used, id_column, tuple(notes), by)


def _named_ids(column: pa.ChunkedArray, joined: bool) -> pa.Array:
    """A column as ids, "" for null; lists joined, or else as ""."""
    if not is_list(column.type):
        return pc.fill_null(as_text(column), "")
    texts = pc.binary_join(as_array(column).cast(pa.list_(pa.string())), "\n")
    return pc.fill_null(texts, "") if joined else pa.repeat("", len(column))


def _without_frequent(ids: pa.Array) -> tuple[pa.Array, str]:
    """Ids without those of at least half of the rows that have one, and these in words."""
    known = ids.filter(pc.not_equal(ids, ""))
    counts = pc.value_counts(known if len(known) >= ENOUGH else known[:0])
    often = pc.greater_equal(pc.multiply(counts.field("counts"), 2), len(known))
    frequent = counts.field("values").filter(often)
    return pc.if_else(pc.is_in(ids, frequent), "", ids), " or ".join(map(shortened, frequent.to_pylist()))


def _inner(kind: pa.DataType) -> pa.DataType:
    """The type of a column's values, in or without lists."""
    return kind.value_type if is_list(kind) else kind


def _image_columns(table: pa.Table, columns: BenchmarkOptions) -> list[str]:
    """The columns of images: one, or image_1, image_2 and so on; raises InputError if ``--image`` is not one."""
    if columns.image is not None:
        if columns.image and not may_hold_images(kind := table.schema.field(columns.image).type):
            raise InputError(f"--image {columns.image}: holds {kind}, expected images, base64 text or paths")
        return [columns.image] if columns.image else []
    held = [name for name in table.column_names if may_hold_images(table.schema.field(name).type)]
    run = [name for name in picture_columns(table.column_names) if name in held]
    return run or named(held, IMAGE)[:1]


def _id_column(table: pa.Table, columns: BenchmarkOptions) -> str | None:
    given = columns.columns.get("image_id")
    if given and not is_id(kind := table.schema.field(given).type):
        raise InputError(f"--columns image_id={given}: holds {kind}, expected text or integers")
    return given or next((name for name in named(table.column_names, IMAGE_ID) if is_id(table[name].type)), None)


def _references(table: pa.Table, names: list[str]) -> dict[str, int]:
    """Row by the name that may be in a cell instead of an image: a row's index, as in VLMEvalKit's tables."""
    if not all(is_text(table.schema.field(name).type) for name in names):
        return {}
    lengths = {name: pc.utf8_length(table[name].cast(pa.large_string())) for name in names}
    most = {name: pc.max(some) for name, some in lengths.items() if some.null_count < len(some)}
    longest = (table[name][pc.index(lengths[name], one).as_py()].as_py() for name, one in most.items())
    if all(map(is_named, longest)):
        return {}  # no cell holds an image
    indices = named(table.column_names, ("index", *(one for one in QUESTION_ID if one != "index")))
    for name in (one for one in indices if is_id(table.schema.field(one).type)):
        return {text: row for row, text in enumerate(as_text(table[name]).to_pylist()) if text}
    return {}


def _in_folder(found: dict[str, RowImages], images: Path) -> None:
    ids = _all_ids(found)
    names = [name for one in found.values() if one.cells and one.cells.has_several for name in one.cells.names()]
    folder = find_by_id(images, list(dict.fromkeys([*ids, *names])))
    if not any(name in folder for name in (*ids, *names)) and not any(one.source for one in found.values()):
        some = f"such as {(names or ids)[0]!r}" if names or ids else "and the rows name none"
        raise InputError(f"--images {images}: holds no image of the benchmark, {some}; give their folder")
    _store(folder, str(images), found)


def _in_images_config(found: dict[str, RowImages], opened: Opened, allowed: AllowedImages) -> None:
    """Use the images in the config ``<source>_images`` of the same folder, if rows have none and there is one."""
    if not found or opened.first is None or any(one.source for one in found.values()):
        return
    try:
        folder = images_folder(opened.first, opened.location)
    except (InputError, FileNotFoundError):  # there is no such config
        return
    try:
        if opened.location is not None and not allowed.allows_folder(folder):
            raise InputError(f"{folder}: leads out of the dataset's folder; copy the images config into it")
        stored = StoredImages(folder)
    except FileNotFoundError:
        return
    except InputError as error:
        for one in found.values():
            one.missing = str(error)
        return
    if opened.location is not None or all(one in stored for one in _all_ids(found)):  # else of uncertain origin
        _store(stored, folder, found)


def _all_ids(found: Mapping[str, RowImages]) -> list[str]:
    ids = dict.fromkeys(one for pictures in found.values() for one in pc.unique(pictures.ids).to_pylist())
    return list(filter(None, ids))


def _store(source: ImageFiles | StoredImages, where: str, found: dict[str, RowImages]) -> None:
    """Read images from a source by id; those in the rows' own files remain available."""
    for one in found.values():
        cells = one.source or (one.cells if one.cells and one.cells.has_several else Images((), where))
        one.source, one.missing = replace(cells, ids=one.ids.to_pylist(), stored=source, stored_in=where), ""
