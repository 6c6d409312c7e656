"""The folder of a remedy: a page with its judgement, and all figures as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.io.atomic import json_bytes
from hf_vqa_mc.io.redaction import public_name, without_folders
from hf_vqa_mc.remedies.judgement import Comparison
from hf_vqa_mc.remedies.remedied import in_words
from hf_vqa_mc.report.audit_folder import REPORT
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain, points
from hf_vqa_mc.report.report import chart
from hf_vqa_mc.report.verdict import HEADINGS, SIDES, Figure, note
from hf_vqa_mc.result import Step
from hf_vqa_mc.version import __version__

FIGURES = "report.json"
MOST_CHANGES = 100  # changed decoys listed on the page
LEAK_ROWS, LEAK_HEADINGS = 8, ("--coverage", "questions", "gain")  # table of coverage and leak
CHANGE_HEADINGS = {
    "question id": "question_id",
    "question": "question",
    "correct": "target",
    "old decoy": "old",
    "new decoy": "new",
    "reason": "reason",
}


def report_contents(
    published: Benchmark,
    remedied: Benchmark,
    table: Sequence[Figure],
    compared: Comparison | None,
    figures: Mapping[str, Any],
    steps: Sequence[Step],
) -> dict[str, bytes]:
    """The files of the folder by name; ``table`` is of `judgement_figures`, ``figures`` of `RemedyResult.to_dict`."""
    public = without_folders(dict(figures), published.dataset)
    statistics = public["remedy"]
    facts = {
        "config": " → ".join(filter(None, dict.fromkeys((published.config, remedied.config)))),
        "split": remedied.evaluated,
    }
    tables = [table_values("Before and after", HEADINGS, [one.cells for one in table], ("",), note(compared))]
    if curve := statistics.get("closed_sets", {}).get(remedied.evaluated, {}).get("leak_curve"):
        points_of = curve["points"][::-1][:: -(-len(curve["points"]) // LEAK_ROWS)][::-1]
        rows = [(f"{one['coverage']:.3f}", count(one["rows"]), points(one["gain"])) for one in points_of]
        lead = (
            "Gain: estimated accuracy of question and choices minus chance in points, if the sets that leak least are "
            f"kept first; a larger model can gain more. Kept: {percent(curve['kept']['coverage'])} of the questions, "
            f"{points(curve['kept']['gain'])} points."
        )
        tables.append(table_values("Coverage and leak of the closed answer sets", LEAK_HEADINGS, rows, (), lead))
    if changes := statistics.get("changes"):
        listed = [[one[name] for name in CHANGE_HEADINGS.values()] for one in changes[:MOST_CHANGES]]
        lead = f"{len(listed)} of {count(len(changes))}; {FIGURES} has all."
        tables.append(table_values("Changed decoys", list(CHANGE_HEADINGS), listed, CHANGE_HEADINGS, lead))
    values = {
        "title": plain(public_name(published.dataset), 120),
        "version": __version__,
        "facts": {name: plain(text, 120) for name, text in facts.items() if text},
        "mean": compared and compared.mean,
        "judgement": plain(public["judgement"], 1000),
        "notes": [plain(one) for one in without_folders([*in_words(statistics), *published.notes], published.dataset)],
        "chart": chart({side: _bars(compared, *names) for side, names in SIDES.items()}),
        "tables": tables,
        "steps": steps,
    }
    return {REPORT: rendered("remedy.html.jinja", values).encode(), FIGURES: json_bytes(public, indent=1)}


def _bars(compared: Comparison | None, accuracy: str, chance: str, half: str) -> list[dict[str, Any]]:
    """The report probes before or after, by the names of the figures of a `Change`, as rows of `chart`."""
    rows = []
    for one in compared.probes if compared else ():
        gain = getattr(one, accuracy) - getattr(one, chance)
        result = "; worse" if one.harmed else "; better" if one.high < 0 else ""
        rows.append(
            {
                "name": one.name,
                "inputs": next(inputs for inputs in ProbeInputs if one.name.endswith(inputs.label)),
                "accuracy": getattr(one, accuracy),
                "gain": gain,
                "low": gain - getattr(one, half),
                "high": gain + getattr(one, half),
                "alarm": True,  # in the colour of its side
                "sentence": f"{accuracy.capitalize()}: {percent(getattr(one, accuracy))}.",
                "about": f"distance {points(one.change)} ({points(one.low)} to {points(one.high)}){result}",
            }
        )
    return rows
