"""The forms in which columns hold the choices of a row.

Other packages add one with ``CHOICE_FORMS.add(TheirForm)``.
"""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import UNKNOWN, ChoiceCells, as_lists, as_mask, as_text, is_list, is_number, is_text
from hf_vqa_mc.data.choice_form import ChoiceForm, NewRows, OneColumn, typed
from hf_vqa_mc.data.names import LABEL, columns_in_words, named, next_name
from hf_vqa_mc.data.nested import name_within
from hf_vqa_mc.data.text_choices import Lines, OptionsInText, PackedChoices
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.listing import Listing


class ListOfChoices(OneColumn):
    """A list in one column."""

    name: ClassVar[str] = "list"

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "ListOfChoices | None":
        """The form of a column of lists of texts or numbers."""
        kind = table.schema.field(column).type
        return cls(column) if is_list(kind) and (is_text(kind.value_type) or is_number(kind.value_type)) else None

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        cells, lengths = as_lists(table[self.column])
        return ChoiceCells(as_text(cells), lengths)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        kind = table.schema.field(self.column).type
        values = table[self.column].to_pylist()
        for row, (choices, _) in rows.items():
            if pa.types.is_fixed_size_list(kind) and len(choices) != kind.list_size:
                raise InputError(
                    f"row {row}: column {self.column!r} holds lists of {kind.list_size}, not of {len(choices)}; "
                    "keep the number of choices, or store lists of variable length"
                )
            values[row] = list(choices)
        if is_text(kind.value_type):
            return {self.column: pa.array(values, kind)}
        spelled = [value and [None if cell is None else str(cell) for cell in value] for value in values]
        return {self.column: typed(pa.array(spelled, pa.list_(pa.string())), kind, self.column, "choice")}


