"""qaVG: the questions of Visual Genome, split by image around Visual7W's split, as in the paper.

The paper's split was not published. Its description (Chao et al. 2018, section 5.1: 50/20/30%, each part a superset of
Visual7W's) fixes the images of Visual7W; the others are assigned in the order of a hash of their id, so the split is
deterministic. One of Visual7W's files is required: a split without it would leak Visual7W's test images into training.
"""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import accumulate, islice, pairwise

import pyarrow as pa

from hf_vqa_mc.errors import CountMismatch, InputError
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources import visual7w
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Source, reference
from hf_vqa_mc.sources.table import in_split_order, triplet_table

QUESTIONS = "question_answers.json"
PERCENT = {"train": 50, "validation": 20, "test": 30}  # of the images with questions; Chao et al. 2018, section 5.1


def read(files: Files) -> pa.Table:
    """The triplets of question_answers.json, split around Visual7W's questions or else its released decoys."""
    visual7w_splits = visual7w.read_image_splits(files)
    file = files.find(QUESTIONS)
    parts, listed = [], []
    for images in read_records(file):
        pairs, ids = images.nested("qas"), images.ids("id")
        listed += [name for name, row in zip(ids, images.rows, strict=True) if row["qas"]]
        columns = {
            "question_id": pairs.ids("qa_id"),
            "image_id": images.for_each("qas", ids),
            "question": pairs.filled_texts("question"),
            "target": pairs.filled_texts("answer"),
        }
        parts.append(pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}))
    image_ids = list(dict.fromkeys(listed))
    if len(image_ids) < len(listed):
        repeated = next(name for name, times in Counter(listed).items() if times > 1)
        raise InputError(f"{file.location}: image {repeated} is listed twice")
    lacking = visual7w_splits.keys() - set(image_ids)
    if lacking:
        message = (
            f"qavg: {file.location} has no questions on {len(lacking):,} of Visual7W's {len(visual7w_splits):,} "
            f"images (such as {min(lacking)}); each part holds Visual7W's only but for these"
        )
        warnings.warn(CountMismatch(message), stacklevel=2)
    splits = split_images(image_ids, visual7w_splits)
    table = pa.concat_tables(parts).combine_chunks()
    names = table["image_id"].to_pylist()
    of_images = {"split": [splits[name] for name in names], "image_file": [f"{name}.jpg" for name in names]}
    return in_split_order([triplet_table(**{name: table[name] for name in table.column_names}, **of_images)])


def split_images(image_ids: Sequence[str], fixed: Mapping[str, str]) -> dict[str, str]:
    """The split of each image: 50/20/30% of them, rounded.

    ``fixed``: the split of some of them. If those are more than a part's share (in a small sample), the part is larger
    and the last ones are smaller.
    """
    splits = {image_id: fixed[image_id] for image_id in image_ids if image_id in fixed}
    others = (name for name in image_ids if name not in splits)
    free = iter(sorted(others, key=lambda name: sha256(f"qavg {name}".encode()).digest()))
    taken = Counter(splits.values())
    ends = [0, *((len(image_ids) * percent + 50) // 100 for percent in accumulate(PERCENT.values()))]
    for split, (begin, end) in zip(SPLITS, pairwise(ends), strict=True):
        splits.update(dict.fromkeys(islice(free, max(end - begin - taken[split], 0)), split))
    return splits


QAVG = Source(
    name="qavg",
    title="qaVG (Visual Genome)",
    description="Questions and answers that people wrote freely about images of Visual Genome and regions of them, "
    "split by image into 50/20/30%, each split a superset of Visual7W's; no choices are published.",
    homepage="https://homes.cs.washington.edu/~ranjay/visualgenome/",
    licence="CC-BY-4.0",
    citation=reference("krishna2017visual"),
    read=read,
    synthetic="",
    image_numbering="Visual Genome",
    image_hint="images.zip and images2.zip from https://cs.stanford.edu/people/rak248/VG_100K_2/images.zip and "
    "https://cs.stanford.edu/people/rak248/VG_100K_2/images2.zip, <image id>.jpg.",
    expected_total=1_445_322,  # Chao et al. 2018, section 5.1; which of them fall into which part depends on the split
    downloads=(
        RemoteFile(
            url="https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/question_answers.json.zip",
            holds=(QUESTIONS,),
        ),
        visual7w.TELLING_ZIP,
    ),
)
