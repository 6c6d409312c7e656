"""A generated question, and a text whose words point at the objects they speak of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.program import Program

Part: TypeAlias = tuple[str, str]
"""Some words and the id of the object they speak of, "" for none."""


class Pointed(NamedTuple):
    """A text and which of its words speak of which object."""

    text: str
    objects: dict[str, str]
    """places of words, as GQA's files have them ("3", or "2:5" for words 2 to 4), to object ids"""


def sentence(parts: Sequence[Part], end: str) -> Pointed:
    """Parts put together to a sentence: single spaces, no space before a comma, a capital first, ``end`` last.

    >>> sentence([("is the", ""), ("apple", "7"), ("red", "")], "?")
    Pointed(text='Is the apple red?', objects={'2': '7'})
    """
    words: list[str] = []
    objects = {}
    for text, object_id in parts:
        first = len(words)
        for word in text.split():
            if word == "," and words:
                words[-1] += ","
            else:
                words.append(word)
        if object_id and len(words) > first:
            objects[str(first) if len(words) == first + 1 else f"{first}:{len(words)}"] = object_id
    text = " ".join(words)
    return Pointed(text[:1].upper() + text[1:] + end, objects)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about an image, before it has an id."""

    row: str
    """the row of the paper's Table 3 that it is of, a key of ``question_types.ROWS``"""
    detailed: str
    """the type in detail, where possible as GQA's files call it; questions that ask for the same thing and have other
    answers differ in a "C" at its end"""
    program: Program
    found: tuple[tuple[str, ...], ...]
    """the object ids of each step of the program"""
    question: Pointed
    answer: str
    full_answer: Pointed
    global_group: str
    """what kind of answer is asked for: color, animal; "" where there is no kind (yes, no)"""
    local_group: str
    """that and the subject: apple-color"""
