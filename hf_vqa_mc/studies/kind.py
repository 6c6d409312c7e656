"""The declaration of a kind of study: what annotators see, what they do, and what becomes of their answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_vqa_mc.studies.forms import Form

IMAGE, QUESTION, CHOICES, CAPTION, ANSWER = "image", "question", "choices", "caption", "answer"
"""What a condition can show: the image (or images), the question, the choices, a caption, the known answer."""


@dataclass(frozen=True)
class Item:
    """A question of a study; all texts are untrusted."""

    question_id: str
    question: str
    choices: list[str]
    """as shown; empty if answers are written"""
    pictures: list[int]
    """the question's images; of a form with candidates one, and these: ids in the study's file"""
    caption: str = ""
    control: bool = False
    """whether it is an attention check"""
    known: Mapping[str, Any] = field(default_factory=dict)
    """what annotators do not see: ``image_id``; ``label`` and ``order`` of the choices in the benchmark;
    ``answers``; ``expected`` of an attention check"""


@dataclass(frozen=True)
class Condition:
    """What annotators see of each question, and what they are asked to do."""

    name: str
    instruction: str
    shows: frozenset[str]
    """of IMAGE, QUESTION, CHOICES, CAPTION, ANSWER"""
    annotators: int = 1
    """default number of annotators per question"""
    options: tuple[str, ...] = ()
    """the same choices for all questions, instead of their own"""

    def choices(self, item: Item) -> list[str]:
        """The choices of an item as shown."""
        if item.control:
            return item.choices
        return list(self.options) or (item.choices if CHOICES in self.shows else [])


@dataclass(frozen=True)
class Answered:
    """One annotator's answer to one item."""

    item: Item
    condition: str
    annotator: int
    """number of the annotator, which says nothing about the person or the link"""
    value: Any
    """as `Form.check` returns it"""
    seconds: float
    """time the question was on the screen"""
    time: float
    """when it was answered, seconds since 1970"""


@dataclass(frozen=True)
class Outcome:
    """What the answers of a study amount to."""

    figures: Mapping[str, Any]
    """JSON-serializable; fractions, not percent"""
    table: Sequence[Mapping[str, Any]]
    """the main table, one row per condition"""
    items: Sequence[Mapping[str, Any]]
    """one row per question and condition; what deserves a look comes first"""
    write: Callable[[Path], None] = lambda folder: None
    """writes the files for other commands to a folder"""
    bars: Callable[[Mapping[str, Any]], Sequence[tuple[str, int, bool]]] | None = None
    """for the page: the answers to a question of ``items``: text, number of annotators, and whether it is the label"""
    usage: Sequence[str] = ()
    """commands that read these files; FOLDER is the folder"""


@dataclass(frozen=True)
class StudyKind:
    """A kind of study, listed in `STUDIES`."""

    name: str
    title: str
    summary: str
    """one sentence for users who choose a kind"""
    source: str
    """paper and section"""
    form: Form
    conditions: tuple[Condition, ...]
    results: Callable[[Sequence[Answered]], Outcome]
    """from the answers to questions that are no attention checks"""
    reads: Callable[..., Any]
    """reads the items, see `items`"""
    needs: str = ""
    """option without which items cannot be made"""

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(one for one in self.conditions if one.name == name)
