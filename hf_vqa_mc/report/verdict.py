"""One table of a benchmark before and after a remedy: in terminals, JSON, pages and notebooks."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow.compute as pc

from hf_vqa_mc.audits.findings import possibly_correct
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.remedies.judgement import FEW_GROUPS, IMPLAUSIBLE, Change, Comparison
from hf_vqa_mc.remedies.judging_probes import REPORT_PROBES
from hf_vqa_mc.report.plain_text import count, percent, points
from hf_vqa_mc.text.counted import counted

HEADINGS = ("", "before", "after")
FAR = 0.03  # distance from chance from which a report probe is named after a remedy
MOST_NAMED = 3  # probes named in a sentence
SIDES = {"before": ("before", "chance", "before_half"), "after": ("after", "chance_after", "after_half")}
"""Names of a `Change`'s accuracy, chance and half interval."""


Side: TypeAlias = dict[str, Any]
"""A figure before or after: its ``value``, and where known the ``half_interval`` (half of its 95% interval), the
``probe`` whose accuracy it is, and a ``remark``."""


class Figure(NamedTuple):
    """A row of the table; fractions, except for numbers of rows."""

    name: str
    before: Side | None
    after: Side | None
    text: Callable[[float], str] = percent  # formats a value

    @property
    def cells(self) -> tuple[str, str, str]:
        """The row as text."""
        return self.name, self._cell(self.before or {}), self._cell(self.after or {})

    def _cell(self, side: Side) -> str:
        spread = f" ± {percent(side['half_interval'])[:-1]}" if "half_interval" in side else ""
        shown = self.text(side["value"]) if side else ""
        return f"{shown}{spread}" + "".join(f" ({side[name]})" for name in ("probe", "remark") if name in side)


def judgement_figures(published: Benchmark, remedied: Benchmark, compared: Comparison | None) -> list[Figure]:
    """The rows of the table: of the evaluated split, and of the report probes if they could be run."""
    before, after = published.test.rows, remedied.test.rows
    flagged = []
    numbered = number_rows({"before": before, "after": after}).values()
    for rows, benchmark in zip(numbered, (published, remedied), strict=True):
        masks = possibly_correct(rows, benchmark.known_answers[benchmark.evaluated]).values()
        possible = np.logical_or.reduce(list(masks)).sum()
        flagged.append({"value": float(possible / max(int(rows.valid[:, 1:].sum()), 1))})
    published_rows = pc.index_in(after["question_id"].combine_chunks(), before["question_id"].combine_chunks())
    published_choices, choices = before["choices"].take(published_rows).to_pylist(), after["choices"].to_pylist()
    changed = sum(len(set(texts) - set(known)) for texts, known in zip(choices, published_choices, strict=True))
    found = [
        Figure("rows", {"value": len(before)}, {"value": len(after)}, count),
        Figure("decoys changed", None, {"value": changed / max(sum(map(len, choices)) - len(choices), 1)}),
        Figure("ambiguous decoys", flagged[0], flagged[1]),
    ]
    if compared is None:
        return found
    mean, kinds = compared.mean, dict[str, list[Change]]()
    judged = {"value": compared.judged}, {"value": compared.judged_after}
    found.append(Figure("rows judged by report probes", *judged, count))
    found.append(Figure("random guessing", {"value": mean.chance}, {"value": mean.chance_after}))
    for one in compared.probes:
        kinds.setdefault(one.name.rpartition(": ")[2], []).append(one)
    for kind, probes in kinds.items():
        old, new = (_strongest(probes, *names) for names in SIDES.values())
        found.append(Figure(f"{kind}: strongest probe", old, new))
    distances = (
        {"value": mean.before - mean.chance, "half_interval": mean.before_half},
        {"value": mean.after - mean.chance_after, "half_interval": mean.after_half},
    )
    found.append(Figure("mean distance from chance", *distances, lambda share: f"{percent(share)[:-1]} points"))
    if compared.implausible is not None:
        new_decoys: Side = {"value": compared.implausible, "half_interval": compared.implausible_half}
        new_decoys |= {"remark": "more than by chance"} if compared.less_plausible else {}
        found.append(Figure("new decoys in the least plausible tenth", {"value": IMPLAUSIBLE}, new_decoys))
    return found


