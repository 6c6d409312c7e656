"""The forms in which one text holds the choices of a row: a packed list, lettered options, or lines."""

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from hf_vqa_mc.benchmarks.cells import ChoiceCells, as_lists, as_text, is_text, list_of_json, unpacked_lists
from hf_vqa_mc.benchmarks.columns import cell_columns, named, next_name
from hf_vqa_mc.benchmarks.layouts.choice_forms import (
    ChoiceColumns,
    ChoiceFields,
    ChoiceForm,
    LabelledChoices,
    ListOfChoices,
    OneColumn,
    Texts,
)
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown

_HEADING = r"\b(?:options|choices)[ \t]*:\s*"
_START = re.compile(rf"(?:(?:^|\n)[ \t]*|(?i:{_HEADING}))(\(?)([Aa1])([.):])(?=\s)")
"""The first option: on a line of its own, or after "Options:"."""
_MARK = re.compile(r"[Aa1][.):]\s")
"""What `_START` contains, found much faster."""


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
        if not _MARK.search(text):
            return None
        found = [one for start in _START.finditer(text) if (one := cls._from(text, start)) is not None]
        found = [one for one in found if one.first != "1"] or found  # a numbered list may belong to the question
        if len(found) > 1:
            raise InputError(f"{shown(text)}; expected one list of options, found {len(found)}")
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
                raise InputError(f"{shown(text)}; expected options that can be split in one way only")
        after = text[position + len(last) :]
        return cls(text[: start.start(1)], first, (opening, closing), between, (*choices, last.strip()), after)

    @property
    def question(self) -> str:
        """The text before the options, without the heading "Options:"."""
        return re.sub(rf"(?i){_HEADING}$", "", self.before).strip()

    def names(self, number: int) -> list[str]:
        """The letters or numbers of a number of options."""
        return [next_name(self.first, index) for index in range(number)]

    def written(self, choices: Sequence[str]) -> str:
        """The text with other options."""
        opening, closing = self.marks
        pairs = zip(self.names(len(choices)), choices, strict=True)
        return self.before + self.between.join(f"{opening}{name}{closing} {text}" for name, text in pairs) + self.after


class TextForm(OneColumn, ABC):
    """A text per row that holds all its choices."""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self | None:
        """The form of a column of such texts."""
        if not is_text(table.schema.field(column).type):
            return None
        cells = [cell for cell in as_text(table[column]).to_pylist() if cell and cell.strip()]
        return cls(column) if cells and cls(column).fits(cells) else None

    @abstractmethod
    def fits(self, cells: Sequence[str]) -> bool:
        """Whether the texts of a column, without empty ones, have this form."""

    @abstractmethod
    def parse(self, cell: str) -> Sequence[str | None]:
        """The choices in a text; raises InputError if they are ambiguous."""

    @abstractmethod
    def replaced(self, cell: str, choices: Sequence[str]) -> str:
        """A text with other choices."""

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The choices of all rows."""
        found = []
        for row, cell in enumerate(as_text(table[self.column]).to_pylist()):
            try:
                found.append(self.parse(cell or ""))
            except InputError as error:
                raise InputError(f"{location}, row {row}: {self.column} is {error}") from error
        return ChoiceCells(*as_lists(pa.array(found, pa.list_(pa.string()))))

    def write(self, table: pa.Table, texts: Texts) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        cells = table[self.column].to_pylist()
        for row, choices in texts.items():
            cells[row] = self.replaced(cells[row] or "", choices)
            with contextlib.suppress(InputError):
                if list(self.parse(cells[row])) == list(choices):
                    continue
            raise InputError(
                f"row {row}: column {self.column!r}: {shown(cells[row])} cannot be parsed back into the choices "
                f"{shown(list(choices))}; use a column of lists"
            )
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


class OptionsInText(TextForm):
    """Lettered options in a text, possibly after a question; texts without options are open questions."""

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether most texts hold options."""
        return 2 * sum(map(_has_options, cells)) > len(cells)

    def parse(self, cell: str) -> Sequence[str]:
        """The options."""
        found = OptionText.parse(cell)
        return found.choices if found else ()

    def replaced(self, cell: str, choices: Sequence[str]) -> str:
        """The text with other options."""
        found = OptionText.parse(cell)
        return found.written(choices) if found else cell

    def read(self, table: pa.Table, location: str) -> ChoiceCells:
        """The options of all rows, and their letters."""
        cells = super().read(table, location)
        found = self._parsed(table)
        if not any(one.question for _, one in found if one):
            for row, (text, one) in enumerate(found):
                if one is None and text.strip():
                    raise InputError(
                        f"{location}, row {row}: {self.column} is {shown(text)}; expected lettered options such as "
                        "'A. red\\nB. blue', as in other rows"
                    )
        names = [name for _, one in found if one for name in one.names(len(one.choices))]
        return replace(cells, names=pa.array(names, pa.string()))

    def questions(self, table: pa.Table, location: str) -> pa.Array | None:
        """(rows,): the texts before the options, and open questions; None if no options follow a question."""
        found = self._parsed(table)
        if not any(one.question for _, one in found if one):
            return None
        return pa.array([one.question if one else text for text, one in found], pa.string())

    def _parsed(self, table: pa.Table) -> list[tuple[str, OptionText | None]]:
        return [(text or "", OptionText.parse(text or "")) for text in as_text(table[self.column]).to_pylist()]


