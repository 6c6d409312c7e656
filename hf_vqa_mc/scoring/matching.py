"""Predictions matched with annotations, and the schemes that fit them."""

import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from string import ascii_uppercase as LETTERS
from typing import Any

from hf_vqa_mc.errors import InputError, listed, shown, unknown_name
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.inputs import ANSWER_VOCABULARY, QUESTIONS, Input
from hf_vqa_mc.scoring.official import bare_name
from hf_vqa_mc.scoring.predictions import Predictions
from hf_vqa_mc.scoring.scheme import DEFAULT_PROTOCOL, MULTIPLE_CHOICE, Annotations, Answer, Matched, Scheme
from hf_vqa_mc.scoring.written_answers import written_choice
from hf_vqa_mc.text.counted import counted

_FLOAT_ID = re.compile(r"[0-9]+\.0")


class PredictionsIgnored(UserWarning):
    """Some predictions are ignored: the question has a later prediction, or is not annotated."""


def declared_inputs(inputs: Mapping[str, Path]) -> dict[str, Input]:
    """The declarations of input files by name; raises InputError if no scheme has one, or there is no such file."""
    declared = {one.name: one for scheme in SCHEMES.values() for one in scheme.inputs}
    for name, path in inputs.items():
        if name not in declared:
            raise InputError(f"no metric has an input {name!r}; expected {', '.join(declared)}")
        if not path.is_file():
            raise InputError(f"{declared[name].flag}={path}: no such file")
    return {name: declared[name] for name in inputs}


def match(
    annotations: Annotations,
    predictions: Predictions,
    schemes: Sequence[Scheme],
    *,
    inputs: Mapping[str, Any] | None = None,
    protocol: str = DEFAULT_PROTOCOL,
    free_text: bool = False,
) -> Matched:
    """Match predictions with annotations by question id, and check them for the schemes that will score them.

    With ``free_text`` they become the choices that they name, "" where they name none. Questions and choices of a
    questions file replace those of the annotations.

    Raises InputError if a question has no prediction, or a prediction no question or an invalid answer.
    """
    predictions = _by_id(annotations, predictions)
    answers = _in_order(annotations, predictions, any(scheme.one_prediction for scheme in schemes))
    scores = [predictions.scores.get(one) for one in annotations.names] if predictions.scores else None
    content = {**annotations.inputs, **(inputs or {})}
    if QUESTIONS.name in content:
        questions, choices = content[QUESTIONS.name]
        annotations = replace(annotations, questions=questions, choices=choices)
    given = answers
    if free_text:
        answers = _named_choices(annotations, answers)
    elif annotations.kind is MULTIPLE_CHOICE:
        answers = _picked(annotations, answers, predictions.location)
    for row in [] if annotations.ordered else [row for row, one in enumerate(answers) if isinstance(one, int)][:1]:
        raise InputError(
            f"{predictions.location}: question {annotations.names[row]!r}: {given[row]!r} is an index or a letter, "
            f"but the choices of {annotations.location} have no order; give the texts of choices"
        )
    for row, (one, texts) in enumerate(zip(answers, annotations.choices or (), strict=False)):
        if isinstance(one, int) and len(set(texts)) < len(texts) and 0 <= one < len(texts):
            answers[row] = texts[one]  # equal choices are one answer
        elif annotations.kind is MULTIPLE_CHOICE and one in texts and len({*map(str.lower, texts)}) < len({*texts}):
            answers[row] = texts.index(str(one))  # choices that differ in case alone
    matched = Matched(annotations, answers, content, protocol, bare_name(predictions.location), scores)
    if not free_text:
        _check_choices(matched, schemes, predictions)
    return matched


def _named_choices(annotations: Annotations, answers: Sequence[Answer | None]) -> list[Answer | None]:
    """The text of the choice that each prediction names; indices as they are."""
    if annotations.choices is None:
        raise InputError(f"--free-text: {annotations.kind.description} have no choices; remove it")
    found: list[Answer | None] = []
    for answer, texts in zip(answers, annotations.choices, strict=True):
        if isinstance(answer, str):
            orders = [[*texts[at:], *texts[:at]] for at in range(1 if annotations.ordered else len(texts))]
            named = {order[one] for order in orders if (one := written_choice(answer, order)) is not None}
            answer = named.pop() if len(named) == 1 else 0 if named else ""  # 0 for a letter
        found.append(answer)
    return found


