"""A scoring scheme is one declaration: its function, the datasets that it fits, its input files, table and files."""

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.inputs import Input
from hf_vqa_mc.scoring.table import ScoreTable, line

Answer = str | int  # text, or the index of the picked choice
DEFAULT_PROTOCOL = "2021"  # the year of VQA's official program to follow
NEEDED = {
    "answers": "the answers of several annotators; the {} of {} have one each",
    "gold": "one correct answer per question; the {} of {} have no multiple_choice_answer",
    "labels": "choices; the {} of {} have none",
}
"""What a scheme needs, by the column of annotations."""
_RECORD_FIELDS = {"gold": "answer", "image_ids": "imageId", "question_ids": "question_id"}
"""Columns that are fields of GQA's records."""


class LetterCase(UserWarning):
    """Predictions count as wrong only because of their letter case."""


@dataclass(frozen=True)
class QuestionKind:
    """A kind of annotations, each with schemes of its own."""

    name: str
    description: str
    gold: str  # description of the right answer
    ignores_others: bool = False
    """whether predictions for other questions are ignored, as in the official program; otherwise they are errors"""


MULTIPLE_CHOICE = QuestionKind("multiple_choice", "multiple-choice rows", "the target")
VQA = QuestionKind("vqa", "VQA annotations", "the annotators' most frequent answer (multiple_choice_answer)")
TDIUC = QuestionKind("tdiuc", "TDIUC annotations", "TDIUC's answer", ignores_others=True)
GQA = QuestionKind("gqa", "GQA questions", "GQA's answer", ignores_others=True)


@dataclass(frozen=True)
class Annotations:
    """Questions with their right answers, one row per question; None where the dataset has no such column."""

    kind: QuestionKind
    location: str
    ids: list[str | int]  # as published
    image_ids: list[str] | None = None
    question_types: list[str] | None = None
    answer_types: list[str] | None = None
    questions: list[str] | None = None
    gold: list[str] | None = None  # the one right answer
    answers: list[list[Any]] | None = None
    """answers of several annotators: text, or records if text does not distinguish them"""
    choices: list[list[str]] | None = None
    labels: list[int] | None = None
    choice_kinds: list[list[str]] | None = None
    set_ids: list[str] | None = None  # closed answer set of each question, "" for none; None if all are in none
    set_kinds: list[str] | None = None
    ordered: bool = True  # whether the benchmark defines the order of choices, so that indices and letters name them
    label_from: int | None = None  # index of the first choice, if the benchmark's labels are integers
    unread: frozenset[str] = frozenset()  # ids of the split's rows that are no questions to score, such as open ones
    records: Mapping[str, dict[str, Any]] | None = None  # GQA's question records by id
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """content of input files that the dataset itself holds, by the input's name"""
    about: Mapping[str, str] = field(default_factory=dict)
    """dataset, config and split, if known subset; or data_type, data_subtype and task_type of an annotation file"""

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.ids)

    @cached_property
    def names(self) -> list[str]:
        """The ids as text; raises InputError if one occurs twice."""
        names = list(map(str, self.ids))
        if len(set(names)) < len(names):
            (twice, times), *_ = Counter(names).most_common(1)
            raise InputError(f"{self.location}: question {twice!r} occurs {times} times; expected once")
        return names

    @cached_property
    def scored(self) -> list[str]:
        """Ids of the questions that need a prediction: all, or the balanced ones of GQA."""
        if self.records is None:
            return self.names
        return [name for name, record in self.records.items() if record["isBalanced"]]

    def column(self, name: str) -> list[Any] | None:
        """A column of the questions that need a prediction; None where it is missing."""
        if name == "question_ids":
            return self.ids if self.records is None else self.scored
        if self.records is None or name not in _RECORD_FIELDS:
            return getattr(self, name)  # type: ignore[no-any-return]
        values = [self.records[one].get(_RECORD_FIELDS[name]) for one in self.scored]
        return None if None in values else values


@dataclass(frozen=True)
class Matched:
    """Annotations with the predictions for them and the content of the input files."""

    annotations: Annotations
    answers: list[Answer | None]
    """one per question; None only for unbalanced questions of GQA; "" for texts that name no choice"""
    inputs: Mapping[str, Any] = field(default_factory=dict)  # content of each input file by the input's name
    protocol: str = DEFAULT_PROTOCOL
    name: str = "predictions"  # name of the model in official file names
    scores: list[Any] | None = None  # the model's scores of each question's choices, unchecked

    @cached_property
    def texts(self) -> list[str | None]:
        """The answers as text; an index becomes the choice. None only where ``answers`` are.

        Raises InputError for an index out of range, or where the questions have no choices.
        """
        choices = self.annotations.choices
        texts = [answer if isinstance(answer, str) else None for answer in self.answers]
        for row, answer in ((row, answer) for row, answer in enumerate(self.answers) if isinstance(answer, int)):
            where = f"question {self.annotations.names[row]!r}: the prediction is {answer}"
            if choices is None:
                raise InputError(f"{where}, expected text: {self.annotations.kind.description} have no choices")
            if not 0 <= answer < len(choices[row]):
                raise InputError(f"{where}, expected an index of its {len(choices[row])} choices, from 0")
            texts[row] = choices[row][answer]
        return texts

    def column(self, name: str) -> list[Any] | None:
        """A column of the questions that need a prediction; None where it is missing."""
        return self.scores if name == "scores" else self.annotations.column(name)

    def predictions(self, *, text: bool = True) -> list[Any]:
        """The predictions for the questions that need one."""
        answers = self.texts if text else self.answers
        if self.annotations.records is None:
            return answers
        balanced = set(self.annotations.scored)
        return [answer for name, answer in zip(self.annotations.names, answers, strict=True) if name in balanced]


