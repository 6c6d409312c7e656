"""``hf_vqa_mc.compare`` and ``vqa-mc compare``: two or more runs on the same questions, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, output_file, overwrite_option, settings
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.report.comparison import CompareResult


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
    items: Path | None = output_file(
        "File for the questions, .csv, .json or .parquet: each run's score and pick, whether it changed against the "
        "baseline, difficulty, discrimination, and labels that may be wrong (with four or more runs).",
        ".csv",
        ".json",
        ".parquet",
    )
    output: Path | None = output_file(
        "File for the results, by its suffix: .md, .csv, .json, or .html (a leaderboard).",
        ".md",
        ".csv",
        ".json",
        ".html",
    )
    overwrite: bool = overwrite_option()


@verb(
    CompareSettings,
    "vqa-mc compare vqa_mc_evaluations/iqa vqa_mc_evaluations/iq --by question_type --output leaderboard.html",
    "vqa-mc compare baseline.json model.json --items items.csv",
)
def compare(settings: CompareSettings, progress: Progress) -> "CompareResult":
    """The comparison; written to ``output`` and ``items`` if given.

    Raises:
        InputError: a run cannot be read, or the runs are of different benchmarks or have no question in common.
    """
    from hf_vqa_mc.evaluation.comparison import Comparison, read_runs

    progress("reading runs", 0, 1)
    runs = read_runs(settings.runs, settings.input, settings.metric)
    from hf_vqa_mc.report.comparison import CompareResult

    done = CompareResult(settings, Comparison(runs, settings.by))
    progress("reading runs", 1, 1)
    return done
