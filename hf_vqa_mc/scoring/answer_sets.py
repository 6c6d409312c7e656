"""Closed answer sets: how often all rows of a set are right, and what an assignment of rows to choices reaches.

The rows of a set share their choices, each of which is the target of equally many rows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.kind import SET_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.multiple_choice import picks
from hf_vqa_mc.scoring.questions import Column, Columns
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Matched, Scheme
from hf_vqa_mc.scoring.statistics import mean_interval, standard_error
from hf_vqa_mc.scoring.table import Line, ScoreTable, line
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.normalisation import comparable

TIE = 1e-9  # differences of scores below this share of a set's range are ties, which are broken at random
CROSSED = {kind.name for kind in SET_KINDS.values() if kind.crossed}
SQUARES = {kind.name for kind in SET_KINDS.values() if kind.square}

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class SetAccuracy(TypedDict):
    """Fractions in [0, 1]; None if there is nothing to average or the scores are missing."""

    row_accuracy: float  # rows of the sets whose target is picked
    set_accuracy: float  # sets with all rows right
    question_accuracy: float | None  # questions of grids and Latin squares that are right on all their images
    image_accuracy: float | None  # images of grids and Latin squares that are right for all their questions
    assignment_row_accuracy: float | None  # rows that the best assignment of rows to choices gives their target
    assignment_set_accuracy: float | None  # sets in which it gives all rows their target (GroupMatch)
    chance: dict[str, float | None]  # each accuracy's expected value for random picks, or random assignments
    stderr: dict[str, float | None]  # standard errors, clustered by set
    interval: dict[str, list[float] | None]  # 95% intervals, clustered by set
    rows: int
    sets: int
    rows_without_set: int  # rows that are in no set, which are not scored
    per_kind: dict[str, dict[str, Any]]  # the same figures by kind of set and number of choices k
    per_question: dict[str, list[float | None]] | None
    """whether each row, its set ... is right; None for rows in no set"""


class Measure(NamedTuple):
    """An accuracy of units, each of which is right if all its rows are."""

    name: str
    label: str  # its line in the table
    unit: str  # row, set, question or image
    assigned: bool = False  # whether rows are assigned to choices jointly; otherwise each row's own prediction counts


MEASURES = (
    Measure("row_accuracy", "rows", "row"),
    Measure("set_accuracy", "sets, all rows right", "set"),
    Measure("question_accuracy", "questions, right on all images", "question"),
    Measure("image_accuracy", "images, right for all questions", "image"),
    Measure("assignment_row_accuracy", "rows, best assignment", "row", assigned=True),
    Measure("assignment_set_accuracy", "sets, best assignment all right", "set", assigned=True),
)


class ClosedSets(NamedTuple):
    """The rows of closed answer sets, in an order that does not depend on that of rows and choices in the input.

    Rows are sorted by set, in a Latin square by question, and then by the text of the target. So each k consecutive
    rows have the same k choices, and each choice is the target of one of them.
    """

    rows: Ints  # (rows,): index of each row in the columns
    kinds: list[str]  # set_kind of each set, in the order of the set_ids
    sizes: Ints  # (sets,): number of choices
    unit_of: dict[str, Ints]
    """(rows,): number of each row's row, set, question and image; -1 for questions and images of uncrossed sets"""


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
    needed = {"predictions": predictions, "references": references, "choices": choices, "set_ids": set_ids}
    columns = Columns(needed, question_ids, **optional)
    _, targets, picked = picks(columns)
    sets = _closed_sets(columns, targets)
    right = (picked == targets)[sets.rows]
    assigned = _assigned(columns, sets) if "scores" in columns else None
    units = {one.name: _units(one, sets, assigned if one.assigned else right) for one in MEASURES}
    of_kind = [f"{kind}, k = {k}".lstrip(", ") for kind, k in zip(sets.kinds, sets.sizes.tolist(), strict=True)]
    order = sorted(set(zip(sets.kinds, sets.sizes.tolist(), of_kind, strict=True)))
    by_question: dict[str, list[float | None]] = {}  # of each row's unit
    for name, of_measure in units.items():
        for row, unit in zip(sets.rows.tolist(), of_measure.of_row.tolist(), strict=True):
            if unit >= 0:
                by_question.setdefault(name, [None] * columns.count)[row] = float(of_measure.scores[unit])
    result = {
        **_figures(units, np.ones(len(sets.kinds), bool)),
        "rows_without_set": columns.count - len(sets.rows),
        "per_kind": {name: _figures(units, np.array([one == name for one in of_kind])) for *_, name in order},
        "per_question": by_question if per_question else None,
    }
    return cast("SetAccuracy", result)