def _strongest(probes: Sequence[Change], accuracy: str, chance: str, half: str) -> Side:
    """The probe that is farthest from chance, by the names of the figures of a `Change`."""
    best = max(probes, key=lambda one: abs(getattr(one, accuracy) - getattr(one, chance)))
    value, spread = getattr(best, accuracy), getattr(best, half)
    if value == getattr(best, chance) and spread == 0:
        return {"value": value, "remark": "exactly chance"}
    return {"value": value, "half_interval": spread, "probe": best.name.rpartition(": ")[0]}


def note(compared: Comparison | None) -> str:
    """What the table's figures are, in a sentence below it."""
    if compared is None:
        return ""
    sample = ""
    if compared.judged < compared.rows:
        sample = f" on a random sample of {compared.judged:,} of {compared.rows:,} rows, whole images or sets"
    before = "these rows as published" if compared.judged == compared.judged_after else "all published rows"
    tenth = " The least plausible tenth is that of the published decoys, so 10% are expected."
    return (
        f"Report probes took no part in the change; they see no image and were run once{sample}. Before: {before}. "
        f"±: half of the 95% interval, clustered by image.{'' if compared.implausible is None else tenth}"
    )


def measured(figures: Sequence[Figure], compared: Comparison | None) -> str:
    """The table and its note as text, for a dataset card; "" if nothing was judged."""
    found = (one.cells for one in figures if one.before is not None and one.text is not count)
    shown = "; ".join(f"{name}, before {before}, after {after}" for name, before, after in found)
    return f"Measured by vqa-mc remedy. {shown}. {note(compared)}" if compared else ""


def verdict(compared: Comparison | None, unjudged: str) -> str:
    """What the report probes find, in sentences."""
    if compared is None:
        return f"Not judged: {unjudged}."
    mean, harmed = compared.mean, compared.harmed
    result = "Worse than before." if mean.low > 0 else "No significant improvement."
    if compared.better:
        larger = f" on average, but {len(harmed)} of {counted(len(compared.probes), 'probe')} find a larger leak"
        result = f"Better{larger if harmed else ''}."
    distances = " → ".join(percent(one)[:-1] for one in (mean.before - mean.chance, mean.after - mean.chance_after))
    bounds = f"{points(mean.low)} to {points(mean.high)}"
    sentences = [
        f"{result} Mean distance from chance without the image: {distances} points (change {points(mean.change)}, 95% "
        f"interval {bounds})."
    ]
    if compared.few:
        sentences = [
            f"Too few rows for a verdict: {counted(compared.judged, 'row')} in {counted(compared.groups, 'group')} "
            f"(images, videos, contexts or closed sets); intervals hold from about {FEW_GROUPS} groups on."
        ]
    kinds = dict.fromkeys(one.name.rpartition(": ")[2] for one in compared.probes)
    exact = [kind for kind in kinds if all(one.exact for one in compared.probes if one.name.endswith(kind))]
    sentences += _listed("Exactly at chance by construction", exact)
    if compared.few:
        return " ".join(sentences)
    if harmed:
        moved = {
            one: f"{one.name} {percent(one.before)} → {percent(one.after)} ({points(one.change)} points)"
            for one in sorted(compared.probes, key=lambda one: one.change)
        }
        sentences += _listed("Nearer to chance", [text for one, text in moved.items() if one.high < 0])
        sentences += _listed("Farther from chance", [moved[one] for one in reversed(moved) if one.harmed])
    if compared.less_plausible:
        sentences.append(
            f"{percent(compared.implausible)} of the new decoys are in the least plausible tenth (10% are expected): "
            "people may exclude them without the image."
        )
    uses = {f"{probe.name}: {probe.sees.label}": probe.uses for probe in REPORT_PROBES}
    remaining = [
        f"{one.name} {percent(one.after)}" + (f" ({uses[one.name]})" if uses.get(one.name) else "")
        for one in compared.far(FAR)
    ]
    large = ""
    if compared.large:
        most, was = compared.large[0], max(abs(one.before - one.chance) for one in compared.probes)
        part = "Most of the" if 2 * abs(most.after - most.chance_after) > was else "A large"
        large = f"{part} leak remains: {percent(most.after)} where chance is {percent(most.chance_after)}. "
    return " ".join([*sentences, *_listed(f"{large}Still more than {100 * FAR:.0f} points from chance", remaining)])


def _listed(title: str, texts: Sequence[str]) -> list[str]:
    """A sentence with the first texts and the number of others; none without texts."""
    others = f" and {counted(len(texts) - MOST_NAMED, 'other')}" if len(texts) > MOST_NAMED else ""
    return [f"{title}: {'; '.join(texts[:MOST_NAMED])}{others}."] if texts else []
