"""Words of answers and questions, COCO's 80 objects as questions call them, and the objects that a text may mean."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from hf_vqa_mc.engines.vocabulary import Vocabulary, plural_of

ANSWERS = Vocabulary("tdiuc/answers")
_NUMBERS, _TENS = (ANSWERS.read(key, tuple[str, ...]) for key in ("numbers", "tens"))
COLORS = {color: color for color in ANSWERS["colors"]} | ANSWERS.read("color spellings", dict[str, str])
"""Spelling to the color's name in answers."""
COUNTABLE = _NUMBERS[1:17]  # answers of counting, one to sixteen: "Importing Questions"
CLOSED = {"colors": frozenset(COLORS), "countable": frozenset(COUNTABLE)}

_DIGITS = re.compile(r"(?<![\w.,:/$%-])[0-9]{1,6}(?![\w%/$-]|[.,:][0-9])")
_TRAILING = " .,;:!?"
_SPACED_MARK = re.compile(r"\s+([?,.!]|'s\b)")


def tidy_answer(answer: str) -> str:
    """Lower case, without punctuation at the end, numbers as words (not times or years with letters), one spelling."""
    text = " ".join(answer.lower().split()).rstrip(_TRAILING)
    text = _DIGITS.sub(lambda found: in_words(int(found.group())), text)
    return " ".join(COLORS.get(word, word) for word in text.split())


def tidy_question(question: str) -> str:
    """Single spaces, a capital first letter and one question mark; the words are unchanged."""
    first, space, rest = _SPACED_MARK.sub(r"\1", " ".join(question.split())).rstrip(_TRAILING).partition(" ")
    return f"{first.capitalize()}{space}{rest}?"


def in_words(number: int) -> str:
    """A number from 0 to 999,999 in words: two thousand sixteen."""
    if number < len(_NUMBERS):
        return _NUMBERS[number]
    for size, mark in ((1000, " thousand"), (100, " hundred")):
        if number >= size:
            head = f"{in_words(number // size)}{mark}"
            return f"{head} {in_words(number % size)}" if number % size else head
    head = _TENS[number // 10 - 2]
    return f"{head}-{in_words(number % 10)}" if number % 10 else head


def colors_in(text: str) -> set[str]:
    """The common colors that a text names."""
    return {COLORS[word] for word in text.replace("-", " ").split() if word in COLORS}


def single_color(attributes: Iterable[str]) -> str | None:
    """The one common color of an object, if it has one and no other, nor a shade or mixture."""
    named = [one for one in attributes if colors_in(one) or set(one.split()) & ANSWERS["shades"]]
    answers = {COLORS.get(one) for one in named}
    return answers.pop() if len(answers) == 1 else None


OBJECTS = Vocabulary("tdiuc/objects")
SUPERCATEGORIES = OBJECTS.read("supercategories", dict[str, tuple[str, ...]])
_WORDINGS, _PLURALS, _COUNTED = (OBJECTS.read(key, dict[str, str]) for key in ("wordings", "plurals", "counted"))
MEANINGS = OBJECTS.read("may mean", tuple[tuple[tuple[str, ...], ...], ...])
"""Singular nouns, and the objects or supercategories that they may mean."""


class CocoObject(NamedTuple):
    """One of COCO's categories."""

    name: str  # COCO's, which is also the answer
    supercategory: str
    wording: str  # singular noun in questions
    plural: str
    counted: str  # what follows "How many"


def _plural_of(phrase: str) -> str:
    return _PLURALS.get(phrase) or plural_of(phrase)


COCO_OBJECTS = {
    name: CocoObject(name, group, wording, _plural_of(wording), _COUNTED.get(name, _plural_of(wording)))
    for group, names in SUPERCATEGORIES.items()
    for name in names
    for wording in (_WORDINGS.get(name, name),)
}
"""The 80 annotated objects, by COCO's names."""
MAY_MEAN = {
    word: [name for one in meant for name in SUPERCATEGORIES.get(one, (one,))]
    for words, meant in MEANINGS
    for word in words
}
"""Singular nouns to the objects that they may mean."""
_SINGULAR_WORDINGS = {one.wording for one in COCO_OBJECTS.values() if one.name not in OBJECTS["plural only"]}
PROVABLE = OBJECTS["provable"] | _SINGULAR_WORDINGS
"""Words for annotated objects only: if nothing that they may mean is annotated, the image shows none."""

_SINGULAR = {_plural_of(phrase): phrase for phrase in MAY_MEAN} | {phrase: phrase for phrase in MAY_MEAN}
_PHRASE = re.compile("|".join([*(rf"{phrase}\b" for phrase in _SINGULAR if phrase.count(" ") == 1), "[a-z]+"]))


@cache
def related(name: str) -> frozenset[str]:
    """The objects whose presence makes a "no" about this one ambiguous: itself, and those that share a word with it.

    >>> sorted(related("bear"))
    ['bear', 'teddy bear']
    """
    words = set(name.split())
    return frozenset(other for other in COCO_OBJECTS if words & set(other.split()))


def _phrases(text: str) -> list[str]:
    """The words of a text, those of an object's name of two words together."""
    return _PHRASE.findall(" ".join(re.findall("[a-z]+", text.lower())))


def objects_named(text: str) -> frozenset[str]:
    """The objects that a text may mean, by COCO's names; a "hot dog" is not a dog."""
    named = (MAY_MEAN[_SINGULAR[phrase]] for phrase in _phrases(text) if phrase in _SINGULAR)
    return frozenset[str]().union(*named)


def objects_asked_of(question: str) -> frozenset[str] | None:
    """The objects that a question may mean; None if a word may name something that annotation cannot prove absent."""
    found: set[str] = set()
    for phrase in _phrases(question):
        singular = _SINGULAR.get(phrase)
        if singular in PROVABLE:
            found.update(MAY_MEAN[singular])
        elif singular is not None or phrase not in OBJECTS["plain"]:
            return None
    return frozenset(found) or None


def names_many(phrase: str) -> bool:
    """Whether a word of the phrase is the plural of one that may mean an object.

    >>> names_many("young people around"), names_many("a bus")
    (True, False)
    """
    return any(word == "people" or _SINGULAR.get(word, word) != word for word in _phrases(phrase))
