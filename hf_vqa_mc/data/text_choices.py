"""Forms in which one text holds all choices of a row: lettered options, a packed list, or lines."""

# ruff: noqa: RUF001  marks of full width

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.entities import name2codepoint
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_lists, as_text, is_text, spelled_like, unpacked_list
from hf_vqa_mc.data.choices import UNKNOWN, ChoiceCells, ChoiceForm, NewRows, unpadded
from hf_vqa_mc.data.names import columns_in_words, next_name
from hf_vqa_mc.errors import InputError, shown

_HEADING = r"\b(?:answer[ \t]+)?(?:options|choices)[ \t]*:\s*"
_TIGHT = r"(?<=\(A\))(?=\S)|(?<=[Aa][.:)．、：])(?=\S)"
_START = re.compile(rf"(?:(?:^|\n)[ \t]*|(?i:{_HEADING}))(\(?)([Aa1])([.:．、：]| ?\))(?:(?=\s)|{_TIGHT})")
"""The first option: on a line of its own, or after "Options:"."""
_MARK = re.compile(r"[Aa1](?:[.:．、：]| ?\))\s|\(A\)|^[ \t]*\(?[Aa][.:)．、：]", re.MULTILINE)
"""What `_START` contains, found much faster."""


@dataclass(frozen=True)
class OptionText:
    """A text with one list of lettered or numbered options, such as ``Which? Options: A: red, B: blue``."""

    before: str
    first: str  # letter or number of the first option
    marks: tuple[str, str]  # characters before and after a letter
    between: str  # separator of options: a line break, a comma, or a blank
    choices: tuple[str, ...]
    after: str

    @classmethod
    def parse(cls, text: str) -> "OptionText | None":
        """Parse a text; None without options, or with one only. Raises InputError if it can be split in several ways.

        >>> OptionText.parse("Which? Options: A: red, B: blue").choices
        ('red', 'blue')
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
        tight = not text[start.end()].isspace() and not (opening and first == "A")  # such as "A:red", on lines only
        if tight and text[: start.start(1)].rpartition("\n")[2].strip():
            return None
        blank = "" if tight or (opening and first == "A") else r"(?=\s)"

        def following(separator: str, index: int, position: int) -> re.Match[str] | None:
            mark = f"{opening}{next_name(first, index)}{closing}"
            return re.compile(rf"({separator}){re.escape(mark)}{blank}").search(text, position)

        on_one_line = start[0].strip() != f"{opening}{first}{closing}"  # after "Options:"
        separators = r"\r?\n[ \t]*" if tight else r"\r?\n[ \t]*| ?[,;] " + ("| " if on_one_line else "")
        found = following(separators, 1, start.end())
        if found is None and not (start.start(1) or tight):  # a text of options alone
            found = following(" ", 1, start.end())
        if found is None:
            return None
        between = found[1]
        separator = r"\r?\n[ \t]*" if "\n" in between else between
        choices, position = [], start.end()
        while found:
            choices.append(text[position : found.start()].strip())
            position = found.end()
            found = following(separator, len(choices) + 1, position) if first == "1" or len(choices) < 25 else None
        lines = 1 + max(choice.count("\n") for choice in choices) if between.strip() else 1
        last = "\n".join(text[position:].split("\n")[:lines]).rstrip().removesuffix(between.strip() or "\n")
        other = r"\d{1,2}" if first == "1" else "[A-Z]" if first == "A" else "[a-z]"
        again = re.compile(rf"{separator}{re.escape(opening)}{other}{re.escape(closing)}{blank}")
        after = text[position + len(last) :]
        for choice in (*choices, last.strip()):
            if not choice or choice.count("\n") >= lines or again.search(choice) or (lines > 1 and after.strip()):
                raise InputError(f"{shown(text)}; expected options that can be split in one way only")
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


class TextForm(ChoiceForm):
    """A text per row that holds all its choices."""

    fits: ClassVar["staticmethod[[str], bool]"]  # whether a text has this form
    parse: ClassVar["staticmethod[[str], Sequence[str | None]]"]  # its choices; InputError if they are ambiguous
    replaced: ClassVar["staticmethod[[str, Sequence[str]], str]"]  # the text with other choices

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self | None:
        """The form of a column in which most texts have it."""
        if not is_text(table.schema.field(column).type):
            return None
        cells = [cell for cell in as_text(table[column]).to_pylist() if cell and cell.strip()]
        return cls((column,)) if 2 * sum(map(cls.fits, cells)) > len(cells) else None

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows; faults are ambiguous texts."""
        found, faults = list[Sequence[str | None]](), {}
        for row, cell in enumerate(as_text(table[self.column]).to_pylist()):
            try:
                found.append(type(self).parse(cell or ""))
            except InputError as error:
                faults[row] = f"{self.column} is {error}"
                found.append(())
        texts, lengths = as_lists(pa.array(found, pa.list_(pa.string())))
        return unpadded(ChoiceCells(texts, lengths, faults=faults))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        cells = table[self.column].to_pylist()
        for row, (choices, _) in rows.items():
            cells[row] = type(self).replaced(cells[row] or "", choices)
        return {self.column: pa.array(cells, table.schema.field(self.column).type)}


