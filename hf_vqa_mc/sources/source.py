"""The declarations: a source, and its open-ended configs."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.errors import CountMismatch
from hf_vqa_mc.sources.files import Files, RemoteFile

OPEN_SPLITS = ("train", "validation", "test", "challenge")
"""The splits that an open-ended config can have, in order."""

Counts = Mapping[tuple[str, ...], Counter[tuple[str, ...]]]
"""Names of columns -> how many rows have these values of them."""


@cache
def _references() -> dict[str, str]:
    entries = Path(__file__).with_name("references.bib").read_text("utf-8").strip().split("\n\n")
    return {entry.partition("{")[2].partition(",")[0]: entry for entry in entries}


def reference(key: str) -> str:
    """The BibTeX entry of this key in ``references.bib``."""
    return _references()[key]


def warn_of_counts(name: str, expected: Mapping[str, int], found: Mapping[str, int]) -> None:
    """Warn with CountMismatch, on behalf of the caller's caller, if a split does not hold as many rows as expected."""
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
    """A config beside the multiple-choice variants: the publisher's records whole, without choices."""

    name: str
    """the config, such as ``gqa_balanced``"""
    word: str
    """what stands for it among the variants, such as ``balanced``"""
    description: str
    """what its rows are, in a sentence or two"""
    schema: pa.Schema
    columns: Mapping[str, str]
    """what each column means"""
    splits: Callable[[Files, dict[str, str]], tuple[str, ...]]
    """the splits that the files hold, none where its files are not there; notes files that are not read, and why"""
    needs: str
    """a file that it cannot do without, for the message where there are none"""
    read: Callable[[Files, str, Counter[str]], Iterator[pa.Table]]
    """the rows of a split, piece by piece; the same files give the same pieces; counts what is left out, and why"""
    together: tuple[tuple[str, ...], ...]
    """which columns are counted together; few, as the memory is that of all different combinations"""
    statistics: Callable[[Counts], dict[str, Any]]
    """ready for JSON: ``answers``, ``entropy`` and ``tables``, see ``sources.answer_counts``"""
    counted: Callable[[pa.Table], pa.Table] = lambda table: table
    """these columns, of text without nulls, where they are not the table's own"""
    images: Callable[[pa.Table], pa.Table] = lambda table: table.select(["image_id", "image_file"])
    """the image of each row, (image_id, image_file)"""
    unique: str | None = "question_id"
    """the column whose values must differ in the whole config; None where ``read`` sees to it"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """rows of each split, where its publisher or the paper says so"""
    before: str = ""
    """the config that it was balanced from, for the card's comparison"""


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
    read: Callable[[Files], pa.Table]
    """the publisher's files as a table ``schema.TRIPLETS``; the same files give the same table"""
    image_hint: str
    """one sentence: where its images are had and how they are named"""
    expected_counts: Mapping[str, int] = field(default_factory=dict)
    """triplets of each split, where its publisher or the paper says so"""
    expected_total: int | None = None
    """triplets in all, where it is known"""
    downloads: tuple[RemoteFile, ...] = ()
    """all files that ``read`` and ``read_released`` may ask for"""
    read_released: Callable[[Files, pa.Table], pa.Table] | None = None
    """adds the columns ``schema.RELEASED_DECOYS`` to the triplets"""
    consensus: bool = False
    """the answers of a question are those of several annotators"""
    has_orig_decoys: bool = False
    """its publisher gives decoys (with VQA: in the multiple-choice files only)"""
    default_word_vectors: str | None = None
    """the word vectors to take where the user names none"""
    default_folder: Callable[[], Path] | None = None
    """where its files and images lie on this machine, if they come with an installed package"""
    open_ended: tuple[OpenEnded, ...] = ()
    """the configs that it has beside the multiple-choice variants"""
    has_triplets: Callable[[Files], bool] = lambda files: True
    """whether the files hold what ``read`` needs; asked only where open-ended configs can do without"""
    scored_as_published: bool = False
    """``vqa-mc score`` reads its annotation files themselves"""
    image_numbering: str = ""
    """whose numbers its image_ids are, such as ``COCO``; datasets with the same share images of the same id"""
