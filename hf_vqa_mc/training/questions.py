"""The questions of a dataset's splits as arrays of indices of distinct texts, for training and evaluation."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import is_text
from hf_vqa_mc.data.loading import BUILT, check_has_choices, open_tables
from hf_vqa_mc.data.reading import human_answers
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.schema import QUESTIONS, checked_columns, checked_rows
from hf_vqa_mc.scoring.consensus import choice_consensus
from hf_vqa_mc.sources.open_ended import open_ended_source

NONE = -1  # padding for rows with fewer choices
ONE_KIND = 0  # the kind of all decoys if the dataset has no choice_kinds
ACCURACY, CONSENSUS, PER_TYPE = "accuracy", "consensus accuracy", "arithmetic mean per type"  # metric
PAIR, OTHER = "pair", "complementary_"
"""Column with the number of a question's balanced pair, and prefix of the columns of a pair's second question."""
PROGRAM = "semantic_str"  # column of GQA's programs

_IDS = {"question_id": "text or whole numbers", "image_id": "text or whole numbers"}
_OBJECTS = r" \((?:\d[\d,]*|-)\)"  # ids of the objects that a step of a program finds, which give the answer away


@dataclass(frozen=True, eq=False)
class Examples:
    """The questions of a split with their choices or answers; texts are indices."""

    location: str  # location of the split, for messages
    question_ids: list[str]
    image_ids: list[str]
    texts: NDArray[np.int64]  # (questions,): text index of each question in `Splits.texts`
    targets: list[str]
    """the answer: the annotators' most frequent one, or the only one; "" in all rows if it is not published"""
    answers: list[list[str]]  # of all annotators; without such, of open-ended models the target, of others none
    choices: NDArray[np.int64]  # (questions, choices): indices in ``choice_texts``, padded with NONE
    kinds: NDArray[np.int8]  # (questions, choices): kind of each choice, padded with NONE
    labels: NDArray[np.int64]  # (questions,): index of the target in the choices; NONE without choices
    choice_texts: Sequence[str] = ()  # distinct texts of all choices; of multiple-choice models `Splits.texts`
    open_ended: bool = False  # whether an open-ended model reads them
    metric: str = ACCURACY  # the dataset's own
    types: list[str] | None = None  # question types; None if the dataset has none
    answer_types: list[str] | None = None  # such as yes/no, number and other; None if the dataset has none
    group_ids: list[str] | None = None  # balanced pair or closed answer set of each question, "" for none
    groups: list[str] | None = None  # the group of each question, for models that need one
    captions: list[str] | None = None  # a caption of each question's image, for models that need one
    candidates: NDArray[np.object_] | None = None  # (questions, candidates): image ids, the most similar first
    distances: NDArray[np.float64] | None = None  # (questions, candidates): from the question's image
    picked: NDArray[np.int64] | None = None  # (questions,): index of the candidate that people picked, or `NO_PICK`

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: NDArray[np.int64]) -> "Examples":
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

    @cached_property
    def consensus(self) -> NDArray[np.float64]:
        """The consensus accuracy of each choice, (questions, choices), padded with nan."""
        found = np.full(self.choices.shape, np.nan)
        found[self.choices != NONE] = choice_consensus(self.choice_lists(), self.answers)
        return found

    def used_texts(self) -> NDArray[np.int64]:
        """The text indices of all questions, and of the choices of a multiple-choice model, ascending."""
        choices = [] if self.open_ended else [self.choices[self.choices != NONE]]
        return np.unique(np.concatenate([self.texts, *choices]))


