"""The inputs of a training run, checked first: questions, features, model and processor."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import IMAGE_INPUTS, FeatureKind
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.training.ablations import check_types, sampled, with_changed_words, without_types
from hf_vqa_mc.training.candidates import Candidates
from hf_vqa_mc.training.captions import Captions
from hf_vqa_mc.training.multiple_choice import MultipleChoice
from hf_vqa_mc.training.new_model import Made, check_checkpoint, new_model
from hf_vqa_mc.training.open_ended_material import open_ended
from hf_vqa_mc.training.questions import Inputs, OfSplit, Questions, SplitQuestions, Splits, held_out
from hf_vqa_mc.training.reading import open_candidates, open_captions, read_questions, with_inputs
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.word_vectors import run_word_vectors, with_word_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

    from hf_vqa_mc.models.model import Model

VALIDATION, HELD_OUT = "validation", "held_out"
"""The best checkpoint is chosen on a split, or on held-out training images."""


@dataclass(frozen=True, eq=False)
class Material(Made):
    """The inputs of a run, and its model."""

    validation: SplitQuestions
    validated_on: str
    """`VALIDATION` or `HELD_OUT`"""
    reported: SplitQuestions | None
    """the test questions, scored once; None if there is no such split"""
    reported_on: str | None
    """name of their split"""
    questions: str
    """checksum of all questions"""
    images: ImageFeatures | None
    captions: Captions | None
    candidates: Candidates | None
    skipped: int
    """number of questions on images without features or captions"""

    def as_json(self) -> dict[str, Any]:
        """Everything that the result depends on, except the settings."""
        rows = {"train": len(self.train), self.validated_on: len(self.validation)}
        if self.reported is not None and self.reported_on is not None:
            rows[self.reported_on] = len(self.reported)
        return {
            "rows": rows,
            "questions_sha256": self.questions,
            "skipped": self.skipped,
            "word_vectors": None,
            **self.texts,
            "image_features": self.images.kind.as_json() if self.images else None,
            "images_sha256": self.images.checksum if self.images else None,
            **({"captions_sha256": self.captions.checksum} if self.captions else {}),
            **({"candidates_sha256": self.candidates.checksum} if self.candidates else {}),
        }


def gather(settings: TrainingSettings, progress: Progress, rows: Mapping[str, pa.Table] | None = None) -> Material:
    """Read the inputs of a run and create its model; raises InputError if inputs are missing or do not match.

    ``rows`` are the splits of the config if they were read already.
    """
    declared = MODELS.find(settings.model)
    config = declared.config(settings.model_settings)  # checks the settings before anything is read
    settings.check_task(declared.open_ended)
    images = open_images(settings.features, config, settings.model)
    captions = open_captions(settings.captions, config)
    candidates = open_candidates(settings.candidates, config, images)
    progress("reading questions", 0, 1)
    data = read_questions(settings.dataset, settings.config, config, settings.questions, rows)
    progress("reading questions", 1, 1)
    checksum = data.sha256()
    check_types(data, settings.without_types, f"{settings.dataset}, {settings.config}")
    data = with_changed_words(data, settings.word_changes)
    kept = {}
    for split, questions in data.splits.items():
        questions = without_types(questions, settings.without_types)
        kept[split] = with_inputs(questions, images, captions, settings.skip_missing, candidates)
    skipped = sum(lost for _, lost in kept.values())
    data = Splits(data.texts, {split: questions for split, (questions, _) in kept.items() if questions.has_answers})
    if "train" in kept and "train" not in data.splits:
        raise InputError(f"{kept['train'][0].location} has no answers to train on; choose another config")
    train, validation, validated_on = _divided(data, settings)
    train, reported_on = sampled(train, settings.train_rows, settings.seed), _reported(data, validated_on)
    make = open_ended if declared.open_ended else _multiple_choice
    made = make(settings, declared, data, train, images, progress)
    made.processor.word_changes = settings.word_changes
    return Material(
        **vars(made),
        validation=validation,
        validated_on=validated_on,
        reported=data.splits[reported_on] if reported_on else None,
        reported_on=reported_on,
        questions=checksum,
        images=images,
        captions=captions,
        candidates=candidates,
        skipped=skipped,
    )


def _multiple_choice(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits[Questions],
    train: Questions,
    images: ImageFeatures | None,
    progress: Progress,
) -> Made:
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
    task = MultipleChoice(Inputs(data.texts, used, text, processor.inputs, images))
    return Made(model, processor, task, train, {"word_vectors": text.as_json()})


def open_images(
    folder: Path | None, config: "PreTrainedConfig", model: str, trained_with: FeatureKind | None = None
) -> ImageFeatures | None:
    """A model's image features, None if it sees no images; raises InputError if they do not fit the model.

    ``trained_with``: the kind of features that a checkpoint was trained with, for messages.
    """
    accepted = model_of(config).inputs.intersection(IMAGE_INPUTS)
    if not accepted:
        if folder is not None:
            raise InputError(f"--features {folder}: {model} sees no images; remove --features")
        return None
    option = "without --grid" if "image_features" in accepted else "with --grid 7"
    if folder is None:
        if trained_with is not None:
            raise InputError(
                f"{model} sees images: add --features DIR with features of {trained_with.folder_name}, the kind that "
                "it was trained with"
            )
        command = f"vqa-mc features DATASET CONFIG{option.removeprefix('with') if 'image_grid' in accepted else ''}"
        raise InputError(f"{model} sees images: add --features DIR; create the features with {command}")
    images = ImageFeatures(folder)
    if images.kind.input_name not in accepted:
        expected = " or ".join(_PER_IMAGE[name] for name in IMAGE_INPUTS if name in accepted)
        raise InputError(
            f"--features {folder} has {_PER_IMAGE[images.kind.input_name]} per image, {model} takes {expected}; run "
            f"vqa-mc features {option}"
        )
    return images


_PER_IMAGE = dict(zip(IMAGE_INPUTS, ("one vector", "a grid", "regions"), strict=True))


def _divided(data: Splits[OfSplit], settings: TrainingSettings) -> tuple[OfSplit, OfSplit, str]:
    """Training questions, validation questions, and the name of the latter."""
    location = f"{settings.dataset}, {settings.config}"
    if "train" not in data.splits:
        raise InputError(f"{location} has no split train; it has {', '.join(data.splits)}")
    train = data.splits["train"]
    if VALIDATION in data.splits and _reported(data, VALIDATION):
        return train, data.splits[VALIDATION], VALIDATION
    out = held_out(train.image_ids, settings.held_out)
    if not out.any() or out.all():
        raise InputError(
            f"{location}: --held-out {settings.held_out} gives {int((~out).sum()):,} training and {int(out.sum()):,} "
            "validation questions; choose another fraction"
        )
    return train.take(np.flatnonzero(~out)), train.take(np.flatnonzero(out)), HELD_OUT


def _reported(data: Splits[OfSplit], validated_on: str) -> str | None:
    """The split to report: test, else validation, else the only other one."""
    others = [split for split in data.splits if split not in ("train", validated_on)]
    usual = [split for split in ("test", VALIDATION) if split in others]
    return next(iter(usual or (others if len(others) == 1 else [])), None)
