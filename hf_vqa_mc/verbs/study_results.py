"""``hf_vqa_mc.study_results`` and ``vqa-mc study results``: what people's answers amount to."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, FRACTION, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from hf_vqa_mc.studies.finished import Finished

SHARES = (
    *("accuracy", "chance", "label_correct", "label_rejected", "ambiguous", "bad_question"),
    *("share_", "confidence_", "same_", "questions_with_"),
)
"""Beginnings of the columns of fractions in [0, 1]."""
TEXTS = ("condition",)


@settings
class StudyResultsSettings:
    """Turn the answers of a study into results: accuracy or verdicts, intervals over annotators, agreement and time.

    The folder has all answers (answers.parquet), one row per question (questions.parquet), all figures (results.json)
    and the files for other commands. A study can be served at the same time.
    """

    study: Path = option("File of vqa-mc study create.", kw_only=False)
    output: Path | None = option("Folder to write.", default=None)
    overwrite: bool = overwrite_option()
    passed: float = option(
        "Fraction of attention checks below which an annotator's answers do not count; 0: all count.",
        default=0.5,
        check=FRACTION,
        panel=ADVANCED,
    )


@dataclass(frozen=True, eq=False, repr=False)
class StudyResultsResult(OutputResult):
    """The results of a study."""

    done: "Finished"

    def report(self) -> Report:
        """The table, the attention checks, the files, and how to use them."""
        summary, checks = self.done.summary, self.done.summary["attention_checks"]
        yield f"{summary['kind']}: {summary['dataset']}"
        yield TextTable(_columns(list(self.done.outcome.table)), TEXTS)
        for name, progress in summary["progress"].items():
            if progress["answers"] < progress["wanted"]:
                yield f"unfinished: {name} has {progress['answers']:,} of {progress['wanted']:,} answers"
        if checks["answered"]:
            yield f"attention checks passed: {checks['passed']:,} of {checks['answered']:,}"
        if excluded := summary["excluded_annotators"]:
            yield f"left out, as they passed too few attention checks: {counted(len(excluded), 'annotator')}"
        yield from (f"wrote {path}" for path in self.written)
        if self.written:
            yield from (
                f"to use it: {line}".replace("FOLDER", str(self.written[0].parent)) for line in self.done.outcome.usage
            )

    def to_dict(self) -> dict[str, Any]:
        """All figures; fractions in [0, 1]."""
        return self.done.summary

    def to_pandas(self) -> Frame:
        """One row per question and condition; what deserves a look comes first."""
        return frame_of(list(self.done.outcome.items))

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the folder."""
        return self.done.write(Path(path), overwrite)


def _columns(rows: list[Any]) -> dict[str, list[str]]:
    """The main table as text; columns of fractions in percent, with the interval of the first."""
    from hf_vqa_mc.scoring.table import score_cell

    def cell(row: Any, name: str) -> str:  # noqa: ANN401  a mapping
        value = row.get(name)
        if value is None:
            return "–"
        if name.startswith(SHARES):
            return score_cell(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else str(value)

    names = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in ("low", "high", "kappa_units")
    ]
    columns = {}
    for name in names:
        title = f"{name.replace('_', ' ')} %" if name.startswith(SHARES) else name.replace("_", " ")
        columns[title] = [cell(row, name) for row in rows]
        if name in ("accuracy", "label_correct"):
            columns["95% interval"] = [
                f"{score_cell(row.get('low'))} to {score_cell(row.get('high'))}" for row in rows
            ]
    return columns


@verb(StudyResultsSettings, "vqa-mc study results study.sqlite --output results")
def study_results(settings: StudyResultsSettings, progress: Progress) -> StudyResultsResult:
    """Compute the results of a study.

    Returns:
        The results, written to ``output`` if given.

    Raises:
        InputError: the file is not a study, or has no answers.
    """
    from hf_vqa_mc.studies.finished import finished
    from hf_vqa_mc.studies.store import Study

    with closing(Study(settings.study)) as study:
        done = finished(study, settings.passed)
    return StudyResultsResult(done).saved(settings)
