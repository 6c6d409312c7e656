"""The result of a comparison of runs: tables of text, a page, and files of results and questions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.evaluation.comparison import Comparison, Line, Paired
from hf_vqa_mc.io.atomic import write_together
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable, csv_bytes, frame_bytes

RUN, INPUT = "run", "input"
MOST_GROUPS = 40  # maximum number of groups in a table, the largest; all are in JSON and CSV
SMALLEST_P = 0.001  # smaller p-values are not printed in full


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(OutputResult):
    """Two or more runs on the same questions."""

    comparison: Comparison

    def report(self) -> Report:
        """What the runs share, a table with a line per run, the breakdown, notes, and the files."""
        tables = self._tables()
        yield ", ".join(f"{name}: {text}" for name, text in self._heading().items())
        for title, table in tables.items():
            if len(tables) > 1:
                yield title
            yield table
        yield from self._explanations()
        yield from self.comparison.items.sentences() if self.settings.items else ()
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All figures; fractions."""
        return self.comparison.as_json()

    def to_pandas(self) -> Frame:
        """One row per run, then one per group and run, with a column for each column of the breakdown; fractions."""
        done = self.comparison
        rows = [{**dict.fromkeys(done.by, ""), **_figures(line)} for line in done.lines]
        rows += [{**dict(zip(done.by, line.group, strict=True)), **_figures(line)} for line in done.group_lines]
        return frame_of(rows).astype({"gained": "Int64", "lost": "Int64"})

    @property
    def items(self) -> Frame:
        """One row per question: id, type, score and pick of each run, ``changed``, and the question's statistics.

        ``accuracy`` over runs; ``discrimination``, the correlation of a question's score with that of the others;
        ``suspicion``, how far the better runs agree on another choice than the label, most suspected first.
        """
        return self.comparison.item_frame

    def to_markdown(self) -> str:
        """The tables in Markdown, in percent with one decimal."""
        return "\n".join(table.to_markdown() for table in self._tables().values())

    def _content(self, suffix: str) -> bytes:
        if suffix == ".csv":
            return csv_bytes(self.to_pandas())
        if suffix == ".json":
            return super()._content(suffix)
        return (self._page() if suffix == ".html" else self.to_markdown()).encode()

    def _save(self) -> Iterable[Path]:
        settings, contents = self.settings, dict[Path, bytes]()
        if settings.output is not None:
            contents[settings.output] = self._content(settings.output.suffix)
        if settings.items is not None:
            contents[settings.items] = frame_bytes(self.items, settings.items.suffix)
        write_together(contents, settings.overwrite)
        return contents

    def _tables(self) -> dict[str, TextTable]:
        """The tables in percent and percentage points, by their titles: all questions, and the breakdown."""
        done = self.comparison
        found = {"All questions": _table(done, done.lines)}
        if done.by:
            sizes = {line.group: line.accuracy.rows for line in done.group_lines}
            largest = set(sorted(sizes, key=lambda group: -sizes[group])[:MOST_GROUPS])
            lines, more = [line for line in done.group_lines if line.group in largest], len(sizes) - len(largest)
            rest = f" ({counted(more, 'smaller group')} in JSON and CSV)" if more else ""
            found[f"By {', '.join(done.by)}{rest}"] = _table(done, lines, done.by)
        return found

    def _heading(self) -> dict[str, str]:
        """What the runs share, by name."""
        done = self.comparison
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

    def _explanations(self) -> list[str]:
        """Sentences below the tables."""
        done = self.comparison
        against = [line.against_baseline for line in done.lines]
        is_binary = all(one is None or one.p_mcnemar is not None for one in against)
        test = "the larger of McNemar's exact test and " if is_binary else ""
        return [
            "Percent and 95% intervals, clustered by image; difference, gained and lost: against "
            f"{done.baseline.name}." + (" n: number of questions." if done.by else ""),
            f"p (Holm): {test}Student's t-test of the clustered differences, adjusted for all comparisons of the "
            "table. Detectable: difference that would be found with a probability of 80%.",
            *done.notes,
            f"{counted(int(done.is_changed.sum()), 'question')} changed.",
        ]

    def _page(self) -> str:
        """The leaderboard: self-contained, deterministic, and safe with malicious names; the best run comes first."""
        values: dict[str, Any] = {
            "facts": {name: plain(text, 120) for name, text in self._heading().items()},
            "lines": sorted(self.comparison.lines, key=lambda line: -line.accuracy.mean),
            "chance": self.comparison.chance,
            "tables": [table_values(title, table) for title, table in self._tables().items()],
            "notes": list(map(plain, self._explanations())),
        }
        return rendered("comparison.html.jinja", values)


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


def _figures(line: "Line") -> dict[str, Any]:
    """The figures of a line, flat."""
    mean, paired = line.accuracy, line.against_baseline
    found: dict[str, Any] = {"run": line.run, "input": line.input or "", "metric": line.metric}
    found |= {"mean": mean.mean, "low": mean.low, "high": mean.high, "questions": mean.rows}
    if paired:
        change = paired.difference
        found |= {"difference": change.mean, "difference_low": change.low, "difference_high": change.high}
        found |= {name: value for name, value in vars(paired).items() if name != "difference"}
    return found
