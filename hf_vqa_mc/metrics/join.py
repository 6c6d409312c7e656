"""Predictions put beside what was asked, by question id."""

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.metrics.asked import DESCRIPTIONS, Asked, Kind
from hf_vqa_mc.metrics.beside_files import Beside, read_question_texts, read_vocabulary
from hf_vqa_mc.metrics.predictions import Answer, Predictions
from hf_vqa_mc.scoring.consensus import Protocol

TAKES_OTHERS: frozenset[Kind] = frozenset({"gqa", "tdiuc"})
"""Where predictions for questions that are not asked are left out, as the official programs do; VQA's refuses them."""
DEFAULT_PROTOCOL: Protocol = "2021"
"""Which of VQA's official programs to follow."""


class PredictionsIgnored(UserWarning):
    """Some predictions do not count: another for the same question came later, or the question is not asked."""


@dataclass
class Joined:
    """What was asked with what was answered, and the files beside."""

    asked: Asked
    answers: list[Answer | None]
    beside: Beside = field(default_factory=Beside)
    protocol: Protocol = DEFAULT_PROTOCOL
    per_question: bool = False
    from_csv: bool = False
    questions: list[str] | None = field(init=False)
    choices: list[list[str]] | None = field(init=False)
    vocabulary: list[str] | None = field(init=False)

    def __post_init__(self) -> None:
        """Takes texts and choices from where they are."""
        self.questions, self.choices = self.asked.questions, self.asked.choices
        if self.beside.questions is not None:
            self.questions, self.choices = read_question_texts(self.beside.questions, self.asked)
        vocabulary = self.beside.answer_vocabulary
        self.vocabulary = None if vocabulary is None else read_vocabulary(vocabulary)
        self._check_csv()

    def texts(self) -> list[str | None]:
        """The answers as text; a place stands for its choice. None only where `answers` are.

        Raises:
            InputError: a place where there are no choices, or none of them.
        """
        return [self._text(row, answer) for row, answer in enumerate(self.answers)]

    def _text(self, row: int, answer: Answer | None) -> str | None:
        if not isinstance(answer, int):
            return answer
        where = f"question {self.asked.names[row]!r}: the prediction is {answer}"
        if self.choices is None:
            raise InputError(f"{where}, expected text: {DESCRIPTIONS[self.asked.kind]} have no choices to number")
        if not 0 <= answer < len(self.choices[row]):
            raise InputError(f"{where}, expected a place among its {len(self.choices[row])} choices, from 0 on")
        return self.choices[row][answer]

    def _check_csv(self) -> None:
        if not self.from_csv or self.choices is None:
            return
        for row, answer in enumerate(self.answers):
            if isinstance(answer, str) and answer.isdigit() and answer not in self.choices[row]:
                raise InputError(
                    f"question {self.asked.names[row]!r}: {answer!r} is text in csv, and none of its choices "
                    f"{self.choices[row]}; call the column 'label' if it holds places"
                )


def check_offered(joined: Joined, schemes: Sequence[str], path: Path) -> None:
    """Nothing, if predictions are among what their questions leave to pick from, where a scheme demands it.

    Args:
        joined: the predictions.
        schemes: those to run; ``mc_accuracy`` alone takes text in any letter case.
        path: of the predictions.

    Raises:
        InputError: names the first that is not, and says how many are not.
    """
    picking = {"mc_accuracy", "vqa_accuracy"} & set(schemes)
    offered: Sequence[Collection[str]] | None = joined.choices if picking else None
    if joined.vocabulary is not None:
        offered = [frozenset(joined.vocabulary)] * len(joined.answers)
    if offered is None:
        return
    any_case = picking == {"mc_accuracy"}
    pairs = enumerate(zip(joined.answers, offered, strict=True))
    strays = [row for row, (answer, texts) in pairs if answer is not None and not _is_among(answer, texts, any_case)]
    if strays:
        answer, texts = joined.answers[strays[0]], offered[strays[0]]
        what = f"its choices {texts}" if joined.vocabulary is None else f"the {len(texts):,} answers of the vocabulary"
        free = "Free text has to be mapped to a choice first; or take --metric wups"
        remedy = f"predictions for another config or split? {free}"
        if isinstance(answer, int):
            what, remedy = f"the places of its {len(texts)} choices", "they count from 0"
        elif joined.vocabulary is not None:
            remedy = "give the vocabulary that the model was made for"
        elif answer is not None and answer.isdigit():
            remedy += "; places among the choices are numbers, not text"
        elif answer is not None and _is_among(answer, texts, any_case=True):
            remedy = "VQA's program compares letter case, too"
        raise InputError(
            f"{path}: question {joined.asked.names[strays[0]]!r}: {shown(answer)} is none of {what} ({len(strays):,} "
            f"of {len(joined.answers):,} predictions are none of theirs); {remedy}"
        )


def _is_among(answer: Answer, texts: Collection[str], any_case: bool) -> bool:
    if isinstance(answer, int):
        return 0 <= answer < len(texts)
    return answer in texts or (any_case and answer.lower() in {text.lower() for text in texts})


def answers_to(asked: Asked, predictions: Predictions, *, each_once: bool = False) -> list[Answer | None]:
    """The predictions in the order of what was asked; None only for GQA's unbalanced questions.

    Args:
        asked: the questions.
        predictions: what the model answered.
        each_once: refuse ids that come more than once; else the last counts.

    Raises:
        InputError: a question has no prediction, a prediction no question, or ids come more than once; says how many.

    Warns:
        PredictionsIgnored: says how many.
    """
    path, answers, names = predictions.path, predictions.answers, asked.names
    needed = required(asked)
    missing = [name for name in needed if name not in answers]
    others = sorted(answers.keys() - set(names))
    if missing:
        hint = f"; it has one for {others[0]!r}, which is not asked" if others else ""
        same = {_number(name): name for name in others}.get(_number(missing[0]))
        if same is not None:
            hint = f"; it has one for {same!r}: ids were read as numbers on the way, read and write them as text"
        raise InputError(
            f"{path}: no prediction for question {missing[0]!r} of {asked.place} ({len(missing):,} of "
            f"{len(needed):,} questions lack one{hint})"
        )
    if others and asked.kind not in TAKES_OTHERS:
        raise InputError(
            f"{path}: question {others[0]!r} is not among those of {asked.place} ({len(others):,} of "
            f"{len(answers):,} predictions are for others); predict the same split, or take them out"
        )
    if predictions.repeated and each_once:
        raise InputError(
            f"{path}: question {predictions.repeated[0]!r} has more than one prediction; expected one each "
            f"(questions with more: {len(predictions.repeated):,})"
        )
    _warn(predictions, others)
    return [answers.get(name) for name in names]


def _number(name: str) -> str:
    """What programs that take ids for numbers, even for floats, make of one."""
    return name.removesuffix(".0").lstrip("0")


def required(asked: Asked) -> list[str]:
    """The questions that need a prediction: all, but of GQA only the balanced ones."""
    if asked.records is None:
        return asked.names
    return [name for name, record in asked.records.items() if record["isBalanced"]]


def _warn(predictions: Predictions, others: list[str]) -> None:
    said = (
        ("questions with more than one prediction", predictions.repeated, "the last counts"),
        ("predictions for questions that are not asked", others, "they are left out"),
    )
    for what, names, consequence in said:
        if names:
            text = f"{predictions.path}: {what}: {len(names):,}, such as {names[0]!r}; {consequence}"
            warnings.warn(PredictionsIgnored(text), stacklevel=4)
