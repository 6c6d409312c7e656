"""What a question takes for granted, and whether it is known to be on an image (Goyal et al. 2017, Sect. 3).

The paper's workers saw that "what is the woman doing?" needs a woman. Here the objects that a question names are
looked for among what is known of an image: what its captions, its annotated instances, its other questions and their
answers name. Only annotated instances can say that an object is absent, and only of their own categories.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hf_vqa_mc.language.text import words
from hf_vqa_mc.language.wordnet import load_wordnet

UNKNOWN, HOLDS, FAILS = 0, 1, 2
PREMISES = ("unknown", "holds", "fails")
"""Names of the numbers above."""

_ASKS_WHETHER = (("is", "there"), ("are", "there"), ("do", "you", "see"), ("can", "you", "see"))
"""Questions that begin so ask whether an object is there, and take nothing for granted."""
_NO = frozenset(["no", "none", "zero", "nothing", "not", "nobody", "no one"])
"""Answers after which what a question names may well be absent."""
_PERSONS = {"he": "man", "his": "man", "him": "man", "she": "woman", "her": "woman", "they": "person"}
_PERSONS |= dict.fromkeys(("who", "people", "someone", "anyone", "everyone"), "person")
"""Words for a person, and what they take for granted."""
_FUNCTION_WORDS = frozenset(
    "a an the is are was were be been am do does did has have had can could will would should may might must in on at "
    "of to for from by with as if or and but not no yes it its i me my we us our you your this that these those them "
    "their there here what which where when why how whose many much any some all each more most one two three four "
    "five six seven eight nine ten zero than then so too very up down out over off".split()
)
"""Not objects, though WordNet has nouns that are spelt alike (a doe, arsenic, a can)."""
_PICTURE = frozenset("picture photo photograph image scene shot pic view side front back top bottom".split())
"""What every image has."""


@dataclass
class Known:
    """What is known of images, by image_id; words stand in their base forms."""

    captions: dict[str, list[str]] = field(default_factory=dict)
    """the captions of each image"""
    instances: dict[str, set[str]] = field(default_factory=dict)
    """the categories of the objects annotated on each image, all that are there of `categories`"""
    categories: frozenset[str] = frozenset()


class Premises:
    """Decides whether what questions take for granted holds on images.

    Args:
        image_ids: all images.
        questions: all questions.
        answers: of the questions.
        images: the place of each question's image in ``image_ids``.
        known: what else is known of the images.
    """

    def __init__(
        self,
        image_ids: Sequence[str],
        questions: Sequence[str],
        answers: Sequence[str],
        images: Iterable[int],
        known: Known,
    ) -> None:
        self._named: list[set[str]] = [set() for _ in image_ids]
        for question, answer, image in zip(questions, answers, images, strict=True):
            self._named[image] |= _told(question, answer)
        self._absent: list[frozenset[str]] = []
        for place, image_id in enumerate(image_ids):
            for caption in known.captions.get(image_id, ()):
                self._named[place].update(kind for noun in objects_in(caption) for kind in kinds_of(noun))
            there = known.instances.get(image_id)
            self._named[place].update(kind for name in there or () for kind in kinds_of(_category(name)))
            absent = known.categories - there if there is not None else frozenset()
            self._absent.append(frozenset(_category(name) for name in absent))

    def of(self, question: str) -> "Premise":
        """What a question takes for granted."""
        spoken = tuple(words(question))
        if any(spoken[: len(opening)] == opening for opening in _ASKS_WHETHER):
            return Premise(self._named, self._absent, None)
        return Premise(self._named, self._absent, objects_in(question))


@dataclass(frozen=True)
class Premise:
    """The objects that a question takes for granted; None if it asks whether they are there."""

    _named: list[set[str]]
    _absent: list[frozenset[str]]
    objects: list[str] | None

    def on(self, image: int) -> int:
        """HOLDS if all objects are known to be on the image at this place, FAILS if one is known to be absent."""
        if self.objects is None:
            return HOLDS
        missing = [noun for noun in self.objects if noun not in self._named[image]]
        if self.objects and not missing:
            return HOLDS
        absent = self._absent[image]
        return FAILS if absent and any(absent & kinds_of(noun) for noun in missing) else UNKNOWN


def _told(question: str, answer: str) -> set[str]:
    """The objects that a question and its answer say are on the image, and what they are kinds of."""
    said = words(answer)
    if " ".join(said) in _NO or (said and said[0] in _NO):
        return set()
    return {kind for text in (question, answer) for noun in objects_in(text) for kind in kinds_of(noun)}


@lru_cache(maxsize=1 << 16)
def _objects_in(text: str) -> tuple[str, ...]:
    spoken = words(text)
    found: dict[str, None] = {}
    place = 0
    while place < len(spoken):
        pair = "_".join(spoken[place : place + 2])
        if place + 1 < len(spoken) and spoken[place] not in _FUNCTION_WORDS and (noun := _object(pair)):
            found[noun] = None
            place += 2
            continue
        word = _PERSONS.get(spoken[place], spoken[place])
        if word not in _FUNCTION_WORDS and word not in _PICTURE and (noun := _object(word)):
            found[noun] = None
        place += 1
    return tuple(found)


def objects_in(text: str) -> list[str]:
    """The things that a text names, in their base forms: nouns whose most frequent sense is something to be seen.

    >>> objects_in("What color are the women's umbrellas?")
    ['woman', 'umbrella']
    >>> objects_in("What time is it?")
    []
    """
    return list(_objects_in(text))


@lru_cache(maxsize=1 << 16)
def _object(form: str) -> str:
    """The base form of a noun whose most frequent sense is an object, else ""."""
    nouns = load_wordnet().nouns
    for base in nouns.base_forms(form)[::-1]:  # "glasses" before "glass" only if nothing else is known
        senses = nouns.senses(base)
        if senses and _root() in _ancestors(senses[0]):
            return base
    return ""


@lru_cache(maxsize=1 << 16)
def kinds_of(noun: str) -> frozenset[str]:
    """What a noun in its base form is a kind of, as nouns whose most frequent sense that is, itself among them.

    >>> {"puppy", "dog", "animal"} <= kinds_of("puppy"), "puppy" in kinds_of("dog")
    (True, False)
    """
    senses = load_wordnet().nouns.senses(noun)
    above = [ancestor for ancestor in _ancestors(senses[0]) if _root() in _ancestors(ancestor)] if senses else []
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
def _root() -> int:
    """The sense of "object" that can be seen and touched."""
    return load_wordnet().nouns.senses("object")[0]


def _ancestors(sense: int) -> frozenset[int]:
    wordnet = load_wordnet()
    start, end = wordnet.ancestor_starts[sense], wordnet.ancestor_starts[sense + 1]
    return frozenset(wordnet.ancestors[start:end].tolist())


def _category(name: str) -> str:
    """A category's name as objects_in writes it: "fire hydrant" is fire_hydrant."""
    return "_".join(words(name))
