"""``hf_vqa_mc.remedy`` and ``vqa-mc remedy``: a benchmark with better decoys, or without its most biased rows."""

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.outputs import REMEDIES, check_outside, check_report_folder
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import ADVANCED, check_options, option, overwrite_option, settings, subset, verb
from hf_vqa_mc.remedies.strategies import (
    JUDGED,
    STRATEGIES,
    Strategy,
    StrategySettings,
    recommended,
    remedied_by,
    strategy_of,
)
from hf_vqa_mc.result import FAILED, Frame, OutputResult, Report, Step, frame_of
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    import pyarrow as pa
    from datasets import DatasetDict

    from hf_vqa_mc.data import Benchmark
    from hf_vqa_mc.remedies.judgement import Comparison
    from hf_vqa_mc.report.verdict import Figure


def _report_folder(given: Mapping[str, Any]) -> Path | None:
    """Named after the output, its config and decoys, so that a report is replaced only together with its output."""
    if given.get("output") is None:
        return None
    implied = "prune" if given.get("prune") is not None else given.get("guarantee") or given.get("variant")
    output = str(Path(given["output"]).absolute())
    return REMEDIES / folder_name(output, given.get("config"), given.get("strategy") or implied or "repair")


IMPLIED = ("variant", "guarantee")
"""Options that choose a strategy."""
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
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        check_options(self)
        strategy_of(self, self.strategy)
        if self.base_url is not None and self.candidates_from is None:
            raise InputError("--base-url is the address of the model of --candidates-from; add it")
        if self.output and self.report and os.path.realpath(self.output) == os.path.realpath(self.report):
            raise InputError(f"--report {self.report} and --output are the same; use different paths")


