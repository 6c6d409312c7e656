"""The inputs of a training run, checked first: questions and their ablations, features, model and processor."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from hf_vqa_mc.data.reading import training_tables
from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError, listed, unknown_name
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.answer_mlp import AnswerMlpForOpenEndedVqa
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.models.layouts import rules
from hf_vqa_mc.models.model import FittedModel, Model, answers_of
from hf_vqa_mc.models.processor import VqaProcessor
from hf_vqa_mc.models.question_texts import QuestionTexts, QuestionWords, layout_words, most_frequent
from hf_vqa_mc.text.word_changes import WordChanges
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.training.inputs import ModelInputs, check_same_features, run_word_vectors, with_word_vectors
from hf_vqa_mc.training.questions import Examples, Splits, read_questions
from hf_vqa_mc.training.settings import UNUSED, TrainingSettings, defaults
from hf_vqa_mc.training.tasks import Task

if TYPE_CHECKING:
    from transformers import PreTrainedModel

VALIDATION, HELD_OUT = "validation", "held_out"  # where the best checkpoint is chosen: a split, or training images
_PART = {"question": "bow-q", "image": "image", "caption": "caption"}  # input to model of its layer
_VOCABULARY = {"question": "words", "caption": "captions"}  # input to field of `QuestionTexts`


def prepare_inputs(
    settings: TrainingSettings, progress: Progress, rows: Mapping[str, pa.Table] | None = None
) -> "tuple[PreTrainedModel, VqaProcessor, Task, dict[str, Examples], str, str | None, Any]":
    """Read the inputs of a run and create its model; ``rows`` are the config's splits if they were read already.

    Returns model, processor, task, the questions by split, the name of the split (or `HELD_OUT`) to validate on, that
    of the test split, which is scored once (None if there is none), and for training.json everything that the result
    depends on except the settings.
    """
    declared, location = MODELS.find(settings.model), f"{settings.dataset}, {settings.config}"
    config = declared.config(settings.model_settings)  # checks the settings before anything is read
    check_settings(settings, declared)
    inputs = ModelInputs(config, settings.model, settings.features, settings.captions, settings.candidates)
    progress("reading questions", 0, 1)
    if settings.train_splits != ("train",):
        rows = _joined(rows or training_tables(settings.dataset, settings.config)[1], settings.train_splits, location)
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
        lacks = "answers to train on" if "train" in kept else "split train"
        raise InputError(f"{location} has no {lacks}, but {', '.join(splits) or 'no other'}; choose another config")
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
    model, processor, task, train, of_texts = _Start(
        settings, declared, Splits(data.texts, splits), train, inputs.images, progress
    ).made()
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


def _joined(rows: Mapping[str, pa.Table], names: Sequence[str], location: str) -> dict[str, pa.Table]:
    """The splits of a config, with the rows of the named ones as the split train."""
    for name in names:
        if name not in rows:
            raise InputError(f"--train-splits: {unknown_name(f'split of {location}', name, rows)}")
    train = pa.concat_tables([rows[name] for name in dict.fromkeys(names)], promote_options="permissive")
    return {"train": train} | {name: of for name, of in rows.items() if name not in names}


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
    """A random sample of the training questions, in their order; groups (`Examples.group_ids`) stay together.

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
    if train.group_ids is not None:
        names = [name or f"\0{row}" for row, name in enumerate(train.group_ids)]
        group = np.unique(names, return_inverse=True)[1]
    sizes = np.bincount(group)
    chosen = np.zeros(len(sizes), np.bool_)
    for number in rng.permutation(len(sizes)).tolist():
        if sizes[number] <= count:
            chosen[number], count = True, count - sizes[number]
    return train.take(np.flatnonzero(chosen[group]))


def check_settings(settings: TrainingSettings, declared: Model) -> None:
    """Raise InputError if a setting is given that the model does not use, or not given that it needs."""
    name, start, is_fitted = settings.model, settings.init_from, issubclass(declared.model_class, FittedModel)
    is_open, is_new, unused = declared.open_ended, settings.init_from is None, set(UNUSED[declared.open_ended])
    reads_vectors, separate = "question_vectors" in declared.inputs, bool(declared.preset.get("separate"))
    if is_open:
        is_used = {
            "word_vectors": reads_vectors or ("question_indices" in declared.inputs and not is_fitted),
            "captions": "caption_bags" in declared.inputs,
            "candidates": declared.explains,
            "first_layers": separate,
            "init_from": not is_fitted,
            "targets": not is_fitted,
        }
        unused |= {option for option, used in is_used.items() if not used}
    for option in (name for name, default in defaults().items() if getattr(settings, name) != default):
        flag = f"--{option.replace('_', '-')}"
        if option in unused:
            raise InputError(f"{flag}: {name} does not use it; remove it")
        if is_open and not is_new and option in ("word_vectors", "first_layers"):
            raise InputError(f"{flag}: --init-from {start} has its own; remove {flag}")
    if is_open and is_new and reads_vectors and settings.word_vectors is None:
        raise InputError(f"{name} reads vectors of questions: add --word-vectors FILE")
    if is_new and separate and not settings.first_layers:
        parts = ", ".join(_PART[one] for one in declared.preset["inputs"])
        raise InputError(f"{name} needs --first-layers CHECKPOINT of each of {parts}, trained on the same questions")


