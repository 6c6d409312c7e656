"""The declaration of a check, and what it reads of a benchmark; thumbnails of images, and which are nearly equal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.figures.figure import Data, of_benchmark
from hf_vqa_mc.data.benchmark import Benchmark, FaultyRow, Split
from hf_vqa_mc.data.column_spec import PER_CHOICE
from hf_vqa_mc.data.loading import open_tables
from hf_vqa_mc.data.names import ROW_NUMBER
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import question_ids, read_opened
from hf_vqa_mc.decoys.rows import SET_COLUMNS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture
from hf_vqa_mc.io.progress import Progress

if TYPE_CHECKING:
    from PIL.Image import Image

ERROR, WARNING, NOTE = SEVERITIES = ("error", "warning", "note")
"""An error makes a row unusable or its score wrong; a warning needs a look; a note is for information."""
TRAIN = ("train", "training")
THREADS = 4
WHOLE = -1  # row of an issue of the whole benchmark
SIDE = 16
SIMILAR = 0.96
"""Lowest similarity of similar images. Of 569 COCO images no two reach 0.87. Of their copies 99% and more that are
compressed, scaled, made square, 20% brighter or of 30% more contrast reach 0.96, fewer that are cropped or gray
(`tests/audits/test_thumbnails.py`)."""
NOISE = 4.0 * SIDE * SIDE * 3
"""Added to sums of squares, so that images whose values differ by little, or not at all, resemble none."""
_AT_A_TIME = 2048

Issues: TypeAlias = Iterable[tuple[int, str]]
"""Row among the rows of all splits, or WHOLE, and detail of each issue; "" for no detail."""


@dataclass(frozen=True)
class Check:
    """A fault that is searched for."""

    name: str
    severity: str  # of SEVERITIES
    sentence: str  # what is wrong
    remedy: str
    find: Callable[["Linted"], Issues]


class ImageCheck(NamedTuple):
    """What was found out about an image."""

    digest: str = ""  # of its content; "" if it could not be read
    problem: str = ""
    is_missing: bool = False
    thumbnail: bytes = b""  # of a row's only image


@dataclass(frozen=True, eq=False)
class Linted:
    """A benchmark as checks see it."""

    benchmark: Benchmark
    data: Data  # the rows that could be read, of all splits
    tables: dict[str, pa.Table]  # all columns of all rows by split, and ROW_NUMBER
    ids: pa.Array  # question ids of the rows of all splits; row numbers if there are none
    faulty: list[FaultyRow]  # the rows that could not be read, with numbers of rows of all splits
    progress: Progress
    skip_images: bool = False

    @cached_property
    def splits(self) -> list[Split]:
        """The splits of `data`, in its order."""
        return list(self.benchmark.splits.values())

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(rows of data,): number of each among the rows of all splits."""
        return np.concatenate([split.original[ROW_NUMBER].to_numpy() for split in self.splits])

    @property
    def rows_by_split(self) -> dict[str, NDArray[np.int64]]:
        """Each split's name and its rows of `data`."""
        return {name: np.flatnonzero(self.data.splits.codes == n) for n, name in enumerate(self.data.splits.texts)}

    def issues(self, rows: NDArray[np.int64] | NDArray[np.bool_], details: Iterable[str] | None = None) -> Issues:
        """Issues of rows of `data`, with a detail of each or none."""
        return zip(self.rows[rows].tolist(), repeat("") if details is None else details, strict=False)

    @property
    def own_columns(self) -> list[str]:
        """The columns that all splits have, without those of choices and labels, and those that this package adds."""
        others = {ROW_NUMBER, *self.benchmark.spec.columns, *PER_CHOICE, *SET_COLUMNS}
        shared = set.intersection(*(set(split.original.column_names) for split in self.splits)) - others
        return [name for name in self.splits[0].original.column_names if name in shared]

    def locations(self, rows: NDArray[np.int64] | Sequence[int]) -> dict[str, pa.Array]:
        """Split, row in the split (from 1) and question id of rows of all splits; null for `WHOLE`."""
        rows, starts = np.asarray(rows), np.cumsum([0, *(table.num_rows for table in self.tables.values())])
        split, missing = np.searchsorted(starts, rows, side="right") - 1, rows < 0
        return {
            "split": pa.array(list(self.tables)).take(pa.array(split, mask=missing)),
            "row": pa.array(rows - starts[split] + 1, mask=missing),
            "question_id": self.ids.take(pa.array(rows, mask=missing)),
        }

    @cached_property
    def images(self) -> dict[int, ImageCheck]:
        """Each image of `data`, by its number in ``data.images``, read once."""
        found: dict[int, ImageCheck] = {}
        if self.skip_images or not any(split.images for split in self.splits):
            return found
        locations = [(split, row) for split in self.splits for row in range(split.rows.num_rows)]
        codes, first = np.unique(self.data.images.codes, return_index=True)
        wanted = [locations[row] for row in first[codes >= 0].tolist()]
        with ThreadPoolExecutor(THREADS) as pool:
            checked = pool.map(_check_image, *zip(*wanted, strict=True))
            for done, (code, image) in enumerate(zip(codes[codes >= 0].tolist(), checked, strict=True), 1):
                found[code] = image
                self.progress("images", done, len(wanted))
        return found

    @cached_property
    def in_train(self) -> NDArray[np.bool_]:
        """(rows of data,): whether the row is of a training split."""
        return np.concatenate([np.full(len(rows), name.lower() in TRAIN) for name, rows in self.rows_by_split.items()])

    @cached_property
    def contents(self) -> NDArray[np.int64]:
        """A number for the content of each image of `data`, or for its id if it was not read; -1 at MISSING."""
        firsts = dict[str, int]()
        found = np.arange(len(self.data.images.texts) + 1, dtype=np.int64)
        for code, one in self.images.items():
            found[code] = firsts.setdefault(one.digest or f"\0{code}", code)
        return found

    @cached_property
    def similar_images(self) -> dict[int, tuple[int, float]]:
        """Contents of other splits to the most similar image of a training split, and how similar it is."""
        codes, contents, in_train = self.data.images.codes, self.contents, self.in_train
        known = {code: one.thumbnail for code, one in self.images.items() if one.thumbnail}
        train, others = (np.unique(codes[rows & (codes >= 0)]) for rows in (in_train, ~in_train))
        train = train[np.unique(contents[train], return_index=True)[1]]
        others = np.setdiff1d(contents[others], contents[train])
        ones, pool = ({code: known[code] for code in some.tolist() if code in known} for some in (others, train))
        return similar(ones, pool, self.progress)


