"""Rules that count labels: of texts, of texts by the start of the question, of similar choices, of positions."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.image_descriptors import image_sizes, missing_images
from hf_vqa_mc.audits.probes.heuristics import out_of_order
from hf_vqa_mc.audits.probes.probe import Context, Probe, Skipped, Values
from hf_vqa_mc.audits.rows import BLOCKS, PERIODS, Rows, row_blocks
from hf_vqa_mc.audits.shortcut import FOLDS, TIED, Prediction, ProbeInputs
from hf_vqa_mc.audits.similar_choices import MOST_CHOICES, similarity_sums
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.decoys.statistics import NEVER_SEEN, decoys_per_row, occurrences, prior_rule, target_picked
from hf_vqa_mc.text.wordnet import load_wordnet

DEPTHS = range(2, 9)  # depths of WordNet's branches, from "object" to kinds of things; "color" is at 5
MOST_SENSES = 4  # number of senses of a word, the most frequent ones: "white" as a colour is its second
FORMS = ((r"\p{Lu}+", "A"), (r"[\p{Ll}\p{Lo}\p{Lm}]+", "a"), (r"\p{N}+", "0"))
"""Replacements that leave the form of a text: "Twelve at 12:30" becomes "Aa a 0:0"."""

Categories = Any  # sparse csr (texts, categories): the categories of each text, perhaps several times
Folds = NDArray[np.int8]
Groups = NDArray[np.int64]  # (rows,): a number from 0 for each row; rows of one group may have the same label


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
    for test, train in _splits_by_fold(folds):
        decoys[test] = n_decoys = decoys_per_row(rows.keys[train])
        known = prior_rule(*occurrences(rows.keys[train], len(rows.vocabulary.key_texts)), n_decoys)
        likelihood[test] = known[rows.keys[test]]
    return likelihood, decoys


def _splits_by_fold(folds: NDArray[np.integer]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Masks of the rows of each fold and of the others, if there are several folds."""
    masks = [folds == fold for fold in np.unique(folds)]
    yield from ((test, ~test) for test in masks if len(masks) > 1)


def like_choices_prior(rows: Rows, folds: Folds) -> Values:
    """Pick the choice whose group of similar choices has the size that the targets' groups have in other folds.

    Choices of a row are alike if they have the same form, first word or last word, or if their last words are in the
    same branch of WordNet. A choice is described by the size of its group and of the row's largest group. Of these
    kinds of groups, the one that predicts the targets of the other folds best is used. In rows with more than
    MOST_CHOICES, no choices are alike. For the arguments see `answer_prior`.
    """
    described: list[NDArray[np.int16]] = []
    for texts, categories in _kinds_of_groups(rows):
        alike = similarity_sums(texts, categories, True)
        sizes = rows.valid + alike
        numbers = sizes * (MOST_CHOICES + 1) + sizes.max(axis=1, keepdims=True)
        described.append(np.where(rows.valid, numbers, 0).astype(np.int16))
    shares = np.ones(rows.texts.shape)
    for test, train in _splits_by_fold(folds):
        shares[test] = _target_shares(described, rows.valid, train)[test]
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
    forms: Any = rows.vocabulary.trimmed
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
    (texts,) = (categories != MISSING).nonzero()
    shape = (len(categories), int(categories.max(initial=0)) + 1 if size is None else size)
    return scipy.sparse.csr_matrix((np.ones(len(texts), np.bool_), (texts, categories[texts])), shape=shape)


def _lists(numbers: NDArray[np.integer], first: NDArray[np.integer], size: int) -> Categories:
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
    _prior("similar choices prior", ProbeInputs.CHOICES,
           "picks from the group of similar choices (kind, form, first or last word) that is most often correct",
           like_choices_prior),
)  # fmt: skip


def _names(column: str, context: Context) -> list[Groups]:
    """The last character of each name, and its last number by each period, both before a file's ending."""
    names = context.split.rows[column].combine_chunks()
    stems = pc.replace_substring_regex(names, r"[.][A-Za-z][A-Za-z0-9]{1,4}$", "")
    digits = pc.struct_field(pc.extract_regex(stems, r"(?P<number>[0-9]{1,15})[^0-9]*$"), "number")
    numbers = pc.fill_null(digits.cast(pa.int64()), 0).to_numpy()
    last = pc.utf8_slice_codeunits(stems, -1).dictionary_encode().indices.to_numpy().astype(np.int64)
    return [last, *(numbers % period for period in PERIODS)]