@dataclass(frozen=True)
class _Start:
    """What a model is made of at the start of a run: a new one, or that of a checkpoint."""

    settings: TrainingSettings
    declared: Model
    data: Splits
    train: Examples
    images: ImageFeatures | None
    progress: Progress

    def made(self) -> "tuple[PreTrainedModel, VqaProcessor, Task, Examples, dict[str, Any]]":
        """Model, processor, task, the questions to train on, and the texts (vectors or vocabulary) for training.json.

        Raises InputError if settings, texts and checkpoints do not fit.
        """
        settings, declared, data, train, images = self.settings, self.declared, self.data, self.train, self.images
        model, texts = self.new() if settings.init_from is None else self.loaded()
        kind, vocabulary = images.kind if images else None, answers_of(model) if declared.open_ended else None
        processor = VqaProcessor(texts, kind, declared.inputs_with(kind))
        processor.word_changes = settings.word_changes
        used = np.unique(np.concatenate([questions.used_texts() for questions in data.splits.values()]))
        task = Task(data.texts, used, processor, images, vocabulary)
        record: dict[str, Any] = {"word_vectors": texts.vectors.as_json()} if texts.vectors is not None else {}
        if vocabulary is not None:
            in_vocabulary = set(vocabulary)
            known = np.array([text in in_vocabulary for text in train.targets])
            answers = [text in in_vocabulary for texts_of in train.answers for text in texts_of]
            coverage = {"questions": float(known.mean()), "human_answers": float(np.mean(answers))}
            record["answers"] = {"size": len(vocabulary), **coverage}
            train = train.take(np.flatnonzero(known))
        if texts.layout_words is not None:
            record["layouts"] = {"rules": rules().version, "words": len(texts.layout_words)}
        if isinstance(model, FittedModel):
            self.progress("fitting", 0, 1)
            task.fit(model, train)
            self.progress("fitting", 1, 1)
        return model, processor, task, train, record

    @property
    def questions(self) -> list[str]:
        """The texts of the training questions."""
        return [self.data.texts[number] for number in self.train.texts]

    @property
    def answers(self) -> tuple[str, ...]:
        """The most frequent training answers."""
        return most_frequent(Counter(self.train.targets))[: self.settings.answers]

    def texts(self) -> QuestionTexts:
        """What a new model reads, fitted to the training questions."""
        declared, train, questions, form = self.declared, self.train, self.questions, self.settings.questions
        if not declared.open_ended:
            sentences = [[text, target] for text, target in zip(questions, train.targets, strict=True)]
            vectors = run_word_vectors(self.settings, sentences, self.progress)
            known = TextFeatures.of(vectors, [self.data.texts[number] for number in train.used_texts()])
            return QuestionTexts(vectors=known.with_file(vectors))
        texts = QuestionTexts(QuestionWords.of(questions), form=form)
        if "question_layouts" in declared.inputs:
            texts = replace(texts, layout_words=layout_words(questions, form))
        if "question_vectors" in declared.inputs:
            vectors = run_word_vectors(self.settings, [[text] for text in questions], self.progress)
            texts = replace(texts, vectors=replace(TextFeatures.of(vectors, questions), new_words="skip"))
        if train.captions is not None:
            texts = replace(texts, captions=QuestionWords.of(train.captions, starts=0))
        if train.groups is not None:
            texts = replace(texts, groups=tuple(sorted(set(train.groups) - {""})))
        if train.picked is not None and (train.picked == NO_PICK).all():
            raise InputError(
                f"{train.location}: no candidate is the image of a question's balanced pair; train on vqa2_pairs, "
                "with the candidates of vqa-mc generate complementary for it"
            )
        return texts

    def new(self) -> "tuple[PreTrainedModel, QuestionTexts]":
        """A model with random weights, or with none if it is fitted, and what it reads."""
        settings, declared, texts = self.settings, self.declared, self.texts()
        about: dict[str, Any] = texts.sizes
        if declared.open_ended:
            about |= _labels(self.answers)  # fewer than settings.answers if there are fewer
        if self.train.candidates is not None:
            about["candidates"] = self.train.candidates.shape[1]
        if self.images is not None:
            about |= {"image_size": self.images.kind.dim, "sees_regions": self.images.kind.regions is not None}
        known = {one.name for one in fields(declared.config_class)} | _labels([]).keys()
        config = declared.config(settings.model_settings, **{name: of for name, of in about.items() if name in known})
        torch.manual_seed(settings.seed)
        model: PreTrainedModel = declared.auto_class.from_config(config)
        if settings.first_layers:
            _take_first_layers(settings, model, texts, self.images)
        if settings.word_vectors is not None and texts.vectors is None:
            vectors = run_word_vectors(settings, [[text] for text in self.questions], self.progress)
            _take_word_vectors(model, vectors, texts.words)
        return model, texts

    def loaded(self) -> "tuple[PreTrainedModel, QuestionTexts]":
        """The model of ``--init-from`` and what it reads; raises InputError if it is another or reads other inputs."""
        settings, start = self.settings, f"--init-from {self.settings.init_from}"
        model, processor = load_checkpoint(str(settings.init_from))
        if not self.declared.fits(model.config):
            raise InputError(f"{start} is not a checkpoint of {settings.model}; give its model with --model")
        for key in settings.model_settings:
            raise InputError(f"--model-settings {key}: {start} has its own; remove it")
        before, now = processor.word_changes, settings.word_changes
        if (before.first_words, before.shuffle_words) != (now.first_words, now.shuffle_words):
            raise InputError(
                f"{start} was trained with other words of the questions ({before}; not {now}); give the same "
                "--first-words and --shuffle-words"
            )
        check_same_features(self.images, processor.image_kind, str(settings.init_from))
        texts = processor.texts
        if texts.form != settings.questions:
            raise InputError(f"{start} reads {texts.form}: give --questions {texts.form}")
        if self.declared.open_ended:
            return self._with_new_answers(model, texts)
        vectors = with_word_vectors(processor.text, settings.word_vectors)
        used = (self.data.texts[number] for number in self.train.used_texts())
        return model, replace(texts, vectors=vectors.with_texts(used))

    def _with_new_answers(
        self, model: "PreTrainedModel", texts: QuestionTexts
    ) -> "tuple[PreTrainedModel, QuestionTexts]":
        """A model with the new answers after its own, and the new words (Hudson and Manning 2019, section 4.3).

        Their weights are random, all others those of the checkpoint. Words are added where they are read in order;
        bags keep theirs.
        """
        about: dict[str, Any] = _labels(dict.fromkeys([*answers_of(model), *self.answers]))
        if "question_indices" in self.declared.inputs:
            words = dict.fromkeys([*texts.words.words, *QuestionWords.of(self.questions).words])
            texts = replace(texts, words=replace(texts.words, words=tuple(words)))
        if hasattr(model.config, "vocabulary_size"):
            about["vocabulary_size"] = texts.words.size
        torch.manual_seed(self.settings.seed)
        larger: PreTrainedModel = self.declared.auto_class.from_config(
            type(model.config).from_dict({**model.config.to_dict(), **about})
        )
        state = larger.state_dict()
        for name, weights in model.state_dict().items():
            state[name][tuple(map(slice, weights.shape))] = weights
        larger.load_state_dict(state)
        return larger, texts


