"""What a run starts from: questions, features, model and processor, all checked before any work."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForMultipleChoice

from hf_vqa_mc import models
from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.extraction.image_features import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.inputs import needed
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import CORPUS, load_word_vectors
from hf_vqa_mc.training.inputs import Inputs
from hf_vqa_mc.training.questions import Questions, Splits, held_out, read_splits
from hf_vqa_mc.training.settings import MODELS, TrainingSettings, option

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

VALIDATION, HELD_OUT = "validation", "held_out"
"""What chooses the best checkpoint: a split, or a part of the training images."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Material:
    """All that training reads and changes."""

    model: "PreTrainedModel"
    processor: VqaMcProcessor
    inputs: Inputs
    train: Questions
    validation: Questions
    validated_on: str
    """the name of the validation questions: validation, or `HELD_OUT`"""
    reported: Questions | None
    """the split that chooses nothing and is asked once; None where there is no other than train"""
    reported_on: str | None
    """its name"""
    questions: str
    """a checksum of all questions"""
    images: ImageFeatures | None
    skipped: int
    """questions left out, since their images have no features"""

    def what(self) -> dict[str, Any]:
        """What the result depends on beside the settings."""
        text, kind = self.processor.text, self.images.kind.as_json() if self.images else None
        rows = {"train": len(self.train), self.validated_on: len(self.validation)}
        if self.reported is not None and self.reported_on is not None:
            rows[self.reported_on] = len(self.reported)
        return {
            "rows": rows,
            "questions_sha256": self.questions,
            "skipped": self.skipped,
            "word_vectors": {
                "name": text.name,
                "sha256": text.sha256,
                "dim": text.dim,
                "centred": text.mean is not None,
            },
            "image_features": kind,
            "images_sha256": self.images.checksum if self.images else None,
        }


def gather(settings: TrainingSettings, progress: Progress) -> Material:
    """Read and make what a run needs.

    Raises:
        InputError: something named in the settings is not there, or does not fit the rest; names it.
        ConnectionError: the Hub cannot be reached.
    """
    config = new_config(settings.model, settings.model_settings)  # says what is wrong before anything is read
    images = open_images(settings.features, config, settings.model)
    progress("reading questions", 0, 1)
    data = read_splits(settings.dataset, settings.config)
    progress("reading questions", 1, 1)
    checksum = data.sha256()
    kept = {split: with_images(questions, images, settings.skip_missing) for split, questions in data.splits.items()}
    data = Splits(data.texts, {split: questions for split, (questions, _) in kept.items()})
    train, validation, validated_on = _divided(data, settings)
    if settings.init_from is None:
        text = _text_features(settings, data, train, progress)
        sizes = {"text_size": text.dim} | ({"image_size": images.dim} if images else {})
        config = new_config(settings.model, settings.model_settings, **sizes)
        torch.manual_seed(settings.seed)
        model: PreTrainedModel = AutoModelForMultipleChoice.from_config(config)  # type: ignore[no-untyped-call]
    else:
        model, processor = load_checkpoint(settings.init_from)
        _check_goes_on(settings, model.config, images, processor)
        text = with_word_vectors(processor.text, settings.word_vectors)
    text = text.knowing([data.texts[number] for number in train.texts()])
    processor = VqaMcProcessor(text, images.kind if images else None, needed(model.config))
    used = np.unique(np.concatenate([questions.texts() for questions in data.splits.values()]))
    inputs = Inputs(data.texts, used, text, needed(model.config), images)
    skipped, reported_on = sum(lost for _, lost in kept.values()), _reported(data, validated_on)
    reported = data.splits[reported_on] if reported_on else None
    return Material(
        model, processor, inputs, train, validation, validated_on, reported, reported_on, checksum, images, skipped
    )


def new_config(model: str, settings: Mapping[str, Any], **sizes: int) -> "PreTrainedConfig":
    """The configuration of a new model.

    Args:
        model: name.
        settings: of the user's.
        sizes: of what it takes.

    Raises:
        InputError: it has no such setting, or it cannot be set so.
    """
    name, given = MODELS[model]
    kind = getattr(models, name)
    own = {"inputs", "image_size", "text_size"}  # follow from the model's name and from the features
    known = [one.name for one in fields(kind) if one.name in kind.__annotations__ and one.name not in own]
    for key in settings:
        if key not in known:
            raise unknown_name(f"setting of {model}", key, known)
    try:
        made: PreTrainedConfig = kind(**{**given, **settings, **sizes})
    except InputError:
        raise
    except Exception as error:  # of huggingface_hub's strict dataclasses, which has several
        raise InputError(f"--model-settings: {' '.join(str(error).split())}") from error
    return made


def open_images(folder: Path | None, config: "PreTrainedConfig", model: str) -> ImageFeatures | None:
    """The image features that a model takes; None if it sees no images.

    Raises:
        InputError: none are given, they are of another shape, or they are given to a model that sees none.
    """
    shape = needed(config) & {"image_features", "image_grid"}
    if not shape:
        if folder is not None:
            raise InputError(f"--features {folder}: {model} sees no images; leave it out")
        return None
    grid = "image_grid" in shape
    if folder is None:
        command = f"vqa-mc features DATASET CONFIG{' --grid 7' if grid else ''}"
        raise InputError(f"{model} sees images: name their features, --features DIR; {command} makes them")
    images = ImageFeatures.open(folder)
    if grid != (images.grid is not None):
        have, wanted = ("a grid", "one vector") if images.grid else ("one vector", "a grid")
        raise InputError(
            f"--features {folder} has {have} an image, {model} takes {wanted}; run vqa-mc features "
            f"{'with --grid 7' if grid else 'without --grid'}"
        )
    return images


