"""A run's model, new or of a checkpoint; of multiple-choice models also texts and task."""

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.models.vqa_processor import VqaProcessor
from hf_vqa_mc.training.batches import ChoiceInputs
from hf_vqa_mc.training.model_inputs import check_same_features
from hf_vqa_mc.training.multiple_choice import MultipleChoice
from hf_vqa_mc.training.questions import Questions, Splits
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.word_vectors import run_word_vectors, with_word_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

    from hf_vqa_mc.models.model import Model
    from hf_vqa_mc.training.open_ended import OpenEnded

    ModelAndTask = tuple[PreTrainedModel, VqaProcessor, MultipleChoice | OpenEnded, Questions, dict[str, Any]]
    """model, processor, task, questions to train on, and texts (vectors or vocabulary) for training.json"""


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


def multiple_choice_model(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits,
    train: Questions,
    images: ImageFeatures | None,
    progress: Progress,
) -> "ModelAndTask":
    """A new model, or that of a checkpoint; raises InputError if settings and checkpoint do not fit each other."""
    if settings.init_from is None:
        targets = train.choices[np.arange(len(train)), train.labels]
        both = [
            (data.texts[question], data.texts[target])
            for question, target in zip(train.texts.tolist(), targets.tolist(), strict=True)
        ]
        vectors = run_word_vectors(settings, both, progress)
        texts = [data.texts[number] for number in train.used_texts()]
        text = TextFeatures.of(vectors, texts).with_file(vectors)
        model = new_model(settings, declared, images, text_size=text.dim)
    else:
        model, processor = load_checkpoint(settings.init_from)
        check_checkpoint(settings, model.config, images, processor)
        text = with_word_vectors(processor.text, settings.word_vectors)
    text = text.with_texts([data.texts[number] for number in train.used_texts()])
    kind = images.kind if images else None
    processor = VqaMcProcessor(text, kind, declared.inputs_with(kind))
    used = np.unique(np.concatenate([questions.used_texts() for questions in data.splits.values()]))
    task = MultipleChoice(ChoiceInputs(data.texts, used, text, processor.inputs, images))
    return model, processor, task, train, {"word_vectors": text.as_json()}
