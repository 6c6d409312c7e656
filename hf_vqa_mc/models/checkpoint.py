"""Strict loading of checkpoints: missing weights are never initialised, pickles never loaded."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.model_files import quiet
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.processor import VqaProcessor

CONFIG, WEIGHTS = "config.json", "model.safetensors"
NAMED = 3  # maximum number of mismatched weights named in a message


def load_checkpoint(
    name: str | Path,
    **options: Any,  # noqa: ANN401  as with_options has them
) -> tuple[PreTrainedModel, VqaProcessor]:
    """The model, in evaluation mode, float32 and on the CPU, and its processor, with options of its ``with_options``.

    Raises InputError if there is no such checkpoint, it is damaged or pickled, or its files do not match.
    """
    folder = checkpoint_folder(name)
    model = load_model(folder, dtype=torch.float32)
    return model, VqaProcessor.from_pretrained(folder, **options)


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
    if not any(folder.glob("model*.safetensors")):
        raise InputError(f"{folder} has no {WEIGHTS}; expected safetensors weights (pickles are not loaded)")
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
    kinds = {"missing": "missing_keys", "not expected": "unexpected_keys", "of another shape": "mismatched_keys"}
    wrong = {
        what: sorted(one if isinstance(one, str) else one[0] for one in found[key])  # with both shapes
        for what, key in kinds.items()
        if found[key]
    }
    if faults := "; ".join(f"{what}: {listed(names, NAMED)}" for what, names in wrong.items()):
        raise InputError(
            f"{folder}: {CONFIG} does not match {WEIGHTS}, weights are {faults}; use both files of one checkpoint"
        )
    loaded: PreTrainedModel = model
    return loaded


def _config(folder: Path) -> PreTrainedConfig:
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} has no {CONFIG}; expected a checkpoint written by vqa-mc train")
    try:
        config: PreTrainedConfig = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        model_of(config)
    except Exception as error:  # transformers and huggingface_hub raise various errors for invalid files
        raise InputError(
            f"{path}: {first_line(error.__cause__ or error)}; use the file of the same checkpoint as {WEIGHTS}"
        ) from error
    return config