def _picked(annotations: Annotations, answers: list[Answer | None], location: str) -> list[Answer | None]:
    """The answers, with letters, and numbers as the labels' own, as indices if all that are no choices are such.

    Raises InputError if some letters or numbers are choices and others are indices.
    """
    first, found, names = annotations.label_from, list(answers), annotations.names
    as_choice: int | None = None  # the last row in which a letter or number is a choice
    as_index: int | None = None
    for row, (answer, choices) in enumerate(zip(answers, annotations.choices or [], strict=True)):
        if not isinstance(answer, str) or not answer:
            continue
        text = answer.strip().removesuffix(".0")
        is_number = text.isascii() and text.isdigit() and len(text) < 4
        index = LETTERS.find(text.upper()) if len(text) == 1 and text.isalpha() else -1
        if _is_among(answer, choices, any_case=True):
            as_choice = row if is_number or index >= 0 else as_choice
            continue
        if first is not None and is_number:
            index = int(text) - first
        if not 0 <= index < len(choices):
            return answers
        found[row], as_index = index, row
    if as_choice is not None and as_index is not None:
        raise InputError(
            f"{location}: question {names[as_index]!r}: {answers[as_index]!r} can only be the index of a choice, but "
            f"question {names[as_choice]!r} has {answers[as_choice]!r} as a choice; give texts, or indices from 0 as "
            "numbers (CSV: column 'label'); --free-text reads letters as letters only"
        )
    return found


def _by_id(annotations: Annotations, predictions: Predictions) -> Predictions:
    """The predictions by question id: also answers in the order of all rows, and ids that pandas wrote as 0.0."""
    answers, names = predictions.answers, annotations.scored
    if predictions.in_order:
        if len(answers) != len(names) or annotations.unread:
            rows = f"{len(names):,} rows of {annotations.location}"
            left_out = f"; {len(annotations.unread):,} open or faulty rows are left out" if annotations.unread else ""
            raise InputError(f"{len(answers):,} predictions without ids for {rows}{left_out}; give ids, too")
        renamed = dict(zip(answers, names, strict=True))
    elif all(map(_FLOAT_ID.fullmatch, answers)) == all(map(_FLOAT_ID.fullmatch, annotations.names)):
        return predictions
    else:
        of_number = {name.removesuffix(".0"): name for name in annotations.names}
        renamed = {name: of_number.get(name.removesuffix(".0"), name) for name in answers}
    columns: tuple[dict[str, Any], ...] = answers, predictions.scores
    answers, scores = ({renamed[name]: value for name, value in of.items()} for of in columns)
    return replace(predictions, answers=answers, scores=scores, in_order=False)


def with_predictions(annotations: Annotations, predictions: Predictions) -> Annotations:
    """The questions that have a prediction; raises InputError if there are none, or they must be complete."""
    if annotations.records is not None or annotations.inputs:
        raise InputError(f"--partial: {annotations.kind.description} are scored as a whole; remove it")
    answers = _by_id(annotations, predictions).answers
    kept = [row for row, name in enumerate(annotations.names) if name in answers]
    if not kept:
        raise InputError(f"{predictions.location}: none of its ids is a question of {annotations.location}")
    columns = ((one.name, getattr(annotations, one.name)) for one in fields(annotations))
    lists: Any = {name: [column[row] for row in kept] for name, column in columns if isinstance(column, list)}
    return replace(annotations, **lists)


def official_scheme(annotations: Annotations) -> Scheme:
    """The scheme whose official program reads predictions for these questions; raises InputError if there is none."""
    for scheme in SCHEMES.values():
        if scheme.official and annotations.kind in scheme.kinds and not scheme.misfit(annotations):
            return scheme
    raise InputError(f"--official: {annotations.kind.description} with one correct answer have no official files")


def choose_schemes(
    annotations: Annotations, metrics: Sequence[str], inputs: Mapping[str, Path], protocol: str
) -> list[Scheme]:
    """The named schemes, or else those of the dataset.

    Raises InputError if a scheme does not fit the dataset, or no chosen scheme uses an input or option.
    """
    kind, fitting = annotations.kind, [one for one in SCHEMES.values() if annotations.kind in one.kinds]
    missing = {
        scheme.name: [one for one in scheme.inputs if one.required and one.name not in {*inputs, *annotations.inputs}]
        for scheme in SCHEMES.values()
    }
    for name in set(metrics) - SCHEMES.keys():
        raise unknown_name("metric", name, [one.name for one in SCHEMES.values() if one.kinds])
    chosen = [SCHEMES[name] for name in dict.fromkeys(metrics)] or [
        one for one in fitting if not one.misfit(annotations) and one.is_default(annotations) and not missing[one.name]
    ]
    for scheme in chosen:
        if not scheme.kinds:
            why = scheme.python_only or "has no kinds"
            raise InputError(f"{scheme.name} {why}, and is for Python only (vm.load_metric)")
        if scheme not in fitting:
            expected = ", ".join(one.name for one in fitting)
            raise InputError(f"{scheme.name} does not fit {kind.description}; expected {expected}")
        if misfit := scheme.misfit(annotations):
            raise InputError(misfit)
        for one in missing[scheme.name]:
            raise InputError(f"{scheme.name} needs {one.flag}=FILE{one.what and f', {one.what}'}")
    names = ", ".join(one.name for one in chosen)
    taken = {one.name for scheme in chosen for one in scheme.inputs if not one.kinds or kind.name in one.kinds}
    for name, one in declared_inputs(inputs).items():
        if name not in taken:
            raise InputError(f"{one.flag} is not used by {names} on {kind.description}; remove it")
    if protocol != DEFAULT_PROTOCOL and not any(one.has_protocols for one in chosen):
        raise InputError(f"--protocol applies to vqa_accuracy only, not to {names}")
    return chosen


