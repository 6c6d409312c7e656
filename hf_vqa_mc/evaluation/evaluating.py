"""An evaluation: the benchmark, the model and its method, prompts, replies, figures."""

import logging
from contextlib import ExitStack, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.data.names import VIDEO, named
from hf_vqa_mc.data.questions import Questions, presented_questions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.figures import Evaluation
from hf_vqa_mc.evaluation.language_model import name_of
from hf_vqa_mc.evaluation.methods import CHOICES_ONLY, FULL, INPUTS, METHODS, NO_IMAGE, Input, Method
from hf_vqa_mc.evaluation.prompts import Prompts
from hf_vqa_mc.evaluation.run_folder import RunFolder, ask, jobs_of
from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.hub_folder import hub_folder
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.version import __version__

LOG = logging.getLogger("hf_vqa_mc")
LOOKED_AT = 1_000  # number of prompts from which tokens are estimated
CHARACTERS = 4  # characters per token, for the estimate


def evaluated(settings: EvaluateSettings, progress: Progress) -> Evaluation:
    """Evaluate a model as the settings say; see `hf_vqa_mc.evaluate`."""
    if settings.output is not None:
        check_outside(settings.output, "--output", settings.paths)
    benchmark = load(settings, progress)
    questions, split = presented_questions(benchmark, None, hide_answers=False), benchmark.test
    videos = ", ".join(named(split.original.column_names, VIDEO))  # columns such as video, video_id or vid_name
    temperature = float(settings.samples > 1) if settings.temperature is None else settings.temperature
    with ExitStack() as stack:
        given = settings.model_options | {"word_vectors": settings.word_vectors, "temperature": temperature}
        model = open_model(settings.model, stack, **given)
        own = [one for one in METHODS if callable(getattr(model, one, None))]
        method = METHODS.find(settings.method or ("generate" if settings.base_url else own[0]))
        if method.name not in own:
            able = f"model {name_of(model)} cannot do this; expected {' or '.join(own)}"
            raise InputError(f"--method {method.name}: {able}")
        if settings.samples > 1 and method is not METHODS["generate"]:
            raise InputError(
                f"--samples {settings.samples}: --method {method.name} always gives the same; use generate"
            )
        inputs = list(dict.fromkeys(settings.inputs))
        if method.compares_inputs and CHOICES_ONLY.name not in inputs:
            inputs.append(CHOICES_ONLY.name)  # for the unconditional likelihood
        inputs = list(dict.fromkeys(name for one in inputs for name in (INPUTS[one].after, one) if name))
        for name in inputs:
            if why := _unshown(INPUTS[name], method, model, split.images_missing, videos, questions):
                raise InputError(f"--inputs {name}: {why}")
        prompts = Prompts(questions, method, settings.seed, settings.instruction)
        if any(INPUTS[name].image for name in inputs):
            prompts.check_images(model)
        rows, sizes = sampled(questions, settings.sample, settings.seed), list(map(len, questions.choices))
        rotations = max(sizes, default=0) if settings.rotations == "all" else int(settings.rotations)
        jobs = jobs_of(rows.tolist(), inputs, rotations, sizes, settings.samples)
        run = {
            "version": __version__,
            "model": name_of(model),
            "model_version": getattr(model, "version", None),
            "dataset": public_name(benchmark.dataset),
            "config": benchmark.config,
            "split": split.name,
            "method": method.name,
            "instruction": settings.instruction,
            "max_tokens": settings.max_tokens if method.name == "generate" else None,
            "temperature": (temperature or None) if method.name == "generate" else None,
            "seed": settings.seed,
            "questions_sha256": prompts.fingerprint(),
            "example": prompts.text(FULL, 0),
        }
        folder = RunFolder(settings.output, run)
        if hasattr(model, "check_words"):
            model.check_words(prompts.texts(jobs))
        some = jobs[:: max(1, len(jobs) // LOOKED_AT)]
        characters = sum(len(prompts.text(INPUTS[job.input], job.row)) for job in some)
        tokens = f"about {characters / len(some) / CHARACTERS * len(jobs):,.0f} tokens of text to read"
        images = sum(bool(INPUTS[job.input].image) for job in jobs)
        LOG.info("%s prompts, %s, %s with an image", f"{len(jobs):,}", tokens, f"{images:,}")
        with folder.open():
            ask(model, method, prompts, jobs, folder, progress)
            notes = (*benchmark.notes, *([f"no video is shown (column {videos})"] if videos else []))
            return Evaluation(questions, split, method, jobs, folder.replies, run, notes, benchmark.revision)


def _unshown(given: Input, method: Method, model: Any, missing: str, videos: str, questions: Questions) -> str:  # noqa: ANN401
    """Why an input cannot be shown, or is the same as another; "" if it can."""
    why, others = "", "use --inputs no-image,choices-only"
    if not given.choices and not method.without_choices:
        why = f"--method {method.name} needs the choices; use --method generate"
    elif not given.choices and not method.lists_choices:
        same = FULL.name if given.image else NO_IMAGE.name
        why = f"with --method {method.name} no prompt lists the choices, so it is the same as {same}; remove it"
    elif not given.image:
        pass
    elif not getattr(model, "sees_images", True):
        why = f"model {name_of(model)} sees no images; {others}"
    elif not questions.image_rows and videos:
        why = f"the rows have videos ({videos}) and no images, and vqa-mc evaluate shows no video; or {others}"
    elif not questions.image_rows:
        why = f"{missing or 'the benchmark has no images'}; or {others}"
    elif given.image == "other" and len(questions.image_rows) < 2:
        why = "the benchmark has only one image; remove this input"
    return why


def open_model(
    model: Any,  # noqa: ANN401  a name, a path or a LanguageModel
    stack: ExitStack,
    *,
    max_tokens: int,
    base_url: str | None = None,
    device: str | None = None,
    batch_size: int = 8,
    concurrency: int = 16,
    word_vectors: str | None = None,
    temperature: float = 0.0,
) -> Any:  # noqa: ANN401  a LanguageModel
    """The model: an object as it is, a server's with ``base_url``, one of ``vqa-mc train``, or one of transformers."""
    if isinstance(model, type):
        raise InputError(f"model is the class {model.__name__}; expected an instance: {model.__name__}(...)")
    if not isinstance(model, str | Path):
        if any(callable(getattr(model, name, None)) for name in METHODS):
            return model
        if not callable(model):
            expected = f"a name, a function, or an object with a method {' or '.join(METHODS)}"
            raise InputError(f"model is {shown(model)}; expected {expected}")
        called = getattr(model, "__name__", type(model).__name__)
        return SimpleNamespace(name=called, generate=lambda prompts: list(map(model, prompts)))
    name = str(model)
    if base_url is not None:
        from hf_vqa_mc.evaluation.served_model import ServedModel

        return stack.enter_context(closing(ServedModel(name, base_url, concurrency, max_tokens, temperature)))
    local = Path(name).expanduser()
    expected = "expected a folder, or a name on the Hub; for a server's model, give --base-url"
    config = (local if local.is_dir() else hub_folder("--model", name, ["config.json"], expected)) / "config.json"
    if not config.is_file():
        expected = "a folder written by save_pretrained or vqa-mc train"
        raise InputError(f"--model {name} has no config.json; expected {expected}")
    from hf_vqa_mc.models import MODELS

    if read_json(config).get("model_type") in {one.config_class.model_type for one in MODELS.values()}:
        from hf_vqa_mc.evaluation.checkpoint_model import CheckpointModel

        return CheckpointModel(name, word_vectors, device, batch_size)
    if word_vectors is not None:
        raise InputError(f"--word-vectors {word_vectors}: --model {name} is no model of vqa-mc train; remove it")
    from hf_vqa_mc.evaluation.transformers_model import TransformersModel

    return TransformersModel(
        name, max_tokens=max_tokens, device=device, batch_size=batch_size, temperature=temperature
    )


def sampled(questions: Questions, count: int | None, seed: int) -> NDArray[np.int64]:
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
