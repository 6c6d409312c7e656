"""Comparisons of runs as tables of text and as a page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.evaluation.comparison import Comparison, Line, Paired
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable

RUN, INPUT = "run", "input"
MOST_GROUPS = 40  # maximum number of groups in a table, the largest; all are in JSON and CSV
SMALLEST_P = 0.001  # smaller p-values are not printed in full


def text_tables(done: Comparison) -> dict[str, TextTable]:
    """The tables in percent and percentage points, by their titles: all questions, and the breakdown."""
    found = {"All questions": _table(done, done.lines)}
    if done.by:
        sizes = {line.group: line.accuracy.rows for line in done.group_lines}
        largest = set(sorted(sizes, key=lambda group: -sizes[group])[:MOST_GROUPS])
        shown, more = [line for line in done.group_lines if line.group in largest], len(sizes) - len(largest)
        title = f"By {', '.join(done.by)}" + (f" ({counted(more, 'smaller group')} in JSON and CSV)" if more else "")
        found[title] = _table(done, shown, done.by)
    return found


def _table(done: Comparison, lines: list[Line], by: Sequence[str] = ()) -> TextTable:
    """A row per line, without columns that are empty."""
    groups = {name: [line.group[at] or "(none)" for line in lines] for at, name in enumerate(by)}
    if "label" in groups:  # with the letter of the choice
        named = ((one, one.isdecimal() and len(one) < 4) for one in groups["label"])
        groups["label"] = [f"{one} ({letter(int(one))})" if is_label else one for one, is_label in named]
    columns: dict[str, list[str]] = {**groups, RUN: [line.run for line in lines]}
    if len({run.compared for run in done.runs}) > 1:
        columns[INPUT] = [line.input or "" for line in lines]
    if by:
        columns["n"] = [f"{line.accuracy.rows:,}" for line in lines]
    columns["%"] = [line.accuracy.percent() for line in lines]
    texts: dict[str, Callable[[Paired], str]] = {
        "difference": lambda one: one.difference.points(),
        "gained": lambda one: f"{one.gained:,}",
        "lost": lambda one: f"{one.lost:,}",
        "p (Holm)": lambda one: f"<{SMALLEST_P}" if one.p_holm < SMALLEST_P else f"{one.p_holm:.3f}",
        "detectable": lambda one: f"{100 * one.detectable:.1f}" if one.detectable and not by else "",
    }
    against = [line.against_baseline for line in lines]
    columns |= {name: [text(one) if one else "" for one in against] for name, text in texts.items()}
    kept = {name: cells for name, cells in columns.items() if any(cells)}
    return TextTable(kept, (RUN, INPUT, *groups))


def explanations(done: Comparison) -> list[str]:
    """Sentences below the tables."""
    against = [line.against_baseline for line in done.lines]
    is_binary = all(one is None or one.p_mcnemar is not None for one in against)
    test = "the larger of McNemar's exact test and " if is_binary else ""
    return [
        f"Percent and 95% intervals, clustered by image; difference, gained and lost: against {done.baseline.name}."
        + (" n: number of questions." if done.by else ""),
        f"p (Holm): {test}Student's t-test of the clustered differences, adjusted for all comparisons of the table. "
        "Detectable: difference that would be found with a probability of 80%.",
        *done.notes,
        f"{counted(int(done.is_changed.sum()), 'question')} changed.",
    ]


def heading(done: Comparison) -> dict[str, str]:
    """What the runs share, by name."""
    benchmark = (done.baseline.benchmark[name] for name in ("dataset", "config", "split"))
    facts = {
        "benchmark": " ".join(filter(None, benchmark)),
        "questions": count(len(done.scores)),
        "input": ", ".join(dict.fromkeys(run.compared for run in done.runs if run.compared)),
        "metric": done.baseline.metric,
        "chance": "" if done.chance is None else percent(done.chance),
        "baseline": done.baseline.name,
    }
    return {name: text for name, text in facts.items() if text}


def comparison_html(done: Comparison, tables: Mapping[str, TextTable]) -> str:
    """The leaderboard: self-contained, deterministic, and safe with malicious names; the best run comes first."""
    values: dict[str, Any] = {
        "facts": {name: plain(text, 120) for name, text in heading(done).items()},
        "lines": sorted(done.lines, key=lambda line: -line.accuracy.mean),
        "chance": done.chance,
        "tables": [
            table_values(title, table.columns, zip(*table.columns.values(), strict=True), table.texts)
            for title, table in tables.items()
        ],
        "notes": [plain(note) for note in explanations(done)],
    }
    return rendered("comparison.html.jinja", values)
