"""Closed answer sets: how often all rows of a set are right, and what an assignment of rows to choices reaches."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.closed_sets import ClosedSets, Ints, closed_sets
from hf_vqa_mc.scoring.multiple_choice import picks
from hf_vqa_mc.scoring.questions import Column, Questions
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Matched, Scheme
from hf_vqa_mc.scoring.statistics import mean_interval, standard_error
from hf_vqa_mc.scoring.table import Line, Table, line
from hf_vqa_mc.text.counted import counted

TIE = 1e-9
"""Differences of scores below this share of a set's range are ties, which are broken at random."""

Floats = NDArray[np.float64]


class SetAccuracy(TypedDict):
    """Fractions in [0, 1]; None if there is nothing to average or the scores are missing."""

    row_accuracy: float
    """rows of the sets whose target is picked"""
    set_accuracy: float
    """sets with all rows right"""
    question_accuracy: float | None
    """questions of grids and Latin squares that are right on all their images"""
    image_accuracy: float | None
    """images of grids and Latin squares that are right for all their questions"""
    assignment_row_accuracy: float | None
    """rows that the best assignment of rows to choices gives their target"""
    assignment_set_accuracy: float | None
    """sets in which it gives all rows their target (GroupMatch)"""
    chance: dict[str, float | None]
    """each accuracy's expected value for random picks, or random assignments"""
    stderr: dict[str, float | None]
    """standard errors, clustered by set"""
    interval: dict[str, list[float] | None]
    """95% intervals, clustered by set"""
    rows: int
    sets: int
    rows_without_set: int
    """rows that are in no set, which are not scored"""
    per_kind: dict[str, dict[str, Any]]
    """the same figures by kind of set and number of choices k"""
    per_question: dict[str, list[float | None]] | None
    """whether each row, its set ... is right; None for rows in no set"""


@dataclass(frozen=True)
class Measure:
    """An accuracy of units, each of which is right if all its rows are."""

    name: str
    label: str
    """its line in the table"""
    unit: Callable[[ClosedSets], Ints]
    """number of each row's unit, int64 (rows,); -1 for none"""
    assigned: bool = False
    """whether rows are assigned to choices jointly; otherwise each row's own prediction counts"""
    chance: Callable[[Floats], Floats] = lambda k: 1 / k
    """factor of a row with k choices in the probability that its unit is right by chance"""


def _assigned_by_chance(k: Floats) -> Floats:
    from scipy.special import gammaln

    chance: Floats = np.exp(-gammaln(k + 1) / k)
    return chance


MEASURES = (
    Measure("row_accuracy", "rows", lambda sets: np.arange(len(sets.rows))),
    Measure("set_accuracy", "sets, all rows right", lambda sets: sets.set_of),
    Measure("question_accuracy", "questions, right on all images", lambda sets: sets.questions),
    Measure("image_accuracy", "images, right for all questions", lambda sets: sets.images),
    Measure("assignment_row_accuracy", "rows, best assignment", lambda sets: np.arange(len(sets.rows)), assigned=True),
    Measure(
        "assignment_set_accuracy",
        "sets, best assignment all right",
        lambda sets: sets.set_of,
        assigned=True,
        chance=_assigned_by_chance,
    ),
)


