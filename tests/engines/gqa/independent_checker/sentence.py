"""Words of a question, the nouns and values among them, and what they are forms of."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from tests.engines.gqa.independent_checker.vocabulary import Vocabulary

WORD = re.compile(r"[a-z0-9][a-z0-9-]*|n't|'s|,", re.IGNORECASE)
LONGEST = 4
"""words in the longest name"""
PICTURE = set(
    """
    image picture photo photograph scene side part kind type name sort species piece item thing object material
    color shape place top bottom middle shot front left right back article center weather look view gender pattern
    room location both number word light character half age height size length can
    """.split()
)
"""nouns that questions use to ask, or that are other words too"""


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

    def says(self, text: str, name: str) -> bool:
        """Whether some words are a name, in any number, or a synonym."""
        wanted = self.words.names_of(name)
        said = tokens(text)
        return any(
            self.words.lemma(" ".join(said[place : place + length])) in wanted
            for length in range(1, LONGEST + 1)
            for place in range(len(said) - length + 1)
        )

    def value_forms(self, value: str) -> set[str]:
        """The words a value may be said with."""
        forms = {value.strip().lower()}
        for name in [value, *self.words.same_values.get(value, ())]:
            forms.add(name)
            if name in self.words.values:
                forms |= self.words.values[name].forms
        forms |= {form.replace("-", " ") for form in forms}
        if value == "middle":
            forms |= {"center", "centre"}
        return forms | {form.replace(" ", "-") for form in forms}

    def says_value(self, text: str, value: str) -> bool:
        """Whether some words are a value or another form of it."""
        said = f" {' '.join(tokens(text))} "
        return any(f" {form} " in said for form in self.value_forms(value))


def any_said(said: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether a word of one is in the other."""
    return bool(set(said) & set(wanted))
