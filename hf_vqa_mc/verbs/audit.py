"""``hf_vqa_mc.audit`` and ``vqa-mc audit``: which shortcuts solve a multiple-choice benchmark."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.audits.settings import AUDITED, ProbeSettings
from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import AUDITS
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, overwrite_option, settings, subset
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.report.audit import AuditResult


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
        folder=AUDITED,
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


@verb(
    AuditSettings,
    "vqa-mc audit vqa_mc easyvqa_iou_qou",
    "vqa-mc audit benchmark.tsv --fail-above 0.05",
    "vqa-mc audit new.jsonl --against vqa_mc_audit/old/audit.json --fail-on-regression 0",
)
def audit(settings: AuditSettings, progress: Progress) -> "AuditResult":
    """The shortcuts with their gains, findings and verdict; written to ``output`` if given.

    Raises:
        InputError: the benchmark, word vectors or features cannot be used.
    """
    from hf_vqa_mc.data.reading import load

    earlier = None
    if settings.against is not None:
        from hf_vqa_mc.audits.comparison import read_audit

        earlier = read_audit(settings.against)
    benchmark = load(settings, progress)
    from hf_vqa_mc.audits.auditing import audit as audit_benchmark  # slow to import
    from hf_vqa_mc.report.audit import AuditResult

    done = audit_benchmark(benchmark, subset(settings, ProbeSettings), progress)
    return AuditResult(settings, done, earlier)
