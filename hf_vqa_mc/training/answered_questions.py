"""The questions of a split with their human answers, and the vocabulary of the answers."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.loading import load_tables
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.schema import QUESTIONS, checked_columns, checked_rows
from hf_vqa_mc.training.balanced_pairs import PAIR, questions_of_pairs
from hf_vqa_mc.training.metric import ACCURACY, filled_texts, human_answers, metric_of
from hf_vqa_mc.training.questions import IDS, SplitQuestions, Splits, numbers_of


@dataclass(frozen=True, eq=False)
class AnsweredQuestions(SplitQuestions):
    """The questions of a split with their human answers."""

    targets: list[str]
    """the answer: the annotators' most frequent one, or the only one; "" in all rows if it is not published"""
    answers: list[list[str]]
    """of all annotators, else the target"""
    types: list[str] | None
    """question types; None if the dataset has none"""
    answer_types: list[str] | None = None
    """such as yes/no, number and other; None if the dataset has none"""
    choices: list[list[str]] | None = None
    labels: list[int] | None = None
    """index of the target in the choices of multiple-choice rows"""
    metric: str = ACCURACY
    """one of `training.metric`"""
    groups: list[str] | None = None
    """the group of each question, for models that need one"""
    captions: list[str] | None = None
    """a caption of each question's image, for models that need one"""
    candidates: NDArray[np.object_] | None = None
    """(questions, candidates): image ids of possible counter-examples, the most similar first"""
    distances: NDArray[np.float64] | None = None
    """(questions, candidates): of their features from those of the question's image"""
    picked: NDArray[np.int64] | None = None
    """(questions,): index of the candidate that people picked, or `NO_PICK`"""

    @property
    def has_answers(self) -> bool:
        """Whether the answers are known; those of some test splits are not published."""
        return any(self.targets)

    def hashed(self) -> Iterator[bytes | memoryview]:
        """The content that a checksum covers, in addition to ids."""
        yield from super().hashed()
        for texts in [self.targets, *self.answers, self.groups or []]:
            yield "\n".join(texts).encode("utf-8", "surrogatepass")


PROGRAM = "semantic_str"
"""Column of GQA's programs."""
_OBJECTS = r" \((?:\d[\d,]*|-)\)"
"""Ids of the objects that a step of a program finds, which give the answer away."""


def read_answered(
    dataset: str,
    config: str,
    group: str | None = None,
    form: QuestionForm = "text",
    rows: Mapping[str, pa.Table] | None = None,
) -> Splits[AnsweredQuestions]:
    """Read the questions of a config with one answer, or several, or of multiple-choice rows, whose target it is.

    Args:
        dataset: folder, or name on the Hub.
        config: name of the config.
        group: column with the groups of questions, or RECORD.FIELD; None: the model needs no groups.
        form: what is read as the question.
        rows: splits that were read already.

    Raises:
        InputError: columns are missing or not valid.
    """
    number_of: dict[str, int] = {}
    splits = {}
    for split, of_split in (rows or load_tables(dataset, config)[1]).items():
        location, of_split = f"{dataset}, {config}, {split}", questions_of_pairs(of_split)
        found = _answered(of_split, location, number_of, form)
        splits[split] = found if group is None else replace(found, groups=_groups(of_split, location, group))
    return Splits(list(number_of), splits)


def _answered(rows: pa.Table, location: str, number_of: dict[str, int], form: QuestionForm) -> AnsweredQuestions:
    names = rows.column_names
    if "answer" not in names and "choices" not in names:
        raise InputError(f"{location}: no column 'answer', and no choices; columns: {names}")
    checked, columns = (checked_columns, {"answer": "text"}) if "answer" in names else (checked_rows, QUESTIONS)
    wanted = {**IDS, "question": "text", **columns}
    table = checked(rows.select([*filter(names.__contains__, wanted)]), location, wanted)
    ids, images = (pc.cast(table[name], pa.string()).to_pylist() for name in IDS)
    choices = table["choices"].to_pylist() if "choices" in wanted else None
    labels = table["label"].to_pylist() if "choices" in wanted else None
    if choices is None or labels is None:
        targets = table["answer"].to_pylist()
    else:
        targets = [texts[label] for texts, label in zip(choices, labels, strict=True)]
    if any(targets) and "" in targets:
        raise InputError(f"{location}, row {targets.index('')}: the answer is empty; expected text")
    listed = human_answers(rows, location) or [[]] * len(targets)
    answers = [found or [target] for found, target in zip(listed, targets, strict=True)]
    return AnsweredQuestions(
        location,
        ids,
        images,
        numbers_of(table["question"] if form == "text" else _programs(rows, location), number_of),
        targets,
        answers,
        filled_texts(rows, "question_type"),
        filled_texts(rows, "answer_type"),
        choices,
        labels,
        metric_of(names, answers),
        together=filled_texts(rows, PAIR) or filled_texts(rows, "set_id"),
    )


def _programs(rows: pa.Table, location: str) -> pa.ChunkedArray:
    """The programs without the ids of objects."""
    remedy = "build gqa_balanced or gqa_all with their programs, or remove --questions programs"
    if PROGRAM not in rows.column_names:
        raise InputError(f"{location}: no column {PROGRAM!r} with programs; {remedy}")
    table = checked_columns(rows.select([PROGRAM]), location, {PROGRAM: "text"})
    if (missing := pc.index(table[PROGRAM], "").as_py()) >= 0:
        raise InputError(f"{location}, row {missing}: the program is empty; {remedy}")
    return pc.replace_substring_regex(table[PROGRAM], _OBJECTS, "")


def _groups(rows: pa.Table, location: str, group: str) -> list[str]:
    name, _, member = group.partition(".")
    if name not in rows.column_names:
        raise InputError(f"{location}: no column {name!r}, by which the model groups questions; choose another model")
    column = rows.select([name]).combine_chunks()[name]
    if member and not (pa.types.is_struct(column.type) and column.type.get_field_index(member) >= 0):
        raise InputError(f"{location}: column {name!r} holds {column.type}, expected records with {member!r}")
    column = pc.struct_field(column, member) if member else column
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        raise InputError(f"{location}: column {group!r} holds {column.type}, expected one text or number per question")
    texts = pc.fill_null(pc.cast(column, pa.string()), "").to_pylist()
    if not any(texts):
        raise InputError(f"{location}: column {group!r}, by which the model groups questions, is empty")
    return [str(text) for text in texts]


def most_frequent_answers(targets: Sequence[str], size: int) -> list[str]:
    """The answer vocabulary: the ``size`` most frequent targets, ties by text; all if there are fewer.

    Antol et al. 2015 (section 5.1) take 1,000, which are 82.67% of the answers.
    """
    counts = Counter(targets)
    return sorted(counts, key=lambda text: (-counts[text], text))[:size]


def coverage(vocabulary: Collection[str], train: AnsweredQuestions) -> dict[str, float]:
    """The fractions of the training questions, and of all their human answers, whose answer is in the vocabulary."""
    known = set(vocabulary)
    answers = [text in known for texts in train.answers for text in texts]
    return {
        "questions": float(np.mean([target in known for target in train.targets])),
        "human_answers": float(np.mean(answers)),
    }
