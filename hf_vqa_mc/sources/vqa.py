"""VQA (v1) and the reader of its file layout, which VQA2 shares: ten answers a question, 18 choices in v1."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.records import Records, read_records
from hf_vqa_mc.sources.files import Files, PublishedFile, RemoteFile
from hf_vqa_mc.sources.source import Source
from hf_vqa_mc.sources.table import equal_lists, in_split_order, matching_rows, text_lists, triplet_table

SUBSETS = {"train2014": "train", "val2014": "validation"}  # the answers of test2015 are not published
CHOICES = 18  # Antol et al. 2015, section 3
ANSWERS = 10
YES_NO = ("yes", "no")  # what the papers' VQA⁻ and VQA2⁻ leave out: Chao et al. 2018, Supplement C


def read(files: Files, prefix: str = "", tasks: Iterable[str] = ("MultipleChoice", "OpenEnded")) -> pa.Table:
    """The triplets of both subsets; the decoys are the other 17 choices, or none in files of the open-ended task.

    Args:
        files: where the questions and annotations are.
        prefix: what the names of a release begin with.
        tasks: whose question files to take, the first that is there; both subsets from the same.
    """
    found = [task for task in tasks if any(files.has(_questions_name(prefix, task, subset)) for subset in SUBSETS)]
    task = next(iter(found or tasks))
    parts = []
    for subset, split in SUBSETS.items():
        questions = files.find(_questions_name(prefix, task, subset))
        annotations = files.find(f"{prefix}mscoco_{subset}_annotations.json")
        parts.append(read_subset(questions, annotations, subset, split, choices=task == "MultipleChoice"))
    return in_split_order(parts)


def read_minus(files: Files, prefix: str = "", tasks: Iterable[str] = ("MultipleChoice", "OpenEnded")) -> pa.Table:
    """The same without the questions whose target is yes or no."""
    triplets = read(files, prefix, tasks)
    targets = pc.utf8_lower(pc.utf8_trim_whitespace(triplets["target"]))
    return triplets.filter(pc.invert(pc.is_in(targets, value_set=pa.array(YES_NO)))).combine_chunks()


def _questions_name(prefix: str, task: str, subset: str) -> str:
    return f"{prefix}{task}_mscoco_{subset}_questions.json"


def read_subset(
    questions_file: PublishedFile, annotations_file: PublishedFile, subset: str, split: str, choices: bool
) -> pa.Table:
    """The triplets of a subset; choices: whether the questions come with 18 each."""
    questions = pa.concat_tables(
        _question_columns(records, choices) for records in read_records(questions_file, "questions")
    ).combine_chunks()
    annotations = pa.concat_tables(
        _annotation_columns(records) for records in read_records(annotations_file, "annotations")
    )
    places = (questions_file.place, annotations_file.place)
    rows = matching_rows(
        questions["question_id"],
        annotations["question_id"],
        field="question_id",
        places=places,
        lists=("questions", "annotations"),
    )
    annotations = annotations.take(rows).combine_chunks()
    differ = questions["question_id"].filter(pc.not_equal(questions["image_id"], annotations["image_id"]))
    if len(differ):
        raise InputError(
            f"{annotations_file.place}: the annotation of question_id {differ[0]} expected the image_id of "
            f"{questions_file.place}, found another"
        )
    image_ids = questions["image_id"].to_pylist()
    return triplet_table(
        question_id=questions["question_id"].chunk(0),
        image_id=[str(image_id) for image_id in image_ids],
        split=[split] * len(rows),
        question=questions["question"].chunk(0),
        target=annotations["target"].chunk(0),
        answers=annotations["answers"].chunk(0),
        orig_decoys=_decoys(questions, annotations["target"].chunk(0), places) if choices else None,
        question_type=annotations["question_type"].chunk(0),
        answer_type=annotations["answer_type"].chunk(0),
        image_file=[f"COCO_{subset}_{image_id:012d}.jpg" for image_id in image_ids],
    )


def _question_columns(records: Records, choices: bool) -> pa.Table:
    columns = {
        "question_id": pa.array(records.ids("question_id"), pa.string()),
        "image_id": pa.array(records.whole_numbers("image_id"), pa.int64()),
        "question": pa.array(records.filled_texts("question"), pa.string()),
    }
    if choices:
        columns["choices"] = text_lists(records.text_lists("multiple_choices", CHOICES))
    return pa.table(columns)


def _annotation_columns(records: Records) -> pa.Table:
    return pa.table(
        {
            "question_id": pa.array(records.ids("question_id"), pa.string()),
            "image_id": pa.array(records.whole_numbers("image_id"), pa.int64()),
            "target": pa.array(records.filled_texts("multiple_choice_answer"), pa.string()),
            "answers": _answers(records),
            "question_type": pa.array(records.texts("question_type"), pa.string()),
            "answer_type": pa.array(records.texts("answer_type"), pa.string()),
        }
    )


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


def _decoys(questions: pa.Table, targets: pa.Array, places: tuple[str, str]) -> pa.ListArray:
    """The choices of each question but its target, which must be among them exactly once."""
    choices = questions["choices"].chunk(0).flatten()
    is_target = pc.equal(choices, targets.take(pa.array(np.arange(len(targets)).repeat(CHOICES))))
    times = is_target.to_numpy(zero_copy_only=False).reshape(-1, CHOICES).sum(axis=1)
    wrong = np.flatnonzero(times != 1)
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{places[0]}, question_id {questions['question_id'][row]}, field 'multiple_choices': expected the "
            f"correct answer {shown(targets[row].as_py())} of {places[1]} exactly once, found it {times[row]} times "
            f"({len(wrong):,} such questions)"
        )
    return equal_lists(choices.filter(pc.invert(is_target)), CHOICES - 1)


BASE = "https://s3.amazonaws.com/cvmlp/vqa/mscoco/vqa/"
COCO_IMAGES = (
    "train2014.zip and val2014.zip from http://images.cocodataset.org/zips/train2014.zip and "
    "http://images.cocodataset.org/zips/val2014.zip, COCO_train2014_<image id, 12 digits>.jpg."
)

VQA = Source(
    name="vqa",
    title="VQA v1 (real images)",
    description="Open questions on COCO images, ten answers by as many people each; in the multiple-choice task with "
    "18 choices, 17 of them wrong: plausible, popular and random answers.",
    homepage="https://visualqa.org/vqa_v1_download.html",
    licence="CC-BY-4.0",
    citation="""@inproceedings{antol2015vqa,
  title={VQA: Visual Question Answering},
  author={Antol, Stanislaw and Agrawal, Aishwarya and Lu, Jiasen and Mitchell, Margaret and Batra, Dhruv and
          Zitnick, C. Lawrence and Parikh, Devi},
  booktitle={Proceedings of the IEEE International Conference on Computer Vision},
  pages={2425--2433},
  year={2015}
}""",
    read=read,
    image_numbering="COCO",
    image_hint=COCO_IMAGES,
    expected_counts={"train": 248_349, "validation": 121_512},
    downloads=(
        RemoteFile(
            url=f"{BASE}Questions_Train_mscoco.zip",
            holds=("MultipleChoice_mscoco_train2014_questions.json", "OpenEnded_mscoco_train2014_questions.json"),
            sha256="c3b2bb6155528eeae95e0a914af394d6f0d98f8f2b51012c44b27778e1a96707",
        ),
        RemoteFile(
            url=f"{BASE}Questions_Val_mscoco.zip",
            holds=("MultipleChoice_mscoco_val2014_questions.json", "OpenEnded_mscoco_val2014_questions.json"),
            sha256="e8839be5de2d711989bf0adc82e6717d1ce307d27c9b1dfb0abf413b79a5d4d0",
        ),
        RemoteFile(
            url=f"{BASE}Annotations_Train_mscoco.zip",
            holds=("mscoco_train2014_annotations.json",),
            sha256="a5f5f97c162a4ad44896be08bac6deaa258aa3fec281afcc84fe85ae44cb1ebc",
        ),
        RemoteFile(
            url=f"{BASE}Annotations_Val_mscoco.zip",
            holds=("mscoco_val2014_annotations.json",),
            sha256="29377c35186d90aeab3e61bdad890f51215d1f88b700bd22ef19004d73bf284f",
        ),
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
