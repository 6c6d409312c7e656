"""Labels: the index, letter, name or text of the correct choice; which of these a column holds, or an error."""

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_mask, as_text, is_list, spelled_like, text_lists
from hf_vqa_mc.data.choices import KINDS, NAME_LETTER, UNKNOWN, ChoiceCells, choice_kinds, class_names, typed
from hf_vqa_mc.data.options import OPTIONS
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.listing import Listing

NO_NUMBER = np.iinfo(np.int64).min
ENOUGH = 10
"""Rows from which labels are ambiguous if none is 0 or the number of its choices. With four choices, uniform labels
look like this in (3/4)^10 = 6% of benchmarks, whether they start from 0 or 1. Fewer rows are read as starting from 0,
as most benchmarks do."""
MOST_FAULTY = 0.5  # if more rows of a split cannot be read, its columns were not understood
_LETTER = re.compile(r"(\W*(?:(?i:(?:the\s+)?(?:correct\s+)?(?:option|choice|answer)(?:\s+is)?)\W+)?)([A-Za-z])(\W*)")
_MARKED = re.compile(r"(\s*\(?)([A-Za-z])([.):]\s+)(.*?)\s*", re.DOTALL)
_INTEGER = re.compile(r"\s*([+-]?\d{1,15})(?:\.0+)?\s*", re.ASCII)
_FROM_0 = re.compile(r"(?i)idx|index")  # Names of columns that start from 0.
_HIDDEN = ("", "-1", "-1.0", "nan", "none", "null", "?")  # Values of hidden labels.
Tables = Mapping[str, pa.Table]  # split name to its columns
Cells = Mapping[str, ChoiceCells]  # split name to its choices


class HiddenLabels(InputError):
    """No row of a split has a label."""


class AmbiguousLabels(InputError):
    """Two interpretations of the labels fit equally well; no other form of choices is tried."""


@dataclass(frozen=True)
class LabelForm:
    """A form of labels."""

    description: str  # description of one label, for messages
    name: str  # description of labels in one or two words
    read: Callable[[pa.Array, ChoiceCells], NDArray[np.int64]] = field(compare=False, repr=False)
    """(rows,): position of the correct choice among the row's cells, or UNKNOWN, from labels as text"""
    write: Callable[[str, int, str, str | None], str] = field(compare=False, repr=False)
    """the new label of a row, from the current one and the index, the text and the name (in row or column, None if
    undefined) of the correct choice"""
    first: int | None = None  # index of the first choice; None unless labels are integers

    def unreadable(self, name: str, table: pa.Table, cells: ChoiceCells, row: int) -> str:
        """Why a row has no label."""
        last = int(cells.ends[row]) - 1
        several = f" ({cells.counts[row]} in this row)" if self.first is None else f" to {last + self.first}"
        end = cells.letters[int(cells.starts[row]) + last].as_py() or chr(ord("A") + last) if self is BY_LETTER else ""
        several = f" from A to {end}" if end else several
        return f"{name} is {shown(table[name][row].as_py())}, expected {self.description}{several}"


