"""The forms in which one text holds the choices of a row: a packed list, lettered options, or lines."""

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks.cells import ChoiceCells, as_lists, as_text, is_text, list_of_json, unpacked_lists
from hf_vqa_mc.benchmarks.columns import next_name
from hf_vqa_mc.benchmarks.layouts.choice_forms import (
    ChoiceFields,
    ChoiceForm,
    LabelledChoices,
    ListOfChoices,
    OneColumn,
    Texts,
)
from hf_vqa_mc.errors import InputError, shown

_HEADING = r"\b(?:options|choices)[ \t]*:\s*"
_START = re.compile(rf"(?:(?:^|\n)[ \t]*|(?i:{_HEADING}))(\(?)([Aa1])([.):])(?=\s)")
"""The first option: on a line of its own, or after "Options:"."""


@dataclass(frozen=True)
class OptionText:
    """A text with one list of lettered or numbered options, such as ``Which? Options: A: red, B: blue``."""

    before: str
    first: str
    """letter or number of the first option"""
    marks: tuple[str, str]
    """characters before and after a letter"""
    between: str
    """separator of options: a line break, or a comma"""
    choices: tuple[str, ...]
    after: str

    @classmethod
    def parse(cls, text: str) -> "OptionText | None":
        """Parse a text; None without options, or with one only.

        >>> OptionText.parse("Which? Options: A: red, B: blue").choices
        ('red', 'blue')

        Raises:
            InputError: the text can be split in several ways.
        """
        found = [one for start in _START.finditer(text) if (one := cls._from(text, start)) is not None]
        if len(found) > 1:
            raise InputError(f"{shown(text)} holds {len(found)} lists of options, expected one")
        return found[0] if found else None

    @classmethod
    def _from(cls, text: str, start: re.Match[str]) -> "OptionText | None":
        opening, first, closing = start.groups()

        def following(separator: str, index: int, position: int) -> re.Match[str] | None:
            mark = f"{opening}{next_name(first, index)}{closing}"
            return re.compile(rf"({separator}){re.escape(mark)}(?=\s)").search(text, position)

        found = following(r"\r?\n[ \t]*|[,;] ", 1, start.end())
        if found is None:
            return None
        between = found[1]
        separator = r"\r?\n[ \t]*" if "\n" in between else between
        choices, position = [], start.end()
        while found:
            choices.append(text[position : found.start()].strip())
            position = found.end()
            found = following(separator, len(choices) + 1, position) if first == "1" or len(choices) < 25 else None
        last = text[position:].partition("\n")[0].rstrip()
        other = r"\d{1,2}" if first == "1" else "[A-Z]" if first == "A" else "[a-z]"
        again = re.compile(rf"{separator}{re.escape(opening)}{other}{re.escape(closing)}\s")
        for choice in (*choices, last.strip()):
            if not choice or "\n" in choice or again.search(choice):
                raise InputError(f"{shown(text)} can be split into options in several ways")
        after = text[position + len(last) :]
        return cls(text[: start.start(1)], first, (opening, closing), between, (*choices, last.strip()), after)

    @property
    def question(self) -> str:
        """The text before the options, without the heading "Options:"."""
        return re.sub(rf"(?i){_HEADING}$", "", self.before).strip()

    @property
    def names(self) -> list[str]:
        """The letters or numbers."""
        return [next_name(self.first, index) for index in range(len(self.choices))]

    def written(self, choices: Sequence[str]) -> str:
        """The text with other options; raises InputError if they cannot be read back."""
        (opening, closing), names = self.marks, [next_name(self.first, index) for index in range(len(choices))]
        options = (f"{opening}{name}{closing} {choice}" for name, choice in zip(names, choices, strict=True))
        text = f"{self.before}{self.between.join(options)}{self.after}"
        found = None
        with contextlib.suppress(InputError):
            found = OptionText.parse(text)
        if found is None or list(found.choices) != list(choices):
            raise InputError(f"{shown(text)} is not read back as the choices {shown(list(choices))}")
        return text


