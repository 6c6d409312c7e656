"""``hf_vqa_mc.audit`` and ``vqa-mc audit``: which shortcuts solve a multiple-choice benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.settings import AUDITED, ProbeSettings
from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import AUDITS, check_report_folder
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, overwrite_option, settings, subset, verb
from hf_vqa_mc.result import FAILED, Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.audits.comparison import Check
    from hf_vqa_mc.audits.shortcut import Gain


@settings
class AuditSettings(ProbeSettings, BenchmarkOptions):
    """Find the shortcuts that solve a multiple-choice benchmark without the image, the question, or both.

    Heuristics (longest choice, first choice, most frequent answer ...) and trained probes are compared with random
    guessing. Probes are fitted on the training split, or by cross-validation if there is none.
    """

    output: Path | None = option(
        "Folder of report.html, audit.json and rows.parquet; by default vqa_mc_audit/NAME for the command.",
        default=None,
        cli_default=lambda given: AUDITS / folder_name(given["dataset"], given.get("config"), given.get("split")),
    )
    overwrite: bool = overwrite_option()
    fail_above: float | None = option(
        "Exit with code 3 if the 95% interval of a shortcut's gain over random guessing is above this fraction, such "
        "as 0.05.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.05", lambda value: 0 <= value < 1),
    )
    against: Path | None = option(
        "audit.json of an earlier release of the benchmark: report what changed.",
        default=None,
    )
    fail_on_regression: float | None = option(
        "With --against: exit with code 3 if a shortcut's gain rose by more than this fraction, such as 0 or 0.02: "
        "its 95% interval must be above the earlier one by that much.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.02", lambda value: 0 <= value < 1),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fail_on_regression is not None and self.against is None:
            raise InputError("--fail-on-regression needs --against FILE, the audit.json of an earlier release")


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(OutputResult):
    """The shortcuts of a benchmark, its findings, and the verdict."""

    audit: "Audit"
    settings: AuditSettings
    earlier: Mapping[str, Any] | None = None  #: content of ``against``

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All figures as fractions, as in audit.json."""
        return self.audit.as_json()

    @property
    def verdict(self) -> str:
        """Whether shortcuts solve the benchmark, in sentences."""
        return str(self.figures["verdict"])

    @property
    def shortcuts(self) -> Frame:
        """The rows of `to_pandas` that are significantly above chance, strongest first."""
        found = self.to_pandas()
        return found[found["alarm"].astype(bool)].reset_index(drop=True)

    @cached_property
    def changes(self) -> "list[Check]":
        """What changed since ``against``."""
        from hf_vqa_mc.audits.comparison import compare

        return [] if self.earlier is None else compare(self.earlier, self.figures)

    @property
    def regressions(self) -> list[str]:
        """The shortcuts whose gain rose by more than ``fail_on_regression`` since ``against``."""
        from hf_vqa_mc.audits.comparison import regressions

        if self.earlier is None or self.settings.fail_on_regression is None:
            return []
        return regressions(self.earlier, self.figures, self.settings.fail_on_regression)

    @property
    def exceeding(self) -> "list[Gain]":
        """The shortcuts whose 95% interval lies above ``fail_above``."""
        from hf_vqa_mc.audits.shortcut import exceeding

        return [] if self.settings.fail_above is None else exceeding(self.audit.gains, self.settings.fail_above)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a shortcut exceeds ``fail_above`` or ``fail_on_regression``."""
        return FAILED if self.exceeding or self.regressions else 0

    def report(self) -> Report:
        """The table of shortcuts, the verdict, findings, files, and the command for a remedy."""
        from hf_vqa_mc.report.audit_folder import ambiguity, next_steps, shortcut_table

        figures = self.figures
        yield f"{self.audit.benchmark.test.location}: {counted(figures['rows'], 'row')}"
        yield from shortcut_table(self.audit)
        yield from (check.line for check in self.changes)
        if figures["read_as"]:
            yield f"columns: {figures['read_as']}"
        lines = [figures["verdict"], figures["caveat"], *(finding["sentence"] for finding in figures["findings"])]
        missing = {one["name"]: one["reason"].partition("; ")[2] for one in figures["not_run"]}  # else in the verdict
        lines += [ambiguity(figures), *(f"To test {name}: {advice}." for name, advice in missing.items() if advice)]
        lines += [f"Left out: {name}: {reason}" for name, reason in figures["skipped_splits"].items()]
        yield from (f"\n{line}" for line in lines if line)
        yield from (f"\nwrote {path}" if path == self.written[0] else f"wrote {path}" for path in self.written)
        if exceeding := self.exceeding:
            named = ", ".join(f"{one.name} ({100 * one.estimate.low:.1f} or more)" for one in exceeding)
            yield f"gain above {100 * (self.settings.fail_above or 0):g} points: {named}"
        if regressions := self.regressions:
            yield f"regressions since {self.settings.against}: {', '.join(regressions)}"
        yield from next_steps(self.settings, self.audit)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in audit.json; fractions."""
        changes = {} if self.earlier is None else {"changes": [check._asdict() for check in self.changes]}
        return {**self.figures, **changes, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per shortcut: name, accuracy, gain over random guessing and its 95% interval.

        Columns ``cross_fitted_*``: the same, fitted on other rows of the audited split, NaN where not computed.
        """
        return frame_of([gain.as_json() for gain in self.audit.gains])

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write report.html, audit.json and rows.parquet to a folder."""
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.report.audit_folder import next_steps, write_audit

        check_report_folder(Path(path), AUDITED, "output", self.settings.paths, overwrite)
        steps = next_steps(self.settings, self.audit, public_name)  # without folders of absolute paths
        changes = [check.line for check in self.changes]
        return write_audit(Path(path), self.audit, steps, overwrite, changes)


@verb(
    AuditSettings,
    "vqa-mc audit vqa_mc easyvqa_iou_qou",
    "vqa-mc audit benchmark.tsv --fail-above 0.05",
    "vqa-mc audit new.jsonl --against vqa_mc_audit/old/audit.json --fail-on-regression 0",
)
def audit(settings: AuditSettings, progress: Progress) -> AuditResult:
    """Audit a benchmark.

    Returns:
        The shortcuts with their gains, findings and verdict; written to ``output`` if given.

    Raises:
        InputError: the benchmark, word vectors or features cannot be used.
    """
    from hf_vqa_mc.data.reading import load

    earlier = None
    if settings.output is not None:
        others = [settings.against] if settings.against else []
        check_report_folder(settings.output, AUDITED, "--output", [*settings.paths, *others], settings.overwrite)
    if settings.against is not None:
        from hf_vqa_mc.audits.comparison import read_audit

        earlier = read_audit(settings.against)
    benchmark = load(settings, progress)
    from hf_vqa_mc.audits import auditing  # slow to import

    return AuditResult(auditing.audit(benchmark, subset(settings, ProbeSettings), progress), settings, earlier).saved(
        settings
    )
