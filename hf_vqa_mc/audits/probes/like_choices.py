"""A prior over groups of like choices: the target is in the row's group of colours, or outside it."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.heuristics import Folds, Values, prior_probe
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import TIED, ProbeInputs
from hf_vqa_mc.audits.similar_choices import MOST_CHOICES
from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.decoys.statistics import target_picked
from hf_vqa_mc.text.wordnet import load_wordnet

DEPTHS = range(2, 9)
"""Depths of WordNet's branches, from "object" to kinds of things; "color" is at 5."""
MOST_SENSES = 4
"""Number of senses of a word, the most frequent ones: "white" as a colour is its second."""
FORMS = ((r"\p{Lu}+", "A"), (r"[\p{Ll}\p{Lo}\p{Lm}]+", "a"), (r"\p{N}+", "0"))
"""Replacements that leave the form of a text: "Twelve at 12:30" becomes "Aa a 0:0"."""

Sizes = NDArray[np.int64]
"""(rows, choices): number of choices of the row that are like this one, itself included; 0 for padding"""
Categories = Any
"""sparse (texts, categories): the categories of each text; texts that share one are alike"""


def like_choices_prior(rows: Rows, folds: Folds) -> Values:
    """Pick the choice whose group of like choices has the size that the targets' groups have in other folds.

    Choices of a row are alike if they have the same form, first word or last word, or if their last words are in the
    same branch of WordNet. A choice is described by the size of its group and of the row's largest group. Of these
    kinds of groups, the one that predicts the targets of the other folds best is used.

    Args:
        rows: rows to count and to predict.
        folds: (rows,): fold of each row, from 0; a row is predicted with the counts of the other folds.

    Returns:
        float64 (rows,).
    """
    described: list[NDArray[np.int16]] = []
    for texts, categories in _kinds_of_groups(rows):
        sizes = _group_sizes(texts, categories.indptr.astype(np.int64), categories.indices.astype(np.int64))
        numbers = sizes * (MOST_CHOICES + 1) + sizes.max(axis=1, keepdims=True)
        described.append(np.where(rows.valid, numbers, 0).astype(np.int16))
    shares = np.ones(rows.texts.shape)
    for fold in np.unique(folds):
        test = folds == fold
        if not test.all():
            shares[test] = _target_shares(described, rows.valid, ~test)[test]
    return target_picked(shares, rows.keys)


def _target_shares(described: list[NDArray[np.int16]], valid: NDArray[np.bool_], known: NDArray[np.bool_]) -> Values:
    """The share of targets among known choices of the same description, (rows, choices), smoothed by one choice."""
    chance = 1.0 / valid.sum(axis=1)
    best, highest = None, float(np.log(chance[known]).sum())
    for numbers in described:
        of_known = numbers[known]
        size = int(numbers.max()) + 1
        counts, targets = (np.bincount(codes.ravel(), minlength=size) for codes in (of_known, of_known[:, 0]))
        shares = (targets + chance.mean()) / (counts + 1)
        shares[0] = 0.0  # padding
        of_choices = shares[of_known]
        likelihood = float(np.log(of_choices[:, 0] / (of_choices @ np.ones(valid.shape[1]))).sum())
        if likelihood > highest + TIED:
            best, highest = (shares, numbers), likelihood
    return np.ones(valid.shape) if best is None else best[0][best[1]]


def _kinds_of_groups(rows: Rows) -> Iterator[tuple[NDArray[np.int32], Categories]]:
    """Text numbers (rows, choices) and the texts' categories: form, first word, last word, branches of WordNet."""
    forms: Any = pc.utf8_trim_whitespace(pa.array(rows.vocabulary.choices, pa.large_string()))
    for pattern, letter in FORMS:
        forms = pc.replace_substring_regex(forms, pattern, letter)
    yield rows.texts, _one_hot(forms.dictionary_encode().indices.to_numpy())
    worded, keys = rows.vocabulary.worded, len(rows.vocabulary.key_texts)
    first, end = worded.starts[:keys], worded.starts[1 : keys + 1]
    begun, last = (np.where(first < end, np.append(worded.numbers, MISSING)[at], MISSING) for at in (first, end - 1))
    yield rows.keys, _one_hot(begun)
    yield rows.keys, _one_hot(last)
    wordnet, words = load_wordnet(), np.unique(last[last != MISSING])
    senses = [wordnet.senses(word, nouns_only=True)[:MOST_SENSES] for word in worded.words.take(words).to_pylist()]
    synsets = np.array([*chain.from_iterable(senses)], np.int64)
    of_words = _lists(synsets, starts(list(map(len, senses))), len(wordnet.depths))
    of_texts = _one_hot(np.where(last == MISSING, MISSING, np.searchsorted(words, last)), len(words)) @ of_words
    for depth in DEPTHS:
        at_depth = wordnet.min_depths[wordnet.ancestors] == depth
        branches = _lists(wordnet.ancestors[at_depth], starts(at_depth)[wordnet.ancestor_starts], len(wordnet.depths))
        yield rows.keys, of_texts @ branches


def _one_hot(categories: NDArray[np.integer], size: int | None = None) -> Categories:
    """One category of each text, or MISSING."""
    (texts,) = (categories != MISSING).nonzero()
    shape = (len(categories), int(categories.max(initial=0)) + 1 if size is None else size)
    return scipy.sparse.csr_matrix((np.ones(len(texts), np.bool_), (texts, categories[texts])), shape=shape)


def _lists(numbers: NDArray[np.integer], first: NDArray[np.integer], size: int) -> Categories:
    """The categories of all texts, concatenated, with the start of each text's and the end."""
    return scipy.sparse.csr_matrix((np.ones(len(numbers), np.bool_), numbers, first), shape=(len(first) - 1, size))


@njit(cache=True)
def _group_sizes(texts: NDArray[np.int32], first: NDArray[np.int64], categories: NDArray[np.int64]) -> Sizes:
    """Sizes of the groups; in rows with more than MOST_CHOICES, all are 1."""
    sizes = np.zeros(texts.shape, np.int64)
    for row in range(len(texts)):
        wide = texts.shape[1] > MOST_CHOICES and texts[row, MOST_CHOICES] != MISSING
        for one in range(texts.shape[1]):
            if texts[row, one] == MISSING:
                continue
            sizes[row, one] += 1
            for other in range(0 if wide else one):
                if texts[row, other] != MISSING and _alike(texts[row, one], texts[row, other], first, categories):
                    sizes[row, one] += 1
                    sizes[row, other] += 1
    return sizes


@njit(cache=True)
def _alike(one: int, other: int, first: NDArray[np.int64], categories: NDArray[np.int64]) -> bool:
    """Whether two texts share a category."""
    for i in range(first[one], first[one + 1]):
        for j in range(first[other], first[other + 1]):
            if categories[i] == categories[j]:
                return True
    return False


LIKE_CHOICES = (
    prior_probe(
        "like choices prior",
        ProbeInputs.CHOICES,
        "picks from the group of like choices (kind, form, first or last word) that is most often correct",
        like_choices_prior,
    ),
)
