"""What leaves the house: a split's questions with all that would tell more than the benchmark asks left behind.

Only what a model is shown, the right choice's place (unless answers are hidden) and the type of question go out:
never ``choice_kinds``, ``choice_fallback`` or the human answers, which single out the target. Of a benchmark's other
columns only those go out that `exports.beside` names: a context that is read before the question.
"""

import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.benchmark import Benchmark, Images, Split
from hf_vqa_mc.decoys.rng import purpose_hash, shuffled, text_hashes
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.exports.beside import Beside, read_beside

LETTERS = string.ascii_uppercase
"""What harnesses call the choices; none goes on after Z."""
SEED = 0
"""Of the order that choices get where the benchmark gives none: the same in every export."""
NAME_LENGTH = 80

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of one export."""

    name: str
    """of the task, letters, digits, "_" and "-" only: it stands in yaml and in names of files"""
    place: str
    """for messages"""
    question_ids: list[str]
    questions: list[str]
    choices: list[list[str]]
    """at least two texts a row, none empty"""
    labels: list[int] | None
    """places of the right choices; None where they are hidden"""
    types: list[str]
    """"" where the benchmark has none"""
    beside: Beside
    """what is read before the questions, and which columns are left behind"""
    images: NDArray[np.int64]
    """(rows,): the number of each row's image, from 0; -1 where it has none"""
    image_rows: list[int]
    """by number of image: the first row that shows it"""
    source: Images | None
    """where the images are; None where there are none to export"""

    def __len__(self) -> int:
        return len(self.question_ids)

    def read_image(self, image: int) -> bytes | None:
        """The bytes of an image's file by its number; None where the row has none after all.

        Raises:
            InputError: it cannot be read.
        """
        return self.source.read(self.image_rows[image]) if self.source else None

    def where(self, row: int) -> str:
        """A row in a message."""
        return f"{self.place}, question_id {shown(self.question_ids[row])}"


def exported_questions(benchmark: Benchmark, name: str | None, hide_answers: bool) -> Questions:
    """The questions of the asked split.

    Choices whose order the benchmark does not give (its target was put first) are shuffled, the same way every time.

    Args:
        benchmark: as ``read_benchmark`` gives it.
        name: of the task; by default of the dataset, config and split.
        hide_answers: leave the labels behind.

    Raises:
        InputError: the name is not one for files and tasks, a choice is empty, or a row has fewer than two.
    """
    split = benchmark.test
    rows = split.rows
    choices, labels = rows["choices"].to_pylist(), rows["label"].to_pylist()
    question_ids = rows["question_id"].to_pylist()
    for row, texts in enumerate(choices):
        if len(texts) < 2 or not all(text.strip() for text in texts):
            raise InputError(
                f"{split.place}, row {row} (question_id {shown(question_ids[row])}): choices are {shown(texts)}, "
                "expected two or more, none of them empty; mend or leave out the row"
            )
    if not split.placed:
        choices, labels = _in_random_order(question_ids, choices, labels)
    images, image_rows = _distinct_images(split)
    return Questions(
        name=_checked_name(name) if name is not None else default_name(benchmark),
        place=split.place,
        question_ids=question_ids,
        questions=rows["question"].to_pylist(),
        choices=choices,
        labels=None if hide_answers else labels,
        types=rows["question_type"].to_pylist(),
        beside=read_beside(benchmark),
        images=images,
        image_rows=image_rows,
        source=split.images,
    )


def default_name(benchmark: Benchmark) -> str:
    """What a task is called where nobody says: dataset, config and split, in lower case.

    Some harnesses treat tasks with MMMU, LEGO and the like in the name, in capitals, as those very benchmarks.
    """
    dataset = Path(benchmark.dataset)
    stem = dataset.name.split(".")[0] or dataset.resolve().name
    words = [word for word in (stem, benchmark.config, benchmark.test.name) if word]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(dict.fromkeys(words)).lower()).strip("_")
    return name[:NAME_LENGTH].strip("_") or "benchmark"


def question_table(questions: Questions) -> pa.Table:
    """The rows that harnesses read: question_id, question, choices, question_type and, unless hidden, label.

    With a column ``context`` before the question where the benchmark has such a column.
    """
    columns = {"question_id": pa.array(questions.question_ids, pa.string())}
    if questions.beside.context_column:
        columns["context"] = pa.array(questions.beside.contexts, pa.string())
    columns |= {
        "question": pa.array(questions.questions, pa.string()),
        "choices": pa.array(questions.choices, pa.list_(pa.string())),
        "question_type": pa.array(questions.types, pa.string()),
    }
    if questions.labels is not None:
        columns["label"] = pa.array(questions.labels, pa.int64())
    return pa.table(columns)


def check_lettered(questions: Questions, harness: str) -> None:
    """Nothing, if every choice has a letter.

    Raises:
        InputError: a row has more than 26.
    """
    for row, texts in enumerate(questions.choices):
        if len(texts) > len(LETTERS):
            raise InputError(
                f"{questions.where(row)}: {len(texts)} choices, but {harness} has letters for {len(LETTERS)}; "
                "export to lm-eval, which needs none"
            )


def _checked_name(name: str) -> str:
    if not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{NAME_LENGTH - 1}}}", name):
        raise InputError(
            f"--name {shown(name)}: expected letters, digits, _ and -, at most {NAME_LENGTH}, a letter or digit first"
        )
    return name


def _in_random_order(
    question_ids: list[str], choices: list[list[str]], labels: list[int]
) -> tuple[list[list[str]], list[int]]:
    start = purpose_hash(SEED, "order of exported choices")
    mixed, places = [], []
    for row_hash, texts, label in zip(text_hashes(question_ids), choices, labels, strict=True):
        order = shuffled(start, row_hash, text_hashes(texts)).tolist()
        mixed.append([texts[place] for place in order])
        places.append(order.index(label))
    return mixed, places


def _distinct_images(split: Split) -> tuple[NDArray[np.int64], list[int]]:
    image_ids = split.rows["image_id"].to_pylist()
    numbers: dict[str, int] = {}
    first: list[int] = []
    images = np.full(len(image_ids), -1, np.int64)
    for row, image_id in enumerate(image_ids) if split.images else ():
        if image_id:
            images[row] = numbers.setdefault(image_id, len(numbers))
            if images[row] == len(first):
                first.append(row)
    return images, first
