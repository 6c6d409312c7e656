"""An evaluation: rows, prompts, replies, figures."""

import contextlib
import json
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_vqa_mc.benchmarks.benchmark import Benchmark, Split
from hf_vqa_mc.benchmarks.questions import Questions, presented_questions
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.asking import ask, check_replies, jobs_of
from hf_vqa_mc.evaluation.figures import Figures, figures_of
from hf_vqa_mc.evaluation.inputs import CHOICES_ONLY, FULL, INPUTS, Shown
from hf_vqa_mc.evaluation.language_model import name_of
from hf_vqa_mc.evaluation.methods import Method
from hf_vqa_mc.evaluation.opening import find_method, open_model
from hf_vqa_mc.evaluation.prompts import Job, Prompts
from hf_vqa_mc.evaluation.run_folder import SHARES, RunFolder, share_answers
from hf_vqa_mc.io.executors import Executor, open_executor
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray


LOG = logging.getLogger("hf_vqa_mc")
SHARE_ROWS = 1_024
"""Questions of a call on a cluster: a multiple of usual batch sizes, so that batches are those of a local run."""
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


def evaluated(settings: Any, progress: Progress) -> Evaluation:  # noqa: ANN401  EvaluateSettings
    """Evaluate a model as the settings say; see `hf_vqa_mc.evaluate`."""
    if settings.output is not None:
        check_outside(settings.output, "--output", settings.paths)
    is_local = settings.executor == "local"
    with contextlib.ExitStack() as stack:
        given = _prepared(settings, progress, stack, weights=is_local)
        folder = RunFolder(settings.output, given.run)
        folder.check_results(given.jobs)
        if hasattr(given.model, "check_words"):
            given.model.check_words(given.prompts.texts(given.jobs))
        LOG.info(_extent(given.prompts, given.jobs))
        executor = stack.enter_context(open_executor(settings.executor, settings.address, settings.workers))
        with folder.open():
            if is_local:
                ask(given.model, given.method, given.prompts, given.jobs, folder, progress)
            else:
                _ask_on_cluster(settings, given, folder, executor, progress)
            check_replies(given.jobs, folder)
            split = given.benchmark.test
            figures = figures_of(given.prompts.questions, split, given.method, given.jobs, folder.replies)
    return Evaluation(figures, split.location, given.run, given.benchmark.notes, given.benchmark.revision)


def _prepared(
    settings: Any,  # noqa: ANN401  EvaluateSettings
    progress: Progress,
    stack: contextlib.ExitStack,
    weights: bool,
) -> _Prepared:
    """Read the benchmark and open the model; the stack closes it."""
    benchmark = settings.read(progress)
    questions = presented_questions(benchmark, None, hide_answers=False)
    model = open_model(settings, stack, weights)
    split = benchmark.test
    method = find_method(model, settings.method or ("generate" if settings.base_url else None))
    inputs = checked_inputs(settings.inputs, method, model, split, questions)
    prompts = Prompts(questions, method, settings.seed, settings.instruction)
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
        "example": prompts.text(FULL, 0, questions.choices[0]),
    }
    return _Prepared(benchmark, model, method, prompts, jobs, run)


def _ask_on_cluster(
    settings: Any,  # noqa: ANN401  EvaluateSettings
    given: _Prepared,
    folder: RunFolder,
    executor: Executor,
    progress: Progress,
) -> None:
    """Ask all jobs that have no reply yet, in shares of `SHARE_ROWS` questions."""
    share_of = {row: index // SHARE_ROWS for index, row in enumerate(dict.fromkeys(job.row for job in given.jobs))}
    shares: dict[int, list[Job]] = {}
    for job in given.jobs:
        if folder.lacks(job):
            shares.setdefault(share_of[job.row], []).append(job)
    answered = sum(map(len, shares.values())) < len(given.jobs)
    run = json.dumps(given.run)
    calls = {
        f"share {share} of the questions in {given.benchmark.test.location}": (
            settings, run, share, jobs, answered or number > 0,
        )
        for number, (share, jobs) in enumerate(shares.items())
    }  # fmt: skip
    (settings.output / SHARES).mkdir(exist_ok=True)
    executor.run(answer_share, calls, f"asking {name_of(given.model)} on the cluster", progress, gpu=True)
    folder.collect()
    if missing := sum(job not in folder.replies for job in given.jobs):
        raise InputError(f"--output {settings.output} lacks {missing:,} answers of nodes; mount it on all of them")


def answer_share(
    settings: Any,  # noqa: ANN401  EvaluateSettings
    run: str,
    share: int,
    jobs: Sequence[Job],
    answered: bool,
) -> None:
    """Ask the jobs of a share on a node of a cluster, and store the replies in the run's folder.

    Args:
        settings: of the evaluation.
        run: settings of the run as JSON, as the machine that started it finds them.
        share: number of the share.
        jobs: to ask.
        answered: see `ask`.

    Raises:
        InputError: the benchmark or the model is another one on this node, or the folder is not mounted here.
    """
    try:
        given = _prepared_once(settings, run)
    except InputError as error:
        raise InputError(f"node {socket.gethostname()}: {error}") from error
    with share_answers(settings.output, share) as known:
        ask(given.model, given.method, given.prompts, jobs, known, silent, answered)


@lru_cache(1)
def _prepared_once(settings: Any, run: str) -> _Prepared:  # noqa: ANN401  EvaluateSettings
    """The evaluation on a node, for all shares that its process asks."""
    found = _prepared(settings, silent, contextlib.ExitStack(), weights=True)
    for name, value in json.loads(run).items():
        if found.run[name] != value:
            raise InputError(
                f"{name} is {shown(found.run[name])} here, and {shown(value)} on the machine that started the run; "
                "all nodes need the same model and benchmark"
            )
    return found


def _extent(prompts: Prompts, jobs: Sequence[Job]) -> str:
    """The size of a run: its prompts, estimated tokens and images."""
    some = jobs[:: max(1, len(jobs) // LOOKED_AT)]
    texts = [prompts.text(INPUTS[job.input], job.row, prompts.questions.choices[job.row]) for job in some]
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
            raise InputError(f"--inputs {name}: {why}; or use --inputs no-image,choices-only")
        if given.image is Shown.OTHER and len(questions.image_rows) < 2:
            raise InputError(f"--inputs {name}: the benchmark has only one image; remove this input")
    return found


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
