"""GQA's suite of scores: accuracies, consistency, validity, plausibility, distribution and grounding."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

import numpy as np

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.scoring.gqa_grounding import grounding_scores
from hf_vqa_mc.scoring.inputs import ATTENTIONS, CHOICES, SCENE_GRAPHS
from hf_vqa_mc.scoring.official import prediction_file
from hf_vqa_mc.scoring.questions import RECORD, ById, Columns, by_question_id, text_id
from hf_vqa_mc.scoring.scheme import GQA, Matched, Scheme, warn_of_letter_case
from hf_vqa_mc.scoring.statistics import Accuracy, accuracy, mean_by
from hf_vqa_mc.scoring.table import IN_JSON, Line, ScoreTable, by_type, line

TYPES = ("structural", "semantic", "detailed")
UNCOUNTED_STEPS = ("exist", "query: name", "choose name")
"""Operations that only request the answer; matched anywhere in "operation: argument", as in the official program."""
COMMON_ANSWERS = ("color", "material", "shape")
"""valid and plausible answers to questions whose detailed type contains "Common"; the choices file is ignored"""


class GqaScore(Accuracy):
    """Fractions in [0, 1] except distribution and grounding; None if an input is missing or no question applies."""

    binary: float | None
    open: float | None  # accuracy of the questions of structural type query; ``binary`` is that of all others
    per_structural_type: dict[str, float]
    per_semantic_type: dict[str, float]
    per_detailed_type: dict[str, float]
    per_steps: dict[int, float]  # accuracy by the number of reasoning steps
    per_length: dict[int, float]  # accuracy by the number of words of the question
    consistency: float | None
    entailed_missing: int
    """number of entailed questions without record or prediction; if there are any, consistency is None"""
    validity: float
    plausibility: float  # validity and plausibility are 0.0 without choices, as in the official program
    distribution: float
    """chi-square distance between gold and predicted answers, divided by 100: lower is better, 0 or more"""
    grounding: float | None  # percent of the attention on the relevant regions; can exceed 100
    per_question: dict[str, float] | None  # accuracy of each balanced question, by its id


def gqa_score(
    predictions: ById,
    references: ById,
    *,
    choices: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    attentions: ById | None = None,
    scene_graphs: Mapping[str, Mapping[str, Any]] | None = None,
    consistency: bool | None = None,
    ignore_case: bool = False,
    per_question: bool = False,
) -> GqaScore:
    """The scores of Hudson and Manning 2019 (arXiv 1902.09506) as their evaluation program computes them.

    All scores are over the balanced questions of the references; an answer is correct if the text is equal. Ids are
    compared as text. The last of several predictions for a question counts; those for other questions are ignored.

    Args:
        predictions: records with `question_id` (or `questionId`) and `prediction`, or a mapping id -> text.
        references: GQA's question records: a mapping id -> record as in its files, or a list of records with ids.
        choices: id -> record of the lists `valid` and `plausible`, as in GQA's choices files.
        attentions: records with id and `attention`, or id -> attention: all square maps, ``map[i][j]`` with i along
            x, or all lists of boxes, [left, top, right, bottom, attention] with edges from 0 to 1.
        scene_graphs: image id -> scene graph, as in GQA's files; attentions and scene graphs need each other.
        consistency: True requires that every entailed question has record and prediction; False skips
            consistency; None computes it if all have both, and otherwise counts those that lack one.
        ignore_case: compare answers in lower case, which is not the official score.
        per_question: also give each balanced question's score.

    Raises:
        InputError: names the question and the field.

    >>> question = {"isBalanced": True, "imageId": "1", "question": "Is it red?", "answer": "yes", "entailed": []}
    >>> question["types"] = {"structural": "verify", "semantic": "attr", "detailed": "verifyAttr"}
    >>> question |= {"groups": {"global": "color"}, "semantic": [{"operation": "select", "argument": "apple (7)"}]}
    >>> result = gqa_score([{"questionId": "201", "prediction": "yes"}], {"201": question})
    >>> result["accuracy"], result["per_steps"], result["per_length"], result["consistency"]
    (1.0, {1: 1.0}, {3: 1.0}, None)
    """
    records = by_question_id("references", references, once=True)
    answers = by_question_id("predictions", predictions, "prediction")
    if ignore_case:
        answers = {name: text.lower() if isinstance(text, str) else text for name, text in answers.items()}
        for name, record in records.items():
            if isinstance(record, RECORD) and isinstance(record.get("answer"), str):
                records[name] = {**record, "answer": record["answer"].lower()}
    columns = _balanced(records, answers)
    golds, predicted = columns.texts("answer"), columns.texts("predictions")
    scores = np.array([answer == gold for answer, gold in zip(predicted, golds, strict=True)], np.float64)
    per_type = {f"per_{name}_type": mean_by(scores, columns.texts(name)) or {} for name in TYPES}
    halves = mean_by(scores, ["open" if name == "query" else "binary" for name in columns["structural"]]) or {}
    consistent, missing = None, 0
    if consistency is not False:
        consistent, missing = _consistency(columns, scores.tolist(), records, answers, bool(consistency))
    validity, plausibility = _plausible(columns, choices, ignore_case)
    grounding = None
    if attentions is not None and scene_graphs is not None:
        balanced = {name: records[name] for name in columns["question_ids"]}
        grounding = float(grounding_scores(balanced, attentions, scene_graphs).mean()) * 100
    elif attentions is not None or scene_graphs is not None:
        given, lacking = ("attentions", "scene_graphs") if scene_graphs is None else ("scene_graphs", "attentions")
        raise InputError(f"{given} without {lacking}: grounding needs both")
    result = {
        **accuracy(scores, columns.groups("imageId")),
        "binary": halves.get("binary"),
        "open": halves.get("open"),
        **per_type,
        "per_steps": mean_by(scores, columns["steps"]) or {},
        "per_length": mean_by(scores, columns["length"]) or {},
        "consistency": consistent,
        "entailed_missing": missing,
        "validity": validity,
        "plausibility": plausibility,
        "distribution": _chi_square(columns) / 100,
        "grounding": grounding,
        "per_question": dict(zip(columns["question_ids"], scores.tolist(), strict=True)) if per_question else None,
    }
    return cast("GqaScore", result)


def _balanced(records: Mapping[str, Any], answers: Mapping[str, Any]) -> Columns:
    """The columns of the balanced questions, in one pass: a million records do not fit into a processor's cache.

    A list or tuple kept for each would make Python's garbage collector go through all records.
    """
    names = ("question_ids", "predictions", "answer", *TYPES, "group", "steps", "length", "imageId", "entailed")
    columns: dict[str, list[Any]] = {name: [] for name in names}
    appends = [column.append for column in columns.values()]
    for name, record in records.items():
        if not isinstance(record, RECORD):
            raise InputError(f"question {name!r} is {shown(record)}, expected a record")
        balanced = record.get("isBalanced")
        if balanced is False:
            continue
        try:
            texts = record["answer"], *_types(record["types"]), record["groups"]["global"]
            numbers = _n_steps(record["semantic"]), len(record["question"].split())
        except (KeyError, TypeError, AttributeError):
            balanced = None
        if not balanced or texts[0] is None:
            _check(name, record)
        row = (name, answers.get(name), *texts, *numbers, record.get("imageId"), record.get("entailed"))
        for append, value in zip(appends, row, strict=True):
            append(value)
    if not (ids := columns.pop("question_ids")):
        raise InputError(f"none of the {len(records):,} references is balanced: nothing to score")
    if lacking := [name for name in ids if name not in answers]:
        count = f"{len(lacking):,} of {len(ids):,} balanced questions have none"
        raise InputError(f"question {lacking[0]!r} has no prediction; {count}")
    if not any(image is not None for image in columns["imageId"]):
        del columns["imageId"]
    return Columns(columns, ids)


def _check(name: str, record: Mapping[str, Any]) -> None:
    """Raise InputError for the first field of a balanced question's record that is invalid."""
    text = "text; GQA's test, challenge and submission files have no answers"
    expected: dict[str, tuple[str, Callable[[Any], object]]] = {
        "isBalanced": ("True or False", lambda value: isinstance(value, bool)),
        "answer": (text, lambda value: isinstance(value, str)),
        "question": ("text", lambda value: isinstance(value, str)),
        "types": (f"a record whose {', '.join(TYPES)} are text", _types),
        "groups": ("a record whose global is text or null", itemgetter("global")),
        "semantic": ("a list of records whose operation and argument are text", _n_steps),
    }
    for field, (what, check) in expected.items():
        value = record.get(field)
        try:
            is_valid = check(value) is not False
        except (KeyError, TypeError):
            is_valid = False
        if not is_valid:
            raise InputError(f"question {name!r}: {field} is {shown(value)}, expected {what}")


