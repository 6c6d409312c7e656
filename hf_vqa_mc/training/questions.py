"""The questions of a dataset's splits as arrays of indices of distinct texts, for training and evaluation."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.loading import BUILT, check_has_choices, open_tables
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.schema import QUESTIONS, checked_columns, checked_rows
from hf_vqa_mc.training.balanced_pairs import PAIR, questions_of_pairs
from hf_vqa_mc.training.metric import ACCURACY, CONSENSUS, filled_texts, human_answers, metric_of

NONE = -1
"""Padding for rows with fewer choices."""
ONE_KIND = 0
"""The kind of all decoys if the dataset has no choice_kinds."""
PROGRAM = "semantic_str"
"""Column of GQA's programs."""

_IDS = {"question_id": "text or whole numbers", "image_id": "text or whole numbers"}
_OPTIONAL = {"choice_kinds": "lists of whole numbers", "question_type": "text"}
_OBJECTS = r" \((?:\d[\d,]*|-)\)"
"""Ids of the objects that a step of a program finds, which give the answer away."""


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of a split with their choices or answers."""

    location: str
    """location of the split, for messages"""
    question_ids: list[str]
    image_ids: list[str]
    texts: NDArray[np.int64]
    """(questions,): text index of each question in `Splits.texts`"""
    targets: list[str]
    """the answer: the annotators' most frequent one, or the only one; "" in all rows if it is not published"""
    answers: list[list[str]]
    """of all annotators; without such, of open-ended models the target, of others none"""
    choices: NDArray[np.int64]
    """(questions, choices): index of each choice in ``choice_texts``, padded with NONE; 0 columns without choices"""
    kinds: NDArray[np.int8]
    """(questions, choices): kind of each choice, padded with NONE"""
    labels: NDArray[np.int64]
    """(questions,): index of the target in the choices; NONE without choices"""
    choice_texts: Sequence[str] = ()
    """distinct texts of all choices; of multiple-choice models `Splits.texts`"""
    open_ended: bool = False
    """whether an open-ended model reads them"""
    metric: str = ACCURACY
    """one of `training.metric`"""
    types: list[str] | None = None
    """question types; None if the dataset has none"""
    answer_types: list[str] | None = None
    """such as yes/no, number and other; None if the dataset has none"""
    together: list[str] | None = None
    """balanced pair or closed answer set of each question, "" for none; None if the dataset has neither"""
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

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.int64]) -> "Questions":
        """A selection of the questions."""
        taken: dict[str, Any] = {}
        for name in (one.name for one in fields(self) if one.name != "choice_texts"):
            column = getattr(self, name)
            if isinstance(column, list):
                taken[name] = [column[row] for row in rows]
            elif isinstance(column, np.ndarray):
                taken[name] = column[rows]
        return replace(self, **taken)

    @property
    def has_answers(self) -> bool:
        """Whether the answers are known; those of some test splits are not published."""
        return not self.open_ended or any(self.targets)

    @property
    def has_choices(self) -> bool:
        """Whether the rows are multiple-choice rows."""
        return bool(self.choices.shape[1])

    def choice_lists(self) -> list[list[str]]:
        """The texts of each question's choices."""
        return [[self.choice_texts[text] for text in row if text != NONE] for row in self.choices.tolist()]

    def used_texts(self) -> NDArray[np.int64]:
        """The text indices of all questions and choices of a multiple-choice model, ascending."""
        return np.unique(np.concatenate([self.texts, self.choices[self.choices != NONE]]))


