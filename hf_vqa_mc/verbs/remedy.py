"""``hf_vqa_mc.remedy`` and ``vqa-mc remedy``: a benchmark with better decoys, or without its most biased rows."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hf_vqa_mc.audits.settings import AUDITS, ProbesOption
from hf_vqa_mc.data.options import BenchmarkOptions, folder_name
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Preset, SetSettings, preset_option
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed
from hf_vqa_mc.options import (
    ADVANCED,
    AT_LEAST_ONE,
    SEED,
    VECTORS,
    check_options,
    flag_of,
    option,
    overwrite_option,
    settings,
    verb,
)
from hf_vqa_mc.result import FAILED, Frame, Report, Result, frame_of, in_html
from hf_vqa_mc.scoring.table import percent, points

if TYPE_CHECKING:
    from datasets import DatasetDict

    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.data import Benchmark
    from hf_vqa_mc.data.verdicts import Rejected
    from hf_vqa_mc.remedies.donors import Donor
    from hf_vqa_mc.remedies.harm import Comparison
    from hf_vqa_mc.remedies.remedied import Remedied
    from hf_vqa_mc.text.embeddings import EmbeddingFamily
    from hf_vqa_mc.text.word_vectors import WordVectors


def _no_output(given: Mapping[str, Any]) -> Path:
    raise InputError("--output is missing: give a file in the benchmark's format, or a folder")


def _report_folder(given: Mapping[str, Any]) -> Path:
    """Named after the output, its config and decoys, so that a report is replaced only together with its output."""
    made = given.get("strategy") or given.get("guarantee") or given.get("variant") or "iou_qou"
    made = "pruned" if given.get("prune") is not None else made
    output = Path(given["output"]).name.split(".")[0]
    return AUDITS / f"{folder_name(output, given.get('config'), made)}-before-after"


Strategy = Literal["repair", "closed", "iou_qou", "prune", "best"]
_STRATEGY_OF: dict[str, Strategy] = {"prune": "prune", "guarantee": "closed", "variant": "iou_qou"}
"""Strategy by the option that belongs to it alone."""
JUDGED = ("repair", "best")
"""Strategies whose result report probes judge before it is written."""
TO_GAIN = 0.05
"""`RemedySettings.prune` of ``--strategy prune`` by default."""


@settings
class RemedySettings(BenchmarkOptions, SetSettings, ProbesOption):
    """Change a benchmark so that it has fewer shortcuts, and audit it before and after.

    By default all decoys are replaced by IoU and QoU decoys, which suits datasets with many questions per image and
    answers that repeat. For decoys that people wrote, --strategy repair replaces the fewest; it writes nothing unless
    probes that took no part in it find fewer shortcuts, and none finds a larger one. Questions, targets, images and
    all other columns are unchanged; choice_origins names the source of each choice.
    """

    output: Path | None = option(
        "File to write, in the benchmark's format, or folder.", default=None, cli_default=_no_output
    )
    overwrite: bool = overwrite_option()
    strategy: Strategy | None = option(
        "iou_qou (default): replace all decoys by answers to other questions on the image and to similar questions "
        "(--variant). repair: change the fewest decoys. closed: closed answer sets (--guarantee). prune: remove rows "
        "(--prune). best: the one of these that leaves least.",
        default=None,
    )
    budget: float = option(
        "Of repair: maximum fraction of the decoys that are changed.",
        default=0.2,
        check=("a number above 0, at most 1", lambda value: 0 < value <= 1),
    )
    force: bool = option("Of repair and best: write a benchmark that is not better than before, too.", default=False)
    variant: str | None = option(
        "Of iou_qou: iou_qou, iou, qou, all (also the published decoys), or closed answer sets: "
        f"{', '.join(one.name for one in VARIANTS.values() if one.closed)} (see --guarantee).",
        default=None,
    )
    guarantee: Literal["choices", "question", "image"] | None = option(
        "Of closed: choices, question or image. The rows of a closed answer set share their choices, so every rule "
        "that sees the choices alone is at chance, also with the question, or also with the image. Other rows are "
        "left out.",
        default=None,
    )
    preset: Preset = preset_option("plausible")
    decoys_per_set: int | None = option(
        "Number of IoU decoys, and of QoU decoys, per row; by default as many choices as published (with --preset "
        "paper or --variant all: 3).",
        default=None,
        check=AT_LEAST_ONE,
        panel=ADVANCED,
    )
    word_vectors: str | None = option(
        "For similar questions: a word2vec, GloVe or .kv file, a gensim-data name, or corpus. Needed for QoU decoys.",
        default=None,
        check=VECTORS,
    )
    seed: int = option("Random seed.", default=0, check=SEED)
    pool: str | None = option(
        "Another dataset, on the same or other images, whose answers may become decoys: multiple-choice or open-ended "
        "questions, or an annotation file of VQA next to its questions file.",
        default=None,
    )
    reject: Path | None = option(
        "Table of verdicts, from people or vqa-mc judge: choices that are correct, too, do not become decoys of their "
        "question, and rows with a bad question are left out.",
        default=None,
    )
    prune: float | None = option(
        "Of prune: remove rows until no blind probe gains more than this fraction over random guessing, such as 0.05, "
        "or half of the rows are removed. Slow: the probes are trained in each of up to 11 rounds.",
        default=None,
        check=("a number from 0 to less than 1, such as 0.05", lambda value: 0 <= value < 1),
    )
    report: Path | None = option(
        "Folder for the report of both audits; by default vqa_mc_audit/NAME-before-after, named after the output.",
        default=None,
        cli_default=_report_folder,
        panel=ADVANCED,
    )

    def __post_init__(self) -> None:
        check_options(self)
        self._check_strategy()
        if self.chosen == "prune" and any(one is not None for one in (self.word_vectors, self.pool, self.reject)):
            raise InputError("--prune keeps the decoys; remove --word-vectors, --pool and --reject")
        variant = VARIANTS.get(self.decoys)
        is_closed = variant is not None and variant.closed
        if is_closed and self.chosen in ("iou_qou", "closed") and self.pool is not None:
            raise InputError("closed answer sets take decoys from the benchmark's own rows; remove --pool")
        of_sets = [one for one in fields(SetSettings) if getattr(self, one.name) != one.default]
        if of_sets and not is_closed and self.chosen != "best":
            raise InputError(
                f"{flag_of(of_sets[0])} is an option of closed answer sets; add --guarantee, or remove it"
            )
        if self.output and self.report and os.path.realpath(self.output) == os.path.realpath(self.report):
            raise InputError(f"--report {self.report} and --output are the same; use different paths")

    def _check_strategy(self) -> None:
        """Raise InputError for options of another strategy than the chosen one."""
        given = {name: getattr(self, name) is not None for name in _STRATEGY_OF}
        named = [name for name, is_given in given.items() if is_given]
        if self.guarantee is not None and len(named) > 1:
            raise InputError("--guarantee replaces --variant and --prune; remove one of them")
        if len(named) > 1:
            raise InputError(f"--{named[0]} and --{named[1]} are options of two strategies; remove one of them")
        for name in named:
            if self.strategy not in (None, _STRATEGY_OF[name]):
                raise InputError(f"--{name} is an option of --strategy {_STRATEGY_OF[name]}; remove one of them")
        unused = {"budget": JUDGED, "force": JUDGED, "decoys_per_set": ("iou_qou", "closed", "best")}
        for one in fields(self):
            if self.chosen not in unused.get(one.name, (self.chosen,)) and getattr(self, one.name) != one.default:
                raise InputError(f"{flag_of(one)} is not used by --strategy {self.chosen}; remove it")

    @property
    def chosen(self) -> Strategy:
        """The strategy, given or named by an option of it."""
        if self.strategy is not None:
            return self.strategy
        return next((of for name, of in _STRATEGY_OF.items() if getattr(self, name) is not None), "iou_qou")

    @property
    def decoys(self) -> str:
        """The name of the variant: `variant`, or the closed sets that `guarantee` asks for."""
        guarantee = self.guarantee or ("choices" if self.strategy == "closed" else None)
        closed = (one.name for one in VARIANTS.values() if guarantee and one.guarantee == guarantee)
        return next(closed, self.variant or "iou_qou")


@dataclass(frozen=True, eq=False, repr=False)
class RemedyResult(Result):
    """A remedied benchmark, what was changed, and its audits before and after."""

    benchmark: "Benchmark"
    """the published benchmark"""
    remedied: "Benchmark"
    statistics: dict[str, Any]
    before: "Audit"
    after: "Audit"
    comparison: "Comparison | None"
    """report probes before and after; None of strategies that are not judged, or with too few groups of rows"""
    settings: RemedySettings
    unjudged: str = ""
    """why there is no comparison"""
    written: tuple[Path, ...] = ()

    @property
    def better(self) -> bool | None:
        """Whether report probes find less than before, and none finds more; None of strategies that are not judged."""
        if self.settings.chosen not in JUDGED:
            return None
        return self.comparison is not None and self.comparison.better and not self.comparison.harmed

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """`FAILED` if the benchmark is not written since it is not better."""
        return 0 if self.may_write else FAILED

    @property
    def may_write(self) -> bool:
        """Whether the benchmark is written: it is better, not judged, or with ``force``."""
        return self.better is not False or self.settings.force

    @cached_property
    def dataset(self) -> "DatasetDict":
        """The remedied rows in the benchmark's own columns, split by split."""
        return self.remedied.to_datasets()

    def report(self) -> Report:
        """The changes, report probes before and after, the table of shortcuts, both verdicts, and the files."""
        from hf_vqa_mc.remedies.remedied import in_words
        from hf_vqa_mc.report.audit_tables import TABLE_NOTE, ambiguity, comparison_table, shortcut_table

        yield from in_words(self.statistics)
        yield from self.benchmark.notes
        yield ""
        if self.comparison is not None:
            yield "Report probes, which took no part in the change: accuracy in percent without the image"
            yield comparison_table(self.comparison)
        if self.settings.chosen in JUDGED:
            yield self.judgement
            yield ""
        yield shortcut_table([self.before, self.after])
        yield " ".join(filter(None, [TABLE_NOTE, self.before.sampled]))
        for moment, audit in (("Before", self.before.as_json()), ("After", self.after.as_json())):
            yield f"\n{moment}: {audit['verdict']} {ambiguity(audit)}"
        yield ""
        yield from (f"{name} is not in the remedied benchmark: {why}" for name, why in self.benchmark.left_out.items())
        yield from (f"wrote {path}" for path in self.written)
        if self.remedied.config != self.benchmark.config:
            yield f"config: {self.remedied.config} (was {self.benchmark.config})"

    @property
    def judgement(self) -> str:
        """Whether the benchmark is better, and what follows, in sentences."""
        if self.comparison is None:
            found = f"Not judged: {self.unjudged}."
        else:
            mean, harmed = self.comparison.mean, self.comparison.harmed
            bounds = f"{points(mean.low)} to {points(mean.high)}"
            found = (
                f"Mean distance from chance without the image: {points(mean.change)} points (95% interval {bounds})."
            )
            if harmed:
                worse = [f"{one.name} {percent(one.before)} -> {percent(one.after)}" for one in harmed]
                found += f" Worse than before: {'; '.join(worse)}."
            elif not self.comparison.better:
                found += " That is no significant improvement."
        if self.better:
            return f"Better: {found}"
        if self.may_write:
            return f"Warning: not better than before. {found}"
        hint = "--strategy best compares strategies" if self.settings.chosen != "best" else "no strategy helps here"
        return f"Not better than before, so nothing is written. {found} {hint}; --force writes it all the same."

    @cached_property
    def changes(self) -> Frame:
        """One row per decoy that a repair changed: question_id, old and new text, origin and reason."""
        return frame_of(self.statistics.get("changes", []))

    def to_dict(self) -> dict[str, Any]:
        """The changes, report probes and both audits; fractions."""
        audits = {"before": self.before.as_json(), "after": self.after.as_json()}
        judged = None if self.comparison is None else self.comparison.as_json()
        return {
            "remedy": self.statistics,
            "better": self.better,
            "report_probes": judged,
            **audits,
            "written": [str(path) for path in self.written],
        }

    def to_pandas(self) -> Frame:
        """One row per shortcut: accuracy and gain over random guessing before and after; NaN where it was not run."""
        import pandas as pd

        columns = ["accuracy", "gain", "low", "high", "alarm"]
        tables = {
            moment: pd.DataFrame([gain.as_json() for gain in audit.gains]).set_index(["name", "inputs"])[columns]
            for moment, audit in (("before", self.before), ("after", self.after))
        }
        joined = pd.concat([table.add_suffix(f"_{moment}") for moment, table in tables.items()], axis=1)
        return joined.reset_index()

    def _repr_html_(self) -> str:
        from hf_vqa_mc.report.audit_tables import change_table

        return in_html(self.report(), change_table(self.before, self.after))

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the remedied benchmark to a file of its kind, or a folder that ``load_dataset`` reads."""
        from hf_vqa_mc.dataset.writing import check_output
        from hf_vqa_mc.io.atomic import published
        from hf_vqa_mc.remedies.remedied import Remedied

        check_output(self.settings.dataset, Path(path), overwrite)
        return published(Remedied(self.remedied, self.statistics).staged)(self.benchmark, Path(path), overwrite)


@verb(
    RemedySettings,
    "vqa-mc remedy benchmark.tsv --strategy repair --output remedied.tsv",
    "vqa-mc remedy vqa_mc easyvqa_random_uniform --word-vectors corpus --output remedied",
    "vqa-mc remedy benchmark.tsv --guarantee choices --output remedied.tsv",
)
def remedy(settings: RemedySettings, progress: Progress) -> RemedyResult:
    """Remedy a benchmark.

    Returns:
        The remedied rows as ``.dataset``, what was changed, report probes and audits before and after; written to
        ``output`` and ``report`` if given; after a repair only if it is ``better``, or with ``force``.

    Raises:
        InputError: the benchmark, word vectors or donors cannot be used, or no decoys of this kind can be made.
    """
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.dataset.writing import check_output
    from hf_vqa_mc.io.atomic import publish_together
    from hf_vqa_mc.io.outputs import check_outside
    from hf_vqa_mc.remedies.donors import read_donors
    from hf_vqa_mc.remedies.judgement import nearest_to_chance
    from hf_vqa_mc.remedies.new_decoys import check_remedy
    from hf_vqa_mc.remedies.rejections import read_rejections
    from hf_vqa_mc.report.audit_folder import check_audit_folder, staged_audit
    from hf_vqa_mc.text.embeddings import embedding_families

    if settings.chosen in ("iou_qou", "closed"):
        check_remedy(settings.decoys, settings.word_vectors)
    inputs = [*settings.paths, *(Path(one) for one in (settings.pool, settings.reject) if one)]
    if settings.output is not None:
        check_output(settings.dataset, settings.output, settings.overwrite)
        check_outside(settings.output, "--output", inputs)
    if settings.report is not None:
        others = [settings.output] if settings.output else []
        check_audit_folder(settings.report, "--report", [*inputs, *others], settings.overwrite)
    verdicts = read_rejections(settings.reject) if settings.reject else None
    benchmark = load(settings, progress)
    if settings.chosen != "prune" and not benchmark.spec.choices.columns:
        raise InputError(
            f"{benchmark.test.location}: no column holds its choices ({benchmark.spec.choices.description}), so other "
            "choices cannot be written; add a column with lists of choices"
        )
    _check_config(settings, benchmark)
    donors = [] if settings.pool is None else read_donors(settings.pool, progress)
    is_judged = settings.chosen in JUDGED
    families = embedding_families(_word_vectors(settings, benchmark, progress)) if is_judged else []
    makers = {
        name: partial(_remedied, name, settings, benchmark, families, donors, verdicts)
        for name in (_suitable(settings, benchmark) if settings.chosen == "best" else [settings.chosen])
    }
    if settings.chosen == "best":
        made = nearest_to_chance(benchmark, makers, families, settings.seed, progress)
    else:
        (made,) = (make(progress) for make in makers.values())
    comparison, unjudged = _judged(settings, benchmark, made, families, progress)
    before, after = _audits(settings, benchmark, made.benchmark, progress)
    result = RemedyResult(
        benchmark, made.benchmark, made.statistics, before, after, comparison, settings, unjudged=unjudged
    )
    with contextlib.ExitStack() as stack:
        outputs = []
        if settings.output is not None and result.may_write:
            outputs.append(stack.enter_context(made.staged(benchmark, settings.output, settings.overwrite)))
        if settings.report is not None:
            sets = made.statistics.get("closed_sets", {}).get(made.benchmark.evaluated)
            report = staged_audit(settings.report, before, after, progress, overwrite=settings.overwrite, sets=sets)
            outputs.append(stack.enter_context(report))
        publish_together(*(staged for staged, _ in outputs))
    return replace(result, written=tuple(path for _, files in outputs for path in files))


def _judged(
    settings: RemedySettings,
    benchmark: "Benchmark",
    made: "Remedied",
    families: "Sequence[EmbeddingFamily]",
    progress: Progress,
) -> "tuple[Comparison | None, str]":
    """Report probes before and after, run once; or why there are none."""
    from hf_vqa_mc.remedies.judgement import judge

    if settings.chosen not in JUDGED:
        return None, ""
    changes, trained = made.statistics.get("changes", ()), settings.probes
    try:
        found = judge(benchmark.test, made.benchmark.test, families, settings.seed, changes, progress, trained=trained)
    except InputError as error:  # too few groups of rows
        return None, str(error)
    return found, ""


def _check_config(settings: RemedySettings, benchmark: "Benchmark") -> None:
    """Raise InputError unless the benchmark can be written to the output under its new name."""
    from hf_vqa_mc.dataset.writing import check_config
    from hf_vqa_mc.remedies.remedied import pruned_config, remedied_config, repaired_config

    if settings.output is None or settings.chosen == "best":
        return
    names = {"prune": pruned_config, "repair": repaired_config}
    name = names.get(settings.chosen, partial(remedied_config, variant=settings.decoys))
    check_config(benchmark, settings.output, name(benchmark.config), settings.overwrite)


def _word_vectors(settings: RemedySettings, benchmark: "Benchmark", progress: Progress) -> "WordVectors | None":
    """The word vectors that the user names; those of the benchmark's own text are trained on questions and choices."""
    import pyarrow.compute as pc

    from hf_vqa_mc.text.many_texts import word_lists
    from hf_vqa_mc.text.word_vectors import load_word_vectors

    if settings.word_vectors is None:
        return None

    def sentences() -> "Iterator[list[str]]":
        for split in benchmark.splits.values():
            yield from word_lists(split.rows["question"].combine_chunks())
            yield from word_lists(pc.list_flatten(split.rows["choices"].combine_chunks()))

    progress("reading word vectors", 0, 1)
    found = load_word_vectors(settings.word_vectors, sentences, settings.seed, progress)
    progress("reading word vectors", 1, 1)
    return found