_types = itemgetter(*TYPES)
_step_texts = itemgetter("operation", "argument")


def _n_steps(operations: list[Any]) -> int:
    """The number of operations that do not only request the answer."""
    steps = list(map(": ".join, map(_step_texts, operations)))
    text = "\n".join(steps)
    if any([one in text for one in UNCOUNTED_STEPS]):
        return sum(not any(one in step for one in UNCOUNTED_STEPS) for step in steps)
    return len(steps)


def _plausible(columns: Columns, choices: ById | None, fold: bool) -> tuple[float, ...]:
    """Validity (the answer fits the question) and plausibility (it occurs in the world) as fractions."""
    if choices is None:
        return 0.0, 0.0
    known, n_valid, n_plausible = by_question_id("choices", choices), 0, 0
    for name, kind, answer in zip(columns["question_ids"], columns["detailed"], columns["predictions"], strict=True):
        try:
            valid, plausible = known[name]["valid"], known[name]["plausible"]
        except (KeyError, TypeError):
            expected = "a record of valid and plausible answers for every question"
            raise InputError(f"question {name!r} is not in choices; expected {expected}") from None
        if "Common" in kind:
            valid = plausible = COMMON_ANSWERS
        elif fold:
            valid, plausible = list(map(str.lower, valid)), list(map(str.lower, plausible))
        n_valid += answer in valid
        n_plausible += answer in plausible
    return n_valid / columns.count, n_plausible / columns.count


