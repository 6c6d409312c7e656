"""Open-ended configs of VQA: all questions of a release with all ten answers; those of test without answers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.sources import open_ended
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Counts, OpenEnded
from hf_vqa_mc.sources.vqa_files import ANSWER, ANSWERS, OPEN_ENDED, Release

SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("question", pa.string()),
        ("question_type", pa.string()),
        ("answer_type", pa.string()),
        ("answer", pa.string()),
        ("answers", pa.list_(ANSWER)),
        ("image_file", pa.string()),
    ]
)
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
QUESTION_TYPES, ANSWER_TYPES, AGREEMENT = TOGETHER = (
    ("question_type", "answer"),
    ("answer_type", "answer"),
    ("answer_type", "agreeing"),
)


def open_config(name: str, release: Release, expected_counts: Mapping[str, int]) -> OpenEnded:
    """The open-ended config of a release; name: of the config."""
    return OpenEnded(
        name=name,
        word="open",
        description="All questions with all published fields. The test split has questions only: its answers are not "
        "published.",
        schema=SCHEMA,
        columns=COLUMNS,
        splits=lambda files, not_read: tuple(_subsets(release, files, not_read)),
        needs=release.questions_name(next(iter(release.subsets))),
        read=partial(_read, release=release),
        together=TOGETHER,
        statistics=statistics,
        counted=_counted,
        expected_counts=expected_counts,
        scored_as="vqa",
    )


def _subsets(release: Release, files: Files, not_read: dict[str, str]) -> dict[str, str]:
    """Split to the name of its subset; adds the files that repeat questions of the test subset to ``not_read``."""
    found = {split: subset for subset, split in release.subsets.items() if release.available_task(files, subset)}
    tests = [subset for subset in release.tests if release.available_task(files, subset)]
    for part in tests[1:]:
        whole, name = (release.questions_name(one, _task(release, files, one)) for one in (tests[0], part))
        not_read[name] = f"its questions are in {whole}"
    return found | ({"test": tests[0]} if tests else {})


def _task(release: Release, files: Files, subset: str) -> str:
    return release.available_task(files, subset) or OPEN_ENDED


def _read(files: Files, split: str, left_out: Counter[str], release: Release) -> Iterator[pa.Table]:
    subset = _subsets(release, files, {})[split]
    yield release.read(files, subset, _task(release, files, subset)).select(SCHEMA.names).cast(SCHEMA)


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
    return {
        **figures,
        "tables": [
            open_ended.type_table("Answers by answer type", "answer type", by_answer),
            _agreement_table(counts[AGREEMENT]),
            open_ended.type_table("Answers by question type", "question type", by_question),
        ],
    }


def _agreement_table(sizes: Counter[tuple[str, ...]]) -> dict[str, Any]:
    types = sorted({kind for kind, _ in sizes})
    of_all = open_ended.by_value(sizes)
    return {
        "title": "Questions by number of annotators who gave the most frequent answer",
        "columns": ["annotators", "questions", *types],
        "rows": [
            [number, of_all[str(number)], *(sizes[kind, str(number)] for kind in types)]
            for number in range(ANSWERS, -1, -1)
            if of_all[str(number)]
        ],
    }
