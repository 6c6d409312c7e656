"""``hf_vqa_mc.audit`` and ``vqa-mc audit``: which shortcuts solve a multiple-choice benchmark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.settings import AUDITS, ProbeSettings
from hf_vqa_mc.benchmarks.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.options import (
    RUNNING,
    ExecutorOptions,
    option,
    overwrite_option,
    settings,
    subset,
    verb,
)
from hf_vqa_mc.result import FAILED, Result, in_html
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.audits.gains import Gain
    from hf_vqa_mc.audits.releases import GainChange, Releases

RELEASES = "Two releases"


def default_folder(given: Mapping[str, Any]) -> Path:
    """The output folder of the command: ``vqa_mc_audit/NAME``."""
    return AUDITS / folder_name(given["dataset"], given.get("config"), given.get("split"))


@settings
class AuditSettings(ExecutorOptions, ProbeSettings, BenchmarkOptions):
    """Find the shortcuts that solve a multiple-choice benchmark without the image, the question, or both.

    Heuristics (longest choice, first choice, most frequent answer ...) and trained probes are compared with random
    guessing. Probes are fitted on the training split, or by cross-validation if there is none.
    """

    output: Path | None = option(
        "Folder of report.html, audit.json, rows.parquet and badge.svg; by default vqa_mc_audit/NAME for the command.",
        default=None,
        panel=RUNNING,
        cli_default=default_folder,
    )
    overwrite: bool = overwrite_option(RUNNING)
    fail_above: float | None = option(
        "Exit with code 3 if the 95% interval of a shortcut's gain over random guessing is above this fraction, such "
        "as 0.05.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.05", lambda value: 0 <= value < 1),
        panel=RUNNING,
    )
    against: str | None = option(
        "An earlier release of the benchmark, such as NAMESPACE/NAME@v1.0: audit both, and report what changed.",
        default=None,
        panel=RELEASES,
    )
    against_config: str | None = option(
        "Config of the earlier release, if it has another name.", default=None, panel=RELEASES
    )
    fail_on_regression: float | None = option(
        "With --against: exit with code 3 if a shortcut's gain rose significantly by more than this fraction, such as "
        "0 or 0.02: the 95% interval of the rise must be above it.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.02", lambda value: 0 <= value < 1),
        panel=RELEASES,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.executor != "local" and self.largest_part is None:
            raise InputError("--executor ray needs --largest-part N, the rows of a part; each call counts one part")
        for name in ("against_config", "fail_on_regression"):
            if getattr(self, name) is not None and self.against is None:
                raise InputError(f"--{name.replace('_', '-')} needs --against DATASET, an earlier release")

    @property
    def earlier(self) -> BenchmarkOptions | None:
        """How the earlier release is read."""
        if self.against is None:
            return None
        config = self.against_config or (None if Path(self.against).is_file() else self.config)
        return replace(subset(self, BenchmarkOptions), dataset=self.against, config=config)


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(Result):
    """The shortcuts of a benchmark, its findings, and the verdict."""

    audit: "Audit"
    settings: AuditSettings
    written: tuple[Path, ...] = ()
    releases: "Releases | None" = None
    """what changed since ``against``"""

    @property
    def regressions(self) -> "list[GainChange]":
        """The shortcuts whose gain rose by more than ``fail_on_regression`` since ``against``."""
        from hf_vqa_mc.audits.releases import regressions

        most = self.settings.fail_on_regression
        return [] if self.releases is None or most is None else regressions(self.releases.gains, most)

    @property
    def exceeding(self) -> "list[Gain]":
        """The shortcuts whose 95% interval lies above ``fail_above``."""
        from hf_vqa_mc.audits.gains import exceeding

        return [] if self.settings.fail_above is None else exceeding(self.audit.gains, self.settings.fail_above)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a shortcut exceeds ``fail_above`` or ``fail_on_regression``."""
        return FAILED if self.exceeding or self.regressions else 0

    def report(self) -> "Iterator[RenderableType]":
        """The table of shortcuts, the verdict, findings, files, and the command for a remedy."""
        from rich.text import Text

        from hf_vqa_mc.report.audit_folder import remedy_command
        from hf_vqa_mc.report.audit_tables import ambiguity, notes, shortcut_table
        from hf_vqa_mc.report.plain_text import points

        figures = self.audit.as_json()
        yield f"{self.audit.benchmark.test.location}: {counted(figures['rows'], 'row')}"
        yield shortcut_table([*([self.releases.old] if self.releases else []), self.audit])
        yield notes(self.audit)
        yield from self.releases.sentences() if self.releases else ()
        if figures["read_as"]:
            yield f"columns: {figures['read_as']}"
        lines = [figures["verdict"], figures["caveat"], *(finding["sentence"] for finding in figures["findings"])]
        lines += [ambiguity(figures), *(f"Not run: {one['name']} ({one['reason']})." for one in figures["not_run"])]
        lines += [f"Split {name} was skipped: {reason}" for name, reason in figures["skipped_splits"].items()]
        yield from (f"\n{line}" for line in lines if line)
        yield from (f"\nwrote {path}" if path == self.written[0] else f"wrote {path}" for path in self.written)
        if self.exceeding:
            named = ", ".join(f"{one.shortcut.name} ({100 * one.estimate.low:.1f} or more)" for one in self.exceeding)
            yield f"gain above {100 * (self.settings.fail_above or 0):g} points: {named}"
        if self.regressions:
            worse = (f"{one.name} ({points(one.change)} points)" for one in self.regressions)
            yield f"regressions since {self.settings.against}: {', '.join(worse)}"
        if (command := remedy_command(self.settings, self.audit.benchmark)) and not self.audit.exact:
            yield "\nTo replace the decoys:"
            yield Text(command, no_wrap=True, overflow="ignore")  # one line, to be copied

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in audit.json; fractions."""
        changes = {"changes": self.releases.as_json()} if self.releases else {}
        return {**self.audit.as_json(), **changes, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> "pd.DataFrame":
        """One row per shortcut: name, accuracy, gain over random guessing and its 95% interval.

        Columns ``cross_fitted_*``: the same, fitted on other rows of the audited split, NaN where not computed.
        """
        import pandas as pd

        return pd.DataFrame([gain.as_json() for gain in self.audit.gains])

    def _repr_html_(self) -> str:
        """The report, with a bar of each shortcut's gain over random guessing in its table."""
        from hf_vqa_mc.report.audit_tables import gain_table

        return in_html(self.report(), gain_table(self.audit))

    def save(self, path: str | Path, overwrite: bool = False, progress: Progress = silent) -> list[Path]:
        """Write report.html, audit.json, rows.parquet and badge.svg to a folder."""
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.report.audit_folder import check_audit_folder, remedy_command, write_audit

        check_audit_folder(Path(path), "output", self.settings.paths, overwrite)
        # without folders of absolute paths
        command = "" if self.audit.exact else remedy_command(self.settings, self.audit.benchmark, public_name)
        if (both := self.releases) is not None:
            return write_audit(Path(path), both.old, both.new, progress, command, overwrite, changes=both)
        return write_audit(Path(path), self.audit, None, progress, command, overwrite)


