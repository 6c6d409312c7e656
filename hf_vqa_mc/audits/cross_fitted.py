"""How often a choice is right, as it was counted without the row that is asked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.dealt import Dealt
from hf_vqa_mc.dataset.prior_rule import NEVER_SEEN
from hf_vqa_mc.decoys.candidates import MISSING

NOWHERE = -1
"""The context of a row that has none, such as the first five words of a question of four."""

Contexts = NDArray[np.integer]
"""(rows,): the number of what each row is counted with, NOWHERE where it is counted with none"""
Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Of the choices of the rows that are learnt from, and of those asked: (choices,) each"""


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Counts of the rows that are learnt from; each of these sees only the counts of the other parts.

    Else a probe would learn to trust a number that holds the row's own label.
    """

    learn: Dealt
    parts: NDArray[np.integer]
    """(rows learnt from,): which part each is in, from 0"""
    asked: Dealt
    least: int = 0
    """A choice whose text was offered less often counts as never seen.

    Where a benchmark's decoys are targets of its other rows, a rare text that was not yet right is the target: who was
    shown the other rows' answers knows it, but nobody else. A frequent text's counts hardly change by one row.
    """

    def ladder(self, levels: Sequence[tuple[Contexts, Contexts]]) -> Iterator[Pair]:
        """P(correct | choice) by eq. 2, then step by step among rows with the same context.

        Each step adds to its own counts what the step before gave, with the weight of one row, as
        `priors.question_answer_prior` does.

        Args:
            levels: contexts of the rows learnt from and of those asked, from the widest to the narrowest.

        Yields:
            Log odds, for eq. 2 and for each level.
        """
        decoys = max(float(np.median(self.learn.sizes)) - 1, 1.0)
        everywhere = (np.zeros(len(self.learn), np.int64), np.zeros(len(self.asked), np.int64))
        likelihood = []
        for right, offered in self._counts(*everywhere):
            seen = right * decoys + (offered - right)
            likelihood.append(np.where(offered > 0, right * decoys / np.maximum(seen, 1), NEVER_SEEN))
        yield _log_odds(likelihood[0]), _log_odds(likelihood[1])
        for level in levels:
            for at, (right, offered) in enumerate(self._counts(*level)):
                likelihood[at] = (right + likelihood[at]) / (right + (offered - right) / decoys + 1)
            yield _log_odds(likelihood[0]), _log_odds(likelihood[1])

    def evidence(self) -> Pair:
        """How often each choice's text was seen, as a logarithm."""
        (_, first), (_, second) = self._counts(
            np.zeros(len(self.learn), np.int64), np.zeros(len(self.asked), np.int64)
        )
        return np.log1p(first), np.log1p(second)

    def _counts(self, learnt: Contexts, asked: Contexts) -> tuple[Pair, Pair]:
        """How often each choice was right and how often offered in its context: learnt from, then asked."""
        (right, offered), (right_asked, offered_asked) = self._elsewhere(learnt, asked)
        often, often_asked = self._often
        return (right * often, offered * often), (right_asked * often_asked, offered_asked * often_asked)

    @cached_property
    def _often(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether each choice's text was offered often enough: learnt from, then asked."""
        everywhere = (np.zeros(len(self.learn), np.int64), np.zeros(len(self.asked), np.int64))
        (_, learnt), (_, asked) = self._elsewhere(*everywhere)
        return learnt >= self.least, asked >= self.least

    def _elsewhere(self, learnt: Contexts, asked: Contexts) -> tuple[Pair, Pair]:
        """The same of any text."""
        codes, wanted = _codes(self.learn, learnt), _codes(self.asked, asked)
        known, code = np.unique(codes, return_inverse=True)
        n_parts = int(self.parts.max()) + 1
        row = self.learn.there.nonzero()[0]
        cell = code * n_parts + self.parts[row]
        counted = np.where(codes >= 0, 1.0, 0.0)
        offered = np.bincount(cell, counted, len(known) * n_parts).reshape(-1, n_parts)
        is_target = self.learn.is_target[self.learn.there] * counted
        right = np.bincount(cell, is_target, len(known) * n_parts).reshape(-1, n_parts)
        own = (code, self.parts[row])
        elsewhere = right.sum(1)[code] - right[own], offered.sum(1)[code] - offered[own]
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        found = (known[place] == wanted) & (wanted >= 0)
        return elsewhere, (right.sum(1)[place] * found, offered.sum(1)[place] * found)


def _codes(dealt: Dealt, contexts: Contexts) -> NDArray[np.int64]:
    """A number of each choice in its context, negative where it has none: (choices,)."""
    row = dealt.there.nonzero()[0]
    keys, context = dealt.keys[dealt.there], contexts[row].astype(np.int64)
    return np.where(context == NOWHERE, MISSING, context * len(dealt.vocabulary.key_texts) + keys)


def _log_odds(likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounded: one row more or less on either side changes little where there are many."""
    kept = np.clip(likelihood, 0.02, 0.98)
    odds: NDArray[np.float64] = np.log(kept / (1 - kept))
    return odds
