"""One table of a benchmark before and after a remedy: in terminals, JSON, pages and notebooks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import pyarrow.compute as pc

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.remedies.harm import Change, Comparison
from hf_vqa_mc.remedies.judgement import IMPLAUSIBLE
from hf_vqa_mc.report.plain_text import count, percent, points
from hf_vqa_mc.text.tables import TextTable

HEADINGS = ("", "before", "after")
MOST_CHANGES = 100
"""Changed decoys listed on a page."""


class Side(NamedTuple):
    """A figure before or after."""

    value: float
    half_interval: float | None = None
    """half of its 95% interval"""
    probe: str | None = None
    """the probe whose accuracy it is"""


class Figure(NamedTuple):
    """A row of the table; fractions, except for numbers of rows."""

    name: str
    before: Side | None
    after: Side | None
    text: Callable[[float], str] = percent
    """formats a value"""

    def as_json(self) -> dict[str, Any]:
        """The row with what is known of each side."""
        sides = {"before": self.before, "after": self.after}
        known = {
            side: given and {name: one for name, one in given._asdict().items() if one is not None}
            for side, given in sides.items()
        }
        return {"name": self.name, **known}

    @property
    def cells(self) -> tuple[str, str, str]:
        """The row as text."""
        return self.name, self._cell(self.before), self._cell(self.after)

    def _cell(self, side: Side | None) -> str:
        if side is None:
            return ""
        spread = "" if side.half_interval is None else f" ± {100 * side.half_interval:.1f}"
        return f"{self.text(side.value)}{spread}{f' ({side.probe})' if side.probe else ''}"


def judgement_figures(before: Audit, after: Audit, compared: Comparison | None) -> list[Figure]:
    """The rows of the table: of both audits, and of the report probes if they could be run."""
    found = [
        Figure("rows", Side(len(before.rows)), Side(len(after.rows)), count),
        Figure("decoys changed", None, Side(new_decoys(before, after))),
        Figure("ambiguous decoys", Side(_ambiguous(before)), Side(_ambiguous(after))),
    ]
    if compared is None:
        return found
    mean, kinds = compared.mean, dict[str, list[Change]]()
    found.append(Figure("random guessing", Side(mean.chance), Side(mean.chance_after)))
    for one in compared.probes:
        kinds.setdefault(one.name.rpartition(": ")[2], []).append(one)
    for kind, probes in kinds.items():
        old = max(probes, key=lambda one: abs(one.before - one.chance))
        new = max(probes, key=lambda one: abs(one.after - one.chance_after))
        names = [one.name.rpartition(": ")[0] for one in (old, new)]
        sides = Side(old.before, old.before_half, names[0]), Side(new.after, new.after_half, names[1])
        found.append(Figure(f"{kind}: strongest probe", *sides))
    distances = (
        Side(mean.before - mean.chance, mean.before_half),
        Side(mean.after - mean.chance_after, mean.after_half),
    )
    found.append(Figure("mean distance from chance", *distances))
    if compared.implausible is not None:
        found.append(Figure("new decoys in the least plausible tenth", Side(IMPLAUSIBLE), Side(compared.implausible)))
    return found


def new_decoys(before: Audit, after: Audit) -> float:
    """The share of the decoys after a remedy that their row did not have before."""
    ids, rows = (audit.benchmark.test.rows["question_id"].combine_chunks() for audit in (before, after))
    kept = pc.index_in(rows, ids)
    old = before.benchmark.test.rows["choices"].take(kept).to_pylist()
    new = after.benchmark.test.rows["choices"].to_pylist()
    changed = sum(len(set(texts) - set(known)) for texts, known in zip(new, old, strict=True))
    return changed / max(sum(map(len, new)) - len(new), 1)


def note(compared: Comparison | None) -> str:
    """What the table's figures are, in a sentence below it."""
    if compared is None:
        return ""
    sample = ""
    if compared.judged < compared.rows:
        sample = f" on a random sample of {compared.judged:,} of {compared.rows:,} rows, whole images or sets"
    return (
        f"Report probes took no part in the change; they see no image and were run once{sample}. ±: half of the 95% "
        "interval, clustered by image. The least plausible tenth is that of the published decoys, so 10% are expected."
    )


def verdict(compared: Comparison | None, unjudged: str) -> str:
    """What the report probes find, in sentences."""
    if compared is None:
        return f"Not judged: {unjudged}."
    mean = compared.mean
    bounds = f"{points(mean.low)} to {points(mean.high)}"
    found = f"Mean distance from chance without the image: {points(mean.change)} points (95% interval {bounds})."
    if compared.harmed:
        worse = [f"{one.name} {percent(one.before)} → {percent(one.after)}" for one in compared.harmed]
        return f"{found} Worse than before: {'; '.join(worse)}."
    return found if compared.better else f"{found} That is no significant improvement."


def text_table(figures: Iterable[Figure]) -> TextTable:
    """The table in a terminal, with the names of probes below their accuracies."""
    return TextTable.of(HEADINGS, [[cell.replace(" (", "\n(", 1) for cell in one.cells] for one in figures])


def html_table(figures: Iterable[Figure]) -> str:
    """The table in a notebook."""
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in one.cells) + "</tr>" for one in figures)
    heads = "".join(f"<th>{name}</th>" for name in HEADINGS)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def page_values(
    figures: Sequence[Figure], compared: Comparison | None, judgement: str, changes: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The section of a page: the table, each report probe, and the first changed decoys."""
    probes = [
        (one.name, percent(one.before), percent(one.after), f"{points(one.low)} to {points(one.high)}")
        for one in (compared.probes if compared else ())
    ]
    return {
        "judgement": judgement,
        "cells": [one.cells for one in figures],
        "note": note(compared),
        "probes": probes,
        "changes": changes[:MOST_CHANGES],
        "n_changes": len(changes),
    }


def _ambiguous(audit: Audit) -> float:
    return float(audit.possibly_correct.sum() / max(int(audit.rows.valid[:, 1:].sum()), 1))