def _check_choices(matched: Matched, schemes: Sequence[Scheme], predictions: Predictions) -> None:
    """Raise InputError unless predictions are choices or in the vocabulary, where a scheme demands it."""
    names, choices = matched.annotations.names, matched.annotations.choices
    vocabulary = matched.inputs.get(ANSWER_VOCABULARY.name)
    picking = [scheme for scheme in schemes if "choices" in scheme.columns]
    is_choice = picking or matched.annotations.kind is MULTIPLE_CHOICE
    allowed: Sequence[Collection[str]] = choices or [] if is_choice else []
    if vocabulary is not None:
        allowed = [frozenset(vocabulary)] * len(names)
    any_case = vocabulary is None and all(scheme.takes_indices for scheme in picking)
    pairs = enumerate(zip(matched.answers, allowed, strict=False))
    invalid = [row for row, (answer, among) in pairs if answer is not None and not _is_among(answer, among, any_case)]
    if not invalid:
        return
    answer, among = matched.answers[invalid[0]], allowed[invalid[0]]
    what = f"its choices {among}" if vocabulary is None else f"the {len(among):,} answers of the vocabulary"
    remedy = "predictions for another config, split or version? For text that a model wrote add --free-text"
    if isinstance(answer, int):
        what, remedy = f"the indices of its {len(among)} choices", "indices start at 0"
    elif vocabulary is not None:
        remedy = "give the vocabulary of the model"
    elif answer is not None and answer.isdigit():
        remedy += "; indices must be numbers, not text (CSV: in a column 'label')"
    elif answer is not None and _is_among(answer, among, any_case=True):
        remedy = "VQA's program is case-sensitive"
        remedy += "; --metric mc_accuracy is not" if matched.annotations.kind is MULTIPLE_CHOICE else ""
    raise InputError(
        f"{predictions.location}: question {names[invalid[0]]!r}: {shown(answer)} is not one of {what} "
        f"({len(invalid):,} of {len(names):,} predictions are invalid); {remedy}"
    )


def _is_among(answer: Answer, texts: Collection[str], any_case: bool) -> bool:
    if isinstance(answer, int):
        return 0 <= answer < len(texts)
    return answer in texts or (any_case and answer.lower() in [text.lower() for text in texts])


def _in_order(annotations: Annotations, predictions: Predictions, one_each: bool) -> list[Answer | None]:
    """The answers in the order of the annotations; None only for GQA's unbalanced questions."""
    location, answers, names, needed = predictions.location, predictions.answers, annotations.names, annotations.scored
    others = sorted(answers.keys() - set(names))
    if missing := [name for name in needed if name not in answers]:
        raise InputError(
            f"{location}: {len(missing):,} of {len(needed):,} questions of {annotations.location} have no prediction: "
            f"{_few(missing)}; {_reason(missing[0], others)}"
        )
    unknown = [name for name in others if name not in annotations.unread]
    if unknown and not annotations.kind.ignores_others:
        raise InputError(
            f"{location}: {len(unknown):,} of {len(answers):,} predictions are for questions that are not in "
            f"{annotations.location}: {_few(unknown)}; predict the same split, or remove them"
        )
    repeated = predictions.repeated
    more = f"{location}: more than one prediction for {counted(len(repeated), 'question')}: {_few(repeated)}; "
    if repeated and one_each:
        raise InputError(f"{more}expected one each")
    if repeated:
        warnings.warn(PredictionsIgnored(f"{more}the last counts"), stacklevel=4)
    if others:
        rows = counted(len(others), "open or faulty row" if annotations.unread else "other question")
        text = f"{location}: predictions for {rows}: {_few(others)}; they are ignored"
        warnings.warn(PredictionsIgnored(text), stacklevel=4)
    return [answers.get(name) for name in names]


def _reason(missing: str, others: Sequence[str]) -> str:
    """The probable reason why a question has no prediction, by the other ids that have one."""
    by_number = {name.removesuffix(".0").lstrip("0"): name for name in others}  # ids converted to int or float
    if same := by_number.get(missing.removesuffix(".0").lstrip("0")):
        return f"found one for {same!r}: ids were converted to numbers, keep them as text"
    if missing.partition(" (row ")[0] in others:
        return "that id is in several rows: make the ids unique, or name other ones (--columns question_id=COLUMN)"
    return f"found one for {others[0]!r}, which is not in the dataset" if others else "--partial scores the others"


def _few(names: Sequence[str]) -> str:
    return listed(list(map(repr, names)), 3)
