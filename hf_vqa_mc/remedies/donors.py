"""Additional candidates for decoys: answers from another dataset."""

from collections.abc import Iterable
from typing import NamedTuple

from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name


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
    """Read another dataset whose targets may become decoys; raises InputError if it cannot be read."""
    return from_questions(load(BenchmarkOptions(pool), prefixed(progress, "pool")))


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


def images_in_common(donors: Iterable[Donor], benchmark: Benchmark) -> int:
    """Number of the benchmark's images that have donors."""
    images = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return len({donor.image_id for donor in donors} & images - {""})