@dataclass(frozen=True, eq=False, repr=False)
class RemedyResult(OutputResult):
    """A remedied benchmark, what was changed, and report probes before and after."""

    benchmark: "Benchmark"  #: the published benchmark
    remedied: "Benchmark"
    statistics: dict[str, Any]
    comparison: "Comparison | None"  #: report probes before and after; None with too few groups of rows
    figures: "list[Figure]"  #: the table of the benchmark before and after
    settings: RemedySettings
    unjudged: str = ""  #: why there is no comparison

    @property
    def better(self) -> bool | None:
        """Whether report probes find less than before, and none finds more; None with too few groups of rows."""
        if self.comparison is None or self.comparison.few:
            return None
        return self.comparison.better and not self.comparison.harmed

    @property
    def may_write(self) -> bool:
        """Whether the benchmark is written: it is better, has a guarantee that was asked for, or with ``force``."""
        return bool(self.better or self._used.guarantees or self.settings.force)

    @property
    def _may_publish(self) -> bool:
        """Whether it is better, or has a guarantee and is no worse, and no large leak is left."""
        found = self.comparison
        if found is None or found.few or found.large or found.harmed:
            return False
        return bool(self.better or (self._used.guarantees and found.mean.change <= 0))

    @property
    def _used(self) -> Strategy:
        return strategy_of(self.settings, self.settings.strategy)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """`FAILED` if there is an output to which nothing is written."""
        return FAILED if self.settings.output is not None and not self.may_write else 0

    @cached_property
    def dataset(self) -> "DatasetDict":
        """The remedied rows in the benchmark's own columns, split by split."""
        return self.remedied.to_datasets()

    def report(self) -> Report:
        """The changes, the table of the benchmark before and after, the judgement, the files, and what to do next."""
        from hf_vqa_mc.remedies.remedied import in_words
        from hf_vqa_mc.report.verdict import HEADINGS, note

        yield from in_words(self.statistics)
        yield from self.benchmark.notes
        yield ""
        yield TextTable.of(HEADINGS, [[cell.replace(" (", "\n(", 1) for cell in one.cells] for one in self.figures])
        yield note(self.comparison)
        yield f"\n{self.judgement}\n"
        yield from (f"{name} is not in the remedied benchmark: {why}" for name, why in self.benchmark.left_out.items())
        yield from (f"wrote {path}" for path in self.written)
        if self.remedied.config != self.benchmark.config:
            yield f"config: {self.remedied.config} (was {self.benchmark.config})"
        if self.written:
            yield from self.next_steps()

    def next_steps(self, name: Callable[[str], str] = str) -> list[Step]:
        """What to do with the written benchmark; ``name`` as in `audit_folder.next_steps`."""
        from hf_vqa_mc.report.audit_folder import evaluation, publication

        output, dataset = self.settings.output, self.settings.dataset
        if output is None or not self.may_write:
            return []
        read, steps = subset(self.settings, BenchmarkOptions), list[Step]()
        if (stronger := self.stronger) is not None:
            published, options = read.arguments(name)
            other = output.with_name(f"{output.name.split('.')[0]}-{stronger.name}{''.join(output.suffixes)}")
            kept = {key: getattr(self.settings, key) for key in (*stronger.options, "seed") if key not in IMPLIED}
            kept = {key: name(str(one)) if isinstance(one, Path) else one for key, one in kept.items() if one}
            options |= {**stronger.arguments, **kept, "output": name(str(other))}
            steps.append(Step("Remove more of the leak", "remedy", published, options))
        is_file = isinstance(dataset, str | Path) and Path(dataset).is_file() and bool(output.suffix)
        embedded = not is_file and self.remedied.has_all_images
        images, config = None if embedded else read.images, None if is_file else self.remedied.config
        inputs, given = replace(read, dataset=output, config=config, images=images).arguments(name)
        steps.append(Step("Audit the result", "audit", inputs, given))
        steps.append(evaluation(self.remedied, inputs, given))
        if self._may_publish:
            publish = publication(self.remedied, output, given if is_file else {}, name)
            why = "Read new decoys; if people would not exclude them, publish it"
            unsure = self.comparison is not None and self.comparison.less_plausible
            steps += [replace(one, why=why) if unsure else one for one in publish]
        return steps

    @property
    def judgement(self) -> str:
        """Whether the benchmark is better, and what follows, in sentences."""
        from hf_vqa_mc.report.verdict import verdict

        found, used, hint = verdict(self.comparison, self.unjudged), self._used.name, ""
        if self.stronger is not None and self.stronger.name != "best":
            given = " ".join(f"--{name.replace('_', '-')} {one}" for name, one in self.stronger.arguments.items())
            hint = f" {given or f'--strategy {self.stronger.name}'} is expected to remove more."
        elif used == "closed" and self.comparison and self.comparison.large:
            hint = " --guarantee question, or better word vectors (--word-vectors FILE), may remove more."
        elif used != "best" and (self.stronger or self.better is False):
            hint = " --strategy best compares strategies."
        if self.better:
            return found + hint
        if self.settings.output is not None and self.may_write:
            return f"Warning: {found}{hint}"
        unwritten = "" if self.settings.output is None else " The benchmark is not written; --force writes it anyway."
        return f"{found}{unwritten}{hint}"

    @property
    def measured(self) -> str:
        """The shortcuts before and after, for the card."""
        from hf_vqa_mc.report.verdict import measured

        return measured(self.figures, self.comparison)

    @cached_property
    def stronger(self) -> Strategy | None:
        """The strategy that is expected to do better where a large leak stays."""
        if self.comparison is None or not self.comparison.large or self._used.name in ("closed", "best"):
            return None
        suits, _ = recommended(self.benchmark.test, leak=1.0)  # more than a repair removes
        return STRATEGIES["best"] if suits is self._used else suits

    @cached_property
    def changes(self) -> Frame:
        """One row per decoy that a repair changed: question, target, old and new text, origin and reason."""
        return frame_of(self.statistics.get("changes", []))

    def to_dict(self) -> dict[str, Any]:
        """The changes, the table and report probes; fractions."""
        judged = None if self.comparison is None else self.comparison.as_json()
        return {
            "remedy": self.statistics,
            "better": self.better,
            "judgement": self.judgement,
            "table": [{"name": one.name, "before": one.before, "after": one.after} for one in self.figures],
            "report_probes": judged,
            "written": [str(path) for path in self.written],
        }

    def to_pandas(self) -> Frame:
        """One row per report probe: accuracy before and after, change of its distance from chance, and ``harmed``."""
        return frame_of([] if self.comparison is None else self.comparison.as_json()["probes"])

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the remedied benchmark to a file of its kind, or a folder that ``load_dataset`` reads."""
        from hf_vqa_mc.dataset.writing import check_output
        from hf_vqa_mc.io.atomic import publish
        from hf_vqa_mc.remedies.remedied import Remedied

        check_output(self.settings.dataset, Path(path), overwrite)
        staged = Remedied(self.remedied, self.statistics).staged
        return publish(staged(self.benchmark, Path(path), overwrite, self.measured))


@verb(
    RemedySettings,
    "vqa-mc remedy benchmark.tsv --output remedied.tsv",
    "vqa-mc remedy vqa_mc easyvqa_random_uniform --strategy iou_qou --word-vectors corpus",
    "vqa-mc remedy benchmark.tsv --guarantee choices --output remedied",
)
def remedy(settings: RemedySettings, progress: Progress) -> RemedyResult:
    """Remedy a benchmark.

    Returns:
        The remedied rows as ``.dataset``, what was changed, and report probes before and after. It is written to
        ``output`` if it is ``better``, has a guarantee that was asked for, or with ``force``; ``report`` always.

    Raises:
        InputError: the benchmark, word vectors or candidates cannot be used, or no decoys of this kind can be made.
    """
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.data.verdicts import read_rejections
    from hf_vqa_mc.dataset.writing import check_config, check_output
    from hf_vqa_mc.io.atomic import publish_together

    strategy = strategy_of(settings, settings.strategy)
    read = settings.pool, settings.captions, settings.scene_graphs, settings.candidates, settings.reject
    inputs = [*settings.paths, *(Path(one) for one in read if one)]
    if settings.output is not None:
        check_output(settings.dataset, settings.output, settings.overwrite)
        check_outside(settings.output, "--output", inputs)
    if settings.report is not None:
        others = [settings.output] if settings.output else []
        check_report_folder(settings.report, JUDGED, "--report", [*inputs, *others], settings.overwrite)
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
    from hf_vqa_mc.report.pages import staged_report
    from hf_vqa_mc.report.remedy_folder import report_contents
    from hf_vqa_mc.report.verdict import judgement_figures
    from hf_vqa_mc.text.embeddings import embedding_families

    benchmark, candidates = _candidates(settings, benchmark, progress)
    made = remedied_by(strategy, benchmark, settings, candidates, verdicts, progress)
    comparison, unjudged = None, ""
    changes, families = made.statistics.get("changes", ()), embedding_families()
    try:
        comparison = judge(benchmark.test, made.benchmark.test, families, settings.seed, changes, progress)
    except InputError as error:  # too few groups of rows
        unjudged = str(error)
    table = judgement_figures(benchmark, made.benchmark, comparison)
    result = RemedyResult(benchmark, made.benchmark, made.statistics, comparison, table, settings, unjudged)
    with contextlib.ExitStack() as stack:
        outputs = []
        if settings.output is not None and result.may_write:
            output = made.staged(benchmark, settings.output, settings.overwrite, result.measured)
            outputs.append(stack.enter_context(output))
        if settings.report is not None:
            figures = {name: one for name, one in result.to_dict().items() if name != "written"}
            steps = result.next_steps(public_name)
            contents = report_contents(benchmark, made.benchmark, table, comparison, figures, steps)
            report = staged_report(settings.report, JUDGED, contents, settings.overwrite)
            outputs.append(stack.enter_context(report))
        publish_together(*(staged for staged, _ in outputs))
    return replace(result, written=tuple(path for _, files in outputs for path in files))


def _candidates(settings: RemedySettings, benchmark: "Benchmark", progress: Progress) -> "tuple[Benchmark, pa.Table]":
    """Candidates from all sources, and the benchmark with a note on questions to which a model does not reply."""
    import pyarrow as pa

    from hf_vqa_mc.evaluation.written_decoys import write_wrong_answers
    from hf_vqa_mc.io.hub_folder import file_name
    from hf_vqa_mc.remedies.candidate_pool import from_replies, read_candidates

    found = read_candidates(benchmark, settings, progress)
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
