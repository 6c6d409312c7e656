"""The choices of all rows, and the forms in which columns hold them.

Other packages add one with ``CHOICE_FORMS.add(TheirForm)``.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.types import is_struct

from hf_vqa_mc.data.cells import (
    as_lists,
    as_mask,
    as_text,
    is_cell,
    is_list,
    is_text,
    list_array,
    spelled_like,
    text_lists,
    unpacked_column,
)
from hf_vqa_mc.data.names import LABEL, columns_in_words, known_names, named, next_name
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.listing import Listing

KINDS = "choice_kinds"  # column of vqa-mc with the kind of each choice
TEXTS = pa.list_(pa.string())
PADDING = ("n/a", "nan", "none", "null")  # texts that may pad rows
NAME_LETTER = r"(?i)(?:^|[^a-z]|option|choice|answer)(?P<letter>[a-z])$"  # of a choice or its column: A, option_b
UNKNOWN = -1  # index of the correct choice if the label does not give it
NewRows = Mapping[int, tuple[Sequence[str], int]]
"""New choices, and the index of the correct one, by row; for changed rows only."""


@dataclass(eq=False)
class ChoiceCells:
    """The cells with choices of all rows, concatenated.

    Empty cells after the last choice of a row are not choices. One before it is an empty choice, which keeps its
    letter, unless the choices have no order.
    """

    texts: pa.Array  # (cells,): text; null for an empty cell
    lengths: NDArray[np.int64]  # (rows,): number of cells of each row
    names: pa.Array | None = None  # (cells,): name of each in labels, if rows or column names define it
    targets: NDArray[np.int64] | None = None  # (rows,): position of the correct choice, if the cells tell it
    faults: Mapping[int, str] = field(default_factory=dict)  # what is wrong with the cells of a row, by row
    ordered: bool = True  # whether the choices have an order
    padded: int = 0  # number of rows that end with texts such as N/A, which are not read as choices

    def __post_init__(self) -> None:
        """Find out which cells are choices."""
        size = len(self.lengths)
        self.starts = np.cumsum(self.lengths) - self.lengths  # (rows,): index of each row's first cell
        self.rows = np.repeat(np.arange(size), self.lengths)  # (cells,): row of each
        self.filled = as_mask(pc.not_equal(self.texts, ""))  # (cells,): whether each has text: not null, "" or NaN
        cells = np.flatnonzero(self.filled)
        self.ends = np.zeros(size, np.int64)  # (rows,): position after each row's last choice
        self.ends[self.rows[cells]] = cells - self.starts[self.rows[cells]] + 1
        in_order = np.arange(len(self.rows)) < (self.starts + self.ends)[self.rows]
        self.valid = in_order if self.ordered else self.filled  # (cells,): whether each is a choice
        self.before = np.append(0, np.cumsum(self.valid))  # (cells + 1,): number of choices before each cell
        self.counts = self.before[self.starts + self.lengths] - self.before[self.starts]  # (rows,): number of choices
        self.has_choices = self.counts > (0 if self.ordered else 1)  # (rows,): not only a target without decoys

    @cached_property
    def choices(self) -> pa.ListArray:
        """(rows,): lists of text."""
        texts = self.texts if self.valid.all() else self.texts.filter(pa.array(self.valid))
        return list_array(pc.fill_null(texts, ""), self.counts)

    @cached_property
    def letters(self) -> pa.Array:
        """(cells,): letters at the end of names, in upper case, null without; of all names only if one is A."""
        if self.names is None:
            return pa.nulls(len(self.texts), pa.string())
        found = pc.extract_regex(pc.utf8_upper(self.names.cast(pa.string())), NAME_LETTER)
        letters = pc.struct_field(found, "letter")
        return letters if pc.any(pc.equal(letters, "A")).as_py() else pa.nulls(len(letters), pa.string())

    def labels(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """(rows,): indices among the choices from positions among all cells; UNKNOWN for empty cells."""
        if not len(self.filled):
            return np.full(len(positions), UNKNOWN, np.int64)
        fits = (positions >= 0) & (positions < self.lengths)
        cells = np.where(fits, self.starts + positions, 0)
        return np.where(fits & self.filled[cells], self.before[cells] - self.before[self.starts], UNKNOWN)

    def first(self, hit: pa.Array) -> NDArray[np.int64]:
        """(rows,): position of the first choice in its row with true ``hit`` (cells,), else UNKNOWN."""
        cells = np.flatnonzero(as_mask(hit) & self.filled)
        found = np.full(len(self.lengths), UNKNOWN, np.int64)
        rows = self.rows[cells]
        found[rows[::-1]] = (cells - self.starts[rows])[::-1]
        return found


def unpadded(cells: ChoiceCells) -> ChoiceCells:
    """The cells of all rows, null for padding: N/A and the like, if a row ends with two.

    If rows are equally long, also if a tenth of them end with one.
    """
    texts, lengths, numbers = cells.texts, cells.lengths, np.arange(len(cells.texts))
    codes = pc.fill_null(pc.index_in(pc.utf8_lower(texts), pa.array(PADDING)), UNKNOWN).to_numpy(zero_copy_only=False)
    last = np.cumsum(lengths)[lengths > 2] - 1
    ends = codes[last]
    times = {text: np.count_nonzero(ends == code) for code, text in enumerate(PADDING) if text != "none"}
    is_filled_up = len(np.unique(lengths[lengths > 2])) == 1
    frequent = [PADDING.index(text) for text in times if is_filled_up and times[text] > max(1, len(lengths) / 10)]
    pads = np.isin(codes, [*{*ends[ends == codes[last - 1]].tolist(), *frequent} - {UNKNOWN}])
    if not pads.any():
        return cells
    before = np.full(len(lengths), -1)
    before[cells.rows[~pads]] = numbers[~pads]  # the last cell of each row that is none
    is_padding = numbers > before[cells.rows]
    padded = len(np.unique(cells.rows[is_padding]))
    return replace(cells, texts=pc.if_else(pa.array(is_padding), None, texts), padded=padded)


@dataclass(frozen=True)
class ChoiceForm(ABC):
    """A form of columns with choices; tables are those of `cells.flat`."""

    name: ClassVar[str]  # of a form of one column, in CHOICE_FORMS
    columns: tuple[str, ...]

    @classmethod
    def of(cls, table: pa.Table, column: str) -> Self | None:
        """The form of a column; None if the column does not have it."""
        return None

    @abstractmethod
    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, and what is wrong with some."""

    @abstractmethod
    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices, new columns last; raises InputError if the form cannot represent them."""

    @property
    def column(self) -> str:
        """The only column."""
        return self.columns[0]

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"choices={columns_in_words(self.columns)}"

    def questions(self, table: pa.Table) -> pa.Array | None:
        """(rows,): the questions, if a column of choices holds them too; else None."""
        return None


def typed(texts: pa.Array, kind: pa.DataType, column: str, what: str) -> pa.Array:
    """Texts as a column of another type; raises InputError if a text cannot be converted."""
    if pa.types.is_null(kind):
        return texts  # a column without values has no type to keep
    try:
        return (pc.utf8_lower(texts) if pa.types.is_boolean(kind) else texts).cast(kind)
    except pa.ArrowInvalid as error:
        raise InputError(f"column {column!r}: new {what} does not fit {kind} ({error}); store it as text") from error


_TEXTS, _NAMES = known_names("texts_in_records"), known_names("names_in_records")


class ListOfChoices(ChoiceForm):
    """A list in one column."""

    name = "list"

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "ListOfChoices | None":
        """The form of a column of lists of texts or numbers."""
        kind = table.schema.field(column).type
        return cls((column,)) if is_list(kind) and is_cell(kind.value_type) else None

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        cells, lengths = as_lists(table[self.column])
        return unpadded(ChoiceCells(as_text(cells), lengths))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        kind = table.schema.field(self.column).type
        values = table[self.column].to_pylist()
        for row, (choices, _) in rows.items():
            if pa.types.is_fixed_size_list(kind) and len(choices) != kind.list_size:
                raise InputError(f"row {row + 1}: {self.column!r} holds {kind.list_size} choices a row; keep as many")
            values[row] = list(choices)
        if is_text(kind.value_type):
            return {self.column: pa.array(values, kind)}
        spelled = [value and [None if cell is None else str(cell) for cell in value] for value in values]
        return {self.column: typed(pa.array(spelled, pa.list_(pa.string())), kind, self.column, "choice")}


@dataclass(frozen=True)
class NamedChoices(ChoiceForm):
    """Choices with their names in labels: a record of two lists, as in ARC, or a list of records, also as text.

    ``{"text": ["red", "blue"], "label": ["A", "B"]}`` or ``[{"text": "red", "label": "A"}, ...]``, also as text.
    Instead of names, 1 or True may mark the correct choice, and 0 or False the others, as in TruthfulQA.
    """

    name = "named"
    text: str
    label: str
    marked: bool = False  # whether the labels are marks

    @classmethod
    def of(cls, table: pa.Table, column: str) -> "NamedChoices | None":
        """The form of a column."""
        kind = _records(table, column).type
        inner = kind.value_type if is_list(kind) else kind
        types = {one.name: one.type for one in inner} if is_struct(inner) else {}
        fields = [
            name for name, one in types.items() if is_cell(one if is_list(kind) else getattr(one, "value_type", one))
        ]
        texts = [name for name in _TEXTS if name in fields]
        labels = [name for name in dict.fromkeys((*_NAMES, *fields)) if name in fields and name not in texts[:1]]
        if not texts or not labels:
            return None
        if not [name for name in named(table.column_names, LABEL) if not name.startswith(f"{column}.")]:
            for label in labels:
                marks = cls((column,), texts[0], label)._positions(table)
                if 2 * (marks != UNKNOWN).sum() > pc.sum(pc.is_valid(table[column])).as_py():
                    return cls((column,), texts[0], label, marked=True)
        return cls((column,), texts[0], labels[0]) if labels[0] in _NAMES else None

    def _positions(self, table: pa.Table) -> NDArray[np.int64]:
        """(rows,): position of the only mark of each row, else UNKNOWN."""
        cells = self._cells(table)
        names = pc.utf8_lower(cells.names)
        marks, not_marks = (as_mask(pc.is_in(names, pa.array(some))) for some in (["1", "true"], ["0", "false"]))
        numbers, others = (np.bincount(cells.rows[at], minlength=len(cells.lengths)) for at in (marks, not_marks))
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
        column = _records(table, self.column)
        inner = column.type.value_type if is_list(column.type) else column.type
        if not is_struct(inner) or not {self.text, self.label} <= {field.name for field in inner}:  # of another split
            expected = f"expected records with {self.text!r} and {self.label!r}"
            cells = column.to_pylist()
            faults = {row: f"{self.column} is {shown(cell)}, {expected}" for row, cell in enumerate(cells) if cell}
            empty = pa.array([], pa.string())
            return ChoiceCells(empty, np.zeros(len(cells), np.int64), empty, faults=faults)
        if is_list(column.type):
            records, lengths = as_lists(column)
            texts, names = (as_text(pc.struct_field(records, name)) for name in (self.text, self.label))
            return ChoiceCells(texts, lengths, names)
        (texts, lengths), (names, numbers) = (
            as_lists(pc.struct_field(column, one)) for one in (self.text, self.label)
        )
        fits = lengths == numbers
        expected = f"in {self.label!r}; expected one for each"
        faults = {
            row: f"{self.column} has {lengths[row]} in {self.text!r} and {numbers[row]} {expected}"
            for row in np.flatnonzero(~fits).tolist()
        }
        texts, names = texts.filter(np.repeat(fits, lengths)), names.filter(np.repeat(fits, numbers))
        return ChoiceCells(as_text(texts), np.where(fits, lengths, 0), as_text(names), faults=faults)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The column with new choices in some rows."""
        values, cells = _records(table, self.column).to_pylist(), table[self.column].to_pylist()
        kind = table.schema.field(self.column).type
        for row, (choices, correct) in rows.items():
            old = values[row]
            records = old if isinstance(old, list) else [{self.label: name} for name in old[self.label] or ()]
            names = [record[self.label] for record in records[: len(choices)]] or ["A"]
            while len(names) < len(choices):
                names.append(next_name(names[-1], 1) if isinstance(names[-1], str) else names[-1] + 1)
            if self.marked:
                names = [type(names[0])(at == correct) for at in range(len(choices))]
            new: object = (
                {**old, self.text: list(choices), self.label: names}
                if old is not records
                else [
                    {**record, self.text: text, self.label: name}
                    for record, text, name in zip([*records, *[{}] * len(choices)], choices, names, strict=False)
                ]
            )
            cells[row] = spelled_like(cells[row], new) if is_text(kind) else new
        return {self.column: pa.array(cells, kind)}


