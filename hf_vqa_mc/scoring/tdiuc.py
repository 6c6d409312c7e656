"""TDIUC's mean per type (MPT) of Kafle and Kanan 2017: every question type counts the same, however frequent."""

from collections.abc import Collection, Mapping, Sequence, Set
from typing import Any, Literal, cast, get_args

import numpy as np

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.scoring.inputs import ANSWER_VOCABULARY, QUESTIONS
from hf_vqa_mc.scoring.official import prediction_file
from hf_vqa_mc.scoring.questions import Column, Columns, as_list
from hf_vqa_mc.scoring.scheme import TDIUC, Matched, Scheme, warn_of_letter_case
from hf_vqa_mc.scoring.statistics import Accuracy, accuracy, numbered
from hf_vqa_mc.scoring.table import ScoreTable, line
from hf_vqa_mc.scoring.tdiuc_types import ABSURD, PRESENCE
from hf_vqa_mc.text.normalisation import YES_NO

UnknownGold = Literal["merge", "keep"]  # whether gold answers outside the vocabulary are merged to one per type
Gold = str | tuple[str | None]  # A gold answer; outside the vocabulary it is a tuple, which equals no prediction
EPSILON = 1e-10
"""Added by the authors' program to each type's percentage, so that the harmonic mean exists if a type has 0."""
TAIL_BELOW = 1000  # an answer seen fewer times than this is in TDIUC-Tail


class TdiucMpt(Accuracy):
    """Fractions in [0, 1], but means of types may exceed 1 by EPSILON percent; None if a column is missing."""

    arithmetic_mpt: float
    harmonic_mpt: float
    arithmetic_nmpt: float  # mean of per_type_normalized, like the next
    harmonic_nmpt: float
    per_type: dict[str, float]
    per_type_normalized: dict[str, float]
    """mean over the type's distinct right answers of the accuracy on the questions with that answer"""
    n_per_type: dict[str, int]
    presence: dict[str, float]
    """accuracy of the questions about presence whose right answer is yes, and no, of those that there are
    (Kafle and Kanan 2017, "Effects of Balancing Object Presence")"""
    accuracy_also_absurd: float | None
    per_question: list[float] | None


def tdiuc_mpt(
    predictions: Column,
    references: Column,
    question_types: Column,
    *,
    answer_vocabulary: Collection[str] | None = None,
    unknown_gold: UnknownGold = "merge",
    absurd_questions: Column | None = None,
    image_ids: Column | None = None,
    question_ids: Column | None = None,
    ignore_case: bool = False,
    per_question: bool = False,
) -> TdiucMpt:
    """Accuracy by question type, and its arithmetic and harmonic means over types, plain and normalised by answer.

    An answer is correct if the text is equal. Means are those of the authors' program: over percentages plus 1e-10.
    Types are sorted by name.

    Args:
        predictions: text.
        references: the right answer, text.
        question_types: names.
        answer_vocabulary: the answers a model can give. A right answer outside it counts as answered wrongly; a
            prediction outside it is an error, as in the authors' program.
        unknown_gold: "merge" to count all of a type's right answers outside the vocabulary as one answer, as the
            authors' program does; "keep" to count each for itself. Matters for the normalised means only.
        absurd_questions: for ``accuracy_also_absurd``: whether the same text is an absurd question for another
            image, as computed by ``also_absurd``.
        image_ids: clusters for the standard error.
        question_ids: names of the questions in errors.
        ignore_case: compare answers in lower case, which is not the official score.
        per_question: also give each question's score.

    Raises:
        InputError: names the question and the field.

    >>> result = tdiuc_mpt(["two", "two", "red"], ["two", "one", "red"], ["counting", "counting", "color"])
    >>> result["per_type"], round(result["arithmetic_mpt"], 3), round(result["harmonic_mpt"], 3)
    ({'color': 1.0, 'counting': 0.5}, 0.75, 0.667)
    """
    needed = {"predictions": predictions, "references": references, "question_types": question_types}
    columns = Columns(needed, question_ids, absurd_questions=absurd_questions, image_ids=image_ids)
    answers, correct = columns.texts("predictions"), columns.texts("references")
    if ignore_case:
        answers, correct = [text.lower() for text in answers], [text.lower() for text in correct]
    golds = _known_golds(columns, answers, correct, answer_vocabulary, unknown_gold, ignore_case)
    scores = np.array([answer == gold for answer, gold in zip(answers, golds, strict=True)], np.float64)
    names, types = numbered(columns.groups("question_types") or [])
    counts = np.bincount(types)
    per_type = np.bincount(types, scores) / counts
    indices: dict[Gold, int] = {}
    correct_of = np.array([indices.setdefault(gold, len(indices)) for gold in golds], np.int64)
    pairs, pair_of_question = np.unique(types * len(indices) + correct_of, return_inverse=True)
    per_answer = np.bincount(pair_of_question, scores) / np.bincount(pair_of_question)
    type_of_pair = pairs // len(indices)
    normalized = np.bincount(type_of_pair, per_answer) / np.bincount(type_of_pair)
    flags = columns["absurd_questions"] if "absurd_questions" in columns else [False] * columns.count
    for row, flag in enumerate(flags):
        if not isinstance(flag, bool | np.bool_) or (flag and columns["question_types"][row] == ABSURD):
            raise columns.wrong(row, "absurd_questions", "True or False; only real questions can be absurd for others")
    chosen = scores[np.array(flags, np.bool_)]
    means: dict[str, float] = {}
    for name, of_types in (("mpt", 100 * per_type + EPSILON), ("nmpt", 100 * normalized + EPSILON)):
        means[f"arithmetic_{name}"] = float(of_types.mean()) / 100
        means[f"harmonic_{name}"] = float(len(of_types) / (1 / of_types).sum()) / 100
    about_presence = np.array([name == PRESENCE for name in names])[types]
    of_presence = {answer: scores[about_presence & (correct_of == indices.get(answer))] for answer in YES_NO}
    columns_by_type = {"per_type": per_type, "per_type_normalized": normalized, "n_per_type": counts}
    result = {
        **accuracy(scores, columns.groups("image_ids")),
        **means,
        **{name: dict(zip(names, of.tolist(), strict=True)) for name, of in columns_by_type.items()},
        "presence": {answer: float(found.mean()) for answer, found in of_presence.items() if len(found)},
        "accuracy_also_absurd": float(chosen.mean()) if len(chosen) else None,
        "per_question": scores.tolist() if per_question else None,
    }
    return cast("TdiucMpt", result)