@dataclass(frozen=True, eq=False)
class Splits:
    """A dataset's splits and their texts."""

    texts: list[str]  # distinct texts
    splits: dict[str, Examples]

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
    """Read the questions of a config with their choices, or if ``open_ended`` their answers or targets.

    ``group`` is the column with the groups of questions, or RECORD.FIELD; ``rows`` are splits that were read already.
    Raises InputError if columns are missing or not valid.
    """
    number_of: dict[str, int] = {}
    number_of_choice: dict[str, int] = {} if open_ended else number_of
    splits = {}
    for split, given in (rows or open_tables(dataset, config, open_ended=True, expected=BUILT).tables).items():
        if not open_ended:
            check_has_choices(given.column_names, dataset, config)
        table, location = questions_of_pairs(given) if open_ended else given, f"{dataset}, {config}, {split}"
        names = table.column_names
        has_choices = not open_ended or "answer" not in names
        if has_choices and "choices" not in names:
            raise InputError(f"{location}: no column 'choices' or 'answer'; columns: {names}")
        wanted = {**_IDS, "question": "text", **(QUESTIONS if has_choices else {"answer": "text"})}
        if not open_ended and "choice_kinds" in names:
            wanted["choice_kinds"] = "lists of whole numbers"
        checked = checked_rows if has_choices else checked_columns
        read = checked(table.select([name for name in wanted if name in names]), location, wanted)
        ids, images = (pc.cast(read[name], pa.string()).to_pylist() for name in _IDS)
        choices, kinds = np.empty((len(ids), 0), np.int64), np.empty((len(ids), 0), np.int8)
        if has_choices:
            lengths, flat = pc.list_value_length(read["choices"]).to_numpy(), pc.list_flatten(read["choices"])
            valid = np.arange(lengths.max()) < lengths[:, None]
            choices, kinds = np.full(valid.shape, NONE, np.int64), np.full(valid.shape, NONE, np.int8)
            choices[valid] = _numbers(flat, number_of_choice)
            kinds[valid] = pc.list_flatten(read["choice_kinds"]).to_numpy() if "choice_kinds" in wanted else ONE_KIND
            labels = read["label"].to_numpy().astype(np.int64)
            targets = flat.take(pa.array(np.cumsum(lengths) - lengths + labels)).to_pylist()
        else:
            labels, targets = np.full(len(ids), NONE), read["answer"].to_pylist()
        if open_ended and any(targets) and "" in targets:
            raise InputError(f"{location}, row {targets.index('') + 1}: the answer is empty; expected text")
        answers = human_answers(table.select(["answers"]), ()).to_pylist() if "answers" in names else [[]] * len(ids)
        if open_ended:
            answers = [of_row or [target] for of_row, target in zip(answers, targets, strict=True)]
        metric = metric_of(names, answers)
        splits[split] = Examples(
            location,
            ids,
            images,
            _numbers(read["question"] if form == "text" else _programs(table, location), number_of),
            targets,
            answers if open_ended or metric == CONSENSUS else [[]] * len(ids),
            choices,
            kinds,
            labels,
            open_ended=open_ended,
            metric=metric,
            types=_filled_texts(table, "question_type"),
            answer_types=_filled_texts(table, "answer_type"),
            group_ids=(_filled_texts(table, PAIR) if open_ended else None) or _filled_texts(table, "set_id"),
            groups=None if group is None else _groups(table, location, group),
        )
    texts = list(number_of_choice)
    return Splits(list(number_of), {split: replace(of, choice_texts=texts) for split, of in splits.items()})


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
        raise InputError(f"{location}, row {missing + 1}: the program is empty; {remedy}")
    return pc.replace_substring_regex(table[PROGRAM], _OBJECTS, "")


def _groups(rows: pa.Table, location: str, group: str) -> list[str]:
    """The group of each question, of a column or a field of its records."""
    name, _, member = group.partition(".")
    if name not in rows.column_names:
        raise InputError(f"{location}: no column {name!r}, by which the model groups questions; choose another model")
    column, texts = rows.select([name]).combine_chunks()[name], list[str]()
    if pa.types.is_nested(column.type) == bool(member):
        values = pc.struct_field(column, member) if member else column
        texts = pc.fill_null(pc.cast(values, pa.string()), "").to_pylist()
    if not any(texts):
        expected = "expected a text or number per question, by which the model groups them"
        raise InputError(f"{location}: column {group!r} is empty or holds {column.type}; {expected}")
    return texts


def metric_of(columns: Collection[str], answers: Sequence[Sequence[str]]) -> str:
    """The metric of a dataset's rows; ``answers`` are the annotators'."""
    if max(map(len, answers), default=0) > 1:
        return CONSENSUS
    found = open_ended_source(columns)
    return PER_TYPE if found is not None and found[1].scored_as == "tdiuc" else ACCURACY


def _filled_texts(rows: pa.Table, name: str) -> list[str] | None:
    """A column of texts, "" for null; None if it is missing, of another type, or empty in all rows."""
    if name not in rows.column_names or not is_text(rows[name].type):
        return None
    texts = [text or "" for text in rows[name].to_pylist()]
    return texts if any(texts) else None


def questions_of_pairs(table: pa.Table) -> pa.Table:
    """The questions of balanced pairs (``vqa2_pairs``), each once, with the column `PAIR`; other rows as they are.

    A row has two questions about similar images. All pairs that share a question have the same number.
    """
    names = table.column_names
    if f"{OTHER}question_id" not in names:
        return table
    second = [name.removeprefix(OTHER) for name in names if name.startswith(OTHER)]
    shared = [name for name in names if name not in second and not name.startswith(OTHER)]
    both = pa.concat_tables(
        table.select([*shared, *(prefix + name for name in second)]).rename_columns([*shared, *second])
        for prefix in ("", OTHER)
    )
    ids, number = np.unique(both["question_id"].to_numpy(zero_copy_only=False).astype(str), return_inverse=True)
    first, other = np.split(number, 2)
    linked = scipy.sparse.coo_array((np.ones(len(first)), (first, other)), (len(ids), len(ids)))
    _, pair = scipy.sparse.csgraph.connected_components(linked, False)
    both = both.append_column(PAIR, pa.array(pair[number].astype(str).tolist()))
    return both.take(np.sort(np.unique(number, return_index=True)[1]))
