"""The noun of an audit: a way to pick choices that must not work."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Knows = Literal["choices", "question", "image", "everything"]
"""What a rule looks at: the choices alone, the question, too, the image, too, or all three."""

FOLDS = 5
"""Parts of the rows, none of which shares an image with another: each is asked by what was learnt from the others."""


@dataclass(frozen=True, eq=False)
class Shortcut:
    """A rule and how often it picks the target of each row."""

    name: str
    """such as ``longest choice``; unique in an audit"""
    knows: Knows
    picks: str
    """what it picks, as a sentence goes on after "One who ...": ``picks the longest choice``"""
    scores: NDArray[np.float64]
    """(rows,): in [0, 1]; choices that tie are picked as often as one another"""
    folds: int = 0
    """how many parts of the audited rows it was learnt from; 0 where from none of them"""
    probe: bool = False
    """trained, not counted"""

    @property
    def inflation(self) -> float:
        """Of the standard error: what was learnt for one fold and for another has rows in common.

        Nadeau and Bengio 2003, Inference for the Generalization Error, eq. 9: the variance of a mean over K folds is
        multiplied by 1 + K * (asked / learnt from) = 1 + K / (K - 1).
        """
        return float(np.sqrt(1 + self.folds / (self.folds - 1))) if self.folds > 1 else 1.0
