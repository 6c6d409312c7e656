"""Ablations of a run's questions: samples of training questions, question types left out, changed words."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.training.questions import Questions, Splits


def check_types(data: Splits, types: Sequence[str], location: str) -> None:
    """Raise InputError unless a dataset has questions of all types."""
    known = sorted({name for questions in data.splits.values() for name in questions.types or ()} - {""})
    for name in types:
        if not known:
            raise InputError(f"--without-types {name}: {location} has no question types; remove it")
        if name not in known:
            raise unknown_name(f"question type of {location}", name, known)


def without_types(questions: Questions, types: Sequence[str]) -> Questions:
    """The questions of other types; raises InputError if there are none."""
    if not types or questions.types is None:
        return questions
    kept = np.flatnonzero([name not in types for name in questions.types])
    if not len(kept):
        raise InputError(f"{questions.location}: --without-types {' '.join(types)} leaves no questions")
    return questions.take(kept)


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


def sampled(train: Questions, count: int | None, seed: int) -> Questions:
    """A random sample of the training questions, in their order.

    Questions that belong together (`Questions.together`) are all in the sample or all left out. It has fewer than
    ``count`` questions only if no smaller group is left to fill it. Raises InputError if there are too few questions.
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
    left = count
    for number in rng.permutation(len(sizes)).tolist():
        if sizes[number] <= left:
            chosen[number], left = True, left - sizes[number]
            if not left:
                break
    return train.take(np.flatnonzero(chosen[group]))