def _options(cell: str) -> "OptionText | InputError | None":
    """The options in a text; None if there are none, an InputError if it can be split in several ways."""
    try:
        return OptionText.parse(cell)
    except InputError as error:
        return error


class OptionsInText(TextForm):
    """Lettered options in a text, possibly after a question; texts without options are open questions."""

    name = "options_in_text"
    fits = staticmethod(lambda cell: _options(cell) is not None)
    replaced = staticmethod(
        lambda cell, choices: found.written(choices) if (found := OptionText.parse(cell)) else cell
    )

    def read(self, table: pa.Table) -> ChoiceCells:
        """The options of all rows, and their letters; without questions, each text must have options."""
        found = self._parsed(table)
        faults = {row: f"{self.column} is {one}" for row, (_, one) in enumerate(found) if isinstance(one, InputError)}
        options = [one if isinstance(one, OptionText) else None for _, one in found]
        expected = "expected lettered options such as 'A. red\\nB. blue', as in other rows"
        has_questions = any(one.question for one in options if one)
        for row, (text, one) in enumerate(() if has_questions else found):
            if one is None and text.strip():
                faults[row] = f"{self.column} is {shown(text)}; {expected}"
        choices = pa.array([one.choices if one else () for one in options], pa.list_(pa.string()))
        names = pa.array([name for one in options if one for name in one.names(len(one.choices))], pa.string())
        return ChoiceCells(*as_lists(choices), names, faults=faults)

    def questions(self, table: pa.Table) -> pa.Array | None:
        """(rows,): the texts before the options, and open questions; None if no options follow a question."""
        found = self._parsed(table)
        if not any(one.question for _, one in found if isinstance(one, OptionText)):
            return None
        before = [one.question if isinstance(one, OptionText) else text for text, one in found]
        texts = pc.if_else(pc.is_null(as_text(table[self.column])), None, pa.array(before, pa.string()))
        return pc.utf8_trim_whitespace(pc.replace_substring(texts, "<image>\n", ""))

    def _parsed(self, table: pa.Table) -> list[tuple[str, OptionText | InputError | None]]:
        return [(text or "", _options(text or "")) for text in as_text(table[self.column]).to_pylist()]


def _listed(cell: str) -> Sequence[str | None]:
    found = unpacked_list(cell)
    if found is None:
        raise InputError(f"{shown(cell)}; expected a list of choices such as \"['red', 'blue']\"")
    return found


class PackedChoices(TextForm):
    """A list in Python, JSON or NumPy syntax."""

    name = "packed"
    fits = staticmethod(lambda cell: cell.lstrip()[0] in "[(")
    parse = staticmethod(_listed)
    replaced = staticmethod(lambda cell, choices: spelled_like(cell, list(choices)))


def _lines(cell: str) -> list[str | None]:
    if _options(cell) is not None:
        raise InputError(f"{shown(cell)}; expected choices without letters, as in other rows")
    return [line.strip() for line in cell.split("\n") if line.strip()]


class Lines(TextForm):
    """A choice per line, without letters."""

    name = "lines"
    fits = staticmethod(lambda cell: "\n" in cell.strip() and cell.lstrip()[0] not in "[{")
    parse = staticmethod(_lines)
    replaced = staticmethod(lambda cell, choices: "\n".join(choices))


_BETWEEN_SEMICOLONS = re.compile(rf"(?:&(?:#\d+|#x[\da-fA-F]+|apos|{'|'.join(name2codepoint)});|[^;])+")
"""Text with HTML entities such as ``&amp;``, whose semicolons separate nothing."""


def _separated(cell: str) -> list[str]:
    return [text for one in _BETWEEN_SEMICOLONS.findall(cell) if (text := one.strip())]


class Separated(TextForm):
    """Choices separated by semicolons."""

    name = "separated"
    fits = staticmethod(lambda cell: len(_separated(cell)) > 1)
    parse = staticmethod(_separated)
    replaced = staticmethod(lambda cell, choices: "; ".join(choices))


