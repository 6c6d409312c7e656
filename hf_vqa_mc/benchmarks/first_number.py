"""Whether labels that are numbers count the choices from 0 or from 1: told by all rows, never guessed."""

import re
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks.label_forms import whole_numbers
from hf_vqa_mc.benchmarks.offered import Offered
from hf_vqa_mc.benchmarks.row_columns import KINDS, choice_kinds
from hf_vqa_mc.errors import InputError

ENOUGH = 20
"""So many rows without a 0 among their labels, and without the number of their choices, cannot be read: with four
choices, labels that are drawn evenly look like this once in (3/4)^20 = 0.3 % of benchmarks, whether they count from 0
or from 1. In fewer rows it may be chance, and they count from 0 as most benchmarks do."""

_FROM_0 = re.compile(r"(?i)idx|index")
"""Names of columns that say it."""


class UntoldFirst(InputError):
    """Labels may count from 0 or from 1, and nothing says which."""


def first_number(
    name: str, labels: Mapping[str, pa.Array], offered: Mapping[str, Offered], tables: Mapping[str, pa.Table]
) -> int | None:
    """The number of the first choice, None where the rows do not tell.

    A label 0 says that it is 0; one that is the number of its row's choices, with no 0 anywhere, that it is 1. Where
    there is neither, a name such as answer_idx means 0, and our own column of kinds says where the target is.

    Args:
        name: the labels' column.
        labels: split name to (rows,) text.
        offered: the same splits' choices.
        tables: the same splits' columns.
    """
    numbers = {split: whole_numbers(column) for split, column in labels.items()}
    asked = {split: offered[split].counts > 0 for split in labels}
    if any((numbers[split] == 0)[asked[split]].any() for split in labels):
        return 0
    if any((numbers[split] == offered[split].ends)[asked[split]].any() for split in labels):
        return 1
    if _FROM_0.search(name):
        return 0
    if any(KINDS in tables[split].column_names for split in labels):
        return _by_kinds(numbers, offered, tables)
    return None


def _by_kinds(
    numbers: Mapping[str, NDArray[np.int64]], offered: Mapping[str, Offered], tables: Mapping[str, pa.Table]
) -> int:
    """What our own column of kinds calls the target; 0 where it says nothing."""
    targets = [0, 0]
    for split, found in numbers.items():
        for first in (0, 1):
            places = np.maximum(offered[split].labels(found - first), 0)
            kinds = choice_kinds(tables[split], offered[split], places)
            targets[first] += len(kinds.flatten())
    return int(targets[1] > targets[0])


def untold(
    place: str, name: str, labels: Mapping[str, pa.Array], offered: Mapping[str, Offered]
) -> UntoldFirst | None:
    """The error for labels that do not tell; None where they are so few that it may be chance.

    Args:
        place: for the message.
        name: the labels' column.
        labels: split name to (rows,) text.
        offered: the same splits' choices.
    """
    asked = {split: offered[split].counts > 0 for split in labels}
    numbers = np.concatenate([whole_numbers(column)[asked[split]] for split, column in labels.items()])
    counts = np.concatenate([offered[split].counts[asked[split]] for split in labels])
    numbers, counts = numbers[numbers > 0], counts[numbers > 0]  # a hidden one is none
    if len(numbers) < ENOUGH:
        return None
    return UntoldFirst(
        f"{place}: {name}: labels are {_span(numbers)} of {_span(counts)} choices, which may count from 0 or from 1; "
        "say so: --label-from 0 (or 1)"
    )


def _span(numbers: NDArray[np.int64]) -> str:
    """The least and the largest."""
    least, most = int(numbers.min()), int(numbers.max())
    return str(least) if least == most else f"{least} to {most}"
