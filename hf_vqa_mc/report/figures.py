"""The plots of a report: gains of shortcuts, overall and by question type, calibration and bias.

Marks are placed in percent of the width, so that the inline SVG of the templates fits any screen; charts of matplotlib
have a fixed size, are larger, and have no title for each mark.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.audits.shortcut import Sees
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


Sides = Mapping[str, Mapping[str, Any]]
"""``before``: an audit's JSON; ``after``: that of the remedied benchmark where there is one."""


def matched(sides: Sides, section: str, key: str = "name") -> dict[str, dict[str, Any]]:
    """The rows of a section by name: side to the row that it has, None where it has none."""
    by_side = {side: {row[key]: row for row in audit.get(section) or ()} for side, audit in sides.items()}
    names = dict.fromkeys(name for rows in by_side.values() for name in rows)
    return {name: {side: rows.get(name) for side, rows in by_side.items()} for name in names}


def strongest(shortcuts: Iterable[Mapping[str, Any]], sees: Sees | None = None) -> Mapping[str, Any] | None:
    """The shortcut that gains most of those that see this, or of all; what sees everything is no shortcut."""
    rows = [row for row in shortcuts if (row["knows"] == sees if sees else row["knows"] != Sees.EVERYTHING)]
    return max(rows, key=lambda row: row["gain"], default=None)


def tiles(sides: Sides) -> list[dict[str, Any]]:
    """The best shortcut by what it sees: what the paper's tables compare."""
    found = []
    for sees in Sees:
        cells = [
            {"side": side, "row": best, "name": plain(best["name"], 80), "alarm": best["alarm"] and sees.is_shortcut}
            for side, audit in sides.items()
            if (best := strongest(audit.get("shortcuts") or (), sees))
        ]
        if cells:
            found.append({"knows": sees.value, "name": sees.label, "cells": cells})
    return found


def chart(sides: Sides) -> dict[str, Any] | None:
    """The plot of all shortcuts: rows in the order of their gain before, those that appear only after behind them."""
    found = matched(sides, "shortcuts")
    if not found:
        return None
    scale = scale_of(row for rows in found.values() for row in rows.values() if row)
    lines = []
    for name, rows in found.items():
        bars = {side: bar(row, scale) for side, row in rows.items()}
        sentences = (f"{side.capitalize()}: {row['sentence']}" for side, row in rows.items() if row)
        first = next(filter(None, rows.values()))
        lines.append(
            {
                "name": plain(name, 120),
                "knows": Sees[first["knows"].upper()].label,
                "probe": first["probe"],
                "everything": first["knows"] == Sees.EVERYTHING,
                "cells": [{"side": side, "bar": drawn} for side, drawn in bars.items()],
                "told": " ".join(plain(sentence, 500) for sentence in sentences),
                "alarm": any(drawn and drawn["alarm"] for drawn in bars.values()),
            }
        )
    shown = max(SHOWN_SHORTCUTS, 1 + max((index for index, line in enumerate(lines) if line["alarm"]), default=0))
    everything = any(line["everything"] for line in lines)
    return {**_folded(lines, shown), "marks": scale.marks, "zero": scale.at(0.0), "everything": everything}


def _folded(lines: list[dict[str, Any]], shown: int) -> dict[str, Any]:
    """Lines at first sight and those folded away, unless these are one or two."""
    shown = len(lines) if len(lines) - shown <= 2 else shown
    return {"shown": lines[:shown], "rest": lines[shown:]}


