"""Interpretation of a label column: index, letter, name or text, and the first index; ambiguity is an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.cells import UNKNOWN, ChoiceCells, as_text
from hf_vqa_mc.benchmarks.columns import KINDS, choice_kinds
from hf_vqa_mc.benchmarks.faulty_rows import FaultyRows
from hf_vqa_mc.benchmarks.layouts.label_forms import (
    BY_LETTER,
    BY_LETTER_AND_TEXT,
    BY_NAME,
    BY_TEXT,
    LabelForm,
    by_index,
    hidden,
    integers,
    integers_only,
)
from hf_vqa_mc.benchmarks.layouts.layout import AmbiguousLabels, HiddenLabels, Tables
from hf_vqa_mc.benchmarks.options import OPTIONS
from hf_vqa_mc.errors import InputError, shown

ENOUGH = 20
"""Rows from which labels are ambiguous if none is 0 or the number of its choices. With four choices, uniform labels
look like this in (3/4)^20 = 0.3% of benchmarks, whether they start from 0 or 1. Fewer rows may do so by chance, and
are read as starting from 0, as most benchmarks do."""

_FROM_0 = re.compile(r"(?i)idx|index")
"""Names of columns that start from 0."""
Cells = Mapping[str, ChoiceCells]
"""Split name to its choices."""


@dataclass(frozen=True)
class Reading:
    """A label column interpreted in a form that fits all rows."""

    label: str
    """the column of labels"""
    form: LabelForm
    labels: NDArray[np.int64]
    """(rows,) index of the correct choice"""

    @property
    def description(self) -> str:
        """Column and form."""
        return f"{self.label} is {self.form.description}"


def checked_labels(
    form: LabelForm, name: str, table: pa.Table, cells: ChoiceCells, location: str
) -> NDArray[np.int64]:
    """(rows,): index of the correct choice, UNKNOWN in rows without choices.

    Raises:
        InputError: a row with choices has no valid label (HiddenLabels: no row has one).
    """
    column, valid = as_text(table[name]), cells.counts > 0
    found = cells.labels(form.read(column, cells))
    wrong = np.flatnonzero(valid & (found == UNKNOWN))
    for row in wrong[:1]:
        if hidden(column)[valid].all():
            raise HiddenLabels(
                f"{location}: the labels are hidden ({name} is {shown(column[row].as_py())} in row {row})"
            )
        raise FaultyRows(
            f"{location}, row {row}: {name} is {shown(table[name][int(row)].as_py())}, expected {form.description} "
            f"({cells.counts[row]} in this row); fix or remove such rows ({len(wrong)} of {len(found)}), or name "
            "another column with --label",
            "label",
            wrong,
            name,
        )
    return found


def readings(
    tables: Tables, split: str, name: str, cells: Cells, label_from: int | None, location: str
) -> list[Reading]:
    """Interpretations of a split's label column; forms that fit all rows must agree on every row.

    Args:
        tables: the splits.
        split: the one that must be readable.
        name: the column.
        cells: choices of the splits with such columns.
        label_from: index of the first choice, if given.
        location: for messages.

    Returns:
        One reading; two if integers may start from 0 or 1.

    Raises:
        InputError: none fits all rows (HiddenLabels: no row has a label), or several disagree.
    """
    table, choices = tables[split], cells[split]
    column, valid = as_text(table[name]), choices.counts > 0
    first = (
        label_from if label_from is not None else first_index(name, known_labels(tables, name, cells), cells, tables)
    )
    forms: list[LabelForm] = [by_index(number) for number in ((0, 1) if first is None else (first,))]
    if label_from is None or not integers_only(column):
        forms += [BY_LETTER, BY_NAME, BY_TEXT, BY_LETTER_AND_TEXT]
    found = [Reading(name, form, choices.labels(form.read(column, choices))) for form in forms]
    fitting = [one for one in found if valid.any() and (one.labels[valid] != UNKNOWN).all()]
    if not fitting:
        best = max(found, key=lambda one: int((one.labels != UNKNOWN).sum()))
        checked_labels(best.form, name, table, choices, location)
        raise InputError(f"{location}: no row has choices; {OPTIONS}")
    numbers = [one for one in fitting if one.form.first is not None]
    texts = fitting[len(numbers) :]
    if not texts:
        return numbers
    fitting = [*_agreeing(numbers, texts[0]), *texts]
    check_agreement(fitting, f"{location}: {name} could be", "store it as letters, or as integers from 0")
    return fitting[:1]


def decided(fitting: Sequence[list[Reading]], tables: Tables, cells: Cells, location: str) -> list[Reading]:
    """One reading per column: if integers may start from 0 or 1, other columns decide.

    Raises:
        AmbiguousLabels: no column decides, and there are ENOUGH rows.
    """
    certain = next((found[0] for found in fitting if len(found) == 1), None)
    if certain is not None:
        return [_agreeing(found, certain)[0] for found in fitting]
    for found in fitting:
        name = found[0].label
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


def check_agreement(found: Sequence[Reading], what: str, remedy: str) -> None:
    """Raise InputError unless all readings agree; names the first row where they do not."""
    first = found[0]
    for other in found[1:]:
        for row in np.flatnonzero(first.labels != other.labels)[:1]:
            raise InputError(
                f"{what}: two interpretations differ, as in row {row}: {first.description} (choice "
                f"{first.labels[row]}, from 0), or {other.description} (choice {other.labels[row]}); {remedy}"
            )


def known_labels(tables: Tables, name: str, cells: Cells) -> dict[str, pa.Array]:
    """(rows,) labels as text, of the splits whose labels are not hidden."""
    labels = {split: as_text(tables[split][name]) for split in cells if name in tables[split].column_names}
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


def _agreeing(found: list[Reading], certain: Reading) -> list[Reading]:
    """The first reading that agrees with ``certain``, else the first one."""
    return [one for one in found if (one.labels == certain.labels).all()][:1] or found[:1]
