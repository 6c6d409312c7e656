"""Words of a choice, alone and together with what it is asked with, as many sparse columns: for the linear probe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.choice_features import PLACES, READ
from hf_vqa_mc.audits.dealt import Dealt
from hf_vqa_mc.text.normalisation import words

COLUMNS = 1 << 18
"""That the crosses are hashed into; of 100,000 different ones a third shares its column with another."""
CHOICE_WORDS, QUESTION_WORDS = 8, 24
"""How many words of each text are looked at."""
NONE = -1

Signs = NDArray[np.int64]
"""(things, most): numbers of what each has, NONE where it has fewer"""


@dataclass(frozen=True, eq=False)
class ImageSigns:
    """What a linear probe may cross with a choice's words."""

    clusters: Signs
    """(rows, granularities): the number of the image's cluster, NONE where there is no image"""
    directions: NDArray[np.float32]
    """(rows, directions): where the image stands along the main directions, about 1 in size; 0 where there is none"""


class TextCrosses:
    """Makes the sparse columns of any of the rows.

    Args:
        dealt: all rows of an audit.
        with_question: cross the words with those of the question.
        placed: cross them with the choice's place, too.
        image: cross them with the image.
    """

    def __init__(self, dealt: Dealt, with_question: bool, placed: bool, image: ImageSigns | None) -> None:
        numbers: dict[str, int] = {}
        there = dealt.there
        self._dealt, self._placed, self._image = dealt, placed, image
        self._texts, self._choices = _signs(dealt.vocabulary.choices, dealt.texts[there], CHOICE_WORDS, numbers)
        self._asked, self._questions = (
            _signs(dealt.vocabulary.questions, dealt.questions, QUESTION_WORDS, numbers)
            if with_question
            else (np.empty(0, np.int64), np.empty((0, 0), np.int64))
        )

    def matrix(self, rows: NDArray[np.integer]) -> Any:  # noqa: ANN401  a sparse matrix
        """The columns of the choices of these rows, one after the other: float32 (choices, COLUMNS)."""
        from scipy import sparse

        some = self._dealt.take(rows)
        row = some.there.nonzero()[0]
        offered = _with_key(self._choices[np.searchsorted(self._texts, some.texts[some.there])], some)
        crosses = [_Crosses(offered, 1)]
        if len(self._asked):
            question = self._questions[np.searchsorted(self._asked, some.questions)]
            crosses.append(_Crosses(offered, 2, question[row]))
            first = np.where(question[:, :1] == NONE, 0, question[:, :1])
            crosses += self._with_place(first[row], some, 3)
        if self._image is not None:
            clusters = self._image.clusters[rows][row]
            crosses.append(_Crosses(offered, 4, clusters))
            crosses += self._with_place(clusters, some, 5)
            directions = self._image.directions[rows][row]
            names = np.broadcast_to(np.arange(directions.shape[1]), directions.shape)
            crosses.append(_Crosses(offered, 6, names, directions))
            crosses += self._with_place(names, some, 7, directions)
        parts = [cross.matrix() for cross in crosses]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return sparse.csr_matrix(total)

    def _with_place(
        self, signs: Signs, some: Dealt, purpose: int, values: NDArray[np.float32] | None = None
    ) -> list["_Crosses"]:
        """What tells the place of the target, whatever stands there."""
        if not self._placed:
            return []
        place = np.minimum(some.places[some.there], PLACES)[:, None].astype(np.int64)
        return [_Crosses(place, purpose, signs, values)]


@dataclass(frozen=True, eq=False)
class _Crosses:
    """Each sign of a choice with each sign of its row."""

    own: Signs
    purpose: int
    """crosses with another purpose have other columns"""
    others: Signs | None = None
    values: NDArray[np.float32] | None = None
    """of the others; 1 unless given"""

    def matrix(self) -> Any:  # noqa: ANN401  a sparse matrix
        from scipy import sparse

        others = np.zeros((len(self.own), 1), np.int64) if self.others is None else self.others
        cells, columns, values = [], [], []
        for own in self.own.T:
            for place, other in enumerate(others.T):
                cell = np.flatnonzero((own != NONE) & (other != NONE))
                cells.append(cell)
                columns.append(_column(own[cell], other[cell], self.purpose))
                values.append(np.ones(len(cell)) if self.values is None else self.values[cell, place])
        cell, column = np.concatenate(cells), np.concatenate(columns)
        value = np.concatenate(values).astype(np.float32)
        # Long texts have many crosses; together they weigh as much as those of a short one.
        value /= np.sqrt(np.bincount(cell, minlength=len(self.own)).astype(np.float32))[cell]
        return sparse.csr_matrix((value, (cell, column)), shape=(len(self.own), COLUMNS))


def _signs(texts: Sequence[str], used: NDArray[np.int32], most: int, numbers: dict[str, int]) -> tuple[Signs, Signs]:
    """The texts that are used, rising, and the words of each: (texts, most)."""
    different = np.unique(used)
    signs = np.full((len(different), most), NONE, np.int64)
    for place, text in enumerate(different):
        found = dict.fromkeys(words(texts[text][:READ]))
        known = [numbers.setdefault(word, len(numbers)) for word in list(found)[:most]]
        signs[place, : len(known)] = known
    return different.astype(np.int64), signs


def _with_key(signs: Signs, some: Dealt) -> Signs:
    """The words of each choice and, where it has several, the whole of it as one more."""
    whole = some.keys[some.there].astype(np.int64) + (1 << 40)  # words have lower numbers
    several = signs[:, 1] != NONE
    wordless = signs[:, 0] == NONE
    return np.column_stack([signs, np.where(several | wordless, whole, NONE)])


def _column(own: Signs, other: Signs, purpose: int) -> Signs:
    """A column for each pair of numbers, the same on every machine: multiply and shift (Dietzfelbinger 1996)."""
    mixed = own.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (other.astype(np.uint64) + np.uint64(purpose << 48)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    column: Signs = (mixed >> np.uint64(64 - 18)).astype(np.int64)
    return column
