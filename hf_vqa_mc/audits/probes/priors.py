"""Priors that count labels: of texts, of texts by the question's beginning, and of groups of like choices."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.probes.probe import Context, Probe, Values
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import TIED, Prediction, ProbeInputs
from hf_vqa_mc.audits.similar_choices import MOST_CHOICES, Lists, choice_pairs, common
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.decoys.statistics import NEVER_SEEN, PriorRule, decoys_per_row, target_picked
from hf_vqa_mc.text.wordnet import load_wordnet

DEPTHS = range(2, 9)  # depths of WordNet's branches, from "object" to kinds of things; "color" is at 5
MOST_SENSES = 4  # number of senses of a word, the most frequent ones: "white" as a colour is its second
FORMS = ((r"\p{Lu}+", "A"), (r"[\p{Ll}\p{Lo}\p{Lm}]+", "a"), (r"\p{N}+", "0"))
"""Replacements that leave the form of a text: "Twelve at 12:30" becomes "Aa a 0:0"."""

Folds = NDArray[np.int8]


def answer_prior(rows: Rows, folds: Folds) -> Values:
    """Pick the choice that is most often correct relative to how often it is presented (Chao et al. 2018, eq. 2).

    Args:
        rows: rows to count and to predict.
        folds: (rows,): fold of each row, from 0; a row is predicted with the counts of the other folds.

    Returns:
        float64 (rows,).
    """
    return target_picked(_likelihood(rows, folds)[0], rows.keys)


def question_answer_prior(rows: Rows, folds: Folds) -> Values:
    """Pick by eq. 2 counted among questions with the same beginning; for the arguments see `answer_prior`.

    P_0 is eq. 2 over all questions; P_n counts only questions with the same first n words (up to `MOST_WORDS`), with
    P_n-1 as a prior of the weight of one row::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it is within 3 points of the paper's trained MLP-QA (Table 8).
    """
    likelihood, decoys = _likelihood(rows, folds)
    n_keys, n_folds = len(rows.vocabulary.key_texts), int(folds.max()) + 1
    row, column = np.nonzero(rows.valid)
    key = rows.keys[row, column]
    left = np.bincount(key, minlength=n_keys)[key] > 1
    for beginning in rows.vocabulary.beginnings.T:
        row, column, key = row[left], column[left], key[left]
        left = beginning[rows.questions[row]] != MISSING
        row, column, key = row[left], column[left], key[left]
        if not len(key):
            break
        pair = beginning[rows.questions[row]].astype(np.int64) * n_keys + key
        # by hashes, several times faster than np.unique
        group = pa.array(pair).dictionary_encode().indices.to_numpy().astype(np.int64)
        counts = np.bincount(group)
        cell = group * n_folds + folds[row]
        as_target, as_decoy = (
            np.bincount(group[some], minlength=len(counts))[group]
            - np.bincount(cell[some], minlength=len(counts) * n_folds)[cell]
            for some in (column == 0, column > 0)
        )
        before = likelihood[row, column]
        likelihood[row, column] = (as_target + before) / (as_target + as_decoy / decoys[row] + 1.0)
        left = counts[group] > 1
    return target_picked(likelihood, rows.keys)


def counted_in(train: Rows, rows: Rows, prior: Callable[[Rows, Folds], Values]) -> Values:
    """Predict ``rows`` with a prior that is counted in ``train``, rows with the same vocabulary."""
    sides = np.repeat(np.arange(2, dtype=np.int8), [len(train), len(rows)])
    return prior(train.followed_by(rows), sides)[len(train) :]


def _likelihood(rows: Rows, folds: Folds) -> tuple[Values, NDArray[np.int64]]:
    """P(correct | C) of each choice (rows, choices) and K (rows,), counted in the other folds."""
    likelihood, decoys = np.full(rows.keys.shape, NEVER_SEEN), np.ones(len(rows), np.int64)
    for fold in np.unique(folds):
        test = folds == fold
        if not test.all():
            train = rows.keys[~test]
            decoys[test] = n_decoys = decoys_per_row(train)
            rule = PriorRule.fit(train, len(rows.vocabulary.key_texts), n_decoys)
            likelihood[test] = rule.likelihood[rows.keys[test]]
    return likelihood, decoys


def like_choices_prior(rows: Rows, folds: Folds) -> Values:
    """Pick the choice whose group of like choices has the size that the targets' groups have in other folds.

    Choices of a row are alike if they have the same form, first word or last word, or if their last words are in the
    same branch of WordNet. A choice is described by the size of its group and of the row's largest group. Of these
    kinds of groups, the one that predicts the targets of the other folds best is used. In rows with more than
    MOST_CHOICES, no choices are alike. For the arguments see `answer_prior`.
    """
    described: list[NDArray[np.int16]] = []
    for texts, categories in _kinds_of_groups(rows):
        sizes = rows.valid.astype(np.int64)
        for row, column, other_column, one, other in choice_pairs(texts):
            alike = common(one, other, categories) > 0
            sizes[row, column] += alike
            sizes[row, other_column] += alike
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


def _kinds_of_groups(rows: Rows) -> Iterator[tuple[NDArray[np.int32], Lists]]:
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


def _one_hot(categories: NDArray[np.integer], size: int | None = None) -> Lists:
    """One category of each text, or MISSING."""
    (texts,) = (categories != MISSING).nonzero()
    shape = (len(categories), int(categories.max(initial=0)) + 1 if size is None else size)
    return scipy.sparse.csr_matrix((np.ones(len(texts), np.bool_), (texts, categories[texts])), shape=shape)


def _lists(numbers: NDArray[np.integer], first: NDArray[np.integer], size: int) -> Lists:
    """The categories of all texts, concatenated, with the start of each text's and the end."""
    return scipy.sparse.csr_matrix((np.ones(len(numbers), np.bool_), numbers, first), shape=(len(first) - 1, size))


def _prior(name: str, sees: ProbeInputs, sentence: str, prior: Callable[[Rows, Folds], Values]) -> Probe:
    """A prior that is counted in the training split, or without one in other folds of the audited split."""

    def run(context: Context) -> Prediction:
        rows, train = context.rows, context.train_rows
        scores = prior(rows, context.folds) if train is None else counted_in(train, rows, prior)
        return Prediction(scores, folds=context.n_folds)

    return Probe(name, sees, sentence, run, fitted=True)


PRIORS = (
    _prior("answer prior (eq. 2)", ProbeInputs.CHOICES,
           "picks the choice that is most often correct in other rows, relative to how often it is presented",
           answer_prior),
    _prior("question and answer prior", ProbeInputs.QUESTION,
           "picks the choice that is most often correct for other questions with the same beginning",
           question_answer_prior),
    _prior("like choices prior", ProbeInputs.CHOICES,
           "picks from the group of like choices (kind, form, first or last word) that is most often correct",
           like_choices_prior),
)  # fmt: skip
