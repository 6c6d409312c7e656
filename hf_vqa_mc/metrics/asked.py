"""The noun of this room: what was asked, one row a question, and what is the right answer."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from hf_vqa_mc.errors import InputError

Kind = Literal["multiple_choice", "vqa", "tdiuc", "gqa"]

DESCRIPTIONS: dict[Kind, str] = {
    "multiple_choice": "multiple-choice rows",
    "vqa": "VQA annotations",
    "tdiuc": "TDIUC annotations",
    "gqa": "GQA questions",
}


@dataclass(frozen=True)
class Asked:
    """Questions with their right answers, each column in the same order; None where there is no such column."""

    kind: Kind
    place: str
    """for messages"""
    ids: list[str | int]
    """as their publisher has them"""
    image_ids: list[str] | None = None
    question_types: list[str] | None = None
    answer_types: list[str] | None = None
    questions: list[str] | None = None
    """their text"""
    gold: list[str] | None = None
    """the one right answer"""
    answers: list[list[Any]] | None = None
    """those of several annotators: text, or records where only these tell them apart"""
    choices: list[list[str]] | None = None
    labels: list[int] | None = None
    """the place of the right choice"""
    choice_kinds: list[list[int]] | None = None
    records: Mapping[str, dict[str, Any]] | None = None
    """GQA's own, by id"""
    about: Mapping[str, str] = field(default_factory=dict)
    """what else is known: dataset, config and split, or data_type, data_subtype and task_type of an annotation file"""

    def __len__(self) -> int:
        """How many questions."""
        return len(self.ids)

    @cached_property
    def names(self) -> list[str]:
        """The ids as text.

        Raises:
            InputError: an id comes twice.
        """
        names = list(map(str, self.ids))
        if len(set(names)) < len(names):
            (twice, times), *_ = Counter(names).most_common(1)
            raise InputError(f"{self.place}: question {twice!r} is there {times} times; expected each once")
        return names

    @property
    def by_consensus(self) -> bool:
        """Whether the answers are those of several annotators."""
        return self.answers is not None
