"""A run's model, processor and task: new, or of a checkpoint; a model that counts is fitted."""

from collections import Counter
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch

from hf_vqa_mc.errors import InputError, listed
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.answer_mlp import AnswerMlpForOpenEndedVqa
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.models.layouts import rules
from hf_vqa_mc.models.model import FittedModel, answers_of, model_of
from hf_vqa_mc.models.processor import OpenEndedVqaProcessor, VqaMcProcessor
from hf_vqa_mc.models.question_texts import FEWEST, Layouts, OpenEndedTexts, QuestionWords, most_frequent
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.training.inputs import check_same_features, run_word_vectors, with_word_vectors
from hf_vqa_mc.training.questions import Examples, Splits
from hf_vqa_mc.training.settings import TrainingSettings, defaults
from hf_vqa_mc.training.tasks import MultipleChoice, OpenEnded

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from hf_vqa_mc.models.model import Model
    from hf_vqa_mc.models.processor import VqaProcessor

    Made = tuple[PreTrainedModel, VqaProcessor, MultipleChoice | OpenEnded, Examples, dict[str, Any]]
    """model, processor, task, questions to train on, and texts (vectors or vocabulary) for training.json"""

_PART = {"question": "bow-q", "image": "image", "caption": "caption"}  # input to model of its layer
_VOCABULARY = {"question": "words", "caption": "captions"}  # input to field of `OpenEndedTexts`


def multiple_choice_model(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits,
    train: Examples,
    images: ImageFeatures | None,
    progress: Progress,
) -> "Made":
    """A new model, or that of a checkpoint; raises InputError if settings and checkpoint do not fit each other."""
    texts = [data.texts[number] for number in train.used_texts()]
    if settings.init_from is None:
        targets = train.choices[np.arange(len(train)), train.labels].tolist()
        both = [(data.texts[row], data.texts[of]) for row, of in zip(train.texts.tolist(), targets, strict=True)]
        vectors = run_word_vectors(settings, both, progress)
        text = TextFeatures.of(vectors, texts).with_file(vectors)
        model = _new_model(settings, declared, images, {"text_size": text.dim})
    else:
        model, processor = _started_from(settings, images)
        text = with_word_vectors(processor.text, settings.word_vectors)
    text, kind = text.with_texts(texts), images.kind if images else None
    processor = VqaMcProcessor(text, kind, declared.inputs_with(kind))
    used = np.unique(np.concatenate([questions.used_texts() for questions in data.splits.values()]))
    task = MultipleChoice(data.texts, used, processor, images)
    return model, processor, task, train, {"word_vectors": text.as_json()}


def open_ended_model(
    settings: TrainingSettings,
    declared: "Model",
    data: Splits,
    train: Examples,
    images: ImageFeatures | None,
    progress: Progress,
) -> "Made":
    """A new model or that of a checkpoint; raises InputError if settings, texts and checkpoints do not fit."""
    _check_settings(settings, declared)
    if settings.init_from is None:
        questions = [data.texts[number] for number in train.texts]
        texts = _texts(settings, declared, questions, train, progress)
        vocabulary = list(most_frequent(Counter(train.targets))[: settings.answers])  # fewer if there are fewer
        _check_training_questions(declared, train, texts)
        about: dict[str, Any] = {**texts.sizes, "id2label": dict(enumerate(vocabulary))}
        about["label2id"] = {text: at for at, text in enumerate(vocabulary)}
        if train.candidates is not None:
            about["candidates"] = train.candidates.shape[1]
        model = _new_model(settings, declared, images, about)
        if settings.first_layers:
            _take_first_layers(settings, model, texts, images)
        if settings.word_vectors is not None and texts.vectors is None:
            sentences = [[text] for text in questions]
            _take_word_vectors(model, run_word_vectors(settings, sentences, progress), texts.words)
    else:
        model, processor = _started_from(settings, images)
        texts, vocabulary = processor.texts, answers_of(model)
        if texts.form != settings.questions:
            raise InputError(f"--init-from {settings.init_from} reads {texts.form}: give --questions {texts.form}")
    in_vocabulary, kind = set(vocabulary), images.kind if images else None
    known = np.array([text in in_vocabulary for text in train.targets])
    if not known.any():
        raise InputError(f"{train.location}: no training answer is in the vocabulary of {settings.init_from}")
    answers = [text in in_vocabulary for texts_of in train.answers for text in texts_of]
    coverage = {"questions": float(known.mean()), "human_answers": float(np.mean(answers))}
    record: dict[str, Any] = {"answers": {"size": len(vocabulary), **coverage}}
    processor = OpenEndedVqaProcessor(texts, kind, declared.inputs_with(kind))
    task = OpenEnded(data.texts, processor, images, vocabulary)
    train = train.take(np.flatnonzero(known))
    if texts.layouts is not None:
        unknown = task.unknown_words(train)
        record["layouts"] = {"rules": rules().version, "words": len(texts.layouts.words), "unknown": unknown}
    if texts.vectors is not None:
        record["word_vectors"] = texts.vectors.as_json()
    if isinstance(model, FittedModel):
        progress("fitting", 0, 1)
        task.fit(model, train)
        progress("fitting", 1, 1)
    return model, processor, task, train, record


