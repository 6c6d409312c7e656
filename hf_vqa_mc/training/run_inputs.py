"""The inputs of a training run, checked first: questions, features, model and processor."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.training.ablations import check_types, sampled, with_changed_words, without_types
from hf_vqa_mc.training.model_inputs import ModelInputs
from hf_vqa_mc.training.new_model import multiple_choice_model
from hf_vqa_mc.training.open_ended_model import open_ended_model
from hf_vqa_mc.training.questions import Questions, Splits, held_out, read_questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from hf_vqa_mc.models.vqa_processor import VqaProcessor
    from hf_vqa_mc.training.multiple_choice import MultipleChoice
    from hf_vqa_mc.training.open_ended import OpenEnded

VALIDATION, HELD_OUT = "validation", "held_out"
"""The best checkpoint is chosen on a split, or on held-out training images."""


@dataclass(frozen=True, eq=False)
class RunInputs:
    """The inputs of a run, and its model."""

    model: "PreTrainedModel"
    processor: "VqaProcessor"
    task: "MultipleChoice | OpenEnded"
    train: Questions
    texts: dict[str, Any]
    """the word vectors, or the vocabulary of answers, for training.json"""
    validation: Questions
    validated_on: str
    """`VALIDATION` or `HELD_OUT`"""
    reported: Questions | None
    """the test questions, scored once; None if there is no such split"""
    reported_on: str | None
    """name of their split"""
    questions: str
    """checksum of all questions"""
    inputs: ModelInputs
    skipped: int
    """number of questions on images without features or captions"""

    def as_json(self) -> dict[str, Any]:
        """Everything that the result depends on, except the settings."""
        rows = {"train": len(self.train), self.validated_on: len(self.validation)}
        if self.reported is not None and self.reported_on is not None:
            rows[self.reported_on] = len(self.reported)
        images, captions, candidates = self.inputs.images, self.inputs.captions, self.inputs.candidates
        return {
            "rows": rows,
            "questions_sha256": self.questions,
            "skipped": self.skipped,
            "word_vectors": None,
            **self.texts,
            "image_features": images.kind.as_json() if images else None,
            "images_sha256": images.checksum if images else None,
            **({"captions_sha256": captions.checksum} if captions else {}),
            **({"candidates_sha256": candidates.checksum} if candidates else {}),
        }


def prepare_inputs(
    settings: TrainingSettings, progress: Progress, rows: Mapping[str, pa.Table] | None = None
) -> RunInputs:
    """Read the inputs of a run and create its model; raises InputError if inputs are missing or do not match.

    ``rows`` are the splits of the config if they were read already.
    """
    declared = MODELS.find(settings.model)
    config = declared.config(settings.model_settings)  # checks the settings before anything is read
    settings.check_task(declared.open_ended)
    inputs = ModelInputs.open(config, settings.model, settings.features, settings.captions, settings.candidates)
    progress("reading questions", 0, 1)
    data = read_questions(
        settings.dataset,
        settings.config,
        open_ended=declared.open_ended,
        group=getattr(config, "group", None),
        form=settings.questions,
        rows=rows,
    )
    progress("reading questions", 1, 1)
    checksum = data.sha256()
    check_types(data, settings.without_types, f"{settings.dataset}, {settings.config}")
    data = with_changed_words(data, settings.word_changes)
    kept, skipped = {}, 0
    for split, questions in data.splits.items():
        questions, lost = inputs.of(without_types(questions, settings.without_types), settings.skip_missing)
        kept[split], skipped = questions, skipped + lost
    data = Splits(data.texts, {split: questions for split, questions in kept.items() if questions.has_answers})
    if "train" in kept and "train" not in data.splits:
        raise InputError(f"{kept['train'].location} has no answers to train on; choose another config")
    train, validation, validated_on = _divided(data, settings)
    train, reported_on = sampled(train, settings.train_rows, settings.seed), _reported(data, validated_on)
    make = open_ended_model if declared.open_ended else multiple_choice_model
    made = make(settings, declared, data, train, inputs.images, progress)
    made[1].word_changes = settings.word_changes
    reported = data.splits[reported_on] if reported_on else None
    return RunInputs(*made, validation, validated_on, reported, reported_on, checksum, inputs, skipped)


def _divided(data: Splits, settings: TrainingSettings) -> tuple[Questions, Questions, str]:
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


def _reported(data: Splits, validated_on: str) -> str | None:
    """The split to report: test, else validation, else the only other one."""
    others = [split for split in data.splits if split not in ("train", validated_on)]
    usual = [split for split in ("test", VALIDATION) if split in others]
    return next(iter(usual or (others if len(others) == 1 else [])), None)
