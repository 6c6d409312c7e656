"""VQA v1 and the reader of its file layout, shared by VQA2: ten answers per question, in v1 18 choices."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Source, reference
from hf_vqa_mc.sources.table import equal_lists, in_split_order, read_annotated, text_lists, triplet_table
from hf_vqa_mc.text.normalisation import YES_NO

SUBSETS = {"train2014": "train", "val2014": "validation"}  # the answers of test2015 are not published
CHOICES = 18  # Antol et al. 2015, section 3
ANSWERS = 10
MULTIPLE_CHOICE, OPEN_ENDED = "MultipleChoice", "OpenEnded"
SAME = ("question_id", "question", "target", "answers", "question_type", "answer_type")
"""Columns of a triplet table that are unchanged from the files."""


def questions_name(subset: str, prefix: str = "", task: str = OPEN_ENDED) -> str:
    """The file name of a subset's questions; prefix: of the release's file names."""
    return f"{prefix}{task}_mscoco_{subset}_questions.json"


def annotations_name(subset: str, prefix: str = "") -> str:
    """The file name of a subset's annotations."""
    return f"{prefix}mscoco_{subset}_annotations.json"


def read(files: Files, prefix: str = "", tasks: Sequence[str] = (MULTIPLE_CHOICE, OPEN_ENDED)) -> pa.Table:
    """The triplets of both subsets; decoys are the other 17 choices, or none in files of the open-ended task.

    Args:
        files: with the questions and annotations.
        prefix: of the release's file names.
        tasks: tasks by preference; both subsets are read from the first one with a question file.
    """
    found = (task for task in tasks if any(files.has(questions_name(subset, prefix, task)) for subset in SUBSETS))
    task = next(found, tasks[0])
    return in_split_order([read_subset(files, subset, prefix, task) for subset in SUBSETS])


def read_minus(files: Files, **release: Any) -> pa.Table:  # noqa: ANN401  the arguments of read
    """The triplets without the questions whose target is yes or no (Chao et al. 2018, Supplement C)."""
    triplets = read(files, **release)
    targets = pc.utf8_lower(pc.utf8_trim_whitespace(triplets["target"]))
    return triplets.filter(pc.invert(pc.is_in(targets, value_set=pa.array(YES_NO)))).combine_chunks()


def read_subset(files: Files, subset: str, prefix: str = "", task: str = OPEN_ENDED) -> pa.Table:
    """The triplets of a subset; those of the multiple-choice task with 17 decoys each."""
    questions = files.find(questions_name(subset, prefix, task))
    annotations = files.find(annotations_name(subset, prefix))
    choices = task == MULTIPLE_CHOICE
    rows = read_annotated(questions, annotations, partial(_question_columns, choices=choices), _annotation_columns)
    image_ids = rows["image_id"].to_pylist()
    return triplet_table(
        image_id=[str(image_id) for image_id in image_ids],
        split=[SUBSETS[subset]] * len(rows),
        orig_decoys=_decoys(rows, (questions.location, annotations.location)) if choices else None,
        image_file=[f"COCO_{subset}_{image_id:012d}.jpg" for image_id in image_ids],
        **{name: rows[name] for name in SAME},
    )


def id_columns(records: Records) -> dict[str, pa.Array]:
    """The columns that questions and annotations share."""
    return {
        "question_id": pa.array(records.ids("question_id"), pa.string()),
        "image_id": pa.array(records.whole_numbers("image_id"), pa.int64()),
    }


def _question_columns(records: Records, choices: bool) -> pa.Table:
    columns = id_columns(records) | {"question": pa.array(records.filled_texts("question"), pa.string())}
    if choices:
        columns["choices"] = text_lists(records.text_lists("multiple_choices", CHOICES))
    return pa.table(columns)


def _annotation_columns(records: Records) -> pa.Table:
    targets = pa.array(records.filled_texts("multiple_choice_answer"), pa.string())
    types = {name: pa.array(records.texts(name), pa.string()) for name in ("question_type", "answer_type")}
    return pa.table({**id_columns(records), "target": targets, "answers": _answers(records), **types})


