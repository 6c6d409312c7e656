"""Closed answer sets: rows that share their choices, each of which is the target of equally many rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.closed_sets import SET_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.questions import Questions
from hf_vqa_mc.text.normalisation import comparable

CROSSED = {kind.name for kind in SET_KINDS.values() if kind.crossed}
SQUARES = {kind.name for kind in SET_KINDS.values() if kind.square}

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ClosedSets:
    """The rows of closed answer sets, in an order that does not depend on that of rows and choices in the input.

    Rows are sorted by set, in a Latin square by question, and then by the text of the target. So each k consecutive
    rows have the same k choices, and each choice is the target of one of them.
    """

    rows: Ints
    """(rows,): index of each row in the columns"""
    names: list[str]
    """set_id of each set, sorted"""
    kinds: list[str]
    """set_kind of each set"""
    sizes: Ints
    """(sets,): number of choices"""
    set_of: Ints
    """(rows,): number of each row's set"""
    questions: Ints
    """(rows,): number of each row's question in its grid or Latin square; -1 in other sets"""
    images: Ints
    """(rows,): the same for images"""


def closed_sets(columns: Questions, targets: Ints) -> ClosedSets:
    """Find the closed answer sets among questions and check them; rows whose set id is empty are in none."""
    members: dict[str, list[int]] = {}
    for row, name in enumerate(columns.groups("set_ids") or []):
        if name:
            members.setdefault(name, []).append(row)
    if not members:
        raise InputError("set_ids is empty in all rows; expected the names of closed answer sets")
    kinds, names = columns.texts("set_kinds") if "set_kinds" in columns else [""] * columns.count, sorted(members)
    readers = {"questions": columns.texts, "image_ids": columns.groups} if CROSSED & set(kinds) else {}
    keys = {field: read(field) or [] for field, read in readers.items() if field in columns}
    sets = []
    for name in names:
        texts, kind = _targets(columns, name, members[name], kinds, targets), kinds[members[name][0]]
        if kind in CROSSED:
            sets.append(_crossed(f"set {name!r}: set_kind is {kind!r}", members[name], texts, keys, kind in SQUARES))
        else:
            sets.append([(row, None, None) for _, row in sorted(zip(texts, members[name], strict=True))])
    rows = [(number, *row) for number, of_set in enumerate(sets) for row in of_set]
    first = [of_set[0][0] for of_set in sets]
    return ClosedSets(
        np.array([row for _, row, _, _ in rows]),
        names,
        [kinds[row] for row in first],
        np.array([len(columns["choices"][row]) for row in first]),
        np.array([number for number, *_ in rows]),
        _numbers([None if question is None else (number, question) for number, _, question, _ in rows]),
        _numbers([None if image is None else (number, image) for number, _, _, image in rows]),
    )


def _numbers(keys: Sequence[Any]) -> Ints:
    """The rank of each key among all; -1 for None."""
    known = {key: number for number, key in enumerate(sorted(key for key in set(keys) if key is not None))}
    return np.array([known.get(key, -1) for key in keys])


def _targets(columns: Questions, name: str, rows: list[int], kinds: Sequence[str], targets: Ints) -> list[str]:
    """The text of each row's target; raises InputError unless the set is closed."""
    where, start = f"set {name!r}:", rows[0]
    choices: list[str] = sorted(columns["choices"][start])
    for row in rows:
        given, kind = columns["choices"][row], kinds[row]
        if len(set(given)) < len(given):
            raise InputError(f"{where} {columns.where(row)} has a choice twice, {given}; expected distinct choices")
        if kind != kinds[start] or sorted(given) != choices:
            what = f"set_kind {kind!r}" if kind != kinds[start] else f"choices {given}"
            other = repr(kinds[start]) if kind != kinds[start] else columns["choices"][start]
            raise InputError(
                f"{where} {columns.where(row)} has the {what}, {columns.where(start)} {other}; expected the same in "
                "all rows of a set"
            )
    times = len(choices) if kinds[start] in SQUARES else 1
    if len(rows) != len(choices) * times:
        raise InputError(
            f"set {name!r} has {len(rows)} rows and {len(choices)} choices; expected {len(choices) * times} rows "
            "(keep all rows of a set, make their set_id empty, or score rows alone: --metric mc_accuracy)"
        )
    texts: list[str] = [columns["choices"][row][targets[row]] for row in rows]
    target, count = Counter(sorted(texts)).most_common(1)[0]
    if count > times:
        raise InputError(
            f"{where} {target!r} is the target of {count} rows; expected each choice to be the target of {times}"
        )
    return texts


def _crossed(
    where: str, rows: list[int], texts: list[str], keys: Mapping[str, list[str]], square: bool
) -> list[tuple[int, str | None, str | None]]:
    """The rows of a grid or Latin square in order, each with its question and image."""
    for field in ("questions", "image_ids"):
        if field not in keys:
            raise InputError(f"{where}, which needs {field}")
    questions, images = [comparable(keys["questions"][row]) for row in rows], [keys["image_ids"][row] for row in rows]
    pairs = [(questions, images, "question on each of its images")]
    if square:
        pairs += [
            (questions, texts, "question with each of its targets"),
            (images, texts, "image with each of its targets"),
        ]
    for one, other, expected in pairs:
        if not len(set(one)) * len(set(other)) == len(rows) == len(set(zip(one, other, strict=True))):
            raise InputError(f"{where}; expected one row for each {expected}")
    order = sorted(range(len(rows)), key=lambda at: (questions[at] if square else "", texts[at]))
    return [(rows[at], questions[at], images[at]) for at in order]
