"""Tables of the shortcuts of a benchmark, before and after a remedy: in terminals and notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.findings import percent
from hf_vqa_mc.audits.gains import Gain
from hf_vqa_mc.remedies.harm import Comparison
from hf_vqa_mc.report.plain_text import interval, points
from hf_vqa_mc.text.tables import TextTable

TABLE_NOTE = (
    "Accuracy in percent, gain in percentage points. !: significantly above chance (Holm's correction). A probe with "
    "all inputs is no shortcut."
)
CROSS_NOTE = "Probes are fitted on the training split; cross-fitted: on other rows of the audited split instead."

FIGURES = ("accuracy", "gain", "95% interval", "cross-fitted")
"""Columns of the table of shortcuts."""


def notes(done: Audit) -> str:
    """Sentences below the table of an audit."""
    return " ".join(filter(None, [TABLE_NOTE, CROSS_NOTE if _crossed(done) else ""]))


def shortcut_table(audits: Sequence[Audit]) -> TextTable:
    """One row per shortcut: accuracy and gain; before and after a remedy if there are two audits."""
    moments = ("before ", "after ") if len(audits) == 2 else ("",)
    headings = FIGURES[:2] if len(audits) == 2 else _headings(audits[0])
    found = [{gain.shortcut.name: gain for gain in done.gains} for done in audits]
    lines = [
        (name, *(cell for gains in found for cell in _cells(gains.get(name), len(headings))))
        for name in dict.fromkeys(name for gains in found for name in gains)
    ]
    rest = [""] * (len(headings) - 1)
    lines.append(("chance", *(cell for done in audits for cell in (_chance(done), *rest))))
    return TextTable.of(("shortcut", *(f"{moment}{heading}" for moment in moments for heading in headings)), lines)


def comparison_table(compared: Comparison) -> TextTable:
    """One row per report probe: accuracy before and after, and the change of its distance from chance."""
    lines = [
        (
            one.name,
            percent(one.before, 1),
            percent(one.after, 1),
            points(one.change),
            f"{points(one.low)} to {points(one.high)}",
        )
        for one in compared.probes
    ]
    mean = compared.mean
    lines.append(("chance", percent(mean.chance, 1), percent(mean.chance_after, 1), "", ""))
    return TextTable.of(("report probe", "before", "after", "distance from chance", "95% interval"), lines)


_LEFT, _RIGHT = '<td style="text-align:left">', '<td style="text-align:right">'


def gain_table(done: Audit) -> str:
    """The HTML table of an audit, with a bar of each shortcut's gain over random guessing."""
    widest = max([0.01, *(one.estimate.high for one in done.gains)])
    headings = _headings(done)
    rows = [_html_row(gain, _cells(gain, len(headings)), _bar(gain, widest)) for gain in done.gains]
    chance = f"{_LEFT}chance{_LEFT}{_RIGHT}{_chance(done)}{'<td>' * len(headings)}"
    return _html_table(("shortcut", "sees", *headings, ""), [*rows, f"<tr>{chance}</tr>"])


def change_table(before: Audit, after: Audit) -> str:
    """The HTML table of a remedy: accuracy and gain of each shortcut before and after, and the change of the gain."""
    found = [{gain.shortcut.name: gain for gain in done.gains} for done in (before, after)]
    rows = []
    for name in dict.fromkeys([*found[0], *found[1]]):
        pair = [gains[name] for gains in found if name in gains]
        shown = [_cells(gains.get(name), 2) for gains in found]
        change = points(pair[1].estimate.gain - pair[0].estimate.gain) if len(pair) == 2 else ""
        figures = [*(f"{one} ({gain.strip()})" if one else "" for one, gain in shown), change]
        rows.append(_html_row(pair[0], figures, title=" / ".join(gain.sentence for gain in pair)))
    chances = "".join(f"{_RIGHT}{_chance(done)}" for done in (before, after))
    headings = ("shortcut", "sees", "accuracy (gain) before", "accuracy (gain) after", "change of gain")
    return _html_table(headings, [*rows, f"<tr>{_LEFT}chance{_LEFT}{chances}<td></tr>"])


def _html_table(headings: Iterable[str], rows: Iterable[str]) -> str:
    return f"<table><thead><tr><th>{'<th>'.join(headings)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _html_row(gain: Gain, figures: Iterable[str], rest: str = "", title: str = "") -> str:
    sees, cells = gain.shortcut.sees, "".join(f"{_RIGHT}{cell}" for cell in figures)
    dot = f'<span style="color:{sees.colour}">&#9679;</span>'
    names = f"{_LEFT}{escape(gain.shortcut.name)}{_LEFT}{dot} {escape(sees.label)}"
    return f'<tr title="{escape(title or gain.sentence)}">{names}{cells}{rest}</tr>'


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


def _cells(gain: Gain | None, columns: int) -> list[str]:
    """The first of FIGURES of a shortcut; empty if it was not run."""
    if gain is None:
        return [""] * columns
    found, again = gain.estimate, gain.cross_fitted
    reached = [f"{100 * found.accuracy:.1f}", f"{points(found.gain)}{'!' if gain.alarm else ' '}"]
    return [*reached, interval(vars(found)), "" if again is None else f"{100 * again.accuracy:.1f}"][:columns]


def ambiguity(figures: Mapping[str, Any]) -> str:
    """The share of decoys that are flagged as possibly correct, in a sentence."""
    found = figures["ambiguous_decoys"]
    reasons = [f"{reason} {percent(share, 1)}" for reason, share in found["reasons"].items() if share]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    flagged = percent(found["share"], 1) if found["share"] else "none"
    return f"Our filters flag {flagged} of {found['decoys']:,} decoys as possibly correct{listed}."
