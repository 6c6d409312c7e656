"""The model, texts and task of an open-ended run."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.models.answer_mlp import AnswerMlpForOpenEndedVqa
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.models.layouts import Layouts, rules
from hf_vqa_mc.models.model import FittedModel, answers_of, model_of
from hf_vqa_mc.models.open_ended_texts import OpenEndedTexts
from hf_vqa_mc.models.processor import OpenEndedVqaProcessor
from hf_vqa_mc.models.question_words import FEWEST, QuestionWords
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.training.model_inputs import check_same_features
from hf_vqa_mc.training.new_model import check_checkpoint, new_model
from hf_vqa_mc.training.open_ended import AnswerInputs, OpenEnded
from hf_vqa_mc.training.questions import Questions, Splits
from hf_vqa_mc.training.settings import TrainingSettings, defaults
from hf_vqa_mc.training.word_vectors import run_word_vectors

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from hf_vqa_mc.models.model import Model
    from hf_vqa_mc.training.new_model import ModelAndTask


def open_ended_model(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits,
    train: Questions,
    images: ImageFeatures | None,
    progress: Progress,
) -> "ModelAndTask":
    """A new model or that of a checkpoint; a model that counts is fitted.

    Raises:
        InputError: settings, texts and checkpoints do not fit each other.
    """
    _check_settings(settings, declared)
    if settings.init_from is None:
        texts = _texts(settings, declared, data, train, progress)
        _check_words(declared, texts, train)
        vocabulary = most_frequent_answers(train.targets, settings.answers)
        labels = {
            "id2label": dict(enumerate(vocabulary)),
            "label2id": {text: at for at, text in enumerate(vocabulary)},
        }
        sizes = dict(texts.sizes)
        if train.candidates is not None:
            if train.picked is not None and (train.picked == NO_PICK).all():
                raise InputError(
                    f"{train.location}: no candidate is the image of a question's balanced pair; train on vqa2_pairs, "
                    "with the candidates of vqa-mc generate complementary for it"
                )
            sizes["candidates"] = train.candidates.shape[1]
        model = new_model(settings, declared, images, **sizes, **labels)
        _take_first_layers(settings, model, texts, images)
        if settings.word_vectors is not None and texts.vectors is None:
            questions = [[data.texts[number]] for number in train.texts]
            _take_word_vectors(model, run_word_vectors(settings, questions, progress), texts.words)
    else:
        model, processor = load_checkpoint(settings.init_from)
        check_checkpoint(settings, model.config, images, processor)
        texts = processor.texts
        if texts.form != settings.questions:
            raise InputError(f"--init-from {settings.init_from} reads {texts.form}: give --questions {texts.form}")
        vocabulary = answers_of(model)
    in_vocabulary = set(vocabulary)
    known = np.array([text in in_vocabulary for text in train.targets])
    if not known.any():
        raise InputError(f"{train.location}: no training answer is in the vocabulary of {settings.init_from}")
    about = {"answers": {"size": len(vocabulary), **coverage(vocabulary, train)}}
    kind = images.kind if images else None
    processor = OpenEndedVqaProcessor(texts, kind, declared.inputs_with(kind))
    inputs = AnswerInputs(data.texts, texts, processor.inputs, images)
    train = train.take(np.flatnonzero(known))
    if texts.layouts is not None:
        unknown = inputs.unknown_words(train)
        about["layouts"] = {"rules": rules().version, "words": len(texts.layouts.words), "unknown": unknown}
    if texts.vectors is not None:
        about["word_vectors"] = texts.vectors.as_json()
    task = OpenEnded(inputs, vocabulary)
    if isinstance(model, FittedModel):
        progress("fitting", 0, 1)
        task.fit(model, train)
        progress("fitting", 1, 1)
    return model, processor, task, train, about


def _check_settings(settings: TrainingSettings, declared: "Model") -> None:
    """Raise InputError if a setting is given that the model does not use, or not given that it needs."""
    name = settings.model
    is_fitted = issubclass(declared.model_class, FittedModel)
    reads_vectors = "question_vectors" in declared.inputs
    reads_words = "question_indices" in declared.inputs and not is_fitted
    separate = bool(declared.preset.get("separate"))
    for option, is_given, is_used in (
        ("--word-vectors", settings.word_vectors is not None, reads_vectors or reads_words),
        ("--captions", settings.captions is not None, "caption_bags" in declared.inputs),
        ("--first-layers", bool(settings.first_layers), separate),
        ("--init-from", settings.init_from is not None, not is_fitted),
        ("--targets", settings.targets != defaults()["targets"], not is_fitted),
    ):
        if is_given and not is_used:
            raise InputError(f"{option}: {name} does not use it; remove it")
    if settings.init_from is not None:
        for option, is_given in (
            ("--answers", settings.answers != defaults()["answers"]),
            ("--word-vectors", settings.word_vectors is not None),
            ("--first-layers", bool(settings.first_layers)),
        ):
            if is_given:
                raise InputError(f"{option}: --init-from {settings.init_from} has its own; remove {option}")
        return
    if reads_vectors and settings.word_vectors is None:
        raise InputError(f"{name} reads vectors of questions: add --word-vectors FILE")
    if separate and not settings.first_layers:
        parts = ", ".join(_PART[one] for one in declared.preset["inputs"])
        raise InputError(f"{name} needs --first-layers CHECKPOINT of each of {parts}, trained on the same questions")


_PART = {"question": "bow-q", "image": "image", "caption": "caption"}
"""What a model sees to the model that provides its first layer."""


def _texts(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits,
    train: Questions,
    progress: Progress,
) -> OpenEndedTexts:
    questions = [data.texts[number] for number in train.texts]
    texts = OpenEndedTexts(QuestionWords.of(questions), form=settings.questions)
    if "question_layouts" in declared.inputs:
        texts = replace(texts, layouts=Layouts.of(questions, settings.questions))
    if "question_vectors" in declared.inputs:
        vectors = run_word_vectors(settings, [[text] for text in questions], progress)
        texts = replace(texts, vectors=replace(TextFeatures.of(vectors, questions), new_words="skip"))
    if train.captions is not None:
        texts = replace(texts, captions=QuestionWords.of(train.captions, starts=0))
    if train.groups is not None:
        texts = replace(texts, groups=tuple(sorted(set(train.groups) - {""})))
    return texts


def _check_words(declared: "Model", texts: OpenEndedTexts, train: Questions) -> None:
    """Raise InputError if a bag of words would be empty."""
    for name, what, words in (("question_bags", "question", texts.words), ("caption_bags", "caption", texts.captions)):
        if name in declared.inputs and words is not None and not words.words:
            raise InputError(
                f"{train.location}: no word occurs in {FEWEST} or more of the {len(train):,} training {what}s, and "
                f"{declared.name} counts only such words; train on more questions, or choose another model"
            )


def _take_word_vectors(model: "PreTrainedModel", vectors: WordVectors, words: QuestionWords) -> None:
    """Initialise the vectors of a model's words, or those that it does not train; other words keep theirs."""
    setting = "fixed_word_size" if hasattr(model, "fixed_words") else "word_size"
    table = getattr(model, "fixed_words", getattr(model, "words", None))
    if table is None:
        raise InputError("--word-vectors: with these --model-settings the model reads no words; remove it")
    if vectors.dim != table.embedding_dim:
        is_set = setting in model_of(model.config).defaults()
        raise InputError(
            f"--word-vectors {vectors.name} has {vectors.dim} dimensions, the model's words {table.embedding_dim}; "
            + (f"set --model-settings {setting}={vectors.dim}" if is_set else "use vectors of that size")
        )
    rows, found = vectors.rows(list(words.words))
    with torch.no_grad():
        at = torch.from_numpy(np.flatnonzero(found)) + (words.size - len(words.words))
        table.weight[at] = torch.from_numpy(rows[found])


