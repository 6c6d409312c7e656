"""Normalisation of answers and questions: colors, numbers as words, punctuation; words in ``data/answers.yaml``."""

import re
from dataclasses import dataclass

from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Answers:
    """The schema of ``answers.yaml``, which describes its keys."""

    colors: frozenset[str]
    color_spellings: dict[str, str]
    shades: frozenset[str]
    numbers: tuple[str, ...]
    tens: tuple[str, ...]
    sports: frozenset[str]
    activities: frozenset[str]
    places: frozenset[str]
    scenes: frozenset[str]
    not_open: frozenset[str]
    adjectives: frozenset[str]
    no_things: frozenset[str]
    positions: dict[str, str]


ANSWERS = vocabulary("tdiuc/answers", Answers)
COLORS = {color: color for color in ANSWERS.colors} | ANSWERS.color_spellings
"""Spelling to the color's name in answers."""
COUNTABLE = ANSWERS.numbers[1:17]  # answers of counting, one to sixteen: "Importing Questions"

_DIGITS = re.compile(r"(?<![\w.,:/$%-])[0-9]{1,6}(?![\w%/$-]|[.,:][0-9])")
_TRAILING = " .,;:!?"
_SPACED_MARK = re.compile(r"\s+([?,.!]|'s\b)")


def tidy_answer(answer: str) -> str:
    """Lower case, without punctuation at the end, numbers as words (not times or years with letters), one spelling.

    >>> [tidy_answer(one) for one in (" 2 Dogs. ", "Grey", "2 dogs at 4:30")]
    ['two dogs', 'gray', 'two dogs at 4:30']
    """
    text = " ".join(answer.lower().split()).rstrip(_TRAILING)
    text = _DIGITS.sub(lambda found: in_words(int(found.group())), text)
    return " ".join(COLORS.get(word, word) for word in text.split())


def tidy_question(question: str) -> str:
    """Single spaces, a capital first letter and one question mark; the words are unchanged.

    >>> tidy_question("whAt color  is the cow ??")
    'What color is the cow?'
    """
    words = _SPACED_MARK.sub(r"\1", " ".join(question.split())).rstrip(_TRAILING)
    first, _, rest = words.partition(" ")
    return f"{first.capitalize()} {rest}?" if rest else f"{first.capitalize()}?"


def in_words(number: int) -> str:
    """A number from 0 to 999,999 in words.

    >>> [in_words(one) for one in (2, 45, 100, 2016)]
    ['two', 'forty-five', 'one hundred', 'two thousand sixteen']
    """
    if number < len(ANSWERS.numbers):
        return ANSWERS.numbers[number]
    for size, mark in ((1000, " thousand"), (100, " hundred")):
        if number >= size:
            head = f"{in_words(number // size)}{mark}"
            return f"{head} {in_words(number % size)}" if number % size else head
    head = ANSWERS.tens[number // 10 - 2]
    return f"{head}-{in_words(number % 10)}" if number % 10 else head


def colors_in(text: str) -> set[str]:
    """The common colors that a text names."""
    return {COLORS[word] for word in text.replace("-", " ").split() if word in COLORS}


def single_color(attributes: tuple[str, ...]) -> str | None:
    """The one common color of an object, if it has one and no other, nor a shade or mixture."""
    named = [one for one in attributes if colors_in(one) or set(one.split()) & ANSWERS.shades]
    answers = {COLORS.get(one) for one in named}
    return answers.pop() if len(answers) == 1 else None