def _records(table: pa.Table, column: str) -> pa.Array | pa.ChunkedArray:
    """A column of records, or lists of records, which may be text as pandas writes it; else the column itself."""
    return (is_text(table[column].type) and unpacked_column(table[column])) or table[column]


@dataclass(frozen=True)
class ChoiceColumns(ChoiceForm):
    """A column for each choice, such as A, B, C, D."""

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        width, rows = len(self.columns), table.num_rows
        by_column = pa.concat_arrays([as_text(table[name]) for name in self.columns])
        row_by_row = np.arange(width * rows).reshape(width, rows).T.ravel()
        nested = (name.partition(".") for name in self.columns)
        names = [
            inner if dot and parent in table.column_names else f"{parent}{dot}{inner}" for parent, dot, inner in nested
        ]
        lengths = np.full(rows, width, np.int64)
        return unpadded(ChoiceCells(by_column.take(pa.array(row_by_row)), lengths, _tiled(names, rows)))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new choices in some rows, and additional columns for more choices."""
        last = self.columns[-1]
        more = max(len(choices) for choices, _ in rows.values()) - len(self.columns)
        added = [next_name(last, number) for number in range(1, more + 1)]
        for name in sorted(set(added) & set(table.column_names)):
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

    decoys: ChoiceForm  # its columns, followed by the target's, are those of this form

    @property
    def description(self) -> str:
        """Short description of the columns."""
        return f"right choice={columns_in_words(self.columns[-1:])}, decoys={columns_in_words(self.columns[:-1])}"

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows, the target first."""
        decoys = replace(self.decoys, columns=self.columns[:-1]).read(table)
        targets = as_text(table[self.columns[-1]])
        texts = pa.concat_arrays([targets, decoys.texts])
        rows = table.num_rows
        order = np.insert(np.arange(rows, len(texts)), decoys.starts, np.arange(rows))
        first = np.zeros(rows, np.int64)
        found = texts.take(pa.array(order)), decoys.lengths + 1, None, first, decoys.faults
        return ChoiceCells(*found, ordered=False, padded=decoys.padded)

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """The columns with new targets and decoys in some rows."""
        column = table[self.columns[-1]]
        targets = column.to_pylist()
        decoys = {}
        for row, (texts, label) in rows.items():
            targets[row] = texts[label]
            decoys[row] = [*texts[:label], *texts[label + 1 :]], 0
        return {**self.decoys.write(table, decoys), self.columns[-1]: pa.array(targets, column.type)}


