"""``hf_vqa_mc.quickstart`` and ``vqa-mc quickstart``: the main job on a small real dataset, offline."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.io.outputs import AUDITS, check_report_folder
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.options import option, overwrite_option, settings
from hf_vqa_mc.result import Frame, Report, Result, frame_of, verb
from hf_vqa_mc.text.counted import percent
from hf_vqa_mc.text.tables import TextTable
from hf_vqa_mc.verbs.audit import AuditSettings, audit
from hf_vqa_mc.verbs.build import BuildResult, build, next_steps

SOURCE = "easyvqa"
VARIANTS = "random_uniform", "random_frequency", "iou", "qou", "iou_qou", "sets_same_question"
AUDITED, SHOWN, CLOSED = (f"{SOURCE}_{name}" for name in ("random_uniform", "iou_qou", "sets_same_question"))
TYPES, SHAPES = ("color", "shape", "yes/no"), ("circle", "rectangle", "triangle")
CAPTION = (
    "answers: from the choices alone; color, shape, yes/no: from question and choices, by type of question (with "
    "its chance where that is another)"
)
LEAST = 0.001  # difference of a type's chance that the table shows
PROBE_ROWS = 1_000
"""Rows that the audit's probes are trained on; 5,000 find the same shortcuts and take 77 instead of 25 CPU seconds."""


@settings
class QuickstartSettings:
    """Build easy-VQA with six kinds of decoys and measure how many questions are answered without the image.

    The 48,248 questions and 5,000 images come with the package easy-vqa; no network is needed.
    """

    output: Path | None = option(
        "Dataset folder, created or extended; the report is written next to it.",
        default=None,
        cli_default=Path("vqa_mc"),
    )
    overwrite: bool = overwrite_option()


@dataclass(frozen=True, eq=False, repr=False)
class QuickstartResult(Result):
    """The built dataset, accuracies of blind heuristics, and the audit's report."""

    settings: QuickstartSettings
    built: BuildResult
    figures: Mapping[str, Mapping[str, Any]]
    """config -> rows, choices, chance, answer_prior, question_answer_prior; by_type and chance_by_type"""
    audit_report: Path

    def report(self) -> Report:
        """Accuracies of blind heuristics, and next steps."""
        from hf_vqa_mc.scoring.table import score_cell

        n_rows = self.figures[SHOWN]["rows"]
        lines = []
        for name, found in self.figures.items():
            chance, cells = found["chance"], list(map(score_cell, found["by_type"].values()))
            for at, own in enumerate(found["chance_by_type"].values()):
                cells[at] += "" if abs(own - chance) < LEAST else f" ({score_cell(own)})"
            lines.append((name, score_cell(chance), score_cell(found["answer_prior"]), *cells))
        yield f"Accuracy in % without the image on {n_rows:,} test questions; {CAPTION}"
        yield TextTable.of(("config", "chance", "answers", *TYPES), lines)
        about, rest = self._texts().split("%%\n")
        yield about
        yield f"{next_steps(self.built.output, SHOWN)}\n"
        yield rest.rstrip("\n")

    def _texts(self) -> str:
        """The texts below the tables, as ``quickstart.jinja`` has them."""
        from jinja2 import Template

        output, closed = self.built.output, self.figures[CLOSED]
        template = Template((Path(__file__).parent / "quickstart.jinja").read_text("utf-8"), trim_blocks=True)
        text: str = template.render(
            name=output.name,
            quoted_name=shlex.quote(output.name),
            shown=SHOWN,
            audit_report=self.audit_report,
            closed=CLOSED,
            closed_rows=f"{closed['rows']:,}",
            rows=f"{self.figures[SHOWN]['rows']:,}",
            chance=percent(closed["question_answer_prior"]),
        )
        return text

    def to_dict(self) -> dict[str, Any]:
        """All figures; fractions."""
        return {
            "output": str(self.built.output),
            "load_from": str(self.built.output.parent),
            "configs": {name: dict(found) for name, found in self.figures.items()},
            "report": str(self.audit_report),
        }

    def to_pandas(self) -> Frame:
        """One row per config: rows, choices, accuracies of random guessing and of the blind heuristics; fractions."""
        return frame_of([{"config": name, **found} for name, found in self.figures.items()])

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Copy the dataset into a folder, as `BuildResult.save`."""
        return self.built.save(path, overwrite)


@verb(QuickstartSettings, "vqa-mc quickstart --output vqa_mc")
def quickstart(settings: QuickstartSettings, progress: Progress) -> QuickstartResult:
    """The dataset, accuracies of blind heuristics on it, and the audit's report.

    Raises:
        MissingExtra: the package easy-vqa is not installed.
        InputError: an output folder exists and was written by another program.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.audits.settings import AUDITED as AUDIT_FILES
    from hf_vqa_mc.dataset.settings import BuildSettings
    from hf_vqa_mc.sources.easyvqa import package_folder

    to_build = BuildSettings(
        SOURCE,
        output=str(settings.output) if settings.output else None,
        overwrite=settings.overwrite,
        images=package_folder(),
        variants=VARIANTS,
    )
    if settings.output is not None:
        folder = _report_folder(settings.output.absolute())
        check_report_folder(folder, AUDIT_FILES, "the report's folder", [settings.output], settings.overwrite)
    built = build.verb.run(to_build, progress)
    figures = {}
    for name, config in built.configs.items():
        if "statistics" in config:
            figures[name] = _blind_rules(built, name)
            progress("scoring blind heuristics", len(figures), len(built.configs) - 1)
    progress("auditing random decoys", 0, 1)
    report, overwrite = _report_folder(built.output), settings.overwrite
    to_audit = AuditSettings(str(built.output), AUDITED, probe_rows=PROBE_ROWS, output=report, overwrite=overwrite)
    audited = audit.verb.run(to_audit, silent)
    progress("auditing random decoys", 1, 1)
    return QuickstartResult(settings, built, figures, audited.written[0])


def _blind_rules(built: BuildResult, name: str) -> dict[str, Any]:
    """Accuracies on the test split of heuristics without the image, fitted on the training split."""
    import numpy as np

    from hf_vqa_mc.audits.probes.priors import answer_prior, counted_in, question_answer_prior
    from hf_vqa_mc.audits.rows import number_rows
    from hf_vqa_mc.text.normalisation import YES_NO

    splits = {split: rows.with_format("arrow")[:] for split, rows in built.load(name).items()}
    rows = number_rows(splits)
    choices, labels = splits["test"]["choices"].to_pylist(), splits["test"]["label"].to_pylist()
    sizes = np.array([len(texts) for texts in choices])
    targets = [texts[label] for texts, label in zip(choices, labels, strict=True)]
    types = np.array(["yes/no" if text in YES_NO else "shape" if text in SHAPES else "color" for text in targets])
    with_question = counted_in(rows["train"], rows["test"], question_answer_prior)
    return {
        "rows": len(sizes),
        "choices": " or ".join(map(str, sorted(set(sizes.tolist())))),
        "chance": float((1 / sizes).mean()),
        "answer_prior": float(counted_in(rows["train"], rows["test"], answer_prior).mean()),
        "question_answer_prior": float(with_question.mean()),
        "by_type": {kind: float(with_question[types == kind].mean()) for kind in TYPES},
        "chance_by_type": {kind: float((1 / sizes[types == kind]).mean()) for kind in TYPES},
    }


def _report_folder(output: Path) -> Path:
    """The folder of the audit, as ``vqa-mc audit`` names it."""
    return output.parent / AUDITS / f"{output.name}-{AUDITED}"
