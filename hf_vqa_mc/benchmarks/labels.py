"""Label columns: index, letter, name or text of the correct choice, and their interpretation."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import (
    UNKNOWN,
    ChoiceCells,
    as_lists,
    as_mask,
    as_text,
    is_list,
    spelled_like,
    unpacked_lists,
)
from hf_vqa_mc.benchmarks.choices import typed
from hf_vqa_mc.benchmarks.columns import KINDS, choice_kinds
from hf_vqa_mc.benchmarks.options import OPTIONS
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.listing import Listing

ENOUGH = 20
"""Rows from which labels are ambiguous if none is 0 or the number of its choices. With four choices, uniform labels
look like this in (3/4)^20 = 0.3% of benchmarks, whether they start from 0 or 1. Fewer rows may do so by chance, and
are read as starting from 0, as most benchmarks do."""
MOST_FAULTY = 0.5
"""If more rows of a split cannot be read, its columns were not understood."""
NO_NUMBER = np.iinfo(np.int64).min
_LETTER = re.compile(r"(\W*(?:(?i:option|choice|answer)\W+)?)([A-Za-z])(\W*)")
_MARKED = re.compile(r"(\s*\(?)([A-Za-z])([.):]\s+)(.*?)\s*", re.DOTALL)
_INTEGER = re.compile(r"\s*([+-]?\d{1,15})(?:\.0+)?\s*", re.ASCII)
_HIDDEN = ("", "-1", "-1.0", "nan", "none", "null", "?")
"""Values of hidden labels."""
_FROM_0 = re.compile(r"(?i)idx|index")
"""Names of columns that start from 0."""
Tables = Mapping[str, pa.Table]
"""Split name to its columns."""
Cells = Mapping[str, ChoiceCells]
"""Split name to its choices."""


class HiddenLabels(InputError):
    """No row of a split has a label."""


class AmbiguousLabels(InputError):
    """Two interpretations of the labels fit equally well; no other form of choices is tried."""


Read = Callable[[pa.Array, ChoiceCells], NDArray[np.int64]]
Write = Callable[[str, int, str, str | None], str]


@dataclass(frozen=True)
class LabelForm:
    """A form of labels."""

    description: str
    """description of one label, for messages"""
    name: str
    """description of labels in one or two words"""
    read: Read = field(compare=False, repr=False)
    """(rows,): position of the correct choice among the row's cells, or UNKNOWN, from labels as text"""
    write: Write = field(compare=False, repr=False)
    """the new label of a row, from the current one and the index, the text and the name (in row or column, None if
    undefined) of the correct choice"""
    first: int | None = None
    """index of the first choice; None unless labels are integers"""


def by_index(first: int) -> LabelForm:
    """The choice's index, from 0 or 1."""
    read, write = partial(_read_indices, first), partial(_write_index, first)
    return LabelForm(f"the index of a choice, from {first}", f"numbers from {first}", read, write, first)