def with_images(questions: Questions, images: ImageFeatures | None, skip: bool) -> tuple[Questions, int]:
    """The questions whose images have features, and how many have not.

    Raises:
        InputError: some have not, and are not to be skipped; or none has.
    """
    if images is None:
        return questions, 0
    there = np.array([image_id in images for image_id in questions.image_ids], np.bool_)
    lost = np.flatnonzero(~there)
    if not len(lost):
        return questions, 0
    if not skip or len(lost) == len(there):
        raise InputError(
            f"{questions.place}: {len(lost):,} of {len(there):,} questions are on images without features in "
            f"{images.folder}, the first on image_id {questions.image_ids[lost[0]]!r}; run vqa-mc features for this "
            "dataset, or leave such questions out with --skip-missing"
        )
    return questions.take(np.flatnonzero(there)), len(lost)


def check_same_features(images: ImageFeatures, processor: VqaMcProcessor, checkpoint: str) -> None:
    """Nothing, if these image features are of the kind that a model was trained with.

    Raises:
        InputError: they are of another.
    """
    if processor.image_kind != images.kind:
        trained_with = processor.image_kind.folder_name if processor.image_kind else "none"
        raise InputError(
            f"--features {images.folder} are of {images.kind.folder_name}, {checkpoint} was trained with "
            f"{trained_with}; extract the same"
        )


def with_word_vectors(text: TextFeatures, word_vectors: str | None) -> TextFeatures:
    """A checkpoint's text features with the file to look new words up in, where one is named.

    Raises:
        InputError: it is another file than the checkpoint's.
    """
    if text.name == CORPUS:
        if word_vectors not in (None, CORPUS):
            raise InputError(f"--word-vectors {word_vectors}: the checkpoint has vectors of its own; leave it out")
        return replace(text, new_words="skip")  # no file has more of them
    return text if word_vectors is None else text.with_file(load_word_vectors(word_vectors))


def made_with(dataset: str, config: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """What a built folder tells of a config's source, and of how it was made; None where nothing does."""
    inventory = read_inventory(Path(dataset)) if Path(dataset).is_dir() else None
    for entry in (inventory or {"sources": {}})["sources"].values():
        if config in entry["configs"]:
            return entry.get("about"), entry.get("made_with")
    return None, None


def _divided(data: Splits, settings: TrainingSettings) -> tuple[Questions, Questions, str]:
    """Questions to train on, to validate on, and the latter's name.

    Where there is no test split, validation is the one that is reported, as VQA's is, and chooses nothing.
    """
    place = f"{settings.dataset}, {settings.config}"
    if "train" not in data.splits:
        raise InputError(f"{place} has no split train to learn from; it has {', '.join(data.splits)}")
    train = data.splits["train"]
    if VALIDATION in data.splits and _reported(data, VALIDATION):
        return train, data.splits[VALIDATION], VALIDATION
    out = held_out(train.image_ids, settings.held_out)
    if not out.any() or out.all():
        raise InputError(
            f"{place}: --held-out {settings.held_out} leaves {int((~out).sum()):,} questions to train on and "
            f"{int(out.sum()):,} to validate on; choose another part"
        )
    return train.take(np.flatnonzero(~out)), train.take(np.flatnonzero(out)), HELD_OUT


def _reported(data: Splits, validated_on: str) -> str | None:
    """The split to report: test, else validation, else the only one; of those that choose nothing."""
    others = [split for split in data.splits if split not in ("train", validated_on)]
    usual = [split for split in ("test", VALIDATION) if split in others]
    return next(iter(usual or (others if len(others) == 1 else [])), None)


def _text_features(settings: TrainingSettings, data: Splits, train: Questions, progress: Progress) -> TextFeatures:
    """Text features of a new model."""
    _, made = made_with(settings.dataset, settings.config)
    of_build = (made or {}).get("word_vectors") or {}
    name = settings.word_vectors or (CORPUS if of_build.get("name") == CORPUS else None)
    if name is None:
        with_these = f" (the decoys were made with {of_build['name']})" if of_build else ""
        raise InputError(
            f"name the word vectors that the model reads with: {option('word_vectors')} FILE{with_these}, or "
            f"{option('word_vectors')} {CORPUS}"
        )

    def sentences() -> Iterator[list[str]]:
        targets = train.choices[np.arange(len(train)), train.labels]
        for asked, target in zip(train.asked.tolist(), targets.tolist(), strict=True):
            yield [*words(data.texts[asked]), *words(data.texts[target])]

    step = "training word vectors" if name == CORPUS else "reading word vectors"
    progress(step, 0, 1)
    vectors = load_word_vectors(name, sentences, settings.seed)
    progress(step, 1, 1)
    texts = [data.texts[number] for number in train.texts()]
    return TextFeatures.of(vectors, texts, centred=settings.centre).with_file(vectors)


def _check_goes_on(
    settings: TrainingSettings, config: "PreTrainedConfig", images: ImageFeatures | None, processor: VqaMcProcessor
) -> None:
    """Nothing, if a checkpoint is of the model asked for and saw the same features."""
    name, given = MODELS[settings.model]
    asked = given.get("inputs")
    if type(config).__name__ != name or (asked and set(config.inputs) != set(asked)):
        raise InputError(f"--init-from {settings.init_from} is no {settings.model}; name its model with --model")
    for key in settings.model_settings:
        raise InputError(f"--model-settings {key}: --init-from {settings.init_from} has its own; leave it out")
    if settings.centre:
        raise InputError(f"--centre: --init-from {settings.init_from} has its own word vectors; leave it out")
    if images is not None:
        check_same_features(images, processor, str(settings.init_from))
