"""Where each dataset is published and how its publisher's files become triplets."""

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import CountMismatch, InputError, unknown_name
from hf_vqa_mc.schema import SPLITS, check_triplets
from hf_vqa_mc.sources.cocoqa import COCOQA
from hf_vqa_mc.sources.easyvqa import EASYVQA
from hf_vqa_mc.sources.generated import as_found
from hf_vqa_mc.sources.gqa import GQA
from hf_vqa_mc.sources.open_ended import source_files
from hf_vqa_mc.sources.qavg import QAVG
from hf_vqa_mc.sources.source import OpenEnded, RemoteFile, Source
from hf_vqa_mc.sources.tdiuc import TDIUC
from hf_vqa_mc.sources.visual7w import VISUAL7W
from hf_vqa_mc.sources.vqa import VQA, VQA_MINUS
from hf_vqa_mc.sources.vqa2 import VQA2, VQA2_MINUS

if TYPE_CHECKING:
    from datasets import DownloadConfig

__all__ = ["SOURCES", "OpenEnded", "RemoteFile", "Source", "find_source", "open_ended_source", "read_triplets"]

SOURCES: dict[str, Source] = {
    source.name: source for source in (VISUAL7W, VQA, VQA_MINUS, VQA2, VQA2_MINUS, COCOQA, QAVG, EASYVQA, TDIUC, GQA)
}


def find_source(name: str) -> Source:
    """The source of this name.

    Raises:
        InputError: there is none; the message suggests the nearest.
    """
    if name not in SOURCES:
        raise unknown_name("source", name, SOURCES)
    return SOURCES[name]


def open_ended_source(columns: Collection[str]) -> Source | None:
    """The source whose open-ended configs have just these columns, None if they are of no such config."""
    for source in SOURCES.values():
        if any(set(config.schema.names) == set(columns) for config in source.open_ended):
            return source
    return None


def read_triplets(
    name: str,
    data_dir: Path | None = None,
    *,
    released_decoys: bool = False,
    download_config: "DownloadConfig | None" = None,
) -> pa.Table:
    """A source's triplets: train, then validation, then test, each in the publisher's order.

    Args:
        name: one of ``SOURCES``.
        data_dir: the folder with the publisher's files as downloaded (or unpacked), in it or up to two folders below;
            without one they are downloaded, or taken from the installed package that brings them.
        released_decoys: adds the decoys that the paper's authors released, the columns ``schema.RELEASED_DECOYS``.
        download_config: the cache for downloads and whether to fetch anew; by default the user's cache.

    Returns:
        A table ``schema.TRIPLETS`` that ``schema.check_triplets`` passes.

    Raises:
        InputError: an unknown source, a missing or malformed file; names file, record, field and what was expected.
        MissingExtra: the package that brings the files is not installed.

    Warns:
        CountMismatch: there are more or fewer triplets than the publisher or the paper says.
    """
    source = as_found(find_source(name), data_dir)
    if released_decoys and source.read_released is None:
        having = ", ".join(other.name for other in SOURCES.values() if other.has_released_decoys)
        raise InputError(f"{name}: no released decoys are to be had; expected one of: {having}")
    files = source_files(source, data_dir, download_config)
    triplets = source.read(files)
    if released_decoys and source.read_released is not None:
        triplets = source.read_released(files, triplets)
    check_triplets(triplets, name if data_dir is None else f"{name} in {data_dir}")
    _compare_counts(source, triplets)
    return triplets


def _compare_counts(source: Source, triplets: pa.Table) -> None:
    found = {split: pc.sum(pc.equal(triplets["split"], split)).as_py() or 0 for split in SPLITS}
    differences = [
        f"{found[split]:,} in {split} where {expected:,} were expected"
        for split, expected in source.expected_counts.items()
        if found[split] != expected
    ]
    if source.expected_total is not None and triplets.num_rows != source.expected_total:
        differences.append(f"{triplets.num_rows:,} in all where {source.expected_total:,} were expected")
    if differences:
        warnings.warn(
            CountMismatch(f"{source.name} does not have the published number of questions: {'; '.join(differences)}"),
            stacklevel=3,
        )