def set_accuracy(
    predictions: Column,
    references: Column,
    *,
    choices: Sequence[Sequence[str]],
    set_ids: Column,
    set_kinds: Column | None = None,
    questions: Column | None = None,
    image_ids: Column | None = None,
    scores: Sequence[Sequence[float]] | None = None,
    question_ids: Column | None = None,
    per_question: bool = False,
) -> SetAccuracy:
    """Accuracy on closed answer sets: k rows that share their k choices, each the target of one row.

    Whatever sees the choices alone is right in exactly 1/k of the rows. Question, image and set accuracy of grids and
    Latin squares are those of NaturalBench (Li et al. 2024, arXiv 2410.14669). With scores, a set's rows are also
    assigned to its choices, each choice to one row, such that the sum of scores is largest (GroupMatch, Zhu et al.
    2025, arXiv 2510.07632). A Latin square has k rows for each choice; its questions are assigned separately.

    Args:
        predictions: index of the picked choice, from 0, or its text.
        references: index of the target.
        choices: each row's choices; the same texts in all rows of a set, in any order.
        set_ids: name of each row's set; "" for rows in no set, which are counted and not scored.
        set_kinds: kind of each row's set; ``grid`` and ``latin`` have question and image accuracy.
        questions: their text, needed for grids and Latin squares.
        image_ids: needed for grids and Latin squares.
        scores: a number for each choice of each row, the higher the better, such as logits or log probabilities.
        question_ids: names of the questions in errors.
        per_question: also give each question's scores.

    Raises:
        InputError: names the set or the question and the field.

    >>> choices = [["cat", "dog"], ["dog", "cat"], ["red", "blue"], ["red", "blue"]]
    >>> result = set_accuracy([0, 0, 0, 0], [0, 0, 0, 1], choices=choices, set_ids=["a", "a", "b", "b"])
    >>> result["row_accuracy"], result["set_accuracy"], result["chance"]["set_accuracy"]
    (0.75, 0.5, 0.25)
    """
    optional = {"set_kinds": set_kinds, "questions": questions, "image_ids": image_ids, "scores": scores}
    columns = Questions(
        {"predictions": predictions, "references": references, "choices": choices, "set_ids": set_ids},
        question_ids,
        **optional,
    )
    _, targets, picked = picks(columns)
    sets = closed_sets(columns, targets)
    right = (picked == targets)[sets.rows]
    assigned = _assigned(columns, sets) if "scores" in columns else None
    units = {one.name: _units(one, sets, assigned if one.assigned else right) for one in MEASURES}
    of_kind = [f"{kind}, k = {k}".lstrip(", ") for kind, k in zip(sets.kinds, sets.sizes.tolist(), strict=True)]
    order = sorted(set(zip(sets.kinds, sets.sizes.tolist(), of_kind, strict=True)))
    result = {
        **_figures(units, np.ones(len(sets.names), bool)),
        "rows_without_set": columns.count - len(sets.rows),
        "per_kind": {name: _figures(units, np.array([one == name for one in of_kind])) for *_, name in order},
        "per_question": _per_question(units, sets, columns.count) if per_question else None,
    }
    return cast("SetAccuracy", result)


@dataclass(frozen=True)
class _Units:
    """The units of a measure."""

    scores: Floats
    """(units,): 1 if right, else 0"""
    chance: Floats
    """(units,): probability that it is right by chance"""
    sets: Ints
    """(units,): number of its set"""
    of_row: Ints
    """(rows,): number of each row's unit; -1 for none"""


def _units(measure: Measure, sets: ClosedSets, right: NDArray[np.bool_] | None) -> _Units:
    """The units of a measure, none if ``right``, which is of rows, is missing."""
    of_row = measure.unit(sets) if right is not None else np.full(len(sets.rows), -1)
    rows = np.flatnonzero(of_row >= 0)
    if right is None or not len(rows):
        return _Units(np.empty(0), np.empty(0), np.empty(0, np.int64), of_row)
    unit = of_row[rows]
    wrong = np.bincount(unit, ~right[rows])
    logs = np.log(measure.chance(sets.sizes[sets.set_of[rows]].astype(np.float64)))
    set_of = np.empty(len(wrong), np.int64)
    set_of[unit] = sets.set_of[rows]
    return _Units((wrong == 0).astype(np.float64), np.exp(np.bincount(unit, logs)), set_of, of_row)


