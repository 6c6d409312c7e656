"""Declarations of sources and of their open-ended configs."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.errors import CountMismatch
from hf_vqa_mc.sources.files import Files, RemoteFile

OPEN_SPLITS = ("train", "validation", "test", "challenge")
"""The splits that an open-ended config can have, in order."""

Counts = Mapping[tuple[str, ...], Counter[tuple[str, ...]]]
"""Names of columns -> number of rows with each combination of their values."""


def reference(key: str) -> str:
    """The BibTeX entry with this key in ``references.bib``."""
    entries = Path(__file__).with_name("references.bib").read_text("utf-8").strip().split("\n\n")
    return next(entry for entry in entries if entry.partition("{")[2].startswith(f"{key},"))


def warn_about_counts(name: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
    """Warn with CountMismatch, from the caller's caller, if a split has more or fewer rows than expected."""
    differences = [
        f"{found[split]:,} in {split} where {number:,} were expected"
        for split, number in expected.items()
        if found[split] != number
    ]
    if differences:
        message = f"{name} does not have the published number of questions: {'; '.join(differences)}"
        warnings.warn(CountMismatch(message), stacklevel=3)


@dataclass(frozen=True)
class OpenEnded:
    """A config next to the multiple-choice variants: the publisher's complete records, without choices."""

    name: str
    """name of the config, such as ``gqa_balanced``"""
    word: str
    """its name among the variants, such as ``balanced``"""
    description: str
    """one or two sentences about its rows"""
    schema: pa.Schema
    columns: Mapping[str, str]
    """meaning of each column"""
    splits: Callable[[Files, dict[str, str]], tuple[str, ...]]
    """the splits that the files hold, empty without its files; adds files that are not read, with the reason"""
    needs: str
    """a required file, for the message if there are none"""
    read: Callable[[Files, str, Counter[str]], Iterator[pa.Table]]
    """the rows of a split, in deterministic pieces; counts rows left out by reason"""
    together: tuple[tuple[str, ...], ...]
    """columns that are counted together; memory grows with their distinct combinations"""
    statistics: Callable[[Counts], dict[str, Any]]
    """for JSON: ``answers``, ``entropy`` and ``tables``, see ``sources.open_ended``"""
    counted: Callable[[pa.Table], pa.Table] = lambda table: table
    """the columns of ``together``, text without nulls, from a table of rows"""
    images: Callable[[pa.Table], pa.Table] = lambda table: table.select(["image_id", "image_file"])
    """the image of each row, (image_id, image_file)"""
    unique: str | None = "question_id"
    """column whose values must be unique in the config; None if ``read`` checks them"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """published number of rows of each split, if known"""
    before: str = ""
    """the config before balancing, for the card's comparison"""


@dataclass(frozen=True)
class Source:
    """A dataset: its publisher, its files, and how they become triplets."""

    name: str
    """as in commands and config names"""
    title: str
    description: str
    homepage: str
    licence: str
    """an SPDX identifier, or text if there is none"""
    citation: str
    """BibTeX"""
    read: Callable[[Files], pa.Table]
    """reads the publisher's files as a table ``schema.TRIPLETS``, deterministically"""
    image_hint: str
    """one sentence: where to get its images and how they are named"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """published number of triplets of each split, if known"""
    expected_total: int | None = None
    """published number of all triplets, if known"""
    downloads: tuple[RemoteFile, ...] = ()
    """all files that ``read`` and ``read_released`` may need"""
    read_released: Callable[[Files, pa.Table], pa.Table] | None = None
    """adds the columns ``schema.RELEASED_DECOYS`` to the triplets"""
    consensus: bool = False
    """each question has answers of several annotators"""
    has_orig_decoys: bool = False
    """its publisher provides decoys (VQA: in the multiple-choice files only)"""
    default_word_vectors: str | None = None
    """word vectors used unless the user names others"""
    default_folder: Callable[[], Path] | None = None
    """folder of its files and images, if an installed package brings them"""
    open_ended: tuple[OpenEnded, ...] = ()
    """its configs next to the multiple-choice variants"""
    has_triplets: Callable[[Files], bool] = lambda files: True
    """whether the files hold what ``read`` needs; matters only for sources with open-ended configs"""
    scored_as_published: bool = False
    """``vqa-mc score`` reads its published annotation files"""
    image_numbering: str = ""
    """whose ids its image_ids are, such as ``COCO``; datasets with the same one share images"""
