"""A benchmark, its splits and images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.layouts.layout import Choices, Layout

if TYPE_CHECKING:
    import pandas as pd
    from datasets import DatasetDict


ROWS = pa.schema(
    [
        ("question_id", pa.string()),  # unique in its split; the row's number where the benchmark has none
        ("image_id", pa.string()),  # the same for rows with the same image; "" where there is none
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),  # as published
        ("label", pa.int64()),  # index of the target in choices
        ("question_type", pa.string()),  # "" where the benchmark has none
        ("answers", pa.list_(pa.string())),  # all human answers; empty where the benchmark has none
        ("choice_kinds", pa.list_(pa.string())),  # names of decoys.CHOICE_KINDS; empty where the benchmark has none
    ]
)
"""What is known of every row, whatever the benchmark's layout; no nulls anywhere."""


class Images(Protocol):
    """The images of a split's rows; threads may read side by side."""

    def read(self, row: int) -> bytes | None:
        """The bytes of a row's image file; None where it has none.

        Raises:
            InputError: there should be one, but it cannot be read.
        """


@dataclass(frozen=True, eq=False)
class Split:
    """A split of a benchmark."""

    name: str
    place: str
    """for messages: the dataset, its config and the split, or the file"""
    rows: pa.Table
    """``ROWS``"""
    original: pa.Table
    """all columns as the benchmark has them, row by row; images undecoded"""
    images: Images | None
    """None where the benchmark has no images, or only names of images that are not here"""
    placed: bool = True
    """whether the benchmark says in which order the choices stand; else the target was put first"""
    images_missing: str = ""
    """why ``images`` is None though the rows tell of images, and what to do; "" otherwise"""

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """(rows,): the number of each row's unit, from 0."""
        numbers: dict[str, int] = {}
        return np.fromiter((numbers.setdefault(name, len(numbers)) for name in self.units), np.int64, len(self.units))

    @cached_property
    def units(self) -> list[str]:
        """What goes right or wrong together: the image of each row; of rows without one, question and choices.

        The choices in any order, so that a question asked again with its choices moved round counts once.
        """
        images: list[str] = self.rows["image_id"].to_pylist()
        if all(images):
            return images
        asked = zip(images, self.rows["question"].to_pylist(), self.rows["choices"].to_pylist(), strict=True)
        return [image or "\0".join(["", question, *sorted(choices)]) for image, question, choices in asked]

    def take(self, rows: NDArray[np.integer]) -> "Split":
        """Some of the rows, in this order."""
        images = None if self.images is None else SomeImages(self.images, rows)
        kept = pa.array(rows)
        return replace(self, rows=self.rows.take(kept), original=self.original.take(kept), images=images)


@dataclass(frozen=True, eq=False)
class SomeImages:
    """The images of some rows of a split."""

    images: Images
    rows: NDArray[np.integer]

    def read(self, row: int) -> bytes | None:
        """As `Images` has it."""
        return self.images.read(int(self.rows[row]))


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark:
    """A multiple-choice benchmark, ours or another's."""

    dataset: str
    """as the user named it; of an object in memory the name that it has, else ``dataset``"""
    config: str | None
    asked: str
    """the split that is audited"""
    splits: dict[str, Split]
    """in the benchmark's order, without those that cannot be read as questions, such as one with hidden answers"""
    layout: Layout
    """how choices and labels are read, and written back"""
    left_out: dict[str, str]
    """splits that are not among ``splits``, and why"""
    path: Path | None = None
    """the file or folder; None on the Hub or in memory"""
    read_as: str = ""
    """which columns of the asked split were read as what: ``question=frage, choices=A to D, label=key (letters)``"""

    @property
    def test(self) -> Split:
        """The split that is audited."""
        return self.splits[self.asked]

    @property
    def train(self) -> Split | None:
        """The split that rules may be learnt from, where there is one beside the audited."""
        return self.splits["train"] if self.asked != "train" and "train" in self.splits else None

    def with_choices(self, split: Split, choices: Choices, labels: Sequence[int]) -> pa.Table:
        """The columns of a split with other choices, in the benchmark's layout; unchanged rows keep their cells.

        Args:
            split: as it was read.
            choices: (rows,) the choices of each row.
            labels: (rows,) the index of the correct one.

        Raises:
            InputError: the layout cannot hold them.
        """
        return self.layout.written(split.original, split.rows, choices, labels, split.place)

    def to_datasets(self, tables: Mapping[str, pa.Table] | None = None) -> "DatasetDict":
        """All splits with the benchmark's own columns, images as `datasets.Image`.

        Args:
            tables: split name to other rows, as `write_benchmark` takes them; by default those read.
        """
        from datasets import Dataset, DatasetDict, DatasetInfo, NamedSplit
        from datasets.table import InMemoryTable

        from hf_vqa_mc.benchmarks.writing import features_of

        found = DatasetDict()
        for name, table in (tables or {name: split.original for name, split in self.splits.items()}).items():
            info = DatasetInfo(features=features_of(table))
            found[name] = Dataset(InMemoryTable(table), info=info, split=NamedSplit(name))
        return found

    def to_pandas(self) -> "pd.DataFrame":
        """The evaluated split, one row per question: question_id, image_id, question, choices, label and more."""
        return self.test.rows.to_pandas()

    def __repr__(self) -> str:
        config = f", {self.config}" if self.config else ""
        lines = [f"Benchmark({self.dataset}{config})", f"read: {self.read_as}"]
        for name, split in self.splits.items():
            sizes = pc.list_value_length(split.rows["choices"])
            least, most = pc.min_max(sizes).as_py().values()
            sizes = f"{least}" if least == most else f"{least} to {most}"
            images = "images" if split.images is not None else split.images_missing or "no images"
            evaluated = "; evaluated by default" if name == self.asked else ""
            lines.append(f"{name}: {split.rows.num_rows:,} rows, {sizes} choices, {images}{evaluated}")
        return "\n".join([*lines, *(f"left out: {name} ({why})" for name, why in self.left_out.items())])
