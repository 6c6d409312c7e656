"""The inputs of a training run, checked first: questions, features, model and processor."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import IMAGE_INPUTS, answers_of, model_of
from hf_vqa_mc.models.open_ended_processor import OpenEndedVqaProcessor
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.models.question_words import QuestionWords
from hf_vqa_mc.models.vqa_processor import VqaProcessor
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import CORPUS, load_word_vectors
from hf_vqa_mc.training.answered_questions import (
    AnsweredQuestions,
    coverage,
    most_frequent_answers,
    read_answered,
)
from hf_vqa_mc.training.multiple_choice import MultipleChoice
from hf_vqa_mc.training.open_ended import AnswerInputs, OpenEnded
from hf_vqa_mc.training.questions import (
    Inputs,
    OfSplit,
    Questions,
    SplitQuestions,
    Splits,
    held_out,
    read_splits,
)
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

    from hf_vqa_mc.models.model import Model

VALIDATION, HELD_OUT = "validation", "held_out"
"""The best checkpoint is chosen on a split, or on held-out training images."""


@dataclass(frozen=True, eq=False)
class Material:
    """The inputs of a run, and its model."""

    model: "PreTrainedModel"
    processor: VqaMcProcessor | OpenEndedVqaProcessor
    task: Task[Any]
    train: SplitQuestions
    texts: dict[str, Any]
    """the word vectors, or the vocabulary of answers, for training.json"""
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
    skipped: int
    """number of questions without image features"""

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
        }


def gather(settings: TrainingSettings, progress: Progress) -> Material:
    """Read the inputs of a run and create its model; raises InputError if inputs are missing or do not match."""
    declared = MODELS.find(settings.model)
    config = declared.config(settings.model_settings)  # checks the settings before anything is read
    settings.check_task(declared.open_ended)
    images = open_images(settings.features, config, settings.model)
    progress("reading questions", 0, 1)
    data: Splits[Any] = (read_answered if declared.open_ended else read_splits)(settings.dataset, settings.config)
    progress("reading questions", 1, 1)
    checksum = data.sha256()
    kept = {split: with_images(questions, images, settings.skip_missing) for split, questions in data.splits.items()}
    data = Splits(data.texts, {split: questions for split, (questions, _) in kept.items() if questions.has_answers})
    train, validation, validated_on = _divided(data, settings)
    make = _open_ended if declared.open_ended else _multiple_choice
    made = make(settings, declared, data, train, images, progress)
    skipped, reported_on = sum(lost for _, lost in kept.values()), _reported(data, validated_on)
    reported = data.splits[reported_on] if reported_on else None
    return Material(
        **vars(made),
        validation=validation,
        validated_on=validated_on,
        reported=reported,
        reported_on=reported_on,
        questions=checksum,
        images=images,
        skipped=skipped,
    )


@dataclass(frozen=True, eq=False)
class _Made:
    """What differs between multiple-choice and open-ended models, see `Material`."""

    model: "PreTrainedModel"
    processor: VqaMcProcessor | OpenEndedVqaProcessor
    task: Task[Any]
    train: SplitQuestions
    texts: dict[str, Any]


def _multiple_choice(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits[Questions],
    train: Questions,
    images: ImageFeatures | None,
    progress: Progress,
) -> _Made:
    if settings.init_from is None:
        text = _text_features(settings, data, train, progress)
        model = _new(settings, declared, images, text_size=text.dim)
    else:
        model, processor = load_checkpoint(settings.init_from)
        _check_checkpoint(settings, model.config, images, processor)
        text = with_word_vectors(processor.text, settings.word_vectors)
    text = text.with_texts([data.texts[number] for number in train.used_texts()])
    processor = VqaMcProcessor(text, images.kind if images else None, declared.inputs)
    used = np.unique(np.concatenate([questions.used_texts() for questions in data.splits.values()]))
    task = MultipleChoice(Inputs(data.texts, used, text, declared.inputs, images))
    return _Made(model, processor, task, train, {"word_vectors": text.as_json()})


def _open_ended(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits[AnsweredQuestions],
    train: AnsweredQuestions,
    images: ImageFeatures | None,
    progress: Progress,
) -> _Made:
    if settings.init_from is None:
        words = QuestionWords.of(data.texts[number] for number in train.texts)
        vocabulary = most_frequent_answers(train.targets, settings.answers)
        labels = {
            "id2label": dict(enumerate(vocabulary)),
            "label2id": {text: at for at, text in enumerate(vocabulary)},
        }
        sizes = {"vocabulary_size": words.size, "bag_size": words.bag_size}
        model = _new(settings, declared, images, **sizes, **labels)
    else:
        model, processor = load_checkpoint(settings.init_from)
        _check_checkpoint(settings, model.config, images, processor)
        words, vocabulary = processor.words, answers_of(model)
    known = np.array([text in set(vocabulary) for text in train.targets])
    if not known.any():
        raise InputError(f"{train.location}: no training answer is in the vocabulary of {settings.init_from}")
    about = {"size": len(vocabulary), **coverage(vocabulary, train)}
    task = OpenEnded(AnswerInputs(data.texts, words, declared.inputs, images), vocabulary)
    processor = OpenEndedVqaProcessor(words, images.kind if images else None, declared.inputs)
    return _Made(model, processor, task, train.take(np.flatnonzero(known)), {"answers": about})


def _new(
    settings: TrainingSettings,
    declared: "Model",
    images: ImageFeatures | None,
    **about: Any,  # noqa: ANN401
) -> "PreTrainedModel":
    config = declared.config(settings.model_settings, **about, **({"image_size": images.kind.dim} if images else {}))
    torch.manual_seed(settings.seed)
    model: PreTrainedModel = declared.auto_class.from_config(config)
    return model


def open_images(folder: Path | None, config: "PreTrainedConfig", model: str) -> ImageFeatures | None:
    """A model's image features, None if it sees no images; raises InputError if they do not fit the model."""
    shape = model_of(config).inputs.intersection(IMAGE_INPUTS)
    if not shape:
        if folder is not None:
            raise InputError(f"--features {folder}: {model} sees no images; remove --features")
        return None
    grid = "image_grid" in shape
    if folder is None:
        command = f"vqa-mc features DATASET CONFIG{' --grid 7' if grid else ''}"
        raise InputError(f"{model} sees images: add --features DIR; create the features with {command}")
    images = ImageFeatures(folder)
    if grid != (images.kind.grid is not None):
        found, expected = ("a grid", "one vector") if images.kind.grid else ("one vector", "a grid")
        raise InputError(
            f"--features {folder} has {found} per image, {model} takes {expected}; run vqa-mc features "
            f"{'with --grid 7' if grid else 'without --grid'}"
        )
    return images


