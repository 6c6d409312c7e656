"""The result of a remedy: its judgement in terminals, its page, the benchmark that it writes, and next steps."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.dataset.writing import check_output
from hf_vqa_mc.io.atomic import json_bytes, publish, publish_together, staged_files
from hf_vqa_mc.io.redaction import public_name, without_folders
from hf_vqa_mc.options import subset
from hf_vqa_mc.remedies.judgement import Comparison
from hf_vqa_mc.remedies.remedied import Remedied, in_words
from hf_vqa_mc.remedies.strategies import JUDGED, STRATEGIES, Strategy, recommended, strategy_of
from hf_vqa_mc.report.audit import evaluation, publication
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain, points
from hf_vqa_mc.report.report import chart
from hf_vqa_mc.report.verdict import HEADINGS, SIDES, judgement_figures, measured, note, verdict
from hf_vqa_mc.result import FAILED, Frame, OutputResult, Report, Step, frame_of
from hf_vqa_mc.text.tables import TextTable
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from datasets import DatasetDict

IMPLIED = ("variant", "guarantee")
"""Options that choose a strategy."""
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


@dataclass(frozen=True, eq=False, repr=False)
class RemedyResult(OutputResult):
    """A remedied benchmark, what was changed, and report probes before and after."""

    benchmark: Benchmark  #: the published benchmark
    made: Remedied
    comparison: Comparison | None  #: report probes before and after; None with too few groups of rows
    unjudged: str = ""  #: why there is no comparison

    @property
    def remedied(self) -> Benchmark:
        """The remedied benchmark."""
        return self.made.benchmark

    @property
    def statistics(self) -> dict[str, Any]:
        """What was changed."""
        return self.made.statistics

    @property
    def better(self) -> bool | None:
        """Whether report probes find less than before, and none finds more; None with too few groups of rows."""
        if self.comparison is None or self.comparison.few:
            return None
        return self.comparison.better and not self.comparison.harmed

    @property
    def may_write(self) -> bool:
        """Whether the benchmark is written: it is better, has a guarantee that was asked for, or with ``force``."""
        return bool(self.better or self._used.guarantees or self.settings.force)

    @property
    def _may_publish(self) -> bool:
        """Whether it is better, or has a guarantee and is no worse, and no large leak is left."""
        found = self.comparison
        if found is None or found.few or found.large or found.harmed:
            return False
        return bool(self.better or (self._used.guarantees and found.mean.change <= 0))

    @property
    def _used(self) -> Strategy:
        return strategy_of(self.settings, self.settings.strategy)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """`FAILED` if there is an output to which nothing is written."""
        return FAILED if self.settings.output is not None and not self.may_write else 0

    @cached_property
    def dataset(self) -> "DatasetDict":
        """The remedied rows in the benchmark's own columns, split by split."""
        return self.remedied.to_datasets()

    def report(self) -> Report:
        """The changes, the table of the benchmark before and after, the judgement, the files, and what to do next."""
        yield from in_words(self.statistics)
        yield from self.benchmark.notes
        yield ""
        yield TextTable.of(HEADINGS, [[cell.replace(" (", "\n(", 1) for cell in one.cells] for one in self._table])
        yield note(self.comparison)
        yield f"\n{self.judgement}\n"
        yield from (f"{name} is not in the remedied benchmark: {why}" for name, why in self.benchmark.left_out.items())
        yield from (f"wrote {path}" for path in self.written)
        if self.remedied.config != self.benchmark.config:
            yield f"config: {self.remedied.config} (was {self.benchmark.config})"
        if self.written:
            yield from self._next_steps()

    def to_dict(self) -> dict[str, Any]:
        """The changes, the table and report probes; fractions."""
        return {**self._figures, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per report probe: accuracy before and after, change of its distance from chance, and ``harmed``."""
        return frame_of([] if self.comparison is None else self.comparison.as_json()["probes"])

    @cached_property
    def changes(self) -> Frame:
        """One row per decoy that a repair changed: question, target, old and new text, origin and reason."""
        return frame_of(self.statistics.get("changes", []))

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the remedied benchmark to a file of its kind, or a folder that ``load_dataset`` reads."""
        check_output(self.settings.dataset, Path(path), overwrite)
        return publish(self.made.staged(self.benchmark, Path(path), overwrite, self._measured))

    def _save(self) -> Iterable[Path]:
        settings, staged = self.settings, []
        with contextlib.ExitStack() as stack:
            if settings.output is not None and self.may_write:
                output = self.made.staged(self.benchmark, settings.output, settings.overwrite, self._measured)
                staged.append(stack.enter_context(output))
            if settings.report is not None:
                report = staged_files(settings.report, JUDGED, self._files(), settings.overwrite)
                staged.append(stack.enter_context(report))
            publish_together(*(one for one, _ in staged))
        return [path for _, files in staged for path in files]

    @cached_property
    def _table(self) -> list[Any]:
        """The table of the benchmark before and after, see `judgement_figures`."""
        return judgement_figures(self.benchmark, self.remedied, self.comparison)

    @property
    def _measured(self) -> str:
        """The shortcuts before and after, for the card."""
        return measured(self._table, self.comparison)

    @property
    def _figures(self) -> dict[str, Any]:
        return {
            "remedy": self.statistics,
            "better": self.better,
            "judgement": self.judgement,
            "table": [{"name": one.name, "before": one.before, "after": one.after} for one in self._table],
            "report_probes": None if self.comparison is None else self.comparison.as_json(),
        }

    @property
    def judgement(self) -> str:
        """Whether the benchmark is better, and what follows, in sentences."""
        found, used, hint = verdict(self.comparison, self.unjudged), self._used.name, ""
        if self.stronger is not None and self.stronger.name != "best":
            given = " ".join(f"--{name.replace('_', '-')} {one}" for name, one in self.stronger.arguments.items())
            hint = f" {given or f'--strategy {self.stronger.name}'} is expected to remove more."
        elif used == "closed" and self.comparison and self.comparison.large:
            hint = " --guarantee question, or better word vectors (--word-vectors FILE), may remove more."
        elif used != "best" and (self.stronger or self.better is False):
            hint = " --strategy best compares strategies."
        if self.better:
            return found + hint
        if self.settings.output is not None and self.may_write:
            return f"Warning: {found}{hint}"
        unwritten = "" if self.settings.output is None else " The benchmark is not written; --force writes it anyway."
        return f"{found}{unwritten}{hint}"

    @cached_property
    def stronger(self) -> Strategy | None:
        """The strategy that is expected to do better where a large leak stays."""
        if self.comparison is None or not self.comparison.large or self._used.name in ("closed", "best"):
            return None
        suits, _ = recommended(self.benchmark.test, leak=1.0)  # more than a repair removes
        return STRATEGIES["best"] if suits is self._used else suits

    def _next_steps(self, name: Callable[[str], str] = str) -> Iterator[Step]:
        """What to do with the written benchmark; ``name`` makes the texts of paths."""
        output, dataset = self.settings.output, self.settings.dataset
        if output is None or not self.may_write:
            return
        read = subset(self.settings, BenchmarkOptions)
        if (stronger := self.stronger) is not None:
            inputs, options = read.arguments(name)
            other = output.with_name(f"{output.name.split('.')[0]}-{stronger.name}{''.join(output.suffixes)}")
            kept = {key: getattr(self.settings, key) for key in (*stronger.options, "seed") if key not in IMPLIED}
            kept = {key: name(str(one)) if isinstance(one, Path) else one for key, one in kept.items() if one}
            options |= {**stronger.arguments, **kept, "output": name(str(other))}
            yield Step("Remove more of the leak", "remedy", inputs, options)
        is_file = isinstance(dataset, str | Path) and Path(dataset).is_file() and bool(output.suffix)
        embedded = not is_file and self.remedied.has_all_images
        images, config = None if embedded else read.images, None if is_file else self.remedied.config
        inputs, given = replace(read, dataset=output, config=config, images=images).arguments(name)
        yield Step("Audit the result", "audit", inputs, given)
        yield evaluation(self.remedied, inputs, given)
        if self._may_publish:
            why = "Read new decoys; if people would not exclude them, publish it"
            unsure = self.comparison is not None and self.comparison.less_plausible
            for step in publication(self.remedied, output, given if is_file else {}, name):
                yield replace(step, why=why) if unsure else step

    def _files(self) -> dict[str, bytes]:
        """The files of the folder ``report``: a page with the judgement, and all figures as JSON."""
        dataset, compared = self.benchmark.dataset, self.comparison
        public = without_folders(self._figures, dataset)
        statistics, split = public["remedy"], self.remedied.evaluated
        facts = {
            "config": " → ".join(filter(None, dict.fromkeys((self.benchmark.config, self.remedied.config)))),
            "split": split,
        }
        shown = TextTable.of(HEADINGS, [one.cells for one in self._table])
        tables = [table_values("Before and after", shown, note(compared))]
        if curve := statistics.get("closed_sets", {}).get(split, {}).get("leak_curve"):
            points_of = curve["points"][::-1][:: -(-len(curve["points"]) // LEAK_ROWS)][::-1]
            rows = [(f"{one['coverage']:.3f}", count(one["rows"]), points(one["gain"])) for one in points_of]
            kept = f"{percent(curve['kept']['coverage'])} of the questions, {points(curve['kept']['gain'])} points"
            lead = (
                "Gain: estimated accuracy of question and choices minus chance in points, if the sets that leak least "
                f"are kept first; a larger model can gain more. Kept: {kept}."
            )
            leaks = TextTable.of(LEAK_HEADINGS, rows, texts=0)
            tables.append(table_values("Coverage and leak of the closed answer sets", leaks, lead))
        if changes := statistics.get("changes"):
            listed = [[one[name] for name in CHANGE_HEADINGS.values()] for one in changes[:MOST_CHANGES]]
            lead = f"{len(listed)} of {count(len(changes))}; {FIGURES} has all."
            decoys = TextTable.of(list(CHANGE_HEADINGS), listed, texts=len(CHANGE_HEADINGS))
            tables.append(table_values("Changed decoys", decoys, lead))
        notes = without_folders([*in_words(statistics), *self.benchmark.notes], dataset)
        values = {
            "title": plain(public_name(dataset), 120),
            "version": __version__,
            "facts": {name: plain(text, 120) for name, text in facts.items() if text},
            "mean": compared and compared.mean,
            "judgement": plain(public["judgement"], 1000),
            "notes": list(map(plain, notes)),
            "chart": chart({side: _bars(compared, *names) for side, names in SIDES.items()}),
            "tables": tables,
            "steps": list(self._next_steps(public_name)),
        }
        page = rendered("remedy.html.jinja", values)
        return {"report.html": page.encode(), FIGURES: json_bytes(public, indent=1)}


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
