"""The plots of a report: gains of shortcuts, overall and by question type, and bias.

Positions are in percent of the width, so that the inline SVG of the templates fits any screen.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.report.plain_text import plain

SHOWN_SHORTCUTS = 12
"""Rows of the plot that are not collapsed; alarms never are."""
SHOWN_TYPES = 12
"""Question types that are not collapsed."""
TYPE_SHORTCUTS = 3
"""Columns of the plot by question type."""
LEAK_ROWS = 8
"""Rows of the table of coverage and leak."""
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
"""Possible distances between two ticks."""
TICKS = 6
"""Maximum number of ticks of a scale of gains."""

Sides = Mapping[str, Mapping[str, Any]]
"""``before``: an audit's JSON; ``after``: that of the remedied benchmark if there is one."""


def matched(sides: Sides, section: str, key: str = "name") -> dict[str, dict[str, Any]]:
    """The rows of a section by name, then by side; None if a side does not have the row."""
    by_side = {side: {row[key]: row for row in audit.get(section) or ()} for side, audit in sides.items()}
    names = dict.fromkeys(name for rows in by_side.values() for name in rows)
    return {name: {side: rows.get(name) for side, rows in by_side.items()} for name in names}


def strongest(shortcuts: Iterable[Mapping[str, Any]], sees: ProbeInputs | None = None) -> Mapping[str, Any] | None:
    """The significant shortcut with the largest gain, else any, of those with these inputs or of all; None if none."""
    rows = [row for row in shortcuts if (row["inputs"] == sees if sees else row["inputs"] != ProbeInputs.EVERYTHING)]
    return max(rows, key=lambda row: (row["alarm"], row["gain"]), default=None)


def tiles(sides: Sides) -> dict[ProbeInputs, dict[str, Mapping[str, Any]]]:
    """The strongest shortcut of each set of inputs and side."""
    found = {
        sees: {side: best for side, audit in sides.items() if (best := strongest(audit.get("shortcuts") or (), sees))}
        for sees in ProbeInputs
    }
    return {sees: rows for sees, rows in found.items() if rows}


def chart(sides: Sides) -> dict[str, Any] | None:
    """The plot of all shortcuts, in the order of their gain before; those that are only in ``after`` come last."""
    found = matched(sides, "shortcuts")
    if not found:
        return None
    scale = scale_of(row for rows in found.values() for row in rows.values() if row)
    lines = []
    for name, rows in found.items():
        first = next(filter(None, rows.values()))
        if first["inputs"] == ProbeInputs.EVERYTHING:
            continue
        bars = {side: bar(row, scale) for side, row in rows.items()}
        sentences = (f"{side.capitalize()}: {row['sentence']}" for side, row in rows.items() if row)
        lines.append(
            {
                "name": plain(name, 120),
                "row": first,
                "inputs": ProbeInputs[first["inputs"].upper()].label,
                "bars": bars,
                "title": " ".join(plain(sentence, 500) for sentence in sentences),
                "alarm": any(drawn and drawn["alarm"] for drawn in bars.values()),
            }
        )
    shown = max(SHOWN_SHORTCUTS, 1 + max((index for index, line in enumerate(lines) if line["alarm"]), default=0))
    return {**_collapsed(lines, shown), "ticks": scale.ticks, "zero": scale.at(0.0)}


def _collapsed(lines: list[dict[str, Any]], shown: int) -> dict[str, Any]:
    """Lines that are shown and the rest, which is collapsed if it has three or more."""
    shown = len(lines) if len(lines) - shown <= 2 else shown
    return {"shown": lines[:shown], "rest": lines[shown:]}


def per_type(sides: Sides) -> dict[str, Any] | None:
    """The gains of the strongest shortcuts by question type, largest types first."""
    types = matched(sides, "per_type", "type")
    rows = [row for of_type in types.values() for row in of_type.values() if row]
    given = {name for row in rows for name in row["shortcuts"]}
    ranked = sorted(sides["before"].get("shortcuts") or (), key=lambda row: (-row["alarm"], -row["gain"]))
    ranked = [row for row in ranked if row["name"] in given and row["inputs"] != ProbeInputs.EVERYTHING]
    firsts = {row["inputs"]: row["name"] for row in reversed(ranked)}  # the strongest of each set of inputs
    ranked.sort(key=lambda row: firsts[row["inputs"]] != row["name"])
    columns = ([row["name"] for row in ranked] or sorted(given))[:TYPE_SHORTCUTS]
    if not columns or len(types) < 2:
        return None
    scale = scale_of(row["shortcuts"][name] for row in rows for name in columns if name in row["shortcuts"])
    lines = [
        {
            "type": kind,
            "rows": [row for row in of_type.values() if row],
            "cells": [
                {side: bar(row and row["shortcuts"].get(name), scale) for side, row in of_type.items()}
                for name in columns
            ],
        }
        for kind, of_type in types.items()
    ]
    lines.sort(key=lambda line: (-line["rows"][0]["rows"], line["type"]))
    return {"columns": columns, "zero": scale.at(0.0), **_collapsed(lines, SHOWN_TYPES)}


