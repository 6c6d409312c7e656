"""Scores as people and programs read them: tables of percentages, and json."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hf_vqa_mc.metrics.asked import Kind
from hf_vqa_mc.metrics.join import DEFAULT_PROTOCOL, required
from hf_vqa_mc.metrics.score import Scored
from hf_vqa_mc.version import __version__

MOST = 15
"""So many types of one kind are shown, the most frequent ones."""
IN_JSON = "in --json/--output"
GOLD: dict[Kind, str] = {
    "multiple_choice": "the target",
    "vqa": "the annotators' most frequent answer (multiple_choice_answer)",
    "tdiuc": "TDIUC's answer",
    "gqa": "GQA's answer",
}
"""The one right answer of each kind of questions."""


class Line(NamedTuple):
    """A score; texts, "" where there is nothing to tell."""

    name: str
    score: str = ""
    stderr: str = ""
    other: str = ""
    """what the table's `other` column says"""
    questions: str = ""


class Group(NamedTuple):
    """Scores that belong together."""

    label: str
    """"" for those of all questions"""
    lines: list[Line]


class Table(NamedTuple):
    """What a scheme gave."""

    title: str
    """what is scored"""
    other: str
    """heading of a column of its own; "" for none"""
    groups: list[Group]
    """the scores of all questions, then those of each kind of types"""
    missing: Mapping[str, str] = {}
    """what was not computed, and what it would take"""


def as_json(scored: Scored) -> dict[str, Any]:
    """Everything, unrounded; scores of questions by their id, where they were asked for."""
    asked = scored.asked
    return {
        "version": __version__,
        "predictions": str(scored.predictions),
        "dataset": asked.about.get("dataset", asked.place),
        "config": asked.about.get("config"),
        "split": asked.about.get("split"),
        "kind": asked.kind,
        "questions": len(required(asked)),
        "protocol": scored.joined.protocol if any(name.startswith("vqa_") for name in scored.results) else None,
        "results": {name: _with_ids(result, scored) for name, result in scored.results.items()},
    }


def tables(scored: Scored) -> list[Table]:
    """A table for each scheme."""
    return [_TABLES[name](result, scored) for name, result in scored.results.items()]


def _with_ids(result: Mapping[str, Any], scored: Scored) -> dict[str, Any]:
    kept = {key: value for key, value in result.items() if key != "per_question"}
    scores = result.get("per_question")
    if not scored.joined.per_question or scores is None:
        return kept
    names = required(scored.asked)
    if isinstance(scores, list):
        scores = dict(zip(names, scores, strict=True))
    elif any(isinstance(column, list) for column in scores.values()):
        scores = {key: dict(zip(names, column, strict=True)) for key, column in scores.items()}
    return {**kept, "per_question": scores}


def mc_accuracy_table(result: Mapping[str, Any], questions: int, types: Iterable[str] | None = None) -> Table:
    """How often the target is picked, and what is picked instead.

    Args:
        result: of ``scoring.mc_accuracy``, or of training.json.
        questions: number.
        types: of the questions, which are counted where they are told.
    """
    stderr, chance = error(result["stderr"]), percent(result["chance"])
    overall = [Line("accuracy", percent(result["accuracy"]), stderr, chance, _n(questions))]
    offered = result["offered_kinds"] or {}
    picked = [
        Line(kind, percent(share), "", percent(offered[kind]))
        for kind, share in (result["chosen_kinds"] or {}).items()
    ]
    by_type = _typed(result["per_question_type"], types)
    groups = [Group("", overall), Group("picked, by kind of choice", picked), Group("by question type", by_type)]
    return Table("mc_accuracy: how often the target is picked", "chance", groups)


def _mc_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    return mc_accuracy_table(result, len(scored.asked), scored.asked.question_types)


def _vqa_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    chance = result.get("chance")
    overall = [Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), percent(chance), _n(len(asked)))]
    groups = [
        Group("", overall),
        Group("by answer type", _typed(result["per_answer_type"], asked.answer_types)),
        Group("by question type", _typed(result["per_question_type"], asked.question_types)),
    ]
    title = f"vqa_accuracy: agreement with the annotators{_protocol(scored)}"
    return Table(title, "chance" if chance is not None else "", groups)


def _vqa_pair_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    lines = [
        Line("both right", percent(result["all"]), error(result["stderr"])),
        Line("both right, of answer type number", percent(result["number"])),
        Line('both right, of "how many" questions', percent(result["count"])),
        Line("the same prediction for both", percent(result["identical"])),
        Line("different predictions", percent(result["different"])),
    ]
    title = f"vqa_pair_accuracy: {_n(result['pairs'])} balanced pairs{_protocol(scored)}"
    missing = {}
    if scored.asked.answer_types is None:
        missing["those of answer type number"] = "answer_type in the annotations"
    if scored.joined.questions is None:
        missing['those of "how many" questions'] = "--questions"
    return Table(title, "", [Group("", [line for line in lines if line.score])], missing)


