"""``hf_vqa_mc.remedy`` and ``vqa-mc remedy``: a benchmark with better decoys, or without its most biased rows."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import REMEDIES, check_outside
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import ADVANCED, check_options, input_paths, option, overwrite_option, settings
from hf_vqa_mc.remedies.strategies import JUDGED, STRATEGIES, StrategySettings, remedied_by, strategy_of
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    import pyarrow as pa

    from hf_vqa_mc.data import Benchmark
    from hf_vqa_mc.report.remedy import RemedyResult


def _report_folder(given: Mapping[str, Any]) -> Path | None:
    """Named after the output, its config and decoys, so that a report is replaced only together with its output."""
    if given.get("output") is None:
        return None
    implied = "prune" if given.get("prune") is not None else given.get("guarantee") or given.get("variant")
    output = str(Path(given["output"]).absolute())
    return REMEDIES / folder_name(output, given.get("config"), given.get("strategy") or implied or "repair")


MOST_REPEATED = 0.1  # share of repeated or rotated rows above which new choices would tear them apart
_STRATEGIES = " ".join(f"{one.name}: {one.help}." for one in STRATEGIES.values())


@settings
class RemedySettings(BenchmarkOptions, StrategySettings):
    """Change a benchmark so that it has fewer shortcuts, and judge it before and after.

    By default the fewest decoys are changed; other strategies replace all decoys or remove rows. A benchmark is
    written only if probes that took no part in the change find fewer shortcuts, and none finds a larger one; closed
    answer sets that were asked for are always written.
    Questions, targets, images and all other columns are unchanged; choice_origins names the source of each choice.
    """

    output: Path | None = option(
        "File to write, in the benchmark's format, or folder with its images for load_dataset and vqa-mc push; by "
        "default nothing is written.",
        default=None,
    )
    overwrite: bool = overwrite_option()
    strategy: str | None = option(
        f"{_STRATEGIES} By default repair, or the strategy of --guarantee, --variant or --prune.",
        default=None,
        check=(f"one of {', '.join(STRATEGIES)}", STRATEGIES.__contains__),
    )
    force: bool = option("Write a benchmark that is not better than before, or not judged, too.", default=False)
    report: Path | None = option(
        "Folder of report.html and report.json; by default vqa_mc_remedy/NAME, named after the output.",
        default=None,
        cli_default=_report_folder,
        folder=JUDGED,
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        check_options(self)
        strategy_of(self, self.strategy)
        if self.base_url is not None and self.candidates_from is None:
            raise InputError("--base-url is the address of the model of --candidates-from; add it")
        if self.output and self.report and os.path.realpath(self.output) == os.path.realpath(self.report):
            raise InputError(f"--report {self.report} and --output are the same; use different paths")


@verb(
    RemedySettings,
    "vqa-mc remedy benchmark.tsv --output remedied.tsv",
    "vqa-mc remedy vqa_mc easyvqa_random_uniform --strategy iou_qou --word-vectors corpus",
    "vqa-mc remedy benchmark.tsv --guarantee choices --output remedied",
)
def remedy(settings: RemedySettings, progress: Progress) -> "RemedyResult":
    """The remedied rows as ``.dataset``, what was changed, and report probes before and after.

    It is written to ``output`` if it is ``better``, has a guarantee that was asked for, or with ``force``; ``report``
    always.

    Raises:
        InputError: the benchmark, word vectors or candidates cannot be used, or no decoys of this kind can be made.
    """
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.data.verdicts import read_rejections
    from hf_vqa_mc.dataset.writing import check_config, check_output

    strategy = strategy_of(settings, settings.strategy)
    if settings.output is not None:
        check_output(settings.dataset, settings.output, settings.overwrite)
        check_outside(settings.output, "--output", (one for one in input_paths(settings) if one != settings.output))
    verdicts = read_rejections(settings.reject) if settings.reject else None
    benchmark = load(settings, progress)
    if strategy.name != "prune" and not benchmark.spec.choices.columns:
        raise InputError(
            f"{benchmark.test.location}: no column holds its choices ({benchmark.spec.choices.description}), so other "
            "choices cannot be written; add a column with lists of choices"
        )
    repeated, rows = benchmark.test.repeated, benchmark.test.rows.num_rows
    if strategy.name != "prune" and repeated > MOST_REPEATED * rows:
        raise InputError(
            f"{benchmark.test.location}: {repeated:,} of {rows:,} rows have the image, question and choices, in any "
            "order, of another row (circular evaluation; vqa-mc lint lists them): remedy one order of each question, "
            "and rotate the choices afterwards"
        )
    if settings.output is not None and strategy.suffix and benchmark.config is not None:
        check_config(benchmark, settings.output, strategy.config(benchmark.config, settings), settings.overwrite)
    from hf_vqa_mc.remedies.judgement import judge  # these are slow to import
    from hf_vqa_mc.report.remedy import RemedyResult
    from hf_vqa_mc.text.embeddings import embedding_families

    benchmark, candidates = _candidates(settings, benchmark, progress)
    made = remedied_by(strategy, benchmark, settings, candidates, verdicts, progress)
    changes, families = made.statistics.get("changes", ()), embedding_families()
    try:
        comparison = judge(benchmark.test, made.benchmark.test, families, settings.seed, changes, progress)
    except InputError as error:  # too few groups of rows
        return RemedyResult(settings, benchmark, made, None, str(error))
    return RemedyResult(settings, benchmark, made, comparison)


def _candidates(settings: RemedySettings, benchmark: "Benchmark", progress: Progress) -> "tuple[Benchmark, pa.Table]":
    """Candidates from all sources, and the benchmark with a note on questions to which a model does not reply."""
    import pyarrow as pa

    from hf_vqa_mc.evaluation.written_decoys import write_wrong_answers
    from hf_vqa_mc.io.hub_folder import file_name
    from hf_vqa_mc.remedies.candidate_pool import from_replies, read_candidates

    named = settings.candidates, settings.pool, settings.captions, settings.scene_graphs
    found = read_candidates(benchmark, *named, progress)
    model, folder, beside = settings.candidates_from, None, settings.output or settings.report
    if model is None:
        return benchmark, found
    if beside is not None:
        name = str(model) if isinstance(model, str | Path) else type(model).__name__
        folder = beside.with_name(f"{beside.name.split('.')[0]}-{file_name(name.strip('./'))}-candidates")
    written = write_wrong_answers(benchmark, model, settings.base_url, folder, progress)
    if written.failures:
        missing = f"{len(written.failures):,} of {len(written.answers):,} questions"
        note = f"{public_name(written.model)} wrote no candidates for {missing}, such as: {written.failures[0]}"
        benchmark = replace(benchmark, notes=(*benchmark.notes, note))
    return benchmark, pa.concat_tables([found, from_replies(written.answers, written.model)])