class _Units(NamedTuple):
    of_row: Ints  # (rows,): number of each row's unit; -1 for none
    scores: Floats  # (units,): 1 if right, else 0
    chance: Floats  # (units,): probability that it is right by chance
    sets: Ints  # (units,): number of its set


def _units(measure: Measure, sets: ClosedSets, right: NDArray[np.bool_] | None) -> _Units:
    """The units of a measure, none if ``right``, which is of rows, is missing."""
    from scipy.special import gammaln

    of_row = sets.unit_of[measure.unit] if right is not None else np.full(len(sets.rows), -1)
    rows = np.flatnonzero(of_row >= 0)
    if right is None or not len(rows):
        return _Units(of_row, np.empty(0), np.empty(0), np.empty(0, np.int64))
    unit, set_of_row = of_row[rows], sets.unit_of["set"][rows]
    k = sets.sizes[set_of_row].astype(np.float64)
    by_chance = np.exp(-gammaln(k + 1) / k) if measure.assigned and measure.unit == "set" else 1 / k  # of each row
    wrong = np.bincount(unit, ~right[rows])
    set_of = np.empty(len(wrong), np.int64)
    set_of[unit] = set_of_row
    return _Units(of_row, (wrong == 0).astype(np.float64), np.exp(np.bincount(unit, np.log(by_chance))), set_of)


def _figures(units: Mapping[str, _Units], chosen: NDArray[np.bool_]) -> dict[str, Any]:
    """The accuracies of some sets, bool (sets,), with chance, standard errors and intervals."""
    figures: dict[str, tuple[Any, ...]] = {}
    for name, (_, scores, chance, sets) in units.items():
        kept = chosen[sets]
        of = scores[kept], sets[kept]
        figures[name] = (None,) * 4
        if kept.any():
            figures[name] = float(of[0].mean()), float(chance[kept].mean()), standard_error(*of), mean_interval(*of)
    accuracies, *others = ({name: of[at] for name, of in figures.items()} for at in range(4))
    rows = int(chosen[units["row_accuracy"].sets].sum())
    about = zip(("chance", "stderr", "interval"), others, strict=True)
    return {**accuracies, **dict(about), "rows": rows, "sets": int(chosen.sum())}


def _closed_sets(columns: Columns, targets: Ints) -> ClosedSets:
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
            sets.append(_crossed(f"set {name!r} of kind {kind!r}", members[name], texts, keys, kind in SQUARES))
        else:
            sets.append([(row, None, None) for _, row in sorted(zip(texts, members[name], strict=True))])
    rows = [(number, *row) for number, of_set in enumerate(sets) for row in of_set]
    first = [of_set[0][0] for of_set in sets]
    unit_of = {
        "row": np.arange(len(rows)),
        "set": np.array([number for number, *_ in rows]),
        "question": _ranks([None if question is None else (number, question) for number, _, question, _ in rows]),
        "image": _ranks([None if image is None else (number, image) for number, _, _, image in rows]),
    }
    sizes = np.array([len(columns["choices"][row]) for row in first])
    return ClosedSets(np.array([row for _, row, _, _ in rows]), [kinds[row] for row in first], sizes, unit_of)


def _ranks(keys: Sequence[Any]) -> Ints:
    """The rank of each key among all; -1 for None."""
    known = {key: number for number, key in enumerate(sorted(key for key in set(keys) if key is not None))}
    return np.array([known.get(key, -1) for key in keys])


