"""Relations of texts in WordNet: words that may mean the same, and words that exclude one another.

Wu-Palmer similarity (`similarity`) measures how near two words are, not how they are related: two and three, or horse
and zebra, are near but exclude one another; motorcycle and vehicle are less near, and one is the other.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.text.wordnet import load_wordnet, starts_of
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

LEAST_DEPTH = 3
"""Minimum WordNet depth of a hypernym: person has 3; object, thing and group have 2 and fit anything."""
EXCLUSIVE = (("integer", "digit"), ("chromatic_color", "achromatic_color"), ("animal",))
"""Lemmas above words that exclude one another unless one of them is the other: a thing has one of each."""
NUMBER, COLOUR, _ = range(len(EXCLUSIVE))
NONE = -1


class Relations(NamedTuple):
    """Lookup tables of `related` and `exclusive`, for kernels; texts are numbers."""

    sense_starts: NDArray[np.int32]  # (texts + 1,)
    senses: NDArray[np.int32]  # the synsets of each text, concatenated
    sense_masks: NDArray[np.uint64]  # (texts,): bit s % 64 is set for each synset s
    broader_starts: NDArray[np.int32]  # (texts + 1,)
    broader: NDArray[np.int32]  # each text's most frequent sense, its hypernyms and similar adjectives, concatenated
    broader_masks: NDArray[np.uint64]  # (texts,)
    kinds: NDArray[np.int8]  # (texts,): index in EXCLUSIVE, NONE for other texts

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Relations":
        """The relations of comparable texts; a text of several words is looked up as a whole."""
        wordnet = load_wordnet()
        senses, broader, kinds = [], [], []
        for text in texts:
            form = text.replace(" ", "_")
            nouns, adjectives = wordnet.nouns.senses(form), wordnet.adjectives.senses(form)
            senses.append([*nouns, *adjectives])
            broader.append([*_hypernyms(nouns[0])] if nouns else [])
            for sense in adjectives[:1]:
                similar = wordnet.similar[wordnet.similar_starts[sense] : wordnet.similar_starts[sense + 1]]
                broader[-1] += [sense, *similar.tolist()]
            kinds.append(_kind(text, nouns, bool(adjectives)))
        return cls(*_lists(senses), *_lists(broader), np.array(kinds, np.int8))


def _lists(lists: list[list[int]]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint64]]:
    flat, sizes = np.array(list(chain.from_iterable(lists)), np.int32), list(map(len, lists))
    masks = np.zeros(len(lists), np.uint64)
    np.bitwise_or.at(masks, np.repeat(np.arange(len(lists)), sizes), np.uint64(1) << (flat & 63).astype(np.uint64))
    return starts_of(sizes), flat, masks


@lru_cache(maxsize=100_000)
def _hypernyms(synset: int) -> tuple[int, ...]:
    """A noun synset and its hypernyms that say something."""
    wordnet = load_wordnet()
    found = wordnet.ancestors[wordnet.ancestor_starts[synset] : wordnet.ancestor_starts[synset + 1]]
    return tuple(one for one in found.tolist() if one == synset or wordnet.min_depths[one] >= LEAST_DEPTH)


@lru_cache(maxsize=1)
def _roots() -> dict[int, int]:
    """Synset to index in EXCLUSIVE."""
    nouns = load_wordnet().nouns
    return {nouns.senses(lemma)[0]: kind for kind, lemmas in enumerate(EXCLUSIVE) for lemma in lemmas}


def _kind(text: str, nouns: list[int], is_adjective: bool) -> int:
    """The kind in EXCLUSIVE by the most frequent sense, of an adjective by any sense: "orange" is a colour."""
    if text.isdecimal():
        return NUMBER
    roots = _roots()
    for sense in nouns if is_adjective else nouns[:1]:
        for one in _hypernyms(sense):
            if one in roots:
                return roots[one]
    return NONE


@reading_inline
def related(text: int, other: int, relations: Relations) -> bool:
    """Whether one text, in any sense, includes the most frequent sense of the other.

    True for inflections (mice, mouse), synonyms (gray, grey), hypernyms (motorcycle, vehicle) and adjectives of which
    one is the head of the other's cluster (cloudless, clear).
    """
    return _includes(text, other, relations) or _includes(other, text, relations)


@reading
def _includes(general: int, special: int, relations: Relations) -> bool:
    if relations.sense_masks[general] & relations.broader_masks[special] == 0:
        return False
    for i in range(relations.sense_starts[general], relations.sense_starts[general + 1]):
        for j in range(relations.broader_starts[special], relations.broader_starts[special + 1]):
            if relations.senses[i] == relations.broader[j]:
                return True
    return False


@reading_inline
def exclusive(text: int, other: int, relations: Relations) -> bool:
    """Whether two different texts are different numbers, colours or animals."""
    kind = relations.kinds[text]
    return kind != NONE and kind == relations.kinds[other] and not related(text, other, relations)
