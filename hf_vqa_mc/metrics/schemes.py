"""Which scheme what was asked calls for, and its run on the joined predictions."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.metrics.asked import DESCRIPTIONS, Asked, Kind
from hf_vqa_mc.metrics.beside_files import (
    ATTENTIONS,
    CHOICES,
    SCENE_GRAPHS,
    Beside,
    option_of,
    read_by_id,
    read_pairs,
)
from hf_vqa_mc.metrics.join import DEFAULT_PROTOCOL, Joined
from hf_vqa_mc.scoring import (
    asked_absurdly,
    gqa_score,
    mc_accuracy,
    tdiuc_mpt,
    vqa_accuracy,
    vqa_pair_accuracy,
    wups,
)
from hf_vqa_mc.scoring.consensus import FORMS

FITTING: dict[Kind, tuple[str, ...]] = {
    "multiple_choice": ("mc_accuracy", "vqa_accuracy", "vqa_pair_accuracy", "wups"),
    "vqa": ("vqa_accuracy", "vqa_pair_accuracy", "wups"),
    "tdiuc": ("tdiuc_mpt", "wups"),
    "gqa": ("gqa_score", "wups"),
}
"""The schemes for each kind of questions, its own first."""
ELSEWHERE = (
    "counterexample_recall takes scores of candidates, not answers, and is for Python only (hf_vqa_mc.scoring, "
    "hf_vqa_mc.metrics)"
)

_QUESTIONS_AT_A_GO = 20_000

_TAKES = {
    "vqa_accuracy": {"questions"},
    "vqa_pair_accuracy": {"pairs", "questions"},
    "tdiuc_mpt": {"answer_vocabulary", "questions"},
    "gqa_score": {"choices", "attentions", "scene_graphs"},
}


class LetterCase(UserWarning):
    """Predictions are counted as wrong for nothing but their letter case."""


def choose(asked: Asked, metrics: Sequence[str], beside: Beside, protocol: str) -> list[str]:
    """The schemes to run: those named, else what the questions call for.

    Raises:
        InputError: a scheme does not fit the questions, or something was given that no chosen scheme takes.
    """
    chosen = list(dict.fromkeys(metrics)) or _called_for(asked, beside)
    for name in chosen:
        _check_fits(name, asked)
    if "vqa_pair_accuracy" in chosen and beside.pairs is None:
        raise InputError("vqa_pair_accuracy needs --pairs FILE, the list of balanced pairs")
    taken = set().union(*(_TAKES.get(name, set()) for name in chosen))
    if asked.kind == "multiple_choice":
        taken.discard("questions")  # the rows have them
    for name in beside.given():
        if name not in taken:
            raise InputError(
                f"{option_of(name)} has no use for {', '.join(chosen)} on {DESCRIPTIONS[asked.kind]}; leave it out"
            )
    for name, other in (("attentions", "scene_graphs"), ("scene_graphs", "attentions")):
        if name in beside.given() and other not in beside.given():
            raise InputError(f"{option_of(name)} {beside.given()[name]}: grounding needs {option_of(other)} FILE, too")
    if protocol not in FORMS:
        raise InputError(f"--protocol {protocol}: expected {' or '.join(FORMS)}")
    if protocol != DEFAULT_PROTOCOL and not {"vqa_accuracy", "vqa_pair_accuracy"} & set(chosen):
        raise InputError(f"--protocol is for vqa_accuracy; {', '.join(chosen)} has one only")
    return chosen


def _called_for(asked: Asked, beside: Beside) -> list[str]:
    if asked.kind == "vqa" or (asked.kind == "multiple_choice" and asked.by_consensus):
        return ["vqa_accuracy", "vqa_pair_accuracy"] if beside.pairs else ["vqa_accuracy"]
    return [FITTING[asked.kind][0]]


def _check_fits(name: str, asked: Asked) -> None:
    known = {scheme for schemes in FITTING.values() for scheme in schemes}
    if name not in known:
        raise InputError(f"{unknown_name('metric', name, known)}; {ELSEWHERE}")
    what = DESCRIPTIONS[asked.kind]
    if name not in FITTING[asked.kind]:
        raise InputError(f"{name} does not fit {what}; expected {', '.join(FITTING[asked.kind])}")
    if name == "wups" and asked.gold is None and asked.records is None:
        raise InputError(f"wups needs one right answer a question; {asked.place} has no multiple_choice_answer")
    if name.startswith("vqa_") and not asked.by_consensus:
        raise InputError(f"{name} needs the answers of several annotators; the {what} of {asked.place} have one each")


def run(name: str, joined: Joined) -> dict[str, Any]:
    """What a scheme makes of the joined predictions.

    Raises:
        InputError: names the question and the field.
    """
    return dict(_RUNS[name](joined))


def _mc_accuracy(joined: Joined) -> Mapping[str, Any]:
    asked = joined.asked
    return mc_accuracy(
        joined.answers,
        asked.labels or [],
        choices=asked.choices,
        question_types=asked.question_types,
        image_ids=asked.image_ids,
        choice_kinds=asked.choice_kinds,
        question_ids=asked.ids,
        per_question=joined.per_question,
    )


def _vqa_accuracy(joined: Joined) -> Mapping[str, Any]:
    asked = joined.asked
    texts = joined.texts()
    scores = vqa_accuracy(
        texts,
        asked.answers or [],
        question_types=asked.question_types,
        answer_types=asked.answer_types,
        image_ids=asked.image_ids,
        choices=joined.choices,
        protocol=joined.protocol,
        question_ids=asked.ids,
        per_question=True,
    )
    _warn_of_case(joined, texts, scores["per_question"] or [])
    return {**scores, "chance": _consensus_chance(joined)}


def _warn_of_case(joined: Joined, texts: Sequence[str | None], scores: Sequence[float]) -> None:
    """Says how many predictions would score higher in lower case, where it is the model that chose the case."""
    lowered = [(row, text.lower()) for row, text in enumerate(texts) if text is not None and text != text.lower()]
    if joined.choices is not None or not lowered:
        return
    answers = [(joined.asked.answers or [])[row] for row, _ in lowered]
    better = vqa_accuracy([text for _, text in lowered], answers, protocol=joined.protocol)["per_question"] or []
    count = sum(score > scores[row] for (row, _), score in zip(lowered, better, strict=True))
    if count:
        text = (
            f"{count:,} predictions differ from the annotators' answer in letter case only, which this protocol "
            "counts as wrong where all annotators agree; see the card of vqa_accuracy"
        )
        warnings.warn(LetterCase(text), stacklevel=2)


def _warn_of_exact_case(answers: Iterable[str | None], golds: Iterable[str]) -> None:
    """Says how many answers would be right but for their letter case, in which TDIUC's and GQA's must be right."""
    pairs = [(answer, gold) for answer, gold in zip(answers, golds, strict=True) if answer is not None]
    count = sum(answer != gold and answer.lower() == gold.lower() for answer, gold in pairs)
    if count:
        text = f"{count:,} predictions differ from the right answer in letter case only, which counts as wrong here"
        warnings.warn(LetterCase(text), stacklevel=3)


def _consensus_chance(joined: Joined) -> float | None:
    """The consensus accuracy of one who picks at random: the mean over a question's choices, then over questions."""
    answers = joined.asked.answers
    if joined.choices is None or answers is None:
        return None
    total = 0.0
    for start in range(0, len(answers), _QUESTIONS_AT_A_GO):
        listed = joined.choices[start : start + _QUESTIONS_AT_A_GO]
        sizes = np.array([len(texts) for texts in listed])
        scores = vqa_accuracy(
            [text for texts in listed for text in texts],
            [answers[start + row] for row, size in enumerate(sizes) for _ in range(size)],
            protocol=joined.protocol,
        )["per_question"]
        total += float(np.sum(np.asarray(scores) / np.repeat(sizes, sizes)))
    return total / len(answers)


