"""How often a choice is correct, counted without the row that is evaluated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.dataset.prior_rule import NEVER_SEEN
from hf_vqa_mc.decoys.candidates import MISSING

NOWHERE = -1
"""The context of a row that has none, such as the first five words of a question of four."""

Contexts = NDArray[np.integer]
"""(rows,): the number of the context that each row is counted in, NOWHERE where it has none"""
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of the choices of the training rows, and of the test rows: (choices,) each"""


@dataclass(frozen=True, eq=False)
class CrossFittedCounts:
    """Counts of the training rows; each of these sees only the counts of the other folds.

    Else a probe would learn to trust a number that contains the row's own label.
    """

    train: ShuffledRows
    folds: NDArray[np.integer]
    """(training rows,): fold of each, from 0"""
    test: ShuffledRows
    least: int = 0
    """A choice whose text was presented less often counts as unseen.

    Where a benchmark's decoys are targets of its other rows, a rare text that was not yet correct is the target: only
    a model that was shown the other rows' answers knows it. A frequent text's counts hardly change by one row.
    """

    def ladder(self, levels: Sequence[tuple[Contexts, Contexts]]) -> Iterator[Pair]:
        """P(correct | choice) by eq. 2, then step by step among rows with the same context.

        Each step adds to its own counts what the step before gave, with the weight of one row, as
        `priors.question_answer_prior` does.

        Args:
            levels: contexts of the training and of the test rows, from the widest to the narrowest.

        Yields:
            Log odds, for eq. 2 and for each level.
        """
        decoys = max(float(np.median(self.train.sizes)) - 1, 1.0)
        likelihood = []
        for (right, count), frequent in zip(self._overall, self._frequent, strict=True):
            right, count = right * frequent, count * frequent
            seen = right * decoys + (count - right)
            likelihood.append(np.where(count > 0, right * decoys / np.maximum(seen, 1), NEVER_SEEN))
        yield _log_odds(likelihood[0]), _log_odds(likelihood[1])
        for level in levels:
            for side, ((right, count), frequent) in enumerate(zip(self._counts(*level), self._frequent, strict=True)):
                right, count = right * frequent, count * frequent
                likelihood[side] = (right + likelihood[side]) / (right + (count - right) / decoys + 1)
            yield _log_odds(likelihood[0]), _log_odds(likelihood[1])

    def evidence(self) -> Pair:
        """How often each choice's text was seen, as a logarithm."""
        (_, train), (_, test) = self._overall
        return np.log1p(train * self._frequent[0]), np.log1p(test * self._frequent[1])

    @cached_property
    def _overall(self) -> tuple[Pair, Pair]:
        """Counts without a context."""
        return self._counts(np.zeros(len(self.train), np.int64), np.zeros(len(self.test), np.int64))

    @cached_property
    def _frequent(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the choices whose text is presented often enough."""
        (_, train), (_, test) = self._overall
        return train >= self.least, test >= self.least

    def _counts(self, train: Contexts, test: Contexts) -> tuple[Pair, Pair]:
        """For the choices of the training, then of the test rows: how often correct and presented in the context."""
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
    """A number of each choice in its context, negative where it has none: (choices,)."""
    row = rows.valid.nonzero()[0]
    keys, context = rows.keys[rows.valid], contexts[row].astype(np.int64)
    return np.where(context == NOWHERE, MISSING, context * len(rows.vocabulary.key_texts) + keys)


def _log_odds(likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounded, as one row more or less changes little where there are many."""
    bounded = np.clip(likelihood, 0.02, 0.98)
    odds: NDArray[np.float64] = np.log(bounded / (1 - bounded))
    return odds