class PackedChoices(TextForm):
    """A list in Python or JSON syntax."""

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether all texts start with a bracket."""
        return all(cell.lstrip()[0] in "[(" for cell in cells)

    def parse(self, cell: str) -> Sequence[str | None]:
        """The entries of the list."""
        (found,) = unpacked_lists([cell])
        if found is None:
            raise InputError(f"{shown(cell)}; expected a list of choices such as \"['red', 'blue']\"")
        return found

    def replaced(self, cell: str, choices: Sequence[str]) -> str:
        """A list in the syntax of the old one."""
        as_json = list_of_json(cell) is not None
        return json.dumps(list(choices), ensure_ascii=False) if as_json else repr(list(choices))


class Lines(TextForm):
    """A choice per line, without letters."""

    def fits(self, cells: Sequence[str]) -> bool:
        """Whether all texts have several lines."""
        return all("\n" in cell.strip() for cell in cells)

    def parse(self, cell: str) -> Sequence[str]:
        """The lines without empty ones."""
        if _has_options(cell):
            raise InputError(f"{shown(cell)}; expected choices without letters, as in other rows")
        return [line.strip() for line in cell.split("\n") if line.strip()]

    def replaced(self, cell: str, choices: Sequence[str]) -> str:
        """Lines."""
        return "\n".join(choices)


ONE_COLUMN_FORMS: tuple[Callable[[pa.Table, str], ChoiceForm | None], ...] = (
    ListOfChoices.of,
    LabelledChoices.of,
    ChoiceFields.of,
    OptionsInText.of,
    PackedChoices.of,
    Lines.of,
)


def forms_of(
    table: pa.Table,
    options: BenchmarkOptions,
    known: Sequence[str],
    runs_of: Callable[[Sequence[str]], list[list[str]]],
) -> list[ChoiceForm]:
    """The forms of columns named by the user, else of columns with known names and of runs, most likely first."""
    if options.choices is not None and len(options.choices) > 1:
        return [ChoiceColumns(options.choices)]
    names = options.choices or named(table.column_names, known)
    runs = [] if options.choices else runs_of(cell_columns(table))
    forms = (next((form for find in ONE_COLUMN_FORMS if (form := find(table, name))), None) for name in names)
    return [*filter(None, forms), *(ChoiceColumns(tuple(run)) for run in runs)]


def _has_options(text: str) -> bool:
    try:
        return OptionText.parse(text) is not None
    except InputError:
        return True  # in several ways