_MARKS = r"[.):\]．、：）]"
_OPENING, _SIGNS = r"\s*(?:\*\*)?(?:(?i:option|choice) )?[(\[（<]?", r"[>|/]\s| ?[–—]\s| :\s|\t"
_LETTER = (
    rf"(?s)^({_OPENING})([A-Za-z]|\d{{1,2}})"
    rf"(\.\)\s*|{_MARKS}+\*\*\s*|{_MARKS}+\s+|{_MARKS}+$| \)\s*| -\s+|{_SIGNS}|{_MARKS})(.*)$"
)
_FIRST_LETTER = rf"(?s)^{_OPENING}(?P<letter>[A-Za-z](?:{_MARKS}| \)| -\s|{_SIGNS})|\d{{1,2}}(?:[)\]．、）]| \)|\.\s))"
"""Letters, and numbers that are neither decimals, nor times, nor ratios."""


@dataclass(frozen=True)
class Lettered(ChoiceForm):
    """Choices that start with their letters, such as ``["A. red", "B. blue"]``; the letters are not read."""

    form: ChoiceForm

    @classmethod
    def or_plain(cls, form: ChoiceForm, table: pa.Table) -> ChoiceForm:
        """The form, without letters if more than a tenth of the rows have them."""
        some = form.read(table.slice(0, 1000))
        lettered, _, repeated = cls._rows(some)
        return cls(form.columns, form) if 10 * (lettered | repeated).sum() > (some.counts > 0).sum() else form

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"{self.form.description} (with letters)"

    @staticmethod
    def _rows(cells: ChoiceCells) -> tuple[NDArray[np.bool_], pa.Array, NDArray[np.bool_]]:
        """(rows,): whether the choices of each start with A, B and so on; (cells,): the names of choices in labels.

        They may be in another order, and then name the choices, but must be those of lettered columns or records. If
        most rows have them, some may be missing. The last, (rows,): whether a row repeats a letter.
        """
        found = pc.struct_field(pc.extract_regex(cells.texts, _FIRST_LETTER), "letter")
        names = pc.replace_substring_regex(pc.utf8_upper(found), r"\W", "")
        filled = np.flatnonzero(cells.filled)
        of_row, positions = cells.rows[filled], filled - cells.starts[cells.rows[filled]]
        size, is_first = len(cells.lengths), np.diff(of_row, prepend=UNKNOWN) != 0
        named, in_order, distinct, complete = np.zeros((4, size), bool)
        for alphabet in (list(string.ascii_uppercase), [str(at + 1) for at in range(99)]):
            indices, given = (
                pc.fill_null(pc.index_in(some.take(pa.array(filled)), pa.array(alphabet)), UNKNOWN).to_numpy()
                for some in (names, cells.letters)
            )
            ascending = indices[np.lexsort((indices, of_row))]
            steps = np.where(is_first, ascending + 1, np.diff(ascending, prepend=0))
            for rows, wrong in (
                (named, indices != np.where(given == UNKNOWN, positions, given)),
                (in_order, ascending != positions),
                (distinct, (ascending == UNKNOWN) | (steps == 0)),
                (complete, (ascending == UNKNOWN) | (steps > 1)),
            ):
                rows |= np.bincount(of_row[wrong], minlength=size) == 0
        several = cells.counts > 1
        own = pa.nulls(len(cells.texts), pa.string()) if cells.names is None else cells.names.cast(pa.string())
        in_columns = cells.names is None or pa.types.is_dictionary(cells.names.type)
        must_agree = cells.letters.null_count < len(own) or not in_columns
        most = 2 * (in_order & several).sum() > (cells.counts > 0).sum()
        rows = (named if must_agree else distinct if most else in_order) & several
        is_name = rows & ~named if cells.names is not None else rows
        return rows, pc.if_else(pa.array(is_name[cells.rows]), names, own), complete & ~distinct & several

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, without the letters of rows that have them."""
        cells = replace(self.form, columns=self.columns).read(table)
        rows, names, repeated = self._rows(cells)
        stripped = pc.utf8_trim_whitespace(pc.replace_substring_regex(cells.texts, _LETTER, r"\4"))
        texts = pc.if_else(pa.array(rows[cells.rows]), stripped, cells.texts)
        where = columns_in_words(self.columns)
        faults = {
            row: f"{where} is {shown(cells.choices[row].as_py())}; expected each letter once"
            for row in np.flatnonzero(repeated).tolist()
        }
        return replace(cells, texts=texts, names=names, faults={**faults, **cells.faults})

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices in some rows, with letters where the row had them."""
        cells = self.form.read(table)
        lettered, new = self._rows(cells)[0], {}
        for row, (texts, label) in rows.items():
            found = re.match(_LETTER, cells.texts[int(cells.starts[row])].as_py() or "") if lettered[row] else None
            if found:
                before, letter, after, _ = found.groups()
                letter = letter if letter in "Aa1" else "1" if letter.isdigit() else "A" if letter.isupper() else "a"
                texts = [f"{before}{next_name(letter, at)}{after}{text}" for at, text in enumerate(texts)]
            new[row] = texts, label
        return self.form.write(table, new)
