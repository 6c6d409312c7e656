"""The plots of a report: gains of shortcuts, overall and by question type, calibration and bias.

Marks are placed in percent of the width, so that the inline SVG of the templates fits any screen; charts of matplotlib
have a fixed size, are larger, and have no title for each mark.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.audits import Sees
from hf_vqa_mc.report.plain_text import plain

SHOWN_SHORTCUTS = 12
"""Rows of the plot at first sight; alarms are never folded away."""
SHOWN_TYPES = 12
"""Question types at first sight."""
TYPE_SHORTCUTS = 3
"""Columns of the plot by question type."""
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
"""Between two marks of a scale of gains."""
MARKS = 6
"""At most, on a scale."""
SQUARE = 300.0
"""Units of the calibration's plot, from its own left and lower edge."""
DOTS = (3.0, 10.0)
"""Radius of a dot that stands for next to no rows, and of one that stands for all."""


@dataclass(frozen=True)
class Sides:
    """An audit's JSON, and that of the remedied benchmark where there is one."""

    before: Mapping[str, Any]
    after: Mapping[str, Any] | None = None

    def __iter__(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Name and figures of each."""
        yield "before", self.before
        if self.after is not None:
            yield "after", self.after

    @property
    def names(self) -> list[str]:
        """``before``, and ``after`` where there is one."""
        return [name for name, _ in self]


def tiles(sides: Sides) -> list[dict[str, Any]]:
    """The best shortcut by what it sees: what the paper's tables compare."""
    found = []
    for sees in Sees:
        cells = []
        for side, audit in sides:
            rows = [row for row in audit.get("shortcuts") or () if row.get("knows") == sees]
            if rows:
                best = max(rows, key=lambda row: row["gain"])
                alarm = bool(best.get("alarm")) and sees.is_shortcut
                cells.append({"side": side, "row": best, "name": plain(best["name"], 80), "alarm": alarm})
        if cells:
            found.append({"knows": sees.value, "name": sees.label, "cells": cells})
    return found


def chart(sides: Sides) -> dict[str, Any] | None:
    """The plot of all shortcuts: rows in the order of their gain before, those that appear only after behind them."""
    by_side = {side: {row["name"]: row for row in audit.get("shortcuts") or ()} for side, audit in sides}
    names = list(dict.fromkeys(name for rows in by_side.values() for name in rows))
    if not names:
        return None
    scale = scale_of(row for rows in by_side.values() for row in rows.values())
    lines = []
    for name in names:
        bars = {side: bar(rows.get(name), scale) for side, rows in by_side.items()}
        first = next(rows[name] for rows in by_side.values() if name in rows)
        lines.append(
            {
                "name": plain(name, 120),
                "knows": next((one.label for one in Sees if one == first.get("knows")), ""),
                "probe": bool(first.get("probe")),
                "everything": first.get("knows") == Sees.EVERYTHING,
                "cells": [{"side": side, "bar": drawn} for side, drawn in bars.items()],
                "told": " ".join(_tooltip(side, rows[name]) for side, rows in by_side.items() if name in rows),
                "alarm": any(drawn and drawn["alarm"] for drawn in bars.values()),
            }
        )
    shown = max(SHOWN_SHORTCUTS, 1 + max((place for place, line in enumerate(lines) if line["alarm"]), default=0))
    if len(lines) - shown <= 2:
        shown = len(lines)
    return {
        "marks": scale.marks,
        "zero": scale.at(0.0),
        "shown": lines[:shown],
        "rest": lines[shown:],
        "everything": any(line["everything"] for line in lines),
    }


def _tooltip(side: str, row: Mapping[str, Any]) -> str:
    return plain(f"{side.capitalize()}: {row.get('sentence') or row['name']}", 500)


def per_type(sides: Sides) -> dict[str, Any] | None:
    """The gains of the strongest shortcuts by question type, types with most rows first."""
    by_side = {side: {row["type"]: row for row in audit.get("per_type") or ()} for side, audit in sides}
    rows = [row for types in by_side.values() for row in types.values()]
    columns = _type_columns(sides, {name for row in rows for name in row["shortcuts"]})
    if not columns or len({row["type"] for row in rows}) < 2:
        return None
    scale = scale_of(row["shortcuts"][name] for row in rows for name in columns if name in row["shortcuts"])
    largest = {row["type"]: row for row in reversed(rows)}
    lines = []
    for kind in sorted(largest, key=lambda kind: (-largest[kind]["rows"], str(kind))):
        cells = [
            [
                {"side": side, "bar": bar((types.get(kind) or {"shortcuts": {}})["shortcuts"].get(name), scale)}
                for side, types in by_side.items()
            ]
            for name in columns
        ]
        chances = [types[kind]["chance"] for types in by_side.values() if kind in types]
        lines.append(
            {"type": plain(kind, 60) or "(none)", "rows": largest[kind]["rows"], "chance": chances, "cells": cells}
        )
    shown = len(lines) if len(lines) <= SHOWN_TYPES + 2 else SHOWN_TYPES
    return {
        "columns": [plain(name, 80) for name in columns],
        "marks": scale.marks,
        "zero": scale.at(0.0),
        "shown": lines[:shown],
        "rest": lines[shown:],
    }


def _type_columns(sides: Sides, there: set[str]) -> list[str]:
    """The strongest shortcut of each kind of knowledge, then the others by their gain."""
    ranked = sorted(sides.before.get("shortcuts") or (), key=lambda row: -row["gain"])
    ranked = [row for row in ranked if row["name"] in there and row.get("knows") != Sees.EVERYTHING]
    firsts = {row["knows"]: row["name"] for row in reversed(ranked)}
    chosen = [row["name"] for row in ranked if firsts[row["knows"]] == row["name"]]
    chosen += [row["name"] for row in ranked if row["name"] not in chosen]
    return (chosen or sorted(there))[:TYPE_SHORTCUTS]


def calibration(sides: Sides) -> list[dict[str, Any]]:
    """The dots of each side: how confident the probes' picks are against how often these are right.

    ``off`` is the mean absolute difference of the two over all picks.
    """
    found = []
    for side, audit in sides:
        bins = [row for row in audit.get("calibration") or () if row["rows"] and None not in row.values()]
        rows = sum(row["rows"] for row in bins)
        dots = [
            {
                "x": f"{SQUARE * row['said']:.1f}",
                "y": f"{SQUARE * (1 - row['right']):.1f}",
                "radius": f"{DOTS[0] + (DOTS[1] - DOTS[0]) * math.sqrt(row['rows'] / rows):.1f}",
                "told": f"{row['rows']:,} picks with confidence {row['said']:.0%}: {row['right']:.0%} are right",
            }
            for row in bins
        ]
        if dots:
            off = sum(row["rows"] * abs(row["said"] - row["right"]) for row in bins) / rows
            found.append({"side": side, "dots": dots, "off": off})
    return found


def histogram(sides: Sides) -> list[dict[str, Any]]:
    """How many questions have which bias score, and its mean; each side's bars are shares of its own rows."""
    given = [(side, audit, audit["bias"]) for side, audit in sides if (audit.get("bias") or {}).get("histogram")]
    totals = {side: max(sum(row["rows"] for row in bias["histogram"]), 1) for side, _, bias in given}
    fullest = max((row["rows"] / totals[side] for side, _, bias in given for row in bias["histogram"]), default=0.0)
    found = []
    for number, (side, audit, bias) in enumerate(given):
        bars = []
        for row in bias["histogram"]:
            height = row["rows"] / (fullest * totals[side]) if fullest else 0.0
            width = (row["to"] - row["from"]) * 0.88 / len(given)
            bars.append(
                {
                    "x": _width(row["from"] + (row["to"] - row["from"]) * 0.06 + number * width),
                    "width": _width(width),
                    "y": _width(1 - height),
                    "height": _width(height),
                    "told": f"{row['rows']:,} questions between {row['from']:.0%} and {row['to']:.0%}",
                }
            )
        found.append({"side": side, "mean": bias.get("mean"), "chance": audit.get("chance"), "bars": bars})
    return found


@dataclass(frozen=True)
class Scale:
    """Gains over chance from left to right."""

    low: float
    high: float
    step: float

    def at(self, gain: float) -> str:
        """Position of a gain in percent of the width, clipped to the scale."""
        return _width((min(max(gain, self.low), self.high) - self.low) / (self.high - self.low))

    @property
    def marks(self) -> list[dict[str, Any]]:
        """The scale's marks, with chance among them."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [{"gain": step * self.step, "x": self.at(step * self.step)} for step in range(first, last + 1)]


def scale_of(rows: Iterable[Mapping[str, Any]]) -> Scale:
    """A scale that includes the gains of these rows, their intervals and chance."""
    gains = [row[key] for row in rows for key in ("gain", "low", "high") if row.get(key) is not None]
    low, high = min([0.0, *gains]), max([0.01, *gains])
    step = next((step for step in STEPS if (high - low) / step <= MARKS), STEPS[-1])
    room = 0.04 * (high - low)
    return Scale(low - room, high + room, step)


def bar(row: Mapping[str, Any] | None, scale: Scale) -> dict[str, Any] | None:
    """A bar from chance to a gain, with its interval; None where there is no such figure.

    Args:
        row: with ``gain``, and ``low``, ``high``, ``alarm`` and ``knows`` where they are known.
        scale: that it stands on.
    """
    if row is None or row.get("gain") is None:
        return None
    start, end = sorted((0.0, row["gain"]))
    known = row.get("low") is not None and row.get("high") is not None
    everything = row.get("knows") == Sees.EVERYTHING  # no shortcut, so no alarm either
    return {
        "x": scale.at(start),
        "width": _difference(scale.at(end), scale.at(start)),
        "low": scale.at(row["low"]) if known else "",
        "high": scale.at(row["high"]) if known else "",
        "alarm": bool(row.get("alarm", known and row["low"] > 0)) and not everything,
        "everything": everything,
        "row": row,
    }


def _width(share: float) -> str:
    return f"{100 * share:.2f}%"


def _difference(end: str, start: str) -> str:
    return f"{float(end[:-1]) - float(start[:-1]):.2f}%"
