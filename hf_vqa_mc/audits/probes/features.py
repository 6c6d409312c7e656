"""Feature matrices of the small models by their inputs, with cross-fitted counts of labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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

Contexts = NDArray[np.integer]
"""(rows,): index of the context in which each row is counted; MISSING without one: a fifth word, if there are four"""
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]  # values (choices,) of the training rows and of the test rows


@dataclass(frozen=True, eq=False)
class CrossFittedCounts:
    """Counts of labels in the training rows; features of a training row use only the other folds.

    Without cross-fitting, the features of training rows would contain the row's own label.
    """

    train: ShuffledRows
    folds: NDArray[np.integer]  # (training rows,): fold of each, from 0
    test: ShuffledRows
    least: int = 0
    """Minimum frequency of a text; counts of rarer texts are 0.

    If decoys are targets of other rows, a rare text that was never correct in the training rows must be the target.
    This leak exists only for a model trained on the answers of the same split.
    """

    def backoff(self, levels: Sequence[tuple[Contexts, Contexts]]) -> Iterator[Pair]:
        """Log odds of P(correct | choice) by eq. 2, then of back-off estimates within each level of narrower contexts.

        A level is the contexts of the training and of the test rows. Each uses the estimate of the wider level as a
        prior with the weight of one row, as in `priors.question_answer_prior`.
        """
        decoys = max(float(np.median(self.train.sizes)) - 1, 1.0)
        likelihood = []
        for right, count in self.overall:
            seen = right * decoys + (count - right)
            likelihood.append(np.where(count > 0, right * decoys / np.maximum(seen, 1), NEVER_SEEN))
        yield _log_odds(likelihood[0]), _log_odds(likelihood[1])
        for level in levels:
            for side, (right, count) in enumerate(self._counts(*level)):
                frequent = self.overall[side][1] > 0
                right, count = right * frequent, count * frequent
                likelihood[side] = (right + likelihood[side]) / (right + (count - right) / decoys + 1)
            yield _log_odds(likelihood[0]), _log_odds(likelihood[1])

    @cached_property
    def overall(self) -> tuple[Pair, Pair]:
        """Counts without a context; 0 for texts below the minimum frequency."""
        found = self._counts(np.zeros(len(self.train), np.int64), np.zeros(len(self.test), np.int64))
        train, test = ((right * (count >= self.least), count * (count >= self.least)) for right, count in found)
        return train, test

    def _counts(self, train: Contexts, test: Contexts) -> tuple[Pair, Pair]:
        """(correct, presented) counts in the context, for the choices of the training and of the test rows."""
        codes, wanted = _codes(self.train, train), _codes(self.test, test)
        known, code = np.unique(codes, return_inverse=True)
        n_folds = int(self.folds.max()) + 1
        own = code, self.folds[self.train.valid.nonzero()[0]]
        cell = code * n_folds + own[1]
        counted = np.where(codes >= 0, 1.0, 0.0)
        count = np.bincount(cell, counted, len(known) * n_folds).reshape(-1, n_folds)
        is_target = self.train.is_target[self.train.valid] * counted
        right = np.bincount(cell, is_target, len(known) * n_folds).reshape(-1, n_folds)
        elsewhere = right.sum(1)[code] - right[own], count.sum(1)[code] - count[own]
        index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = (known[index] == wanted) & (wanted >= 0)
        return elsewhere, (right.sum(1)[index] * found, count.sum(1)[index] * found)


def _codes(rows: ShuffledRows, contexts: Contexts) -> NDArray[np.int64]:
    """An integer for each pair of context and choice text, negative without a context: (choices,)."""
    context = np.repeat(contexts.astype(np.int64), rows.sizes)
    return np.where(context == MISSING, MISSING, context * len(rows.vocabulary.key_texts) + rows.keys[rows.valid])


def _log_odds(likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log odds of probabilities clipped to [0.02, 0.98]."""
    bounded = np.clip(likelihood, 0.02, 0.98)
    return np.log(bounded / (1 - bounded))


FIRST_WORDS = 8  # number of beginnings of the question that are contexts; the last context is the whole question
SEEN_IN = 2  # minimum number of non-zero training values of a sparse column


