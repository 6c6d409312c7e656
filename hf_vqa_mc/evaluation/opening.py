"""The model to evaluate, from its name or object, and its method."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.language_model import name_of
from hf_vqa_mc.evaluation.methods import METHODS, Method
from hf_vqa_mc.evaluation.settings import EvaluateSettings, JudgeSettings
from hf_vqa_mc.io.hub_folder import hub_folder
from hf_vqa_mc.io.json_stream import read_json


def open_model(settings: EvaluateSettings | JudgeSettings, stack: ExitStack) -> Any:  # noqa: ANN401  a LanguageModel
    """The model: an object as it is, a server's with ``base_url``, one of ``vqa-mc train``, or one of transformers.

    Args:
        settings: which model, and ``max_tokens``.
        stack: closes what was opened.

    Raises:
        InputError: there is no such model, or an option does not fit it.
        ConnectionError: the Hub or the server cannot be reached.
    """
    if not isinstance(settings.model, str | Path):
        if not any(callable(getattr(settings.model, name, None)) for name in METHODS):
            raise InputError(
                f"model is {shown(settings.model)}; expected a name, or an object with a method {' or '.join(METHODS)}"
            )
        return settings.model
    name, word_vectors = str(settings.model), settings.word_vectors if isinstance(settings, EvaluateSettings) else None
    local: dict[str, Any] = {"device": settings.device, "batch_size": settings.batch_size}
    if settings.base_url is not None:
        from hf_vqa_mc.evaluation.served_model import ServedModel

        limits = {one: getattr(settings, one) for one in ("concurrency", "max_tokens")}
        served = ServedModel(name, settings.base_url, **limits)
        stack.callback(served.close)
        return served
    if _is_ours(name):
        from hf_vqa_mc.evaluation.checkpoint_model import CheckpointModel

        return CheckpointModel(name, word_vectors=word_vectors, **local)
    if word_vectors is not None:
        raise InputError(f"--word-vectors {word_vectors}: --model {name} is no model of vqa-mc train; remove it")
    from hf_vqa_mc.evaluation.transformers_model import TransformersModel

    return TransformersModel(name, max_tokens=settings.max_tokens, **local)


def find_method(model: Any, name: str | None) -> Method:  # noqa: ANN401  a LanguageModel
    """The method of a name, by default the model's first one; raises InputError if the model does not have it."""
    own = [one for one in METHODS if callable(getattr(model, one, None))]
    if name is None:
        return METHODS[own[0]]
    method = METHODS.find(name)
    if name not in own:
        raise InputError(f"--method {name}: model {name_of(model)} cannot do this; expected {' or '.join(own)}")
    return method


def _is_ours(name: str) -> bool:
    """Whether a model's config is one of this package's."""
    local = Path(name).expanduser()
    expected = "expected a folder, or a name on the Hub; for a server's model, give --base-url"
    folder = local if local.is_dir() else hub_folder("--model", name, ["config.json"], expected)
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(
            f"--model {name} has no config.json; expected a folder written by save_pretrained or vqa-mc train"
        )
    from hf_vqa_mc.models import MODELS

    return read_json(path).get("model_type") in {one.config_class.model_type for one in MODELS.values()}
