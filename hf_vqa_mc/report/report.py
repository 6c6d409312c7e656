"""The report of an audit: one self-contained HTML file; and its plots, also those of remedies.

Positions are in percent of the width, so that the inline SVG of the templates fits any screen.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.report.examples import ORIGIN, TYPE, Example, kind_legends
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Step

SHOWN_SHORTCUTS = 12  # rows of the plot that are not collapsed; alarms never are
SHOWN_TYPES = 12  # question types that are not collapsed
TYPE_SHORTCUTS = 3  # columns of the plot by question type
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)  # possible distances between two ticks
TICKS = 6  # maximum number of ticks of a scale of gains


def report_html(
    audit: Mapping[str, Any], examples: Sequence[Example], steps: Sequence[Step] = (), changes: Sequence[str] = ()
) -> str:
    """The report of an audit: deterministic, and safe with malicious texts; sections without figures are omitted."""
    values = {**report_values(audit), "has_examples": bool(examples), "steps": steps, "changes": changes}
    data = {"examples": list(map(_card, examples)), "kinds": kind_legends()}
    return rendered("report.html.jinja", values, "report.js", data)


def report_values(audit: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the report's template."""
    facts = {
        "questions": count(audit["rows"]),
        "images": count(audit["images"]) if audit["images"] else "none",
        "choices per question": " to ".join(dict.fromkeys(str(end(audit["choices"])) for end in (min, max))),
        "chance": percent(audit["chance"]),
        "fitted on": plain(audit["train_source"], 60),
    }
    splits = [(f"split {plain(name, 60)}", reason) for name, reason in audit["skipped_splits"].items()]
    return {
        "audit": audit,
        "title": plain(public_name(audit["dataset"]), 120) or "benchmark",
        "facts": facts,
        "headline": headline(audit),
        "tiles": {sees: best for sees in ProbeInputs if (best := strongest(audit["shortcuts"], sees))},
        "chart": chart({"before": audit["shortcuts"]}),
        "types": per_type(audit),
        "ambiguous": ambiguous_decoys(audit["ambiguous_decoys"]),
        "predictive_texts": _predictive_texts(audit["predictive_texts"]),
        "histogram": histogram(audit),
        "not_run": [*((one["name"], one["reason"]) for one in audit["not_run"]), *splits],
    }


def headline(found: Mapping[str, Any]) -> dict[str, Any] | None:
    """The accuracy of the strongest shortcut, and its missing inputs."""
    best = strongest(found["shortcuts"])
    if best is None:
        return None
    without, chance = ProbeInputs[best["inputs"].upper()].without, found["chance"]
    if found["images"] == 0:
        without = "without the question" if best["inputs"] == ProbeInputs.CHOICES else "by a shortcut"
    missing = plain("; ".join(found["not_tested"]), 400)
    return {
        "row": best,
        "questions": "the questions" if best["rows"] == found["rows"] else f"a random {count(best['rows'])} questions",
        "without": without,
        "not_tested": f"; not tested: {missing}" if missing else "",
        "chance": chance,
    }


