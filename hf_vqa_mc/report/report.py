"""The report of an audit: one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.report.examples import ORIGIN, TYPE, Example, kind_legends
from hf_vqa_mc.report.figures import ambiguous_decoys, chart, histogram, per_type, strongest, tiles, width
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Step


def report_html(
    audit: Mapping[str, Any], examples: Sequence[Example], steps: Sequence[Step] = (), changes: Sequence[str] = ()
) -> str:
    """The report of an audit.

    The page is self-contained and runs only its own script, even if texts of the benchmark are malicious. Sections
    without figures are omitted. The result is deterministic.
    """
    values = {**report_values(audit, changes), "has_examples": bool(examples), "steps": steps}
    data = {"examples": list(map(_card, examples)), "kinds": kind_legends()}
    return rendered("report.html.jinja", values, "report.js", data)


def report_values(audit: Mapping[str, Any], changes: Sequence[str] = ()) -> dict[str, Any]:
    """The values of the report's template; ``changes`` as in `report_html`."""
    shortcuts = audit.get("shortcuts") or ()
    probes = [(row["name"], row["reason"]) for row in audit.get("not_run") or ()]
    splits = [(f"split {plain(name, 60)}", reason) for name, reason in (audit.get("skipped_splits") or {}).items()]
    return {
        "title": plain(public_name(audit.get("dataset") or ""), 120) or "benchmark",
        "config": audit.get("config"),
        "split": audit.get("split"),
        "version": audit.get("version"),
        "facts": _facts(audit),
        "read_as": plain(audit.get("read_as"), 600),
        "verdict": plain(audit.get("verdict"), 1000),
        "caveat": plain(audit.get("caveat"), 600),
        "headline": headline(audit),
        "tiles": tiles(shortcuts),
        "chart": chart({"before": shortcuts}),
        "types": per_type(audit),
        "findings": audit.get("findings") or (),
        "ambiguous": ambiguous_decoys(audit),
        "predictive_texts": _predictive_texts(audit),
        "histogram": histogram(audit),
        "not_run": [(plain(name, 120), plain(reason, 400)) for name, reason in probes + splits],
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
    missing = plain("; ".join(found.get("not_tested", ())), 400)
    return {
        "row": best,
        "questions": "the questions" if rows == found.get("rows") else f"a random {count(rows)} questions",
        "without": without,
        "not_tested": f"; not tested: {missing}" if missing else "",
        "chance": chance,
        "start": width(min(chance, best["accuracy"])),
        "width": width(abs(best["accuracy"] - chance)),
    }


def _facts(found: Mapping[str, Any]) -> dict[str, str]:
    """Key figures of the audited benchmark."""
    ends = (str(end(found["choices"])) for end in (min, max) if found.get("choices"))
    facts = {
        "questions": count(found.get("rows")),
        "images": count(found["images"]) if found.get("images") else "none",
        "choices per question": " to ".join(dict.fromkeys(ends)),
        "chance": percent(found["chance"]) if "chance" in found else "",
        "fitted on": plain(found.get("train_source"), 60),
    }
    return {name: text for name, text in facts.items() if text}


def _predictive_texts(audit: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of words and choices that predict, most significant first."""
    given = audit.get("predictive_texts") or {"words": (), "choices": ()}
    words, choices = ({row["text"].lower() for row in given[what]} for what in ("words", "choices"))
    return [
        {"what": what, "predicts": predicts, "rows": rows}
        for what in ("words", "choices")
        if not (what == "choices" and choices == words)
        for predicts, sign in (("target", 1), ("decoy", -1))
        if (rows := sorted((row for row in given[what] if sign * row["z"] > 0), key=lambda row: -abs(row["z"])))
    ]


def _card(example: Example) -> dict[str, Any]:
    return {
        "id": plain(example.question_id, TYPE),
        "question": plain(example.question),
        "type": plain(example.question_type, TYPE),
        **picture_values(example.images),
        "note": plain(example.note, ORIGIN),
        "bias": round(example.bias, 4) if example.bias is not None and isfinite(example.bias) else None,
        "outcome": "" if example.picked is None else "correct" if example.picked == example.label else "wrong",
        "choices": [example.choice(index) for index in range(len(example.choices))],
    }