def _figures(units: Mapping[str, _Units], chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """The accuracies of some sets, bool (sets,), with chance, standard errors and intervals."""
    found: dict[str, dict[str, Any]] = {"accuracy": {}, "chance": {}, "stderr": {}, "interval": {}}
    for name, of_measure in units.items():
        kept = chosen[of_measure.sets]
        scores, sets = of_measure.scores[kept], of_measure.sets[kept]
        share = float(scores.mean()) if len(scores) else None
        found["accuracy"][name] = share
        found["chance"][name] = None if share is None else float(of_measure.chance[kept].mean())
        found["stderr"][name] = None if share is None else standard_error(scores, sets)
        found["interval"][name] = None if share is None else mean_interval(scores, sets)
    rows = int(chosen[units["row_accuracy"].sets].sum())
    return {**found.pop("accuracy"), **found, "rows": rows, "sets": int(chosen.sum())}


def _per_question(units: Mapping[str, _Units], sets: ClosedSets, count: int) -> dict[str, list[float | None]]:
    """The score of each row's unit by measure; None for rows without one, no list where no row has one."""
    columns: dict[str, list[float | None]] = {}
    for name, of_measure in units.items():
        for row, unit in zip(sets.rows.tolist(), of_measure.of_row.tolist(), strict=True):
            if unit >= 0:
                columns.setdefault(name, [None] * count)[row] = float(of_measure.scores[unit])
    return columns


def _assigned(columns: Questions, sets: ClosedSets) -> NDArray[np.bool_]:
    """Whether the best assignment of rows to choices gives each row its target, bool (rows,)."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    sizes, right = sets.sizes[sets.set_of], np.empty(len(sets.rows), bool)
    for k in np.unique(sizes).tolist():
        of_size = np.flatnonzero(sizes == k)
        rows = sets.rows[of_size].tolist()
        choices = [columns["choices"][row] for row in rows]
        by_text = np.array([sorted(range(k), key=texts.__getitem__) for texts in choices])
        scores = np.take_along_axis(_scores(columns, rows, k), by_text, axis=1).reshape(-1, k, k)
        scores -= scores.min(axis=2, keepdims=True)
        largest = scores.max(axis=(1, 2), keepdims=True)
        scores = scores / np.where(largest > 0, largest, 1) + TIE * rng.random(scores.shape)
        picked = [linear_sum_assignment(matrix, maximize=True)[1] for matrix in scores]
        right[of_size] = (np.array(picked) == np.arange(k)).ravel()  # rows are sorted by target, as the choices
    return right


def _scores(columns: Questions, rows: list[int], k: int) -> Floats:
    """The scores of rows with k choices, float64 (rows, k); raises InputError if they are not k finite numbers."""
    given, numbers = [columns["scores"][row] for row in rows], {int, float}
    fit = [isinstance(one, list | tuple) and len(one) == k and {*map(type, one)} <= numbers for one in given]
    scores = np.array([one if is_fit else [np.nan] * k for one, is_fit in zip(given, fit, strict=True)], np.float64)
    valid = np.array(fit) & (np.abs(scores) <= np.finfo(np.float32).max).all(axis=1)
    for at in np.flatnonzero(~valid)[:1]:
        raise columns.wrong(rows[at], "scores", f"{k} finite numbers, one for each choice")
    return scores


def _run(matched: Matched) -> Mapping[str, Any]:
    if matched.annotations.set_ids is None:
        raise InputError(f"{SCHEME.name} needs set_id; {matched.annotations.location} has no row with one")
    return SCHEME.call(matched)


def _table(result: Mapping[str, Any], matched: Matched) -> Table:
    kinds: Mapping[str, Any] = result["per_kind"]
    groups = {"": result} if len(kinds) > 1 else {next(iter(kinds)): result}
    if len(kinds) > 1:
        groups |= {f"{kind}: {counted(of['sets'], 'set')}": of for kind, of in kinds.items()}
    lines = []
    for group, of in groups.items():
        for one in (one for one in MEASURES if of[one.name] is not None):
            rows = of["rows"] if one.name == "row_accuracy" else None
            interval, chance = of["interval"][one.name], of["chance"][one.name]
            lines.append(line(one.label, of[one.name], interval, other=chance, questions=rows, group=group))
        if without := of.get("rows_without_set"):
            lines.append(Line("rows in no set, not scored", questions=f"{without:,}", group=group))
    missing = {} if matched.scores else {"best assignment": "a column of scores in the predictions"}
    return Table(lines, "chance", missing)


SCHEME = Scheme(
    "set_accuracy",
    set_accuracy,
    "{rows:,} rows in {sets:,} closed answer sets; intervals clustered by set, not by image",
    columns=("choices", "set_ids", "set_kinds", "questions", "image_ids", "scores", "question_ids"),
    features=(("int64", "int64"), ("string", "int64")),
    kinds=(MULTIPLE_CHOICE,),
    references="labels",
    is_default=lambda annotations: annotations.set_ids is not None,
    takes_indices=True,
    one_prediction=True,
    run=_run,
    show=_table,
)
