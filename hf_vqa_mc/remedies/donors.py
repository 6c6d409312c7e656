"""Additional candidates for decoys: answers from another dataset, or texts for certain questions."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.column_detection import ANSWERED
from hf_vqa_mc.data.loading import NoChoices
from hf_vqa_mc.data.opening import open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.vqa_files import ABSTRACT, V1, V2


class Donor(NamedTuple):
    """An answer that can become a decoy."""

    image_id: str
    """the image for which it is correct"""
    question: str
    """the question that it answers"""
    answer: str
    origin: str
    """value for the column choice_origins"""


def read_donors(pool: str, progress: Progress = silent) -> list[Donor]:
    """Read the answers of another dataset, which may become decoys.

    Args:
        pool: multiple-choice or open-ended questions in any form that ``vqa-mc audit`` opens, the latter with the
            columns question_id, image_id, question and answer; or an annotation file of VQA with its questions file in
            the same folder.
        progress: called with (step, done, total).

    Raises:
        InputError: it cannot be read.
    """
    path = Path(pool)
    for release in (V1, V2, ABSTRACT):
        for subset in release.subsets:
            if path.is_file() and path.name.startswith(release.annotations_name(subset)):
                progress("pool: reading", 0, 1)
                return list(_from_open_ended(release.read(Folder(path.parent), subset), path.name))
    try:
        return from_questions(load(BenchmarkOptions(pool), prefixed(progress, "pool")))
    except NoChoices:
        opened = open_tables(pool, None, open_ended=True)
        if not all(ANSWERED.issubset(table.column_names) for table in opened.tables.values()):
            raise
        name = public_name(opened.name)
        return [
            donor for split, table in opened.tables.items() for donor in _from_open_ended(table, f"{name}, {split}")
        ]


def from_questions(pool: Benchmark) -> list[Donor]:
    """The targets of another dataset's questions."""
    found: list[Donor] = []
    for split in pool.splits.values():
        images, questions, ids = (split.rows[name].to_pylist() for name in ("image_id", "question", "question_id"))
        origins = [f"question {name} of {public_name(pool.dataset)}, {split.name}" for name in ids]
        choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
        targets = [texts[label] for texts, label in zip(choices, labels, strict=True)]
        found += map(Donor, images, questions, targets, origins)
    return found


def _from_open_ended(table: pa.Table, location: str) -> Iterator[Donor]:
    """The answers of open-ended questions; empty ones are left out."""
    names = ("image_id", "question", "answer", "question_id")
    columns = (pc.fill_null(as_text(table[name]), "").to_pylist() for name in names)
    for image, question, answer, question_id in zip(*columns, strict=True):
        if answer.strip():
            yield Donor(image, question, answer, f"question {question_id} of {location}")


def images_in_common(donors: Iterable[Donor], benchmark: Benchmark) -> int:
    """Number of the benchmark's images that have donors."""
    images = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return len({donor.image_id for donor in donors} & images - {""})
