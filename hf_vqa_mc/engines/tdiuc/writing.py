"""TDIUC's own layout on disk, whole or not at all."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images
from hf_vqa_mc.engines.tdiuc.question import Question
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.written_file import in_plain_words, umask, write_json

STATISTICS = "statistics.json"
ENGINE = "vqa-mc generate tdiuc"
CONFIDENCE = "yes"
"""The answer_confidence of every answer, as VQA's annotators give it."""


def check_output(output: Path) -> None:
    """Nothing, if a dataset can be put there: nothing is there, an empty folder, or one that this engine wrote.

    Raises:
        InputError: there is no folder around it, or something else is there.
    """
    if not output.absolute().parent.is_dir():
        raise InputError(f"output {output}: there is no folder {output.absolute().parent}; create it first")
    if not output.exists() and not output.is_symlink():
        return
    if not output.is_dir() or output.is_mount() or output.resolve() == Path.cwd().resolve():
        raise InputError(f"output {output} is not a folder that can be replaced; name another")
    if any(output.iterdir()) and not _is_ours(output):
        raise InputError(f"output {output} is a folder that {ENGINE} did not write; name another, or remove it first")


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
        InputError: as ``check_output``.
        OSError: the disk is full or closed; the output is as it was.
    """
    output = Path(os.path.realpath(output))
    check_output(output)
    with in_plain_words(output):
        beside = Path(tempfile.mkdtemp(prefix=f".{output.name}.", suffix=".partial", dir=output.parent))
        try:
            tree = beside / "tree"
            tree.mkdir()
            _write_questions(tree, questions, images, told)
            write_json(tree / STATISTICS, {"engine": ENGINE, **statistics}, indent=1)
            check_output(output)
            if output.exists() and any(output.iterdir()):
                output.rename(beside / "old")
            try:
                tree.rename(output)
            except BaseException:  # Ctrl-C too
                if (beside / "old").exists():
                    (beside / "old").rename(output)
                raise
        finally:
            shutil.rmtree(beside, ignore_errors=True)
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
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o666 & ~umask())


def _is_ours(output: Path) -> bool:
    try:
        told = json.loads((output / STATISTICS).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, dict) and told.get("engine") == ENGINE
