"""Relations of texts in WordNet: words that may mean the same, and words that exclude one another.

Wu-Palmer similarity (`similarity`) measures how near two words are, not how they are related: two and three, or horse
and zebra, are near but exclude one another; motorcycle and vehicle are less near, and one is the other.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.text.wordnet import load_wordnet, starts_of
from hf_vqa_mc.text.wu_palmer import reading, reading_inline

LEAST_DEPTH = 3  # minimum WordNet depth of a hypernym: person has 3; object, thing and group have 2 and fit anything
EXCLUSIVE = (("integer", "digit"), ("chromatic_color", "achromatic_color"), ("animal",))
"""Lemmas above words that exclude one another unless one of them is the other: a thing has one of each."""
NUMBER = 0  # index of the first
NONE = -1


class Relations(NamedTuple):
    """Lookup tables of `related` and `exclusive`, for kernels; texts are numbers."""

    starts: NDArray[np.int32]  # (texts + 1,)
    related: NDArray[np.int32]  # the texts that are related to each text, ascending, concatenated
    masks: NDArray[np.uint64]  # (texts,): bit n % 64 is set for each related text n
    kinds: NDArray[np.int8]  # (texts,): index in EXCLUSIVE, NONE for other texts

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Relations":
        """The relations of comparable texts; a text of several words is looked up as a whole."""
        wordnet = load_wordnet()
        with_sense: dict[int, list[int]] = {}
        broader, kinds = list[list[int]](), []
        for number, text in enumerate(texts):
            form = text.replace(" ", "_")
            nouns, adjectives = wordnet.nouns.senses(form), wordnet.adjectives.senses(form)
            for sense in {*nouns, *adjectives}:
                with_sense.setdefault(sense, []).append(number)
            broader.append([*(_hypernyms(nouns[0]) if nouns else ())])
            for head in adjectives[:1]:  # and those of its cluster that it is similar to
                cluster = wordnet.similar[wordnet.similar_starts[head] : wordnet.similar_starts[head + 1]]
                broader[-1] += [head, *cluster.tolist()]
            kinds.append(_kind(text, nouns, bool(adjectives)))
        pairs = {
            (number, other)
            for number, synsets in enumerate(broader)
            for synset in synsets
            for other in with_sense.get(synset, ())
            if other != number
        }
        ordered = np.array(sorted(pairs | {(other, number) for number, other in pairs}), np.int32).reshape(-1, 2)
        masks = np.zeros(len(broader), np.uint64)
        np.bitwise_or.at(masks, ordered[:, 0], np.uint64(1) << (ordered[:, 1] & 63).astype(np.uint64))
        starts = starts_of(np.bincount(ordered[:, 0], minlength=len(broader)))
        return cls(starts, ordered[:, 1].copy(), masks, np.array(kinds, np.int8))


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
    senses = nouns if is_adjective else nouns[:1]
    return next((_roots()[one] for sense in senses for one in _hypernyms(sense) if one in _roots()), NONE)


@reading_inline
def related(text: int, other: int, relations: Relations) -> bool:
    """Whether one text, in any sense, includes the most frequent sense of the other.

    True for inflections (mice, mouse), synonyms (gray, grey), hypernyms (motorcycle, vehicle) and adjectives of which
    one is the head of the other's cluster (cloudless, clear).
    """
    if relations.masks[text] >> np.uint64(other & 63) & np.uint64(1) == 0:  # most pairs
        return False
    return _is_listed(text, other, relations)


@reading
def _is_listed(text: int, other: int, relations: Relations) -> bool:
    low, high = relations.starts[text], relations.starts[text + 1]
    while low < high:
        middle = (low + high) // 2
        if relations.related[middle] < other:
            low = middle + 1
        else:
            high = middle
    return bool(low < relations.starts[text + 1] and relations.related[low] == other)


@reading_inline
def exclusive(text: int, other: int, relations: Relations) -> bool:
    """Whether two different texts are different numbers, colours or animals."""
    kind = relations.kinds[text]
    return kind != NONE and kind == relations.kinds[other] and not related(text, other, relations)
