"""The objects that a text names, by WordNet, and what they are kinds of."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hf_vqa_mc.engines.vocabulary import vocabulary
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words
from hf_vqa_mc.text.wordnet import load_wordnet


@dataclass(frozen=True)
class Words:
    """The schema of ``words.yaml``, which describes its keys."""

    persons: dict[str, str]
    people: frozenset[str]
    function_words: frozenset[str]
    picture: frozenset[str]
    seldom_objects: frozenset[str]
    often_objects: frozenset[str]
    yes_or_no: frozenset[str]
    articles: frozenset[str]
    known: frozenset[str]
    quantities: frozenset[str]
    no: frozenset[str]


WORDS = vocabulary("complementary/words", Words)
FUNCTION_WORDS = WORDS.function_words | frozenset(SMALL_NUMBERS)
"""Not objects, though WordNet has nouns that are spelled alike."""
_PEOPLE = dict.fromkeys(WORDS.people, "person")
_ROOTS = ("object", "matter", "thing")
"""Nouns whose kinds can be seen: things and places; sky, water and food; parts of a body and waters."""


class Named(NamedTuple):
    """An object that a text names."""

    noun: str
    """in its base form"""
    start: int
    """place of its first word"""
    end: int
    """place after its last word"""


def named_in(spoken: Sequence[str]) -> list[Named]:
    """The objects that words name, each time that they do."""
    found = []
    place = 0
    while place < len(spoken):
        pair = "_".join(spoken[place : place + 2])
        if place + 1 < len(spoken) and spoken[place] not in FUNCTION_WORDS and (noun := _object(pair)):
            found.append(Named(noun, place, place + 2))
            place += 2
            continue
        word = WORDS.persons.get(spoken[place]) or _PEOPLE.get(spoken[place]) or spoken[place]
        if word not in FUNCTION_WORDS and word not in WORDS.picture and (noun := _object(word)):
            found.append(Named(noun, place, place + 1))
        place += 1
    return found


@lru_cache(maxsize=1 << 16)
def _objects_in(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.noun for one in named_in(words(text))))


def objects_in(text: str) -> list[str]:
    """The things that a text names, in their base forms: nouns whose most frequent sense is something to be seen.

    >>> objects_in("What color are the women's umbrellas?")
    ['woman', 'umbrella']
    >>> objects_in("What color is the sky?")
    ['sky']
    >>> objects_in("What time is it?")
    []
    """
    return list(_objects_in(text))


@lru_cache(maxsize=1 << 16)
def _object(form: str) -> str:
    """The base form of a noun whose most frequent sense is an object, else ""."""
    nouns = load_wordnet().nouns
    if form in WORDS.seldom_objects:
        return ""
    for base in nouns.base_forms(form)[::-1]:  # "glasses" before "glass" only if nothing else is known
        if base in WORDS.seldom_objects:
            continue
        senses = nouns.senses(base)
        if base in WORDS.often_objects or (senses and _is_object(senses[0])):
            return base
    return ""


@lru_cache(maxsize=1 << 16)
def kinds_of(noun: str) -> frozenset[str]:
    """What a noun in its base form is a kind of, as nouns whose most frequent sense that is, itself among them.

    >>> {"puppy", "dog", "animal"} <= kinds_of("puppy"), "puppy" in kinds_of("dog")
    (True, False)
    """
    senses = load_wordnet().nouns.senses(noun)
    above = [ancestor for ancestor in _ancestors(senses[0]) if _is_object(ancestor)] if senses else []
    return frozenset([noun, *(name for ancestor in above for name in _first_sense_names().get(ancestor, ()))])


@lru_cache(maxsize=1)
def _first_sense_names() -> dict[int, list[str]]:
    nouns = load_wordnet().nouns
    names: dict[int, list[str]] = {}
    for lemma, place in nouns.lemmas.items():
        if nouns.starts[place] < nouns.starts[place + 1]:
            names.setdefault(nouns.synsets[nouns.starts[place]], []).append(lemma)
    return names


@lru_cache(maxsize=1)
def _roots() -> frozenset[int]:
    """The senses of _ROOTS right below WordNet's physical entity."""
    nouns = load_wordnet().nouns
    (physical,) = nouns.senses("physical_entity")
    above = len(_ancestors(physical)) + 1
    senses = (sense for name in _ROOTS for sense in nouns.senses(name))
    return frozenset(one for one in senses if physical in _ancestors(one) and len(_ancestors(one)) == above)


@lru_cache(maxsize=1 << 16)
def _is_object(sense: int) -> bool:
    return not _roots().isdisjoint(_ancestors(sense))


def _ancestors(sense: int) -> frozenset[int]:
    wordnet = load_wordnet()
    start, end = wordnet.ancestor_starts[sense], wordnet.ancestor_starts[sense + 1]
    return frozenset(wordnet.ancestors[start:end].tolist())
