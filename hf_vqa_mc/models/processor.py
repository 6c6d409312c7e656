"""The processors of multiple-choice and of open-ended models; part of every checkpoint."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from transformers import BatchFeature

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.backbones import Backbone, FeatureKind
from hf_vqa_mc.extraction.pictures import RawImage
from hf_vqa_mc.extraction.text_features import NewWords, TextFeatures
from hf_vqa_mc.models.open_ended_texts import OpenEndedTexts, checked_texts
from hf_vqa_mc.models.vqa_processor import QUESTION_INPUTS, VqaProcessor
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors


class VqaMcProcessor(VqaProcessor):
    """Converts images, questions and choices to the tensors of a multiple-choice model.

    Args:
        text: word vectors.
        image_kind, inputs, backbone: see `VqaProcessor`.
    """

    def __init__(
        self,
        text: TextFeatures,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__(image_kind, inputs, backbone)
        self.text = text

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors; choice_mask only if questions have different numbers of choices."""
        mask = ["question_mask"] if "question_tokens" in self.inputs else []
        return ["choice_vectors", *sorted(self.inputs), *mask, "choice_mask"]

    def __call__(
        self, questions: Sequence[str], choices: Sequence[Sequence[str]], images: Sequence[RawImage] | None = None
    ) -> BatchFeature:
        """The inputs of a model for a batch of questions.

        Args:
            questions: ignored by a model that does not see them.
            choices: one or more for each question.
            images: one for each question, if the model sees images: PIL images, paths, URLs or bytes.

        Returns:
            Arguments of ``forward``: ``choice_vectors`` float32 (batch, choices, dim); ``choice_mask`` bool (batch,
            choices) if questions have different numbers of choices; and of the model's inputs ``image_features``
            float32 (batch, image dim) or ``image_grid`` (batch, cells, image dim), ``question_vectors`` (batch, dim),
            ``question_tokens`` (batch, words, dim) with ``question_mask``.

        Raises:
            InputError: lengths do not match, an image cannot be read, or a word is unknown and there is no file of
                word vectors.
        """
        _check_choices(questions, choices)
        questions = [self.word_changes.text(question) for question in questions]
        seen = questions if self.inputs.intersection(QUESTION_INPUTS) else []
        encoded = self.text.encode([*seen, *chain.from_iterable(choices)])
        counts = np.array([len(of_question) for of_question in choices], np.int64)
        mask = np.arange(counts.max(initial=0)) < counts[:, None]
        vectors = np.zeros((*mask.shape, self.text.dim), np.float32)
        vectors[mask] = encoded[len(seen) :]
        features = {"choice_vectors": torch.from_numpy(vectors)}
        if not mask.all():
            features["choice_mask"] = torch.from_numpy(mask)
        if "question_vectors" in self.inputs:
            features["question_vectors"] = torch.from_numpy(encoded[: len(seen)])
        if "question_tokens" in self.inputs:
            tokens, mask = self.text.encode_words(questions)
            features["question_tokens"], features["question_mask"] = torch.from_numpy(tokens), torch.from_numpy(mask)
        return BatchFeature(features | self.image_tensors(images, len(questions)))

    def with_options(
        self,
        *,
        word_vectors: str | Path | WordVectors | None = None,
        new_words: NewWords = "refuse",
        backbone: str | Backbone | None = None,
    ) -> Self:
        """This processor with options that are not stored in a checkpoint.

        Args:
            word_vectors: the file of the model's word vectors, for words outside its vocabulary.
            new_words: without the file, "refuse" (raise InputError), "skip", or skip and "warn".
            backbone: another image backbone than that of the checkpoint.

        Raises:
            InputError: it is another file, or cannot be read.
        """
        made = super().with_options(backbone=backbone)
        made.text = replace(self.text, new_words=new_words)
        if word_vectors is not None:
            loaded = load_word_vectors(str(word_vectors)) if isinstance(word_vectors, str | Path) else word_vectors
            made.text = made.text.with_file(loaded)
        return made

    @property
    def word_vectors(self) -> TextFeatures:
        """See `VqaProcessor`."""
        return self.text

    def texts_as_json(self) -> dict[str, Any]:
        """See `VqaProcessor`."""
        return {"word_vectors": self.text.as_json()}

    @classmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None) -> Self:
        """See `VqaProcessor`; raises InputError if word vectors are missing or others."""
        return cls(TextFeatures.stored(folder, about["word_vectors"]), kind, about["inputs"])


