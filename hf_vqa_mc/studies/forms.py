"""The forms in which annotators answer: choose one, mark several, choose an image, write.

An answer comes from a browser as JSON and is untrusted; `Form.check` returns it in one spelling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.errors import InputError, shown

LONGEST_TEXT = 200
"""Maximum number of characters of a written answer."""
CONFIDENCES = ("no", "maybe", "yes")
"""Answers to "do you think you were able to answer the question correctly?" (Antol et al. 2015, Sect. 3)."""
NONE = -1
"""The answer that no image fits."""
BAD = "bad_question"
WORDS = ("apple", "bridge", "candle", "river", "window")
"""Words that attention checks ask to write."""


@dataclass(frozen=True)
class Form:
    """How annotators answer."""

    name: str
    """name of its template and of its behaviour in ``study.js``"""
    check: Callable[[Any, int], Any]
    """a value from a browser, and the number of choices or images, to the value as stored; raises InputError"""
    control: Callable[[SeededRng, Sequence[str]], tuple[str, Any]]
    """text of an attention check over these choices, and the expected value"""
    passed: Callable[[Any, Any], bool] = lambda value, expected: bool(value == expected)
    """whether a value is the expected one of an attention check"""
    keys: tuple[tuple[str, str], ...] = ()
    """keys and what they do, for the page's help; ``study.js`` acts on them"""
    confidence: bool = False
    """whether a written answer comes with a confidence"""
    candidates: bool = False
    """whether the images after the first are the choices"""


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
    marks = {name: sorted({_index(one, size) for one in value[name]}) for name in ("correct", "unsure")}
    if set(marks["correct"]) & set(marks["unsure"]):
        raise InputError(f"answer {shown(value)}: a choice is both correct and uncertain")
    return marks


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
WRITE = Form("write", _written(False), _check_word, _same_word)
"""A short answer in words."""
WRITE_WITH_CONFIDENCE = Form(
    "write", _written(True), _check_word, _same_word, keys=(("1 2 3", "no, maybe, yes"),), confidence=True
)
"""A short answer in words, and whether it is thought to be correct."""
