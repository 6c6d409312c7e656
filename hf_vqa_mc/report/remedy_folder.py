"""The folder of a remedy: a page with its judgement, and all figures as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.io.atomic import json_bytes
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.io.redaction import public_name, without_folders
from hf_vqa_mc.remedies.harm import Change, Comparison
from hf_vqa_mc.remedies.remedied import in_words
from hf_vqa_mc.report.audit_folder import REPORT
from hf_vqa_mc.report.figures import chart
from hf_vqa_mc.report.judgement import HEADINGS, Figure, note
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain, points
from hf_vqa_mc.version import __version__

JUDGED = FolderKind("vqa-mc remedy --report")
FIGURES = "report.json"
MOST_CHANGES = 100
"""Changed decoys listed on the page."""
LEAK_ROWS = 8
"""Rows of the table of coverage and leak."""


def report_contents(
    published: Benchmark,
    remedied: Benchmark,
    table: Sequence[Figure],
    compared: Comparison | None,
    figures: Mapping[str, Any],
    commands: Mapping[str, str],
) -> dict[str, bytes]:
    """The files of the folder by name; deterministic.

    Args:
        published: the benchmark before the remedy.
        remedied: the benchmark after it.
        table: of `judgement_figures`.
        compared: the report probes.
        figures: of `RemedyResult.to_dict`, for the JSON file.
        commands: what to do next, by purpose.
    """
    public = without_folders(dict(figures), published.dataset)
    statistics = public["remedy"]
    facts = {
        "config": " → ".join(filter(None, dict.fromkeys((published.config, remedied.config)))),
        "split": remedied.evaluated,
        "probes": count(len(compared.probes)) if compared else "none",
    }
    sections = [
        table_values("Before and after", _columns(HEADINGS, [one.cells for one in table]), ("",), note(compared)),
        *_probe_table(compared),
        *_leak_table(statistics.get("closed_sets", {}).get(remedied.evaluated, {}).get("leak_curve")),
        *_change_table(statistics.get("changes", ())),
    ]
    values = {
        "title": plain(public_name(published.dataset), 120),
        "version": __version__,
        "facts": {name: plain(text, 120) for name, text in facts.items() if text},
        "mean": compared and compared.mean,
        "judgement": plain(public["judgement"], 1000),
        "notes": [plain(one) for one in without_folders([*in_words(statistics), *published.notes], published.dataset)],
        "chart": chart({side: _bars(compared, side) for side in ("before", "after")}),
        "tables": sections,
        "commands": commands,
    }
    page = rendered("remedy.html.jinja", values)
    return {REPORT: page.encode(), FIGURES: json_bytes(public, indent=1)}


def _columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    return {name: [row[at] for row in rows] for at, name in enumerate(heads)}


def _bars(compared: Comparison | None, side: str) -> list[dict[str, Any]]:
    """The report probes before or after as rows of `figures.chart`."""

    def row(one: Change) -> dict[str, Any]:
        accuracy, chance, half = (
            (one.before, one.chance, one.before_half)
            if side == "before"
            else (one.after, one.chance_after, one.after_half)
        )
        gain = accuracy - chance
        return {
            "name": one.name,
            "inputs": next(inputs for inputs in ProbeInputs if one.name.endswith(inputs.label)),
            "accuracy": accuracy,
            "gain": gain,
            "low": gain - half,
            "high": gain + half,
            "alarm": True,  # in the colour of its side
            "sentence": f"{side.capitalize()}: accuracy {percent(accuracy)}, {points(gain)} points from chance.",
        }

    return [row(one) for one in (compared.probes if compared else ())]


def _probe_table(compared: Comparison | None) -> list[dict[str, Any]]:
    if compared is None:
        return []
    rows = [
        (
            one.name,
            percent(one.before),
            percent(one.after),
            points(one.change),
            f"{points(one.low)} to {points(one.high)}",
            "worse" if one.harmed else "better" if one.high < 0 else "",
        )
        for one in compared.probes
    ]
    lead = (
        "Accuracy before and after, and the change of its distance from chance in points; intervals are corrected for "
        "the number of probes (Holm)."
    )
    heads = ("report probe", "before", "after", "change", "interval", "result")
    return [table_values("Each report probe", _columns(heads, rows), ("report probe",), lead)]


def _leak_table(curve: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Values for ``--coverage``, with the rows that they keep and the leak that is estimated then."""
    if curve is None:
        return []
    some = curve["points"][::-1][:: -(-len(curve["points"]) // LEAK_ROWS)][::-1]
    rows = [
        (f"{one['coverage']:.3f}", f"{one['max_leak']:.3f}", count(one["rows"]), points(one["gain"])) for one in some
    ]
    kept = curve["kept"]
    lead = (
        "Sets of similar questions are not exactly at chance once the question is known. Gain: estimated accuracy of "
        "question and choices minus chance in points, if the sets that leak least are kept first; a larger model can "
        f"gain more. Kept: {percent(kept['coverage'])} of the questions, {points(kept['gain'])} points."
    )
    heads = ("--coverage", "or --max-leak", "questions", "gain")
    return [table_values("Coverage and leak of the closed answer sets", _columns(heads, rows), (), lead)]


def _change_table(changes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The first changed decoys of a repair."""
    if not changes:
        return []
    rows = [[str(one[name]) for name in ("question_id", "old", "new", "origin", "reason")] for one in changes]
    heads = ("question id", "old", "new", "donor", "reason")
    shown = f"The first {MOST_CHANGES} of {count(len(rows))}; {FIGURES} has all." if len(rows) > MOST_CHANGES else ""
    return [table_values("Changed decoys", _columns(heads, rows[:MOST_CHANGES]), heads, shown)]
