"""TDIUC's layout on disk, and statistics as in Kafle and Kanan 2017, Tables 2 and 4."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_vqa_mc.engines.generated_folder import generated_folder
from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images
from hf_vqa_mc.engines.tdiuc.question import ORIGINS, Question
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.generated import STATISTICS
from hf_vqa_mc.sources.vqa import annotations_name, questions_name
from hf_vqa_mc.version import __version__

ENGINE = "tdiuc"
CONFIDENCE = "yes"
"""The answer_confidence of every answer, as VQA's annotators give it."""
TOP_ANSWERS = 50
"""Answers of a type that are listed: the paper's figure 3 has the top 50."""


def write_layout(
    output: Path,
    questions: Iterable[Question],
    images: Images,
    statistics: dict[str, Any],
    progress: Callable[[int], None] = lambda count: None,
) -> None:
    """Write the four files of TDIUC and the statistics as one folder; a folder of ours is replaced.

    Args:
        output: the folder.
        questions: in the order of their question_id, which is counted from 1.
        images: know the split.
        statistics: content of statistics.json.
        progress: called with the number written so far, now and then.

    Raises:
        InputError: something else is there.
        OSError: the disk is full or not writable; the output is as it was.
    """
    with generated_folder(output, ENGINE) as folder:
        _write_questions(folder, questions, images, progress)
        write_json(folder / STATISTICS, {"engine": ENGINE, "version": __version__, **statistics}, indent=1)


def _write_questions(
    folder: Path, questions: Iterable[Question], images: Images, progress: Callable[[int], None]
) -> None:
    train, test = SPLITS
    with (
        _json_list(folder / questions_name(train), "questions") as train_questions,
        _json_list(folder / questions_name(test), "questions") as test_questions,
        _json_list(folder / annotations_name(train), "annotations") as train_annotations,
        _json_list(folder / annotations_name(test), "annotations") as test_annotations,
    ):
        writers = {train: (train_questions, train_annotations), test: (test_questions, test_annotations)}
        for number, one in enumerate(questions, 1):
            write_question, write_annotation = writers[images.subset(one.image_id)]
            write_question({"image_id": one.image_id, "question": one.question, "question_id": number})
            write_annotation(
                {
                    "question_id": number,
                    "image_id": one.image_id,
                    "question_type": one.question_type,
                    "answers": [{"answer": one.answer, "answer_confidence": CONFIDENCE, "answer_id": 1}],
                    "ans_source": one.origin,
                }
            )
            if number % 10_000 == 0:
                progress(number)


@contextmanager
def _json_list(path: Path, key: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that adds a record to the list of a json file that is written as it grows."""
    encode = json.JSONEncoder(allow_nan=False).encode
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{{"{key}": [')
        separator = "\n"

        def add(record: dict[str, Any]) -> None:
            nonlocal separator
            file.write(separator + encode(record))
            separator = ",\n"

        yield add
        file.write("\n]}\n")


def statistics(questions: Iterable[Question], images: Images) -> dict[str, Any]:
    """Questions per type, origin and split; answers of each type with their entropy in bits."""
    by_type: dict[str, list[Question]] = {name: [] for name in QUESTION_TYPES}
    for one in questions:
        by_type[one.question_type].append(one)
    types = {name: _of_type(of_type, images) for name, of_type in by_type.items()}
    everything = [one for of_type in by_type.values() for one in of_type]
    image_ids = {one.image_id for one in everything}
    return {
        "questions": len(everything),
        "images": len(image_ids),
        "unique_answers": len({one.answer for one in everything}),
        "types": types,
        "origins": {origin: sum(one["origins"][origin] for one in types.values()) for origin in ORIGINS},
        "splits": {split: sum(one["splits"][split] for one in types.values()) for split in SPLITS.values()},
        "images_by_split": images.how(image_ids),
    }


def _of_type(questions: list[Question], images: Images) -> dict[str, Any]:
    origins = Counter(one.origin for one in questions)
    splits = Counter(SPLITS[images.subset(one.image_id)] for one in questions)
    answers = Counter(one.answer for one in questions)
    ranked = sorted(answers.items(), key=lambda pair: (-pair[1], pair[0]))
    return {
        "questions": len(questions),
        "images": len({one.image_id for one in questions}),
        "origins": {origin: origins[origin] for origin in ORIGINS},
        "splits": {split: splits[split] for split in SPLITS.values()},
        "unique_answers": len(answers),
        "entropy_bits": entropy(answers),
        "answers": dict(ranked[:TOP_ANSWERS]),
        "questions_with_other_answers": sum(count for _, count in ranked[TOP_ANSWERS:]),
    }


def entropy(counts: Mapping[str, int]) -> float:
    """Of a distribution, in bits; 0 for none.

    >>> entropy({"yes": 2, "no": 2})
    1.0
    """
    total = sum(counts.values())
    bits = -math.fsum(count / total * math.log2(count / total) for count in counts.values())
    return round(bits, 4) + 0.0
