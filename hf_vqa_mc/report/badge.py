"""The badge of an audit: its strongest shortcut in a small SVG image."""

from collections.abc import Mapping
from typing import Any

from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.report.pages import environment
from hf_vqa_mc.report.plain_text import percent, plain
from hf_vqa_mc.report.report import headline

LABEL = "shortcuts"
CHARACTER, MARGIN = 6.4, 7.0
"""Mean width of a character and distance from the edge, in SVG units."""
FOUND, NONE = "#b3372f", "#2e6b3a"
"""Colours: a shortcut is significant, none is; white text has a contrast of 4.5 or more on both."""


def badge_svg(figures: Mapping[str, Any]) -> str:
    """The badge of an audit, from its JSON; it loads nothing and texts of the benchmark are escaped."""
    best = headline({**figures, "shortcuts": [one for one in figures["shortcuts"] if one["alarm"]]})
    chance = f"chance {percent(figures['chance'], 0)}"
    text = f"none found ({chance})"
    if best is not None:
        text = f"{percent(best['row']['accuracy'], 0)} {best['without']} ({chance})"
    names = [public_name(figures.get("dataset") or "benchmark"), figures.get("config"), figures.get("split")]
    values = {
        "label": LABEL,
        "text": text,
        "title": plain(f"{', '.join(filter(None, names))}: {LABEL}: {text}", 300),
        "colour": NONE if best is None else FOUND,
        "left": round(CHARACTER * len(LABEL) + 2 * MARGIN),
        "right": round(CHARACTER * len(text) + 2 * MARGIN),
        "margin": MARGIN,
    }
    return environment().get_template("badge.svg.jinja").render(values)
