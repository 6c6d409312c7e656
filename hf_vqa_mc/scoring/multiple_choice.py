"""Accuracy of picking the target: Visual7W, COCO-QA, qaVG and every other source with one right answer."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.questions import Column, Columns, is_whole
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Matched, Scheme
from hf_vqa_mc.scoring.statistics import Accuracy, accuracy, mean_by
from hf_vqa_mc.scoring.table import ScoreTable, by_type, line


class McAccuracy(Accuracy):
    """Fractions in [0, 1]; None if a required column is missing."""

    chance: float | None  # accuracy of picking a choice at random
    per_question_type: dict[str, float] | None
    chosen_kinds: dict[str, float] | None
    """share of the questions for which a choice of this kind (target, orig, iou, qou, random) was picked"""
    offered_kinds: dict[str, float] | None  # expected shares of random guessing
    per_question: list[float] | None


def mc_accuracy(
    predictions: Column,
    references: Column,
    *,
    choices: Sequence[Sequence[str]] | None = None,
    question_types: Column | None = None,
    image_ids: Column | None = None,
    choice_kinds: Sequence[Sequence[int | str]] | None = None,
    question_ids: Column | None = None,
    per_question: bool = False,
) -> McAccuracy:
    """Accuracy of choosing the target, and which kinds of decoys are chosen instead.

    Text matches the choice that is equal after ``lower()``, as in Visual7W's toolkit. The toolkit averages over the
    *answered* questions; here a missing prediction is an error.

    Args:
        predictions: index of the picked choice, from 0, or its text; "" if no choice is picked, which is wrong.
        references: index of the target.
        choices: each question's choices; needed where predictions are text.
        question_types: for `per_question_type`.
        image_ids: clusters for the standard error.
        choice_kinds: for `chosen_kinds`; names, or numbers as in the dataset's column.
        question_ids: names of the questions in errors.
        per_question: also give each question's score.

    Raises:
        InputError: names the question and the field.

    >>> result = mc_accuracy([1, "Red"], [1, 0], choices=[["cat", "dog"], ["blue", "red"]])
    >>> result["accuracy"], result["chance"]
    (0.5, 0.5)
    """
    optional = {"question_types": question_types, "image_ids": image_ids, "choice_kinds": choice_kinds}
    given = {"predictions": predictions, "references": references}
    columns = Columns(given, question_ids, choices=choices, **optional)
    sizes, targets, picked = picks(columns)
    scores = (picked == targets).astype(np.float64)
    chosen, offered = _kinds(columns, picked)
    return {
        **accuracy(scores, columns.groups("image_ids")),
        "chance": None if sizes is None else float((1.0 / sizes).mean()),
        "per_question_type": mean_by(scores, columns.groups("question_types")),
        "chosen_kinds": chosen,
        "offered_kinds": offered,
        "per_question": scores.tolist() if per_question else None,
    }


def picks(columns: Columns) -> tuple[NDArray[np.int64] | None, NDArray[np.int64], NDArray[np.int64]]:
    """Targets (``references``) and picked choices (``predictions``) as indices; InputError if one is not a choice.

    Returns:
        The number of choices of each question, None if unknown; the targets; and the picked choices, -1 for none; each
        int64 (questions,).
    """
    texts, kinds = (
        np.array([*map(len, columns.lists(name, what, of_text=name == "choices"))]) if name in columns else None
        for name, what in (("choices", "text"), ("choice_kinds", "kinds"))
    )
    if texts is not None and kinds is not None:
        for row in np.flatnonzero(texts != kinds)[:1].tolist():
            raise columns.wrong(row, "choice_kinds", f"one per choice, {texts[row]} in all")
    sizes = kinds if texts is None else texts
    targets = np.array([_index(columns, row, "references", sizes) for row in range(columns.count)])
    return sizes, targets, np.array([_picked(columns, row, int(target), sizes) for row, target in enumerate(targets)])


def _index(columns: Columns, row: int, field: str, sizes: NDArray[np.int64] | None) -> int:
    value = columns[field][row]
    if not is_whole(value) or value < 0 or (sizes is not None and value >= sizes[row]):
        indices = "an index from 0" if sizes is None else f"an index of its {sizes[row]} choices, from 0"
        raise columns.wrong(row, field, indices)
    return int(value)


def _picked(columns: Columns, row: int, target: int, sizes: NDArray[np.int64] | None) -> int:
    """The index of the picked choice; the target if it differs from the prediction in letter case only."""
    prediction = columns["predictions"][row]
    if not isinstance(prediction, str):
        return _index(columns, row, "predictions", sizes)
    if "choices" not in columns:
        raise InputError(f"{columns.where(row)}: predictions is text, which requires choices")
    texts, wanted = [text.lower() for text in columns["choices"][row]], prediction.lower()
    if wanted in texts:
        return target if texts[target] == wanted else texts.index(wanted)
    if wanted:
        raise columns.wrong(row, "predictions", f"one of its choices {columns['choices'][row]}")
    return -1


def _kinds(columns: Columns, picked: NDArray[np.int64]) -> tuple[dict[str, float] | None, dict[str, float] | None]:
    if "choice_kinds" not in columns:
        return None, None
    known = list(CHOICE_KINDS)
    chosen, offered = Counter[str](), dict[str, list[float]]()
    for row, kinds in enumerate(columns["choice_kinds"]):
        names = [known[kind] if type(kind) is int and 0 <= kind < len(known) else kind for kind in kinds]
        if not all(isinstance(name, str) for name in names):
            raise columns.wrong(row, "choice_kinds", f"names or indices of {', '.join(known)}")
        for name in names:
            offered.setdefault(name, []).append(1 / len(names))
        if picked[row] >= 0:
            chosen[names[picked[row]]] += 1
    order = sorted(offered, key=lambda name: (known.index(name) if name in known else len(known), name))
    shares = {name: math.fsum(offered[name]) / columns.count for name in order}
    return {name: chosen[name] / columns.count for name in order}, shares


def circular_accuracy(scores: Sequence[float], matched: Matched) -> float | None:
    """Share of the questions that are right with all rotations of their choices (MMBench's CircularEval).

    Rows are rotations if question, image and correct choice are the same and the choices are in the same cyclic order.
    None unless at least half of the rows are rotations of others.
    """
    found = matched.annotations
    questions, choices, gold = found.questions or [], found.choices or [], found.gold or []
    images = found.image_ids or [""] * len(questions)
    if not (questions and choices and gold) or 4 * len(set(zip(images, questions, gold, strict=True))) > 3 * len(gold):
        return None  # too few rows have the same question
    groups: dict[tuple[Any, ...], list[float]] = {}
    seen: set[tuple[Any, ...]] = set()
    for row, texts in enumerate(choices):
        first = texts.index(min(texts))
        key: tuple[Any, ...] = (images[row], questions[row], *texts[first:], *texts[:first], gold[row])
        if (*key, first) in seen:  # the same row again: not a rotation
            key = (*key, row)
        seen.add((*key, first))
        groups.setdefault(key, []).append(scores[row])
    if 2 * sum(len(of_one) for of_one in groups.values() if len(of_one) > 1) < len(scores):
        return None
    return sum(min(of_one) for of_one in groups.values()) / len(groups)


def _run(matched: Matched) -> Mapping[str, Any]:
    result = SCHEME.call(matched)
    circular = circular_accuracy(result["per_question"], matched)
    return result if circular is None else {**result, "circular_accuracy": circular}


def mc_accuracy_table(result: Mapping[str, Any], questions: int, matched: Matched | None = None) -> ScoreTable:
    """The result of `mc_accuracy`, or of training.json, as a table."""
    interval, target = result.get("interval"), result.get("target_accuracy")
    name, offered = result.get("metric", "accuracy"), result["offered_kinds"] or {}
    lines = [line(name, result["accuracy"], interval, other=result["chance"], questions=questions)]
    if target:
        lines.append(line("picking the target", target["accuracy"], target.get("interval"), other=target["chance"]))
    if "circular_accuracy" in result:
        lines.append(line("circular (right in all rotations)", result["circular_accuracy"]))
    lines += by_type("by answer type", result.get("per_answer_type"), None)
    for kind, share in (result["chosen_kinds"] or {}).items():
        lines.append(line(kind, share, other=offered[kind], group="chosen, by kind of choice"))
    types = matched.annotations.question_types if matched is not None else None
    lines += by_type("by question type", result["per_question_type"], types)
    return ScoreTable(lines, "chance", title=f"{SCHEME.name}: {SCHEME.title}")


SCHEME = Scheme(
    "mc_accuracy",
    mc_accuracy,
    "accuracy of choosing the target",
    columns=("choices", "question_types", "image_ids", "choice_kinds", "question_ids"),
    features=(("int64", "int64"), ("string", "int64")),
    kinds=(MULTIPLE_CHOICE,),
    references="labels",
    # configs of vqa-mc build with several answers, which have kinds, are scored as by VQA's program
    is_default=lambda annotations: annotations.answers is None or annotations.choice_kinds is None,
    takes_indices=True,
    one_prediction=True,
    run=_run,
    show=lambda result, matched: mc_accuracy_table(result, len(matched.annotations), matched),
)
