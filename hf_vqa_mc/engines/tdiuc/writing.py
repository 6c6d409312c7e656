"""TDIUC's own layout on disk, whole or not at all."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_vqa_mc.engines.generated_folder import generated_folder
from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images
from hf_vqa_mc.engines.tdiuc.question import Question
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.sources.generated import STATISTICS
from hf_vqa_mc.version import __version__

ENGINE = "tdiuc"
CONFIDENCE = "yes"
"""The answer_confidence of every answer, as VQA's annotators give it."""


def write_layout(
    output: Path,
    questions: Iterable[Question],
    images: Images,
    statistics: dict[str, Any],
    told: Callable[[int], None] = lambda count: None,
) -> list[Path]:
    """Writes the four files of TDIUC and the statistics as one folder; what was there of ours is replaced.

    Args:
        output: the folder.
        questions: in the order of their question_id, which is counted from 1.
        images: tell the split.
        statistics: what statistics.json holds.
        told: called with the number written so far, now and then.

    Raises:
        InputError: something else is there.
        OSError: the disk is full or closed; the output is as it was.
    """
    with generated_folder(output, ENGINE) as folder:
        _write_questions(folder, questions, images, told)
        write_json(folder / STATISTICS, {"engine": ENGINE, "version": __version__, **statistics}, indent=1)
    return sorted(output.iterdir())


def _write_questions(tree: Path, questions: Iterable[Question], images: Images, told: Callable[[int], None]) -> None:
    names = {subset: f"OpenEnded_mscoco_{subset}_questions.json" for subset in SPLITS}
    with (
        _json_list(tree / names["train2014"], "questions") as train_questions,
        _json_list(tree / names["val2014"], "questions") as test_questions,
        _json_list(tree / "mscoco_train2014_annotations.json", "annotations") as train_annotations,
        _json_list(tree / "mscoco_val2014_annotations.json", "annotations") as test_annotations,
    ):
        writers = {"train2014": (train_questions, train_annotations), "val2014": (test_questions, test_annotations)}
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
                told(number)


@contextmanager
def _json_list(path: Path, key: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that adds a record to the list of a json file that is written as it grows."""
    encode = json.JSONEncoder(allow_nan=False, separators=(", ", ": ")).encode
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(f'{{"{key}": [')
        begun = False

        def add(record: dict[str, Any]) -> None:
            nonlocal begun
            file.write((",\n" if begun else "\n") + encode(record))
            begun = True

        yield add
        file.write("\n]}\n")
