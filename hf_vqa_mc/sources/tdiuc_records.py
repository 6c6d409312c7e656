"""TDIUC's questions with their annotations, from json to columns."""

from collections.abc import Callable
from itertools import accumulate
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import list_items
from hf_vqa_mc.io.records import LARGEST, WHOLE_NUMBER, Records, check_texts, read_records
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.files import Files, PublishedFile
from hf_vqa_mc.sources.generated import tells_subsets
from hf_vqa_mc.sources.table import lists_of, matching_rows
from hf_vqa_mc.sources.vqa import SUBSETS

GENOME_OFFSET = 10_000_000_000
"""Added to Visual Genome's id of an image that is not COCO's in what vqa-mc generate writes: both count from 1 on."""
_kept: "WeakKeyDictionary[Files, dict[str, pa.Table]]" = WeakKeyDictionary()
"""What was read from files that are in use, as both configs and each of their splits are made of all of it."""
_ANSWER = pa.struct([("answer", pa.string()), ("answer_id", pa.int64()), ("answer_confidence", pa.string())])
SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("question", pa.string()),
        ("question_type", pa.string()),
        ("answer", pa.string()),
        ("answers", pa.list_(_ANSWER)),
        ("ans_source", pa.string()),
        ("image_file", pa.string()),
    ]
)


def read_splits(files: Files) -> dict[str, pa.Table]:
    """The rows, tables ``SCHEMA``, of each split that is there.

    A question's id is the publisher's. Were some in both files, all would get the name of their subset before them.

    Raises:
        InputError: a file is missing or malformed, or a question about the same image is in both files.
    """
    if files in _kept:
        return _kept[files]
    found = {SUBSETS[subset]: _read_subset(files, subset) for subset in subsets_there(files, {})}
    if not found:
        files.find(questions_name("train2014"))
    ids = [table["question_id"] for table in found.values()]
    if len(ids) > 1 and pc.any(pc.is_in(ids[0], value_set=ids[1].combine_chunks())).as_py():
        names = {split: subset for subset, split in SUBSETS.items()}
        _check_other_images(files, found)
        for split, table in found.items():
            longer = pc.binary_join_element_wise(names[split], table["question_id"], "-")
            found[split] = table.set_column(0, SCHEMA.field(0), longer)
    _kept[files] = found
    return found


def _check_other_images(files: Files, found: dict[str, pa.Table]) -> None:
    """Nothing, if what has the same id in both splits is about other images, and so another question."""
    pairs = [pc.binary_join_element_wise(one["question_id"], one["image_id"], "\n") for one in found.values()]
    same = pc.filter(pairs[1], pc.is_in(pairs[1], value_set=pairs[0].combine_chunks()))
    if len(same):
        question_id, image_id = same[0].as_py().split("\n")
        places = [files.find(questions_name(subset)).place for subset, split in SUBSETS.items() if split in found]
        raise InputError(
            f"{places[1]}: question_id {question_id} about image {image_id} is in {places[0]}, too ({len(same):,} "
            "questions are in both); expected each question in one split: download the files again"
        )


def questions_name(subset: str) -> str:
    """The name of a subset's questions, as that of VQA's."""
    return f"OpenEnded_mscoco_{subset}_questions.json"


def annotations_name(subset: str) -> str:
    """The name of a subset's annotations, as that of VQA's."""
    return f"mscoco_{subset}_annotations.json"


def subsets_there(files: Files, not_read: dict[str, str]) -> list[str]:
    """The subsets that the files hold; files of one without any question, as vqa-mc generate may write, are noted."""
    there = [subset for subset in SUBSETS if files.has(questions_name(subset))]
    empty = [subset for subset in there if _holds_none(files, subset)]
    if len(empty) == len(there):
        return there  # to be read, and told to be empty
    not_read.update({questions_name(subset): "it holds no questions" for subset in empty})
    return [subset for subset in there if subset not in empty]


