"""Writes generated questions in the layout of GQA's published files."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO

from hf_vqa_mc.engines.gqa.answer_cells import Bools
from hf_vqa_mc.engines.gqa.choices import Choices
from hf_vqa_mc.engines.gqa.question_table import QuestionTable
from hf_vqa_mc.engines.gqa.spilled import Spilled

Progress = Callable[[str, int, int], None]
ALL, BALANCED, GRAPHS, CHOICES = "all_questions", "balanced_questions", "sceneGraphs", "choices"


class _Entries:
    """A file with one json object, written entry by entry."""

    def __init__(self, path: Path) -> None:
        self._file: TextIO = path.open("w", encoding="utf-8")
        self._first = True

    def add(self, key: str, value: str) -> None:
        self._file.write(f"{'{' if self._first else ','}\n{json.dumps(key)}: {value}")
        self._first = False

    def close(self) -> None:
        self._file.write("{}\n" if self._first else "\n}\n")
        self._file.close()


def write_dataset(
    folder: Path,
    spilled: Spilled,
    table: QuestionTable,
    kept: Bools,
    splits: Sequence[str],
    progress: Progress | None = None,
) -> None:
    """Write ``{split}_all_questions.json``, ``_balanced_questions.json``, ``_sceneGraphs.json``, ``_choices.json``.

    Choices are of the balanced questions, which are the ones that are scored.

    Args:
        folder: which will hold the files.
        spilled: all questions and graphs.
        table: of all questions.
        kept: which are balanced, (questions,).
        splits: of each image.
        progress: told ("writing", images done, of how many).

    Raises:
        OSError: the disk is full or closed to us.
    """
    choices = Choices(table)
    balanced = kept.tolist()
    place = 0
    with ExitStack() as stack:
        files: dict[tuple[str, str], _Entries] = {}
        for split in dict.fromkeys(splits):
            for name in (ALL, BALANCED, GRAPHS, CHOICES):
                files[split, name] = _Entries(folder / f"{split}_{name}.json")
                stack.callback(files[split, name].close)
        for number, (split, (image, graph, questions)) in enumerate(zip(splits, spilled.images(), strict=True)):
            files[split, GRAPHS].add(image, json.dumps(graph))
            for question, record in questions:
                record["isBalanced"] = balanced[place]
                text = json.dumps(record)
                files[split, ALL].add(question, text)
                if balanced[place]:
                    files[split, BALANCED].add(question, text)
                    files[split, CHOICES].add(question, choices.line(place, record, graph))
                place += 1
            if progress and number % 64 == 0:
                progress("writing", number, len(splits))
        if progress:
            progress("writing", len(splits), len(splits))