def with_images(questions: OfSplit, images: ImageFeatures | None, skip: bool) -> tuple[OfSplit, int]:
    """The questions whose images have features, and the number of the others.

    Raises InputError if all have none, or if some have none and ``skip`` is false.
    """
    if images is None:
        return questions, 0
    valid = np.array([image_id in images for image_id in questions.image_ids], np.bool_)
    lost = np.flatnonzero(~valid)
    if not len(lost):
        return questions, 0
    if not skip or len(lost) == len(valid):
        raise InputError(
            f"{questions.location}: {len(lost):,} of {len(valid):,} questions are on images without features in "
            f"{images.folder}, the first on image_id {questions.image_ids[lost[0]]!r}; run vqa-mc features for this "
            "dataset, or skip such questions with --skip-missing"
        )
    return questions.take(np.flatnonzero(valid)), len(lost)


def check_same_features(images: ImageFeatures, processor: VqaProcessor, checkpoint: str) -> None:
    """Raise InputError unless image features are of the same kind as the checkpoint's."""
    if processor.image_kind != images.kind:
        trained_with = processor.image_kind.folder_name if processor.image_kind else "none"
        raise InputError(
            f"--features {images.folder} has features of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with}; extract these"
        )


def with_word_vectors(text: TextFeatures, word_vectors: str | None) -> TextFeatures:
    """A checkpoint's text features with its file of word vectors; raises InputError if it is another file."""
    if text.name == CORPUS:
        if word_vectors not in (None, CORPUS):
            raise InputError(f"--word-vectors {word_vectors}: the checkpoint has its own; remove --word-vectors")
        return replace(text, new_words="skip")  # there is no file with more words
    return text if word_vectors is None else text.with_file(load_word_vectors(word_vectors))


def made_with(dataset: str, config: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The records of a config's source and of its build in a built folder; None if there are none."""
    inventory = read_inventory(Path(dataset)) if Path(dataset).is_dir() else None
    for entry in (inventory or {"sources": {}})["sources"].values():
        if config in entry["configs"]:
            return entry.get("about"), entry.get("made_with")
    return None, None


def named_word_vectors(settings: TrainingSettings, otherwise: str) -> str:
    """The word vectors of a new model: those given, or ``corpus`` if the decoys were made with it.

    Raises InputError, ending with ``otherwise``, if none are given and the decoys were made with a file.
    """
    made = (made_with(settings.dataset, settings.config)[1] or {}).get("word_vectors") or {}
    if settings.word_vectors is not None:
        return settings.word_vectors
    if made.get("name") != CORPUS:
        with_these = f" (the decoys were made with {made['name']})" if made else ""
        raise InputError(f"the model needs word vectors: add --word-vectors FILE{with_these}{otherwise}")
    return CORPUS


def _divided(data: Splits[OfSplit], settings: TrainingSettings) -> tuple[OfSplit, OfSplit, str]:
    """Training questions, validation questions, and the name of the latter.

    Without a test split, the validation split is reported (as for VQA) and training images are held out instead.
    """
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


def _text_features(
    settings: TrainingSettings, data: Splits[Questions], train: Questions, progress: Progress
) -> TextFeatures:
    name = named_word_vectors(settings, f", or --word-vectors {CORPUS}")

    def sentences() -> Iterator[list[str]]:
        targets = train.choices[np.arange(len(train)), train.labels]
        for question, target in zip(train.texts.tolist(), targets.tolist(), strict=True):
            yield [*words(data.texts[question]), *words(data.texts[target])]

    step = "training word vectors" if name == CORPUS else "reading word vectors"
    progress(step, 0, 1)
    vectors = load_word_vectors(name, sentences, settings.seed)
    progress(step, 1, 1)
    texts = [data.texts[number] for number in train.used_texts()]
    return TextFeatures.of(vectors, texts, centred=settings.centre).with_file(vectors)


def _check_checkpoint(
    settings: TrainingSettings, config: "PreTrainedConfig", images: ImageFeatures | None, processor: VqaProcessor
) -> None:
    """Raise InputError unless a checkpoint is of the requested model, with the same features."""
    start = f"--init-from {settings.init_from}"
    if not MODELS.find(settings.model).fits(config):
        raise InputError(f"{start} is not a checkpoint of {settings.model}; give its model with --model")
    for key in settings.model_settings:
        raise InputError(f"--model-settings {key}: {start} has its own; remove it")
    if settings.centre:
        raise InputError(f"--centre: {start} has its own word vectors; remove --centre")
    if images is not None:
        check_same_features(images, processor, str(settings.init_from))