def _new_model(
    settings: TrainingSettings, declared: "Model", images: ImageFeatures | None, about: dict[str, Any]
) -> "PreTrainedModel":
    """A model with random weights, or with none if it is fitted; ``about`` are its sizes and labels."""
    if images is not None:
        about |= {"image_size": images.kind.dim, "sees_regions": images.kind.regions is not None}
    known = {one.name for one in fields(declared.config_class)} | {"id2label", "label2id"}
    config = declared.config(settings.model_settings, **{name: of for name, of in about.items() if name in known})
    torch.manual_seed(settings.seed)
    model: PreTrainedModel = declared.auto_class.from_config(config)
    return model


def _started_from(
    settings: TrainingSettings, images: ImageFeatures | None
) -> tuple["PreTrainedModel", Any]:  # a processor of either class
    """Model and processor of ``--init-from``; raises InputError if they are of another model, or read other inputs."""
    start = f"--init-from {settings.init_from}"
    model, processor = load_checkpoint(str(settings.init_from))
    if not MODELS.find(settings.model).fits(model.config):
        raise InputError(f"{start} is not a checkpoint of {settings.model}; give its model with --model")
    for key in settings.model_settings:
        raise InputError(f"--model-settings {key}: {start} has its own; remove it")
    before, now = processor.word_changes, settings.word_changes
    if (before.first_words, before.shuffle_words) != (now.first_words, now.shuffle_words):
        raise InputError(
            f"{start} was trained with other words of the questions ({before}; not {now}); give the same "
            "--first-words and --shuffle-words"
        )
    check_same_features(images, processor.image_kind, str(settings.init_from))
    return model, processor


def _check_settings(settings: TrainingSettings, declared: "Model") -> None:
    """Raise InputError if a setting is given that the model does not use, or not given that it needs."""
    name, start, is_fitted = settings.model, settings.init_from, issubclass(declared.model_class, FittedModel)
    reads_vectors, separate = "question_vectors" in declared.inputs, bool(declared.preset.get("separate"))
    is_used = {
        "word_vectors": reads_vectors or ("question_indices" in declared.inputs and not is_fitted),
        "captions": "caption_bags" in declared.inputs,
        "first_layers": separate,
        "init_from": not is_fitted,
        "targets": not is_fitted,
    }
    given = [option for option, default in defaults().items() if getattr(settings, option) != default]
    for option in given:
        flag = f"--{option.replace('_', '-')}"
        if not is_used.get(option, True):
            raise InputError(f"{flag}: {name} does not use it; remove it")
        if start is not None and option in ("answers", "word_vectors", "first_layers"):
            raise InputError(f"{flag}: --init-from {start} has its own; remove {flag}")
    if start is not None:
        return
    if reads_vectors and settings.word_vectors is None:
        raise InputError(f"{name} reads vectors of questions: add --word-vectors FILE")
    if separate and not settings.first_layers:
        parts = ", ".join(_PART[one] for one in declared.preset["inputs"])
        raise InputError(f"{name} needs --first-layers CHECKPOINT of each of {parts}, trained on the same questions")


def _check_training_questions(declared: "Model", train: Examples, texts: OpenEndedTexts) -> None:
    """Raise InputError if a bag of words would be empty, or no candidate is picked."""
    for what, words in (("question", texts.words), ("caption", texts.captions)):
        if f"{what}_bags" in declared.inputs and words is not None and not words.words:
            raise InputError(
                f"{train.location}: no word occurs in {FEWEST} or more of the {len(train):,} training {what}s, and "
                f"{declared.name} counts only such words; train on more questions, or choose another model"
            )
    if train.picked is not None and (train.picked == NO_PICK).all():
        raise InputError(
            f"{train.location}: no candidate is the image of a question's balanced pair; train on vqa2_pairs, "
            "with the candidates of vqa-mc generate complementary for it"
        )


def _texts(
    settings: TrainingSettings, declared: "Model", questions: list[str], train: Examples, progress: Progress
) -> OpenEndedTexts:
    """What the model reads, fitted to the training questions."""
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
    settings: TrainingSettings,
    model: "PreTrainedModel",
    texts: OpenEndedTexts,
    images: ImageFeatures | None,
) -> None:
    """Copy the first layers of the separately trained models of ``--first-layers``, one for each input."""
    missing = list(model.config.inputs)
    for checkpoint in settings.first_layers:
        start = f"--first-layers {checkpoint}"
        part, processor = load_checkpoint(checkpoint)
        inputs = list(part.config.inputs) if isinstance(part, AnswerMlpForOpenEndedVqa) else []
        if len(inputs) != 1 or inputs[0] not in missing:
            names = listed([_PART[name] for name in missing], len(_PART))
            raise InputError(f"{start} is not a checkpoint of {names or 'another input'}; expected one of each input")
        (name,) = inputs
        if name == "image":
            check_same_features(images, processor.image_kind, checkpoint)
        elif getattr(processor.texts, _VOCABULARY[name]) != getattr(texts, _VOCABULARY[name]):
            raise InputError(f"{start} was trained on other {name}s; train it on those of {settings.config}")
        cast("AnswerMlpForOpenEndedVqa", model).take_first_layer(part, start)
        missing.remove(name)
    if missing:
        raise InputError(f"--first-layers: no checkpoint of {', '.join(_PART[name] for name in missing)}; add it")
