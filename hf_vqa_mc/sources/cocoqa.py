"""COCO-QA: questions with one-word answers, generated from COCO's captions; four text files per split."""

import re
from collections.abc import Callable

import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Source, reference
from hf_vqa_mc.sources.table import in_split_order, triplet_table
from hf_vqa_mc.sources.vqa_files import COCO_IMAGES

TYPES = {"0": "object", "1": "number", "2": "color", "3": "location"}
EXPECTED: dict[str, tuple[Callable[[str], object], str]] = {
    "questions": (str.strip, "a question"),
    "answers": (str.strip, "an answer"),
    "img_ids": (re.compile(r"[0-9]{1,12}").fullmatch, "the number of a COCO image"),
    "types": (TYPES.get, "one of " + ", ".join(f"{key} ({name})" for key, name in TYPES.items())),
}
"""The files of a split: the test of a line, and a description for messages."""
IMAGE_SUBSETS = {"train": "train2014", "test": "val2014"}
"""COCO's subsets: all of the 46,293 and 22,879 image ids are also ids of VQA's images of that subset."""


def read(files: Files) -> pa.Table:
    """The triplets of both splits; a question's id is its split and line number from 0."""
    return in_split_order([_read_split(files, split, subset) for split, subset in IMAGE_SUBSETS.items()])


def _read_split(files: Files, split: str, subset: str) -> pa.Table:
    found = {part: files.find(f"{split}/{part}.txt") for part in EXPECTED}
    lines = {part: file.read_lines() for part, file in found.items()}
    counts = {part: len(some) for part, some in lines.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count:,} in {part}.txt" for part, count in counts.items())
        location = found["questions"].location
        raise InputError(f"{location}: expected equal numbers of lines in all four files, found {listed}")
    for part, (is_valid, expected) in EXPECTED.items():
        for number, line in enumerate(lines[part], start=1):
            if not is_valid(line):
                problem = repr(line[:60]) if part in ("img_ids", "types") else "nothing"
                raise InputError(f"{found[part].location}, line {number}: expected {expected}, found {problem}")
    return triplet_table(
        question_id=[f"{split}-{row}" for row in range(counts["questions"])],
        image_id=lines["img_ids"],
        split=[split] * counts["questions"],
        question=lines["questions"],
        target=lines["answers"],
        question_type=[TYPES[line] for line in lines["types"]],
        image_file=[f"COCO_{subset}_{int(line):012d}.jpg" for line in lines["img_ids"]],
    )


COCOQA = Source(
    name="cocoqa",
    title="COCO-QA",
    description="Questions about objects, numbers, colours and locations, generated from the captions of COCO "
    "images, with answers of one word; no choices are published.",
    homepage="https://www.cs.toronto.edu/~mren/research/imageqa/data/cocoqa/",
    licence="not stated by the publisher; made from COCO's captions, which are CC-BY-4.0",
    citation=reference("ren2015exploring"),
    read=read,
    image_numbering="COCO",
    synthetic="The questions were generated from captions by a program.",
    image_hint=COCO_IMAGES,
    expected_counts={"train": 78_736, "test": 38_948},
    downloads=(
        RemoteFile(
            url="http://www.cs.toronto.edu/~mren/imageqa/data/cocoqa/cocoqa-2015-05-17.zip",
            holds=tuple(f"{split}/{part}.txt" for split in IMAGE_SUBSETS for part in EXPECTED),
        ),
    ),
)