@dataclass(frozen=True)
class NamedChoices(OneColumn):
    """Choices with their names in labels: a record of two lists, as in ARC, or a list of records.

    ``{"text": ["red", "blue"], "label": ["A", "B"]}`` or ``[{"text": "red", "label": "A"}, ...]``. Instead of names,
    1 or True may mark the correct choice, and 0 or False the others, as in TruthfulQA.
    """

    name: ClassVar[str] = "named"

    text: str
    label: str
    marked: bool = False
    """whether the labels are marks"""

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "NamedChoices | None":
        """The form of a column."""
        kind = table.schema.field(column).type
        inner = kind.value_type if is_list(kind) else kind
        if not pa.types.is_struct(inner):
            return None
        fields = [field.name for field in inner if is_list(kind) != is_list(field.type)]
        text = next(
            (name for name in ("text", "texts", "choices", "choice", "content", "value", "atext") if name in fields),
            None,
        )
        known = ("label", "labels", "key", "keys", "id", "letter", "choice_id", "aid", "correct", "is_correct")
        labels = sorted((name for name in known if name in fields), key=known.index)
        if not text or not labels:
            return None
        if not [name for name in named(table.column_names, LABEL) if not name.startswith(f"{column}.")]:
            for label in labels:
                marks = cls(column, text, label)._positions(table)
                if 2 * (marks != UNKNOWN).sum() > pc.sum(pc.is_valid(table[column])).as_py():
                    return cls(column, text, label, marked=True)
        return cls(column, text, labels[0])

    def _positions(self, table: pa.Table) -> NDArray[np.int64]:
        """(rows,): position of the only mark of each row, else UNKNOWN."""
        cells = self._cells(table)
        names = pc.utf8_lower(cells.names)
        marks = as_mask(pc.is_in(names, pa.array(["1", "true"])))
        numbers = np.bincount(cells.rows[marks], minlength=len(cells.lengths))
        others = np.bincount(cells.rows[as_mask(pc.is_in(names, pa.array(["0", "false"])))], minlength=len(numbers))
        first = cells.first(pa.array(marks))
        is_marked = (numbers == 1) & (others == cells.lengths - 1) & (others > 0)
        if (cells.lengths == 2).all() and (first == 1).all():  # 0 and 1 are the names of two choices
            return np.full(len(first), UNKNOWN, np.int64)
        return np.where(is_marked, first, UNKNOWN)

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows; faults are rows with unequal numbers of texts and names."""
        cells = self._cells(table)
        return replace(cells, names=None, targets=self._positions(table)) if self.marked else cells

    def _cells(self, table: pa.Table) -> ChoiceCells:
        column = table[self.column]
        if is_list(column.type):
            records, lengths = as_lists(column)
            return ChoiceCells(*(as_text(pc.struct_field(records, self.text)), lengths),
                               as_text(pc.struct_field(records, self.label)))  # fmt: skip
        texts, lengths = as_lists(pc.struct_field(column, self.text))
        names, numbers = as_lists(pc.struct_field(column, self.label))
        faults = {
            row: f"{self.column} has {lengths[row]} in {self.text!r} and {numbers[row]} in {self.label!r}; expected "
            "one for each"
            for row in np.flatnonzero(lengths != numbers).tolist()
        }
        if faults:
            keep = np.repeat(lengths == numbers, lengths), np.repeat(lengths == numbers, numbers)
            texts, names = (values.filter(pa.array(kept)) for values, kept in zip((texts, names), keep, strict=True))
            lengths = np.where(lengths == numbers, lengths, 0)
        return ChoiceCells(as_text(texts), lengths, as_text(names), faults=faults)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        values, kind = table[self.column].to_pylist(), table.schema.field(self.column).type
        for row, (choices, correct) in rows.items():
            old = values[row]
            records = old if is_list(kind) else [{self.label: name} for name in old[self.label] or ()]
            names = [record[self.label] for record in records[: len(choices)]] or ["A"]
            while len(names) < len(choices):
                names.append(next_name(names[-1], 1) if isinstance(names[-1], str) else names[-1] + 1)
            if self.marked:
                names = [type(names[0])(at == correct) for at in range(len(choices))]
            if is_list(kind):
                values[row] = [
                    {**(records[index] if index < len(records) else {}), self.text: text, self.label: name}
                    for index, (text, name) in enumerate(zip(choices, names, strict=True))
                ]
            else:
                values[row] = {**old, self.text: list(choices), self.label: names}
        return {self.column: pa.array(values, kind)}


@dataclass(frozen=True)
class ChoiceColumns(ChoiceForm):
    """A column for each choice, such as A, B, C, D."""

    name: ClassVar[str] = "columns"

    names: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns."""
        return self.names

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        width, rows = len(self.columns), table.num_rows
        by_column = pa.concat_arrays([as_text(table[name]) for name in self.columns])
        row_by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
        names = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(width, dtype=np.int32), rows)),
            pa.array([name_within(name, table) for name in self.columns]),
        )
        return ChoiceCells(by_column.take(pa.array(row_by_row)), np.full(rows, width, np.int64), names)

    def widened(self, columns: tuple[str, ...]) -> "ChoiceColumns":
        """The columns with additional ones."""
        return ChoiceColumns(columns)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices in some rows, and additional columns for more choices."""
        last = self.columns[-1]
        more = max(len(choices) for choices, _ in rows.values()) - len(self.columns)
        added = [next_name(last, number) for number in range(1, more + 1)]
        for name in added:
            if name in table.column_names:
                raise InputError(f"a new choice needs the column {name!r}, which exists already; rename that column")
        kinds = {name: table.schema.field(name).type for name in self.columns}
        filled = all(map(is_text, kinds.values())) and not any(table[name].null_count for name in self.columns)
        empty = "" if filled else None
        written = {}
        for index, name in enumerate((*self.columns, *added)):
            cells = as_text(table[name]).to_pylist() if name in kinds else [empty] * table.num_rows
            for row, (choices, _) in rows.items():
                cells[row] = choices[index] if index < len(choices) else empty
            written[name] = typed(pa.array(cells, pa.string()), kinds.get(name, kinds[last]), name, "choice")
        return written


@dataclass(frozen=True)
class TargetAndDecoys(ChoiceForm):
    """The layout of SciQ and Visual7W: the target in one column, its decoys in others, without an order."""

    name: ClassVar[str] = "target_and_decoys"

    target: str
    """the column of targets"""
    decoys: ChoiceForm

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of decoys and target."""
        return (*self.decoys.columns, self.target)

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"right choice={columns_in_words([self.target])}, decoys={columns_in_words(self.decoys.columns)}"

    def widened(self, columns: tuple[str, ...]) -> "TargetAndDecoys":
        """The columns with additional decoys."""
        return TargetAndDecoys(self.target, self.decoys.widened(columns[:-1]))

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, the target first."""
        decoys, targets = self.decoys.read(table), as_text(table[self.target])
        texts = pa.concat_arrays([targets, decoys.texts])
        rows = table.num_rows
        order = np.insert(np.arange(rows, len(texts)), decoys.starts, np.arange(rows))
        first = np.zeros(rows, np.int64)
        return ChoiceCells(texts.take(pa.array(order)), decoys.lengths + 1, None, first, decoys.faults, ordered=False)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new targets and decoys in some rows."""
        targets, kind = table[self.target].to_pylist(), table.schema.field(self.target).type
        decoys = {}
        for row, (texts, label) in rows.items():
            targets[row] = texts[label]
            decoys[row] = [*texts[:label], *texts[label + 1 :]], 0
        return {**self.decoys.write(table, decoys), self.target: pa.array(targets, kind)}


