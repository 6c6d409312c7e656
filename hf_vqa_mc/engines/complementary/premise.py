"""Premises of questions: which objects a question presupposes, and whether an image is known to show them.

Goyal et al. 2017, Sect. 3: workers saw that "what is the woman doing?" needs a woman. Here the objects are looked up
in what is known of an image: its captions, its annotated instances, its other questions and their answers. Only
annotated instances can prove that an object is absent, and only objects of their own categories.

A question that is not answered by yes or no presupposes all objects that it names. A yes/no question presupposes those
that it refers to as known ("the clock", "this man", "he") and asks about the others: "is there a big tree behind the
clock?" needs a clock and no tree; "is there a tree?" and "is this a kitchen?" need nothing but an image.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hf_vqa_mc.engines.vocabulary import Vocabulary
from hf_vqa_mc.io.records import read_lists
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words
from hf_vqa_mc.text.wordnet import load_wordnet

UNKNOWN, HOLDS, FAILS, NONE = 0, 1, 2, 3
PREMISES = ("unknown", "holds", "fails", "none")
"""Names of the numbers above; none: nothing is presupposed, so the question fits any image."""

WORDS = Vocabulary("complementary/words")
_PRONOUNS = WORDS.read("persons", dict[str, str])
_NOT_OBJECTS = WORDS["function words"] | frozenset(SMALL_NUMBERS)
_PERSONS = dict.fromkeys(WORDS["people"], "person") | _PRONOUNS
_ROOTS = {"object": 0, "matter": 2, "thing": 11}
"""Nouns with the index of the sense whose hyponyms are visible, which is directly below WordNet's physical entity:
artefacts and animals; sky, water and food; parts of a body, rivers and lakes."""
_ASKS_WHETHER, _ASKS_WHAT = (re.compile(rf"({WORDS.read(key, str)})(?!\S)") for key in ("asks whether", "asks what"))
_BEFORE_A_NOUN = WORDS["known"] | WORDS["articles"] | WORDS["quantities"] | frozenset(SMALL_NUMBERS)


def captions_in(path: Path) -> Iterator[tuple[str, str]]:
    """The image ids and captions of COCO's ``captions_*.json``; raises InputError if the file is not of that form."""
    for _, records in read_lists(path, ("annotations",)):
        yield from zip(records.ids("image_id"), records.texts("caption"), strict=True)


@dataclass
class ImageFacts:
    """Known facts about images: captions, and by image_id the categories of annotated objects."""

    captions: Iterable[tuple[str, str]] = ()  # with the image_id first
    instances: Mapping[str, Set[str]] = field(default_factory=dict)  # all that the image shows of ``categories``
    categories: frozenset[str] = frozenset()


class Premises:
    """Decides whether the premises of questions hold for images."""

    def __init__(self, image_ids: Sequence[str], questions: Iterable[tuple[str, str, int]], known: ImageFacts) -> None:
        """``questions``: text, answer and the index of the image in ``image_ids``; ``known``: of the images."""
        names = {name: "_".join(words(name)) for name in known.categories}  # as objects_in has them: fire_hydrant
        named: list[list[str]] = [[] for _ in image_ids]
        for question, answer, image in questions:
            named[image] += _asserted(question, answer)
        self._absent: list[frozenset[str]] = []
        index = {image_id: number for number, image_id in enumerate(image_ids)}
        for image_id, caption in known.captions:
            if image_id in index:
                named[index[image_id]] += objects_in(caption)
        for found, image_id in zip(named, image_ids, strict=True):
            shown = known.instances.get(image_id, known.categories)
            found += [names[name] for name in known.instances.get(image_id, ())]
            self._absent.append(frozenset(names[name] for name in known.categories - shown))
        self._present = [frozenset[str]().union(*map(kinds_of, found)) for found in named]

    def judge(self, question: str, images: Iterable[int]) -> list[int]:
        """For each image: HOLDS if all presupposed objects are known to be there, FAILS if one is known not to."""
        objects = presupposed(question)
        judged = []
        for image in images:
            missing = [noun for noun in objects or () if noun not in self._present[image]]
            fails = any(self._absent[image] & kinds_of(noun) for noun in missing)
            state = HOLDS if objects and not missing else FAILS if fails else UNKNOWN
            judged.append(NONE if objects is None else state)
        return judged


@lru_cache(maxsize=1 << 16)
def presupposed(question: str) -> tuple[str, ...] | None:
    """The objects that a question presupposes, as base forms; None if it presupposes nothing.

    None is for questions that ask whether something is shown. The result is empty for questions that name no object,
    such as "is it raining?", and for "is this a dog or a cat?", which presupposes that one of them is shown.
    """
    spoken = words(question)
    named = _named_in(spoken)
    first = spoken[0].removesuffix("n't").removesuffix("n’t") if spoken else ""
    if first not in WORDS["yes or no"]:
        return tuple(dict.fromkeys(one.noun for one in named))
    spoken[0] = first
    found = _ASKS_WHETHER.match(" ".join(spoken))
    opening = len(found[0].split()) if found else 0  # words that ask whether something is shown
    asked = named[0] if named and _is_asked_about(named[0], spoken, opening) else None
    known: list[_Mention] = []
    for position, one in enumerate(named):
        if one is not asked and _is_known(one, spoken, named[:position], known):
            known.append(one)
    if not known and (opening or (named and "or" not in spoken)):
        return None
    return tuple(dict.fromkeys(one.noun for one in known))