def _labels(answers: Iterable[str]) -> dict[str, dict[Any, Any]]:
    """The vocabulary of answers as a config has it."""
    id2label = dict(enumerate(answers))
    return {"id2label": id2label, "label2id": {text: index for index, text in id2label.items()}}


def _take_word_vectors(model: "PreTrainedModel", vectors: WordVectors, words: QuestionWords) -> None:
    """Initialise the vectors of a model's words, or those that it does not train; other words keep theirs."""
    setting = "fixed_word_size" if hasattr(model, "fixed_words") else "word_size"
    table = getattr(model, "fixed_words", getattr(model, "words", None))
    if table is None:
        raise InputError("--word-vectors: with these --model-settings the model reads no words; remove it")
    if vectors.dim != table.embedding_dim:
        raise InputError(
            f"--word-vectors {vectors.name} has {vectors.dim} dimensions, the model's words {table.embedding_dim}; "
            f"use vectors of that size, or set --model-settings {setting}={vectors.dim} if the model has this setting"
        )
    rows, found = vectors.rows(list(words.words))
    with torch.no_grad():
        at = torch.from_numpy(np.flatnonzero(found)) + (words.size - len(words.words))
        table.weight[at] = torch.from_numpy(rows[found])


def _take_first_layers(
    settings: TrainingSettings, model: Any, texts: QuestionTexts, images: ImageFeatures | None  # noqa: ANN401
) -> None:  # fmt: skip
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
        model.take_first_layer(part, start)
        missing.remove(name)
    if missing:
        raise InputError(f"--first-layers: no checkpoint of {', '.join(_PART[name] for name in missing)}; add it")
