"""Words of a question, the nouns and values among them, and what they are forms of."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from tests.engines.gqa.independent_checker.vocabulary import Vocabulary

WORD = re.compile(r"[a-z0-9][a-z0-9-]*|n't|'s|,", re.IGNORECASE)
LONGEST = 4
"""words in the longest name"""


class Span(NamedTuple):
    """A noun in a text."""

    first: int
    end: int
    name: str
    lemma: str


def tokens(text: str) -> list[str]:
    """The words, lower case, 's and n't and commas apart."""
    text = text.lower().replace("n't", " n't").replace("’", "'")
    return WORD.findall(text)


class Lexicon:
    """The vocabulary as a list of what can be met in a text."""

    def __init__(self, words: Vocabulary):
        self.words = words
        names = set(words.nouns) | {name for noun in words.nouns.values() for name in noun.synonyms}
        self.lemmas = {words.lemma(name) for name in names if name}
        self.values = {form for name, value in words.values.items() for form in (name, *value.forms)}
        self.nouns = lru_cache(100_000)(self._nouns)

    def _nouns(self, text: str) -> tuple[Span, ...]:
        """The nouns, longest first, that do not overlap."""
        said = tokens(text)
        found: list[Span] = []
        place = 0
        while place < len(said):
            span = self._noun_at(said, place)
            if span:
                found.append(span)
            place = span.end if span else place + 1
        return tuple(found)

    def _noun_at(self, said: list[str], place: int) -> Span | None:
        for length in range(min(LONGEST, len(said) - place), 0, -1):
            name = " ".join(said[place : place + length])
            lemma = self.words.lemma(name)
            if lemma in self.lemmas:
                return Span(place, place + length, name, lemma)
        return None


def is_indefinite(question: str, lexicon: Lexicon) -> Callable[[str], bool]:
    """Whether a name is only spoken of with a, an, any, some or without article, never with the or this."""

    def check(name: str) -> bool:
        said = tokens(question)
        for span in lexicon.nouns(question):
            if span.lemma in lexicon.words.names_of(name):
                back = span.first - 1
                while back >= 0 and (said[back] in lexicon.values or said[back] in ("of", "'s") or "-" in said[back]):
                    back -= 1
                return back < 0 or said[back] not in ("the", "this", "that", "these", "those", "both", "all")
        return False

    return check
