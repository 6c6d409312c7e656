"""The exported questions of a split, without columns that reveal the target.

Exported are the input of a model, the label (unless hidden), the question type and a context column: never
``choice_kinds``, ``choice_fallback`` or the human answers.
"""

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.types import is_large_binary

from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.cells import as_text, is_id, is_image, is_text
from hf_vqa_mc.data.images import Images
from hf_vqa_mc.data.names import IMAGE, IMAGE_PATH, named, picture_columns
from hf_vqa_mc.decoys.rng import purpose_hash, shuffled, text_hashes
from hf_vqa_mc.errors import InputError, shown

LETTERS = string.ascii_uppercase  # names of the choices in harnesses
SEED = 0  # random seed of the order of choices where the benchmark has none
NAME_LENGTH = 80
CONTEXT = ("hint", "context", "passage")  # names of context columns; the first one that exists is exported
GROUP = "l2-category"  # VLMEvalKit's name of the larger group that a category belongs to


def letter(index: int) -> str:
    """The letter of a choice; its number where there are no more letters.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', '27')
    """
    return LETTERS[index] if index < len(LETTERS) else str(index + 1)


@dataclass(frozen=True)
class OtherColumns:
    """The columns of a split besides question, choices and label."""

    contexts: list[str]  # context of each row, "" if there is none
    context_column: str  # "" if there is none
    groups: list[str]  # l2-category of each row; empty if there is no such column
    left_out: list[str]  # columns that are not exported

    def notes(self, *, as_hint: bool) -> list[str]:
        """Sentences on the columns that are exported, with ``as_hint`` as VLMEvalKit's, or left out."""
        where = "as the column hint" if as_hint else "as Context"
        notes = [f"column {self.context_column} goes before the question, {where}"] if self.context_column else []
        if left := [*self.left_out, *([] if as_hint or not self.groups else [GROUP])]:
            notes.append(f"columns of the benchmark that are left out: {', '.join(left)}")
        return notes


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of one export."""

    name: str  # name of the task: letters, digits, "_" and "-" only, for YAML and file names
    location: str  # location for messages
    question_ids: list[str]
    questions: list[str]
    choices: list[list[str]]  # at least two choices per row, none empty
    labels: list[int] | None  # indices of the correct choices; None if hidden
    types: list[str]  # "" where the benchmark has none
    others: OtherColumns
    images: NDArray[np.int64]  # (rows,): index of each row's image, -1 where it has none
    image_rows: list[int]  # (images,): the first row that shows it
    source: Images | None  # image source; None if no images are exported
    orders: list[list[int]] | None = None  # index in the benchmark of each presented choice; None if it is the same

    def __len__(self) -> int:
        return len(self.question_ids)

    def order(self, row: int) -> Sequence[int]:
        """The index in the benchmark of each presented choice of a row."""
        return self.orders[row] if self.orders else range(len(self.choices[row]))

    def where(self, row: int) -> str:
        """The location of a row, for messages."""
        return f"{self.location}, question_id {shown(self.question_ids[row])}"


def presented_questions(benchmark: Benchmark, name: str | None, hide_answers: bool) -> Questions:
    """The questions of the evaluated split as a task; choices without an order are shuffled deterministically."""
    if name is not None and not re.fullmatch(rf"[A-Za-z0-9][A-Za-z0-9_-]{{0,{NAME_LENGTH - 1}}}", name):
        raise InputError(f"--name {shown(name)}: expected letters, digits, _, -, at most {NAME_LENGTH}; no _, - first")
    split = benchmark.test
    rows = split.rows
    choices, labels = rows["choices"].to_pylist(), rows["label"].to_pylist()
    question_ids = rows["question_id"].to_pylist()
    for row, texts in enumerate(choices):
        if len(texts) < 2 or not all(text.strip() for text in texts):
            raise InputError(
                f"{split.location}, row {row + 1} (question_id {shown(question_ids[row])}): choices are "
                f"{shown(texts)}, expected two or more, none of them empty; fix or remove the row"
            )
    orders: list[list[int]] = []
    if not split.ordered:
        start = purpose_hash(SEED, "order of exported choices")
        for row, row_hash in enumerate(text_hashes(question_ids)):
            order = shuffled(start, row_hash, text_hashes(choices[row])).tolist()
            choices[row], labels[row] = [choices[row][index] for index in order], order.index(labels[row])
            orders.append(order)
    ids = rows["image_id"].to_pylist() if split.images else [""] * rows.num_rows
    first = {image_id: row for row, image_id in reversed([*enumerate(ids)]) if image_id}
    indices = {ids[row]: index for index, row in enumerate(sorted(first.values()))}
    return Questions(
        name=default_name(benchmark) if name is None else name,
        location=split.location,
        question_ids=question_ids,
        questions=rows["question"].to_pylist(),
        choices=choices,
        labels=None if hide_answers else labels,
        types=rows["question_type"].to_pylist(),
        others=other_columns(benchmark),
        images=np.array([indices.get(image_id, -1) for image_id in ids], np.int64),
        image_rows=sorted(first.values()),
        source=split.images,
        orders=orders or None,
    )


def default_name(benchmark: Benchmark) -> str:
    """The default name of a task; in lower case, as some harnesses know names with MMMU or LEGO."""
    dataset = Path(benchmark.dataset)
    stem = dataset.name.split(".")[0] or dataset.resolve().name
    words = [word for word in (stem, benchmark.config, benchmark.test.name) if word]
    name = re.sub(r"[^a-z0-9]+", "_", "_".join(dict.fromkeys(words)).lower()).strip("_")
    return name[:NAME_LENGTH].strip("_") or "benchmark"


def question_table(questions: Questions) -> pa.Table:
    """The rows that harnesses read: question_id, context, question, choices, question_type and known labels."""
    columns: dict[str, tuple[Sequence[Any] | None, pa.DataType]] = {
        "question_id": (questions.question_ids, pa.string()),
        "context": (questions.others.contexts if questions.others.context_column else None, pa.string()),
        "question": (questions.questions, pa.string()),
        "choices": (questions.choices, pa.list_(pa.string())),
        "question_type": (questions.types, pa.string()),
        "label": (questions.labels, pa.int64()),
    }
    return pa.table({name: pa.array(*column) for name, column in columns.items() if column[0] is not None})


def check_lettered(questions: Questions, harness: str) -> None:
    """Raise InputError unless every choice has a letter: at most 26 per row."""
    for row, texts in enumerate(questions.choices):
        if len(texts) > len(LETTERS):
            most = f"{len(texts)} choices, but {harness} allows {len(LETTERS)}"
            raise InputError(f"{questions.where(row)}: {most}; export to lm-eval instead, which has no limit")


def other_columns(benchmark: Benchmark) -> OtherColumns:
    """The columns of the evaluated split besides question, choices and label; a context must be text of its own."""
    split = benchmark.test
    table, rows = split.original, split.rows
    names = table.column_names
    labels = set(benchmark.spec.columns)
    known = labels | set(named(names, (*IMAGE, *IMAGE_PATH))) | set(picture_columns(names))
    kinds = ((name, table[name].type) for name in names)
    known |= {name for name, one in kinds if is_image(one) or pa.types.is_binary(one) or is_large_binary(one)}
    exported = [rows[name].combine_chunks() for name in ("question_id", "image_id", "question", "question_type")]
    for name in names:  # such as the question or its id
        if name not in known and is_id(table[name].type):
            cells = pc.fill_null(as_text(table[name]), "")
            known |= {name} if any(cells.equals(one) for one in exported) else set()
    context, contexts = _first_texts(table, [name for name in named(names, CONTEXT) if name not in known])
    group, groups = _first_texts(table, [name for name in named(names, ("l2category",)) if name not in labels])
    left_out = [name for name in names if name not in known | {context, group}]
    return OtherColumns(contexts or [""] * rows.num_rows, context, groups, left_out)


def _first_texts(table: pa.Table, names: list[str]) -> tuple[str, list[str]]:
    """The first of the columns with texts, and its cells with "" for null and the word nan; "" and [] without."""
    for name in names:
        cells = as_text(table[name]).to_pylist() if is_text(table[name].type) else []
        texts = ["" if (cell or "").strip().lower() in ("", "nan") else cell for cell in cells]
        if any(texts):
            return name, texts
    return "", []