def histogram(sides: Sides) -> dict[str, Any] | None:
    """The histogram of bias scores, as shares of the questions that have one, with the ticks of its y axis."""
    given = [(side, audit) for side, audit in sides.items() if audit.get("bias")]
    if not given:
        return None
    totals = {side: sum(row["rows"] for row in audit["bias"]["histogram"]) for side, audit in given}
    largest = max(row["rows"] / totals[side] for side, audit in given for row in audit["bias"]["histogram"])
    top, ticks = _y_axis(largest)
    found = []
    for number, (side, audit) in enumerate(given):
        bars = []
        for row in filter(lambda row: row["rows"], audit["bias"]["histogram"]):
            size, share = row["to"] - row["from"], row["rows"] / totals[side]
            wide = size * 0.88 / len(given)
            bars.append(
                {
                    "x": width(row["from"] + size * 0.06 + number * wide),
                    "width": width(wide),
                    "y": width(1 - share / top),
                    "height": width(share / top),
                    "title": f"{row['rows']:,} questions ({share:.1%}) with a bias of {row['from']:.0%} to "
                    f"{row['to']:.0%}",
                }
            )
        found.append({"side": side, "mean": audit["bias"]["mean"], "chance": audit["chance"], "bars": bars})
    return {"sides": found, "ticks": ticks}


def _y_axis(largest: float) -> tuple[float, list[dict[str, float]]]:
    """The top of an axis from 0, and its ticks: ``y`` from 0 (top) to 1, and ``share``."""
    step = next((step for step in STEPS if largest / step <= TICKS - 1), STEPS[-1])
    top = step * max(math.ceil(largest / step - 1e-9), 1)
    return top, [{"y": 1 - index * step / top, "share": index * step} for index in range(round(top / step) + 1)]


def leak_plot(sides: Sides) -> dict[str, Any] | None:
    """The curve of rows kept and estimated leak of closed sets, the kept sets, and `LEAK_ROWS` of its points."""
    curve = (sides.get("after", {}).get("closed_sets") or {}).get("leak_curve")
    if not curve:
        return None
    points = curve["points"]
    top, ticks = _y_axis(max(point["gain"] for point in points))

    def position(point: Mapping[str, float]) -> dict[str, Any]:
        return {"x": width(point["coverage"]), "y": width(1 - point["gain"] / top), **point}

    drawn = [position(point) for point in points]
    every = -(-len(drawn) // LEAK_ROWS)
    return {"points": drawn, "kept": position(curve["kept"]), "rows": drawn[::-1][::every][::-1], "ticks": ticks}


def ambiguous_decoys(sides: Sides) -> dict[str, Any] | None:
    """The shares of possibly correct decoys by reason, with bars on a scale from 0 to ``top``."""
    given = {side: audit["ambiguous_decoys"] for side, audit in sides.items() if audit.get("ambiguous_decoys")}
    if not given:
        return None
    reasons = dict.fromkeys(reason for found in given.values() for reason in found["reasons"])
    shares = {reason: {side: found["reasons"].get(reason) for side, found in given.items()} for reason in reasons}
    largest = max((share or 0.0 for of_reason in shares.values() for share in of_reason.values()), default=0.0)
    top = next((top for top in (0.05, 0.1, 0.25, 0.5) if largest <= top), 1.0)
    return {
        "sides": given,
        "top": top,
        "reasons": {
            reason: {side: {"share": share, "width": width((share or 0.0) / top)} for side, share in of_reason.items()}
            for reason, of_reason in shares.items()
            if any(of_reason.values())
        },
        "zero": [reason for reason, of_reason in shares.items() if not any(of_reason.values())],
    }


@dataclass(frozen=True)
class Scale:
    """A horizontal scale of gains."""

    low: float
    high: float
    step: float

    def at(self, gain: float) -> str:
        """Position of a gain in percent of the width, clipped."""
        return width((min(max(gain, self.low), self.high) - self.low) / (self.high - self.low))

    @property
    def ticks(self) -> list[dict[str, Any]]:
        """The ticks of the scale; 0 is one of them."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [{"gain": step * self.step, "x": self.at(step * self.step)} for step in range(first, last + 1)]


def scale_of(rows: Iterable[Mapping[str, Any]]) -> Scale:
    """A scale that includes 0, the gains of these rows and their intervals."""
    gains = [row[key] for row in rows for key in ("gain", "low", "high")]
    low, high = min([0.0, *gains]), max([0.01, *gains])
    step = next((step for step in STEPS if (high - low) / step <= TICKS), STEPS[-1])
    margin = 0.04 * (high - low)
    return Scale(low - margin, high + margin, step)


def bar(row: Mapping[str, Any] | None, scale: Scale) -> dict[str, Any] | None:
    """A bar from 0 to a row's gain, with its interval from ``low`` to ``high``; None without a row."""
    if row is None:
        return None
    start, end = (scale.at(one) for one in sorted((0.0, row["gain"])))
    return {
        "x": start,
        "width": f"{float(end[:-1]) - float(start[:-1]):.2f}%",
        "low": scale.at(row["low"]),
        "high": scale.at(row["high"]),
        "alarm": row["alarm"],
        "row": row,
    }


def width(share: float) -> str:
    """A fraction of a plot's width."""
    return f"{100 * share:.2f}%"