def _types(context: Context) -> list[Groups]:
    types = context.split.rows["question_type"].combine_chunks().dictionary_encode()
    return [types.indices.to_numpy().astype(np.int64)]


def _image_size(context: Context) -> Prediction | None:
    """Labels by width, height and their ratio, of the rows whose image's size was read."""
    if not context.split.ordered:
        return None
    sizes, groups = image_sizes(context.split), list[Groups]()
    if not sizes.any():
        raise Skipped(missing_images(context.split) if context.split.images is None else "no image can be read")
    for values in (*sizes.T, sizes[:, 0] / np.maximum(sizes[:, 1], 1)):  # tenths of the distinct values, by rows
        _, number, counts = np.unique(values, return_inverse=True, return_counts=True)
        groups.append((10 * (np.cumsum(counts) - counts / 2) / len(values)).astype(np.int64)[number])
    remainders = [one % period for one in sizes.T for period in PERIODS]
    found = _most_frequent_labels(context, [*groups, *sizes.T, *remainders])
    return found and replace(found, scores=np.where(sizes[:, 0] > 0, found.scores, np.nan))


def _most_frequent_labels(context: Context, groupings: list[Groups]) -> Prediction | None:
    """Pick the label that is most frequent in the row's group, counted in the other folds of the audited split."""
    positions = context.rows.positions.astype(np.int64)
    values = np.zeros(positions.shape)
    for test, train in _splits_by_fold(context.folds):
        shares = _shares(groupings, positions[:, 0], train, positions.shape[1])
        if shares is not None:
            values[test] = np.take_along_axis(shares[test], np.maximum(positions[test], 0), axis=1)
    found = context.prefer(values)
    return found and replace(found, folds=FOLDS)


def _shares(
    groupings: list[Groups], labels: NDArray[np.int64], known: NDArray[np.bool_], n_labels: int
) -> Values | None:
    """The share of each label in each row's group, (rows, labels), by the grouping that predicts known labels best."""
    own = labels[known]
    overall = (np.bincount(own, minlength=n_labels) + 1) / (len(own) + n_labels)
    best, highest = None, float(np.log(overall[own]).sum())
    for groups in groupings:
        size = int(groups.max()) + 1
        counts = np.bincount(groups[known] * n_labels + own, minlength=size * n_labels).reshape(size, n_labels)
        of_groups, known_groups = counts @ np.ones(n_labels), groups[known]
        right = counts[known_groups, own] - 1 + overall[own]
        likelihood = float(np.log(right / of_groups[known_groups]).sum())
        if likelihood > highest:
            highest = likelihood
            best = ((counts + overall) / (of_groups[:, None] + 1))[groups]
    return best


def _position(
    name: str, of_what: str, groupings: Callable[[Context], list[Groups]], sees: ProbeInputs = ProbeInputs.CHOICES
) -> Probe:
    def run(context: Context) -> Prediction | None:
        return _most_frequent_labels(context, groupings(context)) if context.split.ordered else None

    sentence = f"picks the position that is most often correct in other rows {of_what}"
    return Probe(name, sees, sentence, run)


ORDERS = (
    _position("row number", "with the same remainder of the row number",
              lambda context: [np.arange(len(context.rows)) % period for period in PERIODS]),
    _position("block of rows", "in the same block of rows",
              lambda context: [row_blocks(len(context.rows), most) for most in BLOCKS]),
    _position("label of the previous row", "after a row with the same label",
              lambda context: [np.append(0, context.rows.positions[:-1, 0] + 1).astype(np.int64)]),
    _position("question id", "with a question id that ends alike", partial(_names, "question_id")),
    _position("name of the image", "with an image name that ends alike", partial(_names, "image_id")),
    _position("question type", "with the same question type", _types, sees=ProbeInputs.QUESTION),
    Probe("image width or height", ProbeInputs.IMAGE,
          "picks the position that is most often correct in other rows with images of similar width, height or shape",
          _image_size),
    Probe("out of order", ProbeInputs.CHOICES, "picks the choice without which the others are sorted", out_of_order),
)  # fmt: skip
