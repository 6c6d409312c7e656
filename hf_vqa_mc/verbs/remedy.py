"""``hf_vqa_mc.remedy`` and ``vqa-mc remedy``: a benchmark with better decoys, or without its most biased rows."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
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
from hf_vqa_mc.result import Frame, Report, Result, in_html

if TYPE_CHECKING:
    from datasets import DatasetDict

    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.data import Benchmark


def _no_output(given: Mapping[str, Any]) -> Path:
    raise InputError("--output is missing: give a file in the benchmark's format, or a folder")


def _report_folder(given: Mapping[str, Any]) -> Path:
    """Named after the output, its config and decoys, so that a report is replaced only together with its output."""
    made = "pruned" if given.get("prune") is not None else given.get("guarantee") or given.get("variant")
    output = Path(given["output"]).name.split(".")[0]
    return AUDITS / f"{folder_name(output, given.get('config'), made)}-before-after"


@settings
class RemedySettings(BenchmarkOptions, SetSettings, ProbesOption):
    """Replace a benchmark's decoys by decoys with fewer shortcuts, and audit it before and after.

    IoU decoys are answers to other questions on the same image, QoU decoys answers to similar questions. Questions,
    targets, images and all other columns are unchanged; choice_kinds and choice_origins name the source of each
    choice.
    """

    output: Path | None = option(
        "File to write, in the benchmark's format, or folder.", default=None, cli_default=_no_output
    )
    overwrite: bool = overwrite_option()
    variant: str = option(
        "iou_qou, iou, qou, all (also the published decoys), or closed answer sets: "
        f"{', '.join(one.name for one in VARIANTS.values() if one.closed)} (see --guarantee).",
        default="iou_qou",
    )
    guarantee: Literal["choices", "question", "image"] | None = option(
        "choices, question or image: closed answer sets instead of IoU and QoU decoys. These rows share their "
        "choices, so every rule that sees the choices alone is at chance, also with the question, or also with the "
        "image. Other rows are left out.",
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
        "For QoU decoys and similar questions in closed sets: a word2vec, GloVe or .kv file, a gensim-data name, or "
        "corpus.",
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
        "Keep the decoys and remove rows until no blind probe gains more than this fraction over random guessing, "
        "such as 0.05, or half of the rows are removed. Slow: the probes are trained in each of up to 11 rounds.",
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
        others = (self.word_vectors, self.pool, self.reject)
        if self.prune is not None and any(one is not None for one in others):
            raise InputError("--prune keeps the decoys; remove --word-vectors, --pool and --reject")
        if self.guarantee is not None:
            if self.variant != "iou_qou" or self.prune is not None:
                raise InputError("--guarantee replaces --variant and --prune; remove one of them")
        variant = VARIANTS.get(self.decoys)
        if variant is not None and variant.closed and self.pool is not None:
            raise InputError("closed answer sets take decoys from the benchmark's own rows; remove --pool")
        unused = [one for one in fields(SetSettings) if getattr(self, one.name) != one.default]
        if unused and variant is not None and not variant.closed:
            raise InputError(f"{flag_of(unused[0])} is an option of closed answer sets; add --guarantee, or remove it")
        if self.output and self.report and os.path.realpath(self.output) == os.path.realpath(self.report):
            raise InputError(f"--report {self.report} and --output are the same; use different paths")

    @property
    def decoys(self) -> str:
        """The name of the variant: `variant`, or the closed sets that `guarantee` asks for."""
        return next(
            (one.name for one in VARIANTS.values() if self.guarantee and one.guarantee == self.guarantee), self.variant
        )


@dataclass(frozen=True, eq=False, repr=False)
class RemedyResult(Result):
    """A remedied benchmark, what was changed, and its audits before and after."""

    benchmark: "Benchmark"
    """the published benchmark"""
    remedied: "Benchmark"
    statistics: dict[str, Any]
    before: "Audit"
    after: "Audit"
    settings: RemedySettings
    written: tuple[Path, ...] = ()

    @cached_property
    def dataset(self) -> "DatasetDict":
        """The remedied rows in the benchmark's own columns, split by split."""
        return self.remedied.to_datasets()

    def report(self) -> Report:
        """The changes, the table of shortcuts before and after, both verdicts, and the files."""
        from hf_vqa_mc.remedies.remedied import in_words
        from hf_vqa_mc.report.audit_tables import TABLE_NOTE, ambiguity, shortcut_table

        yield from in_words(self.statistics)
        yield from self.benchmark.notes
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

    def to_dict(self) -> dict[str, Any]:
        """The changes and both audits; fractions."""
        audits = {"before": self.before.as_json(), "after": self.after.as_json()}
        return {"remedy": self.statistics, **audits, "written": [str(path) for path in self.written]}

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
    "vqa-mc remedy benchmark.tsv --word-vectors glove.6B.100d.txt --output remedied.tsv",
    "vqa-mc remedy vqa_mc easyvqa_random_uniform --word-vectors corpus --output remedied",
    "vqa-mc remedy benchmark.tsv --guarantee choices --output remedied.tsv",
)
def remedy(settings: RemedySettings, progress: Progress) -> RemedyResult:
    """Remedy a benchmark.

    Returns:
        The remedied rows as ``.dataset``, statistics and both audits; written to ``output`` and ``report`` if given.

    Raises:
        InputError: the benchmark, word vectors or donors cannot be used, or no decoys of this kind can be made.
    """
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.dataset.writing import check_config, check_output
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.io.atomic import publish_together
    from hf_vqa_mc.io.outputs import check_outside
    from hf_vqa_mc.remedies.donors import read_donors
    from hf_vqa_mc.remedies.new_decoys import check_remedy, give_new_decoys
    from hf_vqa_mc.remedies.prune import prune
    from hf_vqa_mc.remedies.rejections import read_rejections
    from hf_vqa_mc.remedies.remedied import pruned_config, remedied_config
    from hf_vqa_mc.report.audit_folder import check_audit_folder, staged_audit

    if settings.prune is None:
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
    if settings.prune is None and not benchmark.spec.choices.columns:
        raise InputError(
            f"{benchmark.test.location}: no column holds its choices ({benchmark.spec.choices.description}), so other "
            "choices cannot be written; add a column with lists of choices"
        )
    if settings.output is not None:
        pruned = settings.prune is not None
        config = pruned_config(benchmark.config) if pruned else remedied_config(benchmark.config, settings.decoys)
        check_config(benchmark, settings.output, config, settings.overwrite)
    if settings.prune is not None:
        made = prune(benchmark, settings.prune, settings.seed, progress)
    else:
        donors = [] if settings.pool is None else read_donors(settings.pool, progress)
        given = {one.name: getattr(settings, one.name, None) for one in fields(Settings)}
        method = Settings(**{name: value for name, value in given.items() if value is not None})
        keep_size = settings.decoys_per_set is None and settings.preset == "plausible"
        made = give_new_decoys(
            benchmark, settings.decoys, settings.word_vectors, method, donors, keep_size, progress, verdicts
        )
    with contextlib.ExitStack() as stack:
        outputs = []
        if settings.output is not None:  # written before the audits, to notice a full disk; published after them
            outputs.append(stack.enter_context(made.staged(benchmark, settings.output, settings.overwrite)))
        before, after = _audits(settings, benchmark, made.benchmark, progress)
        if settings.report is not None:
            sets = made.statistics.get("closed_sets", {}).get(made.benchmark.evaluated)
            report = staged_audit(settings.report, before, after, progress, overwrite=settings.overwrite, sets=sets)
            outputs.append(stack.enter_context(report))
        publish_together(*(staged for staged, _ in outputs))
    written = tuple(path for _, files in outputs for path in files)
    return RemedyResult(benchmark, made.benchmark, made.statistics, before, after, settings, written)


def _audits(
    settings: RemedySettings, published: "Benchmark", remedied: "Benchmark", progress: Progress
) -> "tuple[Audit, Audit]":
    from hf_vqa_mc.audits.auditing import audit as audit_benchmark
    from hf_vqa_mc.audits.settings import ProbeSettings

    audited = ProbeSettings(probes=settings.probes, seed=settings.seed)
    before = audit_benchmark(published, audited, prefixed(progress, "before"))
    return before, audit_benchmark(remedied, audited, prefixed(progress, "after"))