def _read_indices(first: int, column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    numbers = integers(column)
    return np.where(numbers == NO_NUMBER, UNKNOWN, numbers - first)


def _write_index(first: int, old: str, index: int, choice: str, name: str | None) -> str:
    return str(index + first)


def _read_letters(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    def index(text: str) -> int | None:
        found = _LETTER.fullmatch(text.strip())
        return ord(found[2].upper()) - ord("A") if found else None

    return _of_texts(column, index, UNKNOWN)


def _write_letter(old: str, index: int, choice: str, name: str | None) -> str:
    """A letter with the brackets and case of the old one."""
    found = _LETTER.fullmatch(old)
    if index >= 26:  # letters
        raise InputError(f"no letter is left for choice {index + 1}; use at most 26 choices per row")
    letter = chr(ord("A" if found is None or found[2].isupper() else "a") + index)
    return f"{found[1]}{letter}{found[3]}" if found else letter


def _read_names(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    if cells.names is None:
        return np.full(len(column), UNKNOWN, np.int64)
    named = pc.utf8_trim_whitespace(column).take(pa.array(cells.rows))
    return cells.first(pc.equal(cells.names.cast(pa.string()), named))


def _read_marked(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    """Positions of letters that are followed by their choice's text."""
    found = [_MARKED.fullmatch(text or "") for text in column.to_pylist()]
    positions = np.array([ord(one[2].upper()) - ord("A") if one else UNKNOWN for one in found], np.int64)
    fits = (positions >= 0) & (positions < cells.lengths)
    texts = cells.texts.take(pa.array(np.where(fits, cells.starts + positions, 0), mask=~fits))
    return np.where(as_mask(pc.equal(texts, pa.array([one and one[4] for one in found]))), positions, UNKNOWN)


def _write_marked(old: str, index: int, choice: str, name: str | None) -> str:
    """A letter with the characters around the old one, and the text."""
    found = _MARKED.fullmatch(old)
    before, letter, after, *_ = found.groups() if found else ("", "A", ". ")
    return f"{before}{_write_letter(letter, index, choice, name)}{after}{choice}"


def _write_name(old: str, index: int, choice: str, name: str | None) -> str:
    return old if name is None else name


def _read_texts(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    labels = column.take(pa.array(cells.rows))
    found = cells.first(pc.equal(cells.texts, labels))
    if (found != UNKNOWN).all():
        return found
    trimmed = pc.equal(pc.utf8_trim_whitespace(cells.texts), pc.utf8_trim_whitespace(labels))
    return np.where(found == UNKNOWN, cells.first(trimmed), found)


def _write_text(old: str, index: int, choice: str, name: str | None) -> str:
    return choice


BY_LETTER = LabelForm("a choice's letter", "letters", _read_letters, _write_letter)
"""A letter, possibly in brackets: A is the first choice."""
BY_NAME = LabelForm("the name of a choice", "names of choices", _read_names, _write_name)
"""The choice's name in the row, or that of its column."""
BY_TEXT = LabelForm("the text of a choice", "texts of choices", _read_texts, _write_text)
"""The choice's text; the first of equal ones."""
BY_LETTER_AND_TEXT = LabelForm("a choice's letter and text", "letters with texts", _read_marked, _write_marked)
"""Such as "B. blue" or "(B) blue"."""


LABEL_FORMS: Listing[LabelForm] = Listing("label form", BY_LETTER, BY_NAME, BY_TEXT, BY_LETTER_AND_TEXT)
"""Forms of labels that are not integers; other packages add one with ``LABEL_FORMS.add(THEIRS)``."""


@dataclass(frozen=True)
class LabelInterpretation:
    """A label column read in one form."""

    column: str
    form: LabelForm
    labels: NDArray[np.int64]
    """(rows,): index of the correct choice, or UNKNOWN"""

    @property
    def description(self) -> str:
        """Column and form."""
        return f"{self.column} is {self.form.description}"


def label_texts(table: pa.Table, name: str) -> tuple[pa.Array, dict[int, str]]:
    """(rows,): the labels of a column as text; a list with one entry is that entry.

    Returns:
        The texts, null for an empty list or one of several labels; and what is wrong with rows of several.
    """
    column = table[name]
    if is_list(column.type):
        entries, lengths = as_lists(column)
        lists = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(lengths)), pa.int32()), as_text(entries))
    else:
        texts = as_text(column)
        first = next((text.strip() for text in pc.drop_null(texts).slice(0, 1000).to_pylist() if text.strip()), "")
        if not (first.startswith("[") and first.endswith("]")):
            return texts, {}
        unpacked = unpacked_lists(texts.to_pylist())
        if any(found is None for found in unpacked):
            return texts, {}
        lists = pa.array(unpacked, pa.list_(pa.string()))
    rows = lists.to_pylist()
    faults = {
        row: f"{name} names several correct choices ({', '.join(map(shown, cell))}); expected one"
        for row, cell in enumerate(rows)
        if len(cell) > 1
    }
    return pa.array([cell[0] if len(cell) == 1 else None for cell in rows], pa.string()), faults


def integers(column: pa.Array) -> NDArray[np.int64]:
    """(rows,): texts as integers, 3.0 as 3; NO_NUMBER for other texts."""

    def number(text: str) -> int | None:
        found = _INTEGER.fullmatch(text)
        return int(found[1]) if found else None

    return _of_texts(column, number, NO_NUMBER)


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
    texts = label_texts(table, name)[0].to_pylist()
    new = {row: form.write(texts[row] or "", *label) for row, label in labels.items()}
    kind = table[name].type
    if is_list(kind):
        values = table[name].to_pylist()
        entries = typed(pa.array(list(new.values()), pa.string()), kind.value_type, name, "label").to_pylist()
        for row, entry in zip(new, entries, strict=True):
            values[row] = [entry]
        return pa.array(values, kind)
    cells = as_text(table[name]).to_pylist()
    for row, label in new.items():
        old = cells[row] or ""
        packed = old != (texts[row] or "") and old.lstrip().startswith("[")
        cells[row] = spelled_like(old, [label]) if packed else label
    return typed(pa.array(cells, pa.string()), kind, name, "label")


def _of_texts(column: pa.Array, read: Callable[[str], int | None], default: int) -> NDArray[np.int64]:
    """``read`` of each text, computed once per distinct text; the default for null and None."""
    encoded = column.dictionary_encode()
    values = [*map(read, encoded.dictionary.to_pylist()), None]
    numbers = np.array([default if value is None else value for value in values], np.int64)
    found: NDArray[np.int64] = numbers[pc.fill_null(encoded.indices, len(numbers) - 1).to_numpy()]
    return found


def interpret(
    tables: Tables, split: str, name: str, cells: Cells, label_from: int | None, location: str
) -> list[LabelInterpretation]:
    """The interpretation of a split's label column that leaves the fewest rows without a label.

    Args:
        tables: the splits.
        split: the one that must be readable.
        name: the column.
        cells: choices of the splits with such columns.
        label_from: index of the first choice, if given.
        location: for messages.

    Returns:
        One; two if integers may start from 0 or 1. Several forms that fit all rows agree on every row.

    Raises:
        InputError: most rows have no label in any form (HiddenLabels: no row has a label), or several disagree.
    """
    choices = cells[split]
    column, faults = label_texts(tables[split], name)
    valid = choices.counts > 0
    if not valid.any():
        raise InputError(f"{location}: no row has choices; {OPTIONS}")
    if hidden(column)[valid].all() and not faults:
        row = int(np.flatnonzero(valid)[0])
        raise HiddenLabels(
            f"{location}: the labels are hidden ({name} is {shown(tables[split][name][row].as_py())} in row {row})"
        )
    first = label_from
    if first is None:
        first = first_index(name, known_labels(tables, name, cells), cells, tables)
    forms = [by_index(number) for number in ((0, 1) if first is None else (first,))]
    if label_from is None or not integers_only(column):
        forms += LABEL_FORMS.values()
    other = by_index(1 - first) if label_from is None and first is not None else None
    forms += [other] if other else []  # used if it leaves fewer rows without a label
    found = [LabelInterpretation(name, form, choices.labels(form.read(column, choices))) for form in forms]
    unknown = [int((one.labels[valid] == UNKNOWN).sum()) for one in found]
    least = min(unknown)
    if least > MOST_FAULTY * valid.sum() + len(faults):
        best = found[unknown.index(least)]
        row = int(np.flatnonzero(valid & (best.labels == UNKNOWN))[0])
        raise InputError(
            f"{location}, row {row}: {unreadable_label(best, tables[split], choices, row)} ({least} of "
            f"{valid.sum()} rows); name another column with --label"
        )
    fitting = [one for one, rows in zip(found, unknown, strict=True) if rows == least]
    fitting = [one for one in fitting if one.form is not other] or fitting
    numbers = [one for one in fitting if one.form.first is not None]
    texts = [one for one in fitting if one.form.first is None]
    if not texts:
        return numbers
    fitting = [*_agreeing(numbers, texts[0]), *texts]
    check_agreement(fitting, f"{location}: {name} could be", "store it as letters, or as integers from 0")
    return fitting[:1]


def unreadable_label(label: LabelInterpretation, table: pa.Table, cells: ChoiceCells, row: int) -> str:
    """Why a row has no label."""
    value = shown(table[label.column][row].as_py())
    return f"{label.column} is {value}, expected {label.form.description} ({cells.counts[row]} in this row)"


def decided(
    fitting: Sequence[list[LabelInterpretation]], tables: Tables, cells: Cells, location: str
) -> list[LabelInterpretation]:
    """One interpretation per column: if integers may start from 0 or 1, other columns decide.

    Raises:
        AmbiguousLabels: no column decides, and there are ENOUGH rows.
    """
    certain = next((found[0] for found in fitting if len(found) == 1), None)
    if certain is not None:
        return [_agreeing(found, certain)[0] for found in fitting]
    for found in fitting:
        name = found[0].column
        labels = known_labels(tables, name, cells)
        valid = {split: cells[split].counts > 0 for split in labels}
        numbers = np.concatenate([integers(column)[valid[split]] for split, column in labels.items()])
        counts = np.concatenate([cells[split].counts[valid[split]] for split in labels])
        numbers, counts = numbers[numbers > 0], counts[numbers > 0]  # without hidden labels
        if len(numbers) >= ENOUGH:
            raise AmbiguousLabels(
                f"{location}: {name}: labels are {_range(numbers)} of {_range(counts)} choices, which may start from "
                "0 or 1; choose with --label-from 0 (or 1)"
            )
    return [found[0] for found in fitting]


def check_agreement(found: Sequence[LabelInterpretation], what: str, remedy: str) -> None:
    """Raise InputError unless all interpretations agree; names the first row where they do not."""
    first = found[0]
    for other in found[1:]:
        for row in np.flatnonzero(first.labels != other.labels)[:1]:
            raise InputError(
                f"{what}: two interpretations differ, as in row {row}: {first.description} (choice "
                f"{first.labels[row]}, from 0), or {other.description} (choice {other.labels[row]}); {remedy}"
            )


def known_labels(tables: Tables, name: str, cells: Cells) -> dict[str, pa.Array]:
    """(rows,) labels as text, of the splits whose labels are not hidden."""
    labels = {split: label_texts(tables[split], name)[0] for split in cells if name in tables[split].column_names}
    return {split: column for split, column in labels.items() if not hidden(column).all()}


def first_index(name: str, labels: Mapping[str, pa.Array], cells: Cells, tables: Tables) -> int | None:
    """The index of the first choice; None if it cannot be decided.

    0 if any label is 0; else 1 if any label equals the number of its row's choices; else 0 for a column name such as
    answer_idx; else as the column ``choice_kinds`` shows. All mappings have the same splits.
    """
    numbers = {split: integers(column) for split, column in labels.items()}
    valid = {split: cells[split].counts > 0 for split in labels}
    if any((numbers[split] == 0)[valid[split]].any() for split in labels):
        return 0
    if any((numbers[split] == cells[split].ends)[valid[split]].any() for split in labels):
        return 1
    if _FROM_0.search(name):
        return 0
    if not any(KINDS in tables[split].column_names for split in labels):
        return None
    targets = [0, 0]  # rows in which the choice kind of the label, from 0 or 1, is the target
    for split, found in numbers.items():
        for first in (0, 1):
            indices = np.maximum(cells[split].labels(found - first), 0)
            targets[first] += len(choice_kinds(tables[split], cells[split], indices).flatten())
    return int(targets[1] > targets[0])


def _range(numbers: NDArray[np.int64]) -> str:
    least, most = int(numbers.min()), int(numbers.max())
    return str(least) if least == most else f"{least} to {most}"


def _agreeing(found: list[LabelInterpretation], certain: LabelInterpretation) -> list[LabelInterpretation]:
    """The first interpretation that agrees with ``certain``, else the first one."""
    return [one for one in found if (one.labels == certain.labels).all()][:1] or found[:1]
