"""One table of a benchmark before and after a remedy: in terminals, JSON, pages and notebooks."""

from collections.abc import Callable, Iterable
from html import escape
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.ambiguity import possibly_correct
from hf_vqa_mc.audits.rows import Rows, number_rows, without_wide_rows
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.remedies.judgement import IMPLAUSIBLE, Change, Comparison
from hf_vqa_mc.remedies.judging_probes import REPORT_PROBES
from hf_vqa_mc.report.plain_text import count, percent, points
from hf_vqa_mc.text.tables import TextTable

HEADINGS = ("", "before", "after")
FAR = 0.03  # distance from chance from which a report probe is named after a remedy


class Side(NamedTuple):
    """A figure before or after."""

    value: float
    half_interval: float | None = None  # half of its 95% interval
    probe: str | None = None  # the probe whose accuracy it is


class Figure(NamedTuple):
    """A row of the table; fractions, except for numbers of rows."""

    name: str
    before: Side | None
    after: Side | None
    text: Callable[[float], str] = percent  # formats a value

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


def judgement_figures(published: Benchmark, remedied: Benchmark, compared: Comparison | None) -> list[Figure]:
    """The rows of the table: of the evaluated split, and of the report probes if they could be run."""
    before, after = published.test.rows, remedied.test.rows
    narrow = {side: without_wide_rows(one).test.rows for side, one in (("before", published), ("after", remedied))}
    numbered = number_rows(narrow)
    flagged = [Side(_ambiguous(numbered[side], table["answers"])) for side, table in narrow.items()]
    found = [
        Figure("rows", Side(len(before)), Side(len(after)), count),
        Figure("decoys changed", None, Side(new_decoys(before, after))),
        Figure("ambiguous decoys", flagged[0], flagged[1]),
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


def new_decoys(before: pa.Table, after: pa.Table) -> float:
    """The share of the decoys after a remedy that their row did not have before."""
    ids, rows = (table["question_id"].combine_chunks() for table in (before, after))
    old = before["choices"].take(pc.index_in(rows, ids)).to_pylist()
    new = after["choices"].to_pylist()
    changed = sum(len(set(texts) - set(known)) for texts, known in zip(new, old, strict=True))
    return changed / max(sum(map(len, new)) - len(new), 1)


def _ambiguous(rows: Rows, answers: pa.ChunkedArray) -> float:
    """The share of decoys that are possibly correct."""
    flagged = np.logical_or.reduce(list(possibly_correct(rows, answers.combine_chunks(), None).values()))
    return float(flagged.sum() / max(int(rows.valid[:, 1:].sum()), 1))


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
        found += f" Worse than before: {'; '.join(worse)}."
    elif mean.low > 0:
        found += " That is worse than before."
    elif not compared.better:
        found += " That is no significant improvement."
    return found + _remaining(compared)


def _remaining(compared: Comparison) -> str:
    """The probes that are significantly more than FAR from chance after a remedy, and what they use."""
    uses = {f"{probe.name}: {probe.sees.label}": probe.uses for probe in REPORT_PROBES}
    far = [one for one in compared.probes if abs(one.after - one.chance_after) > max(FAR, one.after_half)]
    named = [
        f"{one.name} {percent(one.after)}" + (f" ({uses[one.name]})" if uses.get(one.name) else "") for one in far
    ]
    return f" Still more than {100 * FAR:.0f} points from chance: {'; '.join(named)}." if named else ""


def text_table(figures: Iterable[Figure]) -> TextTable:
    """The table in a terminal, with the names of probes below their accuracies."""
    return TextTable.of(HEADINGS, [[cell.replace(" (", "\n(", 1) for cell in one.cells] for one in figures])


def html_table(figures: Iterable[Figure]) -> str:
    """The table in a notebook."""
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in one.cells) + "</tr>" for one in figures)
    heads = "".join(f"<th>{name}</th>" for name in HEADINGS)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
