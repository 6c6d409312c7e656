"""Types of answers: categories of WordNet, chosen by the questions that an answer answers.

WordNet lists the categories above an answer's senses; the questions' beginnings decide which one is meant: "orange" is
an attribute after "what color is", and a natural object after "what fruit is".
"""

from functools import lru_cache

import numpy as np
import pyarrow as pa
import scipy

from hf_vqa_mc.decoys.candidates import Float64s, Int32s, Ints
from hf_vqa_mc.text.many_texts import word_lists
from hf_vqa_mc.text.normalisation import YES_NO
from hf_vqa_mc.text.wordnet import load_wordnet

CATEGORIES = (
    "act animal artifact attribute body_part cognition communication event feeling food group location motive "
    "natural_object natural_phenomenon person plant possession process measure relation shape state substance "
    "time_period"
).split()
"""Lemmas of WordNet's unique beginners of nouns (Miller 1998, Nouns in WordNet, Table 1.1)."""
ADJECTIVE, YES_OR_NO = len(CATEGORIES), len(CATEGORIES) + 1
"""Types of words that are only adjectives, and of `YES_NO`."""
N_TYPES = len(CATEGORIES) + 2
_NEXT_SENSE = 0.5
"""Probability of a sense relative to that of the sense before it; WordNet lists the most frequent one first."""
_ROUNDS = 10
_PRIOR_ROWS = 5.0
"""Rows of average questions added to those of each beginning."""
_LEAST = 1e-6


def answer_types(texts: list[str], answers: Ints, beginnings: Ints) -> Int32s:
    """The likeliest type of each answer by expectation maximization: a mixture of types for each beginning.

    Args:
        texts: comparable texts of the answers (answers,).
        answers: (rows,): index of each row's answer in ``texts``.
        beginnings: (rows,): number of the beginning of each row's question.

    Returns:
        int32 (answers,): index in CATEGORIES, ADJECTIVE or YES_OR_NO.
    """
    senses = _probabilities(texts)
    shape = (int(beginnings.max(initial=0)) + 1, len(texts))
    counts = scipy.sparse.coo_matrix((np.ones(len(answers)), (beginnings, answers)), shape).tocsr()
    of_answers = np.bincount(answers, minlength=len(texts))[:, None]
    found = senses
    for _ in range(_ROUNDS):
        average = (found * of_answers).sum(axis=0) / max(len(answers), 1)
        mixtures = counts @ found + _PRIOR_ROWS * average + _LEAST
        logs = np.log(mixtures / mixtures.sum(axis=1, keepdims=True))
        means = counts.T @ logs / np.maximum(of_answers, 1)
        found = senses * np.exp(means - means.max(axis=1, keepdims=True))
        found /= found.sum(axis=1, keepdims=True)
    likeliest: Int32s = found.argmax(axis=1).astype(np.int32)
    return likeliest


def _probabilities(texts: list[str]) -> Float64s:
    """Probability of each type by WordNet alone, (texts, N_TYPES): by the last word with a type; else all the same."""
    found = np.full((len(texts), N_TYPES), _LEAST)
    for row, words in enumerate(word_lists(pa.array(texts, pa.large_string()))):
        types = next(filter(None, map(_types_of, reversed(words))), ())
        if texts[row] in YES_NO:
            found[row] = np.arange(N_TYPES) == YES_OR_NO
        elif types:
            np.add.at(found[row], list(types), _NEXT_SENSE ** np.arange(len(types)))
        else:
            found[row] = 1.0
    found[[text not in YES_NO for text in texts], YES_OR_NO] = 0.0
    return found


@lru_cache(maxsize=100_000)
def _types_of(word: str) -> tuple[int, ...]:
    """The types of a word's noun senses, else of its adjective senses, most frequent sense first."""
    wordnet, types = load_wordnet(), _types_of_synsets()
    senses = wordnet.senses(word, nouns_only=True) or wordnet.adjectives.senses(word)
    return tuple(int(types[sense]) for sense in senses if types[sense] < N_TYPES)


@lru_cache(maxsize=1)
def _types_of_synsets() -> Int32s:
    """(synsets,): the category that is the nearest ancestor, ADJECTIVE for adjectives, N_TYPES for other synsets.

    A category is the sense of its lemma with the most synsets below it.
    """
    wordnet = load_wordnet()
    below = np.bincount(wordnet.ancestors)
    category = np.full(len(wordnet.depths), N_TYPES, np.int32)
    category[[max(wordnet.nouns.senses(lemma), key=below.__getitem__) for lemma in CATEGORIES]] = range(ADJECTIVE)
    starts, ancestors = wordnet.ancestor_starts, wordnet.ancestors
    synsets = np.repeat(np.arange(len(category)), np.diff(starts))
    links = np.flatnonzero(category[ancestors] < N_TYPES)
    links = links[np.lexsort((category[ancestors[links]], wordnet.distances[links], synsets[links]))]
    found = np.full(len(category), N_TYPES, np.int32)
    nearest = links[np.unique(synsets[links], return_index=True)[1]]
    found[synsets[nearest]] = category[ancestors[nearest]]
    found[wordnet.adjectives.synsets] = ADJECTIVE
    return found
