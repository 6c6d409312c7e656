"""Sources: their declarations, their files, published or written by ``vqa-mc generate``, and their triplets."""

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import CountMismatch, InputError
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.schema import SPLITS, check_triplets
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Downloads, Files, Folder, RemoteFile
from hf_vqa_mc.sources.table import ROWS, plain_errors

if TYPE_CHECKING:
    from datasets import DownloadConfig

OPEN_SPLITS = ("train", "validation", "test", "challenge")  # of open-ended configs, in order
STATISTICS = "statistics.json"  # identifies a generated folder
BY_HASH = "by hash"  # marks the images of a generated TDIUC whose subset no file gives, so that a hash chose it

Counts = Mapping[tuple[str, ...], Counter[tuple[str, ...]]]
"""Names of columns -> number of rows with each combination of their values."""


def reference(key: str) -> str:
    """The BibTeX entry with this key in ``references.bib``."""
    entries = Path(__file__).with_name("references.bib").read_text("utf-8").strip().split("\n\n")
    return next(entry for entry in entries if entry.partition("{")[2].startswith(f"{key},"))


def warn_about_counts(name: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
    """Warn with CountMismatch, from the caller's caller, if a split has more or fewer rows than expected."""
    wrong = {split: number for split, number in expected.items() if found[split] != number}
    differences = [f"{found[split]:,} in {split} where {n:,} were expected" for split, n in wrong.items()]
    if differences:
        message = f"{name} does not have the published number of questions: {'; '.join(differences)}"
        warnings.warn(CountMismatch(message), stacklevel=3)


@dataclass(frozen=True)
class OpenEnded:
    """A config next to the multiple-choice variants: the publisher's complete records, without choices."""

    name: str  # name of the config, such as ``gqa_balanced``
    word: str  # name among the variants, such as ``balanced``
    description: str  # one or two sentences about its rows
    schema: pa.Schema
    columns: Mapping[str, str]  # meaning of each column
    splits: Callable[[Files, dict[str, str]], tuple[str, ...]]
    """the splits that the files hold, empty without its files; adds files that are not read, with the reason"""
    needs: str  # a required file, for the message if there are none
    read: Callable[[Files, str, Counter[str]], Iterator[pa.Table]]
    """the rows of a split, in deterministic pieces; counts rows left out by reason"""
    together: tuple[tuple[str, ...], ...]
    """columns that are counted together; memory grows with their distinct combinations"""
    statistics: Callable[[Counts], dict[str, Any]]
    """statistics for JSON: ``answers``, ``entropy`` and ``tables``, see ``sources.open_ended``"""
    counted: Callable[[pa.Table], pa.Table] = lambda table: table
    """the columns of ``together``, text without nulls, from a table of rows"""
    images: Callable[[pa.Table], pa.Table] = lambda table: table.select(["image_id", "image_file"])
    """the image of each row, (image_id, image_file)"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """published number of rows of each split, if known"""
    before: str = ""  # the config before balancing, for the card's comparison
    scored_as: str = ""  # reader of its rows in ``metrics.dataset_rows.OPEN_ENDED``; "" if it has no metric


@dataclass(frozen=True)
class Stream:
    """Triplets that need not fit into memory."""

    rows: int
    tables: Iterator[pa.Table]  # checked tables ``schema.TRIPLETS``, at most 100,000 rows each


@dataclass(frozen=True)
class Source:
    """A dataset: its publisher, its files, and how they become triplets."""

    name: str  # name in commands and config names
    title: str
    description: str
    homepage: str
    licence: str  # an SPDX identifier, or text if there is none
    citation: str  # BibTeX entry
    read: Callable[[Files], pa.Table]  # reads the publisher's files as a table ``schema.TRIPLETS``, deterministically
    image_hint: str  # one sentence: where to get its images and how they are named
    synthetic: str | None = None
    """one sentence: what is not from people or cameras; "" if everything is, None if that is not known"""
    stream: Callable[[Files], Stream] | None = None  # as ``read``, piece by piece, for sources of any size
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """published number of triplets of each split, if known"""
    expected_total: int | None = None  # published number of all triplets, if known
    downloads: tuple[RemoteFile, ...] = ()  # all files that ``read`` and ``read_released`` may need
    read_released: Callable[[Files, pa.Table], pa.Table] | None = None
    """adds the columns ``schema.RELEASED_DECOYS`` to the triplets"""
    consensus: bool = False  # whether each question has answers of several annotators
    has_orig_decoys: bool = False  # whether its publisher provides decoys (VQA: in the multiple-choice files only)
    default_word_vectors: str | None = None  # word vectors used unless the user names others
    default_folder: Callable[[], Path] | None = None
    """folder of its files and images, if an installed package brings them"""
    open_ended: tuple[OpenEnded, ...] = ()  # configs next to the multiple-choice variants
    has_triplets: Callable[[Files], bool] = lambda files: True
    """whether the files hold what ``read`` needs; matters only for sources with open-ended configs"""
    scored_as_published: bool = False  # whether ``vqa-mc score`` reads its published annotation files
    official_subsets: Mapping[str, str] = field(default_factory=dict)
    """name of each split in official files, such as ``abstract_v002_val2015``; by default that of VQA v1"""
    image_numbering: str = ""
    """dataset that its image_ids come from, such as ``COCO``; sources with the same one share images"""


@dataclass(frozen=True)
class OpenedSource:
    """A source and its files."""

    source: Source  # the declaration, adapted if the files were generated
    files: Files
    location: str  # location for messages

    def triplets(self, released_decoys: bool = False) -> pa.Table:
        """Read the triplets, a table ``schema.TRIPLETS``: train, validation, test, in the publisher's order.

        ``released_decoys``: add the decoys that the paper's authors released, the columns ``schema.RELEASED_DECOYS``.
        Warns with CountMismatch if the number of triplets differs from the published one.
        """
        source = self.source
        if released_decoys and source.read_released is None:
            having = ", ".join(other.name for other in SOURCES.values() if other.read_released)
            raise InputError(f"{source.name}: has no released decoys; expected one of: {having}")
        with plain_errors(self.location):
            triplets = source.read(self.files)
            if released_decoys and source.read_released:
                triplets = source.read_released(self.files, triplets)
        check_triplets(triplets, self.location)
        found = {split: pc.sum(pc.equal(triplets["split"], split)).as_py() or 0 for split in SPLITS}
        total = {} if source.expected_total is None else {"all": source.expected_total}
        warn_about_counts(source.name, {**source.expected_counts, **total}, {**found, "all": triplets.num_rows})
        return triplets

    def stream(self, released_decoys: bool = False) -> Stream:
        """The triplets piece by piece; see `triplets`."""
        if self.source.stream:
            return self.source.stream(self.files)
        table = self.triplets(released_decoys)
        return Stream(table.num_rows, (table.slice(first, 10 * ROWS) for first in range(0, table.num_rows, 10 * ROWS)))


def open_source(
    source: Source, data_dir: Path | None = None, download_config: "DownloadConfig | None" = None
) -> OpenedSource:
    """Locate a source's files, without reading them.

    ``data_dir``: folder with the publisher's files as downloaded or unpacked, in it or up to two folders below; by
    default they are downloaded, or taken from the installed package that contains them.
    """
    if data_dir is not None:
        found = generated_by(data_dir.expanduser())
        if found is not None and found["engine"] == source.name:
            source = _as_generated(source, str(found.get("version", "unknown")))
        return OpenedSource(source, Folder(data_dir.expanduser(), source.downloads), f"{source.name} in {data_dir}")
    if source.default_folder is not None:
        return OpenedSource(source, Folder(source.default_folder()), source.name)
    return OpenedSource(source, Downloads(source.downloads, download_config), source.name)


def read_triplets(name: str, data_dir: Path | None = None, *, released_decoys: bool = False) -> pa.Table:
    """Read the triplets of a source by name; see ``open_source`` and ``OpenedSource.triplets``."""
    return open_source(SOURCES.find(name), data_dir).triplets(released_decoys)


def source_of(config: str) -> str | None:
    """The source of a config, by its name: ``vqa_minus`` of ``vqa_minus_iou_qou``; None if it is of none."""
    found = [name for name in SOURCES if config.startswith(f"{name}_")]
    return max(found, key=len, default=None)


def generated_by(folder: Path) -> dict[str, Any] | None:
    """The statistics of a generated folder, with ``engine`` and ``version``; None if no engine of ours wrote it."""
    found: Any = None
    with contextlib.suppress(OSError, ValueError):
        found = read_json(folder / STATISTICS)
    return found if isinstance(found, dict) and isinstance(found.get("engine"), str) else None


def has_true_subsets(folder: Path) -> bool:
    """Whether all of COCO's images are in their original subset of 2014, as in the published dataset."""
    counts = (generated_by(folder) or {"images_by_split": {}}).get("images_by_split")
    return isinstance(counts, dict) and not any(f", {BY_HASH}, " in one and "genome" not in one for one in counts)


def _as_generated(source: Source, version: str) -> Source:
    """The source with the title, licence and size of questions that ``version`` of our engine generated."""
    return replace(
        source,
        title=f"{source.title.split(' (')[0]}-style questions, generated",
        description=f"Questions in the manner of {source.title}, but not its own: vqa-mc generate {source.name} "
        f"(version {version}) made them from image annotations, by the procedure of the paper "
        f"cited below. They are scored as {source.title} is; what is published of that dataset is not true of them. "
        "The dataset itself:",
        licence="that of the annotations they were made from",
        synthetic="The questions were generated from image annotations by a program.",
        image_hint="those that were annotated.",
        expected_counts={},
        expected_total=None,
        downloads=(),
        open_ended=tuple(replace(config, expected_counts={}) for config in source.open_ended),
    )
