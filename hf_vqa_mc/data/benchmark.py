"""A benchmark with its splits and images."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.column_spec import Choices, ColumnSpec
from hf_vqa_mc.data.images import AllowedImages, Images
from hf_vqa_mc.data.inventory import RowHashes, row_hashes
from hf_vqa_mc.io.redaction import public_name

if TYPE_CHECKING:
    import pandas as pd
    from datasets import DatasetDict


ROWS = pa.schema(
    [
        ("question_id", pa.string()),  # unique in its split, see `question_ids`
        ("image_id", pa.string()),  # equal for rows with the same image; "" without image
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),  # as published
        ("label", pa.int64()),  # index of the target in choices
        ("question_type", pa.string()),  # "" if the benchmark has none
        ("answers", pa.list_(pa.string())),  # all human answers; empty if the benchmark has none
        ("choice_kinds", pa.list_(pa.string())),  # names of decoys.CHOICE_KINDS; empty if the benchmark has none
    ]
)
"""Schema of every benchmark's rows; no nulls."""


class FaultyRow(NamedTuple):
    """A row that cannot be read and is left out."""

    split: str
    row: int
    kind: str  # question, choices, label or missing_label
    message: str


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """A split of a benchmark."""

    name: str
    location: str  # for messages: dataset, config and split, or the file
    rows: pa.Table  # ROWS
    original: pa.Table  # all columns of the benchmark, unchanged; images undecoded
    images: Images | None  # None if there are no images, or only names of missing files
    ordered: bool = True  # whether the benchmark defines the order of choices; otherwise the target comes first
    images_missing: str = ""  # why there are no images although the rows name some, and what to do; "" otherwise
    faulty: tuple[FaultyRow, ...] = ()  # rows that are left out, with --skip-faulty
    unread: frozenset[str] = frozenset()  # ids of the rows that are left out: these, and open questions
    image_columns: tuple[str, ...] = ()  # columns of original with images or their paths

    def __repr__(self) -> str:
        sizes = pc.list_value_length(self.rows["choices"])
        least, most = pc.min_max(sizes).as_py().values()
        sizes = f"{least}" if least == most else f"{least} to {most}"
        images = "images" if self.images is not None else self.images_missing or "no images"
        return f"{self.name}: {self.rows.num_rows:,} rows, {sizes} choices, {images}"

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """(rows,): number of each row's unit, from 0."""
        return np.asarray(pa.array(self.units, pa.large_string()).dictionary_encode().indices, np.int64)

    @cached_property
    def units(self) -> list[str]:
        """(rows,): units of clustered standard errors: the image, else question and choices in any order."""
        images: list[str] = self.rows["image_id"].to_pylist()
        if all(images):
            return images
        rows = zip(images, self.rows["question"].to_pylist(), self.rows["choices"].to_pylist(), strict=True)
        return [image or "\0".join(["", question, *sorted(choices)]) for image, question, choices in rows]

    @property
    def repeated(self) -> int:
        """Number of rows with the image, question and choices, in any order, of another row; each group once less."""
        images, questions, choices = (self.rows[name].to_pylist() for name in ("image_id", "question", "choices"))
        rows = [(*row[:2], *sorted(row[2])) for row in zip(images, questions, choices, strict=True) if row[0]]
        return len(rows) - len(set(rows))

    @cached_property
    def hashes(self) -> RowHashes:
        """The hashes of the rows' questions, choices and labels."""
        return row_hashes(self.rows)

    @property
    def targets(self) -> pa.Array:
        """(rows,): the correct choices."""
        choices = self.rows["choices"].combine_chunks()
        return choices.flatten().take(pa.array(choices.offsets.to_numpy()[:-1] + self.rows["label"].to_numpy()))

    def take(self, rows: NDArray[np.integer]) -> "Split":
        """Some of the rows, in this order."""
        images = None if self.images is None else self.images.take(rows)
        kept = pa.array(rows)
        return replace(self, rows=self.rows.take(kept), original=self.original.take(kept), images=images)


