"""The inputs of a probe, and the result of running it: a shortcut, or the reason why it was not run."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows

FOLDS = 5
"""Folds of the audited rows for cross-validation; they share no images."""
TIED = 1e-9
"""Scores that differ by less are ties: the order of summation changes the last digits."""


class ProbeInputs(StrEnum):
    """The inputs of a probe, in the order of reports; a probe with all inputs is not a shortcut."""

    label: str
    """name in tables, and part of the names of trained probes"""
    without: str
    """the missing inputs in words; "" if none"""
    sentence: str
    """continues "A strategy that ..." """
    colour: str
    """colour in charts"""

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

    def __new__(cls, value: str, label: str, without: str, sentence: str, colour: str) -> "ProbeInputs":
        """Create a member: its value and its attributes."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label, member.without, member.sentence, member.colour = label, without, sentence, colour
        return member

    @property
    def question(self) -> bool:
        """Whether the probe sees the question."""
        return self in (ProbeInputs.QUESTION, ProbeInputs.EVERYTHING)

    @property
    def image(self) -> bool:
        """Whether the probe sees the image."""
        return self in (ProbeInputs.IMAGE, ProbeInputs.EVERYTHING)

    @property
    def is_shortcut(self) -> bool:
        """Whether an input is missing, so that a gain over chance is a shortcut."""
        return self is not ProbeInputs.EVERYTHING


@dataclass(frozen=True, eq=False)
class Prediction:
    """The scores of a probe on each row."""

    scores: NDArray[np.float64] = field(repr=False)
    """(rows,): probability in [0, 1] that the target is picked, ties broken at random; NaN if not evaluated"""
    probabilities: NDArray[np.float64] | None = field(default=None, repr=False)
    """(rows, choices): P(target) of each choice, the target in column 0, NaN if not evaluated; None where unknown"""
    folds: int = 0
    """number of evaluated folds of the audited rows; 0 if it was not fitted on audited rows"""
    clusters: NDArray[np.int64] | None = field(default=None, repr=False)
    """(rows,): units of its standard error; None for images"""

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """(rows,): mask of the evaluated rows."""
        return ~np.isnan(self.scores)

    @property
    def inflation(self) -> float:
        """Factor of the standard error, since the training sets of different folds overlap.

        Nadeau and Bengio 2003, Inference for the Generalization Error, eq. 9: the variance of a mean over K folds is
        multiplied by 1 + K * (test rows / training rows), here 1 + K / (FOLDS - 1). One fold is held out, as a test
        split is.
        """
        return float(np.sqrt(1 + self.folds / (FOLDS - 1))) if self.folds > 1 else 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Shortcut(Prediction):
    """The prediction of a named strategy."""

    name: str
    """unique name, such as ``longest choice``"""
    sees: ProbeInputs
    sentence: str
    """continues "A strategy that ...": ``picks the longest choice``"""
    trained: bool = False
    """whether it is a fitted model or a language model, not a count"""
    fitted: bool = False
    """whether it is fitted on labels: of the training split, or of other audited rows if there are ``folds``"""


@dataclass(frozen=True)
class NotRun:
    """A requested probe that was not run."""

    name: str
    reason: str


def picked(values: NDArray[np.float64], rows: Rows) -> NDArray[np.float64]:
    """(rows,): probability in [0, 1] that picking the highest value, ties broken at random, picks the target.

    ``values`` are (rows, choices), the target in column 0.
    """
    valid = np.where(rows.valid, values, -np.inf)
    best = rows.valid & (valid >= valid.max(axis=1, keepdims=True) - TIED)
    share: NDArray[np.float64] = best[:, 0] / best.sum(axis=1)
    return share