def by_index(first: int) -> LabelForm:
    """The choice's index, from 0 or 1."""

    def read(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
        numbers = integers(column)
        return np.where(numbers == NO_NUMBER, UNKNOWN, numbers - first)

    what = f"the index of a choice, from {first}"
    return LabelForm(what, f"numbers from {first}", read, lambda old, index, *_: str(index + first), first)


def _by_row_letters(found: Sequence[re.Match[str] | None], cells: ChoiceCells) -> NDArray[np.int64]:
    """(rows,): positions of letters, 0 for A; in rows that name choices by letters, those of the named choices."""
    positions = np.array([ord(one[2].upper()) - ord("A") if one else UNKNOWN for one in found], np.int64)
    letters = pa.array(string.ascii_uppercase).take(pa.array(positions, mask=positions < 0))
    is_letter = as_mask(pc.is_valid(cells.letters)) & cells.filled
    by_name = cells.first(pc.equal(cells.letters, letters.take(pa.array(cells.rows))))
    is_named = np.bincount(cells.rows[is_letter], minlength=len(positions)) > 0
    is_other = (by_name != UNKNOWN) | (cells.labels(positions) != UNKNOWN)
    return np.where(is_named & is_other, by_name, positions)


def _read_letters(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    texts = column.to_pylist()
    found = {text: _LETTER.fullmatch((text or "").strip()) for text in {*texts}}  # once per distinct text
    return _by_row_letters([found[text] for text in texts], cells)


def _write_letter(old: str, index: int, choice: str, name: str | None) -> str:
    found = _LETTER.fullmatch(old)
    named = re.search(NAME_LETTER, name or "")
    index = ord(named["letter"].upper()) - ord("A") if named else index
    if index >= 26:  # letters
        raise InputError(f"no letter is left for choice {index + 1}; use at most 26 choices per row")
    letter = chr(ord("A" if found is None or found[2].isupper() else "a") + index)
    return f"{found[1]}{letter}{found[3]}" if found else letter


def _read_names(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    if cells.names is None:
        return np.full(len(column), UNKNOWN, np.int64)
    named = pc.utf8_trim_whitespace(column).take(pa.array(cells.rows))
    return cells.first(pc.equal(cells.names.cast(pa.string()), named))


def _read_texts(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    labels = column.take(pa.array(cells.rows))
    found = cells.first(pc.equal(cells.texts, labels))
    if (found != UNKNOWN).all():
        return found
    for normal in (pc.utf8_trim_whitespace, lambda texts: pc.utf8_lower(pc.utf8_trim_whitespace(texts))):
        hit = as_mask(pc.equal(normal(cells.texts), normal(labels))) & cells.filled
        position = cells.first(pa.array(hit))
        first = cells.texts.take(pa.array((cells.starts + position.clip(0))[cells.rows]))
        several = np.bincount(cells.rows[hit & as_mask(pc.not_equal(cells.texts, first))], minlength=len(found)) > 0
        found = np.where((found == UNKNOWN) & ~several, position, found)
    return found


def _read_marked(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    found = [_MARKED.fullmatch(text or "") for text in column.to_pylist()]
    positions = _by_row_letters(found, cells)
    fits = (positions >= 0) & (positions < cells.lengths)
    texts = cells.texts.take(pa.array(np.where(fits, cells.starts + positions, 0), mask=~fits))
    is_text = pc.fill_null(pc.equal(texts, pa.array([one and one[4] for one in found])), False)
    return np.where(is_text, positions, UNKNOWN)


def _write_marked(old: str, index: int, choice: str, name: str | None) -> str:
    found = _MARKED.fullmatch(old)
    before, letter, after, *_ = found.groups() if found else ("", "A", ". ")
    return f"{before}{_write_letter(letter, index, choice, name)}{after}{choice}"


def _read_marks(column: pa.Array, cells: ChoiceCells) -> NDArray[np.int64]:
    marks = [(text or "").split() for text in column.to_pylist()]
    fits = np.array([*map(len, marks)]) == cells.lengths
    return np.where(fits, [one.index("1") if len(one) > 1 and "1" in one else UNKNOWN for one in marks], UNKNOWN)


BY_LETTER = LabelForm("a letter", "letters", _read_letters, _write_letter)
"""A letter, possibly in brackets: A is the first choice."""
BY_NAME = LabelForm("the name of a choice", "names of choices", _read_names, lambda old, _, __, name: name or old)
"""The choice's name in the row, or that of its column."""
BY_TEXT = LabelForm("the text of a choice", "texts of choices", _read_texts, lambda _, __, choice, ___: choice)
"""The choice's text; the first of equal ones."""
BY_LETTER_AND_TEXT = LabelForm("the letter and text of a choice", "letters with texts", _read_marked, _write_marked)
"""Such as "B. blue" or "(B) blue"."""
BY_MARK = LabelForm(
    "1 for the correct choice and 0 for the others", "marks", _read_marks,
    lambda old, index, *_: " ".join(str(int(at == index)) for at in range(max(index + 1, len(old.split())))),
)  # fmt: skip
"""Such as the list [0, 0, 1, 0]."""
LABEL_FORMS: Listing[LabelForm] = Listing("label form", BY_LETTER, BY_NAME, BY_TEXT, BY_LETTER_AND_TEXT, BY_MARK)
"""Forms of labels that are not integers; other packages add one with ``LABEL_FORMS.add(THEIRS)``."""


def label_texts(table: pa.Table, name: str) -> tuple[pa.Array, dict[int, str]]:
    """(rows,): labels as text, of lists the only entry or 0 and 1 per choice; what is wrong with rows of several."""
    lists = text_lists(table[name])
    if lists is None:
        return as_text(table[name]), {}
    entries = iter(as_text(lists[0]).to_pylist())
    rows = [[next(entries) for _ in range(length)] for length in lists[1]]
    marks = [_marks(cell) for cell in rows]
    ones = [cell.count("1") == 1 for cell in marks]
    marked = 2 * sum(ones) > len(rows) and all(len(cell) != 1 and {*cell} <= {"0", "1"} for cell in marks)
    right = ones if marked else [len(cell) == 1 for cell in rows]
    texts = [
        " ".join(map(str, cell)) if one else None for cell, one in zip(marks if marked else rows, right, strict=True)
    ]
    return pa.array(texts, pa.string()), {
        row: f"{name} {'marks none or' if marked else 'names'} several correct choices "
        f"({', '.join(map(shown, cell))}); expected one"
        for row, cell in enumerate(rows)
        if cell and not right[row]
    }


def _marks(cell: Sequence[str | None]) -> list[str]:
    return [{"True": "1", "False": "0"}.get(str(mark), str(mark)) for mark in cell]


def integers(column: pa.Array) -> NDArray[np.int64]:
    """(rows,): texts as integers, 3.0 as 3; NO_NUMBER for other texts."""
    return _of_texts(column, lambda text: int(found[1]) if (found := _INTEGER.fullmatch(text)) else None, NO_NUMBER)


def integers_only(column: pa.Array) -> bool:
    """Whether all labels are integers or hidden."""
    return bool(((integers(column) != NO_NUMBER) | hidden(column)).all())


def hidden(column: pa.Array) -> NDArray[np.bool_]:
    """(rows,): whether each label is hidden: null, "", NaN or -1."""
    return _of_texts(column, lambda text: int(text.strip().lower() in _HIDDEN), 1).astype(bool)


def _of_texts(column: pa.Array, read: Callable[[str], int | None], default: int) -> NDArray[np.int64]:
    """``read`` of each text, computed once per distinct text; the default for null and None."""
    encoded = column.dictionary_encode()
    values = [*map(read, encoded.dictionary.to_pylist()), None]
    numbers = np.array([default if value is None else value for value in values], np.int64)
    found: NDArray[np.int64] = numbers[pc.fill_null(encoded.indices, len(numbers) - 1).to_numpy()]
    return found


def hidden_labels(location: str, name: str, table: pa.Table, row: int) -> HiddenLabels:
    """The error for a column without a known label."""
    value = shown(table[name][row].as_py())
    return HiddenLabels(f"{location}: the labels are hidden ({name} is {value} in row {row + 1})")


def with_labels(
    form: LabelForm, table: pa.Table, name: str, labels: Mapping[int, tuple[int, str, str | None]]
) -> pa.Array:
    """The label column ``name`` with new labels by row: index, text and name of the correct choice."""
    texts = label_texts(table, name)[0].to_pylist()
    new = {row: form.write(texts[row] or "", *label) for row, label in labels.items()}
    kind = table[name].type
    if is_list(kind):
        values = table[name].to_pylist()
        for row, label in new.items():
            entries = label.split() if form is BY_MARK else [label]
            values[row] = typed(pa.array(entries, pa.string()), kind.value_type, name, "label").to_pylist()
        return pa.array(values, kind)
    cells = as_text(table[name]).to_pylist()
    for row, label in new.items():
        old = cells[row] or ""
        packed = old != (texts[row] or "") and old.lstrip().startswith("[")
        cells[row] = spelled_like(old, [*map(int, label.split())] if form is BY_MARK else [label]) if packed else label
    return typed(pa.array(cells, pa.string()), kind, name, "label")


@dataclass(frozen=True)
class LabelInterpretation:
    """A label column read in one form."""

    column: str
    form: LabelForm
    labels: NDArray[np.int64]  # (rows,): index of the correct choice, or UNKNOWN


def interpret(
    tables: Tables, split: str, name: str, cells: Cells, label_from: int | None, location: str
) -> list[LabelInterpretation]:
    """The interpretation of a column that leaves the fewest rows without a label; two if it may start from 0 or 1."""
    choices = cells[split]
    column, faults = label_texts(tables[split], name)
    valid = choices.counts > 0
    if not valid.any():
        why = next((f"row {row + 1}: {fault}" for row, fault in choices.faults.items()), "their cells are empty")
        raise InputError(f"{location}: no row has choices: {why}; {OPTIONS}")
    if hidden(column)[valid].all() and not faults:
        raise hidden_labels(location, name, tables[split], int(np.flatnonzero(valid)[0]))
    first = _first_index(name, _known_labels(tables, name, cells), cells, tables) if label_from is None else label_from
    forms = [by_index(number) for number in ((0, 1) if first is None else (first,))]
    if label_from is None or not integers_only(column):
        forms += LABEL_FORMS.values()
    other = by_index(1 - first) if label_from is None and first is not None else None
    forms += [other] if other else []  # used if it leaves fewer rows without a label
    found = [LabelInterpretation(name, form, choices.labels(form.read(column, choices))) for form in forms]
    unknown = [int((one.labels[valid] == UNKNOWN).sum()) for one in found]
    least, best = min(zip(unknown, found, strict=True), key=lambda one: one[0])
    if least > MOST_FAULTY * valid.sum() + len(faults):
        row = int(np.flatnonzero(valid & (best.labels == UNKNOWN))[0])
        raise InputError(
            f"{location}, row {row + 1}: {best.form.unreadable(name, tables[split], choices, row)} ({least} of "
            f"{valid.sum()} rows, more than half); name another column with --label"
        )
    fitting = [one for one, rows in zip(found, unknown, strict=True) if rows == least]
    fitting = [one for one in fitting if one.form is not other] or fitting
    if (names := class_names(tables[split].schema, name)) and pa.types.is_integer(tables[split][name].type):
        codes = integers(column)
        named = pa.array(names).take(pa.array(codes, mask=(codes < 0) | (codes >= len(names))))
        for form in LABEL_FORMS.values():  # the names must not say otherwise
            labels = choices.labels(form.read(named, choices))
            if not (labels[valid] == UNKNOWN).any():
                remedy = "store the names of the ClassLabel as text"
                by_name = LabelInterpretation(name, form, labels)
                check_agreement([fitting[0], by_name], f"{location}: {name} could be", remedy)
    numbers, texts = ([one for one in fitting if (one.form.first is None) == text] for text in (False, True))
    if not texts:
        return numbers
    fitting = [*_agreeing(numbers, texts[0]), *texts]
    check_agreement(fitting, f"{location}: {name} could be", "store it as letters, or as integers from 0")
    return fitting[:1]


def decided(
    fitting: Sequence[list[LabelInterpretation]], tables: Tables, cells: Cells, location: str
) -> list[LabelInterpretation]:
    """One interpretation per column: if integers may start from 0 or 1, other columns decide."""
    certain = next((found[0] for found in fitting if len(found) == 1), None)
    if certain is not None:
        return [_agreeing(found, certain)[0] for found in fitting]
    for found in fitting:
        name = found[0].column
        labels = _known_labels(tables, name, cells)
        valid = {split: cells[split].counts > 0 for split in labels}
        numbers = np.concatenate([integers(column)[valid[split]] for split, column in labels.items()])
        counts = np.concatenate([cells[split].counts[valid[split]] for split in labels])
        numbers, counts = numbers[numbers > 0], counts[numbers > 0]  # without hidden labels
        if len(numbers) >= ENOUGH:
            labels_are, of = (" to ".join(map(str, sorted({some.min(), some.max()}))) for some in (numbers, counts))
            raise AmbiguousLabels(
                f"{location}: {name}: labels are {labels_are} of {of} choices, which may start from 0 or 1; choose "
                "with --label-from 0 (or 1)"
            )
    return [found[0] for found in fitting]


def check_agreement(found: Sequence[LabelInterpretation], what: str, remedy: str) -> None:
    """Raise InputError unless all interpretations agree; names the first row where they do not."""
    first = found[0]
    for other in found[1:]:
        for row in np.flatnonzero(first.labels != other.labels)[:1]:
            either, choice = (
                f"{one.column} is {one.form.description} (choice {one.labels[row] + 1}" for one in (first, other)
            )
            raise InputError(
                f"{what}: two interpretations differ, as in row {row + 1}: {either}), or {choice}); {remedy}"
            )


def _known_labels(tables: Tables, name: str, cells: Cells) -> dict[str, pa.Array]:
    """(rows,) labels as text, of the splits whose labels are not hidden."""
    labels = {split: label_texts(tables[split], name)[0] for split in cells if name in tables[split].column_names}
    return {split: column for split, column in labels.items() if not hidden(column).all()}


def _first_index(name: str, labels: Mapping[str, pa.Array], cells: Cells, tables: Tables) -> int | None:
    """The index of the first choice; None if it cannot be decided.

    0 if any label is 0; else 1 if any label equals the number of its row's choices; else 0 for a column name such as
    answer_idx; else as the column ``choice_kinds`` shows.
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


def _agreeing(found: list[LabelInterpretation], certain: LabelInterpretation) -> list[LabelInterpretation]:
    """The first interpretation that agrees with ``certain``, else the first one."""
    return [one for one in found if (one.labels == certain.labels).all()][:1] or found[:1]