def _remedied(
    strategy: str,
    settings: RemedySettings,
    benchmark: "Benchmark",
    families: "Sequence[EmbeddingFamily]",
    donors: "Sequence[Donor]",
    verdicts: "Rejected | None",
    progress: Progress,
) -> "Remedied":
    """The benchmark after one strategy."""
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.remedies.new_decoys import give_new_decoys
    from hf_vqa_mc.remedies.prune import prune
    from hf_vqa_mc.remedies.repaired import repair_benchmark

    if strategy == "repair":
        return repair_benchmark(benchmark, families, settings.budget, settings.seed, donors, verdicts, progress)
    if strategy == "prune":
        return prune(benchmark, TO_GAIN if settings.prune is None else settings.prune, settings.seed, progress)
    variant = settings.decoys if strategy == settings.chosen else {"closed": "sets"}.get(strategy, "iou_qou")
    donors = () if VARIANTS[variant].closed else donors
    given = {one.name: getattr(settings, one.name, None) for one in fields(Settings)}
    method = Settings(**{name: value for name, value in given.items() if value is not None})
    keep_size = settings.decoys_per_set is None and settings.preset == "plausible"
    return give_new_decoys(benchmark, variant, settings.word_vectors, method, donors, keep_size, progress, verdicts)


def _suitable(settings: RemedySettings, benchmark: "Benchmark") -> list[str]:
    """The strategies that the benchmark's rows and the options allow, for ``--strategy best``."""
    from hf_vqa_mc.remedies.new_decoys import check_images, check_remedy

    found = ["repair", "closed"]
    try:
        check_remedy("iou_qou", settings.word_vectors)
        check_images(benchmark, ())
        found.append("iou_qou")
    except InputError:  # no word vectors, or no image with several questions
        pass
    return [*found, "prune"]


def _audits(
    settings: RemedySettings, published: "Benchmark", remedied: "Benchmark", progress: Progress
) -> "tuple[Audit, Audit]":
    from hf_vqa_mc.audits.auditing import audit as audit_benchmark
    from hf_vqa_mc.audits.settings import ProbeSettings

    audited = ProbeSettings(probes=settings.probes, seed=settings.seed)
    before = audit_benchmark(published, audited, prefixed(progress, "before"))
    return before, audit_benchmark(remedied, audited, prefixed(progress, "after"))
