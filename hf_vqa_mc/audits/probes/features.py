"""Feature matrices of the small models by their inputs, with cross-fitted counts of labels."""

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
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.statistics import NEVER_SEEN

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes.probe import Context

FIRST_WORDS = 8  # number of beginnings of the question that are contexts; the last context is the whole question
SEEN_IN = 2  # minimum number of non-zero training values of a sparse column

Contexts = NDArray[np.integer]  # (rows,): index of the context in which each row is counted; MISSING without one
Values = NDArray[np.float64]  # (choices,)


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
        everywhere = _counts(known, part.inner, test, np.zeros(len(known), np.int64), np.zeros(len(test), np.int64))
        frequent = [count >= max(self._context.least_counted, 1) for _, count in everywhere]
        overall = [(right * kept, count * kept) for (right, count), kept in zip(everywhere, frequent, strict=True)]
        prior = [
            np.where(count > 0, right * decoys / np.maximum(right * decoys + (count - right), 1), NEVER_SEEN)
            for right, count in overall
        ]
        named = {"seen": [np.log1p(count) for _, count in overall], "prior": list(map(_log_odds, prior))}
        for name, contexts in self._contexts(sees).items():
            steps = [prior]
            for context in contexts:
                found = _counts(known, part.inner, test, context[part.counted], context[part.test])
                counts = [(right * kept, count * kept) for (right, count), kept in zip(found, frequent, strict=True)]
                both = zip(counts, steps[-1], strict=True)
                steps.append([(right + p) / (right + (count - right) / decoys + 1) for (right, count), p in both])
            named[f"prior by {name}"] = list(map(_log_odds, steps[-1]))
            named[f"prior by {name}, roughly"] = list(map(_log_odds, steps[len(steps) // 2]))
        columns: tuple[Columns, Columns] = ({}, {})
        for name, (of_train, of_test) in named.items():
            for rows, of_rows, values in zip((train, test), columns, (of_train[chosen], of_test), strict=True):
                of_rows[name] = values.astype(np.float32)
                of_rows |= compared(name, of_rows[name], rows)
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
) -> list[tuple[Values, Values]]:
    """(correct, presented) counts in the contexts, for the choices of the training and of the test rows.

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
    elsewhere = right.sum(1)[code] - right[own], count.sum(1)[code] - count[own]
    return [elsewhere, (right.sum(1)[index] * found, count.sum(1)[index] * found)]


def _codes(rows: ShuffledRows, contexts: Contexts) -> NDArray[np.int64]:
    """An integer for each pair of context and choice text, negative without a context: (choices,)."""
    context = np.repeat(contexts.astype(np.int64), rows.sizes)
    return np.where(context == MISSING, MISSING, context * len(rows.vocabulary.key_texts) + rows.keys[rows.valid])


def _log_odds(likelihood: Values) -> Values:
    """Log odds of probabilities clipped to [0.02, 0.98]."""
    bounded = np.clip(likelihood, 0.02, 0.98)
    return np.log(bounded / (1 - bounded))
