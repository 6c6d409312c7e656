"""An evaluation: rows, prompts, replies, figures."""

import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.data.names import VIDEO, named
from hf_vqa_mc.data.questions import Questions, presented_questions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.asking import ask, check_replies, jobs_of
from hf_vqa_mc.evaluation.figures import Figures, figures_of
from hf_vqa_mc.evaluation.inputs import CHOICES_ONLY, FULL, INPUTS, Shown
from hf_vqa_mc.evaluation.language_model import name_of
from hf_vqa_mc.evaluation.methods import Method
from hf_vqa_mc.evaluation.opening import find_method, open_model
from hf_vqa_mc.evaluation.prompts import Job, Prompts
from hf_vqa_mc.evaluation.run_folder import RunFolder
from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray


LOG = logging.getLogger("hf_vqa_mc")
LOOKED_AT = 1_000
"""Number of prompts from which tokens are estimated."""
CHARACTERS = 4
"""Characters per token, for the estimate."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A finished evaluation."""

    figures: Figures
    location: str
    """location of the split"""
    run: dict[str, Any]
    """the settings of the run, as in run.json: model, dataset, config, split, method ..."""
    notes: tuple[str, ...] = ()
    """sentences about rows and images of the benchmark"""
    revision: str | None = None
    """commit of the dataset on the Hub"""

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        about = {name: self.run[name] for name in ("dataset", "config", "split", "method", "questions_sha256")}
        model = public_name(self.run["model"])
        return {"version": __version__, "model": model, **about, "dataset_revision": self.revision,
                **self.figures.as_json()}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Prepared:
    """An evaluation that can start."""

    benchmark: Benchmark
    model: Any
    """a LanguageModel"""
    method: Method
    prompts: Prompts
    jobs: list[Job]
    run: dict[str, Any]
    """see `Evaluation`"""


def evaluated(settings: EvaluateSettings, progress: Progress) -> Evaluation:
    """Evaluate a model as the settings say; see `hf_vqa_mc.evaluate`."""
    if settings.output is not None:
        check_outside(settings.output, "--output", settings.paths)
    with contextlib.ExitStack() as stack:
        given = _prepared(settings, progress, stack)
        folder = RunFolder(settings.output, given.run)
        folder.check_results(given.jobs)
        if hasattr(given.model, "check_words"):
            given.model.check_words(given.prompts.texts(given.jobs))
        LOG.info(_extent(given.prompts, given.jobs))
        with folder.open():
            ask(given.model, given.method, given.prompts, given.jobs, folder, progress)
            check_replies(given.jobs, folder)
            split = given.benchmark.test
            figures = figures_of(given.prompts.questions, split, given.method, given.jobs, folder.replies)
    notes = given.benchmark.notes
    if videos := video_columns(split):
        notes = (*notes, f"no video is shown (column {', '.join(videos)})")
    return Evaluation(figures, split.location, given.run, notes, given.benchmark.revision)


def _prepared(settings: EvaluateSettings, progress: Progress, stack: contextlib.ExitStack) -> _Prepared:
    """Read the benchmark and open the model; the stack closes it."""
    benchmark = load(settings, progress)
    questions = presented_questions(benchmark, None, hide_answers=False)
    model = open_model(settings, stack)
    split = benchmark.test
    method = find_method(model, settings.method or ("generate" if settings.base_url else None))
    inputs = checked_inputs(settings.inputs, method, model, split, questions)
    prompts = Prompts(questions, method, settings.seed, settings.instruction)
    if any(INPUTS[name].image is not Shown.NONE for name in inputs):
        prompts.check_images(model)
    rows = sampled(questions, settings.sample, settings.seed)
    most = max((len(texts) for texts in questions.choices), default=0)
    rotations = most if settings.rotations == "all" else int(settings.rotations)
    jobs = jobs_of(rows.tolist(), inputs, rotations, [len(texts) for texts in questions.choices])
    run = {
        "version": __version__,
        "model": name_of(model),
        "model_version": getattr(model, "version", None),
        "dataset": public_name(settings.dataset_name),
        "config": benchmark.config,
        "split": split.name,
        "method": method.name,
        "instruction": settings.instruction,
        "max_tokens": settings.max_tokens if method.name == "generate" else None,
        "seed": settings.seed,
        "questions_sha256": prompts.fingerprint(),
        "example": prompts.text(FULL, 0),
    }
    return _Prepared(benchmark, model, method, prompts, jobs, run)


def _extent(prompts: Prompts, jobs: Sequence[Job]) -> str:
    """The size of a run: its prompts, estimated tokens and images."""
    some = jobs[:: max(1, len(jobs) // LOOKED_AT)]
    texts = [prompts.text(INPUTS[job.input], job.row) for job in some]
    tokens = sum(map(len, texts)) / len(texts) / CHARACTERS * len(jobs)
    images = sum(INPUTS[job.input].image is not Shown.NONE for job in jobs)
    return f"{len(jobs):,} prompts, about {tokens:,.0f} tokens of text to read, {images:,} with an image"


def checked_inputs(
    names: Sequence[str],
    method: Method,
    model: Any,  # noqa: ANN401  a LanguageModel
    split: Split,
    questions: Questions,
) -> list[str]:
    """The inputs to ask, each once.

    Raises:
        InputError: an input cannot be shown, or is the same as another with this method.
    """
    found = list(dict.fromkeys(names))
    if method.compares_inputs and CHOICES_ONLY.name not in found:
        found.append(CHOICES_ONLY.name)  # for the unconditional likelihood
    for name in found:
        given = INPUTS[name]
        if not given.choices and not method.without_choices:
            raise InputError(f"--inputs {name}: --method {method.name} needs the choices; use --method generate")
        if not given.choices and not method.lists_choices:
            raise InputError(
                f"--inputs {name}: with --method {method.name} no prompt lists the choices, so it is the same as "
                "no-image; remove it"
            )
        if given.image is Shown.NONE:
            continue
        if not getattr(model, "sees_images", True):
            raise InputError(
                f"--inputs {name}: model {name_of(model)} sees no images; use --inputs no-image,choices-only"
            )
        if not len(questions.image_rows):
            why = split.images_missing or "the benchmark has no images"
            if videos := video_columns(split):
                why = f"the rows have videos ({', '.join(videos)}) and no images, and vqa-mc evaluate shows no video"
            raise InputError(f"--inputs {name}: {why}; or use --inputs no-image,choices-only")
        if given.image is Shown.OTHER and len(questions.image_rows) < 2:
            raise InputError(f"--inputs {name}: the benchmark has only one image; remove this input")
    return found


def video_columns(split: Split) -> list[str]:
    """The columns that name videos, such as video, video_id or vid_name."""
    return named(split.original.column_names, VIDEO)


def sampled(questions: Questions, count: int | None, seed: int) -> "NDArray[np.int64]":
    """The indices of a random sample, ascending; each question type has its share, to the nearest row.

    All rows without ``count``. The sample of a larger count contains that of a smaller one, up to rounding.
    """
    rows = np.arange(len(questions), dtype=np.int64)
    if count is None or count >= len(rows):
        return rows
    keys = np.random.default_rng(seed).random(len(rows))
    types = np.unique(questions.types, return_inverse=True)[1]
    order = np.lexsort((keys, types))
    sizes = np.bincount(types)
    within = np.concatenate([np.arange(size) for size in sizes])  # rank of each row of ``order`` in its type
    # rows in the order of their rank's share of the type: a prefix has every type in proportion
    first = np.argsort((within + keys[order]) / sizes[types[order]], kind="stable")[:count]
    return np.sort(order[first])