class OpenEndedVqaProcessor(VqaProcessor):
    """Converts images and questions to the tensors of an open-ended model.

    Args:
        texts: what the model reads, as fitted to the training questions.
        image_kind, inputs, backbone: see `VqaProcessor`.
    """

    def __init__(
        self,
        texts: OpenEndedTexts,
        image_kind: FeatureKind | None,
        inputs: Collection[str],
        *,
        backbone: str | Backbone | None = None,
    ) -> None:
        super().__init__(image_kind, inputs, backbone)
        self.texts = texts

    @property
    def model_input_names(self) -> list[str]:
        """Names of the tensors."""
        return sorted(self.inputs)

    def __call__(
        self,
        questions: Sequence[str],
        images: Sequence[RawImage] | None = None,
        *,
        captions: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
    ) -> BatchFeature:
        """The inputs of a model for a batch of questions.

        Args:
            questions: texts; ignored by a model that does not see them.
            images: one for each question, if the model sees images: PIL images, paths, URLs or bytes.
            captions: one for each question, if the model reads captions.
            groups: the question types or other groups of a prior; by default unknown.

        Returns:
            Of the model's inputs ``question_indices`` int64 (batch, words), ``question_bags`` float32 (batch, bag
            size), ``question_vectors`` float32 (batch, text dim), ``question_layouts`` int64 (batch, nodes, 5),
            ``caption_bags`` float32 (batch, words), ``question_groups`` int64 (batch,), ``image_features`` float32
            (batch, image dim) or ``image_grid`` (batch, cells, image dim).

        Raises:
            InputError: something is no text, lengths do not match, or an image cannot be read.
        """
        questions = [self.word_changes.text(question) for question in checked_texts(questions, "questions")]
        given = {"questions": questions, "captions": captions, "groups": groups}
        for name, texts in given.items():
            if texts is not None and len(texts) != len(questions):
                raise InputError(f"{name}: expected {len(questions)}, one per question, found {len(texts)}")
        return BatchFeature(self.texts.tensors(self.inputs, **given) | self.image_tensors(images, len(questions)))

    @property
    def word_vectors(self) -> TextFeatures | None:
        """See `VqaProcessor`."""
        return self.texts.vectors

    def texts_as_json(self) -> dict[str, Any]:
        """See `VqaProcessor`."""
        return self.texts.as_json()

    @classmethod
    def stored(cls, folder: Path, about: dict[str, Any], kind: FeatureKind | None) -> Self:
        """See `VqaProcessor`."""
        return cls(OpenEndedTexts.stored(folder, about), kind, about["inputs"])


def _check_choices(questions: Sequence[str], choices: Sequence[Sequence[str]]) -> None:
    """Raise InputError unless there is a list of one text or more for each question."""
    if isinstance(questions, str) or isinstance(choices, str):
        raise InputError("questions and choices: expected lists with one entry per question, found a string")
    if len(questions) != len(choices):
        raise InputError(
            f"found {len(questions)} questions and {len(choices)} lists of choices; expected one per question"
        )
    checked_texts(questions, "questions")
    for number, of_question in enumerate(choices):
        if isinstance(of_question, str) or not all(isinstance(choice, str) for choice in of_question):
            raise InputError(f"choices of question {number} are {shown(of_question)}; expected a list of strings")
        if len(of_question) == 0:
            raise InputError(f"question {number} has no choices; expected one or more")
