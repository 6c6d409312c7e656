"""Closed answer sets: rows that share their choices, each of which is the target of equally many rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.closed_sets import SET_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.questions import Questions
from hf_vqa_mc.scoring.statistics import numbered
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
    """Find the closed answer sets among questions and check them; rows whose set id is empty are in none.

    Args:
        columns: with ``set_ids`` and ``choices``; with ``set_kinds``, without which no set is a grid or Latin square.
            Grids and Latin squares need ``questions`` and ``image_ids``.
        targets: int64 (questions,): index of each row's target among its choices.

    Raises:
        InputError: no row is in a set, or a set is not closed; names the set.
    """
    ids = columns.groups("set_ids") or []
    rows = np.array([row for row, name in enumerate(ids) if name], np.int64)
    if not len(rows):
        raise InputError("set_ids is empty in all rows; expected the names of closed answer sets")
    names, set_of = numbered([ids[row] for row in rows])
    kinds, choices = _kinds_and_choices(columns, rows, set_of, names)
    sizes = np.array([len(texts) for texts in choices])
    target_ranks = np.array(
        [
            choices[number].index(columns["choices"][row][target])
            for row, number, target in zip(rows.tolist(), set_of.tolist(), targets[rows].tolist(), strict=True)
        ]
    )
    squares = np.array([kind in SQUARES for kind in kinds])
    _check_targets(choices, set_of, target_ranks, np.where(squares, sizes, 1), names)
    questions, images = _crossed(columns, rows, set_of, target_ranks, kinds, names)
    order = np.lexsort((target_ranks, np.where(squares[set_of], questions, 0), set_of))
    return ClosedSets(rows[order], names, kinds, sizes, set_of[order], questions[order], images[order])


def _kinds_and_choices(
    columns: Questions, rows: Ints, set_of: Ints, names: list[str]
) -> tuple[list[str], list[list[str]]]:
    """The kind and the sorted choices of each set; raises InputError unless all rows have them, choices once."""
    given, first = columns["choices"], rows[np.unique(set_of, return_index=True)[1]].tolist()
    texts = columns.texts("set_kinds") if "set_kinds" in columns else [""] * columns.count
    kinds, choices = [texts[row] for row in first], [sorted(given[row]) for row in first]
    for row, number in zip(rows.tolist(), set_of.tolist(), strict=True):
        is_same = texts[row] == kinds[number] and sorted(given[row]) == choices[number]
        if is_same and len(set(given[row])) == len(given[row]):
            continue
        start, where = first[number], f"set {names[number]!r}: {columns.where(row)} has"
        if len(set(given[row])) < len(given[row]):
            raise InputError(f"{where} a choice twice, {given[row]}; expected distinct choices")
        what, one, other = "choices", given[row], given[start]
        if texts[row] != kinds[number]:
            what, one, other = "set_kind", repr(texts[row]), repr(kinds[number])
        raise InputError(
            f"{where} the {what} {one}, {columns.where(start)} {other}; expected the same in all rows of a set"
        )
    return kinds, choices


def _check_targets(choices: list[list[str]], set_of: Ints, target_ranks: Ints, times: Ints, names: list[str]) -> None:
    """Raise InputError unless each choice of a set is the target of ``times`` rows."""
    for number, (texts, count, each) in enumerate(zip(choices, np.bincount(set_of), times.tolist(), strict=True)):
        if count != len(texts) * each:
            raise InputError(
                f"set {names[number]!r} has {count} rows and {len(texts)} choices; expected {len(texts) * each} rows "
                "(keep all rows of a set, or make their set_id empty)"
            )
    width = max(map(len, choices))
    found = np.bincount(set_of * width + target_ranks, minlength=len(choices) * width).reshape(-1, width)
    for number in np.flatnonzero((found > times[:, None]).any(axis=1))[:1]:
        raise InputError(
            f"set {names[number]!r}: {choices[number][found[number].argmax()]!r} is the target of "
            f"{found[number].max()} rows; expected each choice to be the target of {times[number]}"
        )


def _crossed(
    columns: Questions, rows: Ints, set_of: Ints, target_ranks: Ints, kinds: list[str], names: list[str]
) -> tuple[Ints, Ints]:
    """Numbers of the questions and images of grids and Latin squares, -1 in other sets."""
    questions, images = np.full(len(rows), -1), np.full(len(rows), -1)
    inside = np.flatnonzero(np.array([kind in CROSSED for kind in kinds])[set_of])
    if not len(inside):
        return questions, images
    for name in ("questions", "image_ids"):
        if name not in columns:
            number = set_of[inside[0]]
            raise InputError(f"set {names[number]!r}: set_kind is {kinds[number]!r}, which needs {name}")
    texts, image_ids = columns.texts("questions"), columns.groups("image_ids") or []
    keys = {text: comparable(text) for text in {texts[row] for row in rows[inside]}}
    questions[inside] = _pairs(set_of[inside], numbered([keys[texts[row]] for row in rows[inside]])[1])
    images[inside] = _pairs(set_of[inside], numbered([image_ids[row] for row in rows[inside]])[1])
    of_square = inside[np.array([kind in SQUARES for kind in kinds])[set_of[inside]]]
    for some, one, other, expected in (
        (inside, questions, images, "question on each of its images"),
        (of_square, questions, target_ranks, "question with each of its targets"),
        (of_square, images, target_ranks, "image with each of its targets"),
    ):
        wrong = _incomplete(set_of[some], one[some], other[some], len(names))
        for number in np.flatnonzero(wrong)[:1]:
            raise InputError(
                f"set {names[number]!r}: set_kind is {kinds[number]!r}; expected one row for each {expected}"
            )
    return questions, images


def _pairs(one: Ints, other: Ints) -> Ints:
    """The number of each distinct pair."""
    numbers: Ints = np.unique(one * (other.max(initial=0) + 1) + other, return_inverse=True)[1]
    return numbers


def _incomplete(set_of: Ints, one: Ints, other: Ints, sets: int) -> NDArray[np.bool_]:
    """(sets,): whether a set's rows are not all pairs of its values, each pair once."""

    def distinct(values: Ints) -> Ints:
        width = int(values.max(initial=0)) + 1
        return np.bincount(np.unique(set_of * width + values) // width, minlength=sets)

    rows = np.bincount(set_of, minlength=sets)
    wrong: NDArray[np.bool_] = (distinct(one) * distinct(other) != rows) | (distinct(_pairs(one, other)) != rows)
    return wrong
