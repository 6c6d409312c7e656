"""easy-VQA: questions on single coloured shapes; questions and images come with the PyPI package easy-vqa."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.errors import InputError, MissingExtra, shown
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Source, reference
from hf_vqa_mc.sources.table import in_split_order, triplet_table

FIELDS = ("question", "answer", "image_id")


def package_folder() -> Path:
    """The data folder of the installed package, which holds the images; raises MissingExtra without the package."""
    spec = find_spec("easy_vqa")  # does not import it
    if spec is None or spec.origin is None:
        raise MissingExtra("easy-vqa", "demo")
    return Path(spec.origin).parent / "data"


def read(files: Files) -> pa.Table:
    """The triplets of both splits; both number questions and images from 0, so ids begin with the split."""
    parts = []
    for split in ("train", "test"):
        first = 0
        file = files.find(f"{split}/questions.json")
        for rows in read_records(file):
            records = Records([_named(row, rows.location(at)) for at, row in enumerate(rows.rows)], rows.location)
            images = records.whole_numbers("image_id")
            parts.append(
                triplet_table(
                    question_id=[f"{split}-{row}" for row in range(first, first + len(records))],
                    image_id=[f"{split}-{image}" for image in images],
                    split=[split] * len(records),
                    question=records.filled_texts("question"),
                    target=records.filled_texts("answer"),
                    image_file=[f"{split}/images/{image}.png" for image in images],
                )
            )
            first += len(records)
    return in_split_order(parts)


def _named(row: object, location: str) -> dict[str, Any]:
    if not isinstance(row, list) or len(row) != len(FIELDS):
        raise InputError(f"{location}: expected a list of {', '.join(FIELDS)}, found {shown(row)}")
    return dict(zip(FIELDS, row, strict=True))


EASYVQA = Source(
    name="easyvqa",
    title="easy-VQA",
    description="Generated questions about 5,000 images of one coloured shape each; small enough to try "
    "everything on.",
    homepage="https://github.com/vzhou842/easy-VQA",
    licence="MIT",
    citation=reference("zhou2019easyvqa"),
    read=read,
    image_numbering="easy-VQA",
    image_hint="They come with the package: pip install easy-vqa.",
    expected_counts={"train": 38_575, "test": 9_673},
    default_word_vectors="corpus",  # about 27 words do not justify a download of gigabytes
    default_folder=package_folder,
)