@dataclass(frozen=True, eq=False, repr=False)
class Benchmark:
    """A multiple-choice benchmark."""

    dataset: str  # name given by the user; for an object in memory its own name, else "dataset"
    config: str | None
    evaluated: str  # the evaluated split
    splits: dict[str, Split]  # readable splits, in the benchmark's order; those with hidden answers are left out
    spec: ColumnSpec
    left_out: dict[str, str]  # reason by split that is not in splits
    path: Path | None = None  # the file or folder; None on the Hub or in memory
    read_as: str = ""  # columns of the evaluated split: question=frage, choices=A to D, label=key (letters)
    notes: tuple[str, ...] = ()  # sentences about rows and images that are not read, with the remedy
    allowed: AllowedImages = field(default_factory=AllowedImages)
    revision: str | None = None  # commit of the dataset on the Hub
    read_with: Mapping[str, Any] = field(default_factory=dict)  # BenchmarkOptions.how_to_read

    @property
    def test(self) -> Split:
        """The evaluated split."""
        return self.splits[self.evaluated]

    @property
    def has_all_images(self) -> bool:
        """Whether all images and videos that the rows name can be read."""
        return all(not one.images.absent if one.images else not one.image_columns for one in self.splits.values())

    @property
    def train(self) -> Split | None:
        """The training split, unless it is evaluated."""
        return self.splits["train"] if self.evaluated != "train" and "train" in self.splits else None

    @cached_property
    def known_answers(self) -> dict[str, pa.ListArray]:
        """(rows,) by split: human answers, and the targets of rows with the same question about the same image."""
        targets, of_row = defaultdict[tuple[str, str], dict[str, None]](dict), dict[str, list[tuple[str, str]]]()
        for name, split in self.splits.items():
            questions = pc.utf8_lower(pc.utf8_trim_whitespace(split.rows["question"].combine_chunks())).to_pylist()
            of_row[name] = list(zip(split.rows["image_id"].to_pylist(), questions, strict=True))
            for key, target in zip(of_row[name], split.targets.to_pylist(), strict=True):
                targets[key][target] = None
        several = {key for key, texts in targets.items() if key[0] and len(texts) > 1}
        found = {}
        for name, split in self.splits.items():
            answers = split.rows["answers"].combine_chunks()
            if several.intersection(of_row[name]):
                lists = [
                    [*own, *(targets[key] if key in several else ())]
                    for own, key in zip(answers.to_pylist(), of_row[name], strict=True)
                ]
                answers = pa.array(lists, answers.type)
            found[name] = answers
        return found

    def with_choices(self, split: Split, choices: Choices, labels: Sequence[int]) -> pa.Table:
        """The columns of a split with new choices and labels, (rows,) each; unchanged rows keep their cells."""
        return self.spec.written(split.original, split.rows, choices, labels, split.location)

    def to_datasets(self, tables: Mapping[str, pa.Table] | None = None) -> "DatasetDict":
        """All splits, or ``tables`` as for `write_benchmark`, with the benchmark's own columns as a DatasetDict."""
        from datasets import Dataset, DatasetDict, DatasetInfo, NamedSplit
        from datasets.table import InMemoryTable

        from hf_vqa_mc.data.shards import features_of

        found = DatasetDict()
        for name, table in (tables or {name: split.original for name, split in self.splits.items()}).items():
            info = DatasetInfo(
                features=features_of(table), dataset_name=public_name(self.dataset), config_name=self.config
            )
            found[name] = Dataset(InMemoryTable(table), info=info, split=NamedSplit(name))
        return found

    def to_pandas(self) -> "pd.DataFrame":
        """The evaluated split, one row per question: question_id, image_id, question, choices, label and more."""
        return self.test.rows.to_pandas()

    def __repr__(self) -> str:
        config = f", {self.config}" if self.config else ""
        splits = (f"{one!r}{'; evaluated by default' * (name == self.evaluated)}" for name, one in self.splits.items())
        left_out = (f"left out: {name} ({why})" for name, why in self.left_out.items())
        about = f"Benchmark({self.dataset}{config})", f"read: {self.read_as}"
        return "\n".join([*about, *self.notes, *splits, *left_out])