@dataclass(frozen=True)
class FixedChoices(ChoiceForm):
    """The same choices in all rows, such as yes and no, which no column holds."""

    name: ClassVar[str] = "fixed"

    choices: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """No column."""
        return ()

    @property
    def description(self) -> str:
        """The choices."""
        return f"choices={', '.join(self.choices)} in all rows"

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        texts = pa.DictionaryArray.from_arrays(
            pa.array(np.tile(np.arange(len(self.choices), dtype=np.int32), table.num_rows)), pa.array(self.choices)
        ).cast(pa.string())
        return ChoiceCells(texts, np.full(table.num_rows, len(self.choices), np.int64))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """Raise InputError if the choices of a row are not the fixed ones."""
        for row, (texts, _) in rows.items():
            if tuple(texts) != self.choices:
                raise InputError(
                    f"row {row}: all rows have the choices {', '.join(self.choices)}; others have no column"
                )
        return {}


_LETTER = r"(?s)^(\s*[(\[]?)([A-Za-z]|\d{1,2})([.):\]]+\s*)(.*)$"
_FIRST_LETTER = r"(?s)^\s*[(\[]?(?P<letter>[A-Za-z][.):\]]|\d{1,2}(?:[)\]]|\.\s))"
"""Letters, and numbers that are neither decimals, nor times, nor ratios."""


@dataclass(frozen=True)
class Lettered(ChoiceForm):
    """Choices that start with their letters, such as ``["A. red", "B. blue"]``; the letters are not read."""

    name: ClassVar[str] = "lettered"

    form: ChoiceForm

    @classmethod
    def or_plain(cls, form: ChoiceForm, table: pa.Table) -> ChoiceForm:
        """The form, without letters if most rows have them."""
        some = form.read(table.slice(0, 1000))
        lettered = cls._rows(some)
        return cls(form) if 2 * lettered.sum() > (some.counts > 0).sum() else form

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the choices."""
        return self.form.columns

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"{self.form.description} (with letters)"

    def widened(self, columns: tuple[str, ...]) -> "Lettered":
        """The form of more columns."""
        return Lettered(self.form.widened(columns))

    @staticmethod
    def _rows(cells: ChoiceCells) -> NDArray[np.bool_]:
        """(rows,): whether the choices of each start with A, B and so on."""
        indices = range(int(cells.lengths.max(initial=0)))
        positions = pa.array(np.arange(len(cells.rows)) - cells.starts[cells.rows])
        found = pc.struct_field(pc.extract_regex(cells.texts, _FIRST_LETTER), "letter")
        names = pc.replace_substring_regex(pc.utf8_lower(found), r"\W", "")
        rows = np.zeros(len(cells.lengths), bool)
        for expected in ([chr(ord("a") + min(at, 26)) for at in indices], [str(at + 1) for at in indices]):
            fits = as_mask(pc.equal(names, pa.array(expected, pa.string()).take(positions))) | ~cells.filled
            rows |= np.bincount(cells.rows[~fits], minlength=len(rows)) == 0
        return np.asarray(rows & (cells.counts > 1))

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, without the letters of rows that have them in order."""
        cells = self.form.read(table)
        stripped = pc.replace_substring_regex(cells.texts, _LETTER, r"\4")
        return replace(cells, texts=pc.if_else(pa.array(self._rows(cells)[cells.rows]), stripped, cells.texts))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices in some rows, with letters where the row had them."""
        cells = self.form.read(table)
        lettered, new = self._rows(cells), {}
        for row, (texts, label) in rows.items():
            found = re.match(_LETTER, cells.texts[int(cells.starts[row])].as_py() or "") if lettered[row] else None
            if found:
                before, letter, after, _ = found.groups()
                texts = [f"{before}{next_name(letter, at)}{after}{text}" for at, text in enumerate(texts)]
            new[row] = texts, label
        return self.form.write(table, new)


CHOICE_FORMS: Listing[type[ChoiceForm]] = Listing(
    "choice form", ListOfChoices, NamedChoices, OptionsInText, PackedChoices, Lines
)
"""Forms of one column, tried in this order."""