class Features:
    """Features of the rows of the parts of a context; those that need no labels are computed once."""

    def __init__(self, context: "Context") -> None:
        self._context, self._rows = context, context.shuffled
        self._modelled = np.unique(np.concatenate([rows for one in context.parts for rows in (one.train, one.test)]))
        self._some = self._rows.take(self._modelled)
        self._row = self._modelled[self._some.valid.nonzero()[0]]

    def of(self, sees: ProbeInputs, part: Part, *, sparse: bool) -> tuple[Any, Any]:
        """Features of a part's training and test rows.

        Two arrays float32 (choices, columns); with ``sparse`` two matrices with features of words, scaled for a linear
        model.
        """
        plain, both = self._own | (self._with_question if sees.question else {}), []
        for rows, of_rows in zip((part.train, part.test), self._counted(sees, part), strict=True):
            chosen = np.zeros(len(self._rows), np.bool_)
            chosen[rows] = True
            choices = chosen[self._row]  # the rows of a part are ascending
            dense = np.column_stack([*(column[choices] for column in plain.values()), *of_rows.values()])
            # The order of summation changes the last digits, at which trees would split.
            both.append(np.round(dense.astype(np.float64), 6).astype(np.float32))
        return self._with_words(sees, both, part) if sparse else (both[0], both[1])

    def _with_words(self, sees: ProbeInputs, dense: list[NDArray[np.float32]], part: Part) -> tuple[Any, Any]:
        of_rows = self._rows.take(part.train)
        row = of_rows.valid.nonzero()[0]
        means = np.column_stack([np.bincount(row, column) for column in dense[0].T]) / of_rows.sizes[:, None]
        spread = np.sqrt(np.mean((dense[0] - means[row]) ** 2, axis=0))
        kept = spread > 1e-6  # features shared by all choices of a row cancel out in the linear model
        choices, questions = self._tokens[0], self._tokens[1] if sees.question else None
        found = []
        for rows in (part.train, part.test):
            image = (self._image[0][rows], self._image[1][rows]) if sees.image else None
            ordered = self._context.split.ordered
            found.append(choice_features.crossed_texts(self._rows.take(rows), choices, questions, image, ordered))
        often = np.flatnonzero(np.bincount(found[0].indices, minlength=found[0].shape[1]) >= SEEN_IN)
        train, test = (
            scipy.sparse.hstack([scipy.sparse.csr_matrix(one[:, kept] / spread[kept]), words[:, often]], format="csr")
            for one, words in zip(dense, found, strict=True)
        )
        return train, test

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
        used, n_rows = self._context.used, len(self._rows)
        vectors = self._context.images[0]
        assert vectors is not None  # noqa: S101  else no probe that sees images is run
        clusters, directions = choice_features.image_groups(vectors, self._context.settings.seed)
        of_all = (
            np.full((n_rows, clusters.shape[1]), MISSING, np.int64),
            np.zeros((n_rows, directions.shape[1]), np.float32),
        )
        of_all[0][used], of_all[1][used] = clusters, directions
        return of_all

    def _counted(self, sees: ProbeInputs, part: Part) -> tuple[Columns, Columns]:
        """Features counted from labels, of the training and of the test rows."""
        test, train = self._rows.take(part.test), self._rows.take(part.train)
        counts = CrossFittedCounts(self._rows.take(part.counted), part.inner, test, self._context.least_counted)
        kept = np.repeat(np.isin(np.arange(len(part.counted)), part.chosen), counts.train.sizes)
        (_, seen), (_, seen_in_test) = counts.overall
        named: dict[str, Pair] = {"seen": (np.log1p(seen), np.log1p(seen_in_test))}
        for name, contexts in self._contexts(sees).items():
            steps = list(counts.backoff([(context[part.counted], context[part.test]) for context in contexts]))
            named["prior"] = steps[0]
            if contexts:
                named |= {f"prior by {name}": steps[-1], f"prior by {name}, roughly": steps[len(steps) // 2]}
        found: tuple[Columns, Columns] = ({}, {})
        for name, (of_train, of_test) in named.items():
            for rows, columns, values in zip((train, test), found, (of_train[kept], of_test), strict=True):
                columns[name] = values.astype(np.float32)
                columns |= compared(name, columns[name], rows)
        return found

    def _contexts(self, sees: ProbeInputs) -> dict[str, list[Contexts]]:
        """Contexts of all rows for counting choices, from the widest to the narrowest."""
        if sees is ProbeInputs.CHOICES:
            return {"choice": []}
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
