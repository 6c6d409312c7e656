"""``hf_vqa_mc.audit`` and ``vqa-mc audit``: which shortcuts solve a multiple-choice benchmark."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.options import RUNNING, flag_of, option, overwrite_option, settings, spec_of, subset, verb
from hf_vqa_mc.result import Result, in_html
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType
    from rich.table import Table

    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.audits.gains import Gain
    from hf_vqa_mc.audits.releases import GainChange, Releases
    from hf_vqa_mc.benchmarks import Benchmark

FAILED = 3
"""Exit code if a shortcut exceeds ``fail_above`` or ``fail_on_regression``."""
RELEASES = "Two releases"


def default_folder(given: Mapping[str, Any]) -> Path:
    """The output folder of the command: ``vqa_mc_audit/NAME``."""
    from hf_vqa_mc.report.audit_folder import AUDITS, folder_name

    return AUDITS / folder_name(given["dataset"], given.get("config"), given.get("split"))


@settings
class AuditSettings(ProbeSettings, BenchmarkOptions):
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
        ProbeSettings.__post_init__(self)
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

        figures = self.audit.as_json()
        yield f"{self.audit.benchmark.test.location}: {counted(figures['rows'], 'row')}"
        yield shortcut_table([*([self.releases.old] if self.releases else []), self.audit])
        yield " ".join(filter(None, [TABLE_NOTE, CROSS_NOTE if _crossed(self.audit) else "", self.audit.sampled]))
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
            worse = (f"{one.name} ({100 * one.change:+.1f} points)" for one in self.regressions)
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
        widest = max([0.01, *(one.estimate.high for one in self.audit.gains)])
        headings = _headings(self.audit)
        rows = [_html_row(gain, _cells(gain, len(headings)), _bar(gain, widest)) for gain in self.audit.gains]
        chance = f"{_LEFT}chance{_LEFT}{_RIGHT}{_chance(self.audit)}{'<td>' * len(headings)}"
        table = _html_table(("shortcut", "sees", *headings, ""), [*rows, f"<tr>{chance}</tr>"])
        return in_html(self.report(), table)

    def save(self, path: str | Path, overwrite: bool = False, progress: Progress = silent) -> list[Path]:
        """Write report.html, audit.json, rows.parquet and badge.svg to a folder."""
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.report.audit_folder import check_audit_folder, write_audit

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
    from hf_vqa_mc.audits.auditing import audit as audit_benchmark
    from hf_vqa_mc.audits.releases import releases
    from hf_vqa_mc.report.audit_folder import check_audit_folder

    if settings.output is not None:
        others = settings.earlier.paths if settings.earlier else []
        check_audit_folder(settings.output, "--output", [*settings.paths, *others], settings.overwrite)
    probes = subset(settings, ProbeSettings)
    if settings.earlier is None:
        done = AuditResult(audit_benchmark(settings.read(progress), probes, progress), settings)
    else:
        both = [one.read(progress) for one in (settings.earlier, settings)]  # before anything is trained
        steps = [prefixed(progress, name) for name in ("before", "after")]
        old, new = (audit_benchmark(one, probes, step) for one, step in zip(both, steps, strict=True))
        done = AuditResult(new, settings, releases=releases(old, new))
    if settings.output is None:
        return done
    return replace(done, written=tuple(done.save(settings.output, settings.overwrite, progress)))


def remedy_command(settings: BenchmarkOptions, benchmark: "Benchmark", name: Callable[[str], str] = str) -> str:
    """The ``vqa-mc remedy`` command for the whole benchmark, quoted for a shell; "" for an object in memory.

    Args:
        settings: how the benchmark was read.
        benchmark: the audited benchmark.
        name: from the path of the dataset and of its images to the text in the command.
    """
    from hf_vqa_mc.remedies.new_decoys import check_images
    from hf_vqa_mc.report.audit_folder import folder_name

    dataset = settings.dataset
    if not isinstance(dataset, str | Path):
        return ""
    parts = ["vqa-mc", "remedy"]
    for one in fields(BenchmarkOptions):
        value = getattr(settings, one.name)
        if value is True:
            parts.append(flag_of(one))
        elif value is not None and value is not False and spec_of(one).cli and one.name != "limit":
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            flags = [flag_of(one)] if one.kw_only else []
            parts += [*flags, name(text) if one.name in ("dataset", "images") else text]
    try:
        check_images(benchmark, ())
    except InputError:
        parts += ["--variant", "qou"]
    path = Path(dataset)
    ending = path.name[len(path.name.split(".")[0]) :] if path.is_file() else ""
    output = f"{folder_name(str(dataset), settings.config, settings.split)}-remedied{ending}"
    return shlex.join([*parts, "--word-vectors", "corpus", "--output", output])


TABLE_NOTE = (
    "Accuracy in percent, gain in percentage points. !: significantly above chance (Holm's correction). A probe with "
    "all inputs is no shortcut."
)
CROSS_NOTE = "Probes are fitted on the training split; cross-fitted: on other rows of the audited split instead."

FIGURES = ("accuracy", "gain", "95% interval", "cross-fitted")
"""Columns of the table of shortcuts."""


def shortcut_table(audits: "list[Audit]") -> "Table":
    """One row per shortcut: accuracy and gain; before and after a remedy if there are two audits."""
    from rich.table import Table
    from rich.text import Text

    two = len(audits) == 2
    headings = FIGURES[:2] if two else _headings(audits[0])
    table = Table()
    table.add_column("shortcut", overflow="fold")
    for moment in ("before\n", "after\n") if two else ("",):
        for heading in headings:
            table.add_column(f"{moment}{heading}".replace("-", "-\n"), justify="right", no_wrap=True)
    found = [{gain.shortcut.name: gain for gain in done.gains} for done in audits]
    for name in dict.fromkeys(name for gains in found for name in gains):
        table.add_row(Text(name), *(cell for gains in found for cell in _cells(gains.get(name), len(headings))))
    rest = [""] * (len(headings) - 1)
    table.add_row("chance", *(cell for done in audits for cell in (_chance(done), *rest)))
    return table


_LEFT, _RIGHT = '<td style="text-align:left">', '<td style="text-align:right">'


def change_table(before: "Audit", after: "Audit") -> str:
    """The HTML table of a remedy: accuracy and gain of each shortcut before and after, and the change of the gain."""
    found = [{gain.shortcut.name: gain for gain in done.gains} for done in (before, after)]
    rows = []
    for name in dict.fromkeys([*found[0], *found[1]]):
        pair = [gains[name] for gains in found if name in gains]
        shown = [_cells(gains.get(name), 2) for gains in found]
        change = f"{100 * (pair[1].estimate.gain - pair[0].estimate.gain):+.1f}" if len(pair) == 2 else ""
        figures = [*(f"{one} ({gain.strip()})" if one else "" for one, gain in shown), change]
        rows.append(_html_row(pair[0], figures, title=" / ".join(gain.sentence for gain in pair)))
    chances = "".join(f"{_RIGHT}{_chance(done)}" for done in (before, after))
    headings = ("shortcut", "sees", "accuracy (gain) before", "accuracy (gain) after", "change of gain")
    return _html_table(headings, [*rows, f"<tr>{_LEFT}chance{_LEFT}{chances}<td></tr>"])


def _html_table(headings: Iterable[str], rows: Iterable[str]) -> str:
    return f"<table><thead><tr><th>{'<th>'.join(headings)}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _html_row(gain: "Gain", figures: Iterable[str], rest: str = "", title: str = "") -> str:
    sees, cells = gain.shortcut.sees, "".join(f"{_RIGHT}{cell}" for cell in figures)
    dot = f'<span style="color:{sees.colour}">&#9679;</span>'
    names = f"{_LEFT}{escape(gain.shortcut.name)}{_LEFT}{dot} {escape(sees.label)}"
    return f'<tr title="{escape(title or gain.sentence)}">{names}{cells}{rest}</tr>'


def _bar(gain: "Gain", widest: float) -> str:
    """A cell with a bar, which is pale unless the gain is significant."""
    width, opacity = 180 * max(gain.estimate.gain, 0.0) / widest, 1 if gain.alarm else 0.35
    bar = f"height:10px;width:{width:.0f}px;background:{gain.shortcut.sees.colour};opacity:{opacity}"
    return f'<td style="text-align:left;min-width:190px"><div style="{bar}"></div>'


def _chance(done: "Audit") -> str:
    return f"{100 * float(done.rows.chance.mean()):.1f}"


def _crossed(done: "Audit") -> bool:
    """Whether a probe was fitted on the training split and also on other audited rows."""
    return any(gain.cross_fitted is not None and gain.fitted_on == "train" for gain in done.gains)


def _headings(done: "Audit") -> tuple[str, ...]:
    return FIGURES if _crossed(done) else FIGURES[:3]


def _cells(gain: "Gain | None", columns: int) -> list[str]:
    """The first of FIGURES of a shortcut; empty if it was not run."""
    if gain is None:
        return [""] * columns
    found, again = gain.estimate, gain.cross_fitted
    reached = [f"{100 * found.accuracy:.1f}", f"{100 * found.gain:+.1f}{'!' if gain.alarm else ' '}"]
    interval = "exact" if found.low == found.high else f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    return [*reached, interval, "" if again is None else f"{100 * again.accuracy:.1f}"][:columns]


def ambiguity(figures: Mapping[str, Any]) -> str:
    """The share of decoys that are flagged as possibly correct, in a sentence."""
    from hf_vqa_mc.audits.findings import percent

    found = figures["ambiguous_decoys"]
    reasons = [f"{reason} {percent(share, 1)}" for reason, share in found["reasons"].items() if share]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    flagged = percent(found["share"], 1) if found["share"] else "none"
    return f"Our filters flag {flagged} of {found['decoys']:,} decoys as possibly correct{listed}."
