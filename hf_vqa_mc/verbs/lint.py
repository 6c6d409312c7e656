"""``hf_vqa_mc.lint`` and ``vqa-mc lint``: faults of single rows of a benchmark, with their locations."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, printable
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, output_file, overwrite_option, settings
from hf_vqa_mc.result import FAILED, Frame, OutputResult, Report, verb
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable, frame_bytes

if TYPE_CHECKING:
    from hf_vqa_mc.audits.checks import Linting


@settings
class LintSettings(BenchmarkOptions):
    """Check a multiple-choice benchmark for faulty rows: labels, choices, texts, images, leaks between splits.

    Rows at which vqa-mc audit stops are listed, too. Exits with code 3 if there are errors.
    """

    split: str | None = option("Split to check; by default all.", default=None)
    fail_on: Literal["error", "warning", "note", "never"] = option(
        "Lowest severity of an issue that makes the command exit with code 3.", default="error"
    )
    ignore: Path | None = option(
        "File of known issues, which are left out: one that --output or --json wrote, or any table with the columns "
        "check and question_id; entries that are not found again are reported.",
        default=None,
    )
    skip_images: bool = option("Do not read the images.", default=False)
    output: Path | None = output_file(
        "File for all issues with their locations, by its suffix: .csv, .jsonl, .json or .parquet.",
        ".csv",
        ".jsonl",
        ".json",
        ".parquet",
    )
    overwrite: bool = overwrite_option()


@dataclass(frozen=True, eq=False, repr=False)
class LintResult(OutputResult):
    """The issues of a benchmark."""

    linting: "Linting"

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if there are issues of the severity ``fail_on``, or a higher one."""
        from hf_vqa_mc.audits.checks.check import SEVERITIES

        if self.settings.fail_on == "never":
            return 0
        failing = SEVERITIES[: SEVERITIES.index(self.settings.fail_on) + 1]
        return FAILED if any(check.severity in failing for check in self.linting.counts()) else 0

    def report(self) -> Report:
        """A row per check with issues and the first location, what to do, stale known issues, and the file."""
        done, counts = self.linting, self.linting.counts()
        yield f"{done.dataset}: {counted(done.rows, 'row')} checked; columns: {done.read_as}"
        yield from done.notes
        if counts:
            firsts = {name: self._first(name) for name in (check.name for check in counts)}
            columns = {
                "severity": [check.severity for check in counts],
                "check": [check.name for check in counts],
                "issues": [f"{number:,}" for number in counts.values()],
                "first": [printable(firsts[check.name]) for check in counts],
            }
            yield TextTable(columns, ("severity", "check", "first"))
            yield from (f"{check.name}: {check.sentence}; {check.remedy}" for check in counts)
        else:
            yield "No issues."
        if done.ignored:
            yield f"{counted(done.ignored, 'known issue')} left out."
        if done.stale:
            yield (f"Of {self.settings.ignore}, {len(done.stale):,} entries were not found again, e.g. "
                   f"{done.stale[0]}; remove them.")  # fmt: skip
        yield from (f"wrote {path}" for path in self.written)

    def _first(self, check: str) -> str:
        """The location of a check's first issue."""
        import pyarrow.compute as pc

        issue = self.linting.issues.slice(pc.index(self.linting.issues["check"], check).as_py(), 1).to_pylist()[0]
        where = (
            "" if issue["row"] is None else f"{issue['split']}, row {issue['row']}, question {issue['question_id']}"
        )
        return ": ".join(filter(None, [where, issue["detail"]]))

    def to_dict(self) -> dict[str, Any]:
        """All issues with their locations, and the number of each check's."""
        done = self.linting
        return {
            "dataset": done.dataset,
            "rows": done.rows,
            "read_as": done.read_as,
            "notes": done.notes,
            "counts": {check.name: number for check, number in done.counts().items()},
            "checks": {
                check.name: {"severity": check.severity, "sentence": check.sentence, "remedy": check.remedy}
                for check in done.counts()
            },
            "issues": done.issues.to_pylist(),
            "ignored": done.ignored,
            "stale": done.stale,
            "failed": self.exit_code != 0,
        }

    def to_pandas(self) -> Frame:
        """One row per issue: check, severity, split, row (from 1), question_id, detail."""
        import pandas as pd

        frame: pd.DataFrame = self.linting.issues.to_pandas()
        return frame.astype({"row": "Int64"})

    def _content(self, suffix: str) -> bytes:
        return frame_bytes(self.to_pandas(), suffix)


@verb(
    LintSettings,
    "vqa-mc lint benchmark.parquet",
    "vqa-mc lint vqa_mc cocoqa_iou_qou --ignore known.csv --fail-on warning",
)
def lint(settings: LintSettings, progress: Progress) -> LintResult:
    """The issues; written to ``output`` if given.

    Raises:
        InputError: the dataset is no multiple-choice benchmark, most rows of a split cannot be read, or the list of
            known issues cannot be used.
    """
    from hf_vqa_mc.audits.checks import lint_benchmark, read_known
    from hf_vqa_mc.data.loading import NoChoices

    known = None if settings.ignore is None else read_known(settings.ignore)
    try:
        linting = lint_benchmark(settings, known, settings.skip_images, progress)
    except NoChoices as error:
        raise InputError(
            f"{error}; of open-ended questions vqa-mc describe shows repeated rows, and rows in two splits"
        ) from error
    return LintResult(settings, linting)
