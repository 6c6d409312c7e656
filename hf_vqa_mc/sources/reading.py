"""Opening a source's files, published or written by ``vqa-mc generate``, and reading its triplets."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import SPLITS, check_triplets
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.download import Downloads
from hf_vqa_mc.sources.files import Files, Folder
from hf_vqa_mc.sources.source import Source, warn_about_counts

if TYPE_CHECKING:
    from datasets import DownloadConfig

STATISTICS = "statistics.json"
"""The file that identifies a generated folder."""
BY_HASH = "by hash"
"""Marks the images of a generated TDIUC whose subset no file gives, so that a hash chose it."""


@dataclass(frozen=True)
class OpenedSource:
    """A source and its files."""

    source: Source
    """the declaration, adapted if the files were generated"""
    files: Files
    location: str
    """for messages"""

    def triplets(self, released_decoys: bool = False) -> pa.Table:
        """Read the triplets, a table ``schema.TRIPLETS``: train, validation, test, in the publisher's order.

        Args:
            released_decoys: add the decoys that the paper's authors released, the columns ``schema.RELEASED_DECOYS``.

        Raises:
            InputError: a file is missing or malformed; names file, record, field and what was expected.

        Warns:
            CountMismatch: the number of triplets differs from the published one.
        """
        source = self.source
        if released_decoys and source.read_released is None:
            having = ", ".join(other.name for other in SOURCES.values() if other.read_released)
            raise InputError(f"{source.name}: has no released decoys; expected one of: {having}")
        triplets = source.read(self.files)
        if released_decoys and source.read_released is not None:
            triplets = source.read_released(self.files, triplets)
        check_triplets(triplets, self.location)
        found = {split: pc.sum(pc.equal(triplets["split"], split)).as_py() or 0 for split in SPLITS}
        total = {} if source.expected_total is None else {"all": source.expected_total}
        warn_about_counts(source.name, {**source.expected_counts, **total}, {**found, "all": triplets.num_rows})
        return triplets


def open_source(
    source: Source, data_dir: Path | None = None, download_config: "DownloadConfig | None" = None
) -> OpenedSource:
    """Locate a source's files, without reading them.

    Args:
        source: the declaration.
        data_dir: folder with the publisher's files as downloaded or unpacked, in it or up to two folders below; by
            default they are downloaded, or taken from the installed package that contains them.
        download_config: cache of downloads and whether to force them; by default the user's cache.

    Raises:
        InputError: there is no such folder.
        MissingExtra: the package with the files is not installed.
    """
    source = as_found(source, data_dir)
    if data_dir is not None:
        return OpenedSource(source, Folder(data_dir.expanduser(), source.downloads), f"{source.name} in {data_dir}")
    if source.default_folder is not None:
        return OpenedSource(source, Folder(source.default_folder()), source.name)
    return OpenedSource(source, Downloads(source.downloads, download_config), source.name)


def read_triplets(name: str, data_dir: Path | None = None, *, released_decoys: bool = False) -> pa.Table:
    """Read the triplets of a source by name; see ``open_source`` and ``OpenedSource.triplets``."""
    return open_source(SOURCES.find(name), data_dir).triplets(released_decoys)


def generated_by(folder: Path) -> dict[str, Any] | None:
    """The statistics of a generated folder, with ``engine`` and ``version``; None if no engine of ours wrote it."""
    try:
        found = json.loads((folder / STATISTICS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("engine"), str) else None


def has_true_subsets(folder: Path) -> bool:
    """Whether all of COCO's images are in their own subset of 2014, as in the published dataset."""
    found = generated_by(folder)
    if found is None:
        return True
    counts = found.get("images_by_split")
    return isinstance(counts, dict) and not any(f", {BY_HASH}, " in one and "genome" not in one for one in counts)


def as_found(source: Source, data_dir: Path | None) -> Source:
    """The source itself; if its files were generated, with another title, licence and size."""
    found = generated_by(data_dir.expanduser()) if data_dir is not None else None
    if found is None or found["engine"] != source.name:
        return source
    return replace(
        source,
        title=f"{source.title.split(' (')[0]}-style questions, generated",
        description=f"Questions in the manner of {source.title}, but not its own: vqa-mc generate {source.name} "
        f"(version {found.get('version', 'unknown')}) made them from image annotations, by the procedure of the paper "
        f"cited below. They are scored as {source.title} is; what is published of that dataset is not true of them. "
        "The dataset itself:",
        licence="that of the annotations they were made from",
        image_hint="those that were annotated.",
        expected_counts={},
        expected_total=None,
        downloads=(),
        open_ended=tuple(replace(config, expected_counts={}) for config in source.open_ended),
    )