def _targets(columns: Columns, name: str, rows: list[int], kinds: Sequence[str], targets: Ints) -> list[str]:
    """The text of each row's target; raises InputError unless the set is closed."""
    choices: list[str] = sorted(columns["choices"][rows[0]])
    for row in rows:
        if sorted(columns["choices"][row]) != choices or kinds[row] != kinds[rows[0]]:
            expected = f"the choices and set_kind of {columns.where(rows[0])}, {choices} and {kinds[rows[0]]!r}"
            raise InputError(f"set {name!r}: {columns.where(row)} differs; expected {expected}, in all rows of a set")
    times = len(choices) if kinds[rows[0]] in SQUARES else 1
    texts: list[str] = [columns["choices"][row][targets[row]] for row in rows]
    if Counter(texts) != dict.fromkeys(choices, times):
        raise InputError(
            f"set {name!r} has {len(rows)} rows with the choices {choices}; expected {len(choices) * times}, each "
            f"choice being the target of {times} (keep all rows of a set, make their set_id empty, or score rows "
            "alone: --metric mc_accuracy)"
        )
    return texts


def _crossed(
    where: str, rows: list[int], texts: list[str], keys: Mapping[str, list[str]], square: bool
) -> list[tuple[int, str | None, str | None]]:
    """The rows of a grid or Latin square in order, each with its question and image."""
    if len(keys) < 2:
        raise InputError(f"{where} needs questions and image_ids")
    questions, images = [comparable(keys["questions"][row]) for row in rows], [keys["image_ids"][row] for row in rows]
    for one, other in [(questions, images), (questions, texts), (images, texts)][: 3 if square else 1]:
        if not len(set(one)) * len(set(other)) == len(rows) == len(set(zip(one, other, strict=True))):
            raise InputError(
                f"{where}: expected each question on each image once"
                + (", and each question and image with each target once" if square else "")
            )
    order = sorted(range(len(rows)), key=lambda at: (questions[at] if square else "", texts[at]))
    return [(rows[at], questions[at], images[at]) for at in order]


def _assigned(columns: Columns, sets: ClosedSets) -> NDArray[np.bool_]:
    """Whether the best assignment of rows to choices gives each row its target, bool (rows,)."""
    from scipy.optimize import linear_sum_assignment

    rng = np.random.default_rng(0)
    sizes, right = sets.sizes[sets.unit_of["set"]], np.empty(len(sets.rows), bool)
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


def _scores(columns: Columns, rows: list[int], k: int) -> Floats:
    """The scores of rows with k choices, float64 (rows, k); raises InputError if they are not k finite numbers."""
    given, numbers = [columns["scores"][row] for row in rows], {int, float}
    fit = [isinstance(one, list | tuple) and len(one) == k and {*map(type, one)} <= numbers for one in given]
    scores = np.array([one if is_fit else [np.nan] * k for one, is_fit in zip(given, fit, strict=True)], np.float64)
    valid = np.array(fit) & (np.abs(scores) <= np.finfo(np.float32).max).all(axis=1)
    for at in np.flatnonzero(~valid)[:1]:
        raise columns.wrong(rows[at], "scores", f"{k} finite numbers, one for each choice")
    return scores


def _table(result: Mapping[str, Any], matched: Matched) -> ScoreTable:
    kinds: Mapping[str, Any] = result["per_kind"]
    groups = {f"{kind}: {counted(of['sets'], 'set')}": of for kind, of in kinds.items()}
    groups = {"": result, **groups} if len(kinds) > 1 else {next(iter(kinds)): result}
    lines = []
    for group, of in groups.items():
        for one in (one for one in MEASURES if of[one.name] is not None):
            rows = of["rows"] if one.name == "row_accuracy" else None
            interval, chance = of["interval"][one.name], of["chance"][one.name]
            lines.append(line(one.label, of[one.name], interval, other=chance, questions=rows, group=group))
        if without := of.get("rows_without_set"):
            lines.append(Line("rows in no set, not scored", questions=f"{without:,}", group=group))
    missing = {} if matched.scores else {"best assignment": "a column of scores in the predictions"}
    return ScoreTable(lines, "chance", missing)


SCHEME = Scheme(
    "set_accuracy",
    set_accuracy,
    "{rows:,} rows in {sets:,} closed answer sets; intervals clustered by set, not by image",
    columns=("choices", "set_ids", "set_kinds", "questions", "image_ids", "scores", "question_ids"),
    features=(("int64", "int64"), ("string", "int64")),
    kinds=(MULTIPLE_CHOICE,),
    references="labels",
    is_default=lambda annotations: annotations.set_ids is not None and annotations.set_kinds is not None,
    takes_indices=True,
    one_prediction=True,
    show=_table,
)