@lru_cache(maxsize=1 << 16)
def objects_in(text: str) -> tuple[str, ...]:
    """The objects that a text names, as base forms: nouns whose most frequent sense is something visible."""
    return tuple(dict.fromkeys(one.noun for one in _named_in(words(text))))


def noun_phrases(text: str) -> tuple[str, ...]:
    """The objects that a text names, in its own words, each alone and with the adjectives before it.

    >>> noun_phrases("Two women sit at an old wooden table.")
    ('women', 'table', 'old wooden table')
    """
    spoken, adjectives = words(text), load_wordnet().adjectives
    is_other = [word in _NOT_OBJECTS or word.endswith("ing") or not adjectives.senses(word) for word in spoken]
    found: list[str] = []
    for one in _named_in(spoken):
        if spoken[one.start] in _PRONOUNS:
            continue
        start = one.start
        while start and not is_other[start - 1]:
            start -= 1
        found += [" ".join(spoken[one.start : one.end]), " ".join(spoken[start : one.end])]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1 << 16)
def kinds_of(noun: str) -> frozenset[str]:
    """The nouns for what a noun (a base form) is a kind of, by their most frequent sense; includes the noun itself.

    >>> {"puppy", "dog", "animal"} <= kinds_of("puppy"), "puppy" in kinds_of("dog")
    (True, False)
    """
    senses = load_wordnet().nouns.senses(noun)
    above = [ancestor for ancestor in _ancestors(senses[0]) if _is_object(ancestor)] if senses else []
    return frozenset([noun, *(name for ancestor in above for name in _first_sense_names().get(ancestor, ()))])


class _Mention(NamedTuple):
    """An object that a text names."""

    noun: str  # in its base form
    start: int  # index of its first word
    end: int  # after its last word


def _named_in(spoken: Sequence[str]) -> list[_Mention]:
    """The objects that words name, with repetitions."""
    found: list[_Mention] = []
    for position, word in enumerate(spoken):
        if found and found[-1].end > position:
            continue
        pair, form = "_".join(spoken[position : position + 2]), _PERSONS.get(word, word)
        if position + 1 < len(spoken) and word not in _NOT_OBJECTS and (noun := _object(pair)):
            found.append(_Mention(noun, position, position + 2))
        elif form not in _NOT_OBJECTS and form not in WORDS["picture"] and (noun := _object(form)):
            found.append(_Mention(noun, position, position + 1))
    return found


def _is_asked_about(one: _Mention, spoken: Sequence[str], opening: int) -> bool:
    """Whether the question asks about this object, the first that it names: "is there a dog?", "is this a dog?"."""
    asks_what = _ASKS_WHAT.match(" ".join(spoken)) and (spoken[2] in WORDS["articles"] or one.end == len(spoken))
    if not opening and not asks_what:
        return False
    between = spoken[opening or len(("is", "this")) : one.start]
    return not any(word in _NOT_OBJECTS and word not in _BEFORE_A_NOUN for word in between)


def _is_known(one: _Mention, spoken: Sequence[str], before: Sequence[_Mention], known: Sequence[_Mention]) -> bool:
    """Whether an object is referred to as known: "he", "the three big trees", "the bus stop", but not "a tree"."""
    if spoken[one.start] in _PRONOUNS:
        return True
    position = one.start - 1
    if before and before[-1].end == one.start:
        return before[-1] in known
    while position >= 0 and (spoken[position] not in _NOT_OBJECTS or spoken[position] in SMALL_NUMBERS):
        if any(other.start <= position < other.end for other in before):  # "the man wearing glasses"
            return False
        position -= 1
    return position >= 0 and spoken[position] in WORDS["known"]


def _asserted(question: str, answer: str) -> list[str]:
    """The objects that a question and its answer imply to be in the image."""
    spoken, said = words(question), words(answer)
    if " ".join(said) in WORDS["no"] or (said and said[0] in WORDS["no"]):
        return []
    # "is this a dog or a cat?" names what is not shown
    chooses = "or" in spoken and spoken[0] in WORDS["yes or no"] and said[:1] != ["yes"]
    return [*((presupposed(question) or ()) if chooses else objects_in(question)), *objects_in(answer)]


@lru_cache(maxsize=1 << 16)
def _object(form: str) -> str:
    """The base form of a noun whose most frequent sense is an object, else ""."""
    nouns = load_wordnet().nouns
    if form in WORDS["seldom objects"]:
        return ""
    for base in nouns.base_forms(form)[::-1]:  # "glass" before "glasses"
        senses = nouns.senses(base)
        is_object = base in WORDS["often objects"] or (senses and _is_object(senses[0]))
        if is_object and base not in WORDS["seldom objects"]:
            return base
    return ""


@lru_cache(maxsize=1)
def _first_sense_names() -> dict[int, list[str]]:
    nouns = load_wordnet().nouns
    names: dict[int, list[str]] = {}
    for lemma, index in nouns.lemmas.items():
        if nouns.starts[index] < nouns.starts[index + 1]:
            names.setdefault(nouns.synsets[nouns.starts[index]], []).append(lemma)
    return names


@lru_cache(maxsize=1 << 16)
def _is_object(sense: int) -> bool:
    nouns = load_wordnet().nouns
    return any(nouns.senses(lemma)[root] in _ancestors(sense) for lemma, root in _ROOTS.items())


def _ancestors(sense: int) -> frozenset[int]:
    wordnet = load_wordnet()
    start, end = wordnet.ancestor_starts[sense], wordnet.ancestor_starts[sense + 1]
    return frozenset(wordnet.ancestors[start:end].tolist())
