"""Strict loading of checkpoints: missing weights are never initialised, pickles never loaded."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.model_files import quiet
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.vqa_processor import VqaProcessor

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
NAMED = 3
"""Maximum number of mismatched weights named in a message."""

_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


def load_checkpoint(
    name: str | Path,
    **options: Any,  # noqa: ANN401  as with_options has them
) -> tuple[PreTrainedModel, Any]:
    """The model, in evaluation mode, float32 and on the CPU, and its processor, with options of its ``with_options``.

    Raises InputError if there is no such checkpoint, it is damaged or pickled, or its files do not match.
    """
    folder = checkpoint_folder(name)
    model = load_model(folder, dtype=torch.float32)
    processor = model_of(model.config).processor_class.from_pretrained(folder, **options)
    check_fit(model.config, processor, str(name))
    return model, processor


def load_model(
    name: str | Path,
    *,
    dtype: str | torch.dtype = "auto",
    **of_hub: Any,  # noqa: ANN401  as checkpoint_folder has them
) -> PreTrainedModel:
    """The model of a checkpoint, in evaluation mode and on the CPU; ``of_hub`` as in `checkpoint_folder`.

    Raises InputError if config.json or weights are missing, damaged, or do not match.
    """
    folder = checkpoint_folder(name, **of_hub)
    config = _config(folder)
    _check_files(folder)
    try:
        with quiet():
            model, found = model_of(config).auto_class.from_pretrained(
                folder,
                config=config,
                dtype=dtype,
                use_safetensors=True,
                trust_remote_code=False,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
            )
    except SafetensorError as error:
        raise InputError(f"{folder}: {WEIGHTS} is damaged ({first_line(error)}); copy the checkpoint again") from error
    shapes = sorted(found["mismatched_keys"])
    wrong = {
        "missing": sorted(found["missing_keys"]),
        "not expected": sorted(found["unexpected_keys"]),
        "of another shape": [f"{name} ({_by(stored)}, expected {_by(shape)})" for name, stored, shape in shapes],
    }
    if faults := "; ".join(f"{what}: {listed(names, NAMED)}" for what, names in wrong.items() if names):
        raise InputError(
            f"{folder}: {CONFIG} does not match {WEIGHTS}, weights are {faults}; use both files of one checkpoint"
        )
    loaded: PreTrainedModel = model
    return loaded


def check_fit(config: PreTrainedConfig, processor: VqaProcessor, checkpoint: str) -> None:
    """Raise InputError unless the processor's outputs are the model's inputs."""
    kind = processor.image_kind
    pairs = [
        ("inputs", sorted(model_of(config).inputs_with(kind)), sorted(processor.inputs)),
        *((what, getattr(config, name, size), size) for name, (what, size) in processor.text_sizes.items()),
    ]
    if kind is not None and "image_size" in config.to_dict():
        pairs.append(("dimensions of image features", config.image_size, kind.dim))
    for what, of_model, of_processor in pairs:
        if of_model != of_processor:
            raise InputError(
                f"{checkpoint}: the model takes {what} {of_model}, its processor makes {of_processor}; use {CONFIG} "
                "and processor_config.json of one checkpoint"
            )


def _config(folder: Path) -> PreTrainedConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} has no {CONFIG}; expected a checkpoint written by vqa-mc train")
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        if model_of(config).open_ended and "id2label" not in read_json(path):
            raise InputError("it has no vocabulary of answers (id2label)")
    except Exception as error:  # transformers and huggingface_hub raise various errors for invalid files
        raise InputError(
            f"{path}: {first_line(error.__cause__ or error)}; use the file of the same checkpoint as {WEIGHTS}"
        ) from error
    return config


def _check_files(folder: Path) -> None:
    """Raise InputError if there are no safetensors weights."""
    if any((folder / name).is_file() for name in (WEIGHTS, INDEX)):
        return
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    found = f" but {pickles[0]}, and pickles are not loaded, as they can run code" if pickles else ""
    raise InputError(f"{folder} has no {WEIGHTS}{found}; expected safetensors weights written by save_pretrained")


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "scalar"
