"""TDIUC: questions of twelve types, each of which counts the same however frequent it is; VQA's file layout."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.scoring.tdiuc import TAIL_BELOW
from hf_vqa_mc.scoring.tdiuc_types import ABSURD, PRESENCE, QUESTION_TYPES
from hf_vqa_mc.sources import answer_counts
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source
from hf_vqa_mc.sources.table import in_split_order, triplet_table
from hf_vqa_mc.sources.tdiuc_records import SCHEMA, annotations_name, questions_name, read_splits, subsets_there
from hf_vqa_mc.sources.vqa import COCO_IMAGES, SUBSETS

NOT_IN_TAIL = (ABSURD, PRESENCE)
"""TDIUC-Tail leaves these out (appendix), where all answers are frequent: also in small files, where they are not."""
ROWS = 10_000
"""In a piece."""

COLUMNS = {
    "question_id, image_id, question": "as in the question file",
    "question_type": f"one of {', '.join(sorted(QUESTION_TYPES))}",
    "answer": "the first of answers; an absurd question's says that the question does not apply to the image",
    "answers": 'as in the annotation file: answer, answer_id and answer_confidence (null and "" where a record lacks '
    "the latter)",
    "ans_source": "where the question comes from: imported, generated or asked by a person, in the words of the "
    "annotation file",
    "image_file": "COCO's name for the image, that of 2017 where no file tells the subset of 2014; or Visual Genome's",
}
COUNTED = ("question_type", "ans_source", "answer")
TYPES_ANSWERS, ORIGINS_ANSWERS, TYPES_ORIGINS = TOGETHER = (
    ("question_type", "answer"),
    ("ans_source", "answer"),
    ("question_type", "ans_source"),
)


def read(files: Files) -> pa.Table:
    """The triplets of the subsets that are there; absurd questions are among them.

    Raises:
        InputError: a file is malformed, or neither subset is there.
    """
    parts = []
    for split, rows in read_splits(files).items():
        parts.append(
            triplet_table(
                question_id=rows["question_id"].combine_chunks(),
                image_id=rows["image_id"].combine_chunks(),
                split=[split] * rows.num_rows,
                question=rows["question"].combine_chunks(),
                target=rows["answer"].combine_chunks(),
                answers=_texts_of(rows["answers"].combine_chunks()),
                question_type=rows["question_type"].combine_chunks(),
                image_file=rows["image_file"].combine_chunks(),
            )
        )
    return in_split_order(parts)


def _texts_of(answers: pa.ListArray) -> pa.ListArray:
    return pa.ListArray.from_arrays(answers.offsets, pc.struct_field(answers.values, "answer"))


def has_triplets(files: Files) -> bool:
    """Whether the questions of a subset are there."""
    return any(files.has(questions_name(subset)) for subset in SUBSETS)


def _splits(files: Files, not_read: dict[str, str]) -> tuple[str, ...]:
    return tuple(SUBSETS[subset] for subset in subsets_there(files, not_read))


def _read(files: Files, split: str, left_out: Counter[str]) -> Iterator[pa.Table]:
    yield from _pieces(read_splits(files)[split])


def _read_tail(files: Files, split: str, left_out: Counter[str]) -> Iterator[pa.Table]:
    splits = read_splits(files)
    yield from _pieces(_tail(splits, left_out if split == next(iter(splits)) else Counter())[split])


def _tail(splits: dict[str, pa.Table], left_out: Counter[str]) -> dict[str, pa.Table]:
    """The questions of TDIUC-Tail: answers are counted over the whole set, all types and splits together.

    As ``scoring.tdiuc.in_tail`` counts them (Kafle and Kanan 2017, section 6.4: "answers repeated less than 1000
    times"), without the types that the appendix names.
    """
    counts = pc.value_counts(pa.concat_tables(splits.values())["answer"])
    rare = counts.field("values").filter(pc.less(counts.field("counts"), TAIL_BELOW))
    found = {}
    for split, table in splits.items():
        is_rare = pc.is_in(table["answer"], value_set=rare)
        is_other = pc.is_in(table["question_type"], value_set=pa.array(NOT_IN_TAIL))
        left_out["of the types " + " and ".join(NOT_IN_TAIL)] += pc.sum(is_other).as_py()
        often = pc.and_(pc.invert(is_rare), pc.invert(is_other))
        left_out[f"answers seen {TAIL_BELOW:,} times or more"] += pc.sum(often).as_py()
        found[split] = table.filter(pc.and_(is_rare, pc.invert(is_other)))
    return found


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, table.num_rows, ROWS):
        yield table.slice(start, ROWS)


def statistics(counts: Counts) -> dict[str, Any]:
    """Questions per type and origin (as the paper's Table 2 and appendix), answers and their entropy per type."""
    by_type = answer_counts.grouped(counts[TYPES_ANSWERS])
    by_origin = answer_counts.grouped(counts[ORIGINS_ANSWERS])
    answers = answer_counts.by_value(counts[TYPES_ANSWERS])
    figures = answer_counts.answer_figures(answers, {"question type": by_type, "origin": by_origin})
    plain, weighted = answer_counts.mean_entropy(by_type)
    figures["entropy"] |= {"mean of question types": plain, "mean of question types, by questions": weighted}
    sizes = counts[TYPES_ORIGINS]
    return {
        **figures,
        "tables": [
            answer_counts.type_table("Answers by question type", "question type", by_type),
            answer_counts.table(
                "Questions by type and origin",
                ["question type", *by_origin],
                [[kind, *(sizes[kind, origin] for origin in by_origin)] for kind in by_type],
            ),
        ],
    }


def _config(name: str, word: str, **about: Any) -> OpenEnded:  # noqa: ANN401  fields of OpenEnded
    return OpenEnded(
        name=name,
        word=word,
        schema=SCHEMA,
        columns=COLUMNS,
        splits=_splits,
        needs=questions_name("train2014"),
        counted=lambda table: table.select(COUNTED),
        together=TOGETHER,
        statistics=statistics,
        images=lambda table: table.select(["image_id", "image_file"]),
        **about,
    )


TDIUC = Source(
    name="tdiuc",
    title="TDIUC",
    description="Questions of twelve types, imported from VQA and Visual Genome, generated from annotations, or asked "
    "by people. One type is absurd: questions about things that the image does not show, whose answer says that the "
    "question does not apply. In the multiple-choice variants this answer is a target like any other, and so a decoy "
    "of questions that do apply: to tell the two apart is what these questions are for. Leave them out by "
    "question_type where that is not wanted.",
    homepage="https://kushalkafle.com/projects/tdiuc.html",
    licence="CC-BY-4.0",
    citation="""@inproceedings{kafle2017analysis,
  title={An Analysis of Visual Question Answering Algorithms},
  author={Kafle, Kushal and Kanan, Christopher},
  booktitle={Proceedings of the IEEE International Conference on Computer Vision},
  pages={1965--1973},
  year={2017}
}""",
    read=read,
    image_hint=f"those of COCO: {COCO_IMAGES} Those of Visual Genome come with the publisher's own script; any file "
    "whose name ends with the image's number is found.",
    expected_total=1_654_167,
    downloads=(
        RemoteFile(
            url="https://kushalkafle.com/data/TDIUC.zip",
            holds=(
                *map(questions_name, SUBSETS),
                *map(annotations_name, SUBSETS),
            ),
        ),
    ),
    open_ended=(
        _config("tdiuc", "open", description="All questions of the files, whole records.", read=_read),
        _config(
            "tdiuc_tail",
            "tail",
            description=f"TDIUC-Tail: the questions whose answer is seen fewer than {TAIL_BELOW:,} times in the "
            f"questions of all splits and types together, without those of the types {' and '.join(NOT_IN_TAIL)}.",
            read=_read_tail,
            expected_counts={"train": 46_590, "validation": 22_065},  # Kafle and Kanan 2017, section 6.4
        ),
    ),
    has_triplets=has_triplets,
    scored_as_published=True,
)
