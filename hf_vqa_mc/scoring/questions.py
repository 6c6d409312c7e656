"""What was asked and answered, one row a question: checked once at the door, so that a scheme only counts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError

Column = Sequence[Any] | NDArray[Any]
"""One value a question."""


class Questions:
    """The columns of a scheme's input, as lists of the same length.

    Args:
        question_ids: what messages call the questions; their rows if there are none.
        columns: name to values; None where an optional column was not given.

    Raises:
        InputError: columns of different lengths, or no questions at all.
    """

    def __init__(self, question_ids: Column | None = None, **columns: Column | None) -> None:
        named = {"question_ids": question_ids, **columns}
        self._columns = {name: _as_list(name, column) for name, column in named.items() if column is not None}
        lengths = {name: len(column) for name, column in self._columns.items()}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{length:,} {name}" for name, length in lengths.items())
            raise InputError(f"{told}: expected one of each a question")
        self.count = next(iter(lengths.values()))
        """how many questions there are"""
        if not self.count:
            raise InputError("no questions at all: there is nothing to score")

    def __contains__(self, name: str) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def where(self, row: int) -> str:
        """A question's name in messages."""
        return f"question {self._columns['question_ids'][row]!r}" if "question_ids" in self else f"row {row}"

    def wrong(self, row: int, field: str, expected: str) -> InputError:
        """The error for a value that a scheme cannot take."""
        found = repr(self._columns[field][row])
        shown = found if len(found) <= 100 else f"{found[:100]}..."
        return InputError(f"{self.where(row)}: {field} is {shown}, expected {expected}")

    def texts(self, name: str) -> list[str]:
        """A column of text.

        Raises:
            InputError: a value is anything else; names question and column.
        """
        column = self._columns[name]
        for row in (row for row, value in enumerate(column) if not isinstance(value, str)):
            raise self.wrong(row, name, "text")
        return column

    def groups(self, name: str) -> list[str] | None:
        """A column of names or numbers by which to group (types, images), as text; None if it was not given.

        Raises:
            InputError: a value is neither text nor a whole number; names question and column.
        """
        if name not in self:
            return None
        column = self._columns[name]
        for row in (row for row, value in enumerate(column) if not isinstance(value, str) and not is_whole(value)):
            raise self.wrong(row, name, "a name or a whole number")
        return [str(value) for value in column]


def is_whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _as_list(name: str, column: Column) -> list[Any]:
    if isinstance(column, str | bytes) or not hasattr(column, "__len__"):
        raise InputError(f"{name} is {type(column).__name__}, expected a list with one value a question")
    listed = column.tolist() if hasattr(column, "tolist") else list(column)
    return listed if isinstance(listed, list) else [listed]