@verb(
    AuditSettings,
    "vqa-mc audit vqa_mc easyvqa_iou_qou",
    "vqa-mc audit benchmark.tsv --fail-above 0.05",
    "vqa-mc audit new.jsonl --against old.jsonl --fail-on-regression 0",
)
def audit(settings: AuditSettings, progress: Progress) -> AuditResult:
    """Audit a benchmark.

    Returns:
        The shortcuts with their gains, findings and verdict; written to ``output`` if given.

    Raises:
        InputError: the benchmark, word vectors, features or language model cannot be used.
    """
    from hf_vqa_mc.report.audit_folder import check_audit_folder

    if settings.output is not None:
        others = settings.earlier.paths if settings.earlier else []
        check_audit_folder(settings.output, "--output", [*settings.paths, *others], settings.overwrite)
    probes = subset(settings, ProbeSettings)
    named = [("", settings)] if settings.earlier is None else [("before", settings.earlier), ("after", settings)]
    benchmarks = [options.read(progress) for _, options in named]  # before anything is trained
    from hf_vqa_mc.audits.parts import audit_in_parts
    from hf_vqa_mc.audits.releases import releases
    from hf_vqa_mc.io.executors import open_executor

    with open_executor(settings.executor, settings.address, settings.workers) as executor:
        audits = [
            audit_in_parts(benchmarks.pop(0), probes, prefixed(progress, name) if name else progress, executor)
            for name, _ in named
        ]
    done = AuditResult(audits[-1], settings, releases=releases(*audits) if settings.earlier else None)
    if settings.output is None:
        return done
    return replace(done, written=tuple(done.save(settings.output, settings.overwrite, progress)))
