"""Tables of the shortcuts of a benchmark: in terminals and notebooks."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.findings import share_of
from hf_vqa_mc.audits.shortcut import Gain
from hf_vqa_mc.report.plain_text import interval, points
from hf_vqa_mc.text.tables import TextTable

TABLE_NOTE = (
    "Accuracy in percent, gain in percentage points. !: significantly above chance (Holm's correction). A probe with "
    "all inputs is no shortcut."
)
CROSS_NOTE = "Probes are fitted on the training split; cross-fitted: on other rows of the audited split instead."

STRONGEST = 10  # maximum number of shortcuts in a notebook
FIGURES = ("accuracy", "gain", "95% interval", "cross-fitted")  # columns of the table of shortcuts


def notes(done: Audit) -> str:
    """Sentences below the table of an audit."""
    return " ".join(filter(None, [TABLE_NOTE, CROSS_NOTE if _crossed(done) else ""]))


def shortcut_table(done: Audit) -> TextTable:
    """One row per shortcut: accuracy and gain; probes with all inputs come last."""
    headings = _headings(done)
    shown = sorted(done.gains, key=lambda gain: not gain.shortcut.sees.is_shortcut)
    lines = [(gain.shortcut.name, *_cells(gain, len(headings))) for gain in shown]
    lines.append(("chance", _chance(done), *[""] * (len(headings) - 1)))
    return TextTable.of(("shortcut", *headings), lines)


_LEFT, _RIGHT = '<td style="text-align:left">', '<td style="text-align:right">'


def gain_table(done: Audit) -> str:
    """The HTML table of the strongest shortcuts of an audit, with a bar of each one's gain over random guessing."""
    strongest = [gain for gain in done.gains if gain.shortcut.sees.is_shortcut][:STRONGEST]
    widest = max([0.01, *(one.estimate.high for one in strongest)])
    headings = _headings(done)
    rows = [_html_row(gain, _cells(gain, len(headings)), _bar(gain, widest)) for gain in strongest]
    chance = f"{_LEFT}chance{_LEFT}{_RIGHT}{_chance(done)}{'<td>' * len(headings)}"
    head = "<th>".join(("shortcut", "sees", *headings, ""))
    table = f"<table><thead><tr><th>{head}</tr></thead><tbody>{''.join(rows)}<tr>{chance}</tr></tbody></table>"
    return f"{table}<p>The {len(rows)} strongest of {len(done.gains)} strategies; report.to_pandas() has all.</p>"


def _html_row(gain: Gain, figures: Iterable[str], rest: str) -> str:
    sees, cells = gain.shortcut.sees, "".join(f"{_RIGHT}{cell}" for cell in figures)
    dot = f'<span style="color:{sees.colour}">&#9679;</span>'
    names = f"{_LEFT}{escape(gain.shortcut.name)}{_LEFT}{dot} {escape(sees.label)}"
    return f'<tr title="{escape(gain.sentence)}">{names}{cells}{rest}</tr>'


def _bar(gain: Gain, widest: float) -> str:
    """A cell with a bar, which is pale unless the gain is significant."""
    width, opacity = 180 * max(gain.estimate.gain, 0.0) / widest, 1 if gain.alarm else 0.35
    bar = f"height:10px;width:{width:.0f}px;background:{gain.shortcut.sees.colour};opacity:{opacity}"
    return f'<td style="text-align:left;min-width:190px"><div style="{bar}"></div>'


def _chance(done: Audit) -> str:
    return f"{100 * float(done.rows.chance.mean()):.1f}"


def _crossed(done: Audit) -> bool:
    """Whether a probe was fitted on the training split and also on other audited rows."""
    return any(gain.cross_fitted is not None and gain.fitted_on == "train" for gain in done.gains)


def _headings(done: Audit) -> tuple[str, ...]:
    return FIGURES if _crossed(done) else FIGURES[:3]


def _cells(gain: Gain, columns: int) -> list[str]:
    """The first of FIGURES of a shortcut."""
    found, again = gain.estimate, gain.cross_fitted
    reached = [f"{100 * found.accuracy:.1f}", f"{points(found.gain)}{'!' if gain.alarm else ' '}"]
    return [*reached, interval(vars(found)), "" if again is None else f"{100 * again.accuracy:.1f}"][:columns]


def ambiguity(figures: Mapping[str, Any]) -> str:
    """The share of decoys that are flagged as possibly correct, in a sentence."""
    found = figures["ambiguous_decoys"]
    reasons = [f"{reason} {share_of(share, 1)}" for reason, share in found["reasons"].items() if share]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    flagged = share_of(found["share"], 1) if found["share"] else "none"
    return f"Our filters flag {flagged} of {found['decoys']:,} decoys as possibly correct{listed}."
