"""Which rows are learnt from for which."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.dealt import Dealt, deal, together
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import FOLDS

COUNTED = 10
"""Times as many rows are counted at most as models learn from: counting is quick."""


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that are asked together, and those that are learnt from for them, which share no image with them."""

    counted: NDArray[np.int64]
    """rows whose labels are counted"""
    inner: NDArray[np.int64]
    """(rows counted,): parts that count for one another, from 0"""
    chosen: NDArray[np.int64]
    """which of the rows counted are learnt from, too"""
    asked: NDArray[np.int64]

    @cached_property
    def learn(self) -> NDArray[np.int64]:
        """Rows that are learnt from."""
        return self.counted[self.chosen]


def divided(
    asked: Rows,
    folds: NDArray[np.integer],
    train: Rows | None,
    train_folds: NDArray[np.integer] | None,
    most: int,
    generator: np.random.Generator,
) -> tuple[Dealt, list[Part]]:
    """All rows, those asked first, and who is learnt from for whom.

    Args:
        asked: rows to answer.
        folds: (rows asked,): used where there is no training split.
        train: rows to learn from.
        train_folds: (training rows,): parts that count for one another; by default drawn row by row.
        most: so many rows are learnt from at most.
        generator: of the order of the choices, and of which rows are learnt from.
    """
    places = max(asked.texts.shape[1], 0 if train is None else train.texts.shape[1])
    dealt = deal(asked, places, generator)
    everyone = np.arange(len(asked))
    if train is not None:
        dealt = together(dealt, deal(train, places, generator))
        inner = generator.integers(FOLDS, size=len(train)) if train_folds is None else train_folds
        known = np.arange(len(train)) + len(asked)
        return dealt, [_part(known, inner, everyone, most, generator)]
    parts = []
    for fold in np.unique(folds):
        known = np.flatnonzero(folds != fold)
        if not len(known):
            continue
        parts.append(_part(known, folds[known], np.flatnonzero(folds == fold), most, generator))
    return dealt, parts


def _part(
    known: NDArray[np.int64],
    inner: NDArray[np.integer],
    asked: NDArray[np.int64],
    most: int,
    generator: np.random.Generator,
) -> Part:
    kept = _sample(len(known), COUNTED * most, generator)
    different, number = np.unique(inner[kept], return_inverse=True)
    if len(different) < 2:
        number = np.arange(len(kept)) % FOLDS
    return Part(known[kept], number.astype(np.int64), _sample(len(kept), most, generator), asked)


def _sample(rows: int, most: int, generator: np.random.Generator) -> NDArray[np.int64]:
    return np.arange(rows) if rows <= most else np.sort(generator.choice(rows, most, replace=False))