Result = Mapping[str, Any]


@dataclass(frozen=True)
class Scheme:
    """Everything about a scoring scheme; list yours with ``SCHEMES.add``.

    Its folder holds ``<name>.py``, `scheme_metric.metric` of its name for ``evaluate``, and the card
    ``README.md``, whose bibtex block is the citation.
    """

    name: str
    function: Callable[..., Result]
    """takes predictions, references, the columns and input files by name, ``per_question`` and
    ``protocol``; the table has the ``interval`` of the first score, or of each by name, if the result has it"""
    title: str  # title of its table; may name keys of the result, and ``{gold}``, the kind's right answer
    columns: tuple[str, ...] = ()  # arguments of ``function`` with one value per question; the others are options
    features: tuple[tuple[Any, Any], ...] = (("string", "string"),)
    """types of a prediction and a reference for ``evaluate``"""
    joined_by_id: bool = False
    """whether predictions and references have question ids, so that their lengths may differ"""
    folder: Path | None = None  # folder of the evaluate module and its card; by default in the folder ``metrics``
    kinds: tuple[QuestionKind, ...] = ()
    """supported kinds of annotations; without any it cannot score a predictions file"""
    python_only: str = ""  # why it cannot score a predictions file
    references: Literal["labels", "gold", "answers"] = "gold"
    is_default: Callable[[Annotations], bool] = lambda annotations: False
    """whether it is a default scheme of supported annotations"""
    inputs: tuple[Input, ...] = ()  # input files other than predictions and annotations
    takes_indices: bool = False  # whether predictions may be indices of choices; text then matches in any letter case
    one_prediction: bool = False  # whether several predictions for a question are an error; otherwise the last counts
    has_protocols: bool = False  # whether it follows either of VQA's official programs
    run: Callable[[Matched], Result] | None = None  # scores a predictions file; by default `call`
    show: Callable[[Result, Matched], ScoreTable] | None = None  # the table without its title; by default all scores
    official: Callable[[Matched, Result | None], dict[str, Any]] | None = None
    """content of official files by name; the result is None if the scheme was not run"""

    def call(self, matched: Matched, **more: Any) -> Result:  # noqa: ANN401  arguments of the function
        """Call the function with the columns and input files that it takes."""
        accepted = inspect.signature(self.function).parameters
        options = {"protocol": matched.protocol, "per_question": True, **matched.inputs}
        given = {name: value for name, value in options.items() if name in accepted}
        given |= {name: matched.column(name) for name in self.columns if name not in more}
        predictions = matched.predictions(text=not self.takes_indices)
        return self.function(predictions, matched.column(self.references) or [], **given, **more)

    def score(self, matched: Matched) -> dict[str, Any]:
        """Score a predictions file; raises InputError with the question and the field."""
        return dict((self.run or self.call)(matched))

    def table(self, result: Result, matched: Matched) -> ScoreTable:
        """The result as a table."""
        title = self.title.format(**{**result, "gold": matched.annotations.kind.gold})
        if self.has_protocols and matched.protocol != DEFAULT_PROTOCOL:
            title += f", protocol {matched.protocol}"
        if self.show is not None:
            return self.show(result, matched)._replace(title=f"{self.name}: {title}")
        found, count = result.get("interval"), len(matched.annotations.scored)
        scores = [name for name, value in result.items() if isinstance(value, float) and name != "stderr"]
        of_each = found if isinstance(found, Mapping) else dict.fromkeys(scores[:1], found)
        lines = [line(name, result[name], of_each.get(name), questions=count) for name in scores]
        return ScoreTable(lines, title=f"{self.name}: {title}")

    def misfit(self, annotations: Annotations) -> str:
        """Why annotations of a supported kind cannot be scored, "" if they can."""
        arguments = inspect.signature(self.function).parameters
        needed = [name for name in self.columns if arguments[name].default is inspect.Parameter.empty]
        for name in (self.references, *needed):
            if annotations.column(name) is None:
                what = NEEDED.get(name, f"{name}; the {{}} of {{}} have none")
                return f"{self.name} needs {what.format(annotations.kind.description, annotations.location)}"
        return ""


def warn_of_letter_case(pairs: Iterable[tuple[Answer | None, str]]) -> None:
    """Warn of predictions that differ from the right answers, in pairs, in letter case only."""
    cases = ((answer, gold) for answer, gold in pairs if isinstance(answer, str) and answer != gold)
    count = sum(answer.lower() == gold.lower() for answer, gold in cases)
    if count:
        text = (
            f"{count:,} predictions differ from the correct answer in letter case only and count as wrong, as in the "
            "official program; the metric's ignore_case=True counts them as correct"
        )
        warnings.warn(LetterCase(text), stacklevel=3)
