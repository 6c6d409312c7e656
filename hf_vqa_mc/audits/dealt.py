"""Rows whose choices were shuffled: what is computed from them cannot know which is the target."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, Vocabulary
from hf_vqa_mc.decoys.candidates import MISSING

_OF_ROWS = ("texts", "places", "questions", "target", "came_from")


@dataclass(frozen=True, eq=False)
class Dealt:
    """Rows in an order of choices that says nothing, and, kept apart, which is the target."""

    texts: NDArray[np.int32]
    """(rows, places): as in `Rows`, in random order; the places without a choice come last"""
    places: NDArray[np.int32]
    """(rows, places): where each stands in the dataset's own order"""
    questions: NDArray[np.int32]
    """(rows,)"""
    target: NDArray[np.int64]
    """(rows,): the column of each row's target; only what learns may look at it"""
    came_from: NDArray[np.int64]
    """(rows, places): the column of `Rows` that each choice stood in"""
    vocabulary: Vocabulary

    def __len__(self) -> int:
        """How many rows there are."""
        return len(self.questions)

    @cached_property
    def there(self) -> NDArray[np.bool_]:
        """(rows, places): whether there is a choice; rows and columns of the choices are those of its nonzeros."""
        there: NDArray[np.bool_] = self.texts != MISSING
        return there

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """(rows, places): the number of each choice's comparable text, MISSING where there is none."""
        return np.where(self.there, self.vocabulary.keys[self.texts], MISSING).astype(np.int32)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(rows,): how many choices each has."""
        sizes: NDArray[np.int64] = self.there.sum(axis=1)
        return sizes

    @cached_property
    def is_target(self) -> NDArray[np.bool_]:
        """Which choices are targets, (rows, places); only what learns may look at it."""
        is_target: NDArray[np.bool_] = np.arange(self.texts.shape[1]) == self.target[:, None]
        return is_target

    def take(self, rows: NDArray[np.integer] | slice) -> "Dealt":
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[rows] for name in _OF_ROWS})

    def target_first(self, values: NDArray[np.float64], shape: tuple[int, int]) -> NDArray[np.float64]:
        """Values of the choices, in the order of `Rows`.

        Args:
            values: (rows, places)
            shape: of the `Rows` that were dealt; more places than theirs are cut off.

        Returns:
            float64, of that shape; 0 where there is no choice.
        """
        back = np.zeros(self.texts.shape)
        np.put_along_axis(back, self.came_from, np.where(self.there, values, 0.0), axis=1)
        return back[:, : shape[1]]


def deal(rows: Rows, places: int, generator: np.random.Generator) -> Dealt:
    """Shuffle the choices of each row.

    Args:
        rows: the target first.
        places: columns that the result shall have; at least as many as the rows have.
        generator: of the order.
    """
    spare = ((0, 0), (0, places - rows.texts.shape[1]))
    texts, own = (np.pad(array, spare, constant_values=MISSING) for array in (rows.texts, rows.places))
    order = np.argsort(np.where(texts == MISSING, 2.0, generator.random(texts.shape)), axis=1, kind="stable")
    texts, own = (np.take_along_axis(array, order, axis=1) for array in (texts, own))
    target = (order == 0).argmax(axis=1)
    return Dealt(texts, own, rows.questions, target, order, rows.vocabulary)


def together(first: Dealt, second: Dealt) -> Dealt:
    """The rows of both, which have as many places and one vocabulary."""
    joined: dict[str, Any] = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in _OF_ROWS}
    return replace(first, **joined)