def also_absurd(questions: Column, question_types: Column) -> list[bool]:
    """Whether each real question has the text of an absurd question of another image, for ``absurd_questions``.

    Raises:
        InputError: names the question and the field.

    >>> also_absurd(["What color is the cat?"] * 2 + ["Is it day?"], ["color", "absurd", "scene_recognition"])
    [True, False, False]
    """
    columns = Columns({"questions": questions, "question_types": question_types})
    texts, types = columns.texts("questions"), columns.groups("question_types") or []
    absurd = {text for text, kind in zip(texts, types, strict=True) if kind == ABSURD}
    return [kind != ABSURD and text in absurd for text, kind in zip(texts, types, strict=True)]


def _known_golds(
    columns: Columns,
    answers: list[str],
    golds: list[str],
    answer_vocabulary: Collection[str] | None,
    unknown_gold: str,
    fold: bool,
) -> Sequence[Gold]:
    """The gold answers, with those outside the vocabulary replaced by one or by distinct placeholders."""
    if unknown_gold not in get_args(UnknownGold):
        raise unknown_name("unknown_gold", str(unknown_gold), get_args(UnknownGold))
    if answer_vocabulary is None:
        return golds
    is_set = isinstance(answer_vocabulary, Set | Mapping)
    listed = list(answer_vocabulary) if is_set else as_list("answer_vocabulary", answer_vocabulary)
    if not all(isinstance(answer, str) for answer in listed):
        raise InputError("answer_vocabulary has values that are not text")
    known = frozenset(map(str.lower, listed) if fold else listed)
    for row in (row for row, answer in enumerate(answers) if answer not in known):
        raise columns.wrong(row, "predictions", f"one of the {len(known):,} answers of answer_vocabulary")
    return [gold if gold in known else (gold if unknown_gold == "keep" else None,) for gold in golds]


def _run(matched: Matched) -> Mapping[str, Any]:
    found = matched.annotations
    warn_of_letter_case(zip(matched.texts, found.gold or [], strict=True))
    absurd = None if found.questions is None else also_absurd(found.questions, found.question_types or [])
    return SCHEME.call(matched, absurd_questions=absurd)


def _table(result: Mapping[str, Any], matched: Matched) -> ScoreTable:
    lines = [line("accuracy", result["accuracy"], result["interval"], questions=len(matched.annotations))]
    for mean in ("arithmetic", "harmonic"):
        lines.append(line(f"{mean} mean per type", result[f"{mean}_mpt"], other=result[f"{mean}_nmpt"]))
    if result["accuracy_also_absurd"] is not None:
        lines.append(line("questions absurd for other images", result["accuracy_also_absurd"]))
    normalized, counts, group = result["per_type_normalized"], result["n_per_type"], "by question type"
    for name, share in result["per_type"].items():
        lines.append(line(name, share, other=normalized[name], questions=counts[name], group=group))
    for answer, share in result["presence"].items():
        lines.append(line(f"{PRESENCE}, {answer}", share, group="presence by the right answer"))
    has_texts = matched.annotations.questions is not None
    missing = {} if has_texts else {"accuracy of questions absurd for other images": QUESTIONS.flag}
    return ScoreTable(lines, "normalised", missing)


SCHEME = Scheme(
    "tdiuc_mpt",
    tdiuc_mpt,
    "accuracy and means over question types",
    columns=("question_types", "absurd_questions", "image_ids", "question_ids"),
    kinds=(TDIUC,),
    is_default=lambda annotations: True,
    inputs=(ANSWER_VOCABULARY, QUESTIONS),
    run=_run,
    show=_table,
    official=lambda matched, result: prediction_file(matched, "question_id", "answer"),
)
