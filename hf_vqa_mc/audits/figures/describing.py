"""Describe one dataset or two: all figures that apply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures import FIGURES
from hf_vqa_mc.audits.figures.figure import Figure, Found
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress


@dataclass(frozen=True, eq=False)
class Described:
    """What a figure finds in the described datasets."""

    figure: Figure
    found: list[Found | None]
    """by dataset; None where it does not apply"""
    reasons: list[str]
    """by dataset: why it does not apply, else "" """

    def sides(self, names: Sequence[str]) -> list[tuple[str, Found]]:
        """Names and findings for a chart."""
        return [(name, one or Found()) for name, one in zip(names, self.found, strict=True)]


@dataclass(frozen=True, eq=False)
class Description:
    """The figures of one dataset, or of two side by side."""

    names: list[str]
    notes: list[str]
    figures: list[Described]
    """those that apply to a dataset"""
    left_out: dict[str, str]
    """figure to the reason why it does not apply"""

    def as_json(self) -> dict[str, Any]:
        """All numbers and tables; fractions."""
        return {
            "datasets": self.names,
            "notes": self.notes,
            "figures": {
                one.figure.name: {
                    "title": one.figure.title,
                    "source": one.figure.source,
                    "description": one.figure.sentence,
                    "found": [found and vars(found) for found in one.found],
                }
                for one in self.figures
            },
            "left_out": self.left_out,
        }


def describe_data(datasets: Sequence[Data], names: Sequence[str], progress: Progress) -> Description:
    """Compute figures.

    Args:
        datasets: one or two.
        names: of `FIGURES`; empty for all.
        progress: called with (step, done, total).

    Raises:
        InputError: there is no such figure, or none applies.
    """
    chosen = [FIGURES.find(name) for name in names] or list(FIGURES.values())
    figures, left_out = [], {}
    for done, figure in enumerate(chosen):
        progress("figures", done, len(chosen))
        reasons = [figure.needs(data) for data in datasets]
        if all(reasons):
            left_out[figure.name] = "; ".join(dict.fromkeys(reasons))
            continue
        found = [None if reason else figure.compute(data) for data, reason in zip(datasets, reasons, strict=True)]
        figures.append(Described(figure, found, reasons))
    progress("figures", len(chosen), len(chosen))
    if not figures:
        raise InputError(f"no figure applies: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    titles = [data.short_name for data in datasets]
    if len(set(titles)) < len(titles):
        titles = [data.name for data in datasets]
    if len(set(titles)) < len(titles):
        titles = [f"{title} ({number})" for number, title in enumerate(titles, 1)]
    prefixes = [f"{title}: " if len(titles) > 1 else "" for title in titles]
    notes = [f"{prefix}{note}" for prefix, data in zip(prefixes, datasets, strict=True) for note in data.notes]
    return Description(titles, notes, figures, left_out)
