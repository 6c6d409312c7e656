"""The nouns of this room: a source, and a file that its publisher offers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa

if TYPE_CHECKING:
    from hf_vqa_mc.sources.files import Files


@dataclass(frozen=True)
class RemoteFile:
    """A file as its publisher offers it for download."""

    url: str
    holds: tuple[str, ...]
    """the files that readers ask for, by their names in the archive (or the file's own)"""
    sha256: str | None = None
    """hexadecimal; None where no checksum is known"""
    size: int | None = None
    """bytes"""

    @property
    def name(self) -> str:
        """The file's name as published, such as ``dataset_v7w_telling.zip``."""
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True)
class Source:
    """A dataset: who publishes it, where, and how its files become triplets."""

    name: str
    """as users type it"""
    title: str
    description: str
    homepage: str
    licence: str
    """an SPDX identifier, or words where there is none"""
    citation: str
    """BibTeX"""
    read: "Callable[[Files], pa.Table]"
    """the publisher's files as a table ``schema.TRIPLETS``; the same files give the same table"""
    image_hint: str
    """one sentence: where its images are had and how they are named"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """triplets of each split, where its publisher or the paper says so"""
    expected_total: int | None = None
    """triplets in all, where it is known"""
    downloads: tuple[RemoteFile, ...] = ()
    """all files that ``read`` and ``read_released`` may ask for"""
    read_released: "Callable[[Files, pa.Table], pa.Table] | None" = None
    """adds the columns ``schema.RELEASED_DECOYS`` to the triplets"""
    consensus: bool = False
    """the answers of a question are those of several annotators"""
    has_orig_decoys: bool = False
    """its publisher gives decoys (with VQA: in the multiple-choice files only)"""
    default_word_vectors: str | None = None
    """the word vectors to take where the user names none"""
    default_folder: Callable[[], Path] | None = None
    """where its files and images lie on this machine, if they come with an installed package"""

    @property
    def has_released_decoys(self) -> bool:
        """The authors of the paper released their decoys for it, and they could be had."""
        return self.read_released is not None
