"""A run's model, new or of a checkpoint."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.vqa_processor import VqaProcessor
from hf_vqa_mc.training.questions import SplitQuestions
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

    from hf_vqa_mc.models.model import Model


@dataclass(frozen=True, eq=False)
class Made:
    """What differs between multiple-choice and open-ended models, see `Material`."""

    model: "PreTrainedModel"
    processor: VqaProcessor
    task: Task[Any]
    train: SplitQuestions
    texts: dict[str, Any]
    """the word vectors, or the vocabulary of answers, for training.json"""


def new_model(
    settings: TrainingSettings,
    declared: "Model",
    images: ImageFeatures | None,
    **about: Any,  # noqa: ANN401
) -> "PreTrainedModel":
    """A model with random weights, or with none if it is fitted; ``about`` are its sizes and labels."""
    sizes = about | (
        {"image_size": images.kind.dim, "sees_regions": images.kind.regions is not None} if images else {}
    )
    known = {one.name for one in fields(declared.config_class)} | {"id2label", "label2id"}
    config = declared.config(settings.model_settings, **{name: of for name, of in sizes.items() if name in known})
    torch.manual_seed(settings.seed)
    model: PreTrainedModel = declared.auto_class.from_config(config)
    return model


def check_same_features(images: ImageFeatures, processor: VqaProcessor, checkpoint: str) -> None:
    """Raise InputError unless image features are of the same kind as the checkpoint's."""
    if processor.image_kind != images.kind:
        trained_with = processor.image_kind.folder_name if processor.image_kind else "none"
        raise InputError(
            f"--features {images.folder} has features of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with}; extract these"
        )


def check_checkpoint(
    settings: TrainingSettings, config: "PreTrainedConfig", images: ImageFeatures | None, processor: VqaProcessor
) -> None:
    """Raise InputError unless a checkpoint is of the requested model, with the same features."""
    start = f"--init-from {settings.init_from}"
    if not MODELS.find(settings.model).fits(config):
        raise InputError(f"{start} is not a checkpoint of {settings.model}; give its model with --model")
    for key in settings.model_settings:
        raise InputError(f"--model-settings {key}: {start} has its own; remove it")
    before, now = processor.word_changes, settings.word_changes
    if (before.first_words, before.shuffle_words) != (now.first_words, now.shuffle_words):
        raise InputError(
            f"{start} was trained with other words of the questions ({before}; not {now}); give the same "
            "--first-words and --shuffle-words"
        )
    if images is not None:
        check_same_features(images, processor, str(settings.init_from))
