"""GQA: questions generated from scene graphs, each with its program; balanced questions and all questions."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.sources import gqa_records, open_ended
from hf_vqa_mc.sources.files import Files, RemoteFile
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, reference
from hf_vqa_mc.sources.table import in_split_order, triplet_table

BALANCED, ALL = "balanced", "all"
COUNTED = {
    "structural": ("types", "structural"),
    "semantic": ("types", "semantic"),
    "detailed": ("types", "detailed"),
    "group": ("groups", "global"),
    "answer": ("answer",),
}
KINDS = ("structural", "semantic", "detailed")
TOGETHER = (KINDS, *((name, "answer") for name in (*KINDS, "group")))


def read(files: Files) -> pa.Table:
    """The triplets of the balanced questions, without the challenge split; raises InputError if there are none."""
    found = gqa_records.split_files(files, BALANCED, {})
    found.pop("challenge", None)
    if not found:
        files.find(f"train_{BALANCED}_questions.json")
    tables = []
    for split, parts in found.items():
        for part in parts:
            for ids, records in gqa_records.question_records(part):
                gqa_records.check_balanced(records)
                images, types = records.ids("imageId"), records.inner("types")
                tables.append(
                    triplet_table(
                        question_id=ids,
                        image_id=images,
                        split=[split] * len(ids),
                        question=records.filled_texts("question"),
                        target=records.filled_texts("answer"),
                        question_type=gqa_records.types_of(types, "structural"),
                        answer_type=gqa_records.types_of(types, "semantic"),
                        image_file=[f"{image_id}.jpg" for image_id in images],
                    )
                )
    return in_split_order(tables)


def _read(files: Files, split: str, left_out: Counter[str], kind: str) -> Iterator[pa.Table]:
    for part in gqa_records.split_files(files, kind, {})[split]:
        for ids, records in gqa_records.question_records(part):
            if kind == BALANCED:
                gqa_records.check_balanced(records)
            yield gqa_records.question_table(ids, records, left_out)


def _counted(table: pa.Table) -> pa.Table:
    columns = {
        name: pc.struct_field(table[column], fields) if fields else table[column]
        for name, (column, *fields) in COUNTED.items()
    }
    return pa.table({name: pc.fill_null(column, "") for name, column in columns.items()})


def statistics(counts: Counts) -> dict[str, Any]:
    """Questions per type, answers, and the entropy of answers: overall, per type, and per global group.

    Balancing raises the mean over groups (Hudson and Manning 2019, section 3.5: entropy "increased by 72%").
    """
    answers = open_ended.by_value(counts["structural", "answer"])
    titles = {
        "structural": "structural type",
        "semantic": "semantic type",
        "group": "global group",
        "detailed": "detailed type",
    }
    by = {title: open_ended.grouped(counts[name, "answer"]) for name, title in titles.items()}
    figures = open_ended.answer_figures(answers, by)
    open_ended.add_means(figures, by["global group"], "global groups")
    rows = counts[KINDS]
    types = sorted(rows.items(), key=lambda item: (-item[1], item[0]))
    return {
        **figures,
        "tables": [
            _crossed(rows),
            open_ended.type_table("Answers by structural type", "structural type", by["structural type"]),
            open_ended.type_table("Answers by semantic type", "semantic type", by["semantic type"]),
            {
                "title": "Questions by structural, semantic and detailed type",
                "columns": ["structural", "semantic", "detailed", "questions"],
                "rows": [[*names, size] for names, size in types],
            },
            open_ended.type_table("Answers by global group", "group", by["global group"]),
        ],
    }


def _crossed(rows: Counter[tuple[str, ...]]) -> dict[str, Any]:
    sizes: Counter[tuple[str, str]] = Counter()
    for (one, other, *_), size in rows.items():
        sizes[one, other] += size
    structural, semantic = (sorted(set(names)) for names in zip(*sizes, strict=True))
    return {
        "title": "Questions by structural and semantic type",
        "columns": ["structural type", *semantic],
        "rows": [[one, *(sizes[one, other] for other in semantic)] for one in structural],
    }


def _config(kind: str, **about: Any) -> OpenEnded:  # noqa: ANN401  fields of OpenEnded
    return OpenEnded(
        name=f"gqa_{kind}",
        word=kind,
        schema=gqa_records.SCHEMA,
        columns=gqa_records.COLUMNS,
        splits=lambda files, not_read: tuple(gqa_records.split_files(files, kind, not_read)),
        needs=f"train_{kind}_questions.json",
        read=partial(_read, kind=kind),
        counted=_counted,
        together=TOGETHER,
        statistics=statistics,
        images=lambda table: pa.table(
            [table["image_id"], pc.binary_join_element_wise(table["image_id"], ".jpg", "")], ["image_id", "image_file"]
        ),
        scored_as="gqa",
        **about,
    )


_NAMES = ("train", "val", "testdev", "test", "challenge")

GQA = Source(
    name="gqa",
    title="GQA",
    description="Compositional questions about real images, made from cleaned scene graphs of Visual Genome, each "
    "with the program that answers it; the multiple-choice variants are of the balanced questions, whose answers were "
    "smoothed within groups of similar questions. The test split is testdev or, without it, a test file with answers. "
    "question_type is the structural type, answer_type the semantic one.",
    homepage="https://cs.stanford.edu/people/dorarad/gqa/",
    licence="CC-BY-4.0",
    citation=reference("hudson2019gqa"),
    read=read,
    synthetic="The questions were generated from scene graphs by a program.",
    image_hint="images.zip from https://cs.stanford.edu/people/dorarad/gqa/download.html, <image id>.jpg.",
    expected_counts={"train": 943_000, "validation": 132_062, "test": 12_578},
    downloads=(
        RemoteFile(
            url="https://downloads.cs.stanford.edu/nlp/data/gqa/questions1.2.zip",
            holds=(
                *(f"{name}_{BALANCED}_questions.json" for name in _NAMES),
                *(f"{name}_{ALL}_questions.json" for name in _NAMES[1:]),
                *(f"train_all_questions/train_all_questions_{number}.json" for number in range(gqa_records.PARTS)),
            ),
        ),
    ),
    open_ended=(
        _config(
            BALANCED,
            description="The balanced questions with all published fields.",
            expected_counts={"train": 943_000, "validation": 132_062, "test": 12_578},
            before="gqa_all",
        ),
        _config(
            ALL,
            description="All questions, before balancing, with all published fields.",
            expected_counts={"train": 14_305_356, "validation": 2_011_853, "test": 172_174},
        ),
    ),
    has_triplets=lambda files: bool(gqa_records.split_files(files, BALANCED, {}).keys() - {"challenge"}),
    scored_as_published=True,
)