def _vqa_pair_accuracy(joined: Joined) -> Mapping[str, Any]:
    asked = joined.asked
    pairs = read_pairs(joined.beside.pairs) if joined.beside.pairs else []
    scores = vqa_pair_accuracy(
        joined.texts(),
        asked.answers or [],
        question_ids=asked.ids,
        pairs=pairs,
        questions=joined.questions,
        answer_types=asked.answer_types,
        protocol=joined.protocol,
    )
    return {**scores, "pairs": len(pairs)}


def _tdiuc_mpt(joined: Joined) -> Mapping[str, Any]:
    asked, types = joined.asked, joined.asked.question_types or []
    _warn_of_exact_case(joined.texts(), asked.gold or [])
    return tdiuc_mpt(
        joined.texts(),
        asked.gold or [],
        types,
        answer_vocabulary=joined.vocabulary,
        absurd_questions=None if joined.questions is None else asked_absurdly(joined.questions, types),
        image_ids=asked.image_ids,
        question_ids=asked.ids,
        per_question=joined.per_question,
    )


def _gqa_score(joined: Joined) -> Mapping[str, Any]:
    asked, beside = joined.asked, joined.beside
    records = asked.records or {}
    balanced = {name for name, record in records.items() if record["isBalanced"]}
    images = {str(records[name].get("imageId")) for name in balanced}
    texts = dict(zip(asked.names, joined.texts(), strict=True))
    _warn_of_exact_case((texts[name] for name in balanced), (records[name]["answer"] for name in balanced))
    return gqa_score(
        {name: text for name, text in texts.items() if text is not None},
        records,
        choices=None if beside.choices is None else read_by_id(beside.choices, balanced, CHOICES),
        attentions=None if beside.attentions is None else read_by_id(beside.attentions, balanced, ATTENTIONS),
        scene_graphs=None if beside.scene_graphs is None else read_by_id(beside.scene_graphs, images, SCENE_GRAPHS),
        per_question=joined.per_question,
    )


def _wups(joined: Joined) -> Mapping[str, Any]:
    asked, texts = joined.asked, joined.texts()
    if asked.records is None:
        ids, gold, images = list(map(str, asked.ids)), asked.gold or [], asked.image_ids
    else:  # GQA's scores are those of the balanced questions
        kept = [row for row, name in enumerate(asked.names) if asked.records[name]["isBalanced"]]
        records = [asked.records[asked.names[row]] for row in kept]
        ids, texts = [asked.names[row] for row in kept], [texts[row] for row in kept]
        gold = [record["answer"] for record in records]
        images = [record["imageId"] for record in records] if all("imageId" in record for record in records) else None
    return {**wups(texts, gold, image_ids=images, question_ids=ids, per_question=joined.per_question)}


_RUNS: dict[str, Callable[[Joined], Mapping[str, Any]]] = {
    "mc_accuracy": _mc_accuracy,
    "vqa_accuracy": _vqa_accuracy,
    "vqa_pair_accuracy": _vqa_pair_accuracy,
    "tdiuc_mpt": _tdiuc_mpt,
    "gqa_score": _gqa_score,
    "wups": _wups,
}
