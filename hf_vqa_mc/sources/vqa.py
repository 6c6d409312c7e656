"""VQA v1, on real images and abstract scenes, and the triplets of every release: ten answers, in v1 18 choices."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.sources import open_ended
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Counts, OpenEnded, Source, reference
from hf_vqa_mc.sources.table import equal_lists, in_split_order, triplet_table
from hf_vqa_mc.sources.vqa_files import (
    ABSTRACT,
    ANSWER,
    ANSWERS,
    BASE,
    CHOICES,
    COCO_IMAGES,
    COCO_TEST_IMAGES,
    MULTIPLE_CHOICE,
    OPEN_ENDED,
    V1,
    Release,
)
from hf_vqa_mc.text.normalisation import YES_NO

NAMES = ("question_id", "image_id", "question", "question_type", "answer_type", "answer", "answers", "image_file")
SCHEMA = pa.schema([(name, pa.list_(ANSWER) if name == "answers" else pa.string()) for name in NAMES])
COLUMNS = {
    "question_id, image_id, question": "as in the question file",
    "question_type": 'first words of the question, as in the annotation file; "" in the test split',
    "answer_type": 'yes/no, number or other; "" in the test split',
    "answer": 'the most frequent of answers (multiple_choice_answer); "" in the test split, whose answers are not '
    "published",
    "answers": "all ten, as in the annotation file: answer, answer_id (1 to 10) and answer_confidence (yes, maybe or "
    'no; "" where a record has none); empty in the test split',
    "image_file": "the publisher's name for the image",
}
QUESTION_TYPES, ANSWER_TYPES = ("question_type", "answer"), ("answer_type", "answer")
AGREEMENT = ("answer_type", "agreeing")


def open_config(name: str, release: Release, expected_counts: Mapping[str, int]) -> OpenEnded:
    """The open-ended config of a release; name: of the config."""

    def read(files: Files, split: str, _: Counter[str]) -> Iterator[pa.Table]:
        subset = _subsets(release, files, {})[split]
        task = release.available_task(files, subset) or OPEN_ENDED
        yield release.read(files, subset, task).select(SCHEMA.names).cast(SCHEMA)

    return OpenEnded(
        name=name,
        word="open",
        description="All questions with all published fields. The test split has questions only: its answers are not "
        "published.",
        schema=SCHEMA,
        columns=COLUMNS,
        splits=lambda files, not_read: tuple(_subsets(release, files, not_read)),
        needs=release.questions_name(next(iter(release.subsets))),
        read=read,
        together=(QUESTION_TYPES, ANSWER_TYPES, AGREEMENT),
        statistics=statistics,
        counted=_counted,
        expected_counts=expected_counts,
        scored_as="vqa",
    )


def _subsets(release: Release, files: Files, not_read: dict[str, str]) -> dict[str, str]:
    """Split to the name of its subset; adds the files that repeat questions of the test subset to ``not_read``."""
    found = {split: subset for subset, split in release.subsets.items() if release.available_task(files, subset)}
    tasks = {subset: task for subset in release.tests if (task := release.available_task(files, subset))}
    names = [release.questions_name(subset, task) for subset, task in tasks.items()]
    not_read.update(dict.fromkeys(names[1:], f"its questions are in {names[0]}" if names else ""))
    return found | dict(zip(("test",), tasks, strict=False))


def _counted(table: pa.Table) -> pa.Table:
    """The rows with answers, and the number of annotators who gave the most frequent answer, as text."""
    table = table.filter(pc.greater(pc.list_value_length(table["answers"]), 0)).combine_chunks()
    answers, rows = pc.list_flatten(table["answers"]), pc.list_parent_indices(table["answers"])
    is_answer = pc.equal(pc.struct_field(answers, "answer"), table["answer"].take(rows))
    agreeing = np.bincount(rows.to_numpy(), is_answer.to_numpy(), len(table)).astype(int)
    counted = table.select(["question_type", "answer_type", "answer"])
    return counted.append_column("agreeing", pa.array(map(str, agreeing.tolist()), pa.string()))


def statistics(counts: Counts) -> dict[str, Any]:
    """Answers and their entropy per question and answer type, and how many annotators agree on the most frequent."""
    by_question, by_answer = (open_ended.grouped(counts[names]) for names in (QUESTION_TYPES, ANSWER_TYPES))
    by = {"question type": by_question, "answer type": by_answer}
    figures = open_ended.answer_figures(open_ended.by_value(counts[ANSWER_TYPES]), by)
    open_ended.add_means(figures, by_question, "question types")
    agreement = counts[AGREEMENT]
    types, of_all = sorted({kind for kind, _ in agreement}), open_ended.by_value(agreement)
    return {
        **figures,
        "tables": [
            open_ended.type_table("Answers by answer type", "answer type", by_answer),
            {
                "title": "Questions by number of annotators who gave the most frequent answer",
                "columns": ["annotators", "questions", *types],
                "rows": [
                    [number, of_all[str(number)], *(agreement[kind, str(number)] for kind in types)]
                    for number in range(ANSWERS, -1, -1)
                    if of_all[str(number)]
                ],
            },
            open_ended.type_table("Answers by question type", "question type", by_question),
        ],
    }


SAME = ("question_id", "image_id", "question", "question_type", "answer_type", "image_file")
"""Columns of a triplet table that are those of ``Release.read``."""


def read(files: Files, release: Release = V1) -> pa.Table:
    """The triplets of both annotated subsets, of the first task with a question file: with 17 decoys or none."""
    named = ((task, release.questions_name(subset, task)) for task in release.tasks for subset in release.subsets)
    task = next((task for task, name in named if files.has(name)), release.tasks[0])
    return in_split_order([read_subset(files, subset, release, task) for subset in release.subsets])


def read_minus(files: Files, release: Release = V1) -> pa.Table:
    """The triplets without the questions whose target is yes or no (Chao et al. 2018, Supplement C)."""
    triplets = read(files, release)
    targets = pc.utf8_lower(pc.utf8_trim_whitespace(triplets["target"]))
    return triplets.filter(pc.invert(pc.is_in(targets, value_set=pa.array(YES_NO)))).combine_chunks()


def read_subset(files: Files, subset: str, release: Release = V1, task: str = OPEN_ENDED) -> pa.Table:
    """The triplets of a subset; those of the multiple-choice task with 17 decoys each."""
    has_choices = task == MULTIPLE_CHOICE
    rows = release.read(files, subset, task, choices=has_choices)
    names = (release.questions_name(subset, task), release.annotations_name(subset))
    answers = rows["answers"].combine_chunks().flatten()
    texts, numbers = (pc.struct_field(answers, name) for name in ("answer", "answer_id"))
    order = np.argsort(numbers.to_numpy().reshape(-1, ANSWERS), axis=1)  # answers in the order of their answer_id
    return triplet_table(
        split=[release.subsets[subset]] * len(rows),
        target=rows["answer"],
        answers=equal_lists(texts.take(pa.array((order + ANSWERS * np.arange(len(rows))[:, None]).ravel())), ANSWERS),
        orig_decoys=_decoys(rows, [files.find(name).location for name in names]) if has_choices else None,
        **{name: rows[name] for name in SAME},
    )


def _decoys(rows: pa.Table, locations: list[str]) -> pa.ListArray:
    """The choices of each question except its target, which must occur exactly once."""
    choices, targets = rows["choices"].chunk(0).flatten(), rows["answer"].chunk(0)
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


VQA = Source(
    name="vqa",
    title="VQA v1 (real images)",
    description="Open-ended questions about COCO images with ten human answers each; in the multiple-choice task with "
    "18 choices, 17 of them wrong: plausible, popular and random answers.",
    homepage="https://visualqa.org/vqa_v1_download.html",
    licence="CC-BY-4.0",
    citation=reference("antol2015vqa"),
    read=read,
    synthetic="",
    image_numbering="COCO",
    image_hint=f"{COCO_IMAGES} {COCO_TEST_IMAGES}",
    expected_counts={"train": 248_349, "validation": 121_512},
    downloads=(
        V1.archive("Questions_Train", "c3b2bb6155528eeae95e0a914af394d6f0d98f8f2b51012c44b27778e1a96707"),
        V1.archive("Questions_Val", "e8839be5de2d711989bf0adc82e6717d1ce307d27c9b1dfb0abf413b79a5d4d0"),
        V1.archive("Questions_Test", "bd080c297fc863bf8258caa4864d3b5afab29373375a6637f8546338291e28c0"),
        V1.archive("Annotations_Train", "a5f5f97c162a4ad44896be08bac6deaa258aa3fec281afcc84fe85ae44cb1ebc"),
        V1.archive("Annotations_Val", "29377c35186d90aeab3e61bdad890f51215d1f88b700bd22ef19004d73bf284f"),
    ),
    consensus=True,
    has_orig_decoys=True,
    open_ended=(open_config("vqa_open", V1, {"train": 248_349, "validation": 121_512, "test": 244_302}),),
    has_triplets=V1.has_annotated,
    scored_as_published=True,
)

VQA_MINUS = replace(
    VQA,
    name="vqa_minus",
    title="VQA⁻ (VQA v1 without yes and no)",
    description=f"{VQA.description} Questions whose answer is yes or no are left out.",
    read=read_minus,
    image_hint=COCO_IMAGES,
    open_ended=(),  # that of VQA
    expected_counts={"validation": 76_034},  # Chao et al. 2018, Table 7
)

SCENES = "scene_img_abstract_v002"
VQA_ABSTRACT = replace(
    VQA,
    name="vqa_abstract",
    title="VQA (abstract scenes)",
    description="Open-ended questions about clip-art scenes with ten human answers each, published with VQA v1 and, "
    "unchanged, with v2; in the multiple-choice task with 18 choices, 17 of them wrong.",
    read=partial(read, release=ABSTRACT),
    synthetic="The images are clip-art scenes that people arranged.",
    image_numbering="VQA abstract scenes",
    image_hint=f"{SCENES}_train2015.zip, {SCENES}_val2015.zip and, for the test split of the open-ended config, "
    f"{SCENES}_test2015.zip from {BASE}abstract_v002/scene_img/, abstract_v002_train2015_<image id, 12 digits>.png.",
    expected_counts={"train": 60_000, "validation": 30_000},
    downloads=(
        *(ABSTRACT.archive(f"Questions_{part}") for part in ("Train", "Val", "Test")),
        *(ABSTRACT.archive(f"Annotations_{part}") for part in ("Train", "Val")),
    ),
    open_ended=(open_config("vqa_abstract_open", ABSTRACT, {"train": 60_000, "validation": 30_000, "test": 60_000}),),
    has_triplets=ABSTRACT.has_annotated,
    official_subsets=ABSTRACT.official_subsets,
)