def _tdiuc_mpt(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    overall = [
        Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), "", _n(len(asked))),
        Line("arithmetic mean per type", percent(result["arithmetic_mpt"]), "", percent(result["arithmetic_nmpt"])),
        Line("harmonic mean per type", percent(result["harmonic_mpt"]), "", percent(result["harmonic_nmpt"])),
    ]
    elsewhere = result["accuracy_absurd_elsewhere"]
    if elsewhere is not None:
        overall.append(Line("asked absurdly elsewhere", percent(elsewhere)))
    normalized, counts = result["per_type_normalized"], result["n_per_type"]
    types = [
        Line(name, percent(share), "", percent(normalized[name]), _n(counts[name]))
        for name, share in result["per_type"].items()
    ]
    title = "tdiuc_mpt: how often the answer is TDIUC's, and means over question types"
    missing = {"accuracy of questions asked absurdly elsewhere": "--questions"}
    return Table(
        title,
        "normalised",
        [Group("", overall), Group("by question type", types)],
        missing if scored.joined.questions is None else {},
    )


def _gqa_score(result: Mapping[str, Any], scored: Scored) -> Table:
    asked, beside = scored.asked, scored.joined.beside
    records = [record for record in (asked.records or {}).values() if record["isBalanced"]]
    types = {kind: [record["types"][kind] for record in records] for kind in ("structural", "semantic")}
    n_open = types["structural"].count("query")
    overall = [
        Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), "", _n(len(records))),
        Line("binary", percent(result["binary"]), questions=_n(len(records) - n_open)),
        Line("open", percent(result["open"]), questions=_n(n_open)),
    ]
    missing = {}
    if result["consistency"] is None:
        missing["consistency"] = (
            "predictions and records of the entailed questions, which the file of all questions has"
        )
    if beside.choices is None:  # without, the official program says 0
        missing["validity, plausibility"] = "--choices"
    if result["grounding"] is None:
        missing["grounding"] = "--attentions and --scene-graphs"
    told = ("consistency",) if beside.choices is None else ("consistency", "validity", "plausibility")
    overall += [Line(name, percent(result[name])) for name in told if result[name] is not None]
    overall.append(Line("distribution (lower is better)", f"{result['distribution']:.2f}"))
    if result["grounding"] is not None:
        overall.append(Line("grounding", f"{result['grounding']:.2f}"))
    groups = [Group(f"by {kind} type", _typed(result[f"per_{kind}_type"], names)) for kind, names in types.items()]
    groups.append(Group("", [Line(f"detailed types, steps, lengths {IN_JSON}")]))
    return Table("gqa_score: how often the answer is GQA's", "", [Group("", overall), *groups], missing)


def _wups(result: Mapping[str, Any], scored: Scored) -> Table:
    count = _n(len(required(scored.asked)))
    lines = [Line(name, percent(result[name]), error(stderr), "", count) for name, stderr in result["stderr"].items()]
    return Table(f"wups: nearness in WordNet to {GOLD[scored.asked.kind]}", "", [Group("", lines)])


def _protocol(scored: Scored) -> str:
    protocol = scored.joined.protocol
    return "" if protocol == DEFAULT_PROTOCOL else f", protocol {protocol}"


_TABLES = {
    "mc_accuracy": _mc_accuracy,
    "vqa_accuracy": _vqa_accuracy,
    "vqa_pair_accuracy": _vqa_pair_accuracy,
    "tdiuc_mpt": _tdiuc_mpt,
    "gqa_score": _gqa_score,
    "wups": _wups,
}


def _typed(scores: Mapping[str, float] | None, types: Iterable[str] | None) -> list[Line]:
    """The scores of the most frequent types, those first; then how many more there are."""
    counts = Counter(types or [])
    ordered = sorted(scores or {}, key=lambda name: -counts[name])
    lines = [
        Line(name or "(no type)", percent((scores or {})[name]), questions=_n(counts[name]) if counts else "")
        for name in ordered[:MOST]
    ]
    more = len(ordered) - MOST
    return [*lines, Line(f"{_n(more)} more {IN_JSON}")] if more > 0 else lines


def percent(share: float | None) -> str:
    """A fraction as percent.

    >>> percent(0.12345), percent(None)
    ('12.3', '')
    """
    return "" if share is None else f"{100 * share:.1f}"


def error(stderr: float | None) -> str:
    """A standard error as percent."""
    return "" if stderr is None else f"± {100 * stderr:.1f}"


def _n(count: int) -> str:
    return f"{count:,}"
