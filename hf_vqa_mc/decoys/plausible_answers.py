"""Answers that fit a question: those to questions that begin with the same words, and their types.

Fallbacks are answers of random rows with the longest common beginning, so each occurs as often as it is correct there.
Below three words a beginning such as "what is" says little; answers of the target's type come first there.

Types are categories of WordNet, which lists those above an answer's senses; the questions' beginnings decide which one
is meant: "orange" is an attribute after "what color is", and a natural object after "what fruit is".
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import scipy

from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float64s, Int32s, Int64s, Ints, NumberedTexts
from hf_vqa_mc.text.many_texts import word_lists
from hf_vqa_mc.text.normalisation import YES_NO
from hf_vqa_mc.text.wordnet import load_wordnet

CATEGORIES = (
    "act animal artifact attribute body_part cognition communication event feeling food group location motive "
    "natural_object natural_phenomenon person plant possession process measure relation shape state substance "
    "time_period"
).split()
"""Lemmas of WordNet's unique beginners of nouns (Miller 1998, Nouns in WordNet, Table 1.1)."""
ADJECTIVE, YES_OR_NO = len(CATEGORIES), len(CATEGORIES) + 1  # types of words that are only adjectives, and of `YES_NO`
N_TYPES = len(CATEGORIES) + 2
_NEXT_SENSE = 0.5
"""Probability of a sense relative to that of the sense before it; WordNet lists the most frequent one first."""
_ROUNDS = 10
_PRIOR_ROWS = 5.0  # rows of average questions added to those of each beginning
_LEAST = 1e-6
TYPED_WORDS = 4  # words of the beginnings from which types of answers are learned
LEVELS = ((5, False), (4, False), (3, False), (2, True), (2, False), (0, True), (0, False))
"""Rows from which fallbacks are drawn, in this order: equal words at the beginning of the question, and whether the
target has the same type. The target's type before equal beginnings would reveal the target: on COCO-QA (``iou_qou``,
chance 14.3) a set network reaches 40% by the choices alone with types first and 37% with beginnings first."""
DRAWS = 24  # draws from each level, with replacement


class PlausibleAnswers(NamedTuple):
    """Lookup tables of fitting answers, for numba kernels."""

    types: Int32s  # (triplets,): the type of each target
    rows: Int32s  # the training triplets by type and beginning, then by beginning alone
    ranges: Int32s  # (triplets, LEVELS, 2): first and last + 1 index in `rows` of each level
    opposites: Int32s  # (keys,): the text number of the opposite of "yes" and "no", else MISSING


def plausible_answers(
    candidates: NumberedTexts, targets: Int32s, questions: pa.Array, training: Bools
) -> PlausibleAnswers:
    """Learn types of answers, and sort the training triplets by the beginnings of their comparable questions."""
    beginnings = numbered_beginnings(questions, {TYPED_WORDS, *(n_words for n_words, _ in LEVELS)})
    keys = candidates.keys[targets]
    types = answer_types(candidates.key_texts, keys, beginnings[TYPED_WORDS])[keys]
    rows: list[Int32s] = []
    ranges = np.empty((len(targets), len(LEVELS), 2), np.int32)
    donors, none = np.flatnonzero(training), np.zeros_like(types)
    for typed in (True, False):
        of_type = types if typed else none
        columns: list[Ints] = [*reversed(beginnings.values()), of_type]
        order = donors[np.lexsort([column[donors] for column in columns])]
        for level, (n_words, same_type) in enumerate(LEVELS):
            if same_type == typed:
                ranges[:, level] = _ranges(of_type, beginnings[n_words], order) + len(donors) * len(rows)
        rows.append(order.astype(np.int32))
    found = np.full(len(candidates.key_texts), MISSING, np.int32)
    frequent = candidates.most_frequent(targets)
    texts = {candidates.key_texts[candidates.keys[text]]: text for text in frequent.tolist()}
    for answer, opposite in (YES_NO, YES_NO[::-1]):
        if answer in texts and opposite in texts:
            found[candidates.keys[texts[answer]]] = texts[opposite]
    return PlausibleAnswers(types, np.concatenate(rows), ranges, found)


def numbered_beginnings(questions: pa.Array, lengths: set[int]) -> dict[int, Int64s]:
    """Equal numbers for questions with the same first n words, for each n, shortest first, (questions,) each."""
    encoded = questions.dictionary_encode()
    words, of_row = [text.split(" ") for text in encoded.dictionary.to_pylist()], encoded.indices.to_numpy()
    begin = {n: pa.array([" ".join(one[:n]) for one in words], pa.string()) for n in sorted(lengths)}
    return {n: np.array(texts.dictionary_encode().indices, np.int64)[of_row] for n, texts in begin.items()}


def _ranges(types: Int32s, beginnings: Int64s, order: Int64s) -> Int64s:
    """The range in ``order`` of the rows with each row's type and beginning, (rows, 2)."""
    together = types * (beginnings.max(initial=0) + 1) + beginnings
    _, group = np.unique(together, return_inverse=True)
    sizes = np.bincount(group[order], minlength=int(group.max(initial=0)) + 1)
    first = np.zeros_like(sizes)
    changes = np.flatnonzero(np.diff(group[order], prepend=-1))
    first[group[order[changes]]] = changes
    return np.stack([first[group], first[group] + sizes[group]], axis=1)


def answer_types(texts: list[str], answers: Ints, beginnings: Ints) -> Int32s:
    """The likeliest type of each answer by expectation maximization: a mixture of types for each beginning.

    ``texts`` are comparable, ``answers`` (rows,) are indices in them, ``beginnings`` (rows,) those of the questions.
    Returns int32 (answers,): index in CATEGORIES, ADJECTIVE or YES_OR_NO.
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