def _chi_square(columns: Columns) -> float:
    """Mean over the groups, weighted by their questions, of the chi-square over their *gold* answers."""
    groups = columns["group"]
    sizes = Counter(group for group in groups if group is not None)
    if not sizes:
        raise InputError("no balanced question has a global group: there are no distributions of answers to compare")
    observed = Counter(zip(groups, columns["predictions"], strict=True))
    distances: dict[str, float] = defaultdict(float)
    for (group, gold), count in Counter(zip(groups, columns["answer"], strict=True)).items():
        distances[group] += (observed[group, gold] - count) ** 2 / count
    return sum(distances[group] * size for group, size in sizes.items()) / sizes.total()


def _consistency(
    columns: Columns,
    right: Sequence[float],
    records: Mapping[str, Any],
    answers: Mapping[str, Any],
    demanded: bool,
) -> tuple[float | None, int]:
    """Mean, over the correctly answered questions that entail others, of the accuracy on those others.

    Entailed questions need not be balanced, and one that is listed twice counts twice. One that has no record, no
    prediction or no text in them is an error if ``demanded``; otherwise they are counted, and the mean is None.
    """
    known = dict(zip(columns["question_ids"], right, strict=True))
    for name in (name for name in records if name not in known and name in answers):
        gold, predicted = records[name].get("answer"), answers[name]
        if isinstance(gold, str) and isinstance(predicted, str):
            known[name] = float(gold == predicted)
    means, missing = list[float](), dict[str, str]()
    for name, listed in zip(columns["question_ids"], columns["entailed"], strict=True):
        try:
            found = [known[other] for other in listed if other != name]
        except (KeyError, TypeError):
            ids = list(map(text_id, listed)) if isinstance(listed, list | tuple) else [None]
            if None in ids:
                expected = "a list of question ids (or set consistency=False)"
                raise InputError(f"question {name!r}: entailed is {shown(listed)}, expected {expected}") from None
            found = [known[other] for other in ids if other != name and other in known]
            missing |= {str(other): name for other in ids if other != name and other not in known}
        if found and known[name]:
            means.append(sum(found) / len(found))
    if missing and demanded:
        name, by = next(iter(missing.items()))
        what = "record among the references" if name not in records else "prediction" if name not in answers else ""
        raise InputError(
            f"question {name!r}, entailed by question {by!r}, has no {what or 'text as answer and prediction'}; "
            "consistency needs both for every entailed question (or set consistency=False)"
        )
    return sum(means) / len(means) if means and not missing else None, len(missing)


