"""The ways in which benchmarks tell which choice is right, and write another in the same way."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.columns import is_text
from hf_vqa_mc.benchmarks.offered import UNTOLD, Offered, as_text
from hf_vqa_mc.errors import InputError

_LETTER = re.compile(r"(\W*)([A-Za-z])(\W*)")
_HIDDEN = ("", "-1", "-1.0", "nan", "none", "null", "?")
"""What stands for a label that is not published."""


class LabelForm(Protocol):
    """How the right choice is told."""

    @property
    def told(self) -> str:
        """What a label is, for messages."""

    @property
    def in_short(self) -> str:
        """What labels are, in a word or two."""

    def read(self, column: pa.Array, offered: Offered) -> NDArray[np.int64]:
        """(rows,): the place of the right choice among the row's cells, UNTOLD where the label tells none.

        Args:
            column: (rows,) the labels as text.
            offered: the choices.
        """

    def write(self, cell: str, place: int, choice: str, name: str | None) -> str:
        """The label of a row, as text.

        Args:
            cell: what it is now.
            place: of the right choice.
            choice: its text.
            name: what the row or the column calls it, where something does.
        """


@dataclass(frozen=True)
class ByPlace:
    """A whole number: the choice's place, from 0 or from 1."""

    first: int

    @property
    def told(self) -> str:
        """What a label is, for messages."""
        return f"the place of a choice, from {self.first}"

    @property
    def in_short(self) -> str:
        """What labels are, in a word or two."""
        return f"numbers from {self.first}"

    def read(self, column: pa.Array, offered: Offered) -> NDArray[np.int64]:
        """(rows,): the place of the right choice."""
        numbers = whole_numbers(column)
        return np.where(numbers == _NO_NUMBER, UNTOLD, numbers - self.first)

    def write(self, cell: str, place: int, choice: str, name: str | None) -> str:
        """The label of a row, as text."""
        return str(place + self.first)


@dataclass(frozen=True)
class ByLetter:
    """A letter, in brackets or not: A is the first choice."""

    told: str = "a choice's letter"
    in_short: str = "letters"

    def read(self, column: pa.Array, offered: Offered) -> NDArray[np.int64]:
        """(rows,): the place of the right choice."""
        return _of_texts(column, _letter_place)

    def write(self, cell: str, place: int, choice: str, name: str | None) -> str:
        """The label of a row, as text: in the brackets and the case of the old one."""
        found = _LETTER.fullmatch(cell)
        if place >= 26:  # letters
            raise InputError(f"there is no letter for choice {place + 1}; keep to 26 choices a row")
        upper = found is None or found[2].isupper()
        letter = chr(ord("A" if upper else "a") + place)
        return f"{found[1]}{letter}{found[3]}" if found else letter


@dataclass(frozen=True)
class ByName:
    """What the row, or the name of the choice's column, calls the choice."""

    told: str = "the name of a choice"
    in_short: str = "names of choices"

    def read(self, column: pa.Array, offered: Offered) -> NDArray[np.int64]:
        """(rows,): the place of the right choice."""
        if offered.names is None:
            return np.full(len(column), UNTOLD, np.int64)
        named = pc.utf8_trim_whitespace(column).take(pa.array(offered.rows))
        return offered.first(pc.equal(offered.names.cast(pa.string()), named))

    def write(self, cell: str, place: int, choice: str, name: str | None) -> str:
        """The label of a row, as text."""
        return cell if name is None else name


@dataclass(frozen=True)
class ByText:
    """The text of the choice; where a text is there twice, the first."""

    told: str = "the text of a choice"
    in_short: str = "texts of choices"

    def read(self, column: pa.Array, offered: Offered) -> NDArray[np.int64]:
        """(rows,): the place of the right choice."""
        return offered.first(pc.equal(offered.texts, column.take(pa.array(offered.rows))))

    def write(self, cell: str, place: int, choice: str, name: str | None) -> str:
        """The label of a row, as text."""
        return choice


_NO_NUMBER = np.iinfo(np.int64).min


def whole_numbers(column: pa.Array) -> NDArray[np.int64]:
    """(rows,): the whole numbers that texts spell, a very negative one where they spell none."""
    return _of_texts(column, _whole, _NO_NUMBER)


def whole_numbers_only(column: pa.Array) -> bool:
    """Whether all labels are whole numbers, those that are not told aside."""
    return bool(((whole_numbers(column) != _NO_NUMBER) | hidden(column)).all())


def hidden(column: pa.Array) -> NDArray[np.bool_]:
    """(rows,): whether a label is not told at all: null, "", NaN or -1."""
    encoded = pc.fill_null(column, "").dictionary_encode()
    known = np.array([text.strip().lower() in _HIDDEN for text in encoded.dictionary.to_pylist()], bool)
    return known[encoded.indices.to_numpy()] if len(column) else np.zeros(0, bool)


def written_labels(
    form: LabelForm, column: pa.ChunkedArray, places: Mapping[int, tuple[int, str, str | None]]
) -> pa.Array:
    """A label column with other labels in some rows.

    Args:
        form: how labels are told.
        column: as it is.
        places: row to the place of its right choice, its text and its name.
    """
    kind = column.type
    if not places:
        return column
    cells = as_text(column).to_pylist()
    for row, (place, choice, name) in places.items():
        cells[row] = form.write(cells[row] or "", place, choice, name)
    texts = pa.array(cells, pa.string())
    if is_text(kind):
        return texts.cast(kind)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"the label's column holds {kind}, and a new label is none ({error}); store it as text"
        ) from error


def _of_texts(column: pa.Array, place: "_Reading", untold: int = UNTOLD) -> NDArray[np.int64]:
    """What each text says, worked out once for each different text."""
    encoded = column.dictionary_encode()
    of_text = np.array([place(text) for text in encoded.dictionary.to_pylist()] + [None], object)
    numbers = np.array([untold if found is None else found for found in of_text], np.int64)
    found: NDArray[np.int64] = numbers[pc.fill_null(encoded.indices, len(numbers) - 1).to_numpy()]
    return found


class _Reading(Protocol):
    def __call__(self, text: str) -> int | None: ...


def _letter_place(text: str) -> int | None:
    found = _LETTER.fullmatch(text.strip())
    return ord(found[2].upper()) - ord("A") if found else None


def _whole(text: str) -> int | None:
    """The number, also where a table without integers made 3.0 of 3."""
    found = re.fullmatch(r"\s*([+-]?\d{1,15})(?:\.0+)?\s*", text, re.ASCII)
    return int(found[1]) if found else None