def _holds_none(files: Files, subset: str) -> bool:
    for name, key in ((questions_name(subset), "questions"), (annotations_name(subset), "annotations")):
        if not files.has(name):
            return False
        if any(list_items(files.find(name), key)):
            return False
    return True


def _read_subset(files: Files, subset: str) -> pa.Table:
    asked, annotated = files.find(questions_name(subset)), files.find(annotations_name(subset))
    questions = _columns(asked, "questions", _question_columns)
    annotations = _columns(annotated, "annotations", _annotation_columns)
    rows = matching_rows(
        questions["question_id"],
        annotations["question_id"],
        field="question_id",
        places=(asked.place, annotated.place),
        lists=("questions", "annotations"),
    )
    annotations = annotations.take(rows)
    differ = questions["question_id"].filter(pc.not_equal(questions["image_id"], annotations["image_id"]))
    if len(differ):
        raise InputError(
            f"{annotated.place}: the annotation of question_id {differ[0]} expected the image_id of {asked.place}, "
            "found another"
        )
    release = f"COCO_{subset}_" if asked.member or tells_subsets(asked.path.parent) else ""
    names = [_image_file(image_id, release) for image_id in questions["image_id"].to_pylist()]
    columns = {
        **{name: annotations[name] for name in annotations.column_names},
        **{name: questions[name] for name in questions.column_names},
        "image_id": questions["image_id"].cast(pa.string()),
        "image_file": pa.chunked_array([pa.array(names, pa.string())]),
    }
    return pa.Table.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _image_file(image_id: int, release: str) -> str:
    """The name by which an image is had: since 2017 COCO's own bear no subset."""
    if image_id >= GENOME_OFFSET:
        return f"{image_id - GENOME_OFFSET}.jpg"
    return f"{release}{image_id:012d}.jpg"


def _columns(file: PublishedFile, key: str, columns: Callable[[Records], pa.Table]) -> pa.Table:
    return pa.concat_tables(columns(records) for records in read_records(file, key)).combine_chunks()


def _question_columns(records: Records) -> pa.Table:
    return pa.table(
        {
            "question_id": pa.array(records.ids("question_id"), pa.string()),
            "image_id": pa.array(records.whole_numbers("image_id"), pa.int64()),
            "question": pa.array(records.filled_texts("question"), pa.string()),
        }
    )


def _annotation_columns(records: Records) -> pa.Table:
    lists = records.lists("answers")
    for position, some in enumerate(lists):
        if not some:
            raise records.unexpected(position, "answers", "an answer", some)
    answers = records.nested("answers")
    texts = answers.filled_texts("answer")
    numbers = [row.get("answer_id") for row in answers.rows]
    sure = ["" if row.get("answer_confidence") is None else row["answer_confidence"] for row in answers.rows]
    for position, number in enumerate(numbers):
        if number is not None and (type(number) is not int or not 0 <= number <= LARGEST):
            raise answers.unexpected(position, "answer_id", WHOLE_NUMBER, number)
    check_texts(sure, lambda position: f"{answers.place(position)}, field 'answer_confidence'")
    firsts = [0, *accumulate(map(len, lists))][:-1]
    columns = [pa.array(texts, pa.string()), pa.array(numbers, pa.int64()), pa.array(sure, pa.string())]
    structs = pa.StructArray.from_arrays(columns, fields=list(_ANSWER))
    return pa.table(
        {
            "question_id": pa.array(records.ids("question_id"), pa.string()),
            "image_id": pa.array(records.whole_numbers("image_id"), pa.int64()),
            "question_type": pa.array(
                records.named("question_type", {name: name for name in sorted(QUESTION_TYPES)}), pa.string()
            ),
            "answer": pa.array([texts[first] for first in firsts], pa.string()),
            "answers": lists_of(lists, structs),
            "ans_source": pa.array(records.ids("ans_source"), pa.string()),
        }
    )
