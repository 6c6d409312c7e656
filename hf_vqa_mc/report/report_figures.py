"""What the plots of a report show: each shortcut's gain, overall and by question type, and the bias of single rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.audits import Sees
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.report.plots import bar, calibration_dots, calibration_error, histogram_bars, scale_of

SHOWN_SHORTCUTS = 12
"""Rows of the plot at first sight; alarms are never folded away."""
SHOWN_TYPES = 12
"""Question types at first sight."""
TYPE_SHORTCUTS = 3
"""Columns of the plot by question type."""


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
    """The best of those who see the choices, the question, too, or the image, too: what the paper's tables compare."""
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
                "told": " ".join(_told(side, rows[name]) for side, rows in by_side.items() if name in rows),
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


def _told(side: str, row: Mapping[str, Any]) -> str:
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
    """The dots of each side: how sure the probes are of their picks against how often these are right.

    ``off`` is how far the two lie apart on average.
    """
    bins = [(side, audit.get("calibration") or ()) for side, audit in sides]
    found = [{"side": side, "dots": calibration_dots(rows), "off": calibration_error(rows)} for side, rows in bins]
    return [one for one in found if one["dots"]]


def histogram(sides: Sides) -> list[dict[str, Any]]:
    """How many questions have which bias score, and the mean of it; each side's bars are shares of its own rows."""
    there = [(side, audit, audit["bias"]) for side, audit in sides if (audit.get("bias") or {}).get("histogram")]
    totals = {side: max(sum(row["rows"] for row in bias["histogram"]), 1) for side, _, bias in there}
    fullest = max((row["rows"] / totals[side] for side, _, bias in there for row in bias["histogram"]), default=0.0)
    return [
        {
            "side": side,
            "mean": bias.get("mean"),
            "chance": audit.get("chance"),
            "bars": histogram_bars(bias["histogram"], fullest * totals[side], number, len(there)),
        }
        for number, (side, audit, bias) in enumerate(there)
    ]
