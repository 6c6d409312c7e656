"""Feature matrices of the small models by their inputs, with cross-fitted counts of labels; bags of the networks."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.folds import Part
from hf_vqa_mc.audits.probes import choice_features
from hf_vqa_mc.audits.probes.choice_features import Columns, ImageGroups, TextTokens, compared
from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.audits.similar_choices import trigram_codes
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.statistics import NEVER_SEEN

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes.probe import Context

FIRST_WORDS = 8  # number of beginnings of the question that are contexts; the last context is the whole question
SEEN_IN = 2  # minimum number of training choices, or of training questions, that have a sparse feature
MOST_TEXTS, MOST_GRAMS = 1 << 13, 1 << 14
"""Maximum number of features: choices as a whole, and words of choices, each; of questions. The most frequent ones
are used; this limits the time if all texts differ."""
BEGINNING = 6  # maximum length of the beginnings of questions that are features
TRIGRAMS = 1 << 14  # size of the hash table of character trigrams

Contexts = NDArray[np.integer]  # (rows,): index of the context in which each row is counted; MISSING without one
Values = NDArray[np.float64]  # (choices,)
Texts = NDArray[np.int64]
Bags = Any  # sparse float32 (texts, features): the weight of each feature in each text


class Features:
    """Features of the rows of the parts of a context; those that need no labels are computed once."""

    def __init__(self, context: "Context") -> None:
        self._context, self._rows = context, context.shuffled
        modelled = np.unique(np.concatenate([rows for one in context.parts for rows in (one.train, one.test)]))
        self._some = self._rows.take(modelled)
        self._row = modelled[self._some.valid.nonzero()[0]]

    def of(self, sees: ProbeInputs, part: Part, *, sparse: bool) -> tuple[Any, Any]:
        """Features of a part's training and test rows, two arrays float32 (choices, columns).

        With ``sparse`` two matrices with features of words, scaled for a linear model.
        """
        plain, both = self._own | (self._with_question if sees.question else {}), []
        for rows, of_rows in zip((part.train, part.test), self._counted(sees, part), strict=True):
            chosen = np.zeros(len(self._rows), np.bool_)
            chosen[rows] = True
            choices = chosen[self._row]  # the rows of a part are ascending
            dense = np.column_stack([*(column[choices] for column in plain.values()), *of_rows.values()])
            # The order of summation changes the last digits, at which trees would split.
            both.append(np.round(dense.astype(np.float64), 6).astype(np.float32))
        if not sparse:
            return both[0], both[1]
        fitted = self._rows.take(part.train)
        row = fitted.valid.nonzero()[0]
        means = np.column_stack([np.bincount(row, column) for column in both[0].T]) / fitted.sizes[:, None]
        spread = np.sqrt(np.mean((both[0] - means[row]) ** 2, axis=0))
        kept = spread > 1e-6  # features shared by all choices of a row cancel out in the linear model
        crossed = [self._crossed(sees, rows) for rows in (part.train, part.test)]
        often = np.flatnonzero(np.bincount(crossed[0].indices, minlength=crossed[0].shape[1]) >= SEEN_IN)
        train, test = (
            scipy.sparse.hstack([scipy.sparse.csr_matrix(one[:, kept] / spread[kept]), words[:, often]], format="csr")
            for one, words in zip(both, crossed, strict=True)
        )
        return train, test

    def _crossed(self, sees: ProbeInputs, rows: NDArray[np.int64]) -> Any:  # noqa: ANN401  sparse
        choices, questions = self._tokens
        image = (self._image[0][rows], self._image[1][rows]) if sees.image else None
        asked, ordered = questions if sees.question else None, self._context.split.ordered
        return choice_features.crossed_texts(self._rows.take(rows), choices, asked, image, ordered)

    @cached_property
    def _tokens(self) -> tuple[TextTokens, TextTokens]:
        return choice_features.row_tokens(self._some)

    @cached_property
    def _own(self) -> Columns:
        presented = np.bincount(self._rows.keys[self._rows.valid])
        return choice_features.own_columns(self._some, self._context.split.ordered, presented)

    @cached_property
    def _with_question(self) -> Columns:
        return choice_features.question_columns(self._some, self._own)

    @cached_property
    def _image(self) -> ImageGroups:
        """The groups of the images of all rows, of which only those that are used have images."""
        used, n_rows, vectors = self._context.used, len(self._rows), self._context.images[0]
        assert vectors is not None  # noqa: S101  else no probe that sees images is run
        clusters, directions = choice_features.image_groups(vectors, self._context.settings.seed)
        all_clusters = np.full((n_rows, clusters.shape[1]), MISSING, np.int64)
        all_directions = np.zeros((n_rows, directions.shape[1]), np.float32)
        all_clusters[used], all_directions[used] = clusters, directions
        return all_clusters, all_directions

    def _counted(self, sees: ProbeInputs, part: Part) -> tuple[Columns, Columns]:
        """Features counted from labels, of the training and of the test rows: log odds of P(correct | choice).

        They are by eq. 2, then by estimates in narrower and narrower contexts, each of which has that of the wider one
        as a prior with the weight of one row, as in `priors.question_answer_prior`. Counts of texts below
        `Context.least_counted` are 0: if decoys are targets of other rows, a rare text that was never correct in the
        training rows must be the target, a leak for models trained on the answers of the same split alone.
        """
        known, train, test = (self._rows.take(rows) for rows in (part.counted, part.train, part.test))
        chosen = np.repeat(np.isin(part.counted, part.train), known.sizes)
        decoys = max(float(np.median(known.sizes)) - 1, 1.0)
        right, count = _counts(known, part.inner, test, np.zeros(len(known), np.int64), np.zeros(len(test), np.int64))
        frequent = count >= max(self._context.least_counted, 1)
        right, count = right * frequent, count * frequent
        prior = np.where(count > 0, right * decoys / np.maximum(right * decoys + (count - right), 1), NEVER_SEEN)
        named = {"seen": np.log1p(count), "prior": _log_odds(prior)}
        for name, contexts in self._contexts(sees).items():
            steps = [prior]
            for context in contexts:
                found = _counts(known, part.inner, test, context[part.counted], context[part.test])
                right, count = (one * frequent for one in found)
                steps.append((right + steps[-1]) / (right + (count - right) / decoys + 1))
            named[f"prior by {name}"] = _log_odds(steps[-1])
            named[f"prior by {name}, roughly"] = _log_odds(steps[len(steps) // 2])
        columns: tuple[Columns, Columns] = ({}, {})
        for name, values in named.items():
            of_known, of_test = np.split(values.astype(np.float32), [len(chosen)])
            for rows, of_rows, own in zip((train, test), columns, (of_known[chosen], of_test), strict=True):
                of_rows |= {name: own} | compared(name, own, rows)
        return columns

    def _contexts(self, sees: ProbeInputs) -> dict[str, list[Contexts]]:
        """Contexts of all rows for counting choices, from the widest to the narrowest."""
        beginnings = self._rows.vocabulary.beginnings[:, :FIRST_WORDS]
        question = [*beginnings[self._rows.questions].T, self._rows.questions] if sees.question else []
        image = list(self._image[0].T) if sees.image else []
        both = [
            np.where((one == MISSING) | (other == MISSING), MISSING, one.astype(np.int64) * (other.max() + 1) + other)
            for one in question[:2]
            for other in image
        ]
        named = {"question": question, "image": image, "question and image": both}
        return {name: contexts for name, contexts in named.items() if contexts}


def _counts(
    train: ShuffledRows, folds: NDArray[np.integer], test: ShuffledRows, of_train: Contexts, of_test: Contexts
) -> tuple[Values, Values]:
    """(correct, presented) counts in the contexts, for the choices of the training and then of the test rows.

    Counts of a training row are of the other ``folds`` (training rows,), from 0: else they would contain its label.
    """
    codes, wanted = _codes(train, of_train), _codes(test, of_test)
    known, code = np.unique(codes, return_inverse=True)
    n_folds = int(folds.max()) + 1
    own = code, folds[train.valid.nonzero()[0]]
    cell, counted = code * n_folds + own[1], np.where(codes >= 0, 1.0, 0.0)
    count, right = (
        np.bincount(cell, weights, len(known) * n_folds).reshape(-1, n_folds)
        for weights in (counted, train.is_target[train.valid] * counted)
    )
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = (known[index] == wanted) & (wanted >= 0)
    rights, counts = (
        np.concatenate([one.sum(1)[code] - one[own], one.sum(1)[index] * found]) for one in (right, count)
    )
    return rights, counts


def _codes(rows: ShuffledRows, contexts: Contexts) -> NDArray[np.int64]:
    """An integer for each pair of context and choice text, negative without a context: (choices,)."""
    context = np.repeat(contexts.astype(np.int64), rows.sizes)
    return np.where(context == MISSING, MISSING, context * len(rows.vocabulary.key_texts) + rows.keys[rows.valid])


def _log_odds(likelihood: Values) -> Values:
    """Log odds of probabilities clipped to [0.02, 0.98]."""
    bounded = np.clip(likelihood, 0.02, 0.98)
    return np.log(bounded / (1 - bounded))


def choice_bags(train: ShuffledRows, used: Texts, least: int = 0) -> Bags:
    """Comparable texts (``used``, ascending) as the text itself, its words and its character trigrams.

    ``least`` is the minimum number of training choices with a text, below which the text itself is no feature.
    """
    counts = np.bincount(np.searchsorted(used, train.keys[train.valid]), minlength=len(used))
    itself = scipy.sparse.eye_array(len(used), dtype=np.float32, format="csr")
    codes, text = trigram_codes([train.vocabulary.key_texts[key] for key in used.tolist()])
    hashed = codes * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - 14)  # multiply-shift (Dietzfelbinger 1996)
    trigrams = _bags(text, hashed.astype(np.int64), len(used), TRIGRAMS)
    parts = [_frequent(one, counts, most) for one, most in ((train.vocabulary.worded.matrix[used], MOST_TEXTS),
                                                             (trigrams, TRIGRAMS))]  # fmt: skip
    for bags in parts:
        bags.data /= np.sqrt(np.repeat(np.diff(bags.indptr), np.diff(bags.indptr)))
    itself = _frequent(itself, counts, MOST_TEXTS, max(least, SEEN_IN))
    return scipy.sparse.hstack([itself, *parts], format="csr")


def question_bags(train: ShuffledRows, used: Texts) -> Bags:
    """Questions (``used``, ascending) as the mean of their words, bigrams and beginnings."""
    counts = np.bincount(np.searchsorted(used, train.questions), minlength=len(used))
    words = train.vocabulary.worded.matrix[used + len(train.vocabulary.key_texts)]
    text = np.repeat(np.arange(len(used)), np.diff(words.indptr))
    pair = words.indices[:-1].astype(np.int64) * words.shape[1] + words.indices[1:]
    inside = text[1:] == text[:-1]
    bigrams = _bags(text[1:][inside], np.unique(pair[inside], return_inverse=True)[1], len(used))
    beginnings = train.vocabulary.beginnings[used, :BEGINNING]
    row, length = (beginnings != MISSING).nonzero()
    begun = _bags(row, beginnings[row, length], len(used))
    bags = _frequent(scipy.sparse.hstack([words, bigrams, begun], format="csr"), counts, MOST_GRAMS)
    bags.data /= np.repeat(np.diff(bags.indptr), np.diff(bags.indptr))
    return bags


def _bags(text: Texts, feature: Texts, texts: int, features: int | None = None) -> Bags:
    size = int(feature.max(initial=0)) + 1 if features is None else features
    return scipy.sparse.csr_matrix((np.ones(len(text), np.float32), (text, feature)), shape=(texts, size))


def _frequent(bags: Bags, counts: NDArray[np.integer], most: int, least: int = SEEN_IN) -> Bags:
    """The most frequent features of at least ``least`` texts; ``counts`` (texts,) is the frequency of each text."""
    bags.sum_duplicates()
    bags.data[:] = 1
    frequency = counts @ bags
    kept = np.argsort(-frequency, kind="stable")[:most]
    return scipy.sparse.csr_matrix(bags[:, np.sort(kept[frequency[kept] >= least])])
