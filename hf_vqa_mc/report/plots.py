"""Where the marks of a page's plots stand: shares of a width as SVG takes them, so that a plot fits any screen."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5)
"""Between two marks of a scale of gains."""
MARKS = 6
"""At most, on a scale."""
SQUARE = 300.0
"""Units of the calibration's plot, from its own left and lower edge."""
DOTS = (3.0, 10.0)
"""Radius of a dot that stands for next to no rows, and of one that stands for all."""


@dataclass(frozen=True)
class Scale:
    """Gains over chance from left to right."""

    low: float
    high: float
    step: float

    def at(self, gain: float) -> str:
        """Where a gain stands, of the whole width; what lies beyond is put on the edge."""
        return _width((min(max(gain, self.low), self.high) - self.low) / (self.high - self.low))

    @property
    def marks(self) -> list[dict[str, Any]]:
        """The scale's marks, with chance among them."""
        first, last = math.ceil(self.low / self.step - 1e-9), math.floor(self.high / self.step + 1e-9)
        return [{"gain": step * self.step, "x": self.at(step * self.step)} for step in range(first, last + 1)]


def scale_of(rows: Iterable[Mapping[str, Any]]) -> Scale:
    """A scale on which the gains of these rows and their intervals find room, chance in any case."""
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
    everything = row.get("knows") == "everything"  # no shortcut, so no alarm either
    return {
        "x": scale.at(start),
        "width": _difference(scale.at(end), scale.at(start)),
        "low": scale.at(row["low"]) if known else "",
        "high": scale.at(row["high"]) if known else "",
        "alarm": bool(row.get("alarm", known and row["low"] > 0)) and not everything,
        "everything": everything,
        "row": row,
    }


def calibration_dots(bins: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """A dot for each bin of picks: how sure they were from left to right, how often right from below."""
    total = sum(row["rows"] for row in bins)
    return [
        {
            "x": f"{SQUARE * row['said']:.1f}",
            "y": f"{SQUARE * (1 - row['right']):.1f}",
            "radius": f"{DOTS[0] + (DOTS[1] - DOTS[0]) * math.sqrt(row['rows'] / total):.1f}",
            "told": f"{row['rows']:,} picks held to be right with {row['said']:.0%}: {row['right']:.0%} are",
        }
        for row in bins
        if row["rows"] and row["said"] is not None and row["right"] is not None
    ]


def calibration_error(bins: Sequence[Mapping[str, Any]]) -> float | None:
    """By how much the probes' word differs from what comes true: the mean over all picks, in [0, 1].

    Args:
        bins: with ``said``, ``right`` and ``rows``.

    Returns:
        None where there are no picks.

    >>> bins = [{"said": 0.5, "right": 0.6, "rows": 1}, {"said": 0.9, "right": 0.9, "rows": 3}]
    >>> round(calibration_error(bins), 3)
    0.025
    """
    known = [row for row in bins if row["rows"] and row["said"] is not None and row["right"] is not None]
    rows = sum(row["rows"] for row in known)
    return sum(row["rows"] * abs(row["said"] - row["right"]) for row in known) / rows if rows else None


def histogram_bars(bins: Sequence[Mapping[str, Any]], most: float, side: int, sides: int) -> list[dict[str, str]]:
    """A bar for each bin of bias scores, those of several audits side by side.

    Args:
        bins: with ``from``, ``to`` and ``rows``.
        most: rows that a bar of full height stands for.
        side: which audit it is, from 0.
        sides: how many there are.
    """
    bars = []
    for row in bins:
        height = row["rows"] / most if most else 0.0
        width = (row["to"] - row["from"]) * 0.88 / sides
        bars.append(
            {
                "x": _width(row["from"] + (row["to"] - row["from"]) * 0.06 + side * width),
                "width": _width(width),
                "y": _width(1 - height),
                "height": _width(height),
                "told": f"{row['rows']:,} questions between {row['from']:.0%} and {row['to']:.0%}",
            }
        )
    return bars


def _width(share: float) -> str:
    return f"{100 * share:.2f}%"


def _difference(end: str, start: str) -> str:
    return f"{float(end[:-1]) - float(start[:-1]):.2f}%"