def _predictive_texts(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of words and choices that predict, most significant first."""
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
        "bias": round(example.bias, 4) if example.bias is not None and math.isfinite(example.bias) else None,
        "outcome": "" if example.picked is None else "correct" if example.picked == example.label else "wrong",
        "choices": [example.choice(index) for index in range(len(example.choices))],
    }


def strongest(shortcuts: Iterable[Mapping[str, Any]], sees: ProbeInputs | None = None) -> Mapping[str, Any] | None:
    """The significant shortcut with the largest gain, else the one farthest from chance, with these inputs or any."""
    rows = [row for row in shortcuts if (row["inputs"] == sees if sees else row["inputs"] != ProbeInputs.EVERYTHING)]
    return max(rows, key=lambda row: (row["alarm"], abs(row["gain"])), default=None)


def chart(sides: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Any] | None:
    """The plot of the shortcuts of an audit (``before``), or of the same probes before and after a remedy."""
    by_side = {side: {row["name"]: row for row in rows} for side, rows in sides.items()}
    found = {name: {side: rows[name] for side, rows in by_side.items()} for name in by_side["before"]}
    if not found:
        return None
    scale = Scale(row for rows in found.values() for row in rows.values())
    lines = []
    for name, rows in found.items():
        inputs = ProbeInputs[rows["before"]["inputs"].upper()]
        if not inputs.is_shortcut:
            continue
        line: dict[str, Any] = {"name": plain(name.removesuffix(f": {inputs.label}"), 120), "inputs": inputs.label}
        line |= {"row": rows["before"], "title": " ".join(plain(row["sentence"], 500) for row in rows.values())}
        lines.append({**line, "bars": {side: bar(row, scale) for side, row in rows.items()}})
    alarms = (at for at, line in enumerate(lines) if any(drawn["row"]["alarm"] for drawn in line["bars"].values()))
    shown = max(SHOWN_SHORTCUTS, 1 + max(alarms, default=0))
    return {**_collapsed(lines, shown), "ticks": scale.ticks, "zero": scale.at(0.0)}


def _collapsed(lines: list[dict[str, Any]], shown: int) -> dict[str, Any]:
    """Lines that are shown and the rest, which is collapsed if it has three or more."""
    shown = len(lines) if len(lines) - shown <= 2 else shown
    return {"shown": lines[:shown], "rest": lines[shown:]}


def per_type(audit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The gains of the strongest shortcuts by question type, largest types first."""
    types = audit["per_type"]
    given = {name for row in types for name in row["shortcuts"]}
    ranked = sorted(audit["shortcuts"], key=lambda row: (-row["alarm"], -abs(row["gain"])))
    ranked = [row for row in ranked if row["name"] in given and row["inputs"] != ProbeInputs.EVERYTHING]
    firsts = {row["inputs"]: row["name"] for row in reversed(ranked)}  # the strongest of each set of inputs
    ranked.sort(key=lambda row: firsts[row["inputs"]] != row["name"])
    columns = [row["name"] for row in ranked][:TYPE_SHORTCUTS]
    if not columns or len(types) < 2:
        return None
    scale = Scale(row["shortcuts"][name] for row in types for name in columns if name in row["shortcuts"])
    lines = []
    for row in sorted(types, key=lambda row: (-row["rows"], row["type"])):
        cells = [bar(row["shortcuts"][name], scale) if name in row["shortcuts"] else None for name in columns]
        lines.append({"type": row["type"], "row": row, "cells": cells})
    return {"columns": columns, "zero": scale.at(0.0), **_collapsed(lines, SHOWN_TYPES)}


def histogram(audit: Mapping[str, Any]) -> dict[str, Any] | None:
    """The histogram of bias scores, as shares of the questions that have one, with the ticks of its y axis."""
    if not audit["bias"]:
        return None
    bins = audit["bias"]["histogram"]
    total = sum(row["rows"] for row in bins)
    largest = max(row["rows"] for row in bins) / total
    step = next((step for step in STEPS if largest / step <= TICKS - 1), STEPS[-1])
    top = step * max(math.ceil(largest / step - 1e-9), 1)
    ticks = [{"y": 1 - index * step / top, "share": index * step} for index in range(round(top / step) + 1)]
    bars = []
    for row in filter(lambda row: row["rows"], bins):
        size, share = row["to"] - row["from"], row["rows"] / total
        title = f"{row['rows']:,} questions ({share:.1%}) with a bias of {row['from']:.0%} to {row['to']:.0%}"
        at = {"x": row["from"] + size * 0.06, "width": size * 0.88, "y": 1 - share / top, "height": share / top}
        bars.append({"title": title, **{name: width(value) for name, value in at.items()}})
    return {"mean": audit["bias"]["mean"], "chance": audit["chance"], "bars": bars, "ticks": ticks}


def ambiguous_decoys(found: Mapping[str, Any]) -> dict[str, Any]:
    """The shares of possibly correct decoys by reason, with bars on a scale from 0 to ``top``."""
    shares = found["reasons"]
    top = next((top for top in (0.05, 0.1, 0.25, 0.5) if max(shares.values(), default=0) <= top), 1.0)
    reasons = {reason: (share, width(share / top)) for reason, share in shares.items() if share}
    zero = [reason for reason in shares if reason not in reasons]
    return {"share": found["share"], "decoys": found["decoys"], "top": top, "reasons": reasons, "zero": zero}


class Scale:
    """A horizontal scale of gains that includes 0, the gains of some rows and their intervals."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        gains = [row[key] for row in rows for key in ("gain", "low", "high")]
        low, high = min([0.0, *gains]), max([0.01, *gains])
        margin = 0.04 * (high - low)
        self.low, self.high = low - margin, high + margin
        self.step = next((step for step in STEPS if (high - low) / step <= TICKS), STEPS[-1])

    def at(self, gain: float) -> str:
        """Position of a gain in percent of the width, clipped."""
        return width((min(max(gain, self.low), self.high) - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> list[dict[str, Any]]:
        """The ticks of the scale; 0 is one of them."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [{"gain": step * self.step, "x": self.at(step * self.step)} for step in range(first, last + 1)]


def bar(row: Mapping[str, Any], scale: Scale) -> dict[str, Any]:
    """A bar from 0 to a row's gain, with its interval from ``low`` to ``high``."""
    start, end = (scale.at(one) for one in sorted((0.0, row["gain"])))
    return {
        "x": start,
        "width": f"{float(end[:-1]) - float(start[:-1]):.2f}%",
        "low": scale.at(row["low"]),
        "high": scale.at(row["high"]),
        "row": row,
    }


def width(share: float) -> str:
    """A fraction of a plot's width."""
    return f"{100 * share:.2f}%"