def _take_first_layers(
    settings: TrainingSettings, model: "PreTrainedModel", texts: OpenEndedTexts, images: ImageFeatures | None
) -> None:
    """Copy the first layers of the separately trained models of ``--first-layers``, one for each input."""
    if not settings.first_layers or not isinstance(model, AnswerMlpForOpenEndedVqa):
        return
    missing = list(model.config.inputs)
    for checkpoint in settings.first_layers:
        start = f"--first-layers {checkpoint}"
        part, processor = load_checkpoint(checkpoint)
        inputs = list(part.config.inputs) if isinstance(part, AnswerMlpForOpenEndedVqa) else []
        if len(inputs) != 1 or inputs[0] not in missing:
            names = listed([_PART[name] for name in missing], len(_PART))
            raise InputError(f"{start} is not a checkpoint of {names or 'another input'}; expected one of each input")
        (name,) = inputs
        if name == "image" and images is not None:
            check_same_features(images, processor, checkpoint)
        vocabularies = [one.words if name == "question" else one.captions for one in (texts, processor.texts)]
        if name != "image" and vocabularies[0] != vocabularies[1]:
            raise InputError(f"{start} was trained on other {name}s; train it on those of {settings.config}")
        model.take_first_layer(part, start)
        missing.remove(name)
    if missing:
        raise InputError(f"--first-layers: no checkpoint of {', '.join(_PART[name] for name in missing)}; add it")


def most_frequent_answers(targets: Sequence[str], size: int) -> list[str]:
    """The answer vocabulary: the ``size`` most frequent targets, ties by text; all if there are fewer.

    Antol et al. 2015 (section 5.1) take 1,000, which are 82.67% of the answers.
    """
    counts = Counter(targets)
    return sorted(counts, key=lambda text: (-counts[text], text))[:size]


def coverage(vocabulary: Collection[str], train: Questions) -> dict[str, float]:
    """The fractions of the training questions, and of all their human answers, whose answer is in the vocabulary."""
    known = set(vocabulary)
    answers = [text in known for texts in train.answers for text in texts]
    return {
        "questions": float(np.mean([target in known for target in train.targets])),
        "human_answers": float(np.mean(answers)),
    }
