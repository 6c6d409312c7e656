"""``hf_vqa_mc.results`` and ``vqa-mc results``: the results of several runs in one table."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.text.tables import TextTable, check_suffix, csv_bytes

if TYPE_CHECKING:
    from hf_vqa_mc.hub.run_results import RunResult

FORMATS = (".csv", ".json", ".md")
TEXTS = ("run", "dataset", "config", "tested", "split", "model", "settings", "metric")
"""Columns of text, on the left."""
PLAIN = ("split", "metric")
"""Columns of text that are not code in Markdown."""
IN_TABLE = {"run", "model", "%"}
"""Columns that are printed even if all rows share their content."""
ROW_NAMES = ("run", "tested")
"""Columns that name a row, in each table of a narrow terminal; the second if a run has several rows."""


@settings
class ResultsSettings:
    """Put the results of runs of vqa-mc train into one table: one row per run and tested split.

    A run that is not finished has a row without a score.
    """

    runs: tuple[Path, ...] = option("Folders of runs, or folders that contain runs at any depth.", kw_only=False)
    output: Path | None = option(
        "File to write the table to, by its suffix: .csv, .json, or .md (Markdown, in percent).", default=None
    )
    overwrite: bool = overwrite_option()

    def __post_init__(self) -> None:
        """Check the options."""
        check_options(self)
        if self.output is not None:
            check_suffix(self.output, "--output", FORMATS)


@dataclass(frozen=True, eq=False, repr=False)
class ResultsResult(Result):
    """The results of runs."""

    rows: "list[RunResult]"
    output: Path | None = None
    """file of the table; None if it was not written"""

    def report(self) -> Report:
        """The table in percent with 95% intervals, without empty columns; what all rows share is above it."""
        columns = self._columns()
        shared = {name for name, column in columns.items() if len(set(column)) == 1} - IN_TABLE
        yield from (f"{name}: {columns[name][0]}" for name in columns if name in shared)
        kept = {name: column for name, column in columns.items() if name not in shared}
        yield TextTable(kept, TEXTS, ROW_NAMES)
        if unfinished := sum(row.score is None for row in self.rows):
            yield f"without a result, since the run is not finished: {unfinished:,} of {len(self.rows):,} rows"
        if self.output is not None:
            yield f"wrote {self.output}"

    def to_dict(self) -> dict[str, Any]:
        """The rows, with fractions in [0, 1]."""
        return {"rows": [row.as_json() for row in self.rows]}

    def to_pandas(self) -> Frame:
        """One row per run and tested split: score with its 95% interval (low, high), and a column per answer type.

        Fractions in [0, 1]; settings as text.
        """
        records = []
        for row in self.rows:
            fields = row.as_json()
            fields["settings"] = _settings_text(row)
            low, high = fields.pop("interval") or (None, None)
            fields |= {"low": low, "high": high} | (fields.pop("other_metrics") or {})
            types = fields.pop("per_answer_type") or {}
            records.append(fields | {_own_name(name, fields): score for name, score in types.items()})
        return frame_of(records)

    def to_markdown(self) -> str:
        """The table in Markdown, in percent with 95% intervals, without empty columns."""
        columns = self._columns()
        if all(row.score is not None for row in self.rows):
            columns.pop("run")
        return TextTable(columns, TEXTS, ROW_NAMES).to_markdown(codes=set(TEXTS) - set(PLAIN))

    def _content(self, path: Path) -> bytes:
        """The content of a file: .csv, .json or .md."""
        content: dict[str, Callable[[], bytes]] = {
            ".csv": lambda: csv_bytes(self.to_pandas()),
            ".json": lambda: super(ResultsResult, self)._content(path),
            ".md": lambda: self.to_markdown().encode(),
        }
        return content[check_suffix(path, "path", FORMATS)]()

    def _columns(self) -> dict[str, list[str]]:
        """The cells of each column that is not empty, as text."""
        from hf_vqa_mc.scoring.table import percent, with_interval

        others = list(dict.fromkeys(name for row in self.rows for name in row.other_metrics or {}))
        types = list(dict.fromkeys(name for row in self.rows for name in row.per_answer_type or {}))
        taken = {*TEXTS, *others, "train rows", "%", "chance", "questions"}
        cells = [
            {
                **{name: getattr(row, name) for name in ("run", "dataset", "config", "tested", "split", "model")},
                "tested": row.tested if any(one.tested != one.config for one in self.rows) else "",
                "settings": _settings_text(row),
                "train rows": "" if row.train_rows is None else f"{row.train_rows:,}",
                "metric": row.metric or "",
                "%": row.status if row.score is None else with_interval(row.score, row.interval),
                "chance": percent(row.chance),
                **{name: percent((row.other_metrics or {}).get(name)) for name in others},
                **{_own_name(name, taken): percent((row.per_answer_type or {}).get(name)) for name in types},
                "questions": "" if row.questions is None else f"{row.questions:,}",
            }
            for row in self.rows
        ]
        columns = {name: [str(row[name]) for row in cells] for name in cells[0]}
        return {name: column for name, column in columns.items() if any(column)}


def _own_name(answer_type: str, taken: Collection[str]) -> str:
    """The column of an answer type, which must not replace another column."""
    return f"{answer_type} (answer type)" if answer_type in taken else answer_type


def _settings_text(row: "RunResult") -> str:
    """The changed settings of a run: name=value, ...; of a flag its name, of a model's settings their own names."""
    flat = {name: value for name, value in row.settings.items() if not isinstance(value, Mapping)}
    for value in row.settings.values():
        flat |= value if isinstance(value, Mapping) else {}
    return ", ".join(name if value is True else f"{name}={_value_text(value)}" for name, value in flat.items())


def _value_text(value: Any) -> str:  # noqa: ANN401  any JSON value
    if isinstance(value, list):
        return " ".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


@verb(
    ResultsSettings, "vqa-mc results runs --output results.md", "vqa-mc results runs/unbalanced runs/balanced --json"
)
def results(settings: ResultsSettings, progress: Progress) -> ResultsResult:
    """Read the results of runs.

    Returns:
        The table; written to ``output`` if given.

    Raises:
        InputError: a folder has no run, a run is damaged, or ``output`` exists or has another suffix.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.hub.run_results import run_results
    from hf_vqa_mc.io.outputs import check_output_file

    if not settings.runs:
        raise InputError("RUNS: expected one or more folders of runs")
    if settings.output is not None:
        check_output_file(settings.output, "--output", settings.runs, settings.overwrite)
    progress("reading runs", 0, 1)
    rows = run_results(settings.runs)
    progress("reading runs", 1, 1)
    found = ResultsResult(rows, settings.output)
    if settings.output is not None:
        found.save(settings.output, settings.overwrite)
    return found
