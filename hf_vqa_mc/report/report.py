"""The report of an audit, or of the audits before and after a remedy: one self-contained HTML file."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.report.examples import ORIGIN, TYPE, Example, kind_legends
from hf_vqa_mc.report.figures import (
    Sides,
    ambiguous_decoys,
    chart,
    histogram,
    leak_plot,
    matched,
    per_type,
    strongest,
    tiles,
    width,
)
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Step


def report_html(
    before: Mapping[str, Any],
    examples: Sequence[Example],
    after: Mapping[str, Any] | None = None,
    after_examples: Sequence[Example] = (),
    steps: Sequence[Step] = (),
    changes: Sequence[str] = (),
    judged: Mapping[str, Any] | None = None,
) -> str:
    """The report of an audit, or of the audits before and after a remedy.

    The page is self-contained and runs only its own script, even if texts of the benchmark are malicious. Sections
    without figures are omitted. The result is deterministic.

    Args:
        before: the output of `vqa-mc audit --json`.
        examples: example questions with their images; some dozens, since images are embedded.
        after: the same for the remedied benchmark.
        after_examples: example questions of the remedied benchmark.
        steps: what to do next, shown at the end.
        changes: lines about what changed since an earlier release.
        judged: of `judgement.page_values`, of a remedy.
    """
    sides = {"before": before} | ({} if after is None else {"after": after})
    later = {(example.question_id, example.question): example for example in after_examples}
    pairs = [(example, later.pop((example.question_id, example.question), None)) for example in examples]
    shown = [_card(one) | {"before": _choices(one), "after": other and _choices(other)} for one, other in pairs]
    shown += [_card(one) | {"before": None, "after": _choices(one)} for one in later.values()]
    values = {**report_values(sides, changes), "has_examples": bool(shown), "steps": steps, "judged": judged}
    data = {"examples": shown, "sides": 2 if after_examples else 1, "kinds": kind_legends()}
    return rendered("report.html.jinja", values, "report.js", data)


def report_values(sides: Sides, changes: Sequence[str] = ()) -> dict[str, Any]:
    """The values of the report's template; ``changes`` as in `report_html`."""
    named = sides["before"]
    texts = {
        name: {side: plain(audit[name], most) for side, audit in sides.items() if audit.get(name)}
        for name, most in (("read_as", 600), ("caveat", 600), ("verdict", 1000))
    }
    return {
        "title": plain(public_name(named.get("dataset") or ""), 120) or "benchmark",
        "config": named.get("config"),
        "split": named.get("split"),
        "version": named.get("version"),
        "facts": _facts(sides),
        "read_as": list(dict.fromkeys(texts["read_as"].values())),
        "sides": list(sides),
        "verdicts": texts["verdict"],
        "caveats": list(dict.fromkeys(texts["caveat"].values())),
        "headlines": {side: shown for side, found in sides.items() if (shown := headline(found))},
        "tiles": tiles(sides),
        "chart": chart(sides),
        "types": per_type(sides),
        "findings": matched(sides, "findings"),
        "ambiguous": ambiguous_decoys(sides),
        "predictive_texts": _predictive_texts(sides),
        "histogram": histogram(sides),
        "leaks": leak_plot(sides),
        "not_run": _not_run(sides),
        "changes": changes,
    }


def headline(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The accuracy of the strongest shortcut, and its missing inputs."""
    best = strongest(found.get("shortcuts") or ())
    if best is None:
        return None
    without, chance = ProbeInputs[best["inputs"].upper()].without, found["chance"]
    if found["images"] == 0:
        without = "without the question" if best["inputs"] == ProbeInputs.CHOICES else "by a shortcut"
    rows = best.get("rows", found.get("rows"))
    return {
        "row": best,
        "questions": "the questions" if rows == found.get("rows") else f"a random {count(rows)} questions",
        "without": without,
        "not_tested": f"; not tested: {missing}"
        if (missing := plain("; ".join(found.get("not_tested", ())), 400))
        else "",
        "chance": chance,
        "start": width(min(chance, best["accuracy"])),
        "width": width(abs(best["accuracy"] - chance)),
    }


def _facts(sides: Sides) -> dict[str, str]:
    """Key figures of the audited benchmark; both values if a remedy changed them."""
    texts_of: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "questions": lambda found: count(found.get("rows")),
        "images": lambda found: count(found["images"]) if found.get("images") else "none",
        "choices per question": lambda found: " to ".join(
            dict.fromkeys(str(end(found["choices"])) for end in (min, max) if found.get("choices"))
        ),
        "chance": lambda found: percent(found["chance"]) if "chance" in found else "",
        "fitted on": lambda found: plain(found.get("train_source"), 60),
    }
    texts = {name: dict.fromkeys(map(text_of, sides.values())) for name, text_of in texts_of.items()}
    return {name: " \u2192 ".join(filter(None, of_sides)) for name, of_sides in texts.items() if any(of_sides)}


def _predictive_texts(sides: Sides) -> dict[str, list[dict[str, Any]]]:
    """Each side's tables of words and choices that predict, most significant first."""
    found = {}
    for side, audit in sides.items():
        given = audit.get("predictive_texts") or {"words": (), "choices": ()}
        words, choices = ({row["text"].lower() for row in given[what]} for what in ("words", "choices"))
        tables = [
            {"what": what, "predicts": predicts, "rows": rows}
            for what in ("words", "choices")
            if not (what == "choices" and choices == words)
            for predicts, sign in (("target", 1), ("decoy", -1))
            if (rows := sorted((row for row in given[what] if sign * row["z"] > 0), key=lambda row: -abs(row["z"])))
        ]
        if tables:
            found[side] = tables
    return found


def _not_run(sides: Sides) -> list[tuple[str, str]]:
    """Probes that were not run and splits that were skipped, with the reasons, and the side if only one."""
    of_sides: dict[tuple[str, str], list[str]] = {}
    for side, audit in sides.items():
        probes = [(plain(row["name"], 120), row["reason"]) for row in audit.get("not_run") or ()]
        splits = [(f"split {plain(name, 60)}", reason) for name, reason in (audit.get("skipped_splits") or {}).items()]
        for name, reason in probes + splits:
            of_sides.setdefault((name, plain(reason, 400)), []).append(side)
    return [
        (name if len(found) == len(sides) else f"{name} ({found[0]} the remedy)", reason)
        for (name, reason), found in of_sides.items()
    ]


def _card(example: Example) -> dict[str, Any]:
    return {
        "id": plain(example.question_id, TYPE),
        "question": plain(example.question),
        "type": plain(example.question_type, TYPE),
        **picture_values(example.images),
        "note": plain(example.note, ORIGIN),
    }


def _choices(example: Example) -> dict[str, Any]:
    return {
        "bias": round(example.bias, 4) if example.bias is not None and isfinite(example.bias) else None,
        "outcome": "" if example.picked is None else "correct" if example.picked == example.label else "wrong",
        "choices": [example.choice(index) for index in range(len(example.choices))],
    }
