"""``hf_vqa_mc.compare`` and ``vqa-mc compare``: two or more runs on the same questions, side by side."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.tables import check_suffix, csv_bytes, frame_bytes

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.comparison import Comparison, Line

FORMATS = (".md", ".csv", ".json", ".html")
ROW_FORMATS = (".csv", ".json", ".parquet")


@settings
class CompareSettings:
    """Compare two or more runs on the questions that all of them have.

    Each run has its mean score; against the baseline, the paired difference, the questions gained and lost, and tests.
    Intervals are clustered by image.
    """

    runs: tuple[Path, ...] = option(
        "Folders of vqa-mc evaluate, or files of vqa-mc score --per-question --output FILE. The first one is the "
        "baseline that the others are compared with.",
        kw_only=False,
    )
    input: str | None = option(
        "Input of vqa-mc evaluate to compare; by default full, else the first of each run.", default=None
    )
    metric: str | None = option(
        "Metric of vqa-mc score to compare; by default mc_accuracy with a folder of vqa-mc evaluate, else the first.",
        default=None,
    )
    by: tuple[str, ...] = option(
        "Break down by columns of the baseline's rows.parquet, crossed, such as question_type,leaked.",
        default=(),
        separator=",",
    )
    items: Path | None = option(
        "File for the questions, .csv, .json or .parquet: each run's score and pick, whether it changed against the "
        "baseline, difficulty, discrimination, and labels that may be wrong (with four or more runs).",
        default=None,
    )
    output: Path | None = option(
        "File for the results, by its suffix: .md, .csv, .json, or .html (a leaderboard).",
        default=None,
    )
    overwrite: bool = overwrite_option()

    def __post_init__(self) -> None:
        """Check the options."""
        check_options(self)
        for path, flag, formats in ((self.output, "--output", FORMATS), (self.items, "--items", ROW_FORMATS)):
            if path is not None:
                check_suffix(path, flag, formats)


@dataclass(frozen=True, eq=False, repr=False)
class CompareResult(OutputResult):
    """Two or more runs on the same questions."""

    comparison: "Comparison"
    settings: CompareSettings

    def report(self) -> Report:
        """What the runs share, a table with a line per run, the breakdown, notes, and the files."""
        from hf_vqa_mc.report.comparison import explanations, heading, text_tables

        tables = text_tables(self.comparison)
        yield ", ".join(f"{name}: {text}" for name, text in heading(self.comparison).items())
        for title, table in tables.items():
            if len(tables) > 1:
                yield title
            yield table
        yield from explanations(self.comparison)
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
        from hf_vqa_mc.report.comparison import text_tables

        return "\n".join(table.to_markdown() for table in text_tables(self.comparison).values())

    @property
    def _inputs(self) -> tuple[Path, ...]:
        return self.settings.runs

    def _content(self, path: Path) -> bytes:
        """The content of a file: .md, .csv, .json or .html."""
        from hf_vqa_mc.report.comparison import comparison_html, text_tables

        suffix = check_suffix(path, "path", FORMATS)
        if suffix == ".json":
            return super()._content(path)
        if suffix == ".csv":
            return csv_bytes(self.to_pandas())
        if suffix == ".html":
            return comparison_html(self.comparison, text_tables(self.comparison)).encode()
        return self.to_markdown().encode()


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


@verb(
    CompareSettings,
    "vqa-mc compare vqa_mc_evaluations/iqa vqa_mc_evaluations/iq --by question_type --output leaderboard.html",
    "vqa-mc compare baseline.json model.json --items items.csv",
)
def compare(settings: CompareSettings, progress: Progress) -> CompareResult:
    """Compare runs.

    Returns:
        The comparison; written to ``output`` and ``items`` if given.

    Raises:
        InputError: a run cannot be read, or the runs are of different benchmarks or have no question in common.
    """
    from hf_vqa_mc.evaluation.comparison import Comparison, read_runs
    from hf_vqa_mc.io.atomic import write_together
    from hf_vqa_mc.io.outputs import check_output_files

    outputs = {"--output": settings.output, "--items": settings.items}
    check_output_files(outputs, settings.runs, settings.overwrite)
    progress("reading runs", 0, 1)
    runs = read_runs(settings.runs, settings.input, settings.metric)
    done = CompareResult(Comparison(runs, settings.by), settings)
    progress("reading runs", 1, 1)
    contents: dict[Path, bytes] = {}
    if settings.output is not None:
        contents[settings.output] = done._content(settings.output)
    if settings.items is not None:
        contents[settings.items] = frame_bytes(done.items, settings.items.suffix)
    write_together(contents, settings.overwrite)
    return replace(done, written=tuple(contents))