def _answers(records: Records) -> pa.ListArray:
    """The ten answers of each annotation, in the order of their answer_id."""
    answers = records.nested("answers", ANSWERS)
    texts = pa.array(answers.texts("answer"), pa.string())
    numbers = np.asarray(answers.whole_numbers("answer_id")).reshape(-1, ANSWERS)
    order = np.argsort(numbers, axis=1, kind="stable")
    wrong = np.flatnonzero((np.take_along_axis(numbers, order, axis=1) != np.arange(1, ANSWERS + 1)).any(axis=1))
    if len(wrong):
        found = numbers[wrong[0]].tolist()
        raise records.unexpected(int(wrong[0]), "answers", f"answer_id 1 to {ANSWERS}, each once", found)
    return equal_lists(texts.take(pa.array((order + ANSWERS * np.arange(len(order))[:, None]).ravel())), ANSWERS)


def _decoys(rows: pa.Table, locations: tuple[str, str]) -> pa.ListArray:
    """The choices of each question except its target, which must occur exactly once."""
    choices, targets = rows["choices"].chunk(0).flatten(), rows["target"].chunk(0)
    is_target = pc.equal(choices, targets.take(pa.array(np.arange(len(targets)).repeat(CHOICES))))
    times = is_target.to_numpy(zero_copy_only=False).reshape(-1, CHOICES).sum(axis=1)
    wrong = np.flatnonzero(times != 1)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{locations[0]}, question_id {rows['question_id'][row]}, field 'multiple_choices': expected the correct "
            f"answer {shown(targets[row].as_py())} of {locations[1]} exactly once, found it {times[row]} times "
            f"({len(wrong):,} such questions)"
        )
    return equal_lists(choices.filter(pc.invert(is_target)), CHOICES - 1)


BASE = "https://s3.amazonaws.com/cvmlp/vqa/mscoco/vqa/"


def archive(
    name: str,
    sha256: str | None = None,
    size: int | None = None,
    prefix: str = "",
    tasks: Sequence[str] = (MULTIPLE_CHOICE, OPEN_ENDED),
) -> RemoteFile:
    """An archive of a release, such as ``Questions_Train``, with the questions of some tasks or the annotations."""
    kind, part = name.split("_")
    subset = f"{part.lower()}2014"
    questions = tuple(questions_name(subset, prefix, task) for task in tasks)
    holds = questions if kind == "Questions" else (annotations_name(subset, prefix),)
    return RemoteFile(f"{BASE}{prefix}{name}_mscoco.zip", holds, sha256, size)


COCO_IMAGES = (
    "train2014.zip and val2014.zip from http://images.cocodataset.org/zips/train2014.zip and "
    "http://images.cocodataset.org/zips/val2014.zip, COCO_train2014_<image id, 12 digits>.jpg."
)

VQA = Source(
    name="vqa",
    title="VQA v1 (real images)",
    description="Open-ended questions about COCO images with ten human answers each; in the multiple-choice task with "
    "18 choices, 17 of them wrong: plausible, popular and random answers.",
    homepage="https://visualqa.org/vqa_v1_download.html",
    licence="CC-BY-4.0",
    citation=reference("antol2015vqa"),
    read=read,
    image_numbering="COCO",
    image_hint=COCO_IMAGES,
    expected_counts={"train": 248_349, "validation": 121_512},
    downloads=(
        archive("Questions_Train", "c3b2bb6155528eeae95e0a914af394d6f0d98f8f2b51012c44b27778e1a96707"),
        archive("Questions_Val", "e8839be5de2d711989bf0adc82e6717d1ce307d27c9b1dfb0abf413b79a5d4d0"),
        archive("Annotations_Train", "a5f5f97c162a4ad44896be08bac6deaa258aa3fec281afcc84fe85ae44cb1ebc"),
        archive("Annotations_Val", "29377c35186d90aeab3e61bdad890f51215d1f88b700bd22ef19004d73bf284f"),
    ),
    consensus=True,
    has_orig_decoys=True,
    scored_as_published=True,
)

VQA_MINUS = replace(
    VQA,
    name="vqa_minus",
    title="VQA⁻ (VQA v1 without yes and no)",
    description=f"{VQA.description} Questions whose answer is yes or no are left out.",
    read=read_minus,
    expected_counts={"validation": 76_034},  # Chao et al. 2018, Table 7
)