def _run(matched: Matched) -> Mapping[str, Any]:
    records = matched.annotations.records or {}
    texts = dict(zip(matched.annotations.names, matched.answers, strict=True))
    warn_of_letter_case((texts[name], records[name]["answer"]) for name in matched.annotations.scored)
    answered = {name: text for name, text in texts.items() if text is not None}
    return gqa_score(answered, records, **matched.inputs, per_question=True)


def _table(result: Mapping[str, Any], matched: Matched) -> ScoreTable:
    annotations, inputs = matched.annotations, matched.inputs
    records = [(annotations.records or {})[name] for name in annotations.scored]
    types = {kind: [record["types"][kind] for record in records] for kind in ("structural", "semantic")}
    n_open = types["structural"].count("query")
    lines = [
        line("accuracy", result["accuracy"], result["interval"], questions=len(records)),
        line("binary", result["binary"], questions=len(records) - n_open),
        line("open", result["open"], questions=n_open),
    ]
    missing = {}
    if result["consistency"] is not None:
        lines.append(line("consistency", result["consistency"]))
    elif result["entailed_missing"]:
        missing["consistency"] = (
            f"records and predictions of all entailed questions, {result['entailed_missing']:,} of which are missing; "
            "the file of all questions has them"
        )
    if CHOICES.name in inputs:
        lines += [line(name, result[name]) for name in ("validity", "plausibility")]
    else:  # the official program prints 0
        missing["validity, plausibility"] = CHOICES.flag
    lines.append(Line("distribution (lower is better)", f"{result['distribution']:.2f}"))
    if result["grounding"] is None:
        missing["grounding"] = f"{ATTENTIONS.flag} and {SCENE_GRAPHS.flag}"
    else:
        lines.append(Line("grounding", f"{result['grounding']:.2f}"))
    for kind, of_questions in types.items():
        lines += by_type(f"by {kind} type", result[f"per_{kind}_type"], of_questions)
    return ScoreTable([*lines, Line(f"detailed types, steps, lengths {IN_JSON}")], missing=missing)


SCHEME = Scheme(
    "gqa_score",
    gqa_score,
    "accuracy and GQA's other scores",
    features=(
        (
            {"question_id": "string", "prediction": "string"},
            {"question_id": "string", "imageId": "string", "question": "string", "answer": "string"},
        ),
    ),
    joined_by_id=True,
    kinds=(GQA,),
    is_default=lambda annotations: True,
    inputs=(CHOICES, ATTENTIONS, SCENE_GRAPHS),
    run=_run,
    show=_table,
    official=lambda matched, result: prediction_file(matched, "questionId", "prediction"),
)