@dataclass(frozen=True)
class FixedChoices(ChoiceForm):
    """The same choices in all rows, such as yes and no, which no column holds."""

    columns: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def description(self) -> str:
        """The choices."""
        return f"choices={', '.join(self.choices)} in all rows"

    def read(self, table: pa.Table) -> ChoiceCells:
        """The choices of all rows."""
        texts = _tiled(self.choices, table.num_rows).cast(pa.string())
        return ChoiceCells(texts, np.full(table.num_rows, len(self.choices), np.int64))

    def write(self, table: pa.Table, rows: NewRows) -> dict[str, pa.Array]:
        """Raise InputError if the choices of a row are not the fixed ones."""
        for row, (texts, _) in rows.items():
            if tuple(texts) != self.choices:
                raise InputError(f"row {row + 1}: the choices of all rows are {', '.join(self.choices)}; keep them")
        return {}


def _tiled(texts: Sequence[str], rows: int) -> pa.DictionaryArray:
    """The texts of one row in every row, one row after the other."""
    return pa.DictionaryArray.from_arrays(np.tile(np.arange(len(texts), dtype=np.int32), rows), pa.array(texts))


def choice_kinds(table: pa.Table, cells: ChoiceCells, labels: NDArray[np.int64]) -> pa.Array:
    """(rows,): names of the column choice_kinds; empty in rows whose kinds do not match their choices."""
    rows = table.num_rows
    flat, lengths = (text_lists(table[KINDS]) if KINDS in table.column_names else None) or (pa.nulls(0), cells.counts)
    if pa.types.is_integer(flat.type):
        names = pa.array(class_names(table.schema, KINDS) or list(CHOICE_KINDS))
        flat = names.take(pc.if_else(pc.and_(pc.greater_equal(flat, 0), pc.less(flat, len(names))), flat, None))
    if not len(flat) or not is_text(flat.type):
        return pa.array([[]] * rows, TEXTS)
    flat = flat.cast(pa.string())
    fits = (lengths == cells.counts) & (cells.counts == cells.lengths)
    fits &= as_mask(pc.equal(flat, TARGET.name))[np.where(fits, np.cumsum(lengths) - lengths + labels, 0)]
    unknown = ~as_mask(pc.is_in(flat, pa.array(list(CHOICE_KINDS))))
    fits &= np.bincount(np.repeat(np.arange(rows), lengths)[unknown], minlength=rows) == 0
    return list_array(flat.filter(pa.array(np.repeat(fits, lengths))), np.where(fits, lengths, 0))


def class_names(schema: pa.Schema, column: str) -> list[str] | None:
    """The names of a column of ClassLabel, or of lists of ClassLabel, in the metadata of ``datasets``; else None."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][column]
        inner = feature[0] if isinstance(feature, list) else feature.get("feature", feature)
        return [str(name) for name in inner["names"]] if column in schema.names else None
    except (KeyError, ValueError, TypeError, IndexError, AttributeError):
        return None


CHOICE_FORMS: Listing[type[ChoiceForm]] = Listing(
    "choice form",
    lazy={
        "list": "hf_vqa_mc.data.choices:ListOfChoices",
        "named": "hf_vqa_mc.data.choices:NamedChoices",
        "options_in_text": "hf_vqa_mc.data.text_choices:OptionsInText",
        "packed": "hf_vqa_mc.data.text_choices:PackedChoices",
        "lines": "hf_vqa_mc.data.text_choices:Lines",
        "separated": "hf_vqa_mc.data.text_choices:Separated",
    },
)
"""Forms of one column, tried in this order."""
