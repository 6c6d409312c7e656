"""Interpretation of label columns: their form, and whether integers start from 0 or 1; ambiguity is an error."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import UNKNOWN, ChoiceCells
from hf_vqa_mc.data.columns import KINDS, choice_kinds
from hf_vqa_mc.data.labels import (
    LABEL_FORMS,
    LabelForm,
    by_index,
    hidden,
    hidden_labels,
    integers,
    integers_only,
    label_texts,
)
from hf_vqa_mc.data.options import OPTIONS
from hf_vqa_mc.errors import InputError

ENOUGH = 20
"""Rows from which labels are ambiguous if none is 0 or the number of its choices. With four choices, uniform labels
look like this in (3/4)^20 = 0.3% of benchmarks, whether they start from 0 or 1. Fewer rows may do so by chance, and
are read as starting from 0, as most benchmarks do."""
MOST_FAULTY = 0.5
"""If more rows of a split cannot be read, its columns were not understood."""
_FROM_0 = re.compile(r"(?i)idx|index")  # Names of columns that start from 0.
Tables = Mapping[str, pa.Table]
"""Split name to its columns."""
Cells = Mapping[str, ChoiceCells]
"""Split name to its choices."""


class AmbiguousLabels(InputError):
    """Two interpretations of the labels fit equally well; no other form of choices is tried."""


@dataclass(frozen=True)
class LabelInterpretation:
    """A label column read in one form."""

    column: str
    form: LabelForm
    labels: NDArray[np.int64]  # (rows,): index of the correct choice, or UNKNOWN


def interpret(
    tables: Tables, split: str, name: str, cells: Cells, label_from: int | None, location: str
) -> list[LabelInterpretation]:
    """The interpretation of a split's label column that leaves the fewest rows without a label.

    Two if integers may start from 0 or 1. Several forms that fit all rows must agree on every row. Raises HiddenLabels
    if no row has a label.
    """
    choices = cells[split]
    column, faults = label_texts(tables[split], name)
    valid = choices.counts > 0
    if not valid.any():
        raise InputError(f"{location}: no row has choices; {OPTIONS}")
    if hidden(column)[valid].all() and not faults:
        raise hidden_labels(location, name, tables[split], int(np.flatnonzero(valid)[0]))
    first = first_index(name, known_labels(tables, name, cells), cells, tables) if label_from is None else label_from
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
            f"{location}, row {row}: {best.form.unreadable(name, tables[split], choices, row)} ({least} of "
            f"{valid.sum()} rows, more than half); name another column with --label"
        )
    fitting = [one for one, rows in zip(found, unknown, strict=True) if rows == least]
    fitting = [one for one in fitting if one.form is not other] or fitting
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
        labels = known_labels(tables, name, cells)
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
                f"{one.column} is {one.form.description} (choice {one.labels[row]}" for one in (first, other)
            )
            raise InputError(
                f"{what}: two interpretations differ, as in row {row}: {either}, from 0), or {choice}); {remedy}"
            )


def known_labels(tables: Tables, name: str, cells: Cells) -> dict[str, pa.Array]:
    """(rows,) labels as text, of the splits whose labels are not hidden."""
    labels = {split: label_texts(tables[split], name)[0] for split in cells if name in tables[split].column_names}
    return {split: column for split, column in labels.items() if not hidden(column).all()}


def first_index(name: str, labels: Mapping[str, pa.Array], cells: Cells, tables: Tables) -> int | None:
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