def per_type(sides: Sides) -> dict[str, Any] | None:
    """The gains of the strongest shortcuts by question type, types with most rows first."""
    types = matched(sides, "per_type", "type")
    rows = [row for of_type in types.values() for row in of_type.values() if row]
    columns = _type_columns(sides, {name for row in rows for name in row["shortcuts"]})
    if not columns or len(types) < 2:
        return None
    scale = scale_of(row["shortcuts"][name] for row in rows for name in columns if name in row["shortcuts"])
    lines = []
    for kind, of_type in types.items():
        given = [row for row in of_type.values() if row]
        cells = [
            [{"side": side, "bar": bar(row and row["shortcuts"].get(name), scale)} for side, row in of_type.items()]
            for name in columns
        ]
        chances = [row["chance"] for row in given]
        lines.append(
            {"type": plain(kind, 60) or "(none)", "rows": given[0]["rows"], "chance": chances, "cells": cells}
        )
    order = sorted(range(len(lines)), key=lambda index: (-lines[index]["rows"], list(types)[index]))
    lines = [lines[index] for index in order]
    return {"columns": [plain(name, 80) for name in columns], "zero": scale.at(0.0), **_folded(lines, SHOWN_TYPES)}


def _type_columns(sides: Sides, given: set[str]) -> list[str]:
    """The strongest shortcut of each kind of knowledge, then the others by their gain."""
    ranked = sorted(sides["before"].get("shortcuts") or (), key=lambda row: -row["gain"])
    ranked = [row for row in ranked if row["name"] in given and row["knows"] != Sees.EVERYTHING]
    firsts = {row["knows"]: row["name"] for row in reversed(ranked)}
    chosen = [row["name"] for row in ranked if firsts[row["knows"]] == row["name"]]
    chosen += [row["name"] for row in ranked if row["name"] not in chosen]
    return (chosen or sorted(given))[:TYPE_SHORTCUTS]


def calibration(sides: Sides) -> list[dict[str, Any]]:
    """The dots of each side: how confident the probes' picks are against how often these are right.

    ``off`` is the mean absolute difference of the two over all picks.
    """
    found = []
    for side, audit in sides.items():
        bins = [row for row in audit.get("calibration") or () if row["rows"]]
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
    given = [(side, audit) for side, audit in sides.items() if audit.get("bias")]
    shares = {side: [row["rows"] / audit["rows"] for row in audit["bias"]["histogram"]] for side, audit in given}
    fullest = max((share for of_side in shares.values() for share in of_side), default=0.0)
    found = []
    for number, (side, audit) in enumerate(given):
        bars = []
        for row, share in zip(audit["bias"]["histogram"], shares[side], strict=True):
            size = row["to"] - row["from"]
            width = size * 0.88 / len(given)
            bars.append(
                {
                    "x": _width(row["from"] + size * 0.06 + number * width),
                    "width": _width(width),
                    "y": _width(1 - share / fullest),
                    "height": _width(share / fullest),
                    "told": f"{row['rows']:,} questions between {row['from']:.0%} and {row['to']:.0%}",
                }
            )
        found.append({"side": side, "mean": audit["bias"]["mean"], "chance": audit["chance"], "bars": bars})
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
    gains = [row[key] for row in rows for key in ("gain", "low", "high")]
    low, high = min([0.0, *gains]), max([0.01, *gains])
    step = next((step for step in STEPS if (high - low) / step <= MARKS), STEPS[-1])
    room = 0.04 * (high - low)
    return Scale(low - room, high + room, step)


def bar(row: Mapping[str, Any] | None, scale: Scale) -> dict[str, Any] | None:
    """A bar from chance to a gain, with its interval; None where there is no such figure.

    Args:
        row: with ``gain``, ``low`` and ``high``; those of all rows have ``alarm`` and ``knows`` too.
        scale: that it stands on.
    """
    if row is None:
        return None
    start, end = (scale.at(one) for one in sorted((0.0, row["gain"])))
    everything = row.get("knows") == Sees.EVERYTHING  # no shortcut, so no alarm either
    return {
        "x": start,
        "width": f"{float(end[:-1]) - float(start[:-1]):.2f}%",
        "low": scale.at(row["low"]),
        "high": scale.at(row["high"]),
        "alarm": bool(row.get("alarm", row["low"] > 0)) and not everything,
        "everything": everything,
        "row": row,
    }


def _width(share: float) -> str:
    return f"{100 * share:.2f}%"
