"""The nouns of the probes: what one picked and how sure it was, and what was not run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Knows, Shortcut

ALIKE = 1e-9
"""Chances that differ by less count as the same: sums in another order differ in their last digits."""

NOTHING_TO_LEARN_FROM = "there is no training split, and the rows are on too few images to learn from some of them"


@dataclass(frozen=True, eq=False)
class Probed:
    """A trained rule and how sure it was of each choice."""

    shortcut: Shortcut
    chances: NDArray[np.float64]
    """(rows, places): P(the choice is the target), the target first; 1 together over a row; no row was learnt from
    when it was asked"""


@dataclass(frozen=True)
class NotRun:
    """A probe that was asked for and did not run."""

    name: str
    why: str


def probed(name: str, knows: Knows, picks: str, chances: NDArray[np.float64], asked: Rows, folds: int) -> Probed:
    """A probe by what it made of the rows.

    Args:
        name: unique in an audit.
        knows: what it looked at.
        picks: as `Shortcut` has it.
        chances: (rows, places), the target first, 0 where there is no choice.
        asked: the rows.
        folds: parts of them that it was learnt from; 0 where it was learnt from others.
    """
    return Probed(Shortcut(name, knows, picks, picked(chances, asked), folds, probe=True), chances)


def picked(values: NDArray[np.float64], asked: Rows) -> NDArray[np.float64]:
    """How often who picks the highest value picks the target, (rows,); equal ones share the pick."""
    offered = np.where(asked.there, values, -np.inf)
    best = offered >= offered.max(axis=1, keepdims=True) - ALIKE
    share: NDArray[np.float64] = best[:, 0] / best.sum(axis=1)
    return share
