"""Wu-Palmer similarity (WUP) of words and phrases, bit for bit equal to NLTK's and fast enough for every candidate.

Chao et al. 2018, Supplement B, eq. 3 and 4. `wup` and `phrase_wup` are for a few words. For many phrases, number their
words, compute `word_scores` once and call `phrase_score` in a numba kernel.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.text.wordnet import load_wordnet, starts_of
from hf_vqa_mc.text.wu_palmer import WordScores, directed_score, exact_word_score, phrase_score, with_near_words

__all__ = ["WordScores", "exact_word_score", "phrase_score", "phrase_wup", "word_scores", "wup"]

NEAR_TABLE_FROM = 0.8
"""From this threshold on pairs are looked up in a table: 2d/(2d + s) >= 0.8 only for path lengths s <= d/2."""


def wup(word: str, other: str) -> float:
    """Eq. 3: the best s.wup_similarity(o) of NLTK over the noun and adjective synsets s of a word and o of another.

    In [0, 1], not always symmetric, and below 1 for some words with themselves (NLTK's path to an ancestor that is
    deeper than the synset itself). A word without synsets scores 1 with itself and 0 with others.

    >>> round(wup("cat", "dog"), 3), round(wup("lady", "woman"), 3), wup("two", "three")
    (0.857, 0.632, 0.9)
    """
    tokens, scores = _numbered([word], [other])
    return float(directed_score(tokens, 0, 1, 1, 2, scores))


def phrase_wup(phrase: Sequence[str], other: Sequence[str]) -> float:
    """Eq. 4 (garbled in the paper's text): the larger of the two directed scores of two phrases, in [0, 1].

    Directed: the product, over the words of one phrase, of the best `wup` with a word of the other. A phrase without
    words scores 1 with another such phrase and 0 with any other.

    >>> phrase_wup(["a", "cute", "cat"], ["cat"])
    1.0
    """
    tokens, scores = _numbered(phrase, other)
    return float(phrase_score(tokens, 0, len(phrase), len(phrase), len(tokens), scores))


def _numbered(phrase: Sequence[str], other: Sequence[str]) -> tuple[NDArray[np.int32], WordScores]:
    numbers = {word: number for number, word in enumerate(dict.fromkeys([*phrase, *other]))}
    return np.array([numbers[word] for word in (*phrase, *other)], np.int32), word_scores(list(numbers), 0.0)


def word_scores(vocabulary: Sequence[str], threshold: float, *, nouns_only: bool = False) -> WordScores:
    """The similarity of any two words of a vocabulary, exact for phrases that score at least ``threshold``, in [0, 1].

    The words are distinct; a word's number is its index. From a threshold of 0.8 on, word pairs are looked up in a
    table (milliseconds to prepare); below, they are computed on demand (some hundred times slower). With
    ``nouns_only``, as in WUPS, a word that is only an adjective has no synsets.
    """
    wordnet = load_wordnet()
    senses = [wordnet.senses(word, nouns_only=nouns_only) for word in vocabulary]
    exact = WordScores(
        near_starts=np.empty(0, np.int32),
        near_words=np.empty(0, np.int32),
        near_scores=np.empty(0, np.float64),
        near_masks=np.empty(0, np.uint64),
        sense_starts=starts_of(list(map(len, senses))),
        senses=np.array(list(chain.from_iterable(senses)), np.int32),
        depths=wordnet.depths,
        min_depths=wordnet.min_depths,
        reaches=wordnet.reaches,
        ancestor_starts=wordnet.ancestor_starts,
        ancestors=wordnet.ancestors,
        distances=wordnet.distances,
    )
    return exact if threshold < NEAR_TABLE_FROM else with_near_words(exact, threshold)