@dataclass(frozen=True, eq=False)
class Splits:
    """A dataset's splits and their texts."""

    texts: list[str]
    """distinct texts"""
    splits: dict[str, Questions]

    def sha256(self) -> str:
        """Checksum of all questions."""
        digest = hashlib.sha256()
        parts: list[Sequence[str] | NDArray[Any]] = [self.texts]
        for split, of in self.splits.items():
            parts += [[split], of.question_ids, of.image_ids, of.texts]
            parts += [of.targets] if of.open_ended else [of.choices, of.kinds, of.labels]
            parts += [*of.answers, of.groups or ()]
        for part in parts:
            if isinstance(part, np.ndarray):
                digest.update(np.ascontiguousarray(part).data)
            else:
                digest.update("\n".join(part).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def read_questions(
    dataset: str,
    config: str,
    *,
    open_ended: bool = False,
    group: str | None = None,
    form: QuestionForm = "text",
    rows: Mapping[str, pa.Table] | None = None,
) -> Splits:
    """Read the questions of a config with the columns ``question_id``, ``image_id`` and ``question``.

    Args:
        dataset: folder, or name on the Hub.
        config: name of the config.
        open_ended: read the answers, or the targets of multiple-choice rows; otherwise the choices.
        group: column with the groups of questions, or RECORD.FIELD; None: the model needs no groups.
        form: what is read as the question.
        rows: splits that were read already.

    Raises:
        InputError: columns are missing or not valid.
    """
    number_of: dict[str, int] = {}
    number_of_choice: dict[str, int] = {} if open_ended else number_of
    splits = {}
    for split, table in (rows or open_tables(dataset, config, open_ended=True, expected=BUILT).tables).items():
        location = f"{dataset}, {config}, {split}"
        if open_ended:
            table = questions_of_pairs(table)
        else:
            check_has_choices(table.column_names, dataset, config)
        found = _read_split(table, location, open_ended, form, number_of, number_of_choice)
        splits[split] = found if group is None else replace(found, groups=_groups(table, location, group))
    texts = list(number_of_choice)
    return Splits(list(number_of), {split: replace(of, choice_texts=texts) for split, of in splits.items()})


def _read_split(
    rows: pa.Table,
    location: str,
    open_ended: bool,
    form: QuestionForm,
    number_of: dict[str, int],
    number_of_choice: dict[str, int],
) -> Questions:
    """The questions of a split; adds new texts to ``number_of`` and ``number_of_choice``."""
    names = rows.column_names
    has_choices = not open_ended or "answer" not in names
    if has_choices and "choices" not in names:
        raise InputError(f"{location}: no column 'choices' or 'answer'; columns: {names}")
    optional = {} if open_ended else {name: of for name, of in _OPTIONAL.items() if name in names}
    wanted = {**_IDS, "question": "text", **(QUESTIONS if has_choices else {"answer": "text"}), **optional}
    checked = checked_rows if has_choices else checked_columns
    table = checked(rows.select([name for name in wanted if name in names]), location, wanted)
    ids, images = (pc.cast(table[name], pa.string()).to_pylist() for name in _IDS)
    if has_choices:
        lengths = pc.list_value_length(table["choices"]).to_numpy()
        valid = np.arange(lengths.max()) < lengths[:, None]
        choices, kinds = np.full(valid.shape, NONE, np.int64), np.full(valid.shape, NONE, np.int8)
        flat = pc.list_flatten(table["choices"])
        choices[valid] = _numbers(flat, number_of_choice)
        kinds[valid] = _kinds(table["choice_kinds"], lengths, location) if "choice_kinds" in optional else ONE_KIND
        labels = table["label"].to_numpy().astype(np.int64)
        targets = flat.take(pa.array(np.cumsum(lengths) - lengths + labels)).to_pylist()
    else:
        choices, kinds = np.empty((len(ids), 0), np.int64), np.empty((len(ids), 0), np.int8)
        labels, targets = np.full(len(ids), NONE), table["answer"].to_pylist()
    if open_ended and any(targets) and "" in targets:
        raise InputError(f"{location}, row {targets.index('')}: the answer is empty; expected text")
    answers = human_answers(rows, location) or [[]] * len(ids)
    if open_ended:
        answers = [of_row or [target] for of_row, target in zip(answers, targets, strict=True)]
    metric = metric_of(names, answers)
    return Questions(
        location,
        ids,
        images,
        _numbers(table["question"] if form == "text" else _programs(rows, location), number_of),
        targets,
        answers if open_ended or metric == CONSENSUS else [[]] * len(ids),
        choices,
        kinds,
        labels,
        open_ended=open_ended,
        metric=metric,
        types=filled_texts(rows, "question_type"),
        answer_types=filled_texts(rows, "answer_type"),
        together=(filled_texts(rows, PAIR) if open_ended else None) or filled_texts(rows, "set_id"),
    )


def _kinds(column: pa.ChunkedArray, lengths: NDArray[np.int64], location: str) -> NDArray[np.int8]:
    """The kinds of all choices, (choices,)."""
    for row in np.flatnonzero(pc.list_value_length(column).to_numpy() != lengths)[:1]:
        raise InputError(f"{location}, row {row}: choice_kinds has a different length than its {lengths[row]} choices")
    flat, known = pc.list_flatten(column), len(CHOICE_KINDS)
    valid = pc.fill_null(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, known)), False)
    for index in np.flatnonzero(~valid.to_numpy())[:1].tolist():
        raise InputError(
            f"{location}, row {pc.list_parent_indices(column)[index]}: one of choice_kinds is {flat[index]}, expected "
            f"0 to {known - 1} ({', '.join(CHOICE_KINDS)})"
        )
    kinds: NDArray[np.int8] = flat.to_numpy().astype(np.int8)
    return kinds


def _numbers(texts: pa.ChunkedArray, number_of: dict[str, int]) -> NDArray[np.int64]:
    """The index of each text; adds new texts to ``number_of``."""
    encoded = pc.dictionary_encode(texts).combine_chunks()
    numbers = [number_of.setdefault(text, len(number_of)) for text in encoded.dictionary.to_pylist()]
    found: NDArray[np.int64] = np.array(numbers, np.int64)[encoded.indices.to_numpy()]
    return found


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


def held_out(image_ids: Sequence[str], part: float) -> NDArray[np.bool_]:
    """Mask (questions,) of the questions on held-out images, the same images in all configs of a dataset.

    An image is held out if the hash of its id is in the lowest ``part``, in [0, 1), of all hashes.
    """
    bound = int(part * 2**64)
    chosen = {
        image_id: int.from_bytes(hashlib.blake2b(f"held out:{image_id}".encode(), digest_size=8).digest()) < bound
        for image_id in set(image_ids)
    }
    return np.array([chosen[image_id] for image_id in image_ids], np.bool_)