class OptionsInText(OneColumn):
    """Lettered options in a text, possibly after a question."""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "OptionsInText | None":
        """The form of a column of texts most of which hold options."""
        if not is_text(table.schema.field(column).type):
            return None
        texts = as_text(table[column]).drop_null()
        starts = texts.filter(pc.match_substring_regex(texts, r"(^|\n|(?i:options|choices)[ \t]*:)\s*\(?[Aa1][.):]\s"))
        return cls(column) if 2 * sum(map(_has_options, starts.to_pylist())) > len(texts) else None

    def parsed(self, table: pa.Table, location: str) -> list[OptionText | None]:
        """(rows,): the texts; None for open questions."""
        found: list[OptionText | None] = []
        cells = as_text(table[self.column]).to_pylist()
        for row, cell in enumerate(cells):
            try:
                found.append(OptionText.parse(cell or ""))
            except InputError as error:
                raise InputError(f"{location}, row {row}: {self.column}: {error}; fix the row") from error
        if not any(one.question for one in found if one):
            for row in (row for row, one in enumerate(found) if one is None and (cells[row] or "").strip()):
                raise InputError(
                    f"{location}, row {row}: {self.column} is {shown(cells[row])}; expected lettered options such as "
                    "'A. red\\nB. blue', as in other rows"
                )
        return found

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the texts before the options, and whole texts without options; None if there are none."""
        rows = zip(self.parsed(table, location), as_text(table[self.column]).to_pylist(), strict=True)
        found = [cell if one is None else one.question for one, cell in rows]
        return pa.array(found, pa.string()) if any(found) else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        found = self.parsed(table, location)
        texts = [text for one in found if one for text in one.choices]
        names = [name for one in found if one for name in one.names]
        lengths = np.array([len(one.choices) if one else 0 for one in found], np.int64)
        return ChoiceCells(pa.array(texts, pa.string()), lengths, pa.array(names, pa.string()))

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        cells, parsed = table[self.column].to_pylist(), self.parsed(table, self.column)
        for row, choices in texts.items():
            old = parsed[row]
            if old is None:
                raise InputError(f"row {row}: column {self.column!r} holds no options to replace")
            try:
                cells[row] = old.written(choices)
            except InputError as error:
                raise InputError(f"row {row}: column {self.column!r}: {error}; use a list of choices") from error
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


class Lines(OneColumn):
    """A choice per line of a text, without letters."""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "Lines | None":
        """The form of a column of texts of several lines each."""
        if not is_text(table.schema.field(column).type):
            return None
        cells = [cell for cell in as_text(table[column]).to_pylist() if cell and cell.strip()]
        return cls(column) if cells and all("\n" in cell.strip() for cell in cells) else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        cells = as_text(table[self.column]).to_pylist()
        for row in (row for row, cell in enumerate(cells) if cell and _has_options(cell)):
            raise InputError(
                f"{location}, row {row}: {self.column} is {shown(cells[row])}; expected choices without letters, "
                "as in other rows"
            )
        texts, lengths = as_lists(pa.array([_lines(cell) for cell in cells], pa.list_(pa.string())))
        return ChoiceCells(texts, lengths)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        cells = table[self.column].to_pylist()
        for row, choices in texts.items():
            cells[row] = "\n".join(choices)
            if len(choices) < 2 or _lines(cells[row]) != list(choices) or _has_options(cells[row]):
                raise InputError(
                    f"row {row}: column {self.column!r}: {shown(cells[row])} is not read back as the choices "
                    f"{shown(list(choices))}; use a list of choices"
                )
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


class PackedChoices(OneColumn):
    """A list as text in one column, in Python or JSON syntax."""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "PackedChoices | None":
        """The form of a column of texts that all start with a bracket."""
        if not is_text(table.schema.field(column).type):
            return None
        starts = pc.utf8_slice_codeunits(pc.utf8_ltrim_whitespace(as_text(table[column]).drop_null()), 0, 1)
        found = {start for start in pc.unique(starts).to_pylist() if start}
        return cls(column) if found and found <= {"[", "("} else None

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        cells = as_text(table[self.column]).to_pylist()
        lists = unpacked_lists(cells)
        for row, found in enumerate(lists):
            if found is None:
                raise InputError(
                    f"{location}, row {row}: {self.column} is {shown(cells[row])}; expected a list of choices such as "
                    "\"['red', 'blue']\""
                )
        texts, lengths = as_lists(pa.array(lists, pa.list_(pa.string())))
        return ChoiceCells(texts, lengths)

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        cells = table[self.column].to_pylist()
        as_json = all(list_of_json(cell) is not None for cell in cells if cell)
        for row, choices in texts.items():
            cells[row] = json.dumps(list(choices), ensure_ascii=False) if as_json else repr(list(choices))
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


ONE_COLUMN_FORMS: tuple[Callable[[pa.Table, str], ChoiceForm | None], ...] = (
    ListOfChoices.of,
    LabelledChoices.of,
    ChoiceFields.of,
    OptionsInText.of,
    PackedChoices.of,
    Lines.of,
)


def form_of(table: pa.Table, column: str) -> ChoiceForm | None:
    """The form of a column that holds all choices of a row; None if it does not."""
    return next((form for find in ONE_COLUMN_FORMS if (form := find(table, column))), None)


def _has_options(text: str) -> bool:
    try:
        return OptionText.parse(text) is not None
    except InputError:
        return True  # in several ways


def _lines(cell: str | None) -> list[str]:
    return [line.strip() for line in (cell or "").split("\n") if line.strip()]
