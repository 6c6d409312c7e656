"""What a probe sees, and how often its picks are right: a shortcut, or the reason why it was not run."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows

FOLDS = 5
"""Folds of the audited rows, none of which shares an image with another; each is evaluated by models of the others."""
TIED = 1e-9
"""Values that differ by less are equal: sums in another order differ in their last digits."""


class Sees(StrEnum):
    """What a probe sees of a question, in the order of reports; a probe that sees everything is no shortcut."""

    label: str
    """as tables and names of trained probes have it"""
    without: str
    """what the probe lacks, in words; "" if nothing"""
    sentence: str
    """continues "A strategy that ..." """
    colour: str
    """of charts"""

    CHOICES = ("choices", "choices alone", "without the image and the question", "sees the choices alone", "#b3372f")
    QUESTION = (
        "question",
        "question and choices",
        "without the image",
        "sees question and choices but no image",
        "#9a6b16",
    )
    IMAGE = ("image", "image and choices", "without the question", "sees image and choices but no question", "#2d66b1")
    EVERYTHING = ("everything", "image, question and choices", "", "sees image, question and choices", "#6b7480")

    def __new__(cls, value: str, label: str, without: str, sentence: str, colour: str) -> "Sees":
        """A text with the attributes of a declaration."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label, member.without, member.sentence, member.colour = label, without, sentence, colour
        return member

    @property
    def question(self) -> bool:
        """Whether the question is seen."""
        return self in (Sees.QUESTION, Sees.EVERYTHING)

    @property
    def image(self) -> bool:
        """Whether the image is seen."""
        return self in (Sees.IMAGE, Sees.EVERYTHING)

    @property
    def is_shortcut(self) -> bool:
        """Whether something is unseen, so that no gain over chance is legitimate."""
        return self is not Sees.EVERYTHING


@dataclass(frozen=True, eq=False)
class Shortcut:
    """A strategy and how often it picks the target of each row."""

    name: str
    """such as ``longest choice``; unique in an audit"""
    sees: Sees
    sentence: str
    """continues "A strategy that ...": ``picks the longest choice``"""
    scores: NDArray[np.float64]
    """(rows,) in [0, 1]: how often the target is picked; tied choices share the pick"""
    folds: int = 0
    """folds of the audited rows that it was fitted on in turn; 0 where it was fitted on none of them"""
    trained: bool = False
    """a fitted model or a language model, not a count"""
    chances: NDArray[np.float64] | None = None
    """(rows, choices): P(target) of each choice, the target first, 1 in total for a row; None where unknown"""

    @property
    def inflation(self) -> float:
        """Factor of the standard error: models of different folds were fitted on rows in common.

        Nadeau and Bengio 2003, Inference for the Generalization Error, eq. 9: the variance of a mean over K folds is
        multiplied by 1 + K * (evaluated / fitted) = 1 + K / (K - 1).
        """
        return float(np.sqrt(1 + self.folds / (self.folds - 1))) if self.folds > 1 else 1.0


@dataclass(frozen=True)
class NotRun:
    """A requested probe that was not run."""

    name: str
    why: str


def picked(values: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """How often a strategy that picks the highest value picks the target: (rows,) in [0, 1]; ties share the pick.

    Args:
        values: (rows, choices), the target first.
        rows: the audited rows.
    """
    valid = np.where(rows.valid, values, -np.inf)
    best = rows.valid & (valid >= valid.max(axis=1, keepdims=True) - TIED)
    share: NDArray[np.float64] = best[:, 0] / best.sum(axis=1)
    return share
