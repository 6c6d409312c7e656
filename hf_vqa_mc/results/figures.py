"""Scores as people and programs read them: tables of percentages, and json."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hf_vqa_mc.results.join import required
from hf_vqa_mc.results.score import Scored
from hf_vqa_mc.version import __version__


class Line(NamedTuple):
    """A score; texts, "" where there is nothing to tell."""

    name: str
    score: str
    stderr: str = ""
    other: str = ""
    """what the table's `other` column says"""
    questions: str = ""
    """questions, or pairs"""


class Table(NamedTuple):
    """What a scheme gave."""

    title: str
    other: str
    """heading of a column of its own; "" for none"""
    groups: list[list[Line]]
    """the scores of all questions, then those of each kind of types"""


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


def _mc_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    chance = result["chance"]
    overall = [Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), percent(chance), _n(len(asked)))]
    offered = result["offered_kinds"] or {}
    picked = [
        Line(f"picked {kind}", percent(share), "", percent(offered[kind]))
        for kind, share in (result["chosen_kinds"] or {}).items()
    ]
    types = _typed(result["per_question_type"], asked.question_types)
    return Table("mc_accuracy: how often the target is picked", "chance", [overall, picked, types])


def _vqa_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    chance = result.get("chance")
    overall = [Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), percent(chance), _n(len(asked)))]
    groups = [
        overall,
        _typed(result["per_answer_type"], asked.answer_types),
        _typed(result["per_question_type"], asked.question_types),
    ]
    return Table("vqa_accuracy: agreement with the annotators", "chance" if chance is not None else "", groups)


def _vqa_pair_accuracy(result: Mapping[str, Any], scored: Scored) -> Table:
    overall = [Line("pairs with both right", percent(result["all"]), error(result["stderr"]))]
    names = {"number": "... of answer type number", "count": '... of "how many" questions'}
    parts = [Line(text, percent(result[name])) for name, text in names.items()]
    same = [Line(f"{name} predictions", percent(result[name])) for name in ("identical", "different")]
    return Table(f"vqa_pair_accuracy: {_n(result['pairs'])} balanced pairs", "", [overall + parts, same])


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
    return Table("tdiuc_mpt: means per question type", "normalised", [overall, types])


def _gqa_score(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    records = [record for record in (asked.records or {}).values() if record["isBalanced"]]
    structural = [record["types"]["structural"] for record in records]
    n_open = structural.count("query")
    overall = [
        Line("accuracy", percent(result["accuracy"]), error(result["stderr"]), "", _n(len(records))),
        Line("binary", percent(result["binary"]), questions=_n(len(records) - n_open)),
        Line("open", percent(result["open"]), questions=_n(n_open)),
    ]
    with_choices = scored.joined.beside.choices is not None  # without, the official program says 0
    told = ("consistency", "validity", "plausibility") if with_choices else ("consistency",)
    overall += [Line(name, percent(result[name])) for name in told if result[name] is not None]
    overall.append(Line("distribution (lower is better)", f"{result['distribution']:.2f}"))
    if result["grounding"] is not None:
        overall.append(Line("grounding", f"{result['grounding']:.2f}"))
    words = [len(record["question"].split()) for record in records]
    groups = [overall]
    for kind in ("structural", "semantic", "detailed"):
        types = [record["types"][kind] for record in records]
        groups.append(_typed(result[f"per_{kind}_type"], types, f"{kind}: "))
    groups.append([Line(f"{number} steps", percent(share)) for number, share in result["per_steps"].items()])
    lengths = Counter(words)
    groups.append(
        [
            Line(f"{number} words", percent(share), questions=_n(lengths[number]))
            for number, share in result["per_length"].items()
        ]
    )
    return Table("gqa_score", "", groups)


def _wups(result: Mapping[str, Any], scored: Scored) -> Table:
    asked = scored.asked
    count = _n(len(required(asked)))
    lines = [Line(name, percent(result[name]), error(stderr), "", count) for name, stderr in result["stderr"].items()]
    return Table("wups", "", [lines])


_TABLES = {
    "mc_accuracy": _mc_accuracy,
    "vqa_accuracy": _vqa_accuracy,
    "vqa_pair_accuracy": _vqa_pair_accuracy,
    "tdiuc_mpt": _tdiuc_mpt,
    "gqa_score": _gqa_score,
    "wups": _wups,
}


def _typed(scores: Mapping[str, float] | None, types: Iterable[str] | None, prefix: str = "") -> list[Line]:
    counts = Counter(types or [])
    return [
        Line(f"{prefix}{name or '(no type)'}", percent(share), questions=_n(counts[name]))
        for name, share in (scores or {}).items()
    ]


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
