"""The inputs of a training run, checked first: questions and their ablations, features, model and processor."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.training.inputs import ModelInputs
from hf_vqa_mc.training.new_model import multiple_choice_model, open_ended_model
from hf_vqa_mc.training.questions import Examples, Splits, read_questions
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from hf_vqa_mc.models.processor import VqaProcessor
    from hf_vqa_mc.training.tasks import MultipleChoice, OpenEnded

VALIDATION, HELD_OUT = "validation", "held_out"  # where the best checkpoint is chosen: a split, or training images


def prepare_inputs(
    settings: TrainingSettings, progress: Progress, rows: Mapping[str, pa.Table] | None = None
) -> "tuple[PreTrainedModel, VqaProcessor, MultipleChoice | OpenEnded, dict[str, Examples], str, str | None, Any]":
    """Read the inputs of a run and create its model; ``rows`` are the config's splits if they were read already.

    Returns model, processor, task, the questions by split, the name of the split (or `HELD_OUT`) to validate on, that
    of the test split, which is scored once (None if there is none), and for training.json everything that the result
    depends on except the settings.
    """
    declared, location = MODELS.find(settings.model), f"{settings.dataset}, {settings.config}"
    config = declared.config(settings.model_settings)  # checks the settings before anything is read
    settings.check_task(declared.open_ended)
    inputs = ModelInputs(config, settings.model, settings.features, settings.captions, settings.candidates)
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
    data = with_changed_words(data, settings.word_changes)
    of_types = _without_types(data.splits, settings.without_types, location)
    kept = {split: inputs.of(questions, settings.skip_missing) for split, questions in of_types.items()}
    splits = {split: questions for split, (questions, _) in kept.items() if questions.has_answers}
    if "train" not in splits:
        fault = f"no split train; it has {', '.join(splits)}"
        fault = "no answers to train on; choose another config" if "train" in kept else fault
        raise InputError(f"{kept['train'][0].location if 'train' in kept else location} has {fault}")
    train, validation, validated_on = splits["train"], splits.get(VALIDATION), VALIDATION
    if validation is None or not _reported(splits, VALIDATION):
        out, validated_on = held_out(train.image_ids, settings.held_out), HELD_OUT
        if not out.any() or out.all():
            raise InputError(
                f"{location}: --held-out {settings.held_out} gives {int((~out).sum()):,} training and "
                f"{int(out.sum()):,} validation questions; choose another fraction"
            )
        train, validation = train.take(np.flatnonzero(~out)), train.take(np.flatnonzero(out))
    train, reported_on = sampled(train, settings.train_rows, settings.seed), _reported(splits, validated_on)
    make = open_ended_model if declared.open_ended else multiple_choice_model
    model, processor, task, train, of_texts = make(
        settings, declared, Splits(data.texts, splits), train, inputs.images, progress
    )
    processor.word_changes = settings.word_changes
    splits = {"train": train, validated_on: validation, **({reported_on: splits[reported_on]} if reported_on else {})}
    about = {
        "rows": {split: len(questions) for split, questions in splits.items()},
        "questions_sha256": checksum,
        "skipped": sum(lost for _, lost in kept.values()),
        "word_vectors": None,
        **of_texts,
        **inputs.as_json(),
    }
    return model, processor, task, splits, validated_on, reported_on, about


def _reported(splits: Mapping[str, Examples], validated_on: str) -> str | None:
    """The split to report: test, else validation, else the only other one."""
    others = [split for split in splits if split not in ("train", validated_on)]
    usual = [split for split in ("test", VALIDATION) if split in others]
    return next(iter(usual or (others if len(others) == 1 else [])), None)


def _without_types(splits: Mapping[str, Examples], types: Sequence[str], location: str) -> Mapping[str, Examples]:
    """The questions of other types; raises InputError if there are none, or a type does not exist."""
    known = sorted({name for questions in splits.values() for name in questions.types or ()} - {""})
    for name in types:
        if not known:
            raise InputError(f"--without-types {name}: {location} has no question types; remove it")
        if name not in known:
            raise unknown_name(f"question type of {location}", name, known)
    kept = dict(splits)
    for split, questions in splits.items() if types else ():
        rows = np.flatnonzero([name not in types for name in questions.types or [""] * len(questions)])
        if not len(rows):
            raise InputError(f"{questions.location}: --without-types {' '.join(types)} leaves no questions")
        kept[split] = questions.take(rows)
    return kept


def with_changed_words(data: Splits, changes: WordChanges) -> Splits:
    """The splits with changed questions."""
    if not changes:
        return data
    number_of = {text: number for number, text in enumerate(data.texts)}
    new = np.arange(len(data.texts))
    for number in np.unique(np.concatenate([questions.texts for questions in data.splits.values()])).tolist():
        new[number] = number_of.setdefault(changes.text(data.texts[number]), len(number_of))
    splits = {split: replace(questions, texts=new[questions.texts]) for split, questions in data.splits.items()}
    return Splits(list(number_of), splits)


def held_out(image_ids: Sequence[str], part: float) -> NDArray[np.bool_]:
    """Mask (questions,) of the questions on held-out images, the same images in all configs of a dataset.

    An image is held out if the hash of its id is in the lowest ``part``, in [0, 1), of all hashes.
    """
    bound = int(part * 2**64)
    chosen = {
        image_id: int.from_bytes(hashlib.blake2b(f"held out:{image_id}".encode(), digest_size=8).digest()) < bound
        for image_id in set(image_ids)
    }
    return np.array([chosen[image_id] for image_id in image_ids], np.bool_)


def sampled(train: Examples, count: int | None, seed: int) -> Examples:
    """A random sample of the training questions, in their order; groups (`Examples.together`) stay together.

    It has fewer than ``count`` questions only if no smaller group is left to fill it.
    """
    if count is None:
        return train
    if count > len(train):
        raise InputError(
            f"--train-rows {count:,}: {train.location} has {len(train):,} questions to train on; expected at most that"
        )
    rng = np.random.default_rng(int(purpose_hash(seed, "training questions")))
    group = np.arange(len(train))
    if train.together is not None:
        names = [name or f"\0{row}" for row, name in enumerate(train.together)]
        group = np.unique(names, return_inverse=True)[1]
    sizes = np.bincount(group)
    chosen = np.zeros(len(sizes), np.bool_)
    for number in rng.permutation(len(sizes)).tolist():
        if sizes[number] <= count:
            chosen[number], count = True, count - sizes[number]
    return train.take(np.flatnonzero(chosen[group]))
