"""What a question takes for granted, and whether it is known to be on an image (Goyal et al. 2017, Sect. 3).

The paper's workers saw that "what is the woman doing?" needs a woman. Here the objects that a question takes for
granted are looked for among what is known of an image: what its captions, its annotated instances, its other questions
and their answers name. Only annotated instances can say that an object is absent, and only of their own categories.

A question that is not answered by yes or no takes all objects that it names for granted. One that is takes those that
it speaks of as known ("the clock", "this man", "he"), and asks about the others: "is there a big tree behind the
clock?" needs a clock and no tree, "is there a tree?" and "is this a kitchen?" need nothing but an image.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

from hf_vqa_mc.engines.complementary.named_objects import (
    FUNCTION_WORDS,
    WORDS,
    Named,
    kinds_of,
    named_in,
    objects_in,
)
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words

UNKNOWN, HOLDS, FAILS, NONE = 0, 1, 2, 3
PREMISES = ("unknown", "holds", "fails", "none")
"""Names of the numbers above; none: nothing is taken for granted, so the question makes sense of any image."""

_ASKS_WHETHER = frozenset(
    [
        *product(("is", "are", "was", "were"), ("there",)),
        *product(("do", "can", "could", "did"), ("you", "we", "i"), ("see", "spot", "notice", "find")),
        *product(("does", "do"), ("this", "the"), ("picture", "photo", "image", "scene"), ("show", "have", "contain")),
    ]
)
"""Openings of questions whether the object named next is there."""
_ASKS_WHAT = frozenset(product(("is", "are", "was", "were"), ("this", "that", "it", "these", "those")))
"""Openings of questions whether what is shown is of a kind, where an article comes next or the kind comes last."""
_BEFORE_A_NOUN = WORDS.known | WORDS.articles | WORDS.quantities | frozenset(SMALL_NUMBERS)


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
        return Premise(self._named, self._absent, taken_for_granted(question))


@dataclass(frozen=True)
class Premise:
    """The objects that a question takes for granted; None if it takes nothing for granted."""

    _named: list[set[str]]
    _absent: list[frozenset[str]]
    objects: Sequence[str] | None

    def on(self, image: int) -> int:
        """Whether all objects are known to be on the image at this place, or one to be absent.

        Returns:
            HOLDS, FAILS or UNKNOWN; NONE, on any image, where nothing is taken for granted.
        """
        if self.objects is None:
            return NONE
        missing = [noun for noun in self.objects if noun not in self._named[image]]
        if self.objects and not missing:
            return HOLDS
        absent = self._absent[image]
        return FAILS if absent and any(absent & kinds_of(noun) for noun in missing) else UNKNOWN


@lru_cache(maxsize=1 << 16)
def taken_for_granted(question: str) -> tuple[str, ...] | None:
    """The objects without which a question makes no sense, in their base forms; None if it needs but an image.

    None is for questions whether something is there. Of a question that names no object, such as "is it raining?", it
    is not known what it takes for granted: there is nothing to look for. Nor is it of "is this a dog or a cat?", which
    takes for granted that one of them is there.

    >>> taken_for_granted("Is there a big tree behind the clock?")
    ('clock',)
    >>> taken_for_granted("Are there any trees?") is None
    True
    >>> taken_for_granted("What color is the tree?")
    ('tree',)
    """
    spoken = words(question)
    named = named_in(spoken)
    if not spoken or spoken[0].removesuffix("n't").removesuffix("n’t") not in WORDS.yes_or_no:
        return tuple(dict.fromkeys(one.noun for one in named))
    spoken[0] = spoken[0].removesuffix("n't").removesuffix("n’t")
    asked = next((one for one in named[:1] if _is_asked_about(one, spoken)), None)
    known: list[Named] = []
    for place, one in enumerate(named):
        if one is not asked and _is_known(one, spoken, named[:place], known):
            known.append(one)
    if not known and (_opening(spoken) or (named and "or" not in spoken)):
        return None
    return tuple(dict.fromkeys(one.noun for one in known))


def _opening(spoken: Sequence[str]) -> int:
    """Words of the opening that asks whether something is there, 0 if there is none."""
    return next((size for size in (2, 3, 4) if tuple(spoken[:size]) in _ASKS_WHETHER), 0)


def _is_asked_about(one: Named, spoken: Sequence[str]) -> bool:
    """Whether it is asked if this object, the first that is named, is there or is what is shown."""
    opening = _opening(spoken)
    is_kind = tuple(spoken[:2]) in _ASKS_WHAT and (spoken[2] in WORDS.articles or one.end == len(spoken))
    if not opening and not is_kind:
        return False
    between = spoken[opening or len(("is", "this")) : one.start]
    return not any(word in FUNCTION_WORDS and word not in _BEFORE_A_NOUN for word in between)


def _is_known(one: Named, spoken: Sequence[str], before: Sequence[Named], known: Sequence[Named]) -> bool:
    """Whether an object is spoken of as known: "he", "the three big trees", "the bus stop", but not "a tree"."""
    if spoken[one.start] in WORDS.persons:
        return True
    place = one.start - 1
    if before and before[-1].end == one.start:
        return before[-1] in known
    while place >= 0 and (spoken[place] not in FUNCTION_WORDS or spoken[place] in SMALL_NUMBERS):
        if any(other.start <= place < other.end for other in before):  # "the man wearing glasses"
            return False
        place -= 1
    return place >= 0 and spoken[place] in WORDS.known


def _told(question: str, answer: str) -> set[str]:
    """The objects that a question and its answer say are on the image, and what they are kinds of."""
    said = words(answer)
    if " ".join(said) in WORDS.no or (said and said[0] in WORDS.no):
        return set()
    nouns = [*_said_to_be_there(question, said), *objects_in(answer)]
    return {kind for noun in nouns for kind in kinds_of(noun)}


def _said_to_be_there(question: str, said: Sequence[str]) -> Sequence[str]:
    """All objects of a question, but of "is this a dog or a cat?", which names what is not there, what it needs."""
    spoken = words(question)
    if "or" in spoken and spoken[0] in WORDS.yes_or_no and said[:1] != ["yes"]:
        return taken_for_granted(question) or ()
    return objects_in(question)


def _category(name: str) -> str:
    """A category's name as objects_in writes it: "fire hydrant" is fire_hydrant."""
    return "_".join(words(name))