def _check_image(split: Split, row: int) -> ImageCheck:
    try:
        contents = split.images.read(row) if split.images else ()
    except (InputError, OSError) as error:
        return ImageCheck(problem=str(error), is_missing=True)
    if not contents:
        return ImageCheck(problem="not found, or not allowed", is_missing=True)
    digest = blake2b(b"".join(contents), digest_size=16).hexdigest()
    try:
        for content in contents:
            with opened_picture(content, side=SIDE) as picture:
                found = thumbnail(picture)
    except BrokenImage as error:
        return ImageCheck(digest, str(error))
    return ImageCheck(digest, thumbnail=found if len(contents) == 1 else b"")


def read_linted(options: BenchmarkOptions, progress: Progress, skip_images: bool) -> Linted:
    """Read a benchmark and set aside the rows that cannot be read."""
    progress("opening", 0, 1)
    opened = open_tables(options.dataset, options.config)
    tables, ids, firsts, notes = dict[str, pa.Table](), [], dict[str, int](), list[str]()
    for name, table in opened.tables.items():
        firsts[name] = first = sum(one.num_rows for one in tables.values())
        tables[name] = table.append_column(ROW_NUMBER, pa.array(np.arange(first, first + table.num_rows)))
        of_split, _, problem = question_ids(table, options, opened.locations[name], np.arange(table.num_rows))
        ids.append(of_split)
        notes += problem
    benchmark = read_opened(replace(opened, tables=tables), replace(options, skip_faulty=True), progress)
    every = (one for split in benchmark.splits.values() for one in split.faulty)
    faulty = [one._replace(row=firsts[one.split] + one.row) for one in every]
    benchmark = replace(benchmark, notes=tuple(dict.fromkeys((*notes, *benchmark.notes))))
    return Linted(benchmark, of_benchmark(benchmark), tables, pa.concat_arrays(ids), faulty, progress, skip_images)


def thumbnail(picture: "Image") -> bytes:
    """SIDE x SIDE x 3 values, 8 bit; what is transparent is white."""
    from PIL import Image

    if "A" not in picture.getbands() and "transparency" not in picture.info:
        return picture.convert("RGB").resize((SIDE, SIDE), reducing_gap=3).tobytes()
    white = Image.new("RGBA", (SIDE, SIDE), "white")
    white.alpha_composite(picture.convert("RGBA").resize((SIDE, SIDE), reducing_gap=3))
    return white.convert("RGB").tobytes()


def similar(
    ones: Mapping[int, bytes], others: Mapping[int, bytes], progress: Progress
) -> dict[int, tuple[int, float]]:
    """The other thumbnail that resembles each one most, and how similar they are, if at least `SIMILAR`.

    The similarity of centred values a and b is Lin's concordance, 2ab / (aa + bb): their correlation for equal
    contrasts, and less for others.
    """
    if not others:
        return {}
    codes, found = np.array(list(others)), dict[int, tuple[int, float]]()
    ids, queries, keys = list(ones), list(ones.values()), list(others.values())
    for first in range(0, len(ids), _AT_A_TIME):
        progress("similar images", first, len(ids))
        query, sizes = _centred(queries[first : first + _AT_A_TIME])
        for start in range(0, len(keys), _AT_A_TIME):
            key, key_sizes = _centred(keys[start : start + _AT_A_TIME])
            concordance = 2 * (query @ key.T) / (sizes[:, None] + key_sizes)
            at, best = concordance.argmax(axis=1), concordance.max(axis=1)
            for row in np.flatnonzero(best >= SIMILAR).tolist():
                if best[row] > found.get(ids[first + row], (0, 0.0))[1]:
                    found[ids[first + row]] = codes[start + at[row]].item(), best[row].item()
    return found


def _centred(thumbnails: list[bytes]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(thumbnails, values) of mean 0 by channel, and their sums of squares plus `NOISE`."""
    values = np.frombuffer(b"".join(thumbnails), np.uint8).reshape(len(thumbnails), -1, 3).astype(np.float32)
    values = (values - values.mean(axis=1, keepdims=True)).reshape(len(thumbnails), -1)
    return values, (values**2).sum(axis=1) + NOISE
