"""The declaration of a kind of study: what annotators see, what they do, and what becomes of their answers.

They choose one, mark several, choose an image, or write. An answer comes from a browser as JSON and is untrusted;
`Form.check` returns it in one spelling.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError, shown

IMAGE, QUESTION, CHOICES, CAPTION, ANSWER = "image", "question", "choices", "caption", "answer"
"""What a condition can show: the image (or images), the question, the choices, a caption, the known answer."""
LONGEST_TEXT = 200  # maximum number of characters of a written answer
CONFIDENCES = ("no", "maybe", "yes")
"""Answers to "do you think you were able to answer the question correctly?" (Antol et al. 2015, Sect. 3)."""
NONE = -1  # the answer that no image fits
BAD = "bad_question"
WORDS = ("apple", "bridge", "candle", "river", "window")  # words that attention checks ask to write


@dataclass(frozen=True)
class Form:
    """How annotators answer."""

    name: str  # name of its template and of its behaviour in ``study.js``
    check: Callable[[Any, int], Any]
    """a value from a browser, and the number of choices or images, to the value as stored; raises InputError"""
    control: Callable[[SeededRng, Sequence[str]], tuple[str, Any]]
    """text of an attention check over these choices, and the expected value"""
    passed: Callable[[Any, Any], bool] = lambda value, expected: bool(value == expected)
    """whether a value is the expected one of an attention check"""
    keys: tuple[tuple[str, str], ...] = ()  # keys and what they do, for the page's help; ``study.js`` acts on them
    confidence: bool = False  # whether a written answer comes with a confidence
    candidates: bool = False  # whether the images after the first are the choices


@dataclass(frozen=True)
class Item:
    """A question of a study; all texts are untrusted."""

    question_id: str
    question: str
    choices: list[str]  # as shown; empty if answers are written
    pictures: list[int]  # the question's images; of a form with candidates one, and these: ids in the study's file
    caption: str = ""
    control: bool = False  # whether it is an attention check
    known: Mapping[str, Any] = field(default_factory=dict)
    """what annotators do not see: ``image_id``; ``label`` and ``order`` of the choices in the benchmark;
    ``answers``; ``expected`` of an attention check"""


@dataclass(frozen=True)
class Condition:
    """What annotators see of each question, and what they are asked to do."""

    name: str
    instruction: str
    shows: Collection[str]  # of IMAGE, QUESTION, CHOICES, CAPTION, ANSWER
    annotators: int = 1  # default number of annotators per question
    options: tuple[str, ...] = ()  # the same choices for all questions, instead of their own

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
    annotator: int  # number of the annotator, which says nothing about the person or the link
    value: Any  # as `Form.check` returns it
    seconds: float  # time the question was on the screen
    time: float  # when it was answered, seconds since 1970


@dataclass(frozen=True)
class Outcome:
    """What the answers of a study amount to."""

    figures: Mapping[str, Any]  # JSON-serializable; fractions, not percent
    table: Sequence[Mapping[str, Any]]  # the main table, one row per condition
    items: Sequence[Mapping[str, Any]]  # one row per question and condition; what deserves a look comes first
    write: Callable[[Path], None] = lambda folder: None  # writes the files for other commands to a folder
    bars: Callable[[Mapping[str, Any]], Sequence[tuple[str, int, bool]]] | None = None
    """for the page: the answers to a question of ``items``: text, number of annotators, and whether it is the label"""
    usage: Sequence[str] = ()  # commands that read these files; FOLDER is the folder


@dataclass(frozen=True)
class StudyKind:
    """A kind of study, listed in `STUDIES`."""

    name: str
    title: str
    summary: str  # one sentence for users who choose a kind
    source: str  # paper and section
    form: Form
    conditions: tuple[Condition, ...]
    results: Callable[[Sequence[Answered]], Outcome]  # from the answers to questions that are no attention checks
    reads: Callable[..., Any]  # reads the items, see `items`
    needs: str = ""  # option without which items cannot be made

    def condition(self, name: str) -> Condition:
        """The condition of a name."""
        return next(one for one in self.conditions if one.name == name)


def _index(value: object, size: int, least: int = 0) -> int:
    if type(value) is not int or not least <= value < size:
        raise InputError(f"answer {shown(value)}: expected a number from {least} to {size - 1}")
    return value


def _marks(value: object, size: int) -> Any:  # noqa: ANN401  JSON
    """BAD, or the indices of the correct and of the uncertain choices; both may be empty: none is correct."""
    if value == BAD:
        return BAD
    if type(value) is not dict or set(value) != {"correct", "unsure"}:
        raise InputError(f"answer {shown(value)}: expected the correct and the uncertain choices")
    if any(type(one) is not list or len(one) > size for one in value.values()):
        raise InputError(f"answer {shown(value)}: expected lists of choices")
    correct, unsure = ({_index(one, size) for one in value[name]} for name in ("correct", "unsure"))
    if correct & unsure:
        raise InputError(f"answer {shown(value)}: a choice is both correct and uncertain")
    return {"correct": sorted(correct), "unsure": sorted(unsure)}


def _written(confidence: bool) -> Callable[[Any, int], Any]:
    allowed = CONFIDENCES if confidence else ("",)

    def check(value: object, size: int) -> dict[str, str]:
        if type(value) is not dict or set(value) != {"text", "confidence"} or type(value["text"]) is not str:
            raise InputError(f"answer {shown(value)}: expected a text and a confidence")
        text = " ".join(value["text"].encode("utf-8", "replace").decode().split())
        if not 0 < len(text) <= LONGEST_TEXT:
            raise InputError(f"the answer has {len(text):,} characters; expected 1 to {LONGEST_TEXT}")
        if value["confidence"] not in allowed:
            raise InputError(f"confidence {shown(value['confidence'])}: expected one of {', '.join(allowed)}")
        return {"text": text, "confidence": value["confidence"]}

    return check


def _asking(text: str, value: Callable[[int], Any] = int) -> Callable[[SeededRng, Sequence[str]], tuple[str, Any]]:
    """An attention check that names a choice, or the number of an image, and the value for its index."""

    def control(rng: SeededRng, choices: Sequence[str]) -> tuple[str, Any]:
        expected = rng.below(len(choices))
        asked = text.format(choice=choices[expected], number=expected + 1)
        return f"Attention check: please {asked}.", value(expected)

    return control


def _check_word(rng: SeededRng, choices: Sequence[str]) -> tuple[str, str]:
    expected = rng.pick(WORDS)
    return f"Attention check: please write the word “{expected}”.", expected


def _same_word(value: Any, expected: str) -> bool:  # noqa: ANN401  JSON
    text: str = value["text"]
    return text.casefold().strip(" .\"'“”") == expected


CHOOSE = Form("choose", _index, _asking("choose “{choice}”"), keys=(("1 2 3 …", "choose"),))
"""One of the choices: its index."""
MARK = Form(
    "mark",
    _marks,
    _asking("mark “{choice}” as correct, and nothing else", lambda index: {"correct": [index], "unsure": []}),
    keys=(("1 2 3 …", "correct"), ("Shift + 1 …", "unsure"), ("0", "none is correct"), ("x", "bad question")),
)
"""Every choice that is correct, and those that may be; or the question is bad."""
CHOOSE_IMAGE = Form(
    "image",
    lambda value, size: _index(value, size, NONE),
    _asking("choose image {number}"),
    keys=(("1 2 … a b …", "choose an image"), ("0", "not possible")),
    candidates=True,
)
"""One of the candidate images: its index; NONE if none fits."""
WRITE = Form("write", _written(False), _check_word, _same_word)  # A short answer in words
WRITE_WITH_CONFIDENCE = Form(
    "write", _written(True), _check_word, _same_word, keys=(("1 2 3", "no, maybe, yes"),), confidence=True
)
"""A short answer in words, and whether it is thought to be correct."""
