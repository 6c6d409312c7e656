"""TDIUC: questions of twelve types with equal weight in the score; VQA's file layout."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.io.json_stream import list_items
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.tdiuc import TAIL_BELOW
from hf_vqa_mc.scoring.tdiuc_types import ABSURD, PRESENCE, QUESTION_TYPES
from hf_vqa_mc.sources import open_ended
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, has_true_subsets, reference
from hf_vqa_mc.sources.table import in_split_order, read_annotated, triplet_table
from hf_vqa_mc.sources.vqa_files import ANSWER, COCO_IMAGES, V1, answer_lists, id_columns, question_columns

NOT_IN_TAIL = (ABSURD, PRESENCE)
"""Excluded from TDIUC-Tail (appendix), since all their answers are frequent; also excluded in small files."""
GENOME_OFFSET = 10_000_000_000
"""Added by vqa-mc generate to Visual Genome's ids of images that are not COCO's, as both count from 1."""

NAMES = ("question_id", "image_id", "question", "question_type", "answer", "answers", "ans_source", "image_file")
SCHEMA = pa.schema([(name, pa.list_(ANSWER) if name == "answers" else pa.string()) for name in NAMES])
COLUMNS = {
    "question_id, image_id, question": "as in the question file",
    "question_type": f"one of {', '.join(sorted(QUESTION_TYPES))}",
    "answer": "the first of answers; for an absurd question, that the question does not apply to the image",
    "answers": 'as in the annotation file: answer, answer_id and answer_confidence (null and "" where a record lacks '
    "the latter)",
    "ans_source": "where the question comes from: imported, generated or asked by a person, in the words of the "
    "annotation file",
    "image_file": "COCO's name for the image, that of 2017 if no file gives the subset of 2014; or Visual Genome's",
}
TYPES_ANSWERS, ORIGINS_ANSWERS = ("question_type", "answer"), ("ans_source", "answer")
TYPES_ORIGINS = ("question_type", "ans_source")
SAME = ("question_id", "image_id", "question", "question_type", "image_file")
"""The columns of a triplet table that are those of ``SCHEMA``."""
_kept: "WeakKeyDictionary[Files, dict[str, pa.Table]]" = WeakKeyDictionary()
"""Cache by files in use, as every split of both configs needs all rows."""


def read(files: Files) -> pa.Table:
    """The triplets of the available subsets with absurd questions; raises InputError if there is no subset."""
    parts = []
    for split, rows in read_splits(files).items():
        answers = rows["answers"].combine_chunks()
        texts = pa.ListArray.from_arrays(answers.offsets, pc.struct_field(answers.values, "answer"))
        same, splits = {name: rows[name] for name in SAME}, [split] * rows.num_rows
        parts.append(triplet_table(split=splits, target=rows["answer"], answers=texts, **same))
    return in_split_order(parts)


def _read_tail(files: Files, split: str, left_out: Counter[str]) -> Iterator[pa.Table]:
    """The questions of TDIUC-Tail: answers are counted over the whole set, all types and splits together."""
    splits = read_splits(files)
    counts = pc.value_counts(pa.concat_tables(splits.values())["answer"])
    rare = counts.field("values").filter(pc.less(counts.field("counts"), TAIL_BELOW))
    table = splits[split]
    is_rare = pc.is_in(table["answer"], value_set=rare)
    is_other = pc.is_in(table["question_type"], value_set=pa.array(NOT_IN_TAIL))
    left_out["of the types " + " and ".join(NOT_IN_TAIL)] += pc.sum(is_other).as_py()
    often = pc.and_(pc.invert(is_rare), pc.invert(is_other))
    left_out[f"answers seen {TAIL_BELOW:,} times or more"] += pc.sum(often).as_py()
    yield table.filter(pc.and_(is_rare, pc.invert(is_other)))


def statistics(counts: Counts) -> dict[str, Any]:
    """Questions per type and origin (as the paper's Table 2 and appendix), answers and their entropy per type."""
    by_type = open_ended.grouped(counts[TYPES_ANSWERS])
    by_origin = open_ended.grouped(counts[ORIGINS_ANSWERS])
    answers = open_ended.by_value(counts[TYPES_ANSWERS])
    figures = open_ended.answer_figures(answers, {"question type": by_type, "origin": by_origin})
    open_ended.add_means(figures, by_type, "question types")
    sizes = counts[TYPES_ORIGINS]
    return {
        **figures,
        "tables": [
            open_ended.type_table("Answers by question type", "question type", by_type),
            {
                "title": "Questions by type and origin",
                "columns": ["question type", *by_origin],
                "rows": [[kind, *(sizes[kind, origin] for origin in by_origin)] for kind in by_type],
            },
        ],
    }


def read_splits(files: Files) -> dict[str, pa.Table]:
    """The rows of each split, tables ``SCHEMA``; ids that occur in both files are prefixed with their subset."""
    if files in _kept:
        return _kept[files]
    found = {V1.subsets[subset]: _read_subset(files, subset) for subset in available_subsets(files, {})}
    if not found:
        files.find(V1.questions_name("train2014"))
    ids = [table["question_id"] for table in found.values()]
    if len(ids) > 1 and pc.any(pc.is_in(ids[0], value_set=ids[1].combine_chunks())).as_py():
        names = {split: subset for subset, split in V1.subsets.items()}
        for split, table in found.items():
            longer = pc.binary_join_element_wise(names[split], table["question_id"], "-")
            found[split] = table.set_column(0, SCHEMA.field(0), longer)
    _kept[files] = found
    return found


def available_subsets(files: Files, not_read: dict[str, str]) -> list[str]:
    """The subsets with files; files without questions (as vqa-mc generate may write) are added to ``not_read``."""
    present = [subset for subset in V1.subsets if files.has(V1.questions_name(subset))]
    lists = (("questions", V1.questions_name), ("annotations", V1.annotations_name))
    whole = [subset for subset in present if all(files.has(name(subset)) for _, name in lists)]
    empty = [one for one in whole if not any(any(list_items(files.find(name(one)), key)) for key, name in lists)]
    if len(empty) == len(present):
        return present  # reading them reports that they are empty
    not_read.update({V1.questions_name(subset): "it holds no questions" for subset in empty})
    return [subset for subset in present if subset not in empty]


def _read_subset(files: Files, subset: str) -> pa.Table:
    questions, annotations = files.find(V1.questions_name(subset)), files.find(V1.annotations_name(subset))
    rows = read_annotated(questions, annotations, question_columns, annotation_columns)
    release = f"COCO_{subset}_" if questions.member or has_true_subsets(questions.path.parent) else ""
    names = [  # since 2017 COCO's file names have no subset
        f"{image_id - GENOME_OFFSET}.jpg" if image_id >= GENOME_OFFSET else f"{release}{image_id:012d}.jpg"
        for image_id in rows["image_id"].to_pylist()
    ]
    return rows.append_column("image_file", pa.array(names, pa.string())).select(SCHEMA.names).cast(SCHEMA)


def annotation_columns(records: Records) -> pa.Table:
    """The ids, type, first answer, all answers and origin of each annotation."""
    lists = records.lists("answers")
    records.checked("answers", bool, "an answer")
    texts, types = records.nested("answers").filled_texts("answer"), {name: name for name in sorted(QUESTION_TYPES)}
    firsts = [0, *accumulate(map(len, lists))][:-1]
    return pa.table(
        {
            **id_columns(records),
            "question_type": pa.array(records.named("question_type", types), pa.string()),
            "answer": pa.array([texts[first] for first in firsts], pa.string()),
            "answers": answer_lists(records),
            "ans_source": pa.array(records.ids("ans_source"), pa.string()),
        }
    )


OPEN = OpenEnded(
    name="tdiuc",
    word="open",
    scored_as="tdiuc",
    description="All questions of the files with all published fields.",
    schema=SCHEMA,
    columns=COLUMNS,
    splits=lambda files, not_read: tuple(V1.subsets[subset] for subset in available_subsets(files, not_read)),
    needs=V1.questions_name("train2014"),
    read=lambda files, split, _: iter([read_splits(files)[split]]),
    together=(TYPES_ANSWERS, ORIGINS_ANSWERS, TYPES_ORIGINS),
    statistics=statistics,
)
TAIL = replace(
    OPEN,
    name="tdiuc_tail",
    word="tail",
    description=f"TDIUC-Tail: the questions whose answer is seen fewer than {TAIL_BELOW:,} times in the questions of "
    f"all splits and types together, without those of the types {' and '.join(NOT_IN_TAIL)}.",
    read=_read_tail,
    expected_counts={"train": 46_590, "validation": 22_065},  # Kafle and Kanan 2017, section 6.4
)

TDIUC = Source(
    name="tdiuc",
    title="TDIUC",
    description="Questions of twelve types, imported from VQA and Visual Genome, generated from annotations, or asked "
    "by people. One type is absurd: questions about things that the image does not show, whose answer says that the "
    "question does not apply. In the multiple-choice variants this answer is a target like any other, and so a decoy "
    "of questions that do apply, which tests whether a model distinguishes the two. Filter by question_type to leave "
    "absurd questions out.",
    homepage="https://kushalkafle.com/projects/tdiuc.html",
    licence="CC-BY-4.0",
    citation=reference("kafle2017analysis"),
    read=read,
    synthetic="Some of the questions were generated from annotations by a program.",
    image_hint=f"those of COCO: {COCO_IMAGES} Those of Visual Genome come with the publisher's own script; any file "
    "whose name ends with the image's number is found.",
    expected_total=1_654_167,
    downloads=(
        RemoteFile(
            url="https://kushalkafle.com/data/TDIUC.zip",
            holds=(*map(V1.questions_name, V1.subsets), *map(V1.annotations_name, V1.subsets)),
        ),
    ),
    open_ended=(OPEN, TAIL),
    has_triplets=lambda files: any(files.has(V1.questions_name(subset)) for subset in V1.subsets),
    scored_as_published=True,
)
