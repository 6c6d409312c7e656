"""The forms of labels: index, letter, name or text of the correct choice."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import UNKNOWN, ChoiceCells, as_mask, as_text
from hf_vqa_mc.benchmarks.layouts.choice_forms import typed
from hf_vqa_mc.errors import InputError

NO_NUMBER = np.iinfo(np.int64).min
_LETTER = re.compile(r"(\W*)([A-Za-z])(\W*)")
_MARKED = re.compile(r"(\s*\(?)([A-Za-z])([.):]\s+)(.*?)\s*", re.DOTALL)
_HIDDEN = ("", "-1", "-1.0", "nan", "none", "null", "?")
"""Values of hidden labels."""


@dataclass(frozen=True)
class LabelForm(ABC):
    """A form of labels."""

    description: ClassVar[str]
    """of one label, for messages"""
    short: ClassVar[str]
    """of labels, in one or two words"""

    @abstractmethod
    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice among the row's cells, or UNKNOWN, from labels as text."""

    @abstractmethod
    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """The new label of a row, as text.

        Args:
            old: the current label.
            index: of the correct choice.
            choice: its text.
            name: its name in row or column, if defined.
        """


@dataclass(frozen=True)
class ByIndex(LabelForm):
    """The choice's index, from 0 or 1."""

    first: int

    @property
    def description(self) -> str:  # type: ignore[override]
        """Of one label."""
        return f"the index of a choice, from {self.first}"

    @property
    def short(self) -> str:  # type: ignore[override]
        """Of labels."""
        return f"numbers from {self.first}"

    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice."""
        numbers = integers(column)
        return np.where(numbers == NO_NUMBER, UNKNOWN, numbers - self.first)

    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """The index."""
        return str(index + self.first)


class ByLetter(LabelForm):
    """A letter, possibly in brackets: A is the first choice."""

    description = "a choice's letter"
    short = "letters"

    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice."""
        return _of_texts(column, _letter_index, UNKNOWN)

    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """A letter with the brackets and case of the old one."""
        found = _LETTER.fullmatch(old)
        if index >= 26:  # letters
            raise InputError(f"no letter is left for choice {index + 1}; use at most 26 choices per row")
        letter = chr(ord("A" if found is None or found[2].isupper() else "a") + index)
        return f"{found[1]}{letter}{found[3]}" if found else letter


class ByName(LabelForm):
    """The choice's name in the row, or that of its column."""

    description = "the name of a choice"
    short = "names of choices"

    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice."""
        if cells.names is None:
            return np.full(len(column), UNKNOWN, np.int64)
        named = pc.utf8_trim_whitespace(column).take(pa.array(cells.rows))
        return cells.first(pc.equal(cells.names.cast(pa.string()), named))

    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """The name."""
        return old if name is None else name


class ByText(LabelForm):
    """The choice's text; the first of equal ones."""

    description = "the text of a choice"
    short = "texts of choices"

    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice."""
        return cells.first(pc.equal(cells.texts, column.take(pa.array(cells.rows))))

    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """The text."""
        return choice


class ByLetterAndText(LabelForm):
    """Letter and text, such as "B. blue" or "(B) blue"."""

    description = "a choice's letter and text"
    short = "letters with texts"

    def read(self, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        """(rows,): position of the correct choice."""
        found = [_MARKED.fullmatch(text or "") for text in column.to_pylist()]
        positions = np.array([ord(one[2].upper()) - ord("A") if one else UNKNOWN for one in found], np.int64)
        fits = (positions >= 0) & (positions < cells.lengths)
        texts = cells.texts.take(pa.array(np.where(fits, cells.starts + positions, 0), mask=~fits))
        return np.where(as_mask(pc.equal(texts, pa.array([one and one[4] for one in found]))), positions, UNKNOWN)

    def write(self, old: str, index: int, choice: str, name: str | None) -> str:
        """A letter with the characters around the old one, and the text."""
        found = _MARKED.fullmatch(old)
        before, _, after, *_ = found.groups() if found else ("", "", ". ")
        return f"{before}{ByLetter().write(found[2] if found else 'A', index, choice, name)}{after}{choice}"


def integers(column: pa.Array) -> NDArray[np.int64]:
    """(rows,): texts as integers, 3.0 as 3; NO_NUMBER for other texts."""
    return _of_texts(column, _integer, NO_NUMBER)


def integers_only(column: pa.Array) -> bool:
    """Whether all labels are integers or hidden."""
    return bool(((integers(column) != NO_NUMBER) | hidden(column)).all())


def hidden(column: pa.Array) -> NDArray[np.bool_]:
    """(rows,): whether each label is hidden: null, "", NaN or -1."""
    return _of_texts(column, lambda text: int(text.strip().lower() in _HIDDEN), 1).astype(bool)


def with_labels(
    form: LabelForm, table: pa.Table, name: str, labels: Mapping[int, tuple[int, str, str | None]]
) -> pa.ChunkedArray | pa.Array:
    """The label column ``name`` with new labels by row: index, text and name of the correct choice."""
    if not labels:
        return table[name]
    cells = as_text(table[name]).to_pylist()
    for row, label in labels.items():
        cells[row] = form.write(cells[row] or "", *label)
    return typed(pa.array(cells, pa.string()), table[name].type, name, "label")


def _of_texts(column: pa.Array, read: Callable[[str], int | None], default: int) -> NDArray[np.int64]:
    """``read`` of each text, computed once per distinct text; the default for null and None."""
    encoded = column.dictionary_encode()
    values = [*map(read, encoded.dictionary.to_pylist()), None]
    numbers = np.array([default if value is None else value for value in values], np.int64)
    found: NDArray[np.int64] = numbers[pc.fill_null(encoded.indices, len(numbers) - 1).to_numpy()]
    return found


def _letter_index(text: str) -> int | None:
    found = _LETTER.fullmatch(text.strip())
    return ord(found[2].upper()) - ord("A") if found else None


def _integer(text: str) -> int | None:
    found = re.fullmatch(r"\s*([+-]?\d{1,15})(?:\.0+)?\s*", text, re.ASCII)
    return int(found[1]) if found else None
